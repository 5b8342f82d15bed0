//! Numbered frames. A frame is determined by its series and its number, so that a receiver compares every byte.

use std::ops::RangeInclusive;

use super::{control, host};

/// EtherType 1 for local experiments (IEEE 802).
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];
const TAG: [u8; 2] = [0x81, 0];
const ADDRESSES: usize = 12;
const IPV4: [u8; 2] = [0x08, 0];
/// An IPv4 header without options, then a UDP header.
const IP_BYTES: usize = 28;
/// Series of the frame and its number.
const SERIES_BYTES: usize = 4;
const NUMBER_BYTES: usize = 4;
/// Minimum frame length on the wire, without FCS.
pub const SHORTEST: usize = 60;
/// Length of an untagged frame with a payload of 1500 bytes, without FCS.
pub const LONGEST: usize = 1514;

/// Lengths of the frames of a series, without their tags.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// These, in a cycle.
    InTurn(RangeInclusive<usize>),
    /// Random lengths in this range.
    Random(RangeInclusive<usize>),
}

/// The tags of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// No tags.
    None,
    /// Tags of this priority, in VLAN 1.
    Priority(u8),
    /// Tags on half of the frames, with random priority, VLAN and DEI.
    Random,
}

/// Contents of the frames of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Random bytes.
    Random,
    /// Consecutive PFC frames. With each frame they begin one byte later, so that [`PHASES`](control::PFC_BYTES) frames of
    /// one size cover every offset.
    Control,
}

/// Frames sent from one host to another.
#[derive(Clone, Debug)]
pub struct Series {
    /// Unique among the series in the same network.
    pub id: u32,
    /// Port numbers of sender and receiver.
    pub ports: [usize; 2],
    /// Number of frames.
    pub count: u32,
    pub sizes: Sizes,
    pub tags: Tags,
    pub fill: Fill,
    /// Number of IPv4 flows from different addresses, which NICs spread over their queues. 0: no IP.
    pub flows: u32,
}

/// Returns IPv4 and UDP headers for a payload; `bytes` is their total length.
fn ip(flow: u32, bytes: usize) -> [u8; IP_BYTES] {
    let mut header = [0; IP_BYTES];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    // Time to live, UDP.
    header[8..10].copy_from_slice(&[64, 17]);
    header[12..16].copy_from_slice(&(0x0a00_0100 + flow).to_be_bytes());
    header[16..20].copy_from_slice(&0x0a00_0002_u32.to_be_bytes());
    let words = header[..20].chunks(2);
    let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header[20..22].copy_from_slice(&49_152_u16.to_be_bytes());
    header[22..24].copy_from_slice(&49_152_u16.to_be_bytes());
    header[24..26].copy_from_slice(&(bytes as u16 - 20).to_be_bytes());
    header
}

impl Series {
    /// Returns the flow of frame `number`, if there are flows.
    pub fn flow(&self, number: u32) -> Option<u32> {
        number.checked_rem(self.flows)
    }

    /// Builds frame `number`.
    pub fn frame(&self, number: u32) -> Vec<u8> {
        let mut random = Random::new(self.id, number);
        let tag = match self.tags {
            Tags::None => None,
            Tags::Priority(priority) => Some(u16::from(priority) << 13 | 1),
            Tags::Random => (random.next() & 1 == 0).then(|| {
                // VLAN 4095 is reserved.
                let tag = random.next() as u16;
                if tag & 0xfff == 0xfff {
                    tag ^ 1
                } else {
                    tag
                }
            }),
        };
        let size = match &self.sizes {
            Sizes::InTurn(sizes) => {
                let each = match self.fill {
                    Fill::Random => 1,
                    Fill::Control => control::PFC_BYTES,
                };
                let step = number as usize / each;
                sizes.start() + step % (sizes.end() - sizes.start() + 1)
            }
            Sizes::Random(sizes) => {
                let many = (sizes.end() - sizes.start() + 1) as u64;
                sizes.start() + (random.next() % many) as usize
            }
        };
        let mut frame = Vec::with_capacity(size + 4);
        frame.extend(host(self.ports[1]));
        frame.extend(host(self.ports[0]));
        if let Some(tag) = tag {
            frame.extend(TAG);
            frame.extend(tag.to_be_bytes());
        }
        if let Some(flow) = self.flow(number) {
            frame.extend(IPV4);
            frame.extend(ip(flow, size - ADDRESSES - 2));
        } else {
            frame.extend(ETHER_TYPE);
        }
        frame.extend(self.id.to_be_bytes());
        frame.extend(number.to_be_bytes());
        let end = size + if tag.is_some() { 4 } else { 0 };
        match self.fill {
            Fill::Random => {
                while frame.len() < end {
                    frame.extend(random.next().to_le_bytes());
                }
            }
            Fill::Control => {
                frame.resize(frame.len() + number as usize % control::PFC_BYTES, 0);
                let hidden = control::all_paused(host(self.ports[0]));
                while frame.len() < end {
                    frame.extend(hidden);
                }
            }
        }
        frame.truncate(end);
        frame
    }
}

