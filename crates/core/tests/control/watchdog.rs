//! Stalls that the control plane declares a storm.

use weir_core::control::{
    ControlConfig, ControlPlane, LoopBreakerConfig, NoStormReason, Policy, ReportKind,
    StormNeighbour, QUEUE_CAPACITY,
};
use weir_core::event::{EventKind, SuspicionReason};
use weir_core::wire::clcm::{Clcm, Hop};
use weir_core::{Bytes, Command, Duration, Event, Instant, PortId, PortSet, Priority, Spuid};

const PRIORITY: Priority = Priority::ALL[3];
const FABRIC: PortId = PortId::new(0);
const OTHER_FABRIC: PortId = PortId::new(1);
const EDGE: PortId = PortId::new(2);

struct Bench {
    plane: ControlPlane,
    now: Instant,
    calls: Vec<PortId>,
    dismissed: Vec<(PortId, NoStormReason)>,
    clcm: Vec<Clcm>,
}

impl Bench {
    fn new(policy: Policy) -> Self {
        let config = ControlConfig {
            policy,
            clcm_interval: Duration::from_millis(5),
            release_period: Duration::from_millis(50),
            release_extra: Bytes::new(3072),
            loop_breaker: LoopBreakerConfig::default(),
            port_count: 3,
            fabric_ports: [FABRIC, OTHER_FABRIC].into_iter().collect(),
        };
        Self {
            plane: ControlPlane::new(config, 1),
            now: Instant::ZERO + Duration::from_millis(1),
            calls: Vec::new(),
            dismissed: Vec::new(),
            clcm: Vec::new(),
        }
    }

