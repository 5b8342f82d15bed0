//! Compares the choice with a slow model of the rule, under an adversary that sees the model's state and blocks frames
//! so as to keep others waiting. Every waiting pair has its turn within the bound of `virtual_queues/owed.rs`.

use std::collections::VecDeque;

use super::*;
use crate::frame::FrameHandle;
use crate::level::Level;
use crate::random::SplitMix64;
use crate::switch::virtual_queues::Place;

const EGRESS: PortId = PortId::new(0);
/// Length of every frame: a turn of an ingress port is one frame.
const LENGTH: u32 = 1500;
/// Priorities in use: number, highest Level and weight.
const CLASSES: [(usize, u8, u64); 3] = [(1, 0, 1), (3, 2, 2), (6, 3, 1)];
/// Ingress ports, 1 and up.
const LANES: u64 = 2;
/// The ingress port named by a release.
const NAMED: u8 = 1;
/// Stands for a Level in the pair of a release.
const NAMED_LEVEL: u8 = 99;

/// n: one pair for each Level of each priority, and one for a release.
const PAIRS: u64 = 1 + 3 + 4 + 1;
const LEVEL_TURNS: u64 = 3 * LANES;
/// P: the other priorities, at most two quanta each.
const PRIORITY_TURNS: u64 = 2 * (2 + 1);
const BY_TURNS: u64 = LEVEL_TURNS + (LEVEL_TURNS + 1) * PRIORITY_TURNS;
const BOUND: u64 = PAIRS * (BY_TURNS + 2);

/// Strict in some tests.
const STRICT: usize = 6;
/// Its percentage of frames while others could send.
const SHARE_PERCENT: i64 = 80;
/// Bound for priorities that wait beside it: before each of their frames, ⌈80 ÷ 20⌉ of its own and the one that is not
/// yet owed.
const BOUND_BESIDE_STRICT: u64 = BOUND * (1 + 4 + 1);

type Pair = (usize, u8);

type Lane = (u8, VecDeque<u32>);

/// Frames that the neighbour and the releases permit.
#[derive(Clone, Copy, Debug)]
struct Rules {
    paused: [bool; PRIORITY_COUNT],
    gates: [Gate; PRIORITY_COUNT],
}

/// Reference model in plain lists.
#[derive(Clone, Default)]
struct Model {
    /// By priority and Level: ingress ports in the order of their turns, with their frames.
    lanes: [[VecDeque<Lane>; 4]; PRIORITY_COUNT],
    /// By priority: the Level whose turn it is, and the rest of that turn.
    level_turns: [(u8, usize); PRIORITY_COUNT],
    /// The priority whose turn it is, and the rest of each priority's turn in frames.
    current: usize,
    left: [u64; PRIORITY_COUNT],
    /// Longest first.
    owed: Vec<Pair>,
    /// Set if [`STRICT`] is strict.
    has_strict: bool,
    /// Debt to the turns, in hundredths of a frame.
    owed_to_turns: i64,
}

impl Model {
    fn push(&mut self, priority: usize, level: u8, ingress: u8, frame: u32) {
        let lanes = &mut self.lanes[priority][usize::from(level)];
        match lanes.iter_mut().find(|lane| lane.0 == ingress) {
            Some((_, frames)) => frames.push_back(frame),
            None => lanes.push_back((ingress, [frame].into())),
        }
    }

    fn waiting(&self, priority: usize) -> Vec<u8> {
        let waits = |level: &u8| !self.lanes[priority][usize::from(*level)].is_empty();
        (0..4).filter(waits).collect()
    }

    fn eligible(&self, priority: usize, rules: &Rules) -> Vec<Pair> {
        if rules.paused[priority] {
            return Vec::new();
        }
        let named = self.lanes[priority][0].iter().any(|lane| lane.0 == NAMED);
        match rules.gates[priority] {
            Gate::FirstFrom(..) | Gate::OnlyFrom(..) if named => vec![(priority, NAMED_LEVEL)],
            Gate::OnlyFrom(..) | Gate::Shut => Vec::new(),
            Gate::FirstFrom(..) => self.pairs(priority, 0),
            Gate::FromLevel(from) => self.pairs(priority, from.get()),
        }
    }

    fn pairs(&self, priority: usize, from: u8) -> Vec<Pair> {
        let levels = self.waiting(priority).into_iter();
        let may_leave = levels.filter(|level| *level >= from);
        may_leave.map(|level| (priority, level)).collect()
    }

