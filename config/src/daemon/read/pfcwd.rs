//! `[pfcwd]` and a port's `pfcwd`.

use weir_core::config::{StormAction, WatchdogConfig};
use weir_core::Duration;

use super::keys;
use crate::daemon::PfcwdConfig;
use crate::reader::Table;
use crate::units::format_duration;

/// The table `pfcwd` under `parent`; what it does not name is as in `default`. Also used by scenarios.
pub(crate) fn pfcwd(parent: &Table<'_>, default: PfcwdConfig) -> Option<PfcwdConfig> {
    let table = parent.table("pfcwd", keys("pfcwd"))?;
    let time = |key: &str, default: Duration, (least, most): (Duration, Duration)| {
        let time = table.get_or(key, default);
        if !(least..=most).contains(&time) {
            table.complain(
                key,
                format!(
                    "must be between \"{}\" and \"{}\"",
                    format_duration(least),
                    format_duration(most)
                ),
            );
        }
        time
    };
    Some(PfcwdConfig {
        enabled: table.get_or("enabled", default.enabled),
        watchdog: WatchdogConfig {
            detection: time(
                "detection-time",
                default.watchdog.detection,
                PfcwdConfig::DETECTION,
            ),
            restoration: time(
                "restoration-time",
                default.watchdog.restoration,
                PfcwdConfig::RESTORATION,
            ),
            action: table
                .choice(
                    "action",
                    &StormAction::ALL.map(|action| (action.name(), action)),
                )
                .unwrap_or(default.watchdog.action),
        },
    })
}
