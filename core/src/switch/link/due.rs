//! What a neighbour is still to be told.

use crate::sets::PrioritySet;

/// Of one port. Every frame asks whether there is anything.
#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C)]
pub(in crate::switch) struct Due {
    /// Priorities whose pause state or Feedback goes out in a PFC frame.
    pub(super) pfc: PrioritySet,
    /// Priorities whose Feedback must be followed by zero at once (Karol, section IV).
    pub(super) zero: PrioritySet,
    /// The Feedback of the whole link, in a PAUSE frame.
    pub(super) pause: bool,
    /// A zero that must follow it at once.
    pub(super) pause_zero: bool,
}

impl Due {
    /// Whether a PAUSE or PFC frame may have to go out.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        // Hardly ever: one branch for all of them.
        (self.pause | self.pause_zero) | !self.pfc.is_empty() | !self.zero.is_empty()
    }

    /// Whether a frame is due that is not the second one of a Feedback.
    #[inline]
    pub(in crate::switch) fn is_feedback(&self) -> bool {
        !self.pfc.is_empty() || self.pause
    }
}

#[cfg(feature = "testing")]
#[path = "digest/due.rs"]
mod digest;
