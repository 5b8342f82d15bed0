//! A frame on the command line: hexadecimal digits, or fields with Open vSwitch's names.

use std::fmt::Display;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use pnet_packet::ip::IpNextHeaderProtocol;
use pnet_packet::ipv4::{checksum, MutableIpv4Packet};
use pnet_packet::ipv6::MutableIpv6Packet;
use pnet_packet::udp::MutableUdpPacket;
use weir_core::MacAddress;

const ETHERNET: usize = 14;
const TAG: usize = 4;
const IPV4: usize = 20;
const IPV6: usize = 40;
/// Length of the written part of TCP, UDP and SCTP headers: ports, and UDP's length.
const TRANSPORT: usize = 8;
/// Minimum frame length without FCS.
const LENGTH_MIN: usize = 60;
/// Maximum length accepted by the daemon.
const LENGTH_MAX: usize = weir_api::daemon::trace::FRAME_LENGTH_MAX;

const TYPE_IPV4: u16 = 0x0800;
const TYPE_ARP: u16 = 0x0806;
const TYPE_IPV6: u16 = 0x86dd;
const TYPE_TAG: u16 = 0x8100;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
/// UDP port of RoCEv2.
const ROCE: u16 = 4791;

/// Protocols that can be written without a value.
const PROTOCOLS: [(&str, u16, Option<u8>); 9] = [
    ("arp", TYPE_ARP, None),
    ("icmp", TYPE_IPV4, Some(ICMP)),
    ("icmp6", TYPE_IPV6, Some(ICMPV6)),
    ("ip", TYPE_IPV4, None),
    ("ipv6", TYPE_IPV6, None),
    ("tcp", TYPE_IPV4, Some(TCP)),
    ("tcp6", TYPE_IPV6, Some(TCP)),
    ("udp", TYPE_IPV4, Some(UDP)),
    ("udp6", TYPE_IPV6, Some(UDP)),
];

const FIELDS: [(&str, &[&str]); 14] = [
    ("dl_dst", &["eth_dst"]),
    ("dl_src", &["eth_src"]),
    ("dl_vlan", &["vlan_vid"]),
    ("dl_vlan_pcp", &["vlan_pcp"]),
    ("vlan_tci", &[]),
    ("dl_type", &["eth_type"]),
    ("nw_src", &["ip_src", "ipv6_src"]),
    ("nw_dst", &["ip_dst", "ipv6_dst"]),
    ("nw_proto", &["ip_proto"]),
    ("nw_tos", &[]),
    ("ip_dscp", &[]),
    ("nw_ecn", &["ip_ecn"]),
    ("tp_src", &["udp_src", "tcp_src"]),
    ("tp_dst", &["udp_dst", "tcp_dst"]),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameArgument {
    /// Bytes from the destination address on, without FCS.
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Fields {
    destination: Option<MacAddress>,
    source: MacAddress,
    vlan: Option<u16>,
    pcp: Option<u8>,
    ethertype: Option<u16>,
    protocol: Option<u8>,
    network: [Option<String>; 2],
    traffic_class: u8,
    ports: [u16; 2],
    length: usize,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            destination: None,
            // Example address: locally administered.
            source: MacAddress([2, 0, 0, 0, 0, 1]),
            vlan: None,
            pcp: None,
            ethertype: None,
            protocol: None,
            network: [None, None],
            traffic_class: 0,
            ports: [0; 2],
            length: LENGTH_MIN,
        }
    }
}

impl FromStr for FrameArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits: String = text
            .chars()
            .filter(|sign| !" :-\n".contains(*sign))
            .collect();
        let digits = digits.strip_prefix("0x").unwrap_or(&digits);
        if digits.len() >= 2 * ETHERNET && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return hexadecimal(digits);
        }
        let mut fields = Fields::default();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            match part.split_once('=') {
                Some((name, value)) => fields.set(name.trim(), value.trim())?,
                None => fields.set_protocol(part)?,
            }
        }
        let bytes = fields.bytes()?;
        Ok(Self { bytes })
    }
}

