//! Converts measurements to medians, ratios, tables and pictures.

pub mod idle;
pub mod overview;
mod picture;
mod same_load;
mod summary;
mod table;
pub mod tcp;

pub use picture::svg;
pub use summary::{Spread, Summary};
pub use table::text;
