//! Credits: a sender counts the bytes that its neighbour can certainly store, and never exceeds them.
//!
//! [`CreditSender`] and [`CreditReceiver`] are the two ends of one direction of a link, for all of its classes with
//! credits. They do no I/O and read no clock. A switch has one of each for every port; a host that obeys credits has
//! the same two.
//!
//! Design: docs/src/internals/design/credits.md.

mod host;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use host::HostCredits;
pub use receiver::{CreditReceiver, ReceivingGauges};
pub use sender::{CreditSender, SendingGauges};

use crate::units::{Bytes, Duration};
use crate::wire::lldp::dcbx::PrioritySet;

/// Maximum credit limit. A counter that is further ahead than this is wrong.
pub const CREDIT_LIMIT_MAX: u32 = 1 << 20;

crate::named! {
    /// Treatment of a neighbour that has not agreed to credits.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum CreditFallback {
        /// As in a class with PFC, with its thresholds.
        Pfc => "pfc" (default),
        /// The class neither sends nor receives there.
        Closed => "closed",
    }

    /// State of one direction of a link for one class with credits.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum CreditState {
        /// The neighbour has not answered.
        Waiting => "waiting" (default),
        /// Both ends count credits.
        Credits => "credits",
        /// The neighbour does not use credits.
        Fallback => "fallback",
    }
}

/// Credits of a class: its neighbours send only as much as they were granted room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditConfig {
    /// Bytes per credit: a whole number of cells.
    pub size: Bytes,
    /// Bytes needed to store a frame in addition to its length, at most 127.
    pub overhead: u8,
    /// Treatment of a neighbour that does not use credits.
    pub fallback: CreditFallback,
}

/// Times of the messages, and the first epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditTimes {
    /// First epoch; must be later than all before at every start of the switch: milliseconds of the wall clock are.
    pub epoch: u32,
    /// An unconfirmed CF_Update is repeated after this time.
    pub refresh: Duration,
    /// Time between two CC_Updates while credits are used.
    pub consumed: Duration,
    /// Time between two keep-alive messages on a link whose ends agree.
    pub idle: Duration,
    /// A neighbour that has not answered for this long does not use credits.
    pub patience: Duration,
    /// The same for a neighbour that [announces](CreditHints::offered) credits.
    pub patience_offered: Duration,
    /// Freed bytes after which a CF_Update is sent at once; `None` for a quarter of the limit, from 6,400 to 262,144.
    pub spacing: Option<Bytes>,
}

impl Default for CreditTimes {
    fn default() -> Self {
        Self {
            epoch: 1,
            refresh: Duration::from_millis(1),
            consumed: Duration::from_millis(10),
            idle: Duration::from_millis(100),
            patience: Duration::from_millis(300),
            patience_offered: Duration::from_secs(10),
            spacing: None,
        }
    }
}

/// Announcements (LLDP) of a link's other end about credits, reduced to the classes that have credits here. They decide
/// how long a class waits for the neighbour's messages, and never how much it sends: they have no epoch and no seal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CreditHints {
    /// Classes in which a neighbour announces credits: a switch's answer is awaited for
    /// [`patience_offered`](CreditTimes::patience_offered).
    pub offered: PrioritySet,
    /// Classes in which no neighbour does: they use the fallback at once, until a neighbour answers.
    pub absent: PrioritySet,
    /// Those of `absent` for which a Weir switch is heard. Where credits are in use nevertheless, both ends begin an
    /// epoch: the neighbour may have lost its class in a restart, and would never answer in the old one.
    pub denied: PrioritySet,
}

/// Terms on which a receiver gives credits in one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CreditTerms {
    size: u16,
    overhead: i8,
    limit: u32,
}

impl CreditTerms {
    /// Creates the terms: credits of `size` bytes, `overhead` bytes added to each frame, at most `limit` credits.
    /// `None` for invalid values: a size below 64 B, an overhead outside −16 to 127 B, a limit of zero or above
    /// [`CREDIT_LIMIT_MAX`].
    pub const fn new(size: u16, overhead: i8, limit: u32) -> Option<Self> {
        if size < 64 || overhead < -16 || limit == 0 || limit > CREDIT_LIMIT_MAX {
            return None;
        }
        Some(Self {
            size,
            overhead,
            limit,
        })
    }

    /// Returns the terms of a class whose buffer holds `room`.
    pub fn of(config: &CreditConfig, room: Bytes) -> Option<Self> {
        let size = u16::try_from(config.size.get()).ok()?;
        let limit = room.get().checked_div(config.size.get())?;
        let limit = limit.min(u64::from(CREDIT_LIMIT_MAX));
        Self::new(size, i8::try_from(config.overhead).ok()?, limit as u32)
    }

    /// Bytes per credit.
    pub const fn size(&self) -> u16 {
        self.size
    }

    /// Bytes added to each frame.
    pub const fn overhead(&self) -> i8 {
        self.overhead
    }

    /// Maximum number of credits.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Returns the credits that a frame of `length` costs, at least one.
    pub fn cost(&self, length: Bytes) -> u32 {
        let bytes = length.get().saturating_add_signed(i64::from(self.overhead));
        let credits = bytes.div_ceil(u64::from(self.size)).max(1);
        u32::try_from(credits).unwrap_or(u32::MAX)
    }

    /// Returns the number of freed credits after which the sender is notified at once: those of `configured` bytes, by
    /// default of a quarter of the limit, from 6,400 to 262,144 B.
    pub fn spacing(&self, configured: Option<Bytes>) -> u32 {
        let size = u64::from(self.size);
        let quarter = (u64::from(self.limit) * size / 4).clamp(6_400, 262_144);
        let bytes = configured.map_or(quarter, Bytes::get);
        // Low enough that a sender with credits left for less than one longest frame need not wait for the timer.
        ((bytes / size) as u32).clamp(1, (self.limit / 2).max(1))
    }
}

/// Returns how far the cyclic counter `to` is ahead of `from`; negative if it is behind.
const fn ahead(to: u32, from: u32) -> i32 {
    to.wrapping_sub(from) as i32
}
