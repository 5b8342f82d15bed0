//! Recovery by time limits: actions on an egress that has been paused for too long, regardless of the cause.

use crate::units::Duration;

/// The PFC storm watchdog of one port, as in SONiC's `PFC_WD` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// A (port, priority) is stalled when its neighbour has paused it for this long, with frames waiting and none
    /// leaving.
    pub detection: Duration,
    /// A storm ends when no pause has arrived, and none was in force, for this long.
    pub restoration: Duration,
    /// Action while a storm lasts.
    pub action: StormAction,
}

impl WatchdogConfig {
    pub(crate) const fn is_zero(&self) -> bool {
        self.detection.is_zero() || self.restoration.is_zero()
    }
}

crate::named! {
    /// Action during a PFC storm.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum StormAction {
        /// Frames that wait for the egress or arrive for it are dropped.
        Drop => "drop" (default),
        /// The pause is ignored.
        Forward => "forward",
        /// None: the storm is only reported.
        Alert => "alert",
    }
}

/// The head-of-queue lifetime limit of classes of mode `pfc` (InfiniBand Architecture Specification,
/// PortInfo: HOQLife and VLStallCount).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifetimeConfig {
    /// HOQLife: maximum time of a frame at the head of its (egress, priority).
    pub limit: Duration,
    /// VLStallCount: number of consecutive drops after which the (egress, priority) is VLStalled. Zero: never.
    pub stall_count: u8,
}

impl LifetimeConfig {
    /// Time for which a VLStalled (egress, priority) drops everything: 8 × HOQLife.
    pub const fn stalled_for(&self) -> Duration {
        self.limit.saturating_mul(8)
    }
}
