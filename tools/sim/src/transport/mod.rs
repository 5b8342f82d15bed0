//! Transports: state machines without clock or queue. The network passes them the frames sent, the
//! answers and the time; they return when the next frame may leave.
//!
//! Frames are counted, not bytes: windows, acknowledgements and numbers are those of a flow's
//! frames.

pub mod acknowledged;
pub mod dcqcn;
mod dctcp;
pub mod hpcc;
mod reassembly;
pub mod recovery;
mod retransmission_timer;
pub mod swift;
pub mod telemetry;
pub mod timely;
mod vegas;
pub mod window;

#[cfg(test)]
mod window_tests;

pub use reassembly::Reassembly;
pub use weir_config::scenario::WINDOW_FRAMES_MAX;

/// The length of a notification or an acknowledgement: the shortest frame of Ethernet, without its FCS.
pub const ANSWER_LENGTH_BYTES: u64 = 60;
