//! Livelock: bounds how long others are preferred to a frame that may leave (Karol, section III, the waiting time of
//! each packet is bounded).

use super::*;
use crate::frame::FrameHandle;

const P3: Priority = Priority::ALL[3];
const PORTS: u8 = 4;
const DEPTH: u8 = 4;
const DESTINATIONS: u64 = 6;
const QUANTUM: u64 = 1500;
const VICTIM_INGRESS: u8 = 2;
const VICTIM: u32 = u32::MAX;
const ALL: Gate = Gate::FromLevel(Level::ZERO);

/// While the victim's Level is constant: each cycle gives one turn to each lane (ingress port and Level), a turn is at
/// most two quanta, and before it each destination of the victim's lane has one turn of at most two quanta.
const BOUND: u64 = 2 * (DESTINATIONS + 1) * (PORTS as u64) * (DEPTH as u64 + 1) * 2 * QUANTUM;

struct Adversary {
    queues: VirtualQueues,
    random: u64,
    /// By ingress port and destination: Level, and waiting frames.
    levels: Vec<(u8, u32)>,
    /// The victim's Level, which most destinations of its lane share.
    target: u8,
}

fn port(number: u8) -> PortId {
    PortId::new(number)
}

fn place(ingress: u8, destination: u64) -> Place {
    Place {
        egress: port(0),
        priority: P3,
        ingress: port(ingress),
        destination,
    }
}

impl Adversary {
    fn new(seed: u8) -> Self {
        let depths = [Level::new(DEPTH).unwrap(); PRIORITY_COUNT];
        Self {
            queues: VirtualQueues::new(usize::from(PORTS), &depths, 4096, QUANTUM),
            random: u64::from(seed) + 1,
            levels: vec![(0, 0); usize::from(PORTS) * DESTINATIONS as usize],
            target: 0,
        }
    }

    fn below(&mut self, end: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) as u32 % end
    }

    /// Keeps every queue full, at a Level that alternates between the worst ones, with short and long frames.
    fn refill(&mut self) {
        for index in 0..self.levels.len() {
            let (ingress, destination) = (
                (index / DESTINATIONS as usize) as u8,
                index as u64 % DESTINATIONS,
            );
            let at = place(ingress, destination);
            if self.levels[index].1 == 0 {
                self.levels[index].0 = if ingress == VICTIM_INGRESS && self.below(8) > 0 {
                    self.target
                } else {
                    self.below(u32::from(DEPTH) + 1) as u8
                };
            } else if self.below(100) == 0 && self.levels[index].0 < DEPTH {
                self.levels[index].0 += 1;
                let to = Level::new(self.levels[index].0).unwrap();
                self.queues.lift(&at, to);
            }
            while self.levels[index].1 < 1 + self.below(3) {
                let length = if self.below(2) == 0 {
                    60
                } else {
                    QUANTUM as u32
                };
                let level = Level::new(self.levels[index].0).unwrap();
                let handle = FrameHandle(index as u32);
                assert!(self.queues.push(at, level, handle, length));
                self.levels[index].1 += 1;
            }
        }
    }

    /// Returns the bytes that leave before a frame of `level` that arrives now.
    fn bytes_before_victim(&mut self, level: u8) -> u64 {
        self.target = level;
        let at = place(VICTIM_INGRESS, 1_000);
        let level = Level::new(level).unwrap();
        assert!(self.queues.push(at, level, FrameHandle(VICTIM), 60));
        let mut bytes = 0;
        loop {
            self.refill();
            let departure = self.queues.pop(port(0), P3, ALL).unwrap();
            if departure.handle.0 == VICTIM {
                return bytes;
            }
            self.levels[departure.handle.index()].1 -= 1;
            bytes += u64::from(departure.length_bytes);
        }
    }
}

#[test]
fn a_frame_that_may_leave_does_so_before_a_bound() {
    let mut longest = 0;
    for seed in 0..20 {
        let mut adversary = Adversary::new(seed);
        for round in 0..50 {
            let bytes = adversary.bytes_before_victim(round % (DEPTH + 1));
            assert!(bytes <= BOUND, "{bytes} B before it, {BOUND} B at most");
            longest = longest.max(bytes);
        }
    }
    // The adversary is useless if the bound is never approached.
    assert!(longest > BOUND / 20, "{longest} B of {BOUND} B");
}

/// A lane and a Level have one turn, however often the queue that has just sent is lifted away.
#[test]
fn lifts_do_not_lengthen_a_turn() {
    let [zero, one, two] = [0, 1, 2].map(|level| Level::new(level).unwrap());
    // The sending lane already has another queue, or is empty for a moment.
    let cases = [(zero, true), (two, true), (two, false)];
    for (victim_level, is_ahead) in cases {
        let mut queues = VirtualQueues::new(4, &[two; PRIORITY_COUNT], 4096, QUANTUM);
        // A long frame and a short one, for which the rest of a turn suffices, of a new destination.
        let push = |queues: &mut VirtualQueues, ingress: u8, destination: u64| {
            for length in [1400, 60] {
                let at = place(ingress, destination);
                assert!(queues.push(at, zero, FrameHandle(destination as u32), length));
            }
        };
        push(&mut queues, 0, 0);
        push(&mut queues, 1, 1);
        let victim = place(VICTIM_INGRESS, 5_000);
        assert!(queues.push(victim, victim_level, FrameHandle(VICTIM), 60));
        let left = (2..500).find(|fresh| {
            if is_ahead {
                push(&mut queues, 0, *fresh);
            }
            let sent = queues.pop(port(0), P3, ALL).unwrap();
            let destination = u64::from(sent.handle.0);
            queues.lift(&place(sent.ingress.get(), destination), one);
            if !is_ahead {
                push(&mut queues, sent.ingress.get().min(1), *fresh);
            }
            sent.handle.0 == VICTIM
        });
        let case = (victim_level, is_ahead);
        assert!(left.is_some_and(|left| left < 12), "{case:?}: {left:?}");
    }
}
