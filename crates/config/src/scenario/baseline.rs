//! Prior art that runs in the place of our own.

/// `[baseline]`: how buffers are divided so that no loop of them can close.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Baseline {
    /// Nothing of the kind: a frame keeps its priority.
    #[default]
    None,
    /// Structured buffer pools (Raubold and Haenle; Merlin and Schweitzer): a frame takes the next priority of its class
    /// with each link between switches.
    BufferPools,
    /// Virtual channels (Dally and Seitz): a frame takes the next priority of its class at certain links.
    VirtualChannels {
        /// The links where it does, each in one direction: from the first switch to the second.
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

    /// Which priority of its class a frame has behind the link `from` → `to`, where it had the one with index `rank`
    /// before. Frames of lossless classes alone change.
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
