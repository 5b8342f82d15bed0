//! Protocol P as a switch does it, and as the papers have it.

mod fair_choice;
mod level_extensions;
#[path = "../level_node/mod.rs"]
mod level_node;
mod levels;
mod levels_flooded;
mod model;
