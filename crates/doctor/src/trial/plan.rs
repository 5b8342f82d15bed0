//! The frames to send.

use weir_core::random::SplitMix64;
use weir_core::wire::ethernet::FRAME_LENGTH_MIN;
use weir_core::wire::reflection::{Tag, TAG_LENGTH};
use weir_core::Priority;

/// The VLAN of a third of the frames: a NIC may filter by it. The other tagged ones have only a priority tag.
const VLAN: u16 = 100;
/// Buffers start and end at multiples of this, and this much before them, for headroom.
const BOUNDARY: usize = 256;
/// Number of lengths on each side of a boundary that are sent again.
const BESIDE: usize = 4;
/// Number of repetitions, back to back.
const AGAIN: usize = 4;
/// Seed of the arbitrary order of lengths, the same in every trial.
const SEED: u64 = 0x5745_4952;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// In bytes, with the tag.
    pub(super) length: u16,
    pub(super) tag: Option<Tag>,
}

impl Shape {
    /// Applies the network's own limit: a tag comes on top.
    fn new(untagged: usize, tag: Option<Tag>) -> Self {
        let length = untagged + tag.map_or(0, |_| TAG_LENGTH);
        Self {
            length: u16::try_from(length).unwrap_or(u16::MAX),
            tag,
        }
    }
}

/// Returns every length from the shortest to `longest` bytes (without a tag), untagged and with both kinds of tags;
/// then bursts of lengths around every possible end of a buffer.
pub(super) fn shapes(longest: usize) -> Vec<Shape> {
    let lengths = FRAME_LENGTH_MIN..=longest;
    let tags = |length: usize| {
        let tag = |vlan, shift: usize| {
            let priority = Priority::from_low_bits(((length + shift) % 8) as u8);
            Tag::new(priority, vlan)
        };
        [None, tag(0, 0), tag(VLAN, 3)]
    };
    let of_length = |length| tags(length).map(|tag| Shape::new(length, tag));
    let mut shapes: Vec<Shape> = lengths.clone().flat_map(of_length).collect();
    let mut random = SplitMix64::new(SEED);
    for last in (1..shapes.len()).rev() {
        let other = (random.next_u64() % (last as u64 + 1)) as usize;
        shapes.swap(last, other);
    }
    let beside = |length: &usize| {
        let after = (length + BESIDE) % BOUNDARY;
        after <= 2 * BESIDE
    };
    let bursts = lengths.filter(beside).flat_map(of_length);
    shapes.extend(bursts.flat_map(|shape| [shape; AGAIN]));
    shapes
}
