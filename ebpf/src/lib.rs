//! Weir's XDP program and its loader.
//!
//! `src/bpf/weir_xdp.bpf.c` is the program, and `weir-abi` its interface to userspace. [`PortProgram`] loads one instance
//! for one port, attaches it by a BPF link, and pins link and maps, so that those of a killed daemon can be found and
//! removed ([`remove_stale`]). With [`ExpressMaps`], programs themselves forward frames that need not queue. [`Meta`] parses
//! the record in front of each frame.
//!
//! Design: docs/src/internals/design/devices.md.

mod bpffs;
mod counters;
mod error;
mod express;
mod flow_hash;
mod freed;
mod kernel;
mod maps;
mod meta;
mod program;
mod promiscuous;
mod settings;
mod slots;
mod test_run;
mod twin;
mod watched;

pub use bpffs::{ensure_bpffs, is_bpffs, remove_stale, unmount_bpffs};
pub use counters::{ClassCounters, Traffic, VerdictCounters};
pub use error::EbpfError;
pub use express::{
    can_look_for_room, grace_period, ExpressMaps, ExpressWords, Line, RedirectLosses, SPARE,
};
pub use flow_hash::udp_flow_hash;
pub use freed::FreedFrames;
pub use kernel::device::takes_redirected;
pub use kernel::forms::Form;
pub use kernel::queue;
pub use meta::{HardwareTime, Meta, META_LENGTH};
pub use program::{pinned_device, pinned_program, AttachMode, AttachedMode, Extras, PortProgram};
pub use promiscuous::Promiscuous;
pub use settings::{Fallback, Lldp, PortSettings, Trust};
pub use slots::{SlotShares, SlotWords};
pub use test_run::TestRun;
pub use weir_abi::{FrameClass, Verdict};

/// Maximum number of a device's receive queues with a socket.
pub const QUEUES_MAX: u32 = weir_abi::WEIR_QUEUES_MAX;
