//! A caller that polls only the ports returned, and only when a timer may have moved, misses nothing.

use proptest::prelude::*;

use weir_core::config::{DetectorConfig, LevelRules, LifetimeConfig, RouteConfig, SchedulerConfig};
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    Algorithm, BitRate, Budgets, Bytes, ClassConfig, ClassMode, Command, Duration, Frame,
    FrameHandle, Instant, MacAddress, PfcThresholds, PortConfig, PortId, PortRole, Priority,
    Quanta, StormAction, Switch, SwitchConfig, Transmission, WatchdogConfig,
};

const PORTS: u8 = 5;
const PFC: Priority = Priority::ALL[3];
const LEVEL: Priority = Priority::ALL[4];

#[derive(Clone, Debug)]
enum Step {
    Receive { port: u8, level: bool, to: u8 },
    Pause { port: u8, level: bool, quanta: u16 },
    Release { ingress: u8, egress: u8 },
    Wait { nanos: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..PORTS, any::<bool>(), prop_oneof![4 => 0u8..2, 1 => 0..PORTS]).prop_map(|(port, level, to)| Step::Receive { port, level, to }),
        2 => (0..PORTS, any::<bool>(), prop_oneof![3 => 0u16..4, 1 => 100u16..9000])
            .prop_map(|(port, level, quanta)| Step::Pause { port, level, quanta }),
        1 => (0..PORTS, 0..PORTS).prop_map(|(ingress, egress)| Step::Release { ingress, egress }),
        3 => prop_oneof![9 => 1u64..9_000, 1 => 1u64..1_500_000].prop_map(|nanos| Step::Wait { nanos }),
    ]
}

/// One at a time: the timers of one would hide those of another.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Special {
    Ages,
    Watchdog,
    Lifetime,
    Rates,
}

fn special() -> impl Strategy<Value = Option<Special>> {
    prop::sample::select(vec![
        None,
        Some(Special::Ages),
        Some(Special::Watchdog),
        Some(Special::Lifetime),
        Some(Special::Rates),
    ])
}

fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

fn config(special: Option<Special>, detects: bool) -> SwitchConfig {
    let kib = |n: u64| Bytes::new(n * 1024);
    let mut classes = [ClassConfig::new(ClassMode::Lossy { buffer: kib(16) }); 8];
    classes[PFC.index()] = ClassConfig {
        age_limit: (special == Some(Special::Ages)).then_some(Duration::from_millis(7)),
        ..ClassConfig::new(ClassMode::Pfc(
            PfcThresholds::new(kib(12), kib(8), kib(64)).unwrap(),
        ))
    };
    classes[LEVEL.index()].mode = ClassMode::Level {
        budgets: Budgets::new(&[kib(24), kib(4), kib(4)]).unwrap(),
        rules: LevelRules::default(),
        edge: PfcThresholds::new(kib(12), kib(8), kib(64)).unwrap(),
    };
    if special == Some(Special::Rates) {
        classes[PFC.index()].scheduler = SchedulerConfig {
            algorithm: Algorithm::Strict,
            rate_min: None,
            rate_max: Some(BitRate::from_mbit(200)),
        };
        classes[LEVEL.index()].scheduler = SchedulerConfig {
            algorithm: Algorithm::Ets,
            rate_min: Some(BitRate::from_mbit(300)),
            rate_max: Some(BitRate::from_mbit(500)),
        };
    }
    let watchdog = WatchdogConfig {
        detection: Duration::from_millis(2),
        restoration: Duration::from_millis(2),
        action: StormAction::Drop,
    };
    let ports = (0..PORTS)
        .map(|port| PortConfig {
            watchdog: (special == Some(Special::Watchdog) && port == 2).then_some(watchdog),
            ..PortConfig::new(
                if port < 3 {
                    PortRole::Fabric
                } else {
                    PortRole::Edge
                },
                BitRate::from_mbit(1000),
                address(0x80 + port),
            )
        })
        .collect();
    let routes = (0..PORTS)
        .map(|port| RouteConfig::new(address(port), vec![PortId::new(port)]))
        .collect();
    SwitchConfig {
        detector: detects.then_some(DetectorConfig {
            detect: Duration::from_micros(500),
        }),
        lifetime: (special == Some(Special::Lifetime)).then_some(LifetimeConfig {
            limit: Duration::from_millis(1),
            stall_count: 3,
        }),
        pause_time: Quanta(2000),
        feedback_refresh: Duration::from_millis(1),
        shaper_burst: Bytes::ZERO,
        ..SwitchConfig::new(ports, classes, routes)
    }
}

struct Caller {
    switch: Switch,
    now: Instant,
    free: Vec<FrameHandle>,
    on_line: Vec<FrameHandle>,
    timer: Option<Instant>,
    /// By port: result of `next_transmit` when the port had nothing more.
    next: [Option<Instant>; PORTS as usize],
}

impl Caller {
    fn drain(&mut self, port: PortId) {
        for handle in core::mem::take(&mut self.on_line) {
            self.free.extend(self.switch.complete(handle));
        }
        while let Some(sent) = self.switch.transmit(self.now, port) {
            if let Transmission::Data { handle, .. } = sent {
                self.on_line.push(handle);
            }
        }
        self.next[port.index()] = self.switch.next_transmit(port);
    }

