//! A switch core as the daemon uses it, with programs before it that may let frames pass.

use std::collections::{BTreeMap, VecDeque};

use weir_core::config::RouteConfig;
use weir_core::random::SplitMix64;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Duration, Frame, FrameHandle, Instant,
    LevelRules, MacAddress, PfcThresholds, PortConfig, PortId, PortRole, Priority, Quanta, Switch,
    SwitchConfig, Transmission,
};

const LOSSY: u8 = 1;
const PFC: u8 = 3;
const LEVEL: u8 = 5;
/// One class of each mode.
pub const PRIORITIES: [u8; 3] = [LOSSY, PFC, LEVEL];
const RATE_MBIT: u64 = 1_000;
const BURST: Duration = Duration::from_micros(50);
/// More than are under way. The core's own pool is as large as its buffers need.
const HANDLES: u32 = 4_096;

/// A number below `count`.
pub fn below(random: &mut SplitMix64, count: u64) -> u64 {
    random.next_u64() % count
}

/// By priority: destination, number and length of frames that a neighbour has not sent yet.
pub type Frames = [VecDeque<(u8, u64, u64)>; 8];

/// What is at the other end of a port, a switch that obeys at once.
#[derive(Debug, Default)]
pub struct Neighbour {
    pub waiting: Frames,
    /// By priority.
    held: [bool; 8],
    /// What it said last, by priority.
    holds: [bool; 8],
}

/// What a neighbour says of a priority.
#[derive(Clone, Copy, Debug)]
pub enum Said {
    /// A pause; with Levels, a Feedback above 0.
    Hold(u16),
    /// Its end, and Feedback 0.
    Go,
}

impl Said {
    pub fn random(random: &mut SplitMix64) -> Self {
        match below(random, 2) {
            0 => Self::Go,
            _ => Self::Hold(1 + below(random, 2) as u16),
        }
    }

    /// As it stands in a PFC frame.
    fn quanta(self, priority: u8) -> Quanta {
        match (self, priority == LEVEL) {
            (Self::Go, true) => Quanta(1),
            (Self::Go, false) => Quanta(0),
            (Self::Hold(level), true) => Quanta(1 + level),
            (Self::Hold(_), false) => Quanta::MAX,
        }
    }
}

/// What programs hand to the core.
#[derive(Debug)]
enum Handed {
    Data { priority: u8, handle: FrameHandle },
    Control(Vec<u8>),
}

/// The words of one egress.
#[derive(Clone, Copy, Debug, Default)]
struct Gate {
    open: u8,
    seen: u32,
    free_at: Instant,
    /// By the core.
    handled: u32,
    is_open: bool,
}

#[derive(Clone, Copy, Debug)]
struct Inside {
    ingress: u8,
    priority: u8,
    destination: u8,
    number: u64,
    length: u64,
}

/// One switch and its neighbours.
#[derive(Debug)]
pub struct Side {
    switch: Switch,
    has_path: bool,
    pub neighbours: Vec<Neighbour>,
    handed: Vec<VecDeque<Handed>>,
    gates: Vec<Gate>,
    /// By (ingress, priority): frames that programs handed over, and that are no longer inside.
    entered: BTreeMap<(u8, u8), u64>,
    finished: BTreeMap<(u8, u8), u64>,
    outstanding: Vec<VecDeque<FrameHandle>>,
    inside: BTreeMap<FrameHandle, Inside>,
    free: Vec<FrameHandle>,
    /// By (ingress, priority, destination), in the order in which they came.
    pub arrived: BTreeMap<(u8, u8, u8), Vec<u64>>,
    /// By priority, frames that never came to the core.
    pub passed: [u64; 8],
}

fn address(port: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, port])
}

