//! Trusted senders of control frames, and limits on their rate.

use core::fmt;

/// Length in bytes of a [`FabricKey`].
pub const FABRIC_KEY_LENGTH: usize = 32;

/// The secret that the switches of a fabric share. It shows in no message.
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
    /// Seed of the nonces by which a link's neighbours tell present frames from old ones: another
    /// one at every start.
    pub seed: u64,
    /// The first frame's sequence number is the one after it. Above all that were given before: nanoseconds of
    /// the wall clock are, for as long as it is not set back.
    pub sequence: u64,
}

/// Control frames accepted from one port per second; the rest is dropped as
/// [`DropReason::ControlRate`](crate::DropReason::ControlRate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlLimits {
    /// PAUSE and PFC; `None` for any number.
    pub pause_rate: Option<u32>,
    /// CLCM, echo messages and greetings; `None` for any number.
    pub message_rate: Option<u32>,
}