fn hexadecimal(digits: &str) -> Result<FrameArgument, String> {
    if !digits.len().is_multiple_of(2) {
        return Err("an odd number of hexadecimal digits".to_owned());
    }
    let pairs = (0..digits.len()).step_by(2);
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16);
    let bytes: Result<Vec<u8>, _> = pairs.map(byte).collect();
    let bytes = bytes.map_err(|error| error.to_string())?;
    match bytes.len() > LENGTH_MAX {
        true => Err(format!("{} bytes; {LENGTH_MAX} at most", bytes.len())),
        false => Ok(FrameArgument { bytes }),
    }
}

/// Parses a decimal or `0x` hexadecimal number up to `most`.
fn number(name: &str, value: &str, most: u64) -> Result<u64, String> {
    let parsed = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    let number = parsed.ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("{name}: `{value}` is not a number from 0 to {most}"))
}

fn address<T: FromStr>(name: &str, value: &str) -> Result<T, String>
where
    T::Err: Display,
{
    let parsed = value.parse();
    parsed.map_err(|error: T::Err| format!("{name}: `{value}`: {error}"))
}

impl Fields {
    fn set_protocol(&mut self, word: &str) -> Result<(), String> {
        if word == "roce" {
            self.set_protocol("udp")?;
            self.ports[1] = ROCE;
            return Ok(());
        }
        let found = PROTOCOLS.iter().find(|(name, ..)| *name == word);
        let Some((_, ethertype, protocol)) = found else {
            let words: Vec<&str> = PROTOCOLS.iter().map(|(name, ..)| *name).collect();
            return Err(format!(
                "unknown word `{word}`; valid: {}, roce, FIELD=VALUE, or the frame's bytes in hexadecimal",
                words.join(", ")
            ));
        };
        self.ethertype = Some(*ethertype);
        self.protocol = protocol.or(self.protocol);
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let known = FIELDS
            .iter()
            .find(|(field, others)| *field == name || others.contains(&name));
        let field = match known {
            Some((field, _)) => *field,
            None if name == "length" => name,
            None => {
                let fields: Vec<&str> = FIELDS.iter().map(|(field, _)| *field).collect();
                return Err(format!(
                    "unknown field `{name}`; valid: {}, length",
                    fields.join(", ")
                ));
            }
        };
        match field {
            "dl_dst" => self.destination = Some(address(name, value)?),
            "dl_src" => self.source = address(name, value)?,
            "dl_vlan" => self.vlan = Some(number(name, value, 4095)? as u16),
            "dl_vlan_pcp" => self.pcp = Some(number(name, value, 7)? as u8),
            // As in Open vSwitch: priority, the bit for a present tag, and the VLAN.
            "vlan_tci" => {
                let tci = number(name, value, u64::from(u16::MAX))? as u16;
                self.pcp = (tci != 0).then_some((tci >> 13) as u8);
                self.vlan = (tci != 0).then_some(tci & 0xfff);
            }
            "dl_type" => self.ethertype = Some(number(name, value, u64::from(u16::MAX))? as u16),
            "nw_src" => self.network[0] = Some(value.to_owned()),
            "nw_dst" => self.network[1] = Some(value.to_owned()),
            "nw_proto" => self.protocol = Some(number(name, value, 255)? as u8),
            "nw_tos" => self.traffic_class = number(name, value, 255)? as u8,
            "ip_dscp" => {
                let dscp = number(name, value, 63)? as u8;
                self.traffic_class = dscp << 2 | self.traffic_class & 3;
            }
            "nw_ecn" => {
                let ecn = number(name, value, 3)? as u8;
                self.traffic_class = self.traffic_class & !3 | ecn;
            }
            "tp_src" => self.ports[0] = number(name, value, u64::from(u16::MAX))? as u16,
            "tp_dst" => self.ports[1] = number(name, value, u64::from(u16::MAX))? as u16,
            _ => self.length = number(name, value, LENGTH_MAX as u64)? as usize,
        }
        Ok(())
    }