/// Returns the series and number of a frame, and its priority; `None` if it belongs to no series.
pub fn named(frame: &[u8]) -> Option<(u32, u32, u8)> {
    let tagged = frame.get(ADDRESSES..ADDRESSES + 2)? == TAG;
    let priority = if tagged { frame.get(14)? >> 5 } else { 0 };
    let start = if tagged { ADDRESSES + 4 } else { ADDRESSES };
    let ether_type = frame.get(start..start + 2)?;
    let start = match ether_type {
        _ if ether_type == ETHER_TYPE => start + 2,
        _ if ether_type == IPV4 => start + 2 + IP_BYTES,
        _ => return None,
    };
    let numbers = frame.get(start..start + SERIES_BYTES + NUMBER_BYTES)?;
    let (series, number) = numbers.split_at(SERIES_BYTES);
    let word = |bytes: &[u8]| Some(u32::from_be_bytes(bytes.try_into().ok()?));
    Some((word(series)?, word(number)?, priority))
}

/// Random numbers derived from a series and a number (SplitMix64).
struct Random(u64);

impl Random {
    fn new(series: u32, number: u32) -> Self {
        Self(u64::from(series) << 32 | u64::from(number))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn series(sizes: Sizes, tags: Tags, fill: Fill) -> Series {
        Series {
            id: 7,
            ports: [0, 1],
            count: 1000,
            sizes,
            tags,
            fill,
            flows: 0,
        }
    }

    #[test]
    fn a_frame_names_its_series_and_number_with_and_without_tag() {
        for tags in [Tags::None, Tags::Priority(3), Tags::Random] {
            let series = series(Sizes::Random(SHORTEST..=LONGEST), tags, Fill::Random);
            for number in 0..1000 {
                let frame = series.frame(number);
                assert!((SHORTEST..=LONGEST + 4).contains(&frame.len()));
                let (id, read, priority) = named(&frame).unwrap();
                assert_eq!((id, read), (7, number));
                assert!(tags != Tags::Priority(3) || priority == 3);
            }
            let flows = Series { flows: 5, ..series };
            assert_eq!(named(&flows.frame(9)).map(|read| read.1), Some(9));
        }
        assert_eq!(named(&[0; 60]), None);
    }

    #[test]
    fn in_turn_there_is_every_size() {
        let series = series(Sizes::InTurn(60..=70), Tags::None, Fill::Random);
        let sizes: BTreeSet<usize> = (0..11).map(|number| series.frame(number).len()).collect();
        assert_eq!(sizes, (60..=70).collect());
    }

    #[test]
    fn a_control_frame_begins_at_every_offset_of_a_hostile_size() {
        let series = series(Sizes::InTurn(1084..=1084), Tags::None, Fill::Control);
        let hidden = control::all_paused(host(0));
        let mut offsets = BTreeSet::new();
        for number in 0..control::PFC_BYTES as u32 {
            let frame = series.frame(number);
            let found = frame.windows(hidden.len()).enumerate();
            offsets.extend(found.filter(|(_, w)| *w == hidden).map(|(at, _)| at));
        }
        let header = ADDRESSES + 2 + SERIES_BYTES + NUMBER_BYTES;
        assert_eq!(offsets, (header..=1084 - hidden.len()).collect());
    }
}
