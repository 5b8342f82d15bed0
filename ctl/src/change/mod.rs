//! Changes to a running switch as a whole, or to its ports.

pub mod check;
pub mod ecn;
pub mod fdb;
pub mod impair;
pub mod port;
pub mod reload;
pub mod restart;