fn config(ports: u8) -> SwitchConfig {
    let kib = |count: u64| Bytes::new(count * 1_024);
    let thresholds = PfcThresholds::new(kib(8), kib(4), kib(64)).unwrap();
    let mut classes = [ClassConfig::new(ClassMode::Lossy { buffer: kib(1_024) }); 8];
    classes[usize::from(PFC)].mode = ClassMode::Pfc(thresholds);
    classes[usize::from(LEVEL)].mode = ClassMode::Level {
        budgets: Budgets::new(&[kib(16), kib(16), kib(256)]).unwrap(),
        rules: LevelRules::default(),
        edge: thresholds,
    };
    let port = |index: u8| PortConfig {
        neighbour: weir_core::Neighbour::Enhanced,
        ..PortConfig::new(
            PortRole::Fabric,
            BitRate::from_mbit(RATE_MBIT),
            address(0x80 + index),
        )
    };
    let route = |port: u8| RouteConfig::new(address(port), vec![PortId::new(port)]);
    let mut config = SwitchConfig::new(
        (0..ports).map(port).collect(),
        classes,
        (0..ports).map(route).collect(),
    );
    config.frame_count = config.frames_needed();
    config
}

impl Side {
    pub fn new(ports: u8, has_path: bool) -> Self {
        let count = usize::from(ports);
        Self {
            switch: Switch::new(config(ports)).unwrap(),
            has_path,
            neighbours: (0..count).map(|_| Neighbour::default()).collect(),
            handed: (0..count).map(|_| VecDeque::new()).collect(),
            gates: vec![Gate::default(); count],
            entered: BTreeMap::new(),
            finished: BTreeMap::new(),
            outstanding: vec![VecDeque::new(); count],
            inside: BTreeMap::new(),
            free: (0..HANDLES).map(FrameHandle).collect(),
            arrived: BTreeMap::new(),
            passed: [0; 8],
        }
    }

    pub fn is_empty(&self) -> bool {
        let has_sent = |one: &Neighbour| one.waiting.iter().all(VecDeque::is_empty);
        self.inside.is_empty() && self.neighbours.iter().all(has_sent)
    }

    /// The neighbour says something: its port's program sees that at once, the core later.
    pub fn hear(&mut self, _now: Instant, port: u8, priority: u8, said: Said) {
        let mut times = [None; 8];
        times[usize::from(priority)] = Some(said.quanta(priority));
        let mut buffer = [0; 64];
        let frame = ControlFrame::Mac(MacControl::Pfc { times });
        let length = frame.emit(address(0xff), &mut buffer).unwrap();
        let gate = &mut self.gates[usize::from(port)];
        gate.seen += 1;
        gate.open = 0;
        self.neighbours[usize::from(port)].holds[usize::from(priority)] =
            matches!(said, Said::Hold(_));
        self.handed[usize::from(port)].push_back(Handed::Control(buffer[..length].to_vec()));
    }

    /// The neighbour's next frame, if it may send: it passes, or is handed to the core.
    pub fn arrive(&mut self, now: Instant, port: u8, priority: u8) {
        let neighbour = &mut self.neighbours[usize::from(port)];
        if neighbour.held[usize::from(priority)] {
            return;
        }
        let next = neighbour.waiting[usize::from(priority)].pop_front();
        let Some((destination, number, length)) = next else {
            return;
        };
        let frame = Inside {
            ingress: port,
            priority,
            destination,
            number,
            length,
        };
        if self.has_path && self.passes(now, &frame) {
            self.passed[usize::from(priority)] += 1;
            let holds = self.neighbours[usize::from(destination)].holds[usize::from(priority)];
            // Nobody holds a lossy class back: a switch does not obey that.
            assert!(
                !holds || priority == LOSSY,
                "{frame:?} passes a neighbour that holds it"
            );
            self.reach(&frame);
            return;
        }
        *self.entered.entry((port, priority)).or_default() += 1;
        let handle = self.free.pop().unwrap();
        self.inside.insert(handle, frame);
        self.handed[usize::from(port)].push_back(Handed::Data { priority, handle });
    }

    /// The program's conditions, in its order.
    fn passes(&mut self, now: Instant, frame: &Inside) -> bool {
        let flow = (frame.ingress, frame.priority);
        let is_alone = self.entered.get(&flow) == self.finished.get(&flow);
        let gate = &mut self.gates[usize::from(frame.destination)];
        if !is_alone || gate.open & 1 << frame.priority == 0 || gate.free_at > now {
            return false;
        }
        let earliest = Instant::from_nanos(now.as_nanos() - BURST.as_nanos());
        let span = BitRate::from_mbit(RATE_MBIT).time_for(Bytes::new(frame.length));
        gate.free_at = gate.free_at.max(earliest) + span;
        true
    }

