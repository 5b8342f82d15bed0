//! Congestion Experienced (RFC 3168) in a frame's IP header, behind up to two VLAN tags.

use super::ethernet::HEADER_LENGTH;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
const ETHERTYPE_CTAG: u16 = 0x8100;
const ETHERTYPE_STAG: u16 = 0x88A8;
const TAG_LENGTH: usize = 4;
const TAGS_MAX: usize = 2;
const IPV4_HEADER_LENGTH: usize = 20;

/// The ECN field: Not-ECT (section 5).
const NOT_ECT: u8 = 0b00;
/// Congestion Experienced.
const CE: u8 = 0b11;

/// Result of marking a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// It now carries Congestion Experienced.
    Marked,
    /// It already did, and is unchanged.
    MarkedBefore,
    /// Its transport does not support ECN, or it is not IP: it is unchanged.
    NotCapable,
}

/// Returns the result that [`mark_congestion`] would have, without changing the frame.
pub fn marking_of(frame: &[u8]) -> Marking {
    /// Header, tags, and a whole IPv4 header.
    const PART: usize = HEADER_LENGTH + TAGS_MAX * TAG_LENGTH + IPV4_HEADER_LENGTH;
    let mut part = [0; PART];
    let length = frame.len().min(PART);
    part[..length].copy_from_slice(&frame[..length]);
    mark_congestion(&mut part[..length])
}

/// Marks a whole Ethernet frame. The IPv4 header checksum is updated incrementally (RFC 1624, equation 3).
pub fn mark_congestion(frame: &mut [u8]) -> Marking {
    let mut at = HEADER_LENGTH - 2;
    let mut tags = 0;
    loop {
        let Some([high, low]) = frame.get(at..at + 2).and_then(|bytes| bytes.first_chunk()) else {
            return Marking::NotCapable;
        };
        let ethertype = u16::from_be_bytes([*high, *low]);
        let packet = frame.get_mut(at + 2..).unwrap_or_default();
        return match ethertype {
            ETHERTYPE_IPV4 => mark_ipv4(packet),
            ETHERTYPE_IPV6 => mark_ipv6(packet),
            ETHERTYPE_CTAG | ETHERTYPE_STAG if tags < TAGS_MAX => {
                tags += 1;
                at += TAG_LENGTH;
                continue;
            }
            _ => Marking::NotCapable,
        };
    }
}

fn mark_ipv4(packet: &mut [u8]) -> Marking {
    let Some(header) = packet.first_chunk_mut::<IPV4_HEADER_LENGTH>() else {
        return Marking::NotCapable;
    };
    if header[0] >> 4 != 4 || header[1] & CE == NOT_ECT {
        return Marking::NotCapable;
    }
    if header[1] & CE == CE {
        return Marking::MarkedBefore;
    }
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] |= CE;
    let after = u16::from_be_bytes([header[0], header[1]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    // HC' = ~(~HC + ~m + m')
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    Marking::Marked
}

/// The traffic class spans the first two bytes; its low two bits are bits 5 and 4 of the second.
fn mark_ipv6(packet: &mut [u8]) -> Marking {
    const SHIFT: u32 = 4;
    let Some([first, second]) = packet.first_chunk_mut::<2>() else {
        return Marking::NotCapable;
    };
    if *first >> 4 != 6 || (*second >> SHIFT) & CE == NOT_ECT {
        return Marking::NotCapable;
    }
    if (*second >> SHIFT) & CE == CE {
        return Marking::MarkedBefore;
    }
    *second |= CE << SHIFT;
    Marking::Marked
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071, over the whole header.
    fn checksum_holds(header: &[u8]) -> bool {
        let sum: u32 = header
            .chunks_exact(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum();
        let folded = (sum & 0xFFFF) + (sum >> 16);
        folded == 0xFFFF
    }

    fn ipv4(tos: u8, tags: &[u16]) -> Vec<u8> {
        let mut frame = vec![0u8; 12];
        for tag in tags {
            frame.extend(tag.to_be_bytes());
            frame.extend([0x60, 1]);
        }
        frame.extend(ETHERTYPE_IPV4.to_be_bytes());
        let mut header = [0u8; 20];
        header[..4].copy_from_slice(&[0x45, tos, 0, 40]);
        header[4..10].copy_from_slice(&[0x12, 0x34, 0x40, 0, 64, 6]);
        header[12..].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let sum: u32 = header
            .chunks_exact(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum();
        let sum = (sum & 0xFFFF) + (sum >> 16);
        header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        frame.extend(header);
        frame
    }

    #[test]
    fn capable_ipv4_is_marked_under_tags_and_its_checksum_holds() {
        let tags: [&[u16]; 3] = [&[], &[ETHERTYPE_CTAG], &[ETHERTYPE_STAG, ETHERTYPE_CTAG]];
        for tags in tags {
            for dscp in 0..64u8 {
                for ecn in 0..4u8 {
                    let tos = dscp << 2 | ecn;
                    let before = ipv4(tos, tags);
                    let mut frame = before.clone();
                    let foretold = marking_of(&frame);
                    let marking = mark_congestion(&mut frame);
                    assert_eq!(foretold, marking);
                    let header = &frame[14 + 4 * tags.len()..];
                    assert!(checksum_holds(header), "{tos:#x}");
                    match ecn {
                        NOT_ECT => assert_eq!((marking, &frame), (Marking::NotCapable, &before)),
                        CE => assert_eq!((marking, &frame), (Marking::MarkedBefore, &before)),
                        _ => assert_eq!((marking, header[1]), (Marking::Marked, dscp << 2 | CE)),
                    }
                }
            }
        }
    }

    #[test]
    fn capable_ipv6_is_marked() {
        let mut frame = vec![0u8; 12];
        frame.extend(ETHERTYPE_IPV6.to_be_bytes());
        frame.extend([0x6A, 0xA5, 0x55, 0x55]);
        frame.extend([0; 36]);
        let mut marked = frame.clone();
        assert_eq!(mark_congestion(&mut marked), Marking::Marked);
        assert_eq!(marked[14..18], [0x6A, 0xB5, 0x55, 0x55]);
        let again = marked.clone();
        assert_eq!(mark_congestion(&mut marked), Marking::MarkedBefore);
        assert_eq!(marked, again);
        frame[15] = 0x85;
        let before = frame.clone();
        assert_eq!(mark_congestion(&mut frame), Marking::NotCapable);
        assert_eq!(frame, before);
    }

    #[test]
    fn other_and_truncated_frames_are_left_alone() {
        let whole = ipv4(1, &[ETHERTYPE_CTAG]);
        for length in 0..whole.len() {
            let mut frame = whole[..length].to_vec();
            assert_eq!(mark_congestion(&mut frame), Marking::NotCapable);
            assert_eq!(frame, whole[..length]);
        }
        let mut three = ipv4(1, &[ETHERTYPE_CTAG; 3]);
        assert_eq!(mark_congestion(&mut three), Marking::NotCapable);
        let mut arp = ipv4(1, &[]);
        arp[12..14].copy_from_slice(&[8, 6]);
        assert_eq!(mark_congestion(&mut arp), Marking::NotCapable);
    }
}
