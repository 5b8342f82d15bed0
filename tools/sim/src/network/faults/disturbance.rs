//! Disturbances of control frames on a line.

use weir_core::Duration;

use crate::random::Random;

/// One kind of disturbance of the control frames that cross a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// Probability for each frame in parts per million.
    pub probability_ppm: u32,
    /// The disturbance.
    pub kind: DisturbanceKind,
}

/// Disturbances of a control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisturbanceKind {
    /// It is lost.
    Loss,
    /// One of its bits is inverted, unnoticed by the frame check sequence.
    Corruption,
    /// It arrives twice.
    Duplication,
    /// It arrives later by this much, and may be overtaken.
    Delay(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::network) struct Fate {
    pub(in crate::network) copies: u8,
    pub(in crate::network) late_by: Duration,
}

impl Fate {
    pub(in crate::network) const ORDINARY: Self = Self {
        copies: 1,
        late_by: Duration::ZERO,
    };
}

/// Applies all of `disturbances` to the frame `bytes`. Loss takes precedence over duplication.
pub(in crate::network) fn meet(
    disturbances: &[Disturbance],
    random: &mut Random,
    bytes: &mut [u8],
) -> Fate {
    let mut fate = Fate::ORDINARY;
    let mut lost = false;
    for disturbance in disturbances {
        if !random.happens(disturbance.probability_ppm) {
            continue;
        }
        match disturbance.kind {
            DisturbanceKind::Loss => lost = true,
            DisturbanceKind::Corruption => {
                let bit = random.below(bytes.len() as u64 * 8) as usize;
                if let Some(byte) = bytes.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            DisturbanceKind::Duplication => fate.copies = 2,
            DisturbanceKind::Delay(by) => fate.late_by += by,
        }
    }
    if lost {
        fate.copies = 0;
    }
    fate
}
