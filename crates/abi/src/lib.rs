//! The kernel-userspace ABIs. `include/weir_abi.h` defines the layout, and everything here is generated from it or counted
//! by it. The loader (`weir-ebpf`) uses it, and so does `switchctl`, which reads pinned maps without the loader.
//!
//! Design: docs/src/internals/design/house.md.

mod generated {
    #![allow(
        dead_code,
        missing_docs,
        non_camel_case_types,
        non_upper_case_globals,
        clippy::all,
        clippy::undocumented_unsafe_blocks
    )]
    include!(concat!(env!("OUT_DIR"), "/weir_abi.rs"));
}

pub use generated::*;

/// Types shared by weir-host's programs in the kernel and userspace; `include/weir_host_abi.h` owns
/// the layout.
pub mod host {
    #![allow(
        dead_code,
        missing_docs,
        non_camel_case_types,
        non_upper_case_globals,
        clippy::all,
        clippy::undocumented_unsafe_blocks
    )]
    include!(concat!(env!("OUT_DIR"), "/weir_host_abi.rs"));
}

/// Class of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameClass {
    /// Anything that is not a control protocol of this switch.
    Data,
    /// PAUSE, PFC and other MAC control.
    MacControl,
    /// LLDP.
    Lldp,
    /// Credit Loop Control Message.
    Clcm,
}

impl FrameClass {
    /// All classes in the order of `enum weir_class`.
    pub const ALL: [Self; WEIR_CLASSES as usize] =
        [Self::Data, Self::MacControl, Self::Lldp, Self::Clcm];

    /// The name in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::MacControl => "mac_control",
            Self::Lldp => "lldp",
            Self::Clcm => "clcm",
        }
    }
}

/// Fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It went to the queue's socket.
    Redirected,
    /// The kernel got it: LLDP, or there is no socket and the port's fallback is to pass.
    Passed,
    /// No socket: the frame is lost.
    Dropped,
    /// No whole Ethernet header.
    TooShort,
    /// The driver left no room for the metadata.
    NoMeta,
    /// A part of a frame that the driver has cut.
    Cut,
    /// It went to its egress device at once.
    Express,
    /// All slots of the RX ring that are not kept for frames with a credit were taken.
    NoSlot,
}

impl Verdict {
    /// All verdicts in the order of `enum weir_verdict`.
    pub const ALL: [Self; WEIR_VERDICTS as usize] = [
        Self::Redirected,
        Self::Passed,
        Self::Dropped,
        Self::TooShort,
        Self::NoMeta,
        Self::Cut,
        Self::Express,
        Self::NoSlot,
    ];

    /// The name in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redirected => "redirected",
            Self::Passed => "passed",
            Self::Dropped => "dropped",
            Self::TooShort => "too_short",
            Self::NoMeta => "no_meta",
            Self::Cut => "cut",
            Self::Express => "express",
            Self::NoSlot => "no_slot",
        }
    }
}
