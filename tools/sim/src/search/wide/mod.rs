//! Wide random networks, judged while traffic runs as well: nothing is lost, reordered or stuck, and no flow that has
//! frames is left waiting.

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

/// Treatment of congestion by the classes of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Protocol P.
    Level,
    /// PFC with the Deadlock Breaker.
    PfcBreaker,
    /// PFC alone, which locks: a search that finds nothing there proves nothing.
    Pfc,
    /// PFC with the Deadlock Breaker, with as much memory towards switches as under Levels: what Levels are held to.
    PfcLikeLevel,
}

/// The wide network of `seed`. The same seed gives the same one.
pub fn network(seed: u64) -> Case {
    draw::draw(seed)
}
