//! Random traffic over both paths results in the same frames in the same order as through the core alone.

mod rules;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use crossbeam::channel::bounded;
use proptest::prelude::*;
use weir_core::PortSet;

use weir_api::words::Express as State;

use super::super::express::Express;
use super::*;
use crate::exchange::express::{ExpressOrder, ExpressParts, Listing, Passed, Words};

const SEEN: u64 = 1 << 32;
const OPEN: u64 = 0xff;
/// The lossless priority with Levels or PFC, a lossy one, and one with PFC.
const PRIORITIES: [u8; 3] = [LOSSLESS, LOSSY, 7];

/// The words, in this process's memory.
#[derive(Clone, Debug, Default)]
struct Shared(Arc<Memory>);

#[derive(Debug, Default)]
struct Memory {
    gates: [AtomicU64; PORT_COUNT],
    free_at: [AtomicU64; PORT_COUNT],
    entered: [[AtomicU64; 8]; PORT_COUNT],
    finished: [[AtomicU64; 8]; PORT_COUNT],
    alive: AtomicU64,
    is_on: AtomicBool,
    lost: [AtomicU64; PORT_COUNT],
    on_way: [AtomicU64; PORT_COUNT],
    no_room: [AtomicU64; PORT_COUNT],
    came: [[AtomicU64; 8]; PORT_COUNT],
    went: [[AtomicU64; 8]; PORT_COUNT],
}

impl Words for Shared {
    fn switch_on(&self, _: u64) {
        self.0.is_on.store(true, Ordering::Release);
    }

    fn switch_off(&self) {
        self.0.is_on.store(false, Ordering::Release);
    }

    fn lost(&self, port: u8) -> u64 {
        self.0.lost[usize::from(port)].load(Ordering::Relaxed)
    }

    fn on_way(&self, port: u8) -> u64 {
        self.0.on_way[usize::from(port)].load(Ordering::Relaxed)
    }

    fn no_room(&self, port: u8) -> u64 {
        self.0.no_room[usize::from(port)].load(Ordering::Relaxed)
    }

    fn came_in(&self, port: u8, priority: u8) -> Passed {
        passed(&self.0.came[usize::from(port)][usize::from(priority)])
    }

    fn went_out(&self, port: u8, priority: u8) -> Passed {
        passed(&self.0.went[usize::from(port)][usize::from(priority)])
    }

    fn gate(&self, port: u8) -> u64 {
        self.0.gates[usize::from(port)].load(Ordering::Acquire)
    }

    fn seen(&self, gate: u64) -> u32 {
        (gate / SEEN) as u32
    }

