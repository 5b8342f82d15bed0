//! Types used on all floors: time, and frames as shown, parsed and filtered. This module uses no thread, socket
//! or ring.

pub mod classify;
pub mod clock;

pub use weir_config::frames::{filter, headers, sight};
