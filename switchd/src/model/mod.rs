//! Types used on all floors: time, histograms, and frames as shown, parsed and filtered. This module uses no thread, socket
//! or ring.

pub mod classify;
pub mod clock;
pub mod histogram;

pub use weir_config::frames::{filter, headers, sight};