    fn owe(&mut self, pair: Pair) {
        if !self.owed.contains(&pair) {
            self.owed.push(pair);
        }
    }

    fn next(&mut self, rules: &Rules) -> Option<(u32, Pair)> {
        let eligible: Vec<Vec<Pair>> = (0..PRIORITY_COUNT)
            .map(|priority| self.eligible(priority, rules))
            .collect();
        let may_leave = |pair: &&Pair| eligible[pair.0].contains(pair);
        if let Some(&pair) = self.owed.iter().find(may_leave) {
            self.owed.retain(|other| *other != pair);
            self.note_turn(pair.0, &eligible);
            return Some((self.take(pair), pair));
        }
        let priority = match self.goes_first(&eligible) {
            true => STRICT,
            false => self.turn_of_priorities(&eligible, rules)?,
        };
        let pair = self.turn_of_levels(priority, &eligible[priority]);
        let held: Vec<u8> = if pair.1 == NAMED_LEVEL {
            let others = self.lanes[priority][0].len() > 1;
            others.then_some(0).into_iter().collect()
        } else {
            let waiting = self.waiting(priority).into_iter();
            waiting
                .filter(|level| !eligible[priority].contains(&(priority, *level)))
                .collect()
        };
        let frame = self.take(pair);
        held.into_iter()
            .for_each(|level| self.owe((priority, level)));
        Some((frame, pair))
    }

    fn goes_first(&mut self, eligible: &[Vec<Pair>]) -> bool {
        if !self.has_strict || eligible[STRICT].is_empty() {
            return false;
        }
        let mut others = (0..PRIORITY_COUNT).filter(|other| *other != STRICT);
        if !others.any(|other| !eligible[other].is_empty()) {
            return true;
        }
        let goes = self.owed_to_turns < SHARE_PERCENT;
        self.owed_to_turns += if goes { 100 - SHARE_PERCENT } else { 0 };
        goes
    }

    /// Accounts for a frame of a priority other than the strict one.
    fn note_turn(&mut self, priority: usize, eligible: &[Vec<Pair>]) {
        if self.has_strict && priority != STRICT && !eligible[STRICT].is_empty() {
            self.owed_to_turns = (self.owed_to_turns - SHARE_PERCENT).max(-8 * 100);
        }
    }

    fn turn_of_priorities(&mut self, eligible: &[Vec<Pair>], rules: &Rules) -> Option<usize> {
        let first = self.current;
        let ring = (0..=PRIORITY_COUNT).map(|step| (first + step) % PRIORITY_COUNT);
        let mut passed = Vec::new();
        let mut chosen = None;
        for (step, priority) in ring.enumerate() {
            if self.has_strict && priority == STRICT {
                continue;
            }
            if eligible[priority].is_empty() {
                passed.push(priority);
            } else if step > 0 || self.left[priority] > 0 {
                chosen = Some((step, priority));
                break;
            }
        }
        let (step, priority) = chosen?;
        let quantum = CLASSES.iter().find(|class| class.0 == priority)?.2;
        self.left[priority] = match step {
            0 => self.left[priority] - 1,
            PRIORITY_COUNT => quantum - 1,
            _ => self.left[priority].min(quantum) + quantum - 1,
        };
        self.current = priority;
        self.note_turn(priority, eligible);
        passed.sort_unstable();
        passed.dedup();
        for held in passed {
            let waiting = self.waiting(held);
            let named = matches!(rules.gates[held], Gate::OnlyFrom(..) | Gate::FirstFrom(..));
            let named = named && self.lanes[held][0].iter().any(|lane| lane.0 == NAMED);
            waiting
                .into_iter()
                .for_each(|level| self.owe((held, level)));
            if named {
                self.owe((held, NAMED_LEVEL));
            }
        }
        Some(priority)
    }

    fn turn_of_levels(&mut self, priority: usize, eligible: &[Pair]) -> Pair {
        if eligible[0].1 == NAMED_LEVEL {
            return eligible[0];
        }
        let (current, left) = self.level_turns[priority];
        let has = |level: u8| eligible.contains(&(priority, level));
        let level = if left > 0 && has(current) {
            current
        } else {
            let next = (current + 1..4)
                .chain(0..=current)
                .find(|level| has(*level));
            next.unwrap()
        };
        let (current, left) = &mut self.level_turns[priority];
        if *current != level || *left == 0 {
            *current = level;
            *left = self.lanes[priority][usize::from(level)].len();
        }
        *left -= 1;
        (priority, level)
    }

