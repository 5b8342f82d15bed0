//! Ring interfaces for the polling loop and the threads, implemented by AF_XDP and by a test's
//! plain memory.

pub(super) mod io;
pub(super) mod lane;
pub(super) mod slots;

use super::exchange::messages;
