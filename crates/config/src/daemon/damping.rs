//! `[flap-damping]`: links that go down often count as down until they have been quiet.

use weir_core::control::DampingConfig;
use weir_core::Duration;

use crate::reader::Table;
use crate::settings::{settings, valid};
use crate::switch::OffOrTime;

const HALF_LIVES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3_600));
const LONGEST: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(86_400));
const PENALTIES: (u64, u64) = (1, 20_000);

settings! {
    /// `[flap-damping]`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    FlapDampingConfig in "flap-damping" {
        "half-life" half_life: Option<Duration> as OffOrTime = None => "`\"off\"`", "", Restart, valid::anything;
            "Time in which a link's penalty halves, 100 ms to 1 h, or `\"off\"` for no damping. A link that goes down adds 1000."
        "suppress" suppress: u32 = 2_000, "", Restart, valid::within(PENALTIES.0, PENALTIES.1);
            "Penalty from which on the link counts as down, 1 to 20000; above `reuse`."
        "reuse" reuse: u32 = 1_000, "", Restart, valid::within(PENALTIES.0, PENALTIES.1);
            "Penalty below which it is used again, 1 to 20000."
        "max-suppress" max_suppress: Duration = Duration::from_secs(20), "", Restart, valid::between(LONGEST);
            "Longest time for which a link that has stopped flapping counts as down, 100 ms to 24 h. The penalty never exceeds `reuse` · 2^(`max-suppress` / `half-life`), which must be at least `suppress`."
    }
}

impl FlapDampingConfig {
    /// The settings of the state machine; `None` while damping is off.
    pub fn damping(&self) -> Option<DampingConfig> {
        Some(DampingConfig {
            half_life: self.half_life?,
            suppress: self.suppress,
            reuse: self.reuse,
            max_suppress: self.max_suppress,
        })
    }
}

/// Checks settings that depend on each other.
pub(super) fn check_damping(table: &Table<'_>, config: &FlapDampingConfig) {
    let Some(damping) = config.damping() else {
        return;
    };
    if damping.half_life < HALF_LIVES.0 || damping.half_life > HALF_LIVES.1 {
        table.complain("half-life", "must be between \"100ms\" and \"3600s\"");
    } else if damping.reuse >= damping.suppress {
        table.complain("reuse", "must be below `suppress`");
    } else if damping.ceiling() < f64::from(damping.suppress) {
        let highest = damping.ceiling();
        table.complain(
            "max-suppress",
            format!("penalties end at {highest:.0} and never reach `suppress`; lengthen it, or lower `suppress`"),
        );
    }
}
