//! The switch against a slow model written straight from its rules: after every random operation the
//! incremental state must equal what the model recomputes from the list of all frames.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use weir_core::config::RouteConfig;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Duration, Frame, FrameHandle, Instant, MacAddress,
    PortConfig, PortId, PortRole, Priority, Quanta, Switch, SwitchConfig, Transmission,
};

const PORTS: usize = 3;
const CELL: u64 = 256;
const XOFF: u64 = 4096;
const XON: u64 = 2048;
const HEADROOM: u64 = 2048;
const LOSSY: u64 = 4096;
const RATE: BitRate = BitRate::from_mbit(1000);
const LOSSLESS: [u8; 2] = [3, 4];

#[derive(Clone, Copy, Debug)]
enum Op {
    Receive {
        port: u8,
        priority: u8,
        destination: u8,
        length: u16,
    },
    Transmit {
        port: u8,
    },
    Complete {
        index: u8,
    },
    PauseReceived {
        port: u8,
        priority: Option<u8>,
        quanta: u16,
    },
    Release {
        ingress: u8,
        egress: u8,
        priority: u8,
    },
    Wait {
        micros: u16,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let port = 0..PORTS as u8;
    let priority = prop::sample::select(vec![0u8, 3, 3, 3, 4]);
    prop_oneof![
        8 => (port.clone(), priority.clone(), 0..PORTS as u8 + 1, 60u16..1523)
            .prop_map(|(port, priority, destination, length)| Op::Receive { port, priority, destination, length }),
        6 => port.clone().prop_map(|port| Op::Transmit { port }),
        4 => any::<u8>().prop_map(|index| Op::Complete { index }),
        1 => (port.clone(), prop::option::of(priority.clone()), prop_oneof![Just(0u16), 1u16..2000])
            .prop_map(|(port, priority, quanta)| Op::PauseReceived { port, priority, quanta }),
        1 => (port.clone(), port, priority).prop_map(|(ingress, egress, priority)| Op::Release { ingress, egress, priority }),
        3 => (1u16..400).prop_map(|micros| Op::Wait { micros }),
    ]
}

/// One frame as the model knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ModelFrame {
    handle: FrameHandle,
    ingress: u8,
    priority: u8,
    length: u64,
}

#[derive(Default)]
struct Model {
    /// Waiting frames by (egress, priority, ingress, destination), oldest first.
    waiting: BTreeMap<(u8, u8, u8, u8), VecDeque<ModelFrame>>,
    /// Sent and not completed.
    sent: Vec<(u8, ModelFrame)>,
    pause_all: [u64; PORTS],
    pause: [[u64; 8]; PORTS],
    /// (ingress, until) by (egress, priority).
    rules: BTreeMap<(u8, u8), (u8, u64)>,
    raise: [[Raise; 8]; PORTS],
    pausing: [[bool; 8]; PORTS],
}

/// What a release did to an ingress buffer's thresholds.
#[derive(Clone, Copy, Debug, Default)]
enum Raise {
    #[default]
    None,
    Active {
        xoff: u64,
        xon: u64,
        until: u64,
    },
    /// Over, but the occupancy has not been at or below the normal xoff since.
    Draining {
        xoff: u64,
    },
}

impl Model {
    fn raise_of(&mut self, port: u8, priority: u8) -> &mut Raise {
        &mut self.raise[usize::from(port)][usize::from(priority)]
    }

    fn thresholds(&self, port: u8, priority: u8) -> (u64, u64) {
        match self.raise[usize::from(port)][usize::from(priority)] {
            Raise::Active { xoff, xon, .. } => (xoff, xon),
            Raise::None | Raise::Draining { .. } => (XOFF, XON),
        }
    }

    fn limit(&self, port: u8, priority: u8) -> u64 {
        if !LOSSLESS.contains(&priority) {
            return LOSSY;
        }
        match self.raise[usize::from(port)][usize::from(priority)] {
            Raise::None => XOFF + HEADROOM,
            Raise::Active { xoff, .. } | Raise::Draining { xoff } => xoff + HEADROOM,
        }
    }

