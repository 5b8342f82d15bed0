//! Protocol P compared with a slow model written from the paper's definitions: every frame has its own Level, n_i and
//! m_i are sums over all frames (equations 7 and 8), and after every random operation the switch's incremental state
//! must equal theirs.

mod slow;

use proptest::prelude::*;
use slow::Model;
use weir_core::config::{LevelRules, RouteConfig};
use weir_core::level::LEVEL_MAX;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    Admitted, BitRate, Budgets, Bytes, ClassConfig, ClassMode, DropReason, Duration, Frame,
    FrameHandle, Instant, MacAddress, Neighbour, PfcThresholds, PortConfig, PortId, PortRole,
    Priority, Quanta, Switch, SwitchConfig, Transmission,
};

/// Number of fabric ports, which precede the edge ports.
const FABRIC: u8 = 3;
const PORTS: u8 = 5;
const DESTINATIONS: u8 = 8;
const CELL: u64 = 256;
const GAMMA: u64 = 1536;
const EDGE_LIMIT: u64 = 12 * 1024;
const P3: Priority = Priority::ALL[3];

#[derive(Clone, Copy, Debug)]
enum Op {
    Receive {
        port: u8,
        destination: u8,
        length: u16,
    },
    Transmit {
        port: u8,
    },
    Complete {
        index: u8,
    },
    Feedback {
        port: u8,
        quanta: u16,
    },
    Wait {
        nanos: u64,
    },
}

fn op(depth: u8) -> impl Strategy<Value = Op> {
    let port = 0..PORTS;
    prop_oneof![
        9 => (port.clone(), 0..DESTINATIONS, 60u16..1523)
            .prop_map(|(port, destination, length)| Op::Receive { port, destination, length }),
        6 => port.clone().prop_map(|port| Op::Transmit { port }),
        4 => any::<u8>().prop_map(|index| Op::Complete { index }),
        2 => (0..FABRIC, prop_oneof![8 => 0..u16::from(depth) + 3, 1 => Just(u16::MAX)])
            .prop_map(|(port, quanta)| Op::Feedback { port, quanta }),
        1 => (1u64..2000).prop_map(|micros| Op::Wait { nanos: micros * 1000 }),
        // About as long as a Feedback lingers.
        2 => (0u64..3000).prop_map(|nanos| Op::Wait { nanos }),
    ]
}

fn egress_of(destination: u8) -> u8 {
    destination % PORTS
}

fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, number])
}

