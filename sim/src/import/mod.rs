//! Files of other simulators as scenario files.

mod hpcc;
mod units;
mod words;

pub use hpcc::{hpcc, Hpcc, Text};
pub use words::ImportError;
