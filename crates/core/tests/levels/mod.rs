//! Protocol P as a switch does it, and as the papers have it.

mod examples;
mod fair_choice;
mod level_extensions;
mod levels_flooded;
mod model;
