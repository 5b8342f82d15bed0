//! Requests for the MAC address of a network address, which hosts send to a group address: ARP requests (RFC
//! 826) and IPv6 neighbor solicitations (RFC 4861, section 4.3).
//!
//! Excludes messages that all hosts must receive: announcements and probes of a host's own address (RFC 5227, sections
//! 2.1.1 and 2.3), and duplicate address detection (RFC 4862, section 5.4.2).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::ethernet::{EthernetView, HEADER_LENGTH};
use crate::units::MacAddress;

const ETHERTYPE_ARP: u16 = 0x0806;
const ETHERTYPE_IPV6: u16 = 0x86DD;
const ETHERTYPE_CTAG: u16 = 0x8100;
const TAG_LENGTH: usize = 4;
/// VLAN identifier in a tag's control information (IEEE 802.1Q, section 9.6).
const VLAN_ID_MASK: u16 = 0x0FFF;

/// Hardware type Ethernet, protocol type IPv4, their lengths, and the operation "request".
const ARP_REQUEST: [u8; 8] = [0, 1, 8, 0, 6, 4, 0, 1];
const ARP_LENGTH: usize = 28;

const IPV6_HEADER_LENGTH: usize = 40;
const PROTOCOL_ICMPV6: u8 = 58;
/// Hop limit of every message of Neighbor Discovery: proves that no router has forwarded it.
const HOP_LIMIT: u8 = 255;
const NEIGHBOR_SOLICITATION: u8 = 135;
/// Type, code, checksum, reserved, and the target address.
const SOLICITATION_LENGTH: usize = 24;
/// ff02::1:ff00:0/104 (RFC 4291, section 2.7.1).
const SOLICITED_NODE: [u8; 13] = [0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF];
/// Groups of IPv6 on Ethernet: 33:33, and the last four bytes of the network address (RFC 2464, section 7).
const SOLICITED_NODE_MAC: [u8; 3] = [0x33, 0x33, 0xFF];

/// The address requested from a group by a whole frame. `None` for any other frame, for one with tags other than a
/// single priority tag, for one that is malformed or truncated, and for one that all hosts must receive.
pub fn requested_address(frame: &[u8]) -> Option<IpAddr> {
    let ethernet = EthernetView::new_checked(frame).ok()?;
    let destination = ethernet.destination();
    let (ethertype, packet) = match ethernet.ethertype() {
        ETHERTYPE_CTAG => under_priority_tag(ethernet.payload())?,
        ethertype => (ethertype, ethernet.payload()),
    };
    match ethertype {
        ETHERTYPE_ARP if destination == MacAddress::BROADCAST => arp_target(packet).map(IpAddr::V4),
        ETHERTYPE_IPV6 if destination.0.starts_with(&SOLICITED_NODE_MAC) => {
            solicited(destination, packet).map(IpAddr::V6)
        }
        _ => None,
    }
}

/// Changes the destination of a whole frame. One shorter than a header is unchanged.
pub fn redirect(frame: &mut [u8], destination: MacAddress) {
    if frame.len() >= HEADER_LENGTH {
        if let Some(field) = frame.first_chunk_mut() {
            *field = destination.0;
        }
    }
}

/// Returns EtherType and packet after a tag that names no VLAN.
fn under_priority_tag(tagged: &[u8]) -> Option<(u16, &[u8])> {
    let ([control_high, control_low, type_high, type_low], packet) =
        tagged.split_first_chunk::<TAG_LENGTH>()?;
    let control = u16::from_be_bytes([*control_high, *control_low]);
    (control & VLAN_ID_MASK == 0).then_some((u16::from_be_bytes([*type_high, *type_low]), packet))
}

fn arp_target(packet: &[u8]) -> Option<Ipv4Addr> {
    let packet = packet.first_chunk::<ARP_LENGTH>()?;
    if !packet.starts_with(&ARP_REQUEST) {
        return None;
    }
    let sender = Ipv4Addr::from(*packet[14..].first_chunk::<4>()?);
    let target = Ipv4Addr::from(*packet[24..].first_chunk::<4>()?);
    (!sender.is_unspecified() && sender != target).then_some(target)
}

