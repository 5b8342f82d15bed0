//! What can go wrong with the kernel side, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why the program could not be loaded, attached or looked after.
#[derive(Debug, thiserror::Error)]
pub enum EbpfError {
    /// The kernel refused the program or a map.
    #[error("loading the XDP program: {0}; it needs CAP_BPF and CAP_NET_ADMIN (or root) and a kernel from 5.9 on")]
    Load(#[source] libbpf_rs::Error),
    /// The kernel refused a program that asks its device when it received a frame.
    #[error("loading the XDP program: {0}; with hardware-time it needs a kernel from 6.3 on and a driver that tells XDP programs when frames came in: take hardware-time away from this port")]
    HardwareTime(#[source] libbpf_rs::Error),
    /// A map could not be read or written.
    #[error("BPF map {map}: {source}")]
    Map {
        /// The map's name.
        map: &'static str,
        /// What the kernel says.
        source: libbpf_rs::Error,
    },
    /// Another program is attached.
    #[error("device {ifindex} has an XDP program already; take it away with `switchctl xdp detach` or `ip link set dev DEVICE xdp off`")]
    Busy {
        /// Index of the device.
        ifindex: u32,
    },
    /// The device does not take the program.
    #[error("attaching the XDP program to device {ifindex} in {mode} mode: {source}")]
    Attach {
        /// Index of the device.
        ifindex: u32,
        /// `native` or `generic`.
        mode: &'static str,
        /// What the kernel says.
        source: io::Error,
    },
    /// A pin could not be made or removed.
    #[error("{}: {source}", path.display())]
    Pin {
        /// The pin or its directory.
        path: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// No bpffs could be mounted.
    #[error("mounting bpffs at {}: {source}", path.display())]
    Mount {
        /// The mount point.
        path: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// A test run failed.
    #[error("test run: {0}")]
    TestRun(#[source] libbpf_rs::Error),
}

/// What went wrong with a map of this name.
pub(crate) fn map_error(map: &'static str) -> impl Fn(libbpf_rs::Error) -> EbpfError {
    move |source| EbpfError::Map { map, source }
}
