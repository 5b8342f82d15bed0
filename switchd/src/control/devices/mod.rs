//! The ports' network devices: who watches them.

pub mod link_monitor;
pub mod xdp_watch;