    /// Polls the ports that it must, then checks that no other port had a frame.
    fn settle(&mut self) {
        loop {
            let due = (0..PORTS).map(PortId::new);
            let due = due.filter(|port| self.next[port.index()].is_some_and(|at| at <= self.now));
            let due: Vec<PortId> = due.collect();
            let named: Vec<PortId> = std::iter::from_fn(|| self.switch.poll_ready()).collect();
            if named.is_empty() && due.is_empty() && self.on_line.is_empty() {
                break;
            }
            for port in named.into_iter().chain(due) {
                self.drain(port);
            }
            // The last frames on the lines complete as well.
            self.drain(PortId::new(0));
            while let Some(discarded) = self.switch.poll_discarded() {
                self.free.push(discarded.handle);
            }
        }
        while self.switch.poll_event().is_some() {}
        if self.switch.timers_moved() {
            self.timer = self.switch.next_timer();
        }
        // Work due before any port may send is due by a timer.
        let ports = (0..PORTS).map(PortId::new);
        let sends = ports
            .filter_map(|port| self.switch.next_transmit(port))
            .min();
        let actual = self.switch.next_timeout();
        if let Some(actual) = actual.filter(|actual| sends.is_none_or(|sends| *actual < sends)) {
            let known = self.timer.expect("a timer began unnoticed");
            assert!(known <= actual, "a timer became earlier unnoticed");
        }
        for port in (0..PORTS).map(PortId::new) {
            assert_eq!(
                self.switch.transmit(self.now, port),
                None,
                "port {port} was not named"
            );
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Receive { port, level, to } => {
                let Some(handle) = self.free.pop() else {
                    return;
                };
                let frame = Frame {
                    handle,
                    length: Bytes::new(1500),
                    priority: if level { LEVEL } else { PFC },
                    destination: address(to),
                    source: address(0x40 + port),
                    flow_hash: 0,
                };
                let port = PortId::new(port);
                let said = self.switch.explain(self.now, port, &frame);
                let waiting = |switch: &Switch| -> Vec<u64> {
                    let gauges =
                        |egress| switch.gauges(self.now, PortId::new(egress), frame.priority);
                    (0..PORTS)
                        .map(|egress| gauges(egress).egress_frames)
                        .collect()
                };
                let before = waiting(&self.switch);
                let taken = self.switch.receive(self.now, port, frame);
                assert_eq!(taken.err(), said.outcome.err(), "{said:?}");
                for (egress, (before, after)) in (0..).zip(before.iter().zip(waiting(&self.switch)))
                {
                    let is_way = said.egresses.contains(PortId::new(egress));
                    assert_eq!(after - before, u64::from(is_way), "{egress}: {said:?}");
                }
                if let Ok(outlook) = said.outcome {
                    let gauges = self.switch.gauges(self.now, port, frame.priority);
                    assert_eq!(gauges.ingress, outlook.occupancy);
                    assert!(gauges.pausing || !outlook.pauses);
                } else {
                    self.free.push(handle);
                }
            }
            Step::Pause {
                port,
                level,
                quanta,
            } => {
                let mut times = [None; 8];
                times[if level { LEVEL } else { PFC }.index()] = Some(Quanta(quanta));
                let mut bytes = [0; 64];
                MacControl::Pfc { times }.emit(address(0x70), &mut bytes);
                self.switch
                    .receive_mac_control(self.now, PortId::new(port), &bytes)
                    .unwrap();
            }
            Step::Release { ingress, egress } => {
                let _ = self.switch.apply(
                    self.now,
                    Command::Release {
                        ingress: PortId::new(ingress),
                        egress: PortId::new(egress),
                        priority: PFC,
                        period: Duration::from_micros(300),
                        preference: Duration::from_micros(100),
                        extra: Bytes::new(3000),
                    },
                );
            }
            Step::Wait { nanos } => self.now = self.now + Duration::from_nanos(nanos),
        }
        if self.timer.is_some_and(|at| at <= self.now) {
            self.switch.handle_timeout(self.now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_missed(special in special(), detects in any::<bool>(), steps in prop::collection::vec(step(), 1..200)) {
        let config = config(special, detects);
        let mut caller = Caller {
            free: (0..config.frame_count as u32).rev().map(FrameHandle).collect(),
            switch: Switch::new(config).unwrap(),
            now: Instant::from_nanos(1_000_000),
            on_line: Vec::new(),
            timer: None,
            next: [None; PORTS as usize],
        };
        caller.settle();
        for step in &steps {
            caller.take(step);
            caller.settle();
        }
    }
}

#[test]
fn timers_that_did_not_move_are_not_reported() {
    let mut switch = Switch::new(config(None, true)).unwrap();
    assert!(switch.timers_moved(), "they are new");
    assert!(!switch.timers_moved());
    switch.handle_timeout(Instant::ZERO);
    assert!(switch.timers_moved());
}
