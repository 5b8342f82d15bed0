//! Two switches on one link change their assumptions about each other at any time, and no frame is lost, whatever their
//! assumptions, D and coding of Feedback.
//!
//! One pair of assumptions is excluded: both assume the other to be enhanced, and their D differ.
//! `control/neighbours/judge.rs` prevents it, as `crates/core/tests/neighbours/neighbours_agree.rs` shows.

use std::collections::VecDeque;

use proptest::prelude::*;
use weir_core::config::RouteConfig;
use weir_core::wire::echo::Echo;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    Admitted, BitRate, Budgets, Bytes, ClassConfig, ClassMode, Command, Duration, FeedbackCoding,
    Frame, FrameHandle, Instant, Level, LevelRules, MacAddress, Neighbour, PfcThresholds,
    PortConfig, PortId, PortRole, Priority, Quanta, Switch, SwitchConfig, Transmission,
};

const P3: Priority = Priority::ALL[3];
const LINK: PortId = PortId::new(0);
const HOST: PortId = PortId::new(1);
const DESTINATIONS: u8 = 6;
const LENGTH: Bytes = Bytes::new(1522);
const STEP: Duration = Duration::from_micros(10);
/// One direction, from the transmitter's end to the receiver's.
const DELAY: Duration = Duration::from_micros(50);
/// From a Feedback to the last frame sent without it: both delays, a frame in flight, and a step each.
const ROUND_TRIP: Duration = Duration::from_micros(400);

#[derive(Clone, Copy, Debug)]
enum Op {
    /// Time passes, in steps.
    Wait(u16),
    /// The host behind a switch pauses or resumes it.
    Hold { switch: usize, hold: bool },
    /// A switch changes its neighbour setting.
    Becomes { switch: usize, neighbour: Neighbour },
}

fn op() -> impl Strategy<Value = Op> {
    let neighbour = prop_oneof![
        2 => Just(Neighbour::Unknown),
        2 => Just(Neighbour::Enhanced),
        1 => Just(Neighbour::Regular),
    ];
    prop_oneof![
        4 => (1u16..400).prop_map(Op::Wait),
        2 => (0..2usize, any::<bool>()).prop_map(|(switch, hold)| Op::Hold { switch, hold }),
        3 => (0..2usize, neighbour)
            .prop_map(|(switch, neighbour)| Op::Becomes { switch, neighbour }),
    ]
}

fn address(switch: usize, host: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, switch as u8, host])
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    depth: u8,
    /// Minimum Level of frames from the host.
    level_min: u8,
    coding: FeedbackCoding,
}

fn setting() -> impl Strategy<Value = Setting> {
    let coding = prop_oneof![Just(FeedbackCoding::Pfc), Just(FeedbackCoding::Pause)];
    (1u8..=5, 0u8..5, coding).prop_map(|(depth, level_min, coding)| Setting {
        depth,
        level_min: level_min.min(depth - 1),
        coding,
    })
}

fn config(me: usize, setting: Setting) -> SwitchConfig {
    let gamma = Bytes::new(1536);
    let lossy = ClassConfig {
        headroom_by_cable: false,
        mode: ClassMode::Lossy { buffer: gamma },
        weight: 1,
        scheduler: Default::default(),
        age_limit: None,
        ecn: None,
        pool: None,
        credits: None,
    };
    let mut classes = [lossy; 8];
    let budgets = |each| Budgets::new(&vec![each; setting.depth.into()]).unwrap();
    classes[P3.index()].mode = ClassMode::Level {
        rules: LevelRules {
            level_min: Level::new(setting.level_min).unwrap(),
            ..LevelRules::default()
        },
        budgets: budgets(Bytes::new(1 << 20)),
        edge: PfcThresholds::new(
            Bytes::new(32 * 1024),
            Bytes::new(16 * 1024),
            Bytes::new(16 * 1024),
        )
        .unwrap(),
    };
    let routes = (0..DESTINATIONS).flat_map(|host| {
        [(me, HOST), (1 - me, LINK)]
            .map(|(switch, port)| RouteConfig::new(address(switch, host), vec![port]))
    });
    let rate = BitRate::from_mbit(100);
    let ports = vec![
        PortConfig {
            round_trip: ROUND_TRIP,
            feedback: setting.coding,
            ..PortConfig::new(PortRole::Fabric, rate, address(me, 0x80))
        },
        PortConfig::new(PortRole::Edge, BitRate::from_mbit(200), address(me, 0x81)),
    ];
    let mut config = SwitchConfig {
        frame_length_max: LENGTH,
        feedback_refresh: Duration::from_millis(1),
        shaper_burst: Bytes::new(3000),
        ..SwitchConfig::new(ports, classes, routes.collect())
    };
    // The legal minimum: every additional byte would hide a mistake.
    let each = gamma + config.reserve(&config.ports[0]);
    if let ClassMode::Level { budgets: room, .. } = &mut config.classes[P3.index()].mode {
        *room = budgets(each.round_up_to(config.cell));
    }
    config.frame_count = config.frames_needed();
    config
}

enum OnLine {
    Data(MacAddress),
    Control(Vec<u8>),
}

struct Side {
    switch: Switch,
    free: Vec<FrameHandle>,
    /// By handle: destination of each frame.
    destinations: Vec<MacAddress>,
    /// Frames in flight to this side.
    line: VecDeque<(Instant, OnLine)>,
    received: u64,
    turn: u8,
}

