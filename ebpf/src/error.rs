//! Errors of the kernel side, and remedies.

use std::io;
use std::path::PathBuf;

/// Reason for which the program could not be loaded, attached or maintained.
#[derive(Debug, thiserror::Error)]
pub enum EbpfError {
    /// The verifier refused a program.
    #[error("the verifier of Linux {kernel} refuses {program}: {verdict}; use a kernel of the book's table (reference/kernels.md), and report these lines")]
    Refused {
        /// The program, for messages.
        program: &'static str,
        /// The kernel's release.
        kernel: String,
        /// The last lines of the verifier's log.
        verdict: String,
    },
    /// The kernel refused a program or a map for another reason.
    #[error("cannot load {program} into Linux {kernel}: {why}; {remedy}")]
    Load {
        /// The program, for messages.
        program: &'static str,
        /// The kernel's release.
        kernel: String,
        /// The kernel's reason.
        why: String,
        /// Remedy.
        remedy: &'static str,
    },
    /// The kernel refused a program that reads a frame's arrival time from its device.
    #[error("{0}; hardware-time needs a kernel (reference/kernels.md) and a driver that give XDP programs a frame's time: remove hardware-time from this port")]
    HardwareTime(Box<EbpfError>),
    /// A map could not be read or written.
    #[error("BPF map {map}: {source}")]
    Map {
        /// The map's name.
        map: &'static str,
        /// Error of the kernel.
        source: libbpf_rs::Error,
    },
    /// Another program is attached.
    #[error("device {ifindex} already has an XDP program; remove it with `switchctl xdp detach` or `ip link set dev DEVICE xdp off`")]
    Busy {
        /// Index of the device.
        ifindex: u32,
    },
    /// The device refused the program.
    #[error("attaching the XDP program to device {ifindex} in {mode} mode: {source}")]
    Attach {
        /// Index of the device.
        ifindex: u32,
        /// `native` or `generic`.
        mode: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A pin could not be created or removed.
    #[error("{}: {source}", path.display())]
    Pin {
        /// The pin or its directory.
        path: PathBuf,
        /// Error of the kernel.
        source: io::Error,
    },
    /// No bpffs could be mounted.
    #[error("mounting bpffs at {}: {source}", path.display())]
    Mount {
        /// The mount point.
        path: PathBuf,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A test run failed.
    #[error("test run: {0}")]
    TestRun(#[source] libbpf_rs::Error),
}

pub(crate) fn map_error(map: &'static str) -> impl Fn(libbpf_rs::Error) -> EbpfError {
    move |source| EbpfError::Map { map, source }
}
