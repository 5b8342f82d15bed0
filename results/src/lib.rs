//! Results of a scenario run by the lab with real frames or by the simulator in virtual time.
//!
//! A runner counts; [`assemble`](assemble::assemble) makes a
//! [`RunResult`](weir_api::run::RunResult) of it. [`verdict`] judges results, [`compare`] lays two
//! of them side by side, [`table`] and [`plot`] show them; [`chart`] draws other pictures,
//! [`figure`] stacked panels of curves; [`report`] is all of it in one page.
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
