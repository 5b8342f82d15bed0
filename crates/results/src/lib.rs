//! Results of a scenario's run, in the lab with real frames or in the simulator in virtual time.
//!
//! A runner counts; [`assemble`](assemble::assemble) converts the counts to a [`RunResult`](weir_api::run::RunResult).
//! [`verdict`] judges results, [`compare`] compares two of them, [`table`] and [`plot`] display them. [`chart`] draws
//! other curves and [`figure`] stacked panels of curves; [`report`] shows all of it on one page.
//!
//! Design: docs/src/internals/design/simulator.md.
#![forbid(unsafe_code)]

pub mod assemble;
pub mod compare;
pub mod figure;
pub mod plot;
pub mod report;
pub mod slowdown;
pub mod table;
pub mod verdict;

pub use weir_svg::{chart, quantity};

#[cfg(test)]
mod fixtures;