    /// The next frame of `pair`.
    fn take(&mut self, (priority, level): Pair) -> u32 {
        let is_named = level == NAMED_LEVEL;
        let level = if is_named { 0 } else { level };
        let lanes = &mut self.lanes[priority][usize::from(level)];
        let named = |lane: &Lane| lane.0 == NAMED;
        let at = if is_named {
            lanes.iter().position(named).unwrap()
        } else {
            0
        };
        let frame = lanes[at].1.pop_front().unwrap();
        if lanes[at].1.is_empty() {
            lanes.remove(at);
        } else if at == 0 {
            lanes.rotate_left(1);
        }
        if lanes.is_empty() {
            self.owed.retain(|pair| *pair != (priority, level));
        }
        frame
    }
}

struct Both {
    queues: VirtualQueues,
    turn: PriorityTurn,
    precedence: Option<Box<Precedence>>,
    ports: PortTurns,
    model: Model,
    random: SplitMix64,
    next_frame: u32,
    /// By priority and Level: opportunities at which others went before it.
    passed: std::collections::BTreeMap<Pair, u64>,
    longest: u64,
    /// The rule of the priority without Levels.
    release: Gate,
    sent: [u64; PRIORITY_COUNT],
}

impl Both {
    fn new(seed: u64, has_strict: bool) -> Self {
        let mut depths = [Level::ZERO; PRIORITY_COUNT];
        for (priority, depth, _) in CLASSES {
            depths[priority] = Level::new(depth).unwrap();
        }
        Self {
            queues: VirtualQueues::new(4, &depths, 256, u64::from(LENGTH)),
            turn: PriorityTurn::default(),
            precedence: has_strict.then(strict::precedence),
            ports: ports::turns(&[]),
            model: Model {
                has_strict,
                ..Model::default()
            },
            random: SplitMix64::new(seed),
            next_frame: 0,
            passed: Default::default(),
            longest: 0,
            release: Gate::ALL,
            sent: [0; PRIORITY_COUNT],
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.random.next_u64() >> 33) % end
    }

    /// Keeps most lanes waiting; `full` leaves none empty.
    fn refill(&mut self, full: bool) {
        for (priority, depth, _) in CLASSES {
            for (level, ingress) in (0..=depth).flat_map(|l| (1..=LANES as u8).map(move |i| (l, i)))
            {
                let lanes = &self.model.lanes[priority][usize::from(level)];
                let lane = lanes.iter().find(|lane| lane.0 == ingress);
                let depth_of_queue = lane.map_or(0, |lane| lane.1.len());
                if depth_of_queue >= 3 || (!full && self.below(4) == 0) {
                    continue;
                }
                let place = Place {
                    egress: EGRESS,
                    priority: Priority::ALL[priority],
                    ingress: PortId::new(ingress),
                    destination: u64::from(level),
                };
                let (frame, at) = (self.next_frame, Level::new(level).unwrap());
                assert!(self.queues.push(place, at, FrameHandle(frame), LENGTH));
                self.model.push(priority, level, ingress, frame);
                self.next_frame += 1;
            }
        }
    }

    fn random_rules(&mut self) -> Rules {
        let mut rules = Rules {
            paused: [false; PRIORITY_COUNT],
            gates: [Gate::ALL; PRIORITY_COUNT],
        };
        for (priority, depth, _) in CLASSES {
            rules.paused[priority] = self.below(3) == 0;
            rules.gates[priority] = match self.below(u64::from(depth) + 2) as u8 {
                _ if depth == 0 => self.release,
                shut if shut > depth => Gate::Shut,
                from => Gate::FromLevel(Level::new(from).unwrap()),
            };
        }
        rules
    }

    /// Finds rules under which `victim` may leave and does not, if there are any.
    fn worst_rules(&mut self, victim: Pair) -> Rules {
        let mut rules = self.random_rules();
        for _ in 0..8 {
            let eligible = self.model.eligible(victim.0, &rules).contains(&victim);
            let next = self.model.clone().next(&rules);
            if eligible && next.is_some_and(|(_, pair)| pair != victim) {
                break;
            }
            rules = self.random_rules();
        }
        rules
    }

