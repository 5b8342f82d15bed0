//! How frames are spread over the members of groups.

use weir_core::Duration;

/// Flowlet tables have this many entries unless the scenario says otherwise: as many as CONGA's chip has (SIGCOMM 2014,
/// section 3.4), of which LetFlow uses the same.
pub const FLOWLET_TABLE_DEFAULT: u32 = 1 << 16;
/// Entries of a flowlet table at most, 16 B each in the simulator.
pub const FLOWLET_TABLE_MAX: u32 = 1 << 20;

/// `[routing]`: what decides which of several members a frame takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balancing {
    /// Every switch hashes with a seed of its own. Where all hash alike, a switch gets only what the one before has chosen by the
    /// same hash, and leaves members unused.
    pub has_seeds: bool,
    /// What keeps to one hash at its sender.
    pub spread: Spread,
    /// What switches spread by themselves; `None`: they go by the hash that they are given. Where they do, senders
    /// spread nothing.
    pub at_switches: Option<SwitchSpread>,
}

impl Balancing {
    /// Whether all frames of a flow go one way.
    pub fn keeps_flows_together(&self) -> bool {
        self.spread == Spread::Flow && self.at_switches.is_none()
    }
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

/// What a switch sends another way, where it has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchSpread {
    /// Every frame for itself, at random (Dixit, Prakash, Hu, Kompella: On the Impact of Packet Spraying in Data Center
    /// Networks, INFOCOM 2013).
    Frame,
    /// Flowlets: frames of a flow that reach the switch within a time after one another. The first of each goes by a random
    /// member, the others after it (LetFlow: Vanini, Pan, Alizadeh, Taheri, Edsall, NSDI 2017).
    Flowlet {
        /// Above zero.
        gap: Duration,
        /// Of the switch's table, from 1 to [`FLOWLET_TABLE_MAX`]: flows with the same entry are one.
        entries: u32,
    },
}
