//! Length and charge of frames, and times of pauses.

use weir_core::{Bytes, Duration, Quanta};

use super::headroom::Charging;

/// The keys of `[dataplane]` that apply to every switch, regardless of how frames reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameConfig {
    /// Buffers are charged in whole cells.
    pub cell: Bytes,
    /// Longest payload.
    pub mtu: Bytes,
    /// Pause time of an XOFF.
    pub pause_time: Quanta,
    /// Interval at which a Transmit Feedback is repeated.
    pub feedback_refresh: Duration,
}

impl FrameConfig {
    /// The defaults.
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

    /// γmax: the charge of the longest frame.
    pub fn gamma_max(&self) -> Bytes {
        self.frame_length_max().round_up_to(self.cell)
    }

    /// Rounding of charges.
    pub fn charging(&self) -> Charging {
        Charging {
            cell: self.cell,
            frame_length_max: self.frame_length_max(),
        }
    }

    /// A copy whose MTU fits frames of this length.
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
