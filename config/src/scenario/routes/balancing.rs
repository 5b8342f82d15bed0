//! How frames are spread over the members of groups.

use weir_core::Duration;

/// `[routing]`: what decides which of several members a frame takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balancing {
    /// Every switch hashes with a seed of its own. Where all hash alike, a switch gets only what the one before has chosen by the
    /// same hash, and leaves members unused.
    pub has_seeds: bool,
    /// What keeps to one hash.
    pub spread: Spread,
}

/// What keeps to one hash, and so to one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// All frames of a flow.
    #[default]
    Flow,
    /// Every frame for itself: the sender gives each another hash.
    Frame,
    /// Frames of a flow that its sender sends within this time after one another.
    Flowlet {
        /// Above zero.
        gap: Duration,
    },
}
