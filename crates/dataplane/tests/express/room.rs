//! The ring of a device whose frames must not be lost, as a model: programs on several CPUs that book places and check for
//! room, their bulk queues, the consumer at the other end, and the core, which sends through the same ring.
//!
//! The ring is the kernel's `ptr_ring`: a consumer clears consumed entries in batches, the last entry first.

use std::collections::HashSet;

const STATES_MAX: usize = 6_000_000;
const CPUS: usize = 3;
const RING: usize = 5;
const BATCH: u8 = 2;

/// Rules that the bound needs; a variant breaks one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// A program checks for room first and books its place afterwards.
    LooksFirst,
    /// A program checks for room without booking a place.
    BooksNothing,
    /// A place is released before the device has the frame.
    GivesBackEarly,
    /// A program reads the gate before it books its place.
    ReadsGateFirst,
    /// The core sends as soon as it has closed the gate.
    CoreDoesNotWait,
    /// The checked entry may belong to the same batch as the frame's own entry.
    ShortBatch,
    /// Breaks no rule: the search reports when a frame has been refused and a later one passed.
    SaysWhenBoth,
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    frames: [u8; CPUS],
    bulk: u8,
    /// Number of frames that the core sends, one each time it has closed the gate.
    core: u8,
    broken: Option<Broken>,
}

