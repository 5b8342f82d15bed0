//! Priorities that share by ingress port, compared with a slow model in plain lists: frames of any length, pauses at any
//! time, and a priority beside them that shares by weight.

use super::*;
use crate::config::{Algorithm, ClassConfig, ClassMode, PortConfig, PortRole, SwitchConfig};
use crate::units::{BitRate, Bytes, MacAddress};

const QUANTUM: u64 = 1500;
/// The priorities that share by port, and one beside them with its weight.
const SHARING: [usize; 4] = [0, 2, 5, 7];
const BESIDE: (usize, u64) = (3, 2);
const PORTS: u8 = 4;
/// Place of the joint member in the turns of the model.
const JOINT: usize = PRIORITY_COUNT;

/// Turns of a port with four ingress ports, at which these priorities share by them.
pub(super) fn turns(sharing: &[usize]) -> PortTurns {
    let lossy = ClassMode::Lossy {
        buffer: Bytes::new(1 << 20),
    };
    let mut classes = [ClassConfig::new(lossy); PRIORITY_COUNT];
    for priority in sharing {
        classes[*priority].scheduler.algorithm = Algorithm::Ports;
    }
    let ports = (0..PORTS).map(|port| {
        let address = MacAddress([2, 0, 0, 0, 0, port]);
        PortConfig::new(PortRole::Edge, BitRate::from_mbit(1000), address)
    });
    PortTurns::new(&SwitchConfig {
        frame_length_max: Bytes::new(QUANTUM),
        ..SwitchConfig::new(ports.collect(), classes, Vec::new())
    })
}

/// Deficit round robin over members 0 to `COUNT` − 1.
#[derive(Clone)]
struct Ring<const COUNT: usize> {
    current: usize,
    deficits: [u64; COUNT],
}

impl<const COUNT: usize> Ring<COUNT> {
    const NEW: Self = Self {
        current: 0,
        deficits: [0; COUNT],
    };

    /// Returns the member of `waiting`, with the lengths of their next frames, that is next, and those that the turn
    /// passes. Up to one quantum is kept of a member's earlier turn, unless that was just before.
    fn next(
        &mut self,
        waiting: &[Option<u64>; COUNT],
        quantum: impl Fn(usize) -> u64,
    ) -> Option<(usize, Vec<usize>)> {
        let current = self.current;
        if let Some(length) = waiting[current].filter(|length| *length <= self.deficits[current]) {
            self.deficits[current] -= length;
            return Some((current, Vec::new()));
        }
        let round: Vec<usize> = (1..=COUNT).map(|step| (current + step) % COUNT).collect();
        let at = round.iter().position(|member| waiting[*member].is_some())?;
        let member = round[at];
        let mut passed = round[..at].to_vec();
        passed.extend(waiting[current].is_none().then_some(current));
        self.current = member;
        let quantum = quantum(member);
        let carried = match member == current {
            true => 0,
            false => self.deficits[member].min(quantum),
        };
        self.deficits[member] = carried + quantum - waiting[member]?;
        Some((member, passed))
    }
}

/// The lane of an ingress port, with its frames' numbers and lengths.
#[derive(Clone, Default)]
struct Waits {
    ingress: usize,
    deficit: u64,
    frames: VecDeque<(u32, u64)>,
}

#[derive(Clone)]
struct Plain {
    /// By priority: lanes in the order of their turns.
    lanes: [VecDeque<Waits>; PRIORITY_COUNT],
    turn: Ring<{ PRIORITY_COUNT + 1 }>,
    ports: Ring<{ PORTS as usize }>,
    priorities: [Ring<PRIORITY_COUNT>; PORTS as usize],
    owed: Vec<usize>,
}

impl Plain {
    fn push(&mut self, priority: usize, ingress: usize, frame: (u32, u64)) {
        let lanes = &mut self.lanes[priority];
        match lanes.iter_mut().find(|lane| lane.ingress == ingress) {
            Some(lane) => lane.frames.push_back(frame),
            None => lanes.push_back(Waits {
                ingress,
                deficit: 0,
                frames: [frame].into(),
            }),
        }
    }

