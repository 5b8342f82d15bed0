//! Converts switches' answers into the shown state. No clock and no I/O: the caller passes the time.

pub mod clock;
pub mod fabric;
pub mod incidents;
pub mod layout;
pub mod loops;
pub mod state;
pub mod switch;
pub mod text;
mod view;

#[cfg(test)]
mod tests;