    fn raise(&mut self, port: u8, priority: u8, until: u64) {
        let extra = 1522u64.div_ceil(CELL) * CELL;
        let xoff = (self.occupancy(port, priority) + extra).clamp(XOFF, XOFF + HEADROOM);
        let before = match *self.raise_of(port, priority) {
            Raise::Active { until, .. } => until,
            _ => 0,
        };
        *self.raise_of(port, priority) = Raise::Active {
            xoff,
            xon: (xoff - extra).max(XON),
            until: until.max(before),
        };
    }

    /// Raises end by the clock, and their limit with the frames that they let in.
    fn settle_raises(&mut self, now: u64) {
        for port in 0..PORTS as u8 {
            for priority in LOSSLESS {
                let occupancy = self.occupancy(port, priority);
                let raise = self.raise_of(port, priority);
                match *raise {
                    Raise::Active { xoff, until, .. } if until <= now => {
                        *raise = Raise::Draining { xoff };
                    }
                    _ => {}
                }
                if matches!(raise, Raise::Draining { .. }) && occupancy <= XOFF {
                    *raise = Raise::None;
                }
            }
        }
    }

    fn frames(&self) -> impl Iterator<Item = &ModelFrame> {
        self.waiting
            .values()
            .flatten()
            .chain(self.sent.iter().map(|(_, frame)| frame))
    }

    fn occupancy(&self, port: u8, priority: u8) -> u64 {
        self.frames()
            .filter(|frame| frame.ingress == port && frame.priority == priority)
            .map(|frame| frame.length.div_ceil(CELL) * CELL)
            .sum()
    }

    fn backlog(&self, egress: u8, priority: u8) -> (u64, u64) {
        self.waiting
            .iter()
            .filter(|((e, p, ..), _)| (*e, *p) == (egress, priority))
            .flat_map(|(_, frames)| frames)
            .fold((0, 0), |(bytes, count), frame| {
                (bytes + frame.length, count + 1)
            })
    }

    fn is_paused(&self, now: u64, port: u8, priority: u8) -> bool {
        let port = usize::from(port);
        self.pause_all[port].max(self.pause[port][usize::from(priority)]) > now
    }

    /// Head frames that may leave by `egress` now, leaving the shaper aside.
    fn eligible(&self, now: u64, egress: u8) -> Vec<((u8, u8, u8, u8), ModelFrame)> {
        self.waiting
            .iter()
            .filter(|((e, priority, ingress, _), _)| {
                let rule = self.rules.get(&(*e, *priority));
                *e == egress
                    && !self.is_paused(now, egress, *priority)
                    && rule.is_none_or(|(only, _)| only == ingress)
            })
            .filter_map(|(key, frames)| frames.front().map(|frame| (*key, *frame)))
            .collect()
    }
}

fn address(port: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, port])
}

fn config() -> SwitchConfig {
    let lossy = ClassConfig {
        mode: ClassMode::Lossy {
            buffer: Bytes::new(LOSSY),
        },
        weight: 1,
        age_limit: None,
        ecn: None,
    };
    let mut classes = [lossy; 8];
    for priority in LOSSLESS {
        classes[usize::from(priority)] = ClassConfig {
            mode: ClassMode::Pfc {
                xoff: Bytes::new(XOFF),
                xon: Bytes::new(XON),
                headroom: Bytes::new(HEADROOM),
            },
            weight: 2,
            age_limit: None,
            ecn: None,
        };
    }
    let ports = (0..PORTS as u8)
        .map(|port| PortConfig::new(PortRole::Fabric, RATE, address(0x80 + port)))
        .collect();
    let routes = (0..PORTS as u8)
        .map(|port| RouteConfig::new(address(port), vec![PortId::new(port)]))
        .collect();
    let mut config = SwitchConfig {
        cell: Bytes::new(CELL),
        shaper_burst: Bytes::new(100_000),
        ..SwitchConfig::new(ports, classes, routes)
    };
    config.frame_count = config.frames_needed();
    config
}

