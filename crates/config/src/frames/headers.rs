//! Headers of a frame, for filters and comments. Nothing here panics on any bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use weir_core::wire::clcm::Clcm;
use weir_core::wire::echo::Echo;
use weir_core::wire::ethernet::{
    EthernetView, ETHERTYPE_CLCM, ETHERTYPE_MAC_CONTROL, NEAREST_BRIDGE_ADDRESS,
};
use weir_core::wire::mac_control::MacControl;
use weir_core::{MacAddress, Priority, Quanta};

/// EtherType of LLDP.
pub const ETHERTYPE_LLDP: u16 = 0x88cc;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_CTAG: u16 = 0x8100;
const ETHERTYPE_STAG: u16 = 0x88a8;
const TAGS_MAX: usize = 2;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const HEADER_LENGTH: usize = 14;

/// Kind of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // briefly on the stack, for one frame
pub enum Kind {
    /// Any other frame.
    Data,
    /// 802.3x.
    Pause(Quanta),
    /// 802.1Qbb: the pause time of each enabled priority.
    Pfc([Option<Quanta>; 8]),
    /// A Credit Loop Control Message.
    Clcm(Clcm),
    /// An echo message.
    Echo(Echo),
    /// LLDP.
    Lldp,
    /// A malformed frame of a control protocol.
    BadControl,
}

/// An IP header, and the ports after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol number.
    pub protocol: u8,
    /// The ECN field (RFC 3168).
    pub ecn: u8,
    /// The differentiated services code point.
    pub dscp: u8,
    /// Source and destination port of TCP and UDP, unless it is a later fragment.
    pub ports: Option<(u16, u16)>,
}

/// A frame's headers, parsed once for all filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Destination address.
    pub destination: MacAddress,
    /// Source address.
    pub source: MacAddress,
    /// EtherType after all tags; zero for a frame that is too short.
    pub ethertype: u16,
    /// VLAN ID of the outermost tag.
    pub vlan: Option<u16>,
    /// Kind of the frame.
    pub kind: Kind,
    /// The IP header, if it is complete.
    pub ip: Option<IpHeader>,
}

impl Headers {
    /// Parses the headers.
    pub fn of(frame: &[u8]) -> Self {
        let Ok(ethernet) = EthernetView::new_checked(frame) else {
            return Self {
                destination: MacAddress::default(),
                source: MacAddress::default(),
                ethertype: 0,
                vlan: None,
                kind: Kind::Data,
                ip: None,
            };
        };
        let mut ethertype = ethernet.ethertype();
        let mut vlan = None;
        let mut at = HEADER_LENGTH;
        for _ in 0..TAGS_MAX {
            let (ETHERTYPE_CTAG | ETHERTYPE_STAG, Some(tci), Some(next)) =
                (ethertype, u16_at(frame, at), u16_at(frame, at + 2))
            else {
                break;
            };
            vlan = vlan.or(Some(tci & 0x0fff));
            ethertype = next;
            at += 4;
        }
        let packet = frame.get(at..).unwrap_or_default();
        Self {
            destination: ethernet.destination(),
            source: ethernet.source(),
            ethertype,
            vlan,
            kind: kind_of(&ethernet, frame),
            ip: match ethertype {
                ETHERTYPE_IPV4 => ipv4(packet),
                ETHERTYPE_IPV6 => ipv6(packet),
                _ => None,
            },
        }
    }

    /// Returns true for a control frame that names `priority`.
    pub fn names(&self, priority: Priority) -> bool {
        match &self.kind {
            Kind::Pause(_) => true,
            Kind::Pfc(times) => times[priority.index()].is_some(),
            Kind::Clcm(message) => message.priority() == priority,
            _ => false,
        }
    }

    /// The pause times in the frame, with the priority of each, which is absent for a PAUSE.
    pub fn pause_times(&self) -> impl Iterator<Item = (Option<Priority>, Quanta)> {
        let (pause, times) = match self.kind {
            Kind::Pause(quanta) => (Some(quanta), [None; 8]),
            Kind::Pfc(times) => (None, times),
            _ => (None, [None; 8]),
        };
        let by_priority = Priority::ALL
            .into_iter()
            .zip(times)
            .filter_map(|(priority, time)| Some((Some(priority), time?)));
        pause
            .into_iter()
            .map(|quanta| (None, quanta))
            .chain(by_priority)
    }
}

fn kind_of(ethernet: &EthernetView<'_>, frame: &[u8]) -> Kind {
    match ethernet.ethertype() {
        ETHERTYPE_MAC_CONTROL => match MacControl::parse(frame) {
            Ok(MacControl::Pause { quanta }) => Kind::Pause(quanta),
            Ok(MacControl::Pfc { times }) => Kind::Pfc(times),
            Err(_) => Kind::BadControl,
        },
        // With any other destination it is data: the EtherType is for local experiments of all kinds.
        ETHERTYPE_CLCM if ethernet.destination() != NEAREST_BRIDGE_ADDRESS => Kind::Data,
        ETHERTYPE_CLCM if Echo::is_echo(frame) => {
            Echo::parse(frame).map_or(Kind::BadControl, Kind::Echo)
        }
        ETHERTYPE_CLCM => Clcm::parse(frame).map_or(Kind::BadControl, Kind::Clcm),
        ETHERTYPE_LLDP => Kind::Lldp,
        _ => Kind::Data,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*pair))
}

fn ports(protocol: u8, segment: Option<&[u8]>) -> Option<(u16, u16)> {
    let segment = segment.filter(|_| matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP))?;
    Some((u16_at(segment, 0)?, u16_at(segment, 2)?))
}

fn ipv4(packet: &[u8]) -> Option<IpHeader> {
    const LENGTH: usize = 20;
    const OFFSET_BITS: u16 = 0x1fff;
    let header = packet.first_chunk::<LENGTH>()?;
    let length = usize::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || length < LENGTH {
        return None;
    }
    let [.., a, b, c, d, e, f, g, h] = *header;
    let is_first = u16::from_be_bytes([header[6], header[7]]) & OFFSET_BITS == 0;
    let segment = packet.get(length..).filter(|_| is_first);
    Some(IpHeader {
        source: Ipv4Addr::new(a, b, c, d).into(),
        destination: Ipv4Addr::new(e, f, g, h).into(),
        protocol: header[9],
        ecn: header[1] & 3,
        dscp: header[1] >> 2,
        ports: ports(header[9], segment),
    })
}

/// Extension headers are not parsed: packets with one have no ports.
fn ipv6(packet: &[u8]) -> Option<IpHeader> {
    const LENGTH: usize = 40;
    let header = packet.first_chunk::<LENGTH>()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let class = header[0] << 4 | header[1] >> 4;
    let address = |at: usize| {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&header[at..at + 16]);
        IpAddr::from(Ipv6Addr::from(bytes))
    };
    Some(IpHeader {
        source: address(8),
        destination: address(24),
        protocol: header[6],
        ecn: class & 3,
        dscp: class >> 2,
        ports: ports(header[6], packet.get(LENGTH..)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clcms_ethertype_to_a_host_is_data() {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(ETHERTYPE_CLCM.to_be_bytes());
        frame.extend([0; 46]);
        assert_eq!(Headers::of(&frame).kind, Kind::Data);
        frame[..6].copy_from_slice(&NEAREST_BRIDGE_ADDRESS.0);
        assert_eq!(Headers::of(&frame).kind, Kind::BadControl);
    }
}
