//! Errors and their remedies.

use std::io;

use weir_config::kernels::BPF_QDISC;

/// Reason for which a device could not be attached, detached or inspected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The device does not exist in this network namespace.
    #[error("{device}: no such network device here: `ip link` lists them")]
    NoDevice {
        /// Name of the device.
        device: String,
    },
    /// The kernel does not support queueing disciplines in BPF.
    #[error("{device}: this kernel ({release}) has no queueing disciplines in BPF; it needs {} or newer with CONFIG_NET_SCH_BPF and CONFIG_DEBUG_INFO_BTF ({missing}). With CONFIG_NET_SCH_PRIO and CONFIG_NET_SCH_PLUG, `weir-host plug {device}` obeys pauses instead, more slowly", BPF_QDISC.since)]
    Kernel {
        /// The device.
        device: String,
        /// Release of the running kernel.
        release: String,
        /// Missing feature.
        missing: &'static str,
    },
    /// The kernel lacks both queueing disciplines.
    #[error("{device}: this kernel has no queueing disciplines `prio` and `plug`; it needs CONFIG_NET_SCH_PRIO and CONFIG_NET_SCH_PLUG (`modprobe sch_plug`), or {} with CONFIG_NET_SCH_BPF for `weir-host attach`", BPF_QDISC.since)]
    NoPlug {
        /// The device.
        device: String,
    },
    /// The kernel does not report the fill level of UDP sockets.
    #[error("{device}: this kernel does not report how full UDP sockets are; it needs CONFIG_INET_UDP_DIAG (`modprobe udp_diag`)")]
    NoDiag {
        /// The device.
        device: String,
    },
    /// The kernel lacks the classifier that the settings need.
    #[error("{device}: this kernel has no classifier `flower`, which --udp and --priorities dscp or vlan need; it needs CONFIG_NET_CLS_FLOWER (`modprobe cls_flower`)")]
    NoFlower {
        /// The device.
        device: String,
    },
    /// The kernel has no token bucket.
    #[error("{device}: this kernel has no queueing discipline `tbf`, which --max-rate needs; it needs CONFIG_NET_SCH_TBF (`modprobe sch_tbf`)")]
    NoTbf {
        /// The device.
        device: String,
    },
    /// `weir-host push-back` already runs for the priority.
    #[error("{device}: `weir-host push-back` (process {process}) already pauses priority {priority} there; end it first")]
    PushedBack {
        /// The device.
        device: String,
        /// The priority.
        priority: u8,
        /// Its process.
        process: i32,
    },
    /// The worker does not answer.
    #[error("{device} is held by `weir-host plug` (process {worker}), which does not answer: it is ending, or is another version; `weir-host detach {device}` ends it")]
    Silent {
        /// The device.
        device: String,
        /// The worker.
        worker: i32,
    },
    /// `weir-host plug` holds the device.
    #[error("{device} is held by `weir-host plug` (process {worker}); `weir-host detach {device}` ends it")]
    Plugged {
        /// The device.
        device: String,
        /// The worker.
        worker: i32,
    },
    /// A killed `weir-host plug` left its queue.
    #[error("{device} has the queue of a killed `weir-host plug`, and paused frames stay paused: `weir-host detach {device}` removes it")]
    PlugLeft {
        /// The device.
        device: String,
    },
    /// The program was built without its BPF programs.
    #[error("this weir-host was built without its BPF programs: build it with clang 17 or newer installed (`apt-get install clang-19`, or `cargo xtask setup`)")]
    BuiltWithout,
    /// The rate is unknown, and with it the length of a quantum.
    #[error("{device} does not report its rate, which pauses depend on: give it with --rate, such as --rate 10Gbit")]
    NoRate {
        /// The device.
        device: String,
    },
    /// Another queueing discipline is configured.
    #[error("{device} already has a configured queueing discipline, {kind} ({handle:x}:); --replace removes it, and detaching does not restore it")]
    Occupied {
        /// The device.
        device: String,
        /// Its kind.
        kind: String,
        /// Its handle.
        handle: u32,
    },
    /// The device is not attached.
    #[error("{device} is not attached; run `weir-host attach {device}`")]
    NotAttached {
        /// The device.
        device: String,
    },
    /// The device was attached by another version.
    #[error("{device} was attached by another version of weir-host (ABI {found}, this one has {expected}): detach it and attach it again")]
    Version {
        /// The device.
        device: String,
        /// Version found.
        found: u64,
        /// Version of this program.
        expected: u64,
    },
    /// The queue does not become empty.
    #[error("{device}: {frames} frames are still queued after {seconds:.1} s, paused by the neighbour; it stays attached. Wait longer with --drain, or drop them with --force")]
    DoesNotDrain {
        /// The device.
        device: String,
        /// Time waited, in seconds.
        seconds: f64,
        /// Frames left.
        frames: u64,
    },
    /// The kernel refused a request.
    #[error("{device}: {what}: {source}{remedy}")]
    System {
        /// The device.
        device: String,
        /// The request.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
        /// Remedy after a colon, or an empty text.
        remedy: &'static str,
    },
    /// libbpf or the verifier refused the programs.
    #[error("{device}: loading the programs: {source}")]
    Load {
        /// The device.
        device: String,
        /// Error of libbpf.
        source: libbpf_rs::Error,
    },
}

impl Error {
    /// Creates the error for a refused request; adds a known remedy.
    pub(crate) fn system(device: &str, what: &'static str, source: io::Error) -> Self {
        let remedy = match source.raw_os_error() {
            Some(libc::EPERM) | Some(libc::EACCES) => {
                "; needs CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON: run it as root"
            }
            _ => "",
        };
        Self::System {
            device: device.to_owned(),
            what,
            source,
            remedy,
        }
    }
}
