//! Wide random networks, also judged during traffic: nothing is lost, reordered or stuck, and no flow with frames starves.

mod case;
mod draw;
mod judge;
mod render;
mod shares;
mod shrink;
mod traffic;

pub use case::Case;
pub(in crate::search) use draw::{magnitude, pick};
pub use judge::{judge, Answer, Broken, Patience, Told};
pub use shrink::shrink;

/// Protocols of a network's classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Protocol P.
    Level,
    /// PFC with the Deadlock Breaker.
    PfcBreaker,
    /// PFC alone, which locks: if a search finds nothing there, it proves nothing.
    Pfc,
    /// PFC with the Deadlock Breaker and the same memory towards switches as under Levels: the reference for Levels.
    PfcLikeLevel,
}

/// Creates the wide network of `seed`. The same seed gives the same case.
pub fn network(seed: u64) -> Case {
    draw::draw(seed)
}
