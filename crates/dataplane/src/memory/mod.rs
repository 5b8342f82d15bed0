//! Packet memory: the UMEM, its free chunks, and the links between chunks.

pub(super) mod chains;
mod moved;
pub(super) mod pool;
pub(super) mod shares;
pub(super) mod umem;