    fn open(&self, port: u8, gate: u64, priorities: u8) -> bool {
        let new = gate & !OPEN | u64::from(priorities);
        let word = &self.0.gates[usize::from(port)];
        word.compare_exchange(gate, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    fn close(&self, port: u8) {
        self.0.gates[usize::from(port)].fetch_and(!OPEN, Ordering::AcqRel);
    }

    fn free_at(&self, port: u8) -> u64 {
        self.0.free_at[usize::from(port)].load(Ordering::Acquire)
    }

    fn occupy(&self, port: u8, until_nanos: u64) {
        self.0.free_at[usize::from(port)].fetch_max(until_nanos, Ordering::AcqRel);
    }

    fn enter(&self, ingress: u8, priority: u8) {
        self.0.entered[usize::from(ingress)][usize::from(priority)].fetch_add(1, Ordering::AcqRel);
    }

    fn finish(&self, ingress: u8, priority: u8, count: u64) {
        let finished = &self.0.finished[usize::from(ingress)][usize::from(priority)];
        finished.fetch_add(count, Ordering::AcqRel);
    }

    fn beat(&self, now_nanos: u64) {
        self.0.alive.store(now_nanos, Ordering::Release);
    }
}

/// Frames of 100 B.
fn passed(count: &AtomicU64) -> Passed {
    let frames = count.load(Ordering::Relaxed);
    Passed {
        frames,
        bytes: 100 * frames,
    }
}

/// A loop, and simulated programs in front of it.
struct Both {
    bench: Bench,
    words: Shared,
    listings: Receiver<Box<Listing>>,
    /// Port, priority and time of pauses that programs have seen and the core has not.
    unheard: Vec<(usize, u8, Quanta)>,
    express: u64,
    slow: u64,
}

impl Both {
    fn new(setup: &Setup) -> Self {
        let mut bench = Bench::new(setup);
        let words = Shared::default();
        let chunks = bench.worker.pool.count();
        let (sender, listings) = bounded(1);
        let parts = ExpressParts {
            words: Box::new(words.clone()),
            priorities: 0xff,
            length_max: 1_522,
            listings: sender,
        };
        bench.worker.express = Express::new(parts, chunks, PORT_COUNT);
        let mut both = Self {
            bench,
            words,
            listings,
            unheard: Vec::new(),
            express: 0,
            slow: 0,
        };
        for port in 0..PORT_COUNT {
            both.judge(port, State::Open);
        }
        both.learn_routes();
        both.bench.settle();
        both
    }

    fn order(&mut self, order: ExpressOrder) {
        self.bench.requests.send(Request::Express(order)).unwrap();
        self.bench.round();
    }

    fn judge(&mut self, port: usize, state: State) {
        let port = id(port);
        self.order(ExpressOrder::Judge { port, state });
    }

    /// Learns the routes as the clerk does.
    fn learn_routes(&mut self) -> Vec<(MacAddress, PortId)> {
        let listing = Listing {
            version: None,
            routes: Vec::with_capacity(16),
        };
        self.order(ExpressOrder::List(Box::new(listing)));
        let listing = self.listings.try_recv().unwrap();
        let version = listing.version.unwrap();
        self.order(ExpressOrder::Ready { version });
        listing.routes
    }

    fn snapshot(&mut self) -> Box<Snapshot> {
        let request = Request::Snapshot(Box::default());
        self.bench.requests.send(request).unwrap();
        self.bench.round();
        self.bench.snapshots.try_recv().unwrap()
    }

    fn state(&mut self, port: usize) -> State {
        self.snapshot().ports[port].express
    }

    fn is_open(&self, port: usize) -> bool {
        self.words.0.gates[port].load(Ordering::Relaxed) & OPEN != 0
    }

    /// Handles a frame as the program of port `from` does. Returns false when the kernel has no memory for it.
    fn arrive(&mut self, from: usize, to: usize, priority: u8, bytes: &[u8]) -> bool {
        let memory = &self.words.0;
        let entered = &memory.entered[from][usize::from(priority)];
        let finished = memory.finished[from][usize::from(priority)].load(Ordering::Relaxed);
        let is_alone = finished == entered.load(Ordering::Relaxed);
        let is_open = memory.gates[to].load(Ordering::Relaxed) & (1 << priority) != 0
            && memory.is_on.load(Ordering::Relaxed);
        let now = self.bench.now.as_nanos();
        let free_at = memory.free_at[to].load(Ordering::Relaxed);
        if is_alone && is_open && from != to && free_at <= now {
            // Frames that the core has given to the device would be overtaken.
            assert_eq!(self.bench.worker.io.tx_waiting(to), 0);
            // A received pause or Feedback closes its port at once.
            let unheld = self
                .bench
                .worker
                .switch
                .unheld_priorities(self.bench.now, id(to));
            assert_ne!(unheld & (1 << priority), 0, "port {to} holds {priority}");
            assert!(!self.unheard.iter().any(|unheard| unheard.0 == to));
            let line = (bytes.len() as u64 + 24) * 8 / 100;
            let begin = free_at.max(now - 10_000);
            memory.free_at[to].store(begin + line, Ordering::Relaxed);
            self.bench.worker.io.sent.borrow_mut().push(Sent {
                port: to,
                chunk: u32::MAX,
                bytes: bytes.to_vec(),
            });
            memory.came[from][usize::from(priority)].fetch_add(1, Ordering::Relaxed);
            memory.went[to][usize::from(priority)].fetch_add(1, Ordering::Relaxed);
            self.express += 1;
            return true;
        }
        let meta = meta(FrameClass::Data, priority);
        let arrived = self.bench.worker.io.arrive(from, Some(meta), bytes);
        if arrived.is_some() {
            entered.fetch_add(1, Ordering::Relaxed);
            self.slow += 1;
        }
        arrived.is_some()
    }

    fn lose(&mut self, from: usize, priority: u8) {
        self.words.0.entered[from][usize::from(priority)].fetch_add(1, Ordering::Relaxed);
    }

    fn search(&mut self) {
        let of_port = |flows: &[AtomicU64; 8]| {
            std::array::from_fn(|priority| flows[priority].load(Ordering::Relaxed))
        };
        let entered = self.words.0.entered.iter().map(of_port).collect();
        self.order(ExpressOrder::Missing(entered));
    }

    fn change_route(&mut self) {
        self.bench.command(Command::SetRoute {
            destination: host(1),
            members: PortSet::from_iter([id(1)]),
            buckets: 1,
        });
    }

    fn pause(&mut self, port: usize, priority: u8, quanta: Quanta) {
        self.see_pause(port, priority, quanta);
        self.hear();
    }

    /// Handles a pause as the port's program does, before the core receives it.
    fn see_pause(&mut self, port: usize, priority: u8, quanta: Quanta) {
        let gate = &self.words.0.gates[port];
        gate.fetch_add(SEEN, Ordering::Relaxed);
        gate.fetch_and(!OPEN, Ordering::Relaxed);
        self.unheard.push((port, priority, quanta));
    }

    /// Passes the pauses seen by programs to the core.
    fn hear(&mut self) {
        for (port, priority, quanta) in std::mem::take(&mut self.unheard) {
            self.bench.arrive_pfc(port, priority, quanta);
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Data {
        from: usize,
        to: usize,
        priority: u8,
        count: usize,
    },
    Pause {
        port: usize,
        priority: u8,
        quanta: u16,
        /// The core receives it at [`Op::Hear`].
        is_late: bool,
    },
    /// The core receives all pauses.
    Hear,
    Budget {
        port: usize,
        budget: usize,
    },
    Link {
        port: usize,
        up: bool,
    },
    /// A frame is lost between program and loop.
    Lose {
        from: usize,
        priority: u8,
    },
    /// The clerk removes lost frames from the count.
    Search,
    /// A route is set to its present value, which counts as a change; the clerk follows later.
    Route,
    Learn,
    Round {
        step_micros: u64,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let ports = || 0..PORT_COUNT;
    let priorities = || prop::sample::select(&PRIORITIES[..]);
    prop_oneof![
        6 => (ports(), ports(), priorities(), 1..6usize)
            .prop_map(|(from, to, priority, count)| Op::Data { from, to, priority, count }),
        1 => (ports(), priorities(), prop_oneof![Just(0u16), 1..50u16, Just(u16::MAX)], any::<bool>())
            .prop_map(|(port, priority, quanta, is_late)| Op::Pause { port, priority, quanta, is_late }),
        1 => Just(Op::Hear),
        1 => (ports(), prop_oneof![Just(0), 1..4usize, Just(usize::MAX)])
            .prop_map(|(port, budget)| Op::Budget { port, budget }),
        1 => (ports(), any::<bool>()).prop_map(|(port, up)| Op::Link { port, up }),
        1 => (ports(), priorities()).prop_map(|(from, priority)| Op::Lose { from, priority }),
        1 => Just(Op::Search),
        1 => Just(Op::Route),
        2 => Just(Op::Learn),
        8 => (1..200u64).prop_map(|step_micros| Op::Round { step_micros }),
    ]
}

/// Returns a frame that is unique for its number; its last byte is the priority.
fn frame(from: usize, to: usize, number: u32, priority: u8) -> Vec<u8> {
    let mut bytes = data(from, to, number, 100);
    bytes.truncate(99);
    bytes.push(priority);
    bytes
}

/// Frames by (from, to, priority).
type Flows = BTreeMap<(usize, usize, u8), Vec<Vec<u8>>>;

/// Runs the operations; returns the numbers of frames on the express path and off it. The lossless class has Levels, or PFC.
fn run(ops: &[Op], has_levels: bool) -> (u64, u64) {
    let mut both = Both::new(&Setup {
        buffer: Bytes::new(1 << 20),
        has_levels,
        ..Setup::default()
    });
    let mut given = Flows::new();
    let mut number = 0;
    for op in ops {
        match op {
            Op::Data {
                from,
                to,
                priority,
                count,
            } => {
                for _ in 0..*count {
                    number += 1;
                    let bytes = frame(*from, *to, number, *priority);
                    if both.arrive(*from, *to, *priority, &bytes) {
                        let flow = (*from, *to, *priority);
                        given.entry(flow).or_default().push(bytes);
                    }
                }
            }
            Op::Pause {
                port,
                priority,
                quanta,
                is_late,
            } => {
                both.see_pause(*port, *priority, Quanta(*quanta));
                if !is_late {
                    both.hear();
                }
            }
            Op::Hear => both.hear(),
            Op::Budget { port, budget } => both.bench.worker.io.set_budget(*port, *budget),
            Op::Link { port, up } => {
                let (port, up) = (id(*port), *up);
                both.bench.command(Command::SetLink { port, up });
            }
            Op::Lose { from, priority } => both.lose(*from, *priority),
            Op::Search => both.search(),
            Op::Route => both.change_route(),
            Op::Learn => {
                both.learn_routes();
            }
            Op::Round { step_micros } => {
                both.bench.round_after(Duration::from_micros(*step_micros));
            }
        }
    }
    both.hear();
    both.bench.settle();
    for port in 0..PORT_COUNT {
        both.bench.worker.io.set_budget(port, usize::MAX);
        let port = id(port);
        both.bench.command(Command::SetLink { port, up: true });
    }
    both.bench.round_after(Duration::from_secs(1));
    both.bench.settle();
    both.search();
    both.bench.settle();
    both.bench.assert_conserved();
    check(&both, &given);
    (both.express, both.slow)
}

/// Checks that each frame has arrived once and in order, or is counted as dropped.
fn check(both: &Both, given: &Flows) {
    let sent = both.bench.worker.io.sent.borrow();
    let mut arrived = 0;
    for ((from, to, priority), frames) in given {
        let mut rest = frames.iter();
        let is_mine = |it: &&Sent| {
            it.port == *to
                && it.bytes.len() == 100
                && it.bytes[6..12] == host(*from).0
                && it.bytes.last() == Some(priority)
        };
        for sent in sent.iter().filter(is_mine) {
            arrived += 1;
            assert!(
                rest.any(|given| *given == sent.bytes),
                "out of order, twice or changed: {from} to {to}, priority {priority}"
            );
        }
    }
    let counters = (0..PORT_COUNT).map(|port| both.bench.counters(port));
    let drops: u64 = counters.map(|counters| counters.drops_total()).sum();
    let given: usize = given.values().map(Vec::len).sum();
    assert_eq!(arrived + drops, given as u64);
    let memory = &both.words.0;
    let entered = memory.entered.iter().flatten();
    for (entered, finished) in entered.zip(memory.finished.iter().flatten()) {
        let words = [entered, finished].map(|word| word.load(Ordering::Relaxed));
        assert_eq!(words[0], words[1], "all that came in is finished");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn both_paths_give_the_same_frames_in_the_same_order(
        ops in prop::collection::vec(op(), 1..80),
        has_levels: bool,
    ) {
        run(&ops, has_levels);
    }
}

#[test]
fn an_idle_switch_opens_and_frames_pass_without_it() {
    let round = Op::Round { step_micros: 10 };
    for (priority, has_levels) in [(LOSSY, false), (LOSSLESS, false), (LOSSLESS, true)] {
        let data = Op::Data {
            from: 0,
            to: 1,
            priority,
            count: 1,
        };
        let turn = || [data.clone(), round.clone()];
        let ops: Vec<Op> = std::iter::repeat_with(turn).take(50).flatten().collect();
        assert_eq!(run(&ops, has_levels), (50, 0), "priority {priority}");
    }
}

/// A lossy class does not obey pauses, but until the core has handled a pause, no frame bypasses it.
#[test]
fn an_egress_is_shut_until_the_core_has_heard_every_pause() {
    let mut both = Both::new(&Setup::default());
    let is_open = |both: &Both| both.words.gate(1) & (1 << LOSSY) != 0;
    assert!(is_open(&both));
    both.pause(1, LOSSY, Quanta::MAX);
    assert!(!is_open(&both));
    both.bench.round();
    assert!(is_open(&both), "the core has heard it");
    // A pause that the core has not handled keeps the egress closed.
    both.words.0.gates[1].fetch_add(SEEN, Ordering::Relaxed);
    both.words.close(1);
    both.bench.settle();
    assert!(!is_open(&both));
}
