//! Authentication of CLCM and echo frames: they must come from a neighbour that has the fabric's key, and be current.
//!
//! Each end of a link has a nonce, new at every start, and sends it in greetings. All other frames are sealed with the
//! receiver's nonce, so they are useless on another link, in the other direction, or to a receiver that has restarted.
//! Within one run the sequence number must grow. After a restart the sender's numbers continue from the wall clock. A
//! greeting counts if it shows that its sender has received our nonce; any other is answered.
//!
//! If a neighbour's clock was set back between two starts, its sequence numbers are too old for this
//! switch. Its nonce has changed then. The switch takes a new nonce as well, which invalidates all
//! messages sealed with the old one, and restarts the count.

use crate::config::{AuthenticationConfig, PortRole};
use crate::counters::DropReason;
use crate::random::SplitMix64;
use crate::switch::port::Port;
use crate::switch::Switch;
use crate::units::{Duration, Instant, PortId};
use crate::wire::clcm::Clcm;
use crate::wire::credit::CreditUpdate;
use crate::wire::echo::Echo;
use crate::wire::seal::{sequence_of, Greeting, Sealable, Sealed};

/// Maximum time between two greetings.
const INTERVAL: Duration = Duration::from_secs(1);
const INTERVAL_AT_FIRST: Duration = Duration::from_millis(10);

#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Authentication {
    config: AuthenticationConfig,
    random: SplitMix64,
    /// Nonce used by the neighbour for sealing.
    own: u64,
    /// Nonce used by us for sealing: from a current greeting.
    peer: Option<u64>,
    /// Nonce in the neighbour's last authentic greeting, current or not: our greetings repeat it.
    heard: u64,
    /// Sequence number of the last frame sent.
    sent: u64,
    /// Sequence number of the last accepted frame.
    received: u64,
    next_at: Instant,
    interval: Duration,
    greeting_due: bool,
}

impl Authentication {
    /// For a fabric port; each has separate nonces.
    pub(in crate::switch) fn new(config: AuthenticationConfig, port: usize) -> Self {
        // Far apart in the generator's cycle.
        let stream = SplitMix64::new(port as u64).next_u64();
        let mut random = SplitMix64::new(config.seed ^ stream);
        Self {
            config,
            own: nonce(&mut random),
            random,
            peer: None,
            heard: 0,
            sent: config.sequence,
            received: 0,
            next_at: Instant::ZERO,
            interval: INTERVAL_AT_FIRST,
            greeting_due: false,
        }
    }

    pub(in crate::switch) fn next_at(&self) -> Instant {
        self.next_at
    }

    pub(in crate::switch) fn refresh(&mut self, now: Instant) {
        if self.next_at <= now {
            self.greeting_due = true;
            self.next_at = now + self.interval;
            self.interval = self.interval.saturating_mul(2).min(INTERVAL);
        }
    }

    /// Sends a greeting at once and another soon: the neighbour may be a different one.
    pub(in crate::switch) fn begin_anew(&mut self) {
        self.greeting_due = true;
        self.next_at = Instant::ZERO;
        self.interval = INTERVAL_AT_FIRST;
    }

    pub(in crate::switch) fn greeting_is_due(&self) -> bool {
        self.greeting_due
    }

    pub(in crate::switch) fn is_open(&self) -> bool {
        self.peer.is_some()
    }

    pub(in crate::switch) fn take_greeting(&mut self) -> Option<Sealed> {
        if !core::mem::take(&mut self.greeting_due) {
            return None;
        }
        let (own, heard) = (self.own, self.heard);
        Some(self.seal(Sealable::Greeting(Greeting { own, heard }), 0))
    }

    /// Returns `message` sealed for the neighbour; `None` before it has sent its nonce.
    pub(in crate::switch) fn sealed(&mut self, message: Sealable) -> Option<Sealed> {
        let nonce = self.peer?;
        Some(self.seal(message, nonce))
    }

    fn seal(&mut self, message: Sealable, nonce: u64) -> Sealed {
        self.sent += 1;
        Sealed {
            message,
            key: self.config.key,
            nonce,
            sequence: self.sent,
        }
    }

