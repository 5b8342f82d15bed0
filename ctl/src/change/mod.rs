//! Changes of a running switch as a whole.

pub mod reload;
pub mod restart;