    fn length_from(&self, priority: usize, ingress: usize) -> Option<u64> {
        let mut lanes = self.lanes[priority].iter();
        let lane = lanes.find(|lane| lane.ingress == ingress)?;
        lane.frames.front().map(|frame| frame.1)
    }

    fn next(&mut self, paused: &[bool; PRIORITY_COUNT]) -> Option<u32> {
        if let Some(at) = self.owed.iter().position(|priority| !paused[*priority]) {
            let priority = self.owed.remove(at);
            return Some(self.take(priority, 0));
        }
        let mut ports = self.ports.clone();
        let mut priorities = self.priorities.clone();
        // Two rings, of which the inner one decides which frame of a port is next.
        let mut first = [None; PORTS as usize];
        for (ingress, ring) in priorities.iter_mut().enumerate() {
            let lengths: [Option<u64>; PRIORITY_COUNT] = core::array::from_fn(|priority| {
                let may_leave = SHARING.contains(&priority) && !paused[priority];
                may_leave.then(|| self.length_from(priority, ingress))?
            });
            first[ingress] = ring.next(&lengths, |_| QUANTUM).map(|(chosen, _)| chosen);
        }
        let lengths = core::array::from_fn(|ingress| self.length_from(first[ingress]?, ingress));
        let pick = ports.next(&lengths, |_| QUANTUM);
        let pick = pick.and_then(|(ingress, _)| Some((ingress, first[ingress]?)));
        let (beside, weight) = BESIDE;
        let members = core::array::from_fn(|member| match member {
            JOINT => pick.and_then(|(ingress, priority)| self.length_from(priority, ingress)),
            member if member == beside && !paused[member] => {
                let lane = self.lanes[member].front()?;
                lane.frames.front().map(|frame| frame.1)
            }
            _ => None,
        });
        let quantum = |member| match member == beside {
            true => weight * QUANTUM,
            false => QUANTUM,
        };
        let (member, passed) = self.turn.next(&members, quantum)?;
        let joint = member == JOINT || passed.contains(&JOINT);
        self.owe(
            (0..PRIORITY_COUNT).filter(|priority| match SHARING.contains(priority) {
                true => joint && paused[*priority],
                false => passed.contains(priority),
            }),
        );
        if member == beside {
            return Some(self.take(beside, 0));
        }
        let (ingress, priority) = pick?;
        self.ports = ports;
        self.priorities[ingress] = priorities[ingress].clone();
        let mut lanes = self.lanes[priority].iter();
        let at = lanes.position(|lane| lane.ingress == ingress)?;
        Some(self.take(priority, at))
    }

    fn owe(&mut self, priorities: impl Iterator<Item = usize>) {
        for priority in priorities {
            if !self.lanes[priority].is_empty() && !self.owed.contains(&priority) {
                self.owed.push(priority);
            }
        }
    }

    /// Takes the first frame of a lane by its place in the order.
    fn take(&mut self, priority: usize, at: usize) -> u32 {
        let lanes = &mut self.lanes[priority];
        let (frame, length) = lanes[at].frames.pop_front().unwrap();
        let Some(next) = lanes[at].frames.front().map(|frame| frame.1) else {
            lanes.remove(at);
            if lanes.is_empty() {
                self.owed.retain(|owed| *owed != priority);
            }
            return frame;
        };
        let lane = &mut lanes[at];
        if lane.deficit < length {
            lane.deficit += QUANTUM;
        }
        lane.deficit -= length;
        if at == 0 && lane.deficit < next {
            lanes.rotate_left(1);
        }
        frame
    }
}

struct Pair {
    queues: VirtualQueues,
    turn: PriorityTurn,
    ports: PortTurns,
    plain: Plain,
    random: SplitMix64,
    count: u32,
    /// By frame: its priority, ingress port and length.
    frames: Vec<(usize, usize, u64)>,
}

