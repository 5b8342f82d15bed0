//! Files of other simulators as scenario files.

mod chakra;
mod hpcc;
mod units;
mod words;

pub use chakra::{chakra, AllReduce, Chakra, ChakraError, TraceFile, RANKS_MAX};
pub use hpcc::{about_flow, hpcc, Hpcc, Text};
pub use words::ImportError;
