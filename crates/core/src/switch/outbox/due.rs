//! Messages still to be sent to a neighbour.

use crate::sets::PrioritySet;

/// Pending messages of one port. Every frame checks them.
#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C)]
pub(in crate::switch) struct Due {
    /// Priorities whose pause state or Feedback is sent in a PFC frame.
    pub(in crate::switch) pfc: PrioritySet,
    /// Priorities whose Feedback must be followed at once by zero (Karol, section IV).
    pub(in crate::switch) zero: PrioritySet,
    pub(in crate::switch) pause: bool,
    pub(in crate::switch) seldom: Seldom,
}

/// Several flags in one byte: with the others of [`Due`] they form one word, which every frame checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::switch) struct Seldom(pub(super) u8);

impl Seldom {
    const PAUSE_ZERO: u8 = 1;
    const PROBE: u8 = 2;
    const CREDITS: u8 = 4;

    /// A zero that must follow the Feedback of the whole link at once.
    #[cfg(feature = "testing")]
    pub(in crate::switch) fn pause_zero(self) -> bool {
        self.0 & Self::PAUSE_ZERO != 0
    }

    pub(in crate::switch) fn set_pause_zero(&mut self, due: bool) {
        self.set(Self::PAUSE_ZERO, due);
    }

    pub(in crate::switch) fn set_credits(&mut self, due: bool) {
        self.set(Self::CREDITS, due);
    }

    pub(in crate::switch) fn set_probe(&mut self, due: bool) {
        self.set(Self::PROBE, due);
    }

    /// Returns true and clears the flag when a probe for loops is due.
    pub(in crate::switch) fn take_probe(&mut self) -> bool {
        self.take(Self::PROBE)
    }

    /// Returns true and clears the flag when [`pause_zero`](Self::pause_zero) is due.
    pub(in crate::switch) fn take_pause_zero(&mut self) -> bool {
        self.take(Self::PAUSE_ZERO)
    }

    fn take(&mut self, flag: u8) -> bool {
        let was = self.0 & flag != 0;
        self.set(flag, false);
        was
    }

    fn set(&mut self, flag: u8, due: bool) {
        self.0 = if due { self.0 | flag } else { self.0 & !flag };
    }
}

impl Due {
    /// Returns true if a PAUSE or PFC frame, or a probe, may have to be sent.
    #[inline]
    pub(in crate::switch) fn is_any(&self) -> bool {
        // Rarely true: one branch for all of them, which are adjacent.
        let all = [self.pfc.0, self.zero.0, u8::from(self.pause), self.seldom.0];
        u32::from_ne_bytes(all) != 0
    }

    /// Returns true if a frame is due that is not the trailing zero of a Feedback.
    #[inline]
    pub(in crate::switch) fn is_feedback(&self) -> bool {
        !self.pfc.is_empty() || self.pause
    }
}

#[cfg(feature = "testing")]
#[path = "digest/due.rs"]
mod digest;
