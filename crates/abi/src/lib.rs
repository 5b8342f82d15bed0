//! The kernel-userspace ABIs. `include/weir_abi.h` defines the layout, from which everything here is generated or
//! derived. Used by the loader (`weir-ebpf`), and by `switchctl`, which reads pinned maps without the loader.
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

/// Types shared by weir-host's programs in the kernel and userspace; `include/weir_host_abi.h` defines the layout.
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
    /// Any frame that is not of a control protocol of this switch.
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

/// Treatment of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// To the queue's socket.
    Redirected,
    /// To the kernel: LLDP, or there is no socket and the port's fallback is `pass`.
    Passed,
    /// Lost, because there is no socket.
    Dropped,
    /// No complete Ethernet header.
    TooShort,
    /// The driver left no room for the metadata.
    NoMeta,
    /// Part of a frame that the driver has split.
    Cut,
    /// Directly to its egress device.
    Express,
    /// All slots of the RX ring that are not reserved for frames with a credit were in use.
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
