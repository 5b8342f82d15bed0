//! Recovery by time: what is done to an egress that has been held for too long, without asking why.

use crate::units::Duration;

/// The PFC storm watchdog at one port, as SONiC's `PFC_WD` table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// A (port, priority) is stalled when its neighbour has held it for this long, with frames waiting and
    /// none leaving.
    pub detection: Duration,
    /// A storm is over when no pause has come in, and none was in force, for this long.
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
    /// What is done about a PFC storm while it lasts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum StormAction {
        /// What waits for the egress is dropped, and so is what arrives for it.
        Drop => "drop" (default),
        /// The pause is ignored.
        Forward => "forward",
        /// Nothing: it is told.
        Alert => "alert",
    }
}

/// The head-of-queue lifetime limit of classes of mode `pfc` (InfiniBand Architecture Specification,
/// PortInfo: HOQLife and VLStallCount).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifetimeConfig {
    /// HOQLife: maximum time of a frame at the head of its (egress, priority).
    pub limit: Duration,
    /// VLStallCount: after this many drops in a row the (egress, priority) is VLStalled. Zero: never.
    pub stall_count: u8,
}

impl LifetimeConfig {
    /// For how long a VLStalled (egress, priority) drops everything: 8 × HOQLife.
    pub const fn stalled_for(&self) -> Duration {
        self.limit.saturating_mul(8)
    }
}
