//! Sweeps: each run of a sweep file becomes rows of tables, with the same bytes on any machine and in any order.
//!
//! This module has no files and no threads: the caller requests one run at a time, keeps the [`Finished`] ones, and requests
//! a [`table`](weir_recording::table::parquet) of them at the end.

mod campaign;
mod outcome;

pub use campaign::{Campaign, Finished, Shard};

/// Version of the tables' columns.
pub const SWEEP_FORMAT: u32 = 2;