fn solicited(destination: MacAddress, packet: &[u8]) -> Option<Ipv6Addr> {
    let (header, rest) = packet.split_first_chunk::<IPV6_HEADER_LENGTH>()?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let message = rest.get(..length)?.first_chunk::<SOLICITATION_LENGTH>()?;
    // An extension header, such as a fragment's, has another next header.
    let is_solicitation = header[0] >> 4 == 6
        && header[6..8] == [PROTOCOL_ICMPV6, HOP_LIMIT]
        && message[..2] == [NEIGHBOR_SOLICITATION, 0];
    let source = Ipv6Addr::from(*header[8..].first_chunk::<16>()?);
    let group = &header[24..];
    let target = Ipv6Addr::from(*message[8..].first_chunk::<16>()?);
    let ending = &target.octets()[13..];
    let is_to_its_group = group.starts_with(&SOLICITED_NODE)
        && group.ends_with(ending)
        && destination.0.ends_with(ending);
    let is_for_one = !source.is_unspecified() && source != target;
    (is_solicitation && is_to_its_group && is_for_one).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENDER: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
    /// Priority 3, no VLAN.
    const PRIORITY_TAG: [u8; 4] = [0x81, 0, 0x60, 0];

    fn ethernet(destination: [u8; 6], tags: &[[u8; 4]], ethertype: u16) -> Vec<u8> {
        let tags = tags.concat();
        [&destination[..], &SENDER.0, &tags, &ethertype.to_be_bytes()].concat()
    }

    fn arp(tags: &[[u8; 4]], operation: u8, sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
        let mut frame = ethernet([0xFF; 6], tags, ETHERTYPE_ARP);
        frame.extend([0, 1, 8, 0, 6, 4, 0, operation]);
        frame.extend(SENDER.0);
        frame.extend(sender);
        frame.extend([0; 6]);
        frame.extend(target);
        frame
    }

    fn solicitation(tags: &[[u8; 4]], source: &str, target: &str) -> Vec<u8> {
        let source: Ipv6Addr = source.parse().unwrap();
        let target: Ipv6Addr = target.parse().unwrap();
        let ending = &target.octets()[13..];
        let mac = [0x33, 0x33, 0xFF, ending[0], ending[1], ending[2]];
        let mut frame = ethernet(mac, tags, ETHERTYPE_IPV6);
        frame.extend([0x60, 0, 0, 0, 0, 32, PROTOCOL_ICMPV6, HOP_LIMIT]);
        frame.extend(source.octets());
        frame.extend(SOLICITED_NODE);
        frame.extend(ending);
        frame.extend([NEIGHBOR_SOLICITATION, 0, 0xAB, 0xCD, 0, 0, 0, 0]);
        frame.extend(target.octets());
        // The source link-layer address option.
        frame.extend([1, 1]);
        frame.extend(SENDER.0);
        frame
    }

    #[test]
    fn a_request_names_its_target() {
        let tags: [&[[u8; 4]]; 2] = [&[], &[PRIORITY_TAG]];
        for tags in tags {
            let mut request = arp(tags, 1, [10, 0, 0, 1], [10, 0, 0, 2]);
            let wanted = Some("10.0.0.2".parse().unwrap());
            assert_eq!(requested_address(&request), wanted);
            request.resize(60, 0);
            assert_eq!(requested_address(&request), wanted, "with padding");
            let request = solicitation(tags, "fd00::1", "fd00::12:3456");
            assert_eq!(
                requested_address(&request),
                Some("fd00::12:3456".parse().unwrap())
            );
        }
    }

    #[test]
    fn announcements_to_all_ask_for_no_one() {
        let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        for (frame, why) in [
            (arp(&[], 1, a, a), "an announcement"),
            (arp(&[], 1, [0; 4], b), "a probe"),
            (arp(&[], 2, a, b), "a reply"),
            (
                solicitation(&[], "::", "fd00::2"),
                "duplicate address detection",
            ),
            (solicitation(&[], "fd00::2", "fd00::2"), "for itself"),
            (arp(&[PRIORITY_TAG; 2], 1, a, b), "two tags"),
            (arp(&[[0x81, 0, 0, 5]], 1, a, b), "a VLAN"),
            (arp(&[[0x88, 0xA8, 0, 0]], 1, a, b), "a service tag"),
        ] {
            assert_eq!(requested_address(&frame), None, "{why}");
        }
    }

    /// Every byte that identifies a request matters: another value makes it another frame.
    #[test]
    fn near_requests_are_not_requests() {
        let changed = |frame: &[u8], at: usize| {
            let mut frame = frame.to_vec();
            frame[at] ^= 0x40;
            requested_address(&frame)
        };
        let request = arp(&[], 1, [10, 0, 0, 1], [10, 0, 0, 2]);
        for at in (0..6).chain(12..22) {
            assert_eq!(changed(&request, at), None, "ARP, byte {at}");
        }
        let request = solicitation(&[], "fd00::1", "fd00::12:3456");
        let ip = HEADER_LENGTH;
        let group = ip + 24..ip + 40;
        let message = ip + 40..ip + 42;
        let ending = ip + 40 + 8 + 13..ip + 40 + 24;
        let head = (0..6).chain(12..15).chain([ip + 4, ip + 6, ip + 7]);
        for at in head.chain(group).chain(message).chain(ending) {
            assert_eq!(changed(&request, at), None, "IPv6, byte {at}");
        }
    }

    #[test]
    fn truncated_requests_are_not_requests() {
        let arp = arp(&[PRIORITY_TAG], 1, [10, 0, 0, 1], [10, 0, 0, 2]);
        let solicitation = solicitation(&[PRIORITY_TAG], "fd00::1", "fd00::2");
        for frame in [arp, solicitation] {
            for length in 0..frame.len() {
                assert_eq!(requested_address(&frame[..length]), None, "{length} B");
            }
            assert!(requested_address(&frame).is_some());
        }
    }

    #[test]
    fn only_the_destination_is_changed() {
        let before = arp(&[], 1, [10, 0, 0, 1], [10, 0, 0, 2]);
        let mut frame = before.clone();
        redirect(&mut frame, STATION);
        assert_eq!(frame[..6], STATION.0);
        assert_eq!(frame[6..], before[6..]);
        let mut short = before[..HEADER_LENGTH - 1].to_vec();
        redirect(&mut short, STATION);
        assert_eq!(short, before[..HEADER_LENGTH - 1]);
    }
}