struct Network {
    sides: [Side; 2],
    same_depth: bool,
    now: Instant,
}

impl Network {
    fn new(settings: [Setting; 2]) -> Self {
        let sides = [0, 1].map(|me| {
            let config = config(me, settings[me]);
            Side {
                destinations: vec![MacAddress::default(); config.frame_count],
                free: (0..config.frame_count as u32).map(FrameHandle).collect(),
                switch: Switch::new(config).unwrap(),
                line: VecDeque::new(),
                received: 0,
                turn: 0,
            }
        });
        Self {
            sides,
            same_depth: settings[0].depth == settings[1].depth,
            now: Instant::from_nanos(1_000_000_000),
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Wait(steps) => (0..steps).for_each(|_| self.step()),
            Op::Hold { switch, hold } => {
                let mut times = [None; 8];
                times[P3.index()] = Some(if hold { Quanta::MAX } else { Quanta::ZERO });
                let mut buffer = [0; 64];
                let frame = MacControl::Pfc { times };
                let length = frame.emit(address(9, 9), &mut buffer).unwrap();
                let switch = &mut self.sides[switch].switch;
                switch
                    .receive_mac_control(self.now, HOST, &buffer[..length])
                    .unwrap();
            }
            Op::Becomes { switch, neighbour } => {
                let other = self.sides[1 - switch].switch.neighbour(LINK);
                let impossible = !self.same_depth && [neighbour, other] == [Neighbour::Enhanced; 2];
                if !impossible {
                    let command = Command::SetNeighbour {
                        port: LINK,
                        neighbour,
                    };
                    self.sides[switch].switch.apply(self.now, command).unwrap();
                }
            }
        }
    }

    fn step(&mut self) {
        self.now = self.now + STEP;
        for me in 0..2 {
            self.inject(me);
            self.take(me);
            self.sides[me].switch.handle_timeout(self.now);
            self.send(me);
        }
    }

    /// The host sends whenever it may, to all hosts of the other side in turn.
    fn inject(&mut self, me: usize) {
        let side = &mut self.sides[me];
        if side.switch.gauges(self.now, HOST, P3).pausing {
            return;
        }
        side.turn = (side.turn + 1) % DESTINATIONS;
        let destination = address(1 - me, side.turn);
        side.receive(self.now, HOST, destination);
    }

    fn take(&mut self, me: usize) {
        let side = &mut self.sides[me];
        let is_here = |(at, _): &(Instant, OnLine)| *at <= self.now;
        while side.line.front().is_some_and(is_here) {
            let Some((_, arrived)) = side.line.pop_front() else {
                return;
            };
            match arrived {
                OnLine::Data(destination) => side.receive(self.now, LINK, destination),
                OnLine::Control(bytes) => {
                    let switch = &mut side.switch;
                    let taken = if Echo::is_echo(&bytes) {
                        switch.receive_clcm(self.now, LINK, &bytes)
                    } else {
                        switch.receive_mac_control(self.now, LINK, &bytes)
                    };
                    taken.unwrap();
                }
            }
        }
    }

    fn send(&mut self, me: usize) {
        let arrives = self.now + DELAY;
        for port in [LINK, HOST] {
            while let Some(sent) = self.sides[me].switch.transmit(self.now, port) {
                let on_line = match sent {
                    Transmission::Data { handle, .. } => {
                        let destination = self.sides[me].discharge(handle);
                        OnLine::Data(destination)
                    }
                    Transmission::Control(frame) => OnLine::Control(bytes_of(&frame)),
                };
                if port == LINK {
                    self.sides[1 - me].line.push_back((arrives, on_line));
                } else if matches!(on_line, OnLine::Data(_)) {
                    self.sides[me].received += 1;
                }
            }
        }
    }
}

impl Side {
    fn receive(&mut self, now: Instant, port: PortId, destination: MacAddress) {
        let handle = self.free.pop().expect("never more frames than cells");
        self.destinations[handle.0 as usize] = destination;
        let frame = Frame {
            handle,
            length: LENGTH,
            priority: P3,
            destination,
            source: address(8, 8),
            flow_hash: 0,
        };
        let outcome = self.switch.receive(now, port, frame);
        assert_eq!(outcome, Ok(Admitted::default()), "a frame is lost");
    }

    fn discharge(&mut self, handle: FrameHandle) -> MacAddress {
        assert_eq!(self.switch.complete(handle), Some(handle));
        self.free.push(handle);
        self.destinations[handle.0 as usize]
    }
}

fn bytes_of(frame: &ControlFrame) -> Vec<u8> {
    let mut buffer = [0; 256];
    let length = frame.emit(address(7, 7), &mut buffer).unwrap();
    buffer[..length].to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_judgement_loses_no_frame(
        settings in [setting(), setting()],
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let mut network = Network::new(settings);
        for op in ops {
            network.apply(op);
        }
        // Once nothing is paused, everything continues: neither is left waiting for the other.
        for switch in 0..2 {
            network.apply(Op::Hold { switch, hold: false });
        }
        // Messages of an enhanced neighbour before it became a regular one expire after 16 refreshes.
        network.apply(Op::Wait(2_000));
        let before = [0, 1].map(|me| network.sides[me].received);
        network.apply(Op::Wait(1_000));
        for (side, before) in network.sides.iter().zip(before) {
            // 10 ms at 100 Mbit/s are 81 frames.
            prop_assert!(side.received >= before + 40, "{} after {before}", side.received);
        }
    }
}
