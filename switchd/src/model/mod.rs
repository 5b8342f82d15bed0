//! Types of all floors: time, histograms, and frames as they are shown, read and filtered. This
//! module uses no thread, socket or ring.

pub mod classify;
pub mod clock;
pub mod histogram;

pub use weir_config::frames::{filter, headers, sight};
