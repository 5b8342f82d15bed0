//! `weir-host push-back`: makes the switch wait while applications do not read. It watches the fill levels of the host's UDP
//! sockets, and pauses the neighbour while one of them is nearly full. TCP has its window for this.

pub mod fill;
mod metrics;
mod watcher;

pub use metrics::metrics_text;
pub use watcher::{running, watch, Plan, Summary};
