//! `weir-host push-back`: the switch waits while applications do not read. It watches how full the host's UDP sockets are, and
//! pauses the neighbour while one of them is nearly full. Of TCP the window does that.

pub mod fill;
mod metrics;
mod watcher;

pub use metrics::metrics_text;
pub use watcher::{running, watch, Plan, Summary};
