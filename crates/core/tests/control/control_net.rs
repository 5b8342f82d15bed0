//! A network of control planes without dataplane: messages are delayed, lost and duplicated by seed.

#![allow(dead_code)] // each test uses some of it

use std::collections::{BTreeSet, VecDeque};

use weir_core::command::RerouteSelection;
use weir_core::control::{
    ControlConfig, ControlPlane, LoopBreakerConfig, NoAlternative, Policy, Report,
};
use weir_core::event::{EventKind, SuspicionReason};
use weir_core::wire::clcm::Clcm;
use weir_core::{Bytes, Command, Duration, Event, Instant, PortId, PortSet, Priority};

pub const PRIORITY: Priority = Priority::ALL[3];
pub const OTHER_PRIORITY: Priority = Priority::ALL[5];
pub const INTERVAL: Duration = Duration::from_millis(5);
pub const PORTS: usize = 4;

pub fn port(number: u8) -> PortId {
    PortId::new(number)
}

/// Ports 0 to 2 face switches, port 3 a host.
pub fn config(policy: Policy) -> ControlConfig {
    ControlConfig {
        policy,
        clcm_interval: INTERVAL,
        release_period: Duration::from_millis(50),
        release_extra: Bytes::new(3072),
        loop_breaker: LoopBreakerConfig {
            no_alternative: NoAlternative::Forward,
            ..LoopBreakerConfig::default()
        },
        port_count: PORTS,
        fabric_ports: (0..3).map(port).collect(),
    }
}

pub fn plane(seed: u64) -> ControlPlane {
    ControlPlane::new(config(Policy::Breaker), seed)
}

/// Destination of an egress, and the frames that wait for it.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub switch: usize,
    pub egress: u8,
    pub to: (usize, u8),
}

/// Switches whose ports wait for each other.
pub struct Net {
    pub now: Instant,
    pub planes: Vec<ControlPlane>,
    pub waits: Vec<Wait>,
    /// (switch, ingress, egress): frames from the ingress wait for the egress.
    pub toward: BTreeSet<(usize, u8, u8)>,
    messages: VecDeque<(Instant, usize, u8, Clcm)>,
    /// Released (switch, ingress, egress).
    pub released: BTreeSet<(usize, u8, u8)>,
    /// Released at [`OTHER_PRIORITY`].
    pub released_other: BTreeSet<(usize, u8, u8)>,
    /// Ordered reroutes: (switch, selection, egress).
    pub reroutes: Vec<(usize, RerouteSelection, u8)>,
    /// Steps of traffic releases: (switch, ingress, egress, bytes).
    pub forced: Vec<(usize, u8, u8, u64)>,
    /// (switch, egress) at which some flow has another path.
    pub alternatives: BTreeSet<(usize, u8)>,
    pub reports: Vec<(usize, Report)>,
    pub sent: u64,
    random: u64,
    pub loss_percent: u64,
}

impl Net {
    pub fn new(switches: usize, seed: u64) -> Self {
        Self::with(switches, seed, config(Policy::Breaker))
    }

    pub fn with(switches: usize, seed: u64, config: ControlConfig) -> Self {
        let plane = |n| ControlPlane::new(config, seed * 1000 + n as u64);
        Self {
            now: Instant::ZERO,
            planes: (0..switches).map(plane).collect(),
            waits: Vec::new(),
            toward: BTreeSet::new(),
            messages: VecDeque::new(),
            released: BTreeSet::new(),
            released_other: BTreeSet::new(),
            reroutes: Vec::new(),
            forced: Vec::new(),
            alternatives: BTreeSet::new(),
            reports: Vec::new(),
            sent: 0,
            random: seed,
            loss_percent: 0,
        }
    }

    /// `switches` in a ring, each waiting for the next: egress 0, ingress 1.
    pub fn ring(switches: usize, seed: u64) -> Self {
        Self::ring_with(switches, seed, config(Policy::Breaker))
    }

    pub fn ring_with(switches: usize, seed: u64, config: ControlConfig) -> Self {
        let mut net = Self::with(switches, seed, config);
        for switch in 0..switches {
            net.link(switch, 0, (switch + 1) % switches, 1);
            net.toward.insert((switch, 1, 0));
        }
        net
    }

    pub fn link(&mut self, switch: usize, egress: u8, to: usize, ingress: u8) {
        let to = (to, ingress);
        self.waits.push(Wait { switch, egress, to });
    }