fn config(budgets: &[u64], round_trip: Duration) -> SwitchConfig {
    let lossy = ClassConfig {
        headroom_by_cable: false,
        mode: ClassMode::Lossy {
            buffer: Bytes::new(GAMMA),
        },
        weight: 1,
        scheduler: Default::default(),
        age_limit: None,
        ecn: None,
        pool: None,
        credits: None,
    };
    let mut classes = [lossy; 8];
    let budgets: Vec<_> = budgets.iter().copied().map(Bytes::new).collect();
    classes[P3.index()].mode = ClassMode::Level {
        rules: LevelRules::default(),
        budgets: Budgets::new(&budgets).unwrap(),
        edge: PfcThresholds::new(
            Bytes::new(EDGE_LIMIT / 2),
            Bytes::new(EDGE_LIMIT / 4),
            Bytes::new(EDGE_LIMIT / 2),
        )
        .unwrap(),
    };
    let port = |number| PortConfig {
        round_trip,
        neighbour: Neighbour::Enhanced,
        ..PortConfig::new(
            if number < FABRIC {
                PortRole::Fabric
            } else {
                PortRole::Edge
            },
            BitRate::from_mbit(10_000),
            address(0x80 + number),
        )
    };
    let routes = (0..DESTINATIONS)
        .map(|destination| {
            RouteConfig::new(
                address(destination),
                vec![PortId::new(egress_of(destination))],
            )
        })
        .collect();
    let mut config = SwitchConfig {
        cell: Bytes::new(CELL),
        feedback_refresh: Duration::from_secs(3600),
        shaper_burst: Bytes::new(1 << 30),
        ..SwitchConfig::new((0..PORTS).map(port).collect(), classes, routes)
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
    fn new(budgets: &[u64], round_trip: Duration) -> Self {
        let config = config(budgets, round_trip);
        let reserve = config.reserve(&config.ports[0]).get();
        Self {
            model: Model::new(
                budgets,
                reserve,
                round_trip,
                config.lingering(&config.ports[0]),
            ),
            now: 1_000_000_000,
            free: (0..config.frame_count as u32).map(FrameHandle).collect(),
            switch: Switch::new(config).unwrap(),
        }
    }

    fn instant(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Receive {
                port,
                destination,
                length,
            } => self.receive(port, destination, length),
            Op::Transmit { port } => self.transmit(port),
            Op::Complete { index } => self.complete(index),
            Op::Feedback { port, quanta } => self.feedback(port, quanta),
            Op::Wait { nanos } => {
                self.now += nanos;
                self.switch.handle_timeout(self.instant());
            }
        }
        self.check();
    }

    fn receive(&mut self, port: u8, destination: u8, length: u16) {
        if egress_of(destination) == port {
            return;
        }
        let handle = *self.free.last().expect("never more frames than cells");
        let frame = Frame {
            handle,
            length: Bytes::new(u64::from(length)),
            priority: P3,
            destination: address(destination),
            source: address(0x40),
            flow_hash: 0,
        };
        let fits = self
            .model
            .receive(self.now, handle, port, destination, length);
        let outcome = self
            .switch
            .receive(self.instant(), PortId::new(port), frame);
        let expected = if fits {
            self.free.pop();
            Ok(Admitted::default())
        } else {
            Err(DropReason::HeadroomExceeded)
        };
        assert_eq!(outcome, expected);
    }

    fn transmit(&mut self, port: u8) {
        loop {
            let eligible = self.model.eligible(self.now, port);
            let has_opportunity = self.model.has_opportunity(self.now, port);
            match self.switch.transmit(self.instant(), PortId::new(port)) {
                Some(Transmission::Data { handle, .. }) => {
                    assert!(eligible.contains(&handle), "{handle:?} of {eligible:?}");
                    let frames = &mut self.model.frames;
                    let frame = frames.iter_mut().find(|frame| frame.handle == handle);
                    frame.unwrap().is_sent = true;
                    self.model.note_opportunity(port);
                    return;
                }
                Some(Transmission::Control(ControlFrame::Mac(MacControl::Pfc { times }))) => {
                    if port < FABRIC {
                        let feedback = self.model.feedback(port);
                        let told = 1 + u16::from(feedback);
                        assert_eq!(times[P3.index()], Some(Quanta(told)));
                        self.model.tell(self.now, port, feedback);
                    }
                }
                Some(Transmission::Control(ControlFrame::Echo(_))) => {}
                Some(other) => panic!("unexpected {other:?}"),
                None => {
                    assert_eq!(eligible, [], "they wait for nothing");
                    if has_opportunity {
                        self.model.note_opportunity(port);
                    }
                    if port < FABRIC {
                        let gauges = self.switch.gauges(self.instant(), PortId::new(port), P3);
                        let told = gauges.levels.unwrap().feedback_sent.get();
                        assert_eq!(told, self.model.feedback(port), "all has been told");
                    }
                    return;
                }
            }
        }
    }

    fn complete(&mut self, index: u8) {
        let sent: Vec<_> = (0..self.model.frames.len())
            .filter(|at| self.model.frames[*at].is_sent)
            .collect();
        if sent.is_empty() {
            return;
        }
        let at = sent[usize::from(index) % sent.len()];
        let frame = self.model.frames.remove(at);
        let back = self.switch.complete(frame.handle);
        assert_eq!(back, Some(frame.handle));
        self.free.push(frame.handle);
    }

    fn feedback(&mut self, port: u8, quanta: u16) {
        let mut times = [None; 8];
        times[P3.index()] = Some(Quanta(quanta));
        let mut buffer = [0u8; 128];
        let length = ControlFrame::Mac(MacControl::Pfc { times })
            .emit(address(0x50), &mut buffer)
            .unwrap();
        self.switch
            .receive_mac_control(self.instant(), PortId::new(port), &buffer[..length])
            .unwrap();
        let at = usize::from(port);
        if (1..=LEVEL_MAX as u16 + 1).contains(&quanta) {
            // One of a higher D blocks like D.
            let feedback = (quanta as u8 - 1).min(self.model.depth());
            self.model.hear(self.now, port, feedback);
            self.model.paused_until[at] = 0;
        } else {
            let pause = Quanta(quanta).at(BitRate::from_mbit(10_000));
            self.model.paused_until[at] = self.now + pause.as_nanos();
        }
    }

    fn check(&self) {
        let (model, switch) = (&self.model, &self.switch);
        assert_eq!(switch.held_frames(), model.frames.len(), "conservation");
        for link in 0..FABRIC {
            let gauges = switch.gauges(self.instant(), PortId::new(link), P3);
            let levels = gauges.levels.expect("a fabric port of the class");
            let mut used = 0;
            for level in 1..=model.depth() {
                let m = model.m(link, level);
                assert!(m >= 0, "equation 18: m_{level} = {m}");
                assert_eq!(
                    levels.m[usize::from(level) - 1].get() as i64,
                    m,
                    "m_{level}"
                );
                used += model.n(link, level);
                let budget: u64 = model.budgets[..usize::from(level)].iter().sum();
                assert!(used <= budget, "constraint 7 at Level {level}");
            }
            let received = model.feedback_received[usize::from(link)];
            assert_eq!(levels.feedback_received.get(), received);
            let waiting = [
                (levels.eligible_frames, levels.eligible.get()),
                (levels.held_frames, levels.held.get()),
            ];
            assert_eq!(waiting, model.waiting(link), "eligible and held");
            assert_eq!(levels.reserve.get(), model.reserve);
        }
        let mut table: Vec<_> = switch
            .level_table()
            .map(|entry| {
                (
                    entry.destination.0[5],
                    entry.level.get(),
                    entry.buffered.get(),
                )
            })
            .collect();
        table.sort_unstable();
        let expected: Vec<_> = (0..DESTINATIONS)
            .map(|destination| {
                let frames = || {
                    let all = model.frames.iter();
                    all.filter(move |frame| frame.destination == destination)
                };
                let level = model.level_of(destination);
                assert!(level <= model.depth(), "Lemma 1");
                assert!(frames().all(|frame| frame.level == level), "rule 3");
                (destination, level, frames().map(|frame| frame.cells).sum())
            })
            .filter(|(_, _, buffered)| *buffered > 0)
            .collect();
        assert_eq!(table, expected, "the Level Table");
        assert_eq!(switch.level_table_len(), expected.len());
    }
}