    fn step(&mut self, rules: &Rules) -> Option<Pair> {
        let mut offer = Offer {
            now: Instant::ZERO,
            waiting: PrioritySet::default(),
            sendable: PrioritySet::default(),
            gates: rules.gates,
        };
        let mut eligible = Vec::new();
        for priority in Priority::ALL {
            let index = priority.index();
            if !self.model.waiting(index).is_empty() {
                offer.waiting.insert(priority);
                if !rules.paused[index] {
                    offer.sendable.insert(priority);
                }
            }
            eligible.extend(self.model.eligible(index, rules));
        }
        let quantum_of = |priority: Priority| {
            let class = CLASSES.iter().find(|class| class.0 == priority.index());
            class.unwrap().2 * u64::from(LENGTH)
        };
        let order = Order {
            turn: &mut self.turn,
            precedence: self.precedence.as_deref_mut(),
            ports: &mut self.ports,
        };
        let sent = take_next(&mut self.queues, order, EGRESS, &offer, quantum_of);
        let expected = self.model.next(rules);
        assert_eq!(
            sent.map(|(priority, departure)| (priority.index(), departure.handle.0)),
            expected.map(|(frame, pair)| (pair.0, frame)),
            "{rules:?}, owed {:?}",
            self.model.owed
        );
        let (_, pair) = expected?;
        for other in eligible {
            *self.passed.entry(other).or_default() += 1;
        }
        self.passed.remove(&pair);
        let longest = self.passed.values().copied().max().unwrap_or(0);
        let bound = match self.precedence {
            None => BOUND,
            Some(_) => BOUND_BESIDE_STRICT,
        };
        assert!(longest < bound, "{:?} of {bound}", self.passed);
        self.longest = self.longest.max(longest);
        self.sent[pair.0] += 1;
        Some(pair)
    }
}

#[test]
fn a_priority_that_may_leave_repeatedly_leaves_within_the_bound() {
    everybody_leaves_within_the_bound(false);
}

#[test]
fn beside_a_strict_priority_others_leave_within_its_bound() {
    everybody_leaves_within_the_bound(true);
}

fn everybody_leaves_within_the_bound(has_strict: bool) {
    let releases = [
        Gate::ALL,
        Gate::OnlyFrom(PortId::new(NAMED), Level::ZERO),
        Gate::FirstFrom(PortId::new(NAMED), Level::ZERO),
    ];
    let mut longest = 0;
    for (victim, release) in (0..8).flat_map(|victim| releases.map(move |gate| (victim, gate))) {
        let mut both = Both::new(victim, has_strict);
        both.release = release;
        let victim = match victim {
            0 if release == Gate::ALL => (1, 0),
            0 => (1, NAMED_LEVEL),
            level @ 1..=3 => (3, level as u8 - 1),
            level => (6, level as u8 - 4),
        };
        for step in 0..4_000 {
            both.refill(step % 3 == 0);
            let rules = if step % 8 == 0 {
                both.random_rules()
            } else {
                both.worst_rules(victim)
            };
            both.step(&rules);
        }
        longest = longest.max(both.longest);
    }
    // The adversary is useless unless some pair waits for as long as all others take.
    assert!(longest >= PAIRS, "{longest} of {BOUND}");
}

/// Owed frames are settled soon: with nothing blocked, the shares return to the weights.
#[test]
fn without_pauses_the_shares_are_by_weight() {
    let mut both = Both::new(7, false);
    for _ in 0..500 {
        both.refill(true);
        let rules = both.random_rules();
        both.step(&rules);
    }
    let open = Rules {
        paused: [false; PRIORITY_COUNT],
        gates: [Gate::ALL; PRIORITY_COUNT],
    };
    for _ in 0..2 * PAIRS {
        both.refill(true);
        both.step(&open);
    }
    assert_eq!(both.model.owed, []);
    both.sent = [0; PRIORITY_COUNT];
    for _ in 0..400 {
        both.refill(true);
        both.step(&open);
    }
    for (priority, _, weight) in CLASSES {
        assert!(
            both.sent[priority].abs_diff(100 * weight) <= 4,
            "{:?}",
            both.sent
        );
    }
}

#[path = "choice_strict_tests.rs"]
mod strict;

#[path = "choice_ports_tests.rs"]
mod ports;
