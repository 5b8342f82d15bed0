//! Probes for loops of flooded frames: a frame to a group address that every bridge floods, and that returns to its
//! sender only round a loop. In a VLAN it has the VLAN's tag after its source.
//!
//! Every host receives probes, and can send frames that look like them. A probe therefore carries a nonce that is new
//! for each port and round, and that only the switch can compute. A station that returns it has received the probe of
//! that port, so there is a path from the port to the station.
//!
//! | offset | length | field |
//! |---|---|---|
//! | 0 | 6 | destination 03-57-45-49-52-01, a group address of local scope; or the broadcast address, if addresses move as round a loop whose devices let no such frame through |
//! | 6 | 1 | source: 0x06, an individual address of local scope |
//! | 7 | 4 | source: the switch's identifier |
//! | 11 | 1 | source: the port that sent it |
//! | 12 | 2 | EtherType 0x88B6, local experimental EtherType 2 (IEEE 802) |
//! | 14 | 2 | subtype 0x574C ("WL") |
//! | 16 | 4 | round, modulo 2³² |
//! | 20 | 8 | nonce: HMAC-SHA-256 of the sender, its port and the round, the first 64 bits |
//! | 28 | 32 | zero |

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::ethernet::{start_frame, FRAME_LENGTH_MIN, HEADER_LENGTH};
use crate::sets::vlans::VlanTag;
use crate::units::{MacAddress, PortId};

/// Destination of probes.
pub const LOOP_PROBE_ADDRESS: MacAddress = MacAddress([0x03, 0x57, 0x45, 0x49, 0x52, 0x01]);
const ETHERTYPE: u16 = 0x88b6;
const TAG_ETHERTYPE: u16 = 0x8100;
const TAG_LENGTH: usize = 4;
const SUBTYPE: u16 = 0x574c;
const SUBTYPE_LENGTH: usize = 2;
const ROUND_LENGTH: usize = 4;
const NONCE_LENGTH: usize = 8;
const SOURCE_BEGIN: u8 = 0x06;

/// The sender of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeSender {
    /// The switch.
    pub id: u32,
    /// Its port.
    pub port: PortId,
}

/// The contents of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopProbe {
    /// Its sender.
    pub sender: ProbeSender,
    /// The round that it was sent in.
    pub round: u32,
    /// A number that only its sender can compute.
    pub nonce: u64,
}

impl ProbeSender {
    /// Decodes the source address of a probe; `None` if it is not one.
    pub fn from_source(source: MacAddress) -> Option<Self> {
        let [begin, a, b, c, d, port] = source.0;
        (begin == SOURCE_BEGIN).then(|| Self {
            id: u32::from_be_bytes([a, b, c, d]),
            port: PortId::new(port),
        })
    }

    /// Creates the probe of this round, with the nonce derived from the switch's secret.
    pub fn probe(self, secret: u64, round: u32) -> Option<LoopProbe> {
        let mut code = <Hmac<Sha256> as Mac>::new_from_slice(&secret.to_be_bytes()).ok()?;
        code.update(&self.source().0);
        code.update(&round.to_be_bytes());
        let code = code.finalize().into_bytes();
        Some(LoopProbe {
            sender: self,
            round,
            nonce: u64::from_be_bytes(*code.first_chunk()?),
        })
    }

    /// Its source address.
    pub fn source(self) -> MacAddress {
        let [a, b, c, d] = self.id.to_be_bytes();
        MacAddress([SOURCE_BEGIN, a, b, c, d, self.port.get()])
    }
}

impl LoopProbe {
    /// Parses a whole frame, and its tag if it has one; `None` if it is not a probe.
    pub fn parse(frame: &[u8]) -> Option<(Self, Option<VlanTag>)> {
        let (header, rest) = frame.split_first_chunk::<HEADER_LENGTH>()?;
        let source = MacAddress(*header.get(6..12)?.first_chunk()?);
        let number = |bytes: &[u8; 2]| u16::from_be_bytes(*bytes);
        let first = number(header.last_chunk()?);
        let (tag, ethertype, rest) = match first {
            TAG_ETHERTYPE => {
                let (bits, rest) = rest.split_first_chunk()?;
                let (second, rest) = rest.split_first_chunk()?;
                (Some(VlanTag::from_bits(number(bits))), number(second), rest)
            }
            _ => (None, first, rest),
        };
        let (subtype, rest) = rest.split_first_chunk()?;
        if ethertype != ETHERTYPE || number(subtype) != SUBTYPE {
            return None;
        }
        let (round, rest) = rest.split_first_chunk::<ROUND_LENGTH>()?;
        let probe = Self {
            sender: ProbeSender::from_source(source)?,
            round: u32::from_be_bytes(*round),
            nonce: u64::from_be_bytes(*rest.first_chunk::<NONCE_LENGTH>()?),
        };
        Some((probe, tag))
    }