    fn event(&mut self, kind: EventKind) {
        self.plane.handle_event(&Event { at: self.now, kind });
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(command) = self.plane.poll_command() {
            match command {
                Command::CallStorm { egress, priority } => {
                    assert_eq!(priority, PRIORITY);
                    self.calls.push(egress);
                }
                Command::SendClcm { message, .. } => self.clcm.push(message),
                Command::Release { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        while let Some(report) = self.plane.poll_report() {
            if let ReportKind::NoStorm { reason } = report.kind {
                self.dismissed.push((report.port, reason));
            }
        }
    }

    fn know(&mut self, port: PortId, neighbour: StormNeighbour) {
        self.plane.set_storm_neighbour(self.now, port, neighbour);
        self.drain();
    }

    fn stall(&mut self, egress: PortId) {
        self.event(EventKind::PauseStalled {
            egress,
            priority: PRIORITY,
            idle: Duration::from_millis(200),
            queued: Bytes::new(1500),
        });
    }

    fn suspect(&mut self, egress: PortId) {
        self.event(EventKind::Suspected {
            egress,
            priority: PRIORITY,
            reason: SuspicionReason::Paused,
            queued: Bytes::new(1500),
            idle: Duration::from_millis(20),
            alternatives: false,
            alternatives_from: PortSet::EMPTY,
        });
    }

    fn clcm_from(&mut self, ingress: PortId, message: Clcm, toward: PortSet) {
        self.event(EventKind::ClcmReceived {
            ingress,
            message,
            toward,
        });
    }

    fn pass(&mut self, millis: u64) {
        for _ in 0..millis {
            self.now = self.now + Duration::from_millis(1);
            if self.plane.next_timeout().is_some_and(|due| due <= self.now) {
                self.plane.handle_timeout(self.now);
                self.drain();
            }
        }
    }
}

fn foreign() -> Clcm {
    let hop = Hop {
        spuid: Spuid(0xdead_beef),
        egress: PortId::new(9),
    };
    Clcm::begin(PRIORITY, hop)
}

#[test]
fn a_host_that_pauses_is_a_storm() {
    for policy in [
        Policy::Off,
        Policy::Breaker,
        Policy::Watchdog,
        Policy::Lifetime,
    ] {
        let mut bench = Bench::new(policy);
        bench.stall(EDGE);
        assert_eq!(bench.calls, [EDGE], "{policy:?}");
    }
}

#[test]
fn a_neighbour_that_judges_by_itself_makes_a_victim() {
    for policy in [Policy::Off, Policy::Breaker, Policy::Lifetime] {
        let mut bench = Bench::new(policy);
        bench.know(FABRIC, StormNeighbour::Judges);
        bench.suspect(FABRIC);
        bench.stall(FABRIC);
        bench.pass(1000);
        assert!(bench.calls.is_empty(), "{policy:?}");
        let reason = NoStormReason::NeighbourJudges;
        assert_eq!(bench.dismissed, [(FABRIC, reason)], "told once");
    }
}

#[test]
fn the_naive_policy_asks_no_neighbour() {
    let mut bench = Bench::new(Policy::Watchdog);
    bench.know(FABRIC, StormNeighbour::Judges);
    bench.stall(FABRIC);
    assert_eq!(bench.calls, [FABRIC]);
    bench.suspect(OTHER_FABRIC);
    assert!(bench.clcm.is_empty(), "no CLCM is spoken");
}

#[test]
fn a_regular_neighbour_is_a_storm_when_no_clcm_came_back() {
    let mut bench = Bench::new(Policy::Breaker);
    bench.know(FABRIC, StormNeighbour::Regular);
    bench.stall(FABRIC);
    bench.pass(100);
    assert!(bench.calls.is_empty(), "no CLCM has been sent yet");
    bench.suspect(FABRIC);
    bench.pass(19);
    assert!(bench.calls.is_empty(), "one may come back yet");
    bench.pass(1);
    assert_eq!(bench.calls, [FABRIC]);
    bench.pass(1000);
    assert_eq!(bench.calls, [FABRIC], "called once");
}

#[test]
fn a_clcm_that_comes_back_makes_no_storm_of_a_regular_neighbour() {
    let mut bench = Bench::new(Policy::Breaker);
    bench.know(FABRIC, StormNeighbour::Regular);
    bench.suspect(FABRIC);
    bench.stall(FABRIC);
    bench.pass(10);
    let own = bench.clcm[0];
    let toward = [FABRIC].into_iter().collect();
    bench.clcm_from(OTHER_FABRIC, own, toward);
    assert_eq!(bench.plane.counters().loops_found, 1);
    bench.pass(1000);
    assert!(bench.calls.is_empty());
}

#[test]
fn a_neighbour_that_sends_clcm_is_not_regular() {
    let mut bench = Bench::new(Policy::Breaker);
    bench.know(FABRIC, StormNeighbour::Regular);
    bench.clcm_from(FABRIC, foreign(), PortSet::EMPTY);
    bench.suspect(FABRIC);
    bench.stall(FABRIC);
    bench.pass(1000);
    assert!(bench.calls.is_empty());
    // Another neighbour may have come.
    bench.plane.forget_neighbour(FABRIC);
    bench.event(EventKind::PauseStallEnded {
        egress: FABRIC,
        priority: PRIORITY,
    });
    bench.stall(FABRIC);
    bench.pass(1000);
    assert_eq!(bench.calls, [FABRIC]);
}

#[test]
fn an_unknown_neighbour_is_given_time_until_it_is_known() {
    let mut bench = Bench::new(Policy::Off);
    bench.stall(FABRIC);
    bench.pass(1000);
    assert!(bench.calls.is_empty());
    let reason = NoStormReason::UnknownNeighbour;
    assert_eq!(bench.dismissed, [(FABRIC, reason)]);
    assert!(bench.plane.has_stalls());
    bench.know(FABRIC, StormNeighbour::Regular);
    assert_eq!(bench.calls, [FABRIC], "judged anew");
}

#[test]
fn a_stall_that_is_over_is_not_called() {
    let mut bench = Bench::new(Policy::Breaker);
    bench.know(FABRIC, StormNeighbour::Regular);
    bench.suspect(FABRIC);
    bench.stall(FABRIC);
    bench.pass(10);
    bench.event(EventKind::PauseStallEnded {
        egress: FABRIC,
        priority: PRIORITY,
    });
    assert!(!bench.plane.has_stalls());
    bench.pass(1000);
    assert!(bench.calls.is_empty());
}

#[test]
fn a_storm_is_called_in_time_though_the_suspicion_has_ended() {
    let mut bench = Bench::new(Policy::Breaker);
    bench.know(FABRIC, StormNeighbour::Regular);
    bench.suspect(FABRIC);
    bench.stall(FABRIC);
    bench.event(EventKind::SuspicionEnded {
        egress: FABRIC,
        priority: PRIORITY,
        lasted: Duration::from_millis(20),
    });
    bench.pass(20);
    assert_eq!(bench.calls, [FABRIC]);
}

#[test]
fn queues_that_are_not_drained_stay_bounded_and_the_overflow_is_counted() {
    let mut plane = Bench::new(Policy::Off).plane;
    let stall = |plane: &mut ControlPlane, egress| {
        let kind = EventKind::PauseStalled {
            egress,
            priority: PRIORITY,
            idle: Duration::from_millis(200),
            queued: Bytes::new(1500),
        };
        let at = Instant::ZERO;
        plane.handle_event(&Event { at, kind });
    };
    for _ in 0..QUEUE_CAPACITY {
        // A command, and a report.
        stall(&mut plane, EDGE);
        stall(&mut plane, FABRIC);
    }
    assert_eq!(plane.counters().overflows, 0);
    for overflows in 1..=2 {
        stall(&mut plane, EDGE);
        assert_eq!(plane.counters().overflows, overflows);
    }
    stall(&mut plane, FABRIC);
    assert_eq!(plane.counters().overflows, 3);
    let commands = std::iter::from_fn(|| plane.poll_command()).count();
    let reports = std::iter::from_fn(|| plane.poll_report()).count();
    assert_eq!((commands, reports), (QUEUE_CAPACITY, QUEUE_CAPACITY));
}
