//! Credit Loop Control Message (CLCM paper, sections 3.2.1 and 3.3, Figure 3).
//!
//! | offset | length | field |
//! |---|---|---|
//! | 0 | 6 | destination 01-80-C2-00-00-0E |
//! | 6 | 6 | source |
//! | 12 | 2 | EtherType 0x88B5 |
//! | 14 | 2 | subtype 0x5743 ("WC") |
//! | 16 | 1 | version 1 |
//! | 17 | 1 | kind: 1 Loop Breaker, 2 Deadlock Breaker |
//! | 18 | 1 | priority, 0 to 7 |
//! | 19 | 1 | CurPhase: 1 detection, 2 release (Deadlock Breaker only) |
//! | 20 | 1 | CurIndex |
//! | 21 | 1 | number of hops, 1 to 64 |
//! | 22 | 2 | reserved, zero |
//! | 24 | 4 | SPUID of the switch that started this message: SPUIDs\[0\] |
//! | 28 | 8 × hops | for each hop SPUIDs\[i\] (4) and EgressPorts\[i\] (2), reserved, zero (2) |

use super::ethernet::HEADER_LENGTH;
use super::message::Protocol;
use super::WireError;
use crate::units::{MacAddress, PortId, Priority, Spuid};

/// Maximum number of hops in a message.
pub const HOPS_MAX: usize = 64;
/// Length in bytes of a frame with [`HOPS_MAX`] hops.
pub const FRAME_LENGTH_MAX: usize = HEADER_LENGTH + FIXED_LENGTH + HOPS_MAX * HOP_LENGTH;

const PROTOCOL: Protocol = Protocol {
    subtype: 0x5743,
    version: 1,
};
const KIND_LOOP_BREAKER: u8 = 1;
const KIND_DEADLOCK_BREAKER: u8 = 2;
const PHASE_DETECTION: u8 = 1;
const PHASE_RELEASE: u8 = 2;
const FIXED_LENGTH: usize = 14;
const HOP_LENGTH: usize = 8;

/// One switch on the path of a message: the identifier of its suspected egress port, and the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// SPUIDs\[i\].
    pub spuid: Spuid,
    /// EgressPorts\[i\]: a number that only that switch interprets.
    pub egress: PortId,
}

/// Purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Loop Breaker: elects the switch that reroutes; every hop appends itself.
    Election,
    /// Deadlock Breaker: searches for a loop; every hop appends itself.
    Detection,
    /// Goes round the loop that was found; the next switch is hop `current`.
    Release {
        /// CurIndex.
        current: u8,
    },
}

/// A message of the Loop Breaker or of the Deadlock Breaker. In the release phase CurIndex is that of an existing hop,
/// otherwise the number of hops; no other value can be built.
#[derive(Clone, Copy, Debug)]
pub struct Clcm {
    priority: Priority,
    phase: Phase,
    /// At least one.
    length: u8,
    hops: [Hop; HOPS_MAX],
}

impl PartialEq for Clcm {
    fn eq(&self, other: &Self) -> bool {
        (self.priority, self.phase) == (other.priority, other.phase) && self.hops() == other.hops()
    }
}

impl Eq for Clcm {}

/// Error: the message already has [`HOPS_MAX`] hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message already has {HOPS_MAX} hops")]
pub struct HopsFull;

impl Clcm {
    /// Creates a Deadlock Breaker message of the switch that gave `first.egress` the identifier `first.spuid`:
    /// detection phase, with the sender itself as the first hop.
    pub fn begin(priority: Priority, first: Hop) -> Self {
        Self::begin_phase(priority, first, Phase::Detection)
    }

    /// Creates a message of the Loop Breaker.
    pub fn begin_election(priority: Priority, first: Hop) -> Self {
        Self::begin_phase(priority, first, Phase::Election)
    }

    fn begin_phase(priority: Priority, first: Hop, phase: Phase) -> Self {
        let mut hops = [Hop::default(); HOPS_MAX];
        hops[0] = first;
        Self {
            priority,
            phase,
            length: 1,
            hops,
        }
    }

    /// The locked priority.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// The identifier of the egress port where this message started.
    pub fn origin(&self) -> Spuid {
        self.hops[0].spuid
    }