impl Pair {
    fn new(seed: u64) -> Self {
        Self {
            queues: VirtualQueues::new(
                usize::from(PORTS),
                &[Level::ZERO; PRIORITY_COUNT],
                1024,
                QUANTUM,
            ),
            turn: PriorityTurn::default(),
            ports: turns(&SHARING),
            plain: Plain {
                lanes: Default::default(),
                turn: Ring::NEW,
                ports: Ring::NEW,
                priorities: [const { Ring::NEW }; PORTS as usize],
                owed: Vec::new(),
            },
            random: SplitMix64::new(seed),
            count: 0,
            frames: Vec::new(),
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.random.next_u64() >> 33) % end
    }

    fn push(&mut self, priority: usize, ingress: usize, length: u64) {
        let place = Place {
            egress: EGRESS,
            priority: Priority::ALL[priority],
            ingress: PortId::new(ingress as u8),
            destination: 7,
        };
        let handle = FrameHandle(self.count);
        assert!(self.queues.push(place, Level::ZERO, handle, length as u32));
        self.plain.push(priority, ingress, (self.count, length));
        self.frames.push((priority, ingress, length));
        self.count += 1;
    }

    fn waiting(&self, priority: usize, ingress: usize) -> usize {
        let mut lanes = self.plain.lanes[priority].iter();
        let lane = lanes.find(|lane| lane.ingress == ingress);
        lane.map_or(0, |lane| lane.frames.len())
    }

    /// Takes the next frame of both; `None` if none may leave.
    fn step(&mut self, paused: &[bool; PRIORITY_COUNT]) -> Option<(usize, usize, u64)> {
        let mut offer = Offer {
            now: Instant::ZERO,
            waiting: PrioritySet::default(),
            sendable: PrioritySet::default(),
            gates: [Gate::ALL; PRIORITY_COUNT],
        };
        for priority in Priority::ALL {
            if !self.plain.lanes[priority.index()].is_empty() {
                offer.waiting.insert(priority);
                if !paused[priority.index()] {
                    offer.sendable.insert(priority);
                }
            }
        }
        let order = Order {
            turn: &mut self.turn,
            precedence: None,
            ports: &mut self.ports,
        };
        let quantum_of = |priority: Priority| match priority.index() == BESIDE.0 {
            true => BESIDE.1 * QUANTUM,
            false => QUANTUM,
        };
        let sent = take_next(&mut self.queues, order, EGRESS, &offer, quantum_of);
        let expected = self.plain.next(paused);
        assert_eq!(sent.map(|(_, departure)| departure.handle.0), expected);
        let (priority, departure) = sent?;
        let frame = self.frames[expected? as usize];
        let seen = (priority.index(), departure.ingress.index());
        assert_eq!(
            (seen, u64::from(departure.length_bytes)),
            ((frame.0, frame.1), frame.2)
        );
        Some(frame)
    }
}

/// With frames of any length, queues that run empty and pauses, the choice is the model's; frames of one (ingress,
/// priority) leave in order, which the model's lists imply.
#[test]
fn random_frames_leave_in_the_order_of_the_model() {
    let (mut empty, mut full) = (0u64, 0u64);
    for seed in 0..40 {
        let mut pair = Pair::new(seed);
        let depth = 1 + pair.below(4) as usize;
        // From three frames for each that leaves to one for three.
        let rarity = 5 + 10 * (seed % 5);
        for _ in 0..3_000 {
            let priorities = SHARING.into_iter().chain([BESIDE.0]);
            for (priority, ingress) in
                priorities.flat_map(|p| (1..PORTS as usize).map(move |i| (p, i)))
            {
                if pair.waiting(priority, ingress) < depth && pair.below(rarity) == 0 {
                    let length = 60 + pair.below(QUANTUM - 59);
                    pair.push(priority, ingress, length);
                }
            }
            let mut paused = [false; PRIORITY_COUNT];
            for is_paused in &mut paused {
                *is_paused = pair.below(6) == 0;
            }
            if pair.step(&paused).is_some() {
                let waiting: usize = pair.plain.lanes.iter().map(VecDeque::len).sum();
                empty += u64::from(waiting == 0);
                full += u64::from(waiting > 8);
            }
        }
    }
    assert!(empty > 1_000 && full > 1_000, "{empty} and {full}");
}