    /// Returns the frame, padded with zeros.
    fn bytes(&self) -> Result<Vec<u8>, String> {
        let Some(destination) = self.destination else {
            return Err("dl_dst is missing: write dl_dst=02:00:00:00:00:02, or the whole frame in hexadecimal".to_owned());
        };
        let ethertype = self.ethertype.unwrap_or(self.default_type());
        let is_tagged = self.vlan.is_some() || self.pcp.is_some();
        let at = ETHERNET + if is_tagged { TAG } else { 0 };
        let headers = at
            + match ethertype {
                TYPE_IPV4 => IPV4 + TRANSPORT,
                TYPE_IPV6 => IPV6 + TRANSPORT,
                _ => 0,
            };
        let mut bytes = vec![0; self.length.max(headers)];
        bytes[..6].copy_from_slice(&destination.0);
        bytes[6..12].copy_from_slice(&self.source.0);
        let outer = if is_tagged { TYPE_TAG } else { ethertype };
        bytes[12..ETHERNET].copy_from_slice(&outer.to_be_bytes());
        if is_tagged {
            let tci = u16::from(self.pcp.unwrap_or(0)) << 13 | self.vlan.unwrap_or(0);
            bytes[ETHERNET..ETHERNET + 2].copy_from_slice(&tci.to_be_bytes());
            bytes[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&ethertype.to_be_bytes());
        }
        match ethertype {
            TYPE_IPV4 => self.ipv4(&mut bytes[at..])?,
            TYPE_IPV6 => self.ipv6(&mut bytes[at..])?,
            _ => {}
        }
        Ok(bytes)
    }

    fn default_type(&self) -> u16 {
        let is_v6 = self
            .network
            .iter()
            .flatten()
            .any(|address| address.contains(':'));
        let is_ip = self.network.iter().any(Option::is_some)
            || self.protocol.is_some()
            || self.traffic_class != 0;
        match (is_v6, is_ip) {
            (true, _) => TYPE_IPV6,
            (false, true) => TYPE_IPV4,
            (false, false) => 0xffff,
        }
    }

    fn network<T: FromStr>(&self, index: usize, usual: &str) -> Result<T, String>
    where
        T::Err: Display,
    {
        let name = ["nw_src", "nw_dst"][index];
        address(name, self.network[index].as_deref().unwrap_or(usual))
    }

    fn ipv4(&self, bytes: &mut [u8]) -> Result<(), String> {
        let length = bytes.len();
        if let Some(mut packet) = MutableIpv4Packet::new(bytes) {
            packet.set_version(4);
            packet.set_header_length(5);
            packet.set_dscp(self.traffic_class >> 2);
            packet.set_ecn(self.traffic_class & 3);
            packet.set_total_length(length.min(usize::from(u16::MAX)) as u16);
            packet.set_ttl(64);
            packet.set_next_level_protocol(IpNextHeaderProtocol(self.protocol.unwrap_or(UDP)));
            packet.set_source(self.network::<Ipv4Addr>(0, "192.0.2.1")?);
            packet.set_destination(self.network::<Ipv4Addr>(1, "192.0.2.2")?);
            let sum = checksum(&packet.to_immutable());
            packet.set_checksum(sum);
        }
        self.transport(&mut bytes[IPV4..]);
        Ok(())
    }

    fn ipv6(&self, bytes: &mut [u8]) -> Result<(), String> {
        let payload = bytes.len() - IPV6;
        if let Some(mut packet) = MutableIpv6Packet::new(bytes) {
            packet.set_version(6);
            packet.set_traffic_class(self.traffic_class);
            packet.set_payload_length(payload.min(usize::from(u16::MAX)) as u16);
            packet.set_hop_limit(64);
            packet.set_next_header(IpNextHeaderProtocol(self.protocol.unwrap_or(UDP)));
            packet.set_source(self.network::<Ipv6Addr>(0, "2001:db8::1")?);
            packet.set_destination(self.network::<Ipv6Addr>(1, "2001:db8::2")?);
        }
        self.transport(&mut bytes[IPV6..]);
        Ok(())
    }

