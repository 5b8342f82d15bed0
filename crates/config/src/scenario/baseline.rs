//! Prior art used instead of our own protocols.

/// `[baseline]`: a division of buffers in which they cannot form a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Baseline {
    /// No division: a frame keeps its priority.
    #[default]
    None,
    /// Structured buffer pools (Raubold and Haenle; Merlin and Schweitzer): a frame moves to the next priority of its
    /// class at each link between switches.
    BufferPools,
    /// Virtual channels (Dally and Seitz): a frame moves to the next priority of its class at certain links.
    VirtualChannels {
        /// These links, each in one direction: from the first switch to the second.
        change_at: Vec<[usize; 2]>,
    },
}

impl Baseline {
    /// Its `kind` in files and results.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BufferPools => "buffer-pools",
            Self::VirtualChannels { .. } => "virtual-channels",
        }
    }

    /// Index of a frame's priority in its class after the link `from` → `to`, if it was `rank` before. Only frames of
    /// lossless classes change.
    pub fn rank_behind(&self, rank: usize, from: usize, to: usize) -> usize {
        match self {
            Self::None => rank,
            Self::BufferPools => rank + 1,
            Self::VirtualChannels { change_at } => {
                rank + usize::from(change_at.contains(&[from, to]))
            }
        }
    }
}
