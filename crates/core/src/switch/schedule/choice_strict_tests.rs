//! A strict priority beside those that take turns.

use super::*;
use crate::config::{Algorithm, ClassConfig, ClassMode, PartsPerMillion, SwitchConfig};
use crate::units::Bytes;

/// Precedence of a port at which [`STRICT`] is strict.
pub(super) fn precedence() -> Box<Precedence> {
    let lossy = ClassMode::Lossy {
        buffer: Bytes::new(1 << 20),
    };
    let mut classes = [ClassConfig::new(lossy); PRIORITY_COUNT];
    classes[STRICT].scheduler.algorithm = Algorithm::Strict;
    let config = SwitchConfig {
        strict_share: PartsPerMillion::from_percent(SHARE_PERCENT as u32),
        frame_length_max: Bytes::new(u64::from(LENGTH)),
        ..SwitchConfig::new(Vec::new(), classes, Vec::new())
    };
    Precedence::new(&config).unwrap()
}

/// Owed frames that went before it are deducted from the turns afterwards: in the long run the strict priority gets its
/// share.
#[test]
fn a_strict_priority_gets_its_share_and_no_more() {
    let mut both = Both::new(8, true);
    let open = Rules {
        paused: [false; PRIORITY_COUNT],
        gates: [Gate::ALL; PRIORITY_COUNT],
    };
    for _ in 0..500 {
        both.refill(true);
        let rules = both.random_rules();
        both.step(&rules);
    }
    for _ in 0..10 * PAIRS {
        both.refill(true);
        both.step(&open);
    }
    assert_eq!(both.model.owed, []);
    both.sent = [0; PRIORITY_COUNT];
    for _ in 0..1500 {
        both.refill(true);
        both.step(&open);
    }
    // 20 % for two others with weights 1 and 2.
    for (priority, share) in [(STRICT, 1200), (1, 100), (3, 200)] {
        assert!(both.sent[priority].abs_diff(share) <= 4, "{:?}", both.sent);
    }
}
