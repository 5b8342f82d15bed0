//! The lab's frames, in which any corrupted byte is detected on receipt.
//!
//! From the first byte: Ethernet 14, 802.1Q priority tag (VLAN 0) 4, IPv4 20, UDP 8, then
//!
//! | bytes | field, big-endian |
//! |---|---|
//! | 8 | magic [`MAGIC`] |
//! | 4 | flow number |
//! | 8 | sequence number |
//! | 8 | sender's `CLOCK_MONOTONIC` in nanoseconds |
//! | 4 | CRC-32 (IEEE) over the whole frame except itself, the ECN field and both checksums |
//! | rest | fill derived from flow and sequence number |
//!
//! The ECN field may change in transit (RFC 3168), and with it the IPv4 checksum. Both checksums are verified separately.

use pnet_packet::ethernet::{EtherTypes, EthernetPacket, MutableEthernetPacket};
use pnet_packet::ip::IpNextHeaderProtocols;
use pnet_packet::ipv4::{self, Ipv4Packet, MutableIpv4Packet};
use pnet_packet::udp::{self, MutableUdpPacket, UdpPacket};
use pnet_packet::vlan::{ClassOfService, MutableVlanPacket, VlanPacket};
use pnet_packet::{MutablePacket, Packet};
use weir_core::units::{Instant, MacAddress, Priority};

use super::config::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};

/// First eight bytes behind the UDP header of every lab frame.
pub const MAGIC: [u8; 8] = *b"WEIRLAB1";
pub use weir_config::scenario::{endpoint_ip as ip_address, ENDPOINT_UDP_PORT as UDP_PORT};

const IP_AT: usize = 18;
const TOS_AT: usize = IP_AT + 1;
const IP_CHECKSUM_AT: usize = IP_AT + 10;
const UDP_AT: usize = IP_AT + 20;
const UDP_CHECKSUM_AT: usize = UDP_AT + 6;
const LAB_AT: usize = UDP_AT + 8;
const FLOW_AT: usize = LAB_AT + 8;
const SEQUENCE_AT: usize = FLOW_AT + 4;
const SENT_AT: usize = SEQUENCE_AT + 8;
const CRC_AT: usize = SENT_AT + 8;
const FILL_AT: usize = CRC_AT + 4;

const ECN_MASK: u8 = 0b11;
const ECN_ECT0: u8 = 0b10;
const ECN_CE: u8 = 0b11;

/// Common fields of all frames of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHeader {
    /// The flow's number.
    pub flow: u32,
    /// The sender.
    pub source: MacAddress,
    /// The receiver.
    pub destination: MacAddress,
    /// PCP of the priority tag.
    pub priority: Priority,
    /// UDP source port, which distinguishes flows where switches hash them.
    pub source_port: u16,
    /// Length of the frame without FCS.
    pub frame_bytes: u32,
    /// True if frames carry ECT(0).
    pub ecn_capable: bool,
}

impl FlowHeader {
    /// Writes the frame with number `sequence`, sent at `sent`, to the front of `buffer` and returns its length. Returns
    /// `None` if the length is out of bounds or `buffer` is too small.
    pub fn write(&self, sequence: u64, sent: Instant, buffer: &mut [u8]) -> Option<usize> {
        if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&self.frame_bytes) {
            return None;
        }
        let length = self.frame_bytes as usize;
        let frame = buffer.get_mut(..length)?;

        frame[LAB_AT..FLOW_AT].copy_from_slice(&MAGIC);
        frame[FLOW_AT..SEQUENCE_AT].copy_from_slice(&self.flow.to_be_bytes());
        frame[SEQUENCE_AT..SENT_AT].copy_from_slice(&sequence.to_be_bytes());
        frame[SENT_AT..CRC_AT].copy_from_slice(&sent.as_nanos().to_be_bytes());
        let mut fill = Fill::new(self.flow, sequence);
        for chunk in frame[FILL_AT..].chunks_mut(8) {
            chunk.copy_from_slice(&fill.next_word()[..chunk.len()]);
        }

