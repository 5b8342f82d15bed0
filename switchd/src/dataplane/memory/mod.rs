//! The chunks of packet memory: the memory itself, those that are free, and which one goes on where another ends.

pub(super) mod chains;
mod moved;
pub(super) mod pool;
pub(super) mod shares;
pub(super) mod umem;
