//! What all floors speak of: time, histograms, and frames as they are shown, read and filtered. Nothing here knows a thread, a
//! socket or a ring.

pub mod classify;
pub mod clock;
pub mod histogram;

pub use weir_config::frames::{filter, headers, sight};
