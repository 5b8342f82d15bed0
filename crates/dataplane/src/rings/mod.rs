//! Rings, for the polling loop and the threads: traits with implementations for AF_XDP and for tests.

pub(super) mod io;
pub(super) mod lane;
pub(super) mod slots;

use crate::exchange::messages;
