//! Transports: state machines without clock or queue. Their inputs are frames sent, answers and the time; their output is
//! when the next frame may leave.
//!
//! They count frames, not bytes: windows, acknowledgements and numbers refer to a flow's frames.

pub mod acknowledged;
pub mod custom;
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

/// Length of a notification or an acknowledgement: the minimum Ethernet frame without FCS.
pub const ANSWER_LENGTH_BYTES: u64 = 60;