        self.write_headers(frame)?;
        let crc = content_crc(frame);
        frame[CRC_AT..FILL_AT].copy_from_slice(&crc.to_be_bytes());
        let checksum = udp_checksum(frame)?;
        frame[UDP_CHECKSUM_AT..LAB_AT].copy_from_slice(&checksum.to_be_bytes());
        Some(length)
    }

    fn write_headers(&self, frame: &mut [u8]) -> Option<()> {
        let mut ethernet = MutableEthernetPacket::new(frame)?;
        ethernet.set_destination(self.destination.0.into());
        ethernet.set_source(self.source.0.into());
        ethernet.set_ethertype(EtherTypes::Vlan);

        let mut tag = MutableVlanPacket::new(ethernet.payload_mut())?;
        tag.set_priority_code_point(ClassOfService(self.priority.get()));
        tag.set_drop_eligible_indicator(0);
        tag.set_vlan_identifier(0);
        tag.set_ethertype(EtherTypes::Ipv4);

        let total = u16::try_from(tag.payload().len()).ok()?;
        let mut ip = MutableIpv4Packet::new(tag.payload_mut())?;
        ip.set_version(4);
        ip.set_header_length(5);
        ip.set_dscp(0);
        ip.set_ecn(if self.ecn_capable { ECN_ECT0 } else { 0 });
        ip.set_total_length(total);
        ip.set_identification(0);
        ip.set_flags(ipv4::Ipv4Flags::DontFragment);
        ip.set_fragment_offset(0);
        ip.set_ttl(64);
        ip.set_next_level_protocol(IpNextHeaderProtocols::Udp);
        ip.set_source(ip_address(self.source));
        ip.set_destination(ip_address(self.destination));
        let checksum = ipv4::checksum(&ip.to_immutable());
        ip.set_checksum(checksum);

        let mut datagram = MutableUdpPacket::new(ip.payload_mut())?;
        datagram.set_source(self.source_port);
        datagram.set_destination(UDP_PORT);
        datagram.set_length(total - 20);
        Some(())
    }
}

/// A lab frame in which every byte is intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The flow's number.
    pub flow: u32,
    /// Sequence number of the frame.
    pub sequence: u64,
    /// Time of sending, on the sender's clock.
    pub sent: Instant,
    /// Its destination.
    pub destination: MacAddress,
    /// True if it carries Congestion Experienced.
    pub ce: bool,
}

/// Contents of a received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An intact lab frame.
    Whole(Whole),
    /// A corrupted lab frame. Its flow number may be the corrupted part.
    Corrupted {
        /// Number at the flow's position; 0 if the frame is too short.
        flow: u32,
        /// Description of the error.
        reason: String,
    },
    /// Not a lab frame.
    Foreign,
}

/// Verifies every byte of `frame`, from the destination address to the last payload byte.
pub fn verify(frame: &[u8]) -> Content {
    if !looks_like_ours(frame) {
        return Content::Foreign;
    }
    if frame.len() < FRAME_BYTES_MIN as usize {
        return Content::Corrupted {
            flow: 0,
            reason: format!("{} B is shorter than any frame of the lab", frame.len()),
        };
    }
    let flow = u32::from_be_bytes(array(frame, FLOW_AT));
    let sequence = u64::from_be_bytes(array(frame, SEQUENCE_AT));
    match first_fault(frame, flow, sequence) {
        Some(reason) => Content::Corrupted { flow, reason },
        None => Content::Whole(Whole {
            flow,
            sequence,
            sent: Instant::from_nanos(u64::from_be_bytes(array(frame, SENT_AT))),
            destination: MacAddress(array(frame, 0)),
            ce: frame[TOS_AT] & ECN_MASK == ECN_CE,
        }),
    }
}

/// Returns true if the magic is in place or the headers are those of a lab frame, so that a frame with one of them damaged
/// is still recognised.
fn looks_like_ours(frame: &[u8]) -> bool {
    frame.get(LAB_AT..FLOW_AT) == Some(&MAGIC[..]) || udp_port(frame) == Some(UDP_PORT)
}