    fn check(&mut self, frame: &[u8]) -> Result<(), DropReason> {
        let sequence =
            sequence_of(frame, &self.config.key, Some(self.own)).ok_or(DropReason::Unauthentic)?;
        if sequence <= self.received {
            return Err(DropReason::Replayed);
        }
        self.received = sequence;
        Ok(())
    }

    fn greet(&mut self, frame: &[u8]) -> Result<(), DropReason> {
        let sequence = sequence_of(frame, &self.config.key, None).ok_or(DropReason::Unauthentic)?;
        let greeting = Greeting::parse(frame).map_err(|_| DropReason::BadClcm)?;
        if greeting.own == self.own {
            // Our own greeting came back.
            return Err(DropReason::Replayed);
        }
        if greeting.heard != self.own {
            // From a neighbour that does not know us, or an old one: it has no effect except that we send a greeting.
            self.heard = greeting.own;
            self.greeting_due = true;
            return Ok(());
        }
        if sequence > self.received {
            self.received = sequence;
            self.heard = greeting.own;
            if self.peer.replace(greeting.own) != Some(greeting.own) {
                // It must learn that we have received its greeting.
                self.greeting_due = true;
            }
            return Ok(());
        }
        if self.peer == Some(greeting.own) {
            return Err(DropReason::Replayed);
        }
        self.own = nonce(&mut self.random);
        self.received = 0;
        self.heard = greeting.own;
        self.greeting_due = true;
        Ok(())
    }
}

/// Never zero, which means none.
fn nonce(random: &mut SplitMix64) -> u64 {
    random.next_u64().max(1)
}

impl Switch {
    /// Checks a frame with the EtherType of CLCM received on a fabric port: returns `Ok(false)` for one that needs no
    /// further work.
    pub(in crate::switch) fn authenticate(
        &mut self,
        port: PortId,
        bytes: &[u8],
    ) -> Result<bool, DropReason> {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return Err(DropReason::PortDown);
        };
        let greeting = Greeting::is_greeting(bytes);
        match &mut state.authentication {
            // A fabric whose key we do not have: the messages of its switches are still readable.
            None => Ok(!greeting),
            Some(authentication) if greeting => {
                let outcome = authentication.greet(bytes);
                self.ready.note_all();
                outcome.map(|()| false)
            }
            Some(authentication) => authentication.check(bytes).map(|()| true),
        }
    }
}

impl Port {
    /// Returns true if CLCM and echo messages may be sent.
    #[inline]
    pub(in crate::switch) fn may_speak(&self) -> bool {
        self.authentication
            .as_deref()
            .is_none_or(Authentication::is_open)
    }

    /// Returns `message` in the form in which this port sends it.
    pub(in crate::switch) fn spoken(
        &mut self,
        message: Sealable,
    ) -> Option<crate::wire::ControlFrame> {
        use crate::wire::ControlFrame;
        match (&mut self.authentication, message) {
            (Some(authentication), message) => {
                authentication.sealed(message).map(ControlFrame::Sealed)
            }
            (None, Sealable::Clcm(message)) => Some(ControlFrame::Clcm(message)),
            (None, Sealable::Echo(message)) => Some(ControlFrame::Echo(message)),
            (None, Sealable::Credit(message)) => Some(ControlFrame::Credit(message)),
            (None, Sealable::Greeting(_)) => None,
        }
    }

    pub(in crate::switch) fn new_authentication(
        config: Option<AuthenticationConfig>,
        role: PortRole,
        index: usize,
    ) -> Option<Authentication> {
        config
            .filter(|_| role == PortRole::Fabric)
            .map(|config| Authentication::new(config, index))
    }
}

impl From<Clcm> for Sealable {
    fn from(message: Clcm) -> Self {
        Self::Clcm(message)
    }
}

impl From<CreditUpdate> for Sealable {
    fn from(message: CreditUpdate) -> Self {
        Self::Credit(message)
    }
}

impl From<Echo> for Sealable {
    fn from(message: Echo) -> Self {
        Self::Echo(message)
    }
}