    pub fn random(&mut self, below: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) % below
    }

    pub fn suspect_all(&mut self) {
        for wait in self.waits.clone() {
            self.now = self.now + Duration::from_micros(700);
            let has_path = self.alternatives.contains(&(wait.switch, wait.egress));
            let event = match has_path {
                true => suspected_with_paths(self.now, wait.egress),
                false => suspected(self.now, wait.egress),
            };
            self.planes[wait.switch].handle_event(&event);
            self.collect(wait.switch);
        }
    }

    /// Makes every egress suspected at [`OTHER_PRIORITY`] as well.
    pub fn suspect_all_of_the_other_priority(&mut self) {
        for wait in self.waits.clone() {
            let mut event = suspected(self.now, wait.egress);
            if let EventKind::Suspected { priority, .. } = &mut event.kind {
                *priority = OTHER_PRIORITY;
            }
            self.planes[wait.switch].handle_event(&event);
            self.collect(wait.switch);
        }
    }

    /// Takes commands; messages arrive after a random delay, are lost, or arrive twice.
    pub fn collect(&mut self, switch: usize) {
        while let Some(report) = self.planes[switch].poll_report() {
            self.reports.push((switch, report));
        }
        while let Some(command) = self.planes[switch].poll_command() {
            match command {
                Command::SendClcm {
                    port: egress,
                    message,
                } => {
                    self.sent += 1;
                    let wait = self
                        .waits
                        .iter()
                        .find(|wait| (wait.switch, wait.egress) == (switch, egress.get()));
                    let (to, ingress) = wait.expect("sent by a suspected port").to;
                    let copies = match self.random(100) {
                        roll if roll < self.loss_percent => 0,
                        roll if roll >= 100 - self.loss_percent => 2,
                        _ => 1,
                    };
                    for _ in 0..copies {
                        let delay = Duration::from_micros(100 + self.random(900));
                        self.messages
                            .push_back((self.now + delay, to, ingress, message));
                    }
                }
                Command::Release {
                    ingress,
                    egress,
                    priority,
                    ..
                } => {
                    let pair = (switch, ingress.get(), egress.get());
                    if priority == PRIORITY {
                        self.released.insert(pair);
                    } else {
                        assert_eq!(priority, OTHER_PRIORITY);
                        self.released_other.insert(pair);
                    }
                }
                Command::Reroute {
                    selection,
                    egress,
                    priority,
                    ..
                } => self.reroute(switch, selection, egress, priority),
                Command::TrafficRelease {
                    ingress,
                    egress,
                    amount,
                    ..
                } => {
                    let step = (switch, ingress.get(), egress.get(), amount.get());
                    self.forced.push(step);
                }
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    pub fn reroute(
        &mut self,
        switch: usize,
        selection: RerouteSelection,
        egress: PortId,
        priority: Priority,
    ) {
        self.reroutes.push((switch, selection, egress.get()));
        let entering = matches!(selection, RerouteSelection::NotFrom(_));
        let has_path = entering || self.alternatives.contains(&(switch, egress.get()));
        let event = Event {
            at: self.now,
            kind: EventKind::Rerouted {
                selection,
                egress,
                priority,
                moved: u32::from(has_path),
                stuck: u32::from(!has_path),
            },
        };
        self.planes[switch].handle_event(&event);
        self.collect(switch);
    }

    pub fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.now = self.now + Duration::from_micros(100);
            for index in (0..self.messages.len()).rev() {
                if self.messages[index].0 <= self.now {
                    let (_, switch, ingress, message) = self.messages.remove(index).unwrap();
                    let toward: PortSet = self
                        .toward
                        .iter()
                        .filter(|(s, i, _)| (*s, *i) == (switch, ingress))
                        .map(|(_, _, egress)| port(*egress))
                        .collect();
                    self.planes[switch].handle_event(&Event {
                        at: self.now,
                        kind: EventKind::ClcmReceived {
                            ingress: port(ingress),
                            message,
                            toward,
                        },
                    });
                    self.collect(switch);
                }
            }
            for switch in 0..self.planes.len() {
                if self.planes[switch]
                    .next_timeout()
                    .is_some_and(|at| at <= self.now)
                {
                    self.planes[switch].handle_timeout(self.now);
                    self.collect(switch);
                }
            }
        }
    }
}

pub fn suspected(at: Instant, egress: u8) -> Event {
    Event {
        at,
        kind: EventKind::Suspected {
            egress: port(egress),
            priority: PRIORITY,
            reason: SuspicionReason::Paused,
            queued: Bytes::new(100_000),
            idle: Duration::from_millis(100),
            alternatives: false,
            alternatives_from: PortSet::EMPTY,
        },
    }
}

/// [`suspected`], with other paths for the frames of all fabric ports.
pub fn suspected_with_paths(at: Instant, egress: u8) -> Event {
    let mut event = suspected(at, egress);
    if let EventKind::Suspected {
        alternatives,
        alternatives_from,
        ..
    } = &mut event.kind
    {
        *alternatives = true;
        *alternatives_from = (0..3).map(port).collect();
    }
    event
}

pub fn ended(at: Instant, egress: u8) -> Event {
    Event {
        at,
        kind: EventKind::SuspicionEnded {
            egress: port(egress),
            priority: PRIORITY,
            lasted: Duration::from_millis(1),
        },
    }
}

pub fn received(at: Instant, ingress: u8, message: Clcm, toward: &[u8]) -> Event {
    Event {
        at,
        kind: EventKind::ClcmReceived {
            ingress: port(ingress),
            message,
            toward: toward.iter().map(|n| port(*n)).collect(),
        },
    }
}

/// All pairs of the ring: each switch between its ring ports.
pub fn whole_ring(switches: usize) -> BTreeSet<(usize, u8, u8)> {
    (0..switches).map(|switch| (switch, 1, 0)).collect()
}
