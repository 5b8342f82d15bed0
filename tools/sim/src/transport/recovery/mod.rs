//! Frames that were lost are sent again: RoCE's go-back-N, and selectively.
//!
//! Selective repetition is that of Mittal et al., "Revisiting Network Support for RDMA" (IRN),
//! SIGCOMM 2018: every frame is acknowledged, an acknowledgement out of order names its frame, and
//! frames missing before it count as lost. Each frame is sent again once; when such a repetition is
//! also lost, a timeout follows.

mod listener;
mod resender;

#[cfg(test)]
mod tests;

pub use listener::{Listener, Receipt, Reply};
pub use resender::{Progress, Resender};
