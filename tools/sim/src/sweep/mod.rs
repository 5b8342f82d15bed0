//! Sweeps: each run of a sweep file becomes rows of tables, which are the same bytes on any machine
//! and in any order.
//!
//! No files and no threads here: the caller has them, requests one run at a time, keeps the
//! [`Finished`] ones, and requests a [`table`](weir_recording::table::parquet) of them at the end.

mod campaign;
mod outcome;

pub use campaign::{Campaign, Finished, Shard};

/// The version of the tables' columns.
pub const SWEEP_FORMAT: u32 = 2;
