//! Distribution of frames over the members of groups.

use weir_core::Duration;

/// Default number of entries of a flowlet table: that of CONGA's chip (SIGCOMM 2014, section 3.4), also used by
/// LetFlow.
pub const FLOWLET_TABLE_DEFAULT: u32 = 1 << 16;
/// Maximum number of entries of a flowlet table, 16 B each in the simulator.
pub const FLOWLET_TABLE_MAX: u32 = 1 << 20;

/// `[routing]`: choice among several members for a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balancing {
    /// Every switch hashes with its own seed. If all hash equally, a switch receives only flows that the previous
    /// switch chose by the same hash, and leaves members unused.
    pub has_seeds: bool,
    /// Unit that keeps one hash at its sender.
    pub spread: Spread,
    /// Spreading by switches themselves; `None` if they use the given hash. If set, senders spread nothing.
    pub at_switches: Option<SwitchSpread>,
}

impl Balancing {
    /// Returns true if all frames of a flow take one path.
    pub fn keeps_flows_together(&self) -> bool {
        self.spread == Spread::Flow && self.at_switches.is_none()
    }
}

/// Unit that keeps one hash and hence one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// All frames of a flow.
    #[default]
    Flow,
    /// Single frames: the sender gives each another hash.
    Frame,
    /// Frames of a flow sent within this time of each other.
    Flowlet {
        /// Above zero.
        gap: Duration,
    },
}

/// Unit that a switch sends on one of several paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchSpread {
    /// Single frames, at random (Dixit, Prakash, Hu, Kompella: On the Impact of Packet Spraying in Data Center
    /// Networks, INFOCOM 2013).
    Frame,
    /// Flowlets: frames of a flow that reach the switch within a time of each other. The first of each takes a random
    /// member, the others follow (LetFlow: Vanini, Pan, Alizadeh, Taheri, Edsall, NSDI 2017).
    Flowlet {
        /// Above zero.
        gap: Duration,
        /// Size of the switch's table, from 1 to [`FLOWLET_TABLE_MAX`]: flows with the same entry count as one.
        entries: u32,
    },
}