fn udp_port(frame: &[u8]) -> Option<u16> {
    let ethernet = EthernetPacket::new(frame)?;
    if ethernet.get_ethertype() != EtherTypes::Vlan {
        return None;
    }
    let tag = VlanPacket::new(ethernet.payload())?;
    let ip = Ipv4Packet::new(tag.payload())?;
    let is_udp = tag.get_ethertype() == EtherTypes::Ipv4
        && ip.get_next_level_protocol() == IpNextHeaderProtocols::Udp;
    is_udp.then(|| UdpPacket::new(ip.payload()).map(|datagram| datagram.get_destination()))?
}

fn first_fault(frame: &[u8], flow: u32, sequence: u64) -> Option<String> {
    let mut fill = Fill::new(flow, sequence);
    for (index, chunk) in frame[FILL_AT..].chunks(8).enumerate() {
        let expected = fill.next_word();
        if *chunk != expected[..chunk.len()] {
            let (at, byte) = (0..chunk.len())
                .map(|offset| (offset, chunk[offset]))
                .find(|(offset, byte)| *byte != expected[*offset])?;
            let place = FILL_AT + index * 8 + at;
            return Some(format!(
                "byte {place} is {byte:#04x}, sent was {:#04x}",
                expected[at]
            ));
        }
    }
    let crc = u32::from_be_bytes(array(frame, CRC_AT));
    let found = content_crc(frame);
    if crc != found {
        return Some(format!("CRC-32 is {found:#010x}, expected {crc:#010x}"));
    }
    let checksum = Ipv4Packet::new(&frame[IP_AT..]).map(|ip| ipv4::checksum(&ip));
    if checksum != Some(u16::from_be_bytes(array(frame, IP_CHECKSUM_AT))) {
        return Some("wrong IPv4 header checksum".to_owned());
    }
    if udp_checksum(frame) != Some(u16::from_be_bytes(array(frame, UDP_CHECKSUM_AT))) {
        return Some("wrong UDP checksum".to_owned());
    }
    None
}

/// Returns the CRC-32 over all bytes that must not change in transit.
fn content_crc(frame: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&frame[..TOS_AT]);
    crc.update(&[frame[TOS_AT] & !ECN_MASK]);
    crc.update(&frame[TOS_AT + 1..IP_CHECKSUM_AT]);
    crc.update(&frame[IP_CHECKSUM_AT + 2..UDP_CHECKSUM_AT]);
    crc.update(&frame[LAB_AT..CRC_AT]);
    crc.update(&frame[FILL_AT..]);
    crc.finalize()
}

/// Returns UDP's checksum with its pseudo header; a sum of zero is sent as all ones (RFC 768).
fn udp_checksum(frame: &[u8]) -> Option<u16> {
    let ip = Ipv4Packet::new(&frame[IP_AT..])?;
    let datagram = UdpPacket::new(&frame[UDP_AT..])?;
    match udp::ipv4_checksum(&datagram, &ip.get_source(), &ip.get_destination()) {
        0 => Some(u16::MAX),
        sum => Some(sum),
    }
}

fn array<const N: usize>(frame: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&frame[at..at + N]);
    bytes
}

/// Pseudo-random bytes: SplitMix64 (Steele, Lea, Flood 2014) seeded with flow and sequence number.
struct Fill(u64);

impl Fill {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

    fn new(flow: u32, sequence: u64) -> Self {
        let mut start = Self(u64::from(flow) << 32 ^ u64::from(flow));
        start.0 = u64::from_be_bytes(start.next_word()) ^ sequence;
        Self(u64::from_be_bytes(start.next_word()))
    }

