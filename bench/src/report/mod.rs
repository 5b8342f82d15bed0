//! From measurements to medians, ratios, tables and pictures.

mod picture;
mod summary;
mod table;

pub use picture::svg;
pub use summary::{Spread, Summary};
pub use table::text;
