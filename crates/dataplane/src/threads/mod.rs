//! Sleeping, waking and passing descriptors between the dataplane's threads. `tests/interleavings` compiles these files with
//! loom's atomics, in a module with the same names as this one.

pub(super) mod doorway;
pub(super) mod hand_over;
pub(super) mod sleeper;
#[cfg(test)]
mod sleeper_tests;
pub(super) mod socket_worker;
mod sync;
pub(super) mod wake;

use crate::exchange::messages;
use crate::rings::{io, lane};
