//! What the polling loop and the threads need of rings, whoever has them: AF_XDP, or a test's plain memory.

pub(super) mod io;
pub(super) mod lane;

use super::exchange::messages;