/// Bytes by ingress port over many frames while `offers` always wait: priority, ingress port and length.
fn shares(offers: &[(usize, usize, u64)]) -> ([u64; PORTS as usize], u64) {
    let mut pair = Pair::new(1);
    let (mut by_port, mut beside) = ([0; PORTS as usize], 0);
    for _ in 0..20_000 {
        for (priority, ingress, length) in offers {
            while pair.waiting(*priority, *ingress) < 2 {
                pair.push(*priority, *ingress, *length);
            }
        }
        let (priority, ingress, length) = pair.step(&[false; PRIORITY_COUNT]).unwrap();
        match priority == BESIDE.0 {
            true => beside += length,
            false => by_port[ingress] += length,
        }
    }
    (by_port, beside)
}

#[test]
fn a_port_gets_no_more_by_using_several_priorities() {
    // Port 1 uses one priority, the others several: apart from it, and among them its own.
    let offers = [
        (0, 1, 300),
        (2, 2, 1500),
        (5, 2, 900),
        (7, 2, 64),
        (0, 3, 1500),
        (2, 3, 1500),
    ];
    let (by_port, _) = shares(&offers);
    let each = by_port[1];
    for port in [2, 3] {
        assert!(by_port[port].abs_diff(each) * 100 < each, "{by_port:?}");
    }
}

#[test]
fn a_class_with_a_weight_keeps_its_share_beside_any_number_of_priorities() {
    for joint in [
        &[(0, 1, 700)][..],
        &[(0, 1, 700), (2, 1, 700), (5, 2, 1500), (7, 2, 64)],
    ] {
        let mut offers = joint.to_vec();
        offers.push((BESIDE.0, 3, 1000));
        let (by_port, beside) = shares(&offers);
        let joint: u64 = by_port.iter().sum();
        let expected = BESIDE.1 * joint;
        assert!(
            beside.abs_diff(expected) * 100 < expected,
            "{beside} and {by_port:?}"
        );
    }
}

/// A frame that may leave is sent within the bound of `virtual_queues/owed.rs`, regardless of what is paused in between.
#[test]
fn a_priority_that_may_leave_repeatedly_leaves_within_the_bound() {
    const FRAME: u64 = QUANTUM;
    let lanes = u64::from(PORTS) - 1;
    let members = SHARING.len() as u64;
    // G: turns within the joint member; P: the one beside it.
    let inside = 2 * (members - 1) * (1 + 2 * (lanes - 1));
    let by_turns = inside + (inside + 1) * 2 * BESIDE.1;
    let bound = (members + 1) * (by_turns + 2);
    let mut longest = 0;
    for seed in 0..20 {
        let mut pair = Pair::new(seed);
        let victim = SHARING[seed as usize % SHARING.len()];
        let mut passed = 0;
        for _ in 0..4_000 {
            let priorities = SHARING.into_iter().chain([BESIDE.0]);
            for (priority, ingress) in
                priorities.flat_map(|p| (1..PORTS as usize).map(move |i| (p, i)))
            {
                if pair.waiting(priority, ingress) < 2 {
                    pair.push(priority, ingress, FRAME);
                }
            }
            // The victim is paused whenever the model would send one of its frames, as often as drawn.
            let mut paused = [false; PRIORITY_COUNT];
            for is_paused in &mut paused {
                *is_paused = pair.below(3) == 0;
            }
            paused[victim] = false;
            let next = pair.plain.clone().next(&paused);
            let is_next = next.is_some_and(|frame| pair.frames[frame as usize].0 == victim);
            paused[victim] = is_next && pair.below(8) > 0;
            let may_leave = !paused[victim];
            let Some((priority, ..)) = pair.step(&paused) else {
                continue;
            };
            passed = match (priority == victim, may_leave) {
                (true, _) => 0,
                (false, true) => passed + 1,
                (false, false) => passed,
            };
            assert!(passed < bound, "{passed} of {bound}");
            longest = longest.max(passed);
        }
    }
    assert!(
        longest >= members,
        "{longest} of {bound}: the adversary is useless"
    );
}