    fn next_word(&mut self) -> [u8; 8] {
        self.0 = self.0.wrapping_add(Self::GAMMA);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(frame_bytes: u32, ecn_capable: bool) -> FlowHeader {
        FlowHeader {
            flow: 7,
            source: MacAddress([2, 0, 0, 0, 1, 1]),
            destination: MacAddress([2, 0, 0, 0, 2, 2]),
            priority: Priority::from_low_bits(3),
            source_port: 49_159,
            frame_bytes,
            ecn_capable,
        }
    }

    fn build(header: FlowHeader, sequence: u64) -> Vec<u8> {
        let mut buffer = vec![0xee; 2048];
        let length = header
            .write(sequence, Instant::from_nanos(99), &mut buffer)
            .unwrap();
        buffer.truncate(length);
        buffer
    }

    #[test]
    fn a_frame_is_what_other_tools_take_for_one() {
        let frame = build(header(1000, false), 5);
        assert_eq!(frame.len(), 1000);
        let ethernet = EthernetPacket::new(&frame).unwrap();
        assert_eq!(ethernet.get_destination().octets(), [2, 0, 0, 0, 2, 2]);
        let tag = VlanPacket::new(ethernet.payload()).unwrap();
        assert_eq!(
            (tag.get_priority_code_point().0, tag.get_vlan_identifier()),
            (3, 0)
        );
        let ip = Ipv4Packet::new(tag.payload()).unwrap();
        assert_eq!(ip.get_total_length(), 982);
        assert_eq!(ip.get_source(), std::net::Ipv4Addr::new(10, 0, 1, 1));
        let datagram = UdpPacket::new(ip.payload()).unwrap();
        assert_eq!(
            (datagram.get_destination(), datagram.get_length()),
            (9, 962)
        );
        assert_eq!(
            datagram.get_checksum(),
            udp::ipv4_checksum(&datagram, &ip.get_source(), &ip.get_destination())
        );
    }

    #[test]
    fn any_changed_byte_is_found() {
        for (length, ecn_capable) in [(80, false), (81, true), (1518, false)] {
            let frame = build(header(length, ecn_capable), 0x0102_0304_0506);
            assert!(matches!(verify(&frame), Content::Whole(_)));
            for place in 0..frame.len() {
                for change in [0x01, 0x02, 0x03, 0x40, 0x80, 0xff] {
                    let mut broken = frame.clone();
                    broken[place] ^= change;
                    let found = verify(&broken);
                    assert!(
                        matches!(found, Content::Corrupted { .. }),
                        "byte {place} ^ {change:#x} of {length}: {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_mark_with_its_checksum_is_no_corruption() {
        let mut frame = build(header(100, true), 1);
        frame[TOS_AT] |= ECN_CE;
        let sum = ipv4::checksum(&Ipv4Packet::new(&frame[IP_AT..]).unwrap());
        frame[IP_CHECKSUM_AT..IP_CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
        assert!(matches!(
            verify(&frame),
            Content::Whole(Whole { ce: true, .. })
        ));
    }

    #[test]
    fn cut_and_lengthened_frames_are_corrupted_and_other_frames_foreign() {
        let mut frame = build(header(200, false), 1);
        for length in [60, 79, 80, 199] {
            let cut = verify(&frame[..length]);
            assert!(
                matches!(cut, Content::Corrupted { .. }),
                "{length}: {cut:?}"
            );
        }
        frame.push(0);
        assert!(matches!(verify(&frame), Content::Corrupted { .. }));
        assert_eq!(verify(&[0; 60]), Content::Foreign);
        assert_eq!(verify(&[]), Content::Foreign);
        assert_eq!(verify(&[0; 1500]), Content::Foreign);
    }

    #[test]
    fn lengths_out_of_bounds_are_not_built() {
        let mut buffer = [0; 2048];
        for length in [0, 79, 1519] {
            assert_eq!(
                header(length, false).write(0, Instant::ZERO, &mut buffer),
                None
            );
        }
        assert_eq!(
            header(80, false).write(0, Instant::ZERO, &mut buffer[..79]),
            None
        );
    }

    proptest! {
        #[test]
        fn what_is_built_is_read_back(
            flow: u32, sequence: u64, sent: u64, length in 80u32..=1518, ecn: bool, priority in 0u8..8
        ) {
            let header = FlowHeader {
                flow,
                priority: Priority::from_low_bits(priority),
                ..header(length, ecn)
            };
            let mut buffer = vec![0; 1518];
            let sent = Instant::from_nanos(sent);
            let length = header.write(sequence, sent, &mut buffer).unwrap();
            let whole = Whole {
                flow, sequence, sent, destination: header.destination, ce: false,
            };
            prop_assert_eq!(verify(&buffer[..length]), Content::Whole(whole));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), magic: bool) {
            let mut bytes = bytes;
            if magic && bytes.len() >= FLOW_AT {
                bytes[LAB_AT..FLOW_AT].copy_from_slice(&MAGIC);
            }
            prop_assert!(!matches!(verify(&bytes), Content::Whole(_)));
        }
    }
}
