//! Compares the table with a slow model that remembers every frame, and with LetFlow's chip, which scans for old entries
//! periodically.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_core::config::default_member;
use weir_core::Duration;

use super::*;

/// Frames by the time since the previous one in nanoseconds, by flow and by receiver.
type Frames = Vec<(u64, u32, u32)>;

fn frames() -> impl Strategy<Value = Frames> {
    let time = prop_oneof![0u64..40, Just(100), Just(101), 90u64..230];
    prop::collection::vec((time, 0u32..6, 0u32..3), 1..300)
}

fn flowlets(gap: u64, entries: u32) -> SwitchSpread {
    SwitchSpread::Flowlet {
        gap: Duration::from_nanos(gap),
        entries,
    }
}

/// Returns the index of a frame's entry, by long division.
fn place(flow_hash: u32, to: u32, entries: u32) -> u32 {
    let part = u128::from(mixed_hash(flow_hash, to)) * u128::from(entries);
    (part / (1 << 32)) as u32
}

/// LetFlow's entry: a port, a valid bit, and a bit that is set if no frame has come since the last scan.
#[derive(Default)]
struct ChipEntry {
    is_valid: bool,
    is_old: bool,
}

/// The chip scans all entries once per gap, from `phase` on. By frame: true if it begins a flowlet.
fn chip(frames: &Frames, gap: u64, phase: u64, entries: u32) -> Vec<bool> {
    let mut table = BTreeMap::<u32, ChipEntry>::new();
    let mut next_look = phase;
    let mut now = 0;
    let mut begins = Vec::new();
    for (time, flow, to) in frames {
        now += time;
        while next_look < now {
            for entry in table.values_mut() {
                entry.is_valid &= !entry.is_old;
                entry.is_old = true;
            }
            next_look += gap;
        }
        let entry = table.entry(place(*flow, *to, entries)).or_default();
        begins.push(!entry.is_valid);
        *entry = ChipEntry {
            is_valid: true,
            is_old: false,
        };
    }
    begins
}

proptest! {
    /// Every frame has the hash of the previous frame with the same entry, unless more than the gap lies between them: then
    /// it has the next number of the switch's stream.
    #[test]
    fn flowlets_are_those_of_a_model_that_remembers_every_frame(
        frames in frames(),
        gap in 1u64..150,
        entries in 1u32..20,
        switch in 0usize..3,
    ) {
        let mut spreader = Spreader::new(flowlets(gap, entries), 7, switch);
        let mut random = Random::for_purpose(7, SPREADING + ((switch as u64) << 32));
        let mut past: Vec<(u64, u32, u32)> = Vec::new();
        let mut now = 0;
        for (time, flow, to) in frames {
            now += time;
            let place = place(flow, to, entries);
            let before = past.iter().rev().find(|(_, other, _)| *other == place);
            let hash = match before {
                Some((at, _, hash)) if now - at <= gap => *hash,
                _ => (random.next_u64() >> 32) as u32,
            };
            let found = spreader.hash(Instant::ZERO + Duration::from_nanos(now), flow, to);
            prop_assert_eq!(found, hash);
            past.push((now, place, hash));
        }
    }

    /// Whenever the chip scans, the table begins a flowlet if the chip does; if more than two gaps lie between two frames,
    /// both do.
    #[test]
    fn the_chip_of_the_paper_ends_flowlets_at_most_one_gap_later(
        frames in frames(),
        gap in 20u64..120,
        phase in 0u64..120,
        entries in 1u32..20,
    ) {
        let mut spreader = Spreader::new(flowlets(gap, entries), 7, 0);
        let by_chip = chip(&frames, gap, phase % gap, entries);
        let mut now = 0;
        let mut last = BTreeMap::new();
        for ((time, flow, to), chip_begins) in frames.into_iter().zip(by_chip) {
            now += time;
            let place = place(flow, to, entries);
            let hash = spreader.hash(Instant::ZERO + Duration::from_nanos(now), flow, to);
            let before = last.insert(place, (now, hash));
            // Equal draws of 32 bits occur once in thousands of years of such tests.
            let begins = before.is_none_or(|(_, before)| before != hash);
            prop_assert!(begins || !chip_begins);
            let pause = before.map_or(u64::MAX, |(at, _)| now - at);
            prop_assert!(chip_begins || pause <= 2 * gap);
            prop_assert_eq!(begins, pause > gap);
        }
    }
}

#[test]
fn every_member_of_a_group_gets_its_share_of_flowlets_and_of_frames() {
    for spread in [flowlets(100, 4), SwitchSpread::Frame] {
        let mut spreader = Spreader::new(spread, 3, 5);
        // So few that the buckets, of which some members have one more, are nearly even.
        for members in [2, 3, 4] {
            let mut shares = vec![0; members];
            for frame in 0..10_000 {
                let now = Instant::ZERO + Duration::from_micros(frame);
                let hash = spreader.hash(now, 77, 1);
                shares[default_member(hash, members).expect("a member")] += 1;
            }
            let even = 10_000 / members;
            let around = even * 9 / 10..even * 11 / 10;
            assert!(
                shares.iter().all(|share| around.contains(share)),
                "{spread:?} {members}: {shares:?}"
            );
        }
    }
}

#[test]
fn frames_spread_one_by_one_and_switches_draw_for_themselves() {
    let draw = |seed, switch| {
        let mut spreader = Spreader::new(SwitchSpread::Frame, seed, switch);
        [0; 8].map(|_| spreader.hash(Instant::ZERO, 1, 1))
    };
    let one = draw(1, 0);
    assert!(one.windows(2).all(|pair| pair[0] != pair[1]), "{one:?}");
    assert_eq!(one, draw(1, 0));
    assert_ne!(one, draw(1, 1));
    assert_ne!(one, draw(2, 0));
}

#[test]
fn a_table_is_made_by_the_first_frame_and_gone_after_a_restart() {
    let mut spreader = Spreader::new(flowlets(100, 1000), 1, 1);
    assert_eq!(spreader.entries.capacity(), 0);
    let first = spreader.hash(Instant::ZERO, 5, 5);
    assert_eq!(spreader.entries.len(), 1000);
    assert_eq!(spreader.hash(Instant::ZERO, 5, 5), first);
    spreader.forget();
    assert_eq!(spreader.entries.capacity(), 0);
    assert_ne!(spreader.hash(Instant::ZERO, 5, 5), first);
}
