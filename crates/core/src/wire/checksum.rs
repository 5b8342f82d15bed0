//! Checksums of TCP and UDP that a host's kernel leaves to its device (checksum offload).
//!
//! Such a kernel writes the sum of the pseudo header instead of the checksum and expects the device to add the rest. A
//! virtual device never does: it passes the frame to the other end with a note, and AF_XDP loses the note.

use super::ethernet::HEADER_LENGTH;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
const ETHERTYPES_OF_TAGS: [u16; 2] = [0x8100, 0x88A8];
const TAG_LENGTH: usize = 4;
const TAGS_MAX: usize = 2;
const IPV4_HEADER_LENGTH: usize = 20;
const IPV6_HEADER_LENGTH: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Minimum header length, and offset of the checksum in the header.
const TCP_HEADER: (usize, usize) = (20, 16);
const UDP_HEADER: (usize, usize) = (8, 6);
/// More fragments, or an offset.
const FRAGMENT: u16 = 0x3FFF;

/// Location of an unfinished checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Offset of the first covered byte from the beginning of the frame.
    pub start: usize,
    /// Number of covered bytes.
    pub length: usize,
    /// Offset from the beginning of the frame, in bytes.
    pub at: usize,
}

/// Finds a checksum that holds only the pseudo header's sum; `frame` must include all headers. One in 65,536 finished
/// checksums looks the same; finishing it again changes nothing.
pub fn unfinished(frame: &[u8]) -> Option<Unfinished> {
    let (ethertype, packet_at) = network_layer(frame)?;
    let packet = frame.get(packet_at..)?;
    let (protocol, addresses, header, length) = match ethertype {
        ETHERTYPE_IPV4 => ipv4(packet)?,
        ETHERTYPE_IPV6 => ipv6(packet)?,
        _ => return None,
    };
    let (least, place) = match protocol {
        TCP => TCP_HEADER,
        UDP => UDP_HEADER,
        _ => return None,
    };
    if length < least {
        return None;
    }
    let start = packet_at + header;
    let at = start + place;
    let held = word(frame, at)?;
    let mut pseudo = Sum::default();
    pseudo.add(addresses);
    pseudo.add(&[0, protocol]);
    pseudo.add(&(u32::try_from(length).ok()?).to_be_bytes());
    (held == pseudo.folded()).then_some(Unfinished { start, length, at })
}

/// Returns the EtherType behind all tags, and the offset of its payload.
fn network_layer(frame: &[u8]) -> Option<(u16, usize)> {
    let mut at = HEADER_LENGTH - 2;
    for _ in 0..=TAGS_MAX {
        let ethertype = word(frame, at)?;
        if !ETHERTYPES_OF_TAGS.contains(&ethertype) {
            return Some((ethertype, at + 2));
        }
        at += TAG_LENGTH;
    }
    None
}

/// Protocol, addresses, length of the header and of the payload.
type Layers<'a> = (u8, &'a [u8], usize, usize);

fn ipv4(packet: &[u8]) -> Option<Layers<'_>> {
    let head = packet.first_chunk::<IPV4_HEADER_LENGTH>()?;
    let header = usize::from(head[0] & 0xF) * 4;
    let is_whole = word(packet, 6)? & FRAGMENT == 0;
    if head[0] >> 4 != 4 || header < IPV4_HEADER_LENGTH || !is_whole {
        return None;
    }
    let length = usize::from(word(packet, 2)?).checked_sub(header)?;
    Some((head[9], packet.get(12..20)?, header, length))
}

/// Skips packets with extension headers: kernels finish those themselves, or send none.
fn ipv6(packet: &[u8]) -> Option<Layers<'_>> {
    let head = packet.first_chunk::<IPV6_HEADER_LENGTH>()?;
    if head[0] >> 4 != 6 {
        return None;
    }
    let length = usize::from(word(packet, 4)?);
    Some((head[6], packet.get(8..40)?, IPV6_HEADER_LENGTH, length))
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// One's complement sum of 16-bit words (RFC 1071), over parts of any length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    sum: u64,
    is_odd: bool,
}

