//! How flows answer to congestion: state machines without clock or queue. The network tells them what was sent, what
//! came back and what time it is; they tell when the next frame may leave.
//!
//! Frames are counted, not bytes: windows, acknowledgements and numbers are those of a flow's frames.

pub mod dcqcn;
mod reassembly;
mod retransmission_timer;
mod vegas;
pub mod window;

#[cfg(test)]
mod window_tests;

pub use reassembly::Reassembly;

/// The length of a notification or an acknowledgement: the shortest frame of Ethernet, without its FCS.
pub const ANSWER_LENGTH_BYTES: u64 = 60;

/// The largest window, and the most that a receiver holds out of order.
pub const WINDOW_FRAMES_MAX: u32 = 65_536;
