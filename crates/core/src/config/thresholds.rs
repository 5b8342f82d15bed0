//! Occupancies at which an ingress buffer pauses and resumes its neighbour.

use crate::units::Bytes;

/// Occupancies at which an ingress buffer pauses and resumes its neighbour. Either xon is below xoff, or the neighbour
/// is paused at any occupancy ([`always_paused`](Self::always_paused)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcThresholds {
    xoff: Bytes,
    xon: Bytes,
    headroom: Bytes,
}

/// Error: the neighbour would be paused and resumed at the same occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("xon ({xon}) must be below xoff ({xoff})")]
pub struct XonNotBelowXoff {
    /// Occupancy at which it would resume.
    pub xon: Bytes,
    /// Occupancy at which it would be paused.
    pub xoff: Bytes,
}

impl PfcThresholds {
    /// Pauses the neighbour when the ingress buffer holds at least `xoff`, lets it resume at `xon` or less, and has
    /// `headroom` above `xoff` for frames that arrive until the pause takes effect.
    ///
    /// # Errors
    ///
    /// `xon` is not below `xoff`.
    pub const fn new(xoff: Bytes, xon: Bytes, headroom: Bytes) -> Result<Self, XonNotBelowXoff> {
        if xon.get() >= xoff.get() {
            return Err(XonNotBelowXoff { xon, xoff });
        }
        Ok(Self {
            xoff,
            xon,
            headroom,
        })
    }

    /// Returns the same xoff and xon above another headroom.
    #[must_use]
    pub const fn with_headroom(self, headroom: Bytes) -> Self {
        Self { headroom, ..self }
    }

    /// Creates thresholds that are `gap` apart, at least one byte.
    pub fn above_xon(xon: Bytes, gap: Bytes, headroom: Bytes) -> Self {
        Self {
            xoff: xon + gap.max(Bytes::new(1)),
            xon,
            headroom,
        }
    }

    /// Pauses the neighbour at any occupancy; `headroom` is the whole buffer.
    pub(crate) const fn always_paused(headroom: Bytes) -> Self {
        Self {
            xoff: Bytes::ZERO,
            xon: Bytes::ZERO,
            headroom,
        }
    }

    /// Occupancy from which the neighbour is paused.
    pub const fn xoff(self) -> Bytes {
        self.xoff
    }

    /// Occupancy up to which it resumes.
    pub const fn xon(self) -> Bytes {
        self.xon
    }

    /// Room above xoff for frames that arrive until the pause takes effect.
    pub const fn headroom(self) -> Bytes {
        self.headroom
    }

    /// Maximum occupancy: xoff + headroom.
    pub fn limit(self) -> Bytes {
        self.xoff + self.headroom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_resumes_below_what_pauses_it() {
        let of = |xoff, xon| PfcThresholds::new(Bytes::new(xoff), Bytes::new(xon), Bytes::new(9));
        for xon in [10, 11, u64::MAX] {
            let error = of(10, xon).unwrap_err();
            let expected = format!("xon ({xon} B) must be below xoff (10 B)");
            assert_eq!(error.to_string(), expected);
        }
        assert!(of(0, 0).is_err());
        let least = of(10, 9).unwrap();
        for gap in [0, 1] {
            let apart = PfcThresholds::above_xon(Bytes::new(9), Bytes::new(gap), Bytes::new(9));
            assert_eq!(apart, least);
        }
        assert_eq!(
            (least.xon(), least.limit()),
            (Bytes::new(9), Bytes::new(19))
        );
    }
}