/// Next step of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Program {
    Begin,
    Book,
    ReadGate {
        on_way: u8,
    },
    ReadProducer {
        on_way: u8,
    },
    ReadEntry {
        on_way: u8,
        producer: u8,
    },
    /// It checked before booking.
    BookLate,
    Enqueue,
    Produce {
        left: u8,
        count: u8,
    },
    GiveBack {
        count: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Cpu {
    program: Program,
    left: u8,
    bulk: u8,
    /// The poll ends once its bulk queue was passed to the device.
    is_ending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Core {
    Rest,
    /// It has closed the gate.
    Shut,
    /// No frames are in flight.
    Send,
    Open,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    on_way: u8,
    is_open: bool,
    entries: [bool; RING],
    producer: u8,
    head: u8,
    tail: u8,
    /// The entry that the consumer clears next, downwards to `tail`, and its head position at that time.
    clearing: Option<(u8, u8)>,
    cpus: [Cpu; CPUS],
    core: Core,
    core_left: u8,
    refused: bool,
    both: bool,
    lost: bool,
}

impl World {
    fn new(setup: &Setup) -> Self {
        let cpu = |left| Cpu {
            program: Program::Begin,
            left,
            bulk: 0,
            is_ending: false,
        };
        Self {
            on_way: 0,
            is_open: true,
            entries: [false; RING],
            producer: 0,
            head: 0,
            tail: 0,
            clearing: None,
            cpus: setup.frames.map(cpu),
            core: Core::Rest,
            core_left: setup.core,
            refused: false,
            both: false,
            lost: false,
        }
    }

    /// Adds an entry; returns false when the ring is full.
    fn produce(&mut self) -> bool {
        let entry = &mut self.entries[usize::from(self.producer)];
        if *entry {
            return false;
        }
        *entry = true;
        self.producer = (self.producer + 1) % RING as u8;
        true
    }

    fn steps(&self, setup: &Setup) -> Vec<Self> {
        let mut next = Vec::new();
        for at in 0..CPUS {
            self.cpu(setup, at, &mut next);
        }
        self.consume(&mut next);
        self.core(setup, &mut next);
        next
    }

    fn but(&self, next: &mut Vec<Self>, change: impl FnOnce(&mut Self)) {
        let mut world = self.clone();
        change(&mut world);
        next.push(world);
    }

    fn cpu(&self, setup: &Setup, at: usize, next: &mut Vec<Self>) {
        let cpu = self.cpus[at];
        let is = |broken| setup.broken == Some(broken);
        let goes_on = |program| move |world: &mut Self| world.cpus[at].program = program;
        match cpu.program {
            Program::Begin => {
                if cpu.left > 0 && (self.is_open || !is(Broken::ReadsGateFirst)) {
                    let looks_first = is(Broken::LooksFirst) || is(Broken::BooksNothing);
                    self.but(next, |world| {
                        world.cpus[at].left -= 1;
                        world.cpus[at].program = match looks_first {
                            true => Program::ReadProducer { on_way: 1 },
                            false => Program::Book,
                        };
                    });
                }
                if cpu.bulk > 0 {
                    self.but(next, |world| {
                        world.cpus[at].is_ending = true;
                        world.flush(setup, at);
                    });
                }
            }
            Program::Book => self.but(next, |world| {
                world.on_way += 1;
                let on_way = world.on_way;
                world.cpus[at].program = match is(Broken::ReadsGateFirst) {
                    true => Program::ReadProducer { on_way },
                    false => Program::ReadGate { on_way },
                };
            }),
            Program::ReadGate { on_way } if self.is_open => {
                self.but(next, goes_on(Program::ReadProducer { on_way }));
            }
            Program::ReadGate { .. } => self.but(next, |world| world.refuse(setup, at)),
            Program::ReadProducer { on_way } => {
                let producer = self.producer;
                self.but(next, goes_on(Program::ReadEntry { on_way, producer }));
            }
            Program::ReadEntry { on_way, producer } => self.but(next, |world| {
                let batch = BATCH - u8::from(is(Broken::ShortBatch));
                let ahead = on_way - 1 + batch;
                let entry = usize::from(producer + ahead) % RING;
                if usize::from(ahead) >= RING || world.entries[entry] {
                    world.refuse(setup, at);
                } else if is(Broken::LooksFirst) {
                    world.cpus[at].program = Program::BookLate;
                } else {
                    world.cpus[at].program = Program::Enqueue;
                }
            }),
            Program::BookLate => self.but(next, |world| {
                world.on_way += 1;
                world.cpus[at].program = Program::Enqueue;
            }),
            Program::Enqueue if cpu.bulk == setup.bulk => {
                self.but(next, |world| world.flush(setup, at));
            }
            Program::Enqueue => self.but(next, |world| {
                world.cpus[at].bulk += 1;
                world.cpus[at].program = Program::Begin;
                world.both |= world.refused;
            }),
            Program::Produce { left: 0, count } => {
                let books = !is(Broken::BooksNothing) && !is(Broken::GivesBackEarly);
                self.but(next, |world| match books {
                    true => world.cpus[at].program = Program::GiveBack { count },
                    false => world.flushed(at),
                });
            }
            Program::Produce { left, count } => self.but(next, |world| {
                world.lost |= !world.produce();
                let left = left - 1;
                world.cpus[at].program = Program::Produce { left, count };
            }),
            Program::GiveBack { count } => self.but(next, |world| {
                world.on_way -= count;
                world.flushed(at);
            }),
        }
    }

    fn refuse(&mut self, setup: &Setup, at: usize) {
        let looks_first = [Broken::LooksFirst, Broken::BooksNothing].map(Some);
        if !looks_first.contains(&setup.broken) {
            self.on_way -= 1;
        }
        self.refused = true;
        self.cpus[at].program = Program::Begin;
    }

    fn flush(&mut self, setup: &Setup, at: usize) {
        let count = self.cpus[at].bulk;
        if setup.broken == Some(Broken::GivesBackEarly) {
            self.on_way -= count;
        }
        self.cpus[at].program = Program::Produce { left: count, count };
    }

    fn flushed(&mut self, at: usize) {
        let cpu = &mut self.cpus[at];
        cpu.bulk = 0;
        cpu.program = match std::mem::take(&mut cpu.is_ending) {
            true => Program::Begin,
            false => Program::Enqueue,
        };
    }

    /// `__ptr_ring_discard_one`.
    fn consume(&self, next: &mut Vec<Self>) {
        if let Some((entry, head)) = self.clearing {
            self.but(next, |world| {
                world.entries[usize::from(entry)] = false;
                if entry > world.tail {
                    world.clearing = Some((entry - 1, head));
                    return;
                }
                world.clearing = None;
                world.tail = head % RING as u8;
                world.head = world.tail;
            });
        } else if self.entries[usize::from(self.head)] {
            self.but(next, |world| {
                let head = world.head + 1;
                if head - world.tail >= BATCH || usize::from(head) >= RING {
                    world.clearing = Some((world.head, head));
                } else {
                    world.head = head;
                }
            });
        }
    }

    fn core(&self, setup: &Setup, next: &mut Vec<Self>) {
        match self.core {
            Core::Rest if self.core_left > 0 => self.but(next, |world| {
                world.is_open = false;
                world.core_left -= 1;
                world.core = Core::Shut;
            }),
            Core::Rest => {}
            Core::Shut => {
                if self.on_way == 0 || setup.broken == Some(Broken::CoreDoesNotWait) {
                    self.but(next, |world| world.core = Core::Send);
                }
            }
            // Out of scope: a frame that the core itself cannot send. The core is the only sender now.
            Core::Send => self.but(next, |world| {
                world.produce();
                world.core = Core::Open;
            }),
            Core::Open => self.but(next, |world| {
                world.is_open = true;
                world.core = Core::Rest;
            }),
        }
    }
}

fn search(setup: &Setup) -> (Option<String>, usize) {
    let first = World::new(setup);
    let mut seen = HashSet::from([first.clone()]);
    let mut open = vec![first];
    while let Some(world) = open.pop() {
        for world in world.steps(setup) {
            if world.lost {
                return (Some(format!("a frame is lost: {world:?}")), seen.len());
            }
            if world.both && setup.broken == Some(Broken::SaysWhenBoth) {
                return (Some("refused, then passed".into()), seen.len());
            }
            if seen.insert(world.clone()) {
                assert!(seen.len() < STATES_MAX, "too many states");
                open.push(world);
            }
        }
    }
    (None, seen.len())
}

/// More frames than ring entries, so that the ring is filled more than once while a program stalls between two reads.
const FULL: Setup = Setup {
    frames: [6, 1, 0],
    bulk: 2,
    core: 0,
    broken: None,
};

/// Bulk queues of three CPUs.
const WIDE: Setup = Setup {
    frames: [2, 2, 1],
    ..FULL
};

const WITH_CORE: Setup = Setup {
    frames: [2, 2, 0],
    bulk: 2,
    core: 2,
    broken: None,
};

fn assert_holds(setup: &Setup) {
    let (wrong, states) = search(setup);
    eprintln!("{states} states");
    assert_eq!(wrong, None);
    assert!(
        states > 10_000,
        "the model does next to nothing: {states} states"
    );
}

fn assert_found(setup: Setup, broken: Broken) {
    let setup = Setup {
        broken: Some(broken),
        ..setup
    };
    let (wrong, states) = search(&setup);
    eprintln!("{broken:?}: {wrong:?} after {states} states");
    assert!(wrong.is_some(), "{broken:?} has to be found");
}

#[test]
fn a_frame_that_found_room_finds_it_still_when_it_gets_there() {
    assert_holds(&FULL);
    assert_holds(&WIDE);
    assert_holds(&WITH_CORE);
}

/// Without this test, a ring without any room would lose nothing as well.
#[test]
fn frames_pass_after_others_were_refused() {
    assert_found(FULL, Broken::SaysWhenBoth);
    assert_found(WITH_CORE, Broken::SaysWhenBoth);
}

#[test]
fn a_look_without_a_place_loses_frames() {
    assert_found(FULL, Broken::BooksNothing);
    assert_found(FULL, Broken::LooksFirst);
}

#[test]
fn a_place_that_is_given_back_before_the_frame_is_there_loses_frames() {
    assert_found(FULL, Broken::GivesBackEarly);
}

#[test]
fn a_gate_that_is_read_before_the_place_is_booked_loses_frames_to_the_core() {
    assert_found(WITH_CORE, Broken::ReadsGateFirst);
}

#[test]
fn a_core_that_does_not_wait_for_what_is_on_its_way_takes_its_room() {
    assert_found(WITH_CORE, Broken::CoreDoesNotWait);
}

#[test]
fn entries_that_are_not_cleared_yet_are_no_room() {
    assert_found(FULL, Broken::ShortBatch);
}
