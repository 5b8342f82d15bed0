//! Repetition of lost frames: RoCE's go-back-N, and selective.
//!
//! Selective repetition is that of Mittal et al., "Revisiting Network Support for RDMA" (IRN), SIGCOMM 2018: every frame is
//! acknowledged, an acknowledgement out of order names its frame, and missing frames before it count as lost. Each frame is
//! repeated once; if the repetition is also lost, a timeout follows.

mod listener;
mod resender;

#[cfg(test)]
mod tests;

pub use listener::{Listener, Receipt, Reply};
pub use resender::{Progress, Resender};
