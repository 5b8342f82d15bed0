//! The ports' network devices: who watches them, and who takes and releases them as they come and go.

pub mod link_monitor;
pub mod tender;
pub mod xdp_watch;
