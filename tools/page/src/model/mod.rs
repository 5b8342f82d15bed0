//! What is shown, made of what switches answered. No clock, no I/O: whoever asks says when.

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
