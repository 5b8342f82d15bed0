//! What happens to control frames on their way.

use weir_core::Duration;

use crate::random::Random;

/// One thing that may happen to each control frame that crosses a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// Of each frame, in parts per million.
    pub probability_ppm: u32,
    /// What happens to it.
    pub kind: DisturbanceKind,
}

/// What happens to a control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisturbanceKind {
    /// It is lost.
    Loss,
    /// One bit of it is turned over behind the frame check sequence.
    Corruption,
    /// It arrives twice.
    Duplication,
    /// It arrives later by this much; others may overtake it.
    Delay(Duration),
}

/// What becomes of one frame.
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

/// Lets all of `disturbances` meet the frame `bytes`. A frame that one of them loses is lost, though another
/// would have it twice.
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