impl Sum {
    /// Adds the next bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        if self.is_odd {
            let Some((first, rest)) = bytes.split_first() else {
                return;
            };
            self.sum += u64::from(*first);
            (bytes, self.is_odd) = (rest, false);
        }
        let (words, rest) = bytes.as_chunks::<4>();
        for four in words {
            self.sum += u64::from(u32::from_be_bytes(*four));
        }
        let (words, rest) = rest.as_chunks::<2>();
        for two in words {
            self.sum += u64::from(u16::from_be_bytes(*two));
        }
        if let [last] = rest {
            self.sum += u64::from(*last) << 8;
            self.is_odd = true;
        }
    }

    /// The sum in 16 bits.
    pub fn folded(self) -> u16 {
        let mut sum = self.sum;
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum as u16
    }

    /// The checksum of everything added, which includes the pseudo header's sum. Never zero, which means no checksum
    /// in UDP.
    pub fn checksum(self) -> u16 {
        match !self.folded() {
            0 => 0xFFFF,
            checksum => checksum,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a frame of TCP or UDP whose checksum holds the pseudo header's sum.
    fn frame(is_v6: bool, protocol: u8, payload: &[u8], tags: usize) -> Vec<u8> {
        let transport = match protocol {
            TCP => TCP_HEADER,
            _ => UDP_HEADER,
        };
        let length = transport.0 + payload.len();
        let mut frame = vec![2; 12];
        for _ in 0..tags {
            frame.extend([0x81, 0, 0x60, 7]);
        }
        let addresses: Vec<u8> = if is_v6 {
            (1..=32).collect()
        } else {
            (1..=8).collect()
        };
        if is_v6 {
            frame.extend(ETHERTYPE_IPV6.to_be_bytes());
            frame.extend([0x60, 0, 0, 0]);
            frame.extend((length as u16).to_be_bytes());
            frame.extend([protocol, 64]);
        } else {
            frame.extend(ETHERTYPE_IPV4.to_be_bytes());
            frame.extend([0x45, 0]);
            frame.extend((length as u16 + 20).to_be_bytes());
            frame.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
        }
        frame.extend(&addresses);
        let mut header = vec![0x11; transport.0];
        let mut pseudo = Sum::default();
        pseudo.add(&addresses);
        pseudo.add(&[0, protocol]);
        pseudo.add(&(length as u16).to_be_bytes());
        header[transport.1..transport.1 + 2].copy_from_slice(&pseudo.folded().to_be_bytes());
        frame.extend(header);
        frame.extend(payload);
        // Padding is not covered by the checksum.
        frame.resize(frame.len().max(60), 0xEE);
        frame
    }

    fn finish(frame: &mut [u8], parts: usize) {
        let found = unfinished(frame).unwrap();
        let covered = &frame[found.start..found.start + found.length];
        let mut sum = Sum::default();
        for part in covered.chunks(covered.len().div_ceil(parts)) {
            sum.add(part);
        }
        let checksum = sum.checksum().to_be_bytes();
        frame[found.at..found.at + 2].copy_from_slice(&checksum);
    }

    /// A receiver's check: the sum over pseudo header and all covered bytes is all ones.
    fn is_good(frame: &[u8], found: Unfinished, protocol: u8, addresses: &[u8]) -> bool {
        let mut sum = Sum::default();
        sum.add(addresses);
        sum.add(&[0, protocol]);
        sum.add(&(found.length as u16).to_be_bytes());
        sum.add(&frame[found.start..found.start + found.length]);
        sum.folded() == 0xFFFF
    }

    #[test]
    fn a_partial_checksum_is_found_and_completed() {
        for is_v6 in [false, true] {
            for protocol in [TCP, UDP] {
                for tags in 0..=2 {
                    for payload in [0, 1, 2, 3, 700, 1401] {
                        let payload: Vec<u8> = (0..payload).map(|n| (n * 7 + 3) as u8).collect();
                        let mut frame = frame(is_v6, protocol, &payload, tags);
                        let found = unfinished(&frame).unwrap();
                        let addresses: Vec<u8> = if is_v6 {
                            (1..=32).collect()
                        } else {
                            (1..=8).collect()
                        };
                        assert!(!is_good(&frame, found, protocol, &addresses));
                        for parts in 1..=3 {
                            let mut copy = frame.clone();
                            finish(&mut copy, parts);
                            assert!(is_good(&copy, found, protocol, &addresses));
                        }
                        finish(&mut frame, 1);
                        assert_eq!(unfinished(&frame), None, "it is finished");
                    }
                }
            }
        }
    }

    #[test]
    fn other_frames_are_left_alone() {
        let whole = frame(false, TCP, b"abc", 0);
        for length in 0..14 + 20 + 18 {
            assert_eq!(unfinished(&whole[..length]), None, "{length}");
        }
        let mut fragment = whole.clone();
        fragment[14 + 6] |= 0x20;
        assert_eq!(unfinished(&fragment), None);
        let mut other = whole.clone();
        other[14 + 9] = 1;
        assert_eq!(unfinished(&other), None);
        let mut short = whole.clone();
        short[14 + 2..14 + 4].copy_from_slice(&30u16.to_be_bytes());
        assert_eq!(unfinished(&short), None);
        assert_eq!(unfinished(&frame(false, TCP, b"abc", 3)), None);
    }

    #[test]
    fn a_checksum_is_never_zero() {
        let mut sum = Sum::default();
        sum.add(&[0xFF, 0xFF]);
        assert_eq!(sum.checksum(), 0xFFFF);
    }
}
