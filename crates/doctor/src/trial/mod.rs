//! The proof of a device: frames of all sizes and PFC frames go to a neighbour that reflects them, and what comes back is
//! judged.
//!
//! [`Tester`] is the side that asks, without I/O; [`Trial`] is what it found, and [`judge`] says what that means.

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