struct Run {
    switch: Switch,
    model: Model,
    now: u64,
    free: Vec<FrameHandle>,
}

impl Run {
    fn new() -> Self {
        let config = config();
        let free = (0..config.frame_count as u32).map(FrameHandle).collect();
        Self {
            switch: Switch::new(config).unwrap(),
            model: Model::default(),
            now: 1_000_000_000,
            free,
        }
    }

    fn instant(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Receive {
                port,
                priority,
                destination,
                length,
            } => self.receive(port, priority, destination, length),
            Op::Transmit { port } => self.transmit(port),
            Op::Complete { index } => self.complete(index),
            Op::PauseReceived {
                port,
                priority,
                quanta,
            } => self.pause(port, priority, quanta),
            Op::Release {
                ingress,
                egress,
                priority,
            } => self.release(ingress, egress, priority),
            Op::Wait { micros } => {
                self.now += u64::from(micros) * 1000;
                self.switch.handle_timeout(self.instant());
                let now = self.now;
                self.model.rules.retain(|_, (_, until)| *until > now);
                self.model.settle_raises(now);
            }
        }
        self.follow_pauses();
        self.check();
    }

    fn receive(&mut self, port: u8, priority: u8, destination: u8, length: u16) {
        let handle = *self.free.last().expect("never more frames than cells");
        let before = self.model.occupancy(port, priority);
        let limit = self.model.limit(port, priority);
        let frame = Frame {
            handle,
            length: Bytes::new(u64::from(length)),
            priority: Priority::new(priority).unwrap(),
            destination: address(destination),
            source: address(0x40),
            flow_hash: 0,
        };
        let outcome = self
            .switch
            .receive(self.instant(), PortId::new(port), frame);
        let cells = u64::from(length).div_ceil(CELL) * CELL;
        let routed = usize::from(destination) < PORTS && destination != port;
        assert_eq!(
            outcome.is_ok(),
            routed && before + cells <= limit,
            "{outcome:?}"
        );
        if outcome.is_ok() {
            self.free.pop();
            self.model
                .waiting
                .entry((destination, priority, port, destination))
                .or_default()
                .push_back(ModelFrame {
                    handle,
                    ingress: port,
                    priority,
                    length: u64::from(length),
                });
        }
    }

    fn transmit(&mut self, port: u8) {
        let eligible = self.model.eligible(self.now, port);
        match self.switch.transmit(self.instant(), PortId::new(port)) {
            Some(Transmission::Data { handle, length, .. }) => {
                let (key, frame) = eligible
                    .into_iter()
                    .find(|(_, frame)| frame.handle == handle)
                    .expect("the oldest frame of an eligible virtual queue");
                assert_eq!(length.get(), frame.length);
                let queue = self.model.waiting.get_mut(&key).unwrap();
                queue.pop_front();
                if queue.is_empty() {
                    self.model.waiting.remove(&key);
                }
                self.model.sent.push((port, frame));
            }
            Some(Transmission::Control(ControlFrame::Mac(MacControl::Pfc { times }))) => {
                for (priority, time) in times.into_iter().enumerate() {
                    if let Some(time) = time {
                        let pausing = self.model.pausing[usize::from(port)][priority];
                        assert_eq!(time != Quanta::ZERO, pausing, "PFC says what is so");
                    }
                }
            }
            Some(other) => panic!("unexpected {other:?}"),
            None => {
                let due = self.switch.next_timeout();
                assert!(
                    eligible.is_empty() || due.is_some_and(|at| at > self.instant()),
                    "an eligible frame waits for nothing"
                );
            }
        }
    }

    fn complete(&mut self, index: u8) {
        if self.model.sent.is_empty() {
            return;
        }
        let index = usize::from(index) % self.model.sent.len();
        let (port, frame) = self.model.sent.swap_remove(index);
        let back = self
            .switch
            .complete(self.instant(), PortId::new(port), frame.handle);
        assert_eq!(back, Some(frame.handle));
        self.free.push(frame.handle);
        self.model.settle_raises(0);
    }

    fn pause(&mut self, port: u8, priority: Option<u8>, quanta: u16) {
        let quanta = Quanta(quanta);
        let until = self.now + quanta.at(RATE).as_nanos();
        let control = match priority {
            None => {
                self.model.pause_all[usize::from(port)] = until;
                MacControl::Pause { quanta }
            }
            Some(priority) => {
                self.model.pause[usize::from(port)][usize::from(priority)] = until;
                let mut times = [None; 8];
                times[usize::from(priority)] = Some(quanta);
                MacControl::Pfc { times }
            }
        };
        let mut buffer = [0u8; 128];
        let length = ControlFrame::Mac(control)
            .emit(address(0x50), &mut buffer)
            .unwrap();
        self.switch
            .receive_mac_control(self.instant(), PortId::new(port), &buffer[..length])
            .unwrap();
    }

    fn release(&mut self, ingress: u8, egress: u8, priority: u8) {
        let period = Duration::from_micros(500);
        let outcome = self.switch.apply(
            self.instant(),
            weir_core::Command::Release {
                ingress: PortId::new(ingress),
                egress: PortId::new(egress),
                priority: Priority::new(priority).unwrap(),
                period,
                preference: Duration::ZERO,
                extra: Bytes::new(1522),
            },
        );
        let until = self.now + period.as_nanos();
        let held_by = self
            .model
            .rules
            .get(&(egress, priority))
            .map(|(only, _)| *only);
        let expected = LOSSLESS.contains(&priority) && held_by.is_none_or(|only| only == ingress);
        assert_eq!(outcome.is_ok(), expected, "{outcome:?}");
        if expected {
            self.model
                .rules
                .insert((egress, priority), (ingress, until));
            self.model.raise(ingress, priority, until);
        }
    }

    /// The pause state machine of each buffer, recomputed from thresholds and occupancy.
    fn follow_pauses(&mut self) {
        for port in 0..PORTS as u8 {
            for priority in LOSSLESS {
                let occupancy = self.model.occupancy(port, priority);
                let (xoff, xon) = self.model.thresholds(port, priority);
                let pausing = &mut self.model.pausing[usize::from(port)][usize::from(priority)];
                if occupancy >= xoff {
                    *pausing = true;
                } else if occupancy <= xon {
                    *pausing = false;
                }
            }
        }
    }

    fn check(&self) {
        assert_eq!(
            self.switch.held_frames(),
            self.model.frames().count(),
            "conservation"
        );
        for port in 0..PORTS as u8 {
            for priority in [0u8, 3, 4] {
                let gauges = self.switch.gauges(
                    self.instant(),
                    PortId::new(port),
                    Priority::new(priority).unwrap(),
                );
                let occupancy = self.model.occupancy(port, priority);
                assert_eq!(gauges.ingress.get(), occupancy, "charges");
                let (bytes, count) = self.model.backlog(port, priority);
                assert_eq!(
                    (gauges.egress.get(), gauges.egress_frames),
                    (bytes, count),
                    "backlog"
                );
                assert_eq!(
                    gauges.paused,
                    self.model.is_paused(self.now, port, priority)
                );
                assert_eq!(
                    gauges.release_ingress.map(PortId::get),
                    self.model
                        .rules
                        .get(&(port, priority))
                        .map(|(only, _)| *only)
                );
                if LOSSLESS.contains(&priority) {
                    let pausing = self.model.pausing[usize::from(port)][usize::from(priority)];
                    assert_eq!(gauges.pausing, pausing, "pause state");
                    let thresholds = (gauges.xoff.get(), gauges.xon.get());
                    assert_eq!(thresholds, self.model.thresholds(port, priority));
                    assert!(occupancy <= XOFF + 2 * HEADROOM, "memory bound");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn incremental_state_equals_the_model(ops in prop::collection::vec(op(), 1..400)) {
        let mut run = Run::new();
        for op in ops {
            run.apply(op);
        }
    }
}