/// Budgets from the legal minimum to ample ones.
fn budgets(depth: u8) -> impl Strategy<Value = Vec<u64>> {
    let first = prop_oneof![Just(GAMMA), GAMMA..40_000u64].prop_map(|b| b / CELL * CELL);
    let other = prop_oneof![3 => Just(GAMMA), 1 => GAMMA..6_000u64].prop_map(|b| b / CELL * CELL);
    (first, prop::collection::vec(other, usize::from(depth) - 1)).prop_map(|(first, others)| {
        let mut budgets = vec![first];
        budgets.extend(others);
        budgets
    })
}

fn case() -> impl Strategy<Value = (Vec<u64>, bool, Vec<Op>)> {
    (1u8..=6).prop_flat_map(|depth| {
        (
            budgets(depth),
            any::<bool>(),
            prop::collection::vec(op(depth), 1..400),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn incremental_state_equals_the_definitions((mut budgets, is_long, ops) in case()) {
        let mut round_trip = Duration::ZERO;
        if is_long {
            round_trip = Duration::from_micros(2);
            let config = config(&[1 << 20], round_trip);
            let reserve = config.reserve(&config.ports[0]).round_up_to(Bytes::new(CELL));
            for budget in &mut budgets {
                *budget += reserve.get();
            }
        }
        let mut run = Run::new(&budgets, round_trip);
        for op in ops {
            run.apply(op);
        }
    }
}