    fn reach(&mut self, frame: &Inside) {
        let flow = (frame.ingress, frame.priority, frame.destination);
        self.arrived.entry(flow).or_default().push(frame.number);
    }

    /// The core takes the oldest thing that this port's program has handed to it.
    pub fn handle(&mut self, now: Instant, port: u8) {
        let id = PortId::new(port);
        match self.handed[usize::from(port)].pop_front() {
            None => {}
            Some(Handed::Control(bytes)) => {
                self.switch.receive_mac_control(now, id, &bytes).unwrap();
                let gate = &mut self.gates[usize::from(port)];
                gate.handled += 1;
            }
            Some(Handed::Data { priority, handle }) => {
                let inside = self.inside[&handle];
                let frame = Frame {
                    handle,
                    length: Bytes::new(inside.length),
                    priority: Priority::ALL[usize::from(priority)],
                    destination: address(inside.destination),
                    source: address(0x40 + port),
                    flow_hash: 0,
                };
                let admitted = self.switch.receive(now, id, frame);
                assert!(admitted.is_ok(), "{admitted:?} of {inside:?}");
            }
        }
    }

    /// The core sends what it may, and what is to be told reaches the neighbour at once.
    pub fn send(&mut self, now: Instant, port: u8) {
        let (id, index) = (PortId::new(port), usize::from(port));
        self.switch.handle_timeout(now);
        while self.switch.poll_event().is_some() {}
        if self.has_path && !self.switch.is_egress_clear(now, id) {
            self.shut(port);
        }
        // As a transmitter of four places.
        while self.outstanding[index].len() < 4 {
            match self.switch.transmit(now, id) {
                None => break,
                Some(Transmission::Control(frame)) => self.tell(port, &frame),
                Some(Transmission::Data { handle, .. }) => {
                    self.outstanding[index].push_back(handle)
                }
            }
        }
    }

    fn tell(&mut self, port: u8, frame: &ControlFrame) {
        let ControlFrame::Mac(MacControl::Pfc { times }) = frame else {
            return;
        };
        for priority in [PFC, LEVEL] {
            let go = if priority == LEVEL { 1 } else { 0 };
            if let Some(quanta) = times[usize::from(priority)] {
                self.neighbours[usize::from(port)].held[usize::from(priority)] = quanta.0 > go;
            }
        }
    }

    /// The oldest frame that is with the transmitter has left.
    pub fn complete(&mut self, port: u8) {
        let Some(handle) = self.outstanding[usize::from(port)].pop_front() else {
            return;
        };
        let frame = self.inside.remove(&handle).unwrap();
        assert_eq!(frame.destination, port);
        self.reach(&frame);
        let returned = self
            .switch
            .complete(Instant::ZERO, PortId::new(port), handle);
        self.free.extend(returned);
        *self
            .finished
            .entry((frame.ingress, frame.priority))
            .or_default() += 1;
    }

    fn shut(&mut self, port: u8) {
        let gate = &mut self.gates[usize::from(port)];
        gate.open = 0;
        if gate.is_open {
            gate.is_open = false;
            let free_at = gate.free_at;
            self.switch.occupy_line(PortId::new(port), free_at);
        }
    }

    /// The end of a round: the core opens what nothing is inside for any more, and shuts what something holds.
    pub fn settle(&mut self, now: Instant, port: u8) {
        let id = PortId::new(port);
        if !self.has_path {
            return;
        }
        let gate = self.gates[usize::from(port)];
        let unheld = self.switch.unheld_priorities(now, id);
        let is_idle = self.outstanding[usize::from(port)].is_empty();
        if !is_idle || !self.switch.is_egress_clear(now, id) || unheld == 0 {
            self.shut(port);
        } else if gate.seen == gate.handled {
            let free_at = self.switch.line_free_at(id);
            let gate = &mut self.gates[usize::from(port)];
            gate.free_at = gate.free_at.max(free_at);
            (gate.open, gate.is_open) = (unheld, true);
        }
    }
}
