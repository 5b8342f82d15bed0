//! Cost of a frame in the switch core alone. [`Pipeline`] is a switch under a steady load in memory; [`instructions`]
//! counts the instructions that it executes and compares them with a committed baseline. The benchmark `frame_cost` measures
//! time.

#![forbid(unsafe_code)]

pub mod case;
pub mod instructions;
pub mod owners;
pub mod pipeline;

pub use case::{Case, Mode};
pub use pipeline::Pipeline;
