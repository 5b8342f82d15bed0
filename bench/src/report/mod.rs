//! From measurements to medians, ratios, tables and pictures.

pub mod overview;
mod picture;
mod summary;
mod table;

pub use picture::svg;
pub use summary::{Spread, Summary};
pub use table::text;
