//! Trusted senders of control frames, and limits on their rate.

use core::fmt;

/// Length in bytes of a [`FabricKey`].
pub const FABRIC_KEY_LENGTH: usize = 32;

/// The secret shared by the switches of a fabric. Never part of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FabricKey([u8; FABRIC_KEY_LENGTH]);

impl FabricKey {
    /// The key of these bytes.
    pub const fn new(bytes: [u8; FABRIC_KEY_LENGTH]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; FABRIC_KEY_LENGTH] {
        &self.0
    }
}

impl fmt::Debug for FabricKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FabricKey")
    }
}

/// Authentication of CLCM and echo messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthenticationConfig {
    /// The fabric's key.
    pub key: FabricKey,
    /// Seed of the nonces with which the two ends of a link distinguish present frames from old ones; must
    /// differ at every start.
    pub seed: u64,
    /// Sequence numbers start above this one. It must exceed all numbers used before: nanoseconds of the wall clock do,
    /// unless the clock is set back.
    pub sequence: u64,
}

/// Control frames accepted from one port per second; excess frames are dropped as
/// [`DropReason::ControlRate`](crate::DropReason::ControlRate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlLimits {
    /// PAUSE and PFC; `None` for unlimited.
    pub pause_rate: Option<u32>,
    /// CLCM, echo messages and greetings; `None` for unlimited.
    pub message_rate: Option<u32>,
}
