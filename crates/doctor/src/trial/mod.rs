//! Test of a device: frames of all sizes and PFC frames are sent to a neighbour that reflects them, and the returned
//! frames are judged.
//!
//! [`Tester`] is the requesting side, without I/O; [`Trial`] has its results, and [`judge`]
//! interprets them.

mod judge;
mod plan;
mod reflector;
mod tally;
mod tester;
#[cfg(test)]
mod tests;

pub use judge::judge;
pub use reflector::{Fault, Reflector};
pub use tally::{Ended, Frames, Link, Neighbour, Pauses, Tally, Trial, Way};
pub use tester::{Tester, WINDOW};
