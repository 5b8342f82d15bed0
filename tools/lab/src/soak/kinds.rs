//! The networks of a soak, and the faults of each.

use std::path::Path;

use anyhow::{Context, Result};
use weir_config::scenario::Scenario;
use weir_config::Override;

use super::faults::Fault;

/// One network.
#[derive(Debug)]
pub struct Kind {
    /// Name in the summary.
    pub name: &'static str,
    text: &'static str,
    overrides: &'static [&'static str],
    /// Faults that occur, in random order.
    pub(super) faults: &'static [Fault],
    /// Guarantee under these faults.
    pub(super) promise: Promise,
    pub(super) has_keepers: bool,
}

/// Guarantee for the frames of a network. No frame ever arrives twice or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// Every frame arrives, in order.
    LosslessInOrder,
    /// Every frame arrives; a flow moved to another path may be reordered.
    Lossless,
    /// Frames that arrive are in order.
    InOrder,
}

impl Promise {
    pub(super) const fn is_lossless(self) -> bool {
        matches!(self, Self::LosslessInOrder | Self::Lossless)
    }

    pub(super) const fn keeps_order(self) -> bool {
        matches!(self, Self::LosslessInOrder | Self::InOrder)
    }
}

const RING: &str = include_str!("../../../../scenarios/ring4.toml");
const SYMMETRIC_RING: &str = include_str!("../../../../scenarios/ring4-symmetric.toml");
const LEAF_SPINE: &str = include_str!("../../../../scenarios/figure7.toml");
/// Frames of half a second: a frozen switch must be able to take the frames that arrive in this time.
const LEAF_SPINE_HEADROOM: &str = "class.lossless.headroom=1536KiB";

/// Short interruptions without a link that goes down.
const GENTLE: &[Fault] = &[Fault::Freeze, Fault::Reload, Fault::Capture];
/// Like [`GENTLE`], with replaced switches.
const KEPT: &[Fault] = &[Fault::StartAnew, Fault::Reload, Fault::Capture];
const ALL: &[Fault] = &[
    Fault::Freeze,
    Fault::Reload,
    Fault::Capture,
    Fault::LinkFlap,
    Fault::Restart,
    Fault::Kill,
];

/// All networks; a soak uses them in turn.
pub const KINDS: [Kind; 7] = [
    Kind {
        name: "ring, Deadlock Breaker",
        text: RING,
        overrides: &["deadlock.policy=breaker"],
        faults: GENTLE,
        promise: Promise::LosslessInOrder,
        has_keepers: false,
    },
    Kind {
        name: "ring, Levels",
        text: RING,
        overrides: &["class.lossless.mode=level"],
        faults: GENTLE,
        promise: Promise::LosslessInOrder,
        has_keepers: false,
    },
    Kind {
        name: "leaf-spine, Deadlock Breaker",
        text: LEAF_SPINE,
        overrides: &["deadlock.policy=breaker", LEAF_SPINE_HEADROOM],
        faults: ALL,
        promise: Promise::InOrder,
        has_keepers: false,
    },
    Kind {
        name: "symmetric ring, Levels",
        text: SYMMETRIC_RING,
        overrides: &["class.lossless.mode=level"],
        faults: ALL,
        promise: Promise::InOrder,
        has_keepers: false,
    },
    Kind {
        name: "leaf-spine, Loop Breaker",
        text: LEAF_SPINE,
        overrides: &["deadlock.policy=loop-breaker", LEAF_SPINE_HEADROOM],
        faults: GENTLE,
        promise: Promise::Lossless,
        has_keepers: false,
    },
    Kind {
        name: "ring, Deadlock Breaker, switches that go",
        text: RING,
        overrides: &["deadlock.policy=breaker"],
        faults: ALL,
        promise: Promise::InOrder,
        has_keepers: false,
    },
    Kind {
        name: "ring, Deadlock Breaker, keepers",
        text: RING,
        overrides: &["deadlock.policy=breaker"],
        faults: KEPT,
        promise: Promise::LosslessInOrder,
        has_keepers: true,
    },
];

impl Kind {
    /// Returns its scenario: hosts send until they are stopped, at a rate suitable for a machine of few cores.
    pub(super) fn scenario(&self) -> Result<Scenario> {
        let overrides: Vec<Override> = ["duration=600s", "link-defaults.rate=25Mbit"]
            .iter()
            .chain(self.overrides)
            .map(|text| text.parse().map_err(anyhow::Error::msg))
            .collect::<Result<_>>()?;
        Scenario::parse(self.text, Path::new(self.name), &overrides)
            .with_context(|| self.name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_is_legal() {
        for kind in &KINDS {
            let scenario = kind.scenario().unwrap_or_else(|error| panic!("{error:#}"));
            assert!(!scenario.switches.is_empty() && !kind.faults.is_empty());
        }
    }
}
