//! A plan as tables and as a picture.

pub mod picture;
pub mod text;
