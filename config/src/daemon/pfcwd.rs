//! `[pfcwd]`: the PFC storm watchdog, by the names and times that SONiC gives it.

use weir_core::config::{StormAction, WatchdogConfig};
use weir_core::Duration;

/// What SONiC's `pfcwd start_default` sets, in milliseconds.
const DEFAULT_MILLIS: u64 = 200;

/// `[pfcwd]`, or what a port has instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcwdConfig {
    /// Whether storms are watched for.
    pub enabled: bool,
    /// Times and action.
    pub watchdog: WatchdogConfig,
}

impl PfcwdConfig {
    /// SONiC's range of the detection time.
    pub const DETECTION: (Duration, Duration) =
        (Duration::from_millis(100), Duration::from_millis(5_000));
    /// SONiC's range of the restoration time.
    pub const RESTORATION: (Duration, Duration) =
        (Duration::from_millis(100), Duration::from_millis(60_000));
}

impl Default for PfcwdConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            watchdog: WatchdogConfig {
                detection: Duration::from_millis(DEFAULT_MILLIS),
                restoration: Duration::from_millis(DEFAULT_MILLIS),
                action: StormAction::Drop,
            },
        }
    }
}
