//! `[pfcwd]`: the PFC storm watchdog, with SONiC's names and times.

use weir_core::config::{StormAction, WatchdogConfig};
use weir_core::Duration;

use crate::reader::Table;
use crate::settings::{settings, valid, words};

/// The value of SONiC's `pfcwd start_default`.
const DEFAULT_TIME: Duration = Duration::from_millis(200);

settings! {
    /// `[pfcwd]`, or a port's own table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    PfcwdConfig in "pfcwd" {
        "enabled" enabled: Option<bool> = None => "at `edge` ports; in a scenario nowhere", "", Live, valid::anything;
            "Whether to watch for PFC storms. If unset, hosts are watched, and switches are not."
        "detection-time" detection: Duration = DEFAULT_TIME, "100 ms to 5 s", Live, valid::between(Self::DETECTION);
            "Time for which a neighbour must pause a lossless (port, priority), with frames waiting and none leaving. At `edge` ports, pauses for 95 % of five such times also count, even if frames leave."
        "restoration-time" restoration: Duration = DEFAULT_TIME, "100 ms to 60 s", Live, valid::between(Self::RESTORATION);
            "A storm is over when no pause has arrived, and none was in force, for this long."
        "action" action: StormAction = StormAction::Drop, "`\"drop\"`, `\"forward\"`, `\"alert\"`", Live, valid::anything;
            "Action during a storm. `\"drop\"`: frames that wait there or arrive for it are dropped and counted as `storm`. `\"forward\"`: the pause is ignored. `\"alert\"`: only report it."
    }
}

words! {
    StormAction: Self::ALL.map(|action| (action.name(), action));
}

impl PfcwdConfig {
    /// SONiC's range of the detection time.
    pub const DETECTION: (Duration, Duration) =
        (Duration::from_millis(100), Duration::from_millis(5_000));
    /// SONiC's range of the restoration time.
    pub const RESTORATION: (Duration, Duration) =
        (Duration::from_millis(100), Duration::from_millis(60_000));

    /// Times and action.
    pub fn watchdog(&self) -> WatchdogConfig {
        WatchdogConfig {
            detection: self.detection,
            restoration: self.restoration,
            action: self.action,
        }
    }

    /// The table of a port instead of `self`, from which missing keys are taken.
    pub(crate) fn of_port(self, port: &Table<'_>) -> Option<Self> {
        port.has(Self::TABLE)
            .then(|| Self::read(port, self, valid::together))
    }
}
