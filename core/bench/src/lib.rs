//! Frame cost in the switch core alone: [`Pipeline`] is a switch under a steady load in memory,
//! [`instructions`] counts the instructions of its work and compares them with a committed
//! baseline. Time is measured by the benchmark `frame_cost`.

#![forbid(unsafe_code)]

pub mod case;
pub mod instructions;
pub mod owners;
pub mod pipeline;

pub use case::{Case, Mode};
pub use pipeline::Pipeline;
