//! Random traffic through both paths of a real switch core, and through one that has no other path: the same frames arrive, by the
//! same ports and in order, with PFC, with Levels and in a lossy class, whatever neighbours hold back.

mod side;

use std::collections::BTreeMap;

use weir_core::random::SplitMix64;
use weir_core::{Duration, Instant};

use self::side::{below, Said, Side, PRIORITIES};

const RUNS: u64 = 300;
const STEPS: usize = 600;
/// Rounds in which all must have arrived once nobody holds anything back.
const ROUNDS_MAX: usize = 20_000;

/// Numbered frames of one (ingress, priority, destination).
type Sent = BTreeMap<(u8, u8, u8), u64>;

/// Both switches with neighbours of their own, which say the same and send the same frames.
struct Pair {
    now: Instant,
    ports: u8,
    /// One step of so many has a whole round of the core's before it.
    idleness: u64,
    sent: Sent,
    sides: [Side; 2],
}

impl Pair {
    fn new(random: &mut SplitMix64) -> Self {
        let ports = 2 + below(random, 4) as u8;
        Self {
            now: Instant::ZERO + Duration::from_secs(1),
            ports,
            idleness: 1 + below(random, 16),
            sent: Sent::new(),
            sides: [false, true].map(|has_path| Side::new(ports, has_path)),
        }
    }

    /// One thing happens, to both at the same time.
    fn step(&mut self, random: &mut SplitMix64) {
        self.now = self.now + Duration::from_nanos(below(random, 20_000));
        if below(random, self.idleness) == 0 {
            self.round();
        }
        let port = below(random, u64::from(self.ports)) as u8;
        let priority = PRIORITIES[below(random, 3) as usize];
        match below(random, 10) {
            // Nothing is sent back to where it came from.
            0..=2 => {
                let destination =
                    (port + 1 + below(random, u64::from(self.ports) - 1) as u8) % self.ports;
                let number = self.sent.entry((port, priority, destination)).or_default();
                let length = 60 + below(random, 1_400);
                for side in &mut self.sides {
                    let frames =
                        &mut side.neighbours[usize::from(port)].waiting[usize::from(priority)];
                    frames.push_back((destination, *number, length));
                }
                *number += 1;
            }
            3 => {
                let said = Said::random(random);
                self.each(|side, now| side.hear(now, port, priority, said));
            }
            4..=5 => self.each(|side, now| side.arrive(now, port, priority)),
            6 => self.each(|side, now| side.handle(now, port)),
            7 => self.each(|side, now| side.send(now, port)),
            8 => self.each(|side, _| side.complete(port)),
            _ => self.each(|side, now| side.settle(now, port)),
        }
    }

    /// The core of each looks at all its ports.
    fn round(&mut self) {
        for port in 0..self.ports {
            self.each(|side, now| {
                side.handle(now, port);
                side.send(now, port);
                side.complete(port);
                side.settle(now, port);
            });
        }
    }

    fn each(&mut self, mut what: impl FnMut(&mut Side, Instant)) {
        for side in &mut self.sides {
            what(side, self.now);
        }
    }

    /// Nobody holds anything back any more, and all arrives.
    fn finish(&mut self) {
        for port in 0..self.ports {
            for priority in PRIORITIES {
                self.each(|side, now| side.hear(now, port, priority, Said::Go));
            }
        }
        for _ in 0..ROUNDS_MAX {
            if self.sides.iter().all(Side::is_empty) {
                return;
            }
            self.now = self.now + Duration::from_micros(5);
            for port in 0..self.ports {
                for priority in PRIORITIES {
                    self.each(|side, now| side.arrive(now, port, priority));
                }
            }
            self.round();
        }
        panic!("frames stand still");
    }
}

#[test]
fn both_paths_give_what_one_gives() {
    let (mut sent, mut passed) = (0, [0; 8]);
    for seed in 0..RUNS {
        let mut random = SplitMix64::new(seed);
        let mut pair = Pair::new(&mut random);
        for _ in 0..STEPS {
            pair.step(&mut random);
        }
        pair.finish();
        for (side, name) in pair.sides.iter().zip(["one path", "both paths"]) {
            for (&(ingress, priority, destination), &count) in &pair.sent {
                let flow = (ingress, priority, destination);
                let arrived = side.arrived.get(&flow).cloned().unwrap_or_default();
                let all: Vec<u64> = (0..count).collect();
                assert_eq!(arrived, all, "seed {seed}, {name}, {flow:?}");
            }
            assert!(side.arrived.keys().all(|flow| pair.sent.contains_key(flow)));
        }
        assert_eq!(pair.sides[0].passed, [0; 8]);
        for (sum, count) in passed.iter_mut().zip(pair.sides[1].passed) {
            *sum += count;
        }
        sent += pair.sent.values().sum::<u64>();
    }
    eprintln!("of {sent} frames {passed:?} took the path, by priority");
    let in_all: u64 = passed.iter().sum();
    assert!(sent - in_all > 1_000, "{passed:?} of {sent}");
    assert!(PRIORITIES
        .iter()
        .all(|priority| passed[usize::from(*priority)] > 1_000));
}