    /// Ports have the same offset in TCP and UDP.
    fn transport(&self, bytes: &mut [u8]) {
        let length = bytes.len().min(usize::from(u16::MAX)) as u16;
        let protocol = self.protocol.unwrap_or(UDP);
        if !matches!(protocol, TCP | UDP) {
            return;
        }
        if let Some(mut packet) = MutableUdpPacket::new(bytes) {
            packet.set_source(self.ports[0]);
            packet.set_destination(self.ports[1]);
            if protocol == UDP {
                packet.set_length(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        let frame: FrameArgument = text
            .parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        frame.bytes
    }

    fn complaint(text: &str) -> String {
        FrameArgument::from_str(text).unwrap_err()
    }

    #[test]
    fn fields_become_a_frame() {
        let frame = bytes("udp,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,ip_dscp=26,nw_ecn=2,tp_src=7,tp_dst=4791,length=100");
        assert_eq!(frame.len(), 100);
        assert_eq!(frame[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        assert_eq!(frame[14..16], [0x45, 26 << 2 | 2]);
        assert_eq!(frame[23], UDP);
        assert_eq!(frame[26..34], [10, 0, 0, 1, 10, 0, 0, 2]);
        assert_eq!(frame[34..38], [0, 7, 0x12, 0xb7]);
        let sum: u32 = frame[14..34]
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
            .sum();
        assert_eq!(
            (sum & 0xffff) + (sum >> 16),
            0xffff,
            "the header's checksum"
        );
    }

    #[test]
    fn roce_is_udp_to_its_port_and_tags_stand_in_front() {
        let frame = bytes("roce,dl_dst=02:00:00:00:00:02,dl_vlan=100,dl_vlan_pcp=3");
        assert_eq!(frame[12..18], [0x81, 0, 0x60, 100, 8, 0]);
        assert_eq!(frame[40..42], 4791u16.to_be_bytes());
        let frame = bytes("dl_dst=02:00:00:00:00:02,ipv6_src=fd00::1,nw_tos=104");
        assert_eq!(frame[12..16], [0x86, 0xdd, 0x66, 0x80]);
        assert_eq!(frame[20], UDP);
    }

    #[test]
    fn hexadecimal_digits_are_taken_as_they_are() {
        let frame = bytes("0x0180c2000001 025700000002 8808 0101");
        assert_eq!(frame.len(), 16);
        assert_eq!(frame[12..], [0x88, 8, 1, 1]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("udp", "dl_dst is missing"),
            (
                "sctp,dl_dst=02:00:00:00:00:02",
                "unknown word `sctp`; valid: arp, icmp",
            ),
            (
                "dl_destination=1",
                "unknown field `dl_destination`; valid: dl_dst",
            ),
            ("dl_dst=5", "dl_dst: `5`"),
            (
                "dl_dst=02:00:00:00:00:02,dl_vlan=4096",
                "dl_vlan: `4096` is not a number from 0 to 4095",
            ),
            ("dl_dst=02:00:00:00:00:02,nw_src=10.0.0", "nw_src: `10.0.0`"),
            ("dl_dst=02:00:00:00:00:02,length=20000", "length: `20000`"),
            ("", "dl_dst is missing"),
            ("0180c20000010257000000028808010", "odd number"),
        ] {
            let said = complaint(text);
            assert!(said.contains(words), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z_0-9=,:. ]{0,80}") {
            if let Ok(frame) = text.parse::<FrameArgument>() {
                prop_assert!((ETHERNET..=LENGTH_MAX).contains(&frame.bytes.len()));
            }
        }
    }
}