    /// Returns the purpose of the message.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// SPUIDs\[\] and EgressPorts\[\].
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.length)]
    }

    /// Adds a hop in the election or detection phase.
    ///
    /// # Errors
    ///
    /// [`HopsFull`].
    pub fn push(&mut self, hop: Hop) -> Result<(), HopsFull> {
        let place = self
            .hops
            .get_mut(usize::from(self.length))
            .ok_or(HopsFull)?;
        *place = hop;
        self.length += 1;
        Ok(())
    }

    /// Returns this message in the release phase, to be handled by hop `index` next; `None` if there is no such hop.
    pub fn released_at(&self, index: usize) -> Option<Self> {
        (index < self.hops().len()).then_some(Self {
            phase: Phase::Release {
                current: index as u8,
            },
            ..*self
        })
    }

    /// Parses a whole frame. Ignores padding after the last hop.
    ///
    /// # Errors
    ///
    /// See [`WireError`].
    pub fn parse(frame: &[u8]) -> Result<Self, WireError> {
        ClcmView::new_checked(frame)?.to_repr()
    }

    /// Writes the whole frame and returns its length in bytes; `None` if `buffer` is too small.
    pub fn emit(&self, source: MacAddress, buffer: &mut [u8]) -> Option<usize> {
        let length = HEADER_LENGTH + FIXED_LENGTH + self.hops().len() * HOP_LENGTH;
        let frame = PROTOCOL.start(buffer, length, source)?;
        let (kind, phase, current) = match self.phase {
            Phase::Election => (KIND_LOOP_BREAKER, PHASE_DETECTION, self.length),
            Phase::Detection => (KIND_DEADLOCK_BREAKER, PHASE_DETECTION, self.length),
            Phase::Release { current } => (KIND_DEADLOCK_BREAKER, PHASE_RELEASE, current),
        };
        let body = &mut frame[HEADER_LENGTH..];
        body[3] = kind;
        body[4] = self.priority.get();
        body[5] = phase;
        body[6] = current;
        body[7] = self.length;
        body[10..14].copy_from_slice(&self.origin().0.to_be_bytes());
        for (hop, bytes) in self
            .hops()
            .iter()
            .zip(body[FIXED_LENGTH..].chunks_exact_mut(HOP_LENGTH))
        {
            bytes[..4].copy_from_slice(&hop.spuid.0.to_be_bytes());
            bytes[4..6].copy_from_slice(&u16::from(hop.egress.get()).to_be_bytes());
        }
        Some(frame.len())
    }
}

/// The bytes of a CLCM frame with complete fixed part and hops.
#[derive(Clone, Copy, Debug)]
pub struct ClcmView<'a> {
    fixed: &'a [u8; FIXED_LENGTH],
    hops: &'a [u8],
}

impl<'a> ClcmView<'a> {
    /// Checks protocol, subtype, version and length of a whole frame.
    ///
    /// # Errors
    ///
    /// See [`WireError`].
    pub fn new_checked(frame: &'a [u8]) -> Result<Self, WireError> {
        let (fixed, rest) = PROTOCOL.split::<FIXED_LENGTH>(frame)?;
        if !matches!(fixed[3], KIND_LOOP_BREAKER | KIND_DEADLOCK_BREAKER) {
            return Err(WireError::UnknownVersion);
        }
        let count = usize::from(fixed[7]);
        if count > HOPS_MAX {
            return Err(WireError::BadField("number of hops"));
        }
        let hops = rest.get(..count * HOP_LENGTH).ok_or(WireError::TooShort)?;
        Ok(Self { fixed, hops })
    }

    fn to_repr(self) -> Result<Clcm, WireError> {
        let priority = Priority::new(self.fixed[4]).ok_or(WireError::BadField("priority"))?;
        let (current, length) = (self.fixed[6], self.fixed[7]);
        let phase = match (self.fixed[3], self.fixed[5]) {
            (KIND_LOOP_BREAKER, PHASE_DETECTION) => Phase::Election,
            (KIND_DEADLOCK_BREAKER, PHASE_DETECTION) => Phase::Detection,
            (KIND_DEADLOCK_BREAKER, PHASE_RELEASE) => Phase::Release { current },
            _ => return Err(WireError::BadField("CurPhase")),
        };
        let legal = match phase {
            Phase::Release { .. } => current < length,
            Phase::Election | Phase::Detection => current == length && length > 0,
        };
        if !legal {
            return Err(WireError::BadField("CurIndex"));
        }
        if self.fixed[8..10] != [0, 0] {
            return Err(WireError::BadField("reserved"));
        }
        let mut hops = [Hop::default(); HOPS_MAX];
        for (hop, bytes) in hops.iter_mut().zip(self.hops.chunks_exact(HOP_LENGTH)) {
            if bytes[6..8] != [0, 0] {
                return Err(WireError::BadField("reserved"));
            }
            let egress = u16::from_be_bytes([bytes[4], bytes[5]]);
            *hop = Hop {
                spuid: Spuid(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
                egress: PortId::from_index(usize::from(egress))
                    .ok_or(WireError::BadField("EgressPorts"))?,
            };
        }
        if self.fixed[10..14] != hops[0].spuid.0.to_be_bytes() {
            return Err(WireError::BadField("SPUID"));
        }
        Ok(Clcm {
            priority,
            phase,
            length,
            hops,
        })
    }
}
