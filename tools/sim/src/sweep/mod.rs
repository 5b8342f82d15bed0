//! Sweeps: each run of a sweep file becomes rows of tables, which are the same bytes on any machine
//! and in any order.
//!
//! No files and no threads here: the caller has them, requests one run at a time, keeps the
//! [`Finished`] ones, and requests a [`table`](parquet::table) of them at the end.

mod campaign;
mod outcome;
pub mod parquet;

use serde::{Deserialize, Serialize};

pub use campaign::{Campaign, Finished, Shard};

/// The version of the tables' columns.
pub const SWEEP_FORMAT: u32 = 2;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Type of its values.
    pub kind: CellKind,
    /// True if a value can be missing.
    pub is_optional: bool,
}

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Yes or no.
    Flag,
    /// Whole numbers.
    Count,
    /// Numbers.
    Number,
    /// Text.
    Text,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Cell {
    /// None.
    Null,
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(i64),
    /// A number; kept as its bits, so that it is the same after it was written and read.
    Number(#[serde(with = "bits")] f64),
    /// Text.
    Text(String),
}

impl Column {
    fn of(name: impl Into<String>, kind: CellKind, is_optional: bool) -> Self {
        Self {
            name: name.into(),
            kind,
            is_optional,
        }
    }
}

impl Cell {
    fn count(count: u64) -> Self {
        Self::Count(i64::try_from(count).unwrap_or(i64::MAX))
    }

    fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn number(number: Option<f64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }
}

mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(number.to_bits())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}
