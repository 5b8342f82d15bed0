//! The ports' network devices: monitoring, attaching and releasing.

pub mod link_monitor;
pub mod tender;
pub mod xdp_watch;
