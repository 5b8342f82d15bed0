//! Collects host and NIC state and reports what will break a lossless switch.
//!
//! Design: docs/src/internals/design/devices.md.
#![deny(unsafe_code)]
#![warn(clippy::too_many_lines)]

pub mod ask;
pub mod facts;
mod finding;
mod judge;
mod privileges;
pub mod trial;

pub use ask::{ethtool, link};
pub use facts::{Facts, Memory, TriedProgram};
pub use finding::{Check, Finding, Grade, Remedy};
pub use judge::{judge, worst, Running, RunningCable, RunningPort, RunningQueue, Wanted};
pub use privileges::{FOR_ANOTHER_USER, NEEDED};