    /// Writes the whole frame and returns its length in bytes; `None` if `buffer` is too small.
    pub fn emit(self, form: ProbeForm, buffer: &mut [u8]) -> Option<usize> {
        let destination = match form.is_broadcast {
            true => MacAddress::BROADCAST,
            false => LOOP_PROBE_ADDRESS,
        };
        let (ethertype, length) = match form.tag {
            Some(_) => (TAG_ETHERTYPE, FRAME_LENGTH_MIN + TAG_LENGTH),
            None => (ETHERTYPE, FRAME_LENGTH_MIN),
        };
        let frame = start_frame(buffer, length, destination, self.sender.source(), ethertype)?;
        let mut at = HEADER_LENGTH;
        if let Some(tag) = form.tag {
            frame[at..at + 2].copy_from_slice(&tag.bits().to_be_bytes());
            frame[at + 2..at + 4].copy_from_slice(&ETHERTYPE.to_be_bytes());
            at += TAG_LENGTH;
        }
        let body = frame.get_mut(at..)?;
        let (subtype, body) = body.split_first_chunk_mut::<SUBTYPE_LENGTH>()?;
        let (round, body) = body.split_first_chunk_mut::<ROUND_LENGTH>()?;
        *subtype = SUBTYPE.to_be_bytes();
        *round = self.round.to_be_bytes();
        *body.first_chunk_mut::<NONCE_LENGTH>()? = self.nonce.to_be_bytes();
        Some(frame.len())
    }
}

/// Form in which a probe is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeForm {
    /// The tag of its VLAN, if frames of that VLAN leave tagged.
    pub tag: Option<VlanTag>,
    /// Sends it to the broadcast address.
    pub is_broadcast: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ethernet::EthernetView;

    fn probe() -> LoopProbe {
        let sender = ProbeSender {
            id: 0xdead_beef,
            port: PortId::new(200),
        };
        sender.probe(7, 0x0102_0304).unwrap()
    }

    #[test]
    fn written_probes_are_read_back() {
        let probe = probe();
        let mut buffer = [0xff; 64];
        let plain = ProbeForm::default();
        assert_eq!(probe.emit(plain, &mut buffer), Some(60));
        let view = EthernetView::new_checked(&buffer).unwrap();
        assert_eq!(view.destination(), LOOP_PROBE_ADDRESS);
        assert!(!view.source().is_group() && view.destination().is_group());
        assert_eq!(ProbeSender::from_source(view.source()), Some(probe.sender));
        let other = MacAddress([2, 1, 2, 3, 4, 5]);
        assert_eq!(ProbeSender::from_source(other), None);
        assert_eq!(LoopProbe::parse(&buffer[..60]), Some((probe, None)));
        assert_eq!(probe.emit(plain, &mut buffer[..59]), None);
        let tag = VlanTag::from_bits(0x0014);
        let tagged = ProbeForm {
            tag: Some(tag),
            is_broadcast: true,
        };
        assert_eq!(probe.emit(tagged, &mut buffer), Some(64));
        assert_eq!(buffer[..6], [0xff; 6]);
        assert_eq!(buffer[6..12], probe.sender.source().0);
        assert_eq!(buffer[12..20], [0x81, 0, 0, 0x14, 0x88, 0xb6, 0x57, 0x4c]);
        assert_eq!(buffer[20..24], [1, 2, 3, 4]);
        assert_eq!(LoopProbe::parse(&buffer), Some((probe, Some(tag))));
        for length in 0..32 {
            assert_eq!(LoopProbe::parse(&buffer[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_nonce_is_for_one_port_one_round_and_one_secret() {
        let of = |id, port, secret, round| {
            let port = PortId::new(port);
            ProbeSender { id, port }.probe(secret, round).unwrap().nonce
        };
        let nonce = of(1, 1, 1, 1);
        assert_eq!(nonce, of(1, 1, 1, 1));
        for other in [
            of(2, 1, 1, 1),
            of(1, 2, 1, 1),
            of(1, 1, 2, 1),
            of(1, 1, 1, 2),
        ] {
            assert_ne!(nonce, other);
        }
    }
}
