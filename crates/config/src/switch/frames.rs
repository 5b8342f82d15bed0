//! How long frames are, what they are charged, and how long the switch pauses whoever sends them.

use weir_core::{Bytes, Duration, Quanta};

use super::headroom::Charging;

/// The keys of `[dataplane]` that are true of every switch, and not of the way that frames reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameConfig {
    /// Buffers are charged in whole cells.
    pub cell: Bytes,
    /// Longest payload.
    pub mtu: Bytes,
    /// Pause time of an XOFF.
    pub pause_time: Quanta,
    /// A Transmit Feedback is repeated after this time.
    pub feedback_refresh: Duration,
}

impl FrameConfig {
    /// Where nothing else is said.
    pub const DEFAULT: Self = Self {
        cell: Bytes::new(256),
        mtu: Bytes::new(1500),
        pause_time: Quanta::MAX,
        feedback_refresh: Duration::from_millis(10),
    };

    const HEADER_AND_TWO_TAGS: Bytes = Bytes::new(14 + 2 * 4);

    /// Longest frame from destination address to last payload byte.
    pub fn frame_length_max(&self) -> Bytes {
        self.mtu + Self::HEADER_AND_TWO_TAGS
    }

    /// γmax: the longest frame as it is charged.
    pub fn gamma_max(&self) -> Bytes {
        self.frame_length_max().round_up_to(self.cell)
    }

    /// How buffers are charged.
    pub fn charging(&self) -> Charging {
        Charging {
            cell: self.cell,
            frame_length_max: self.frame_length_max(),
        }
    }

    /// The same with an MTU that is at least what frames of this length need.
    #[must_use]
    pub fn with_frames(self, length: Bytes) -> Self {
        Self {
            mtu: self
                .mtu
                .max(length.saturating_sub(Self::HEADER_AND_TWO_TAGS)),
            ..self
        }
    }
}
