//! Reasons for which the kernel refuses an AF_XDP socket, and remedies.

use nix::errno::Errno;
use weir_config::daemon::ZeroCopy;
use weir_config::kernels::{Release, LONG_FRAMES};

use super::socket::SocketOptions;

/// Returns the remedy for an error `code` of `bind`.
pub(super) fn remedy(code: Option<Errno>, options: &SocketOptions<'_>) -> String {
    let (device, driver, queue) = (options.device, options.driver, options.queue);
    let required = options.zero_copy == ZeroCopy::Require;
    let on_with_copying = "zero-copy = \"auto\" continues in copy mode";
    match code {
        Some(Errno::EPERM | Errno::EACCES) => "it needs CAP_NET_RAW (or root)".to_owned(),
        Some(Errno::EBUSY) => format!(
            "another socket has queue {queue}: end the program that uses it; a closed socket keeps it until every frame that it sent is freed by the device and the receiver"
        ),
        Some(Errno::EINVAL) if required => {
            let needs = match driver {
                "virtio_net" => "the DMA API (QEMU: disable-legacy=on,iommu_platform=on) and ",
                _ => "",
            };
            format!(
                "queue {queue} is not in use (`ethtool -l {device}`), or driver {driver} refuses zero-copy, which needs {needs}a chunk that holds the device's MTU; {on_with_copying}"
            )
        }
        // Kernels without such frames refuse the flag like any unknown flag.
        Some(Errno::EINVAL) if options.has_long_frames && kernel_is_before(LONG_FRAMES.since) => {
            lower_mtu()
        }
        Some(Errno::EINVAL) => {
            format!("the device has no queue {queue} (`ethtool -l {device}`)")
        }
        Some(Errno::EOPNOTSUPP) if required && options.has_long_frames => format!(
            "driver {driver} has no zero-copy, or none for frames of several chunks: lower dataplane.mtu so that a frame fits a chunk; {on_with_copying}"
        ),
        Some(Errno::EOPNOTSUPP) if required => {
            format!("driver {driver} has no zero-copy; {on_with_copying}")
        }
        Some(Errno::EOPNOTSUPP) if options.has_long_frames => {
            lower_mtu()
        }
        Some(Errno::ENOMEM | Errno::ENOBUFS) => {
            "smaller buffers or rings (xoff, headroom, rx-ring, tx-ring) need less memory".to_owned()
        }
        Some(Errno::ENETDOWN) => format!("the device is down: `ip link set {device} up`"),
        _ => format!("`ethtool -l {device}` shows its queues, `ethtool -i {device}` its driver"),
    }
}

fn lower_mtu() -> String {
    format!(
        "frames of several chunks need {} or newer; lower dataplane.mtu",
        LONG_FRAMES.since
    )
}

/// Returns true if the running kernel is older than `release`.
pub(crate) fn kernel_is_before(release: Release) -> bool {
    running_kernel().is_some_and(|running| running < release)
}

/// Returns the release of the running kernel, if it can be read.
pub(crate) fn running_kernel() -> Option<Release> {
    let running = nix::sys::utsname::uname().ok()?;
    Release::parse(&running.release().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use weir_core::Duration;

    use super::*;

    fn said(code: Errno, zero_copy: ZeroCopy, has_long_frames: bool) -> String {
        let options = SocketOptions {
            device: "eth0",
            driver: "virtio_net",
            generic: false,
            queue: 2,
            rx_ring: 64,
            tx_ring: 64,
            zero_copy,
            busy_poll: Duration::ZERO,
            has_long_frames,
            patience: std::time::Duration::ZERO,
        };
        remedy(Some(code), &options)
    }

    #[test]
    fn each_refusal_names_its_own_cause() {
        use ZeroCopy::{Auto, Require};
        for (code, zero_copy, long, part) in [
            (Errno::EPERM, Auto, false, "CAP_NET_RAW"),
            (Errno::EINVAL, Auto, false, "no queue 2 (`ethtool -l eth0`)"),
            (Errno::EINVAL, Require, false, "iommu_platform=on"),
            (
                Errno::EOPNOTSUPP,
                Require,
                false,
                "has no zero-copy; zero-copy = \"auto\"",
            ),
            (Errno::EOPNOTSUPP, Require, true, "lower dataplane.mtu"),
            (Errno::EOPNOTSUPP, Auto, true, "Linux 6.6"),
            (Errno::EBUSY, Auto, false, "another socket"),
            (Errno::ENETDOWN, Auto, false, "ip link set eth0 up"),
        ] {
            let text = said(code, zero_copy, long);
            assert!(text.contains(part), "{code}: {text}");
            let asks_for_rights = text.contains("CAP_NET_RAW");
            assert_eq!(asks_for_rights, code == Errno::EPERM, "{text}");
        }
    }
}
