//! Protocol P in a switch, compared with the papers.

mod examples;
mod fair_choice;
mod level_extensions;
mod levels_flooded;
mod model;
