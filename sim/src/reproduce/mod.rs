//! What papers show, run again.

pub mod calculus;
