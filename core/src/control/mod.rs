//! The control plane's state machine: the Deadlock Breaker of the CLCM paper's section 3.3.
//!
//! It sees only [`Event`]s and answers with [`Command`]s, so that a simulator can put latency and loss
//! between it and the dataplane. Like the dataplane it reads no clock and draws no randomness but from
//! its seed.
//!
//! # How the paper is read
//!
//! * A switch that begins a message records itself as its first hop, exactly as a switch that passes it
//!   on does. The paper leaves open whether CurIndex 0 is the sender's; recording it saves one hop.
//! * The switch that finds its own identifier at index J is the first hop of the release phase: it
//!   releases its own {ingress, EgressPorts\[J\]} and sends the message on with CurIndex = J + 1. Read
//!   literally it would be left out, since the message is dropped at the last entry, before it comes
//!   back.
//! * A release is obeyed only where SPUIDs\[CurIndex\] is the identifier that this switch gave that
//!   egress: old and forged messages release nothing.
//! * Only fabric ports take part: no credit loop runs through a host.

pub mod neighbours;
mod random;
mod report;
mod suspects;

use std::collections::VecDeque;

use suspects::Suspects;

pub use report::{ControlCounters, IgnoreReason, Report, ReportKind};

use crate::command::Command;
use crate::event::{Event, EventKind};
use crate::port_set::PortSet;
use crate::units::{Bytes, Duration, Instant, PortId, Priority};
use crate::wire::clcm::{Clcm, Hop, Phase};

/// Commands and reports that wait to be polled at most, each.
pub const QUEUE_CAPACITY: usize = 1024;

/// What is done about a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Nothing: it is detected and reported.
    Off,
    /// The Deadlock Breaker releases the loop (CLCM paper, section 3.3).
    Breaker,
}

/// Settings of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlConfig {
    /// What is done about a deadlock.
    pub policy: Policy,
    /// Time between two CLCM by one suspected egress.
    pub clcm_interval: Duration,
    /// For how long a release holds.
    pub release_period: Duration,
    /// Additional buffer of the loop's ingress port while it is released.
    pub release_extra: Bytes,
    /// Ports of the switch.
    pub port_count: usize,
    /// Ports that face switches.
    pub fabric_ports: PortSet,
}

/// The control plane of one switch. After each call of [`handle_event`](Self::handle_event) or
/// [`handle_timeout`](Self::handle_timeout), drain [`poll_command`](Self::poll_command) and
/// [`poll_report`](Self::poll_report), and ask [`next_timeout`](Self::next_timeout) anew. Timeouts that
/// come early do nothing.
#[derive(Debug)]
pub struct ControlPlane {
    config: ControlConfig,
    suspects: Suspects,
    commands: VecDeque<Command>,
    reports: VecDeque<Report>,
    counters: ControlCounters,
}

impl ControlPlane {
    /// A control plane that suspects nothing. Switches of one network need different seeds: their
    /// identifiers must differ.
    pub fn new(config: ControlConfig, seed: u64) -> Self {
        Self {
            suspects: Suspects::new(
                config.port_count,
                seed,
                config.clcm_interval.saturating_mul(4),
            ),
            config,
            commands: VecDeque::with_capacity(QUEUE_CAPACITY),
            reports: VecDeque::with_capacity(QUEUE_CAPACITY),
            counters: ControlCounters::default(),
        }
    }

    /// What has been counted.
    pub fn counters(&self) -> &ControlCounters {
        &self.counters
    }

    /// The next request to the dataplane, oldest first.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next thing to tell people, oldest first.
    pub fn poll_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// Takes note of what happened in the dataplane; `event.at` is now.
    pub fn handle_event(&mut self, event: &Event) {
        let now = event.at;
        match event.kind {
            EventKind::Suspected {
                egress, priority, ..
            } => self.begin(now, egress, priority),
            EventKind::SuspicionEnded {
                egress, priority, ..
            } => self.suspects.end(now, egress, priority),
            EventKind::ClcmReceived {
                ingress,
                message,
                toward,
            } => self.receive(now, ingress, &message, &toward),
            EventKind::FlowMoved { .. }
            | EventKind::Rerouted { .. }
            | EventKind::ReleaseStarted { .. }
            | EventKind::ReleaseEnded { .. }
            | EventKind::RouteTooLong { .. }
            | EventKind::RoundTripExceeded { .. }
            | EventKind::HeadroomExceeded { .. } => {}
        }
    }

    /// Sends what is due. O(ports).
    pub fn handle_timeout(&mut self, now: Instant) {
        for index in 0..self.config.port_count {
            for priority in Priority::ALL {
                let Some(egress) = PortId::from_index(index) else {
                    return;
                };
                let due = self
                    .suspects
                    .current(egress, priority)
                    .is_some_and(|suspect| suspect.next_send <= now);
                if due {
                    self.send_own(now, egress, priority);
                }
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due; `None` while nothing is suspected.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.suspects
            .iter_current()
            .map(|(_, _, suspect)| suspect.next_send)
            .min()
    }

    fn begin(&mut self, now: Instant, egress: PortId, priority: Priority) {
        if self.config.policy == Policy::Off || !self.config.fabric_ports.contains(egress) {
            return;
        }
        if let Some(spuid) = self.suspects.begin(now, egress, priority) {
            self.report(now, egress, priority, ReportKind::SpuidAssigned { spuid });
            self.send_own(now, egress, priority);
        }
    }

    fn send_own(&mut self, now: Instant, egress: PortId, priority: Priority) {
        let interval = self.config.clcm_interval;
        let Some(suspect) = self.suspects.get_mut(egress, priority) else {
            return;
        };
        suspect.next_send = now + interval;
        let spuid = suspect.spuid;
        self.counters.clcm_sent += 1;
        self.command(Command::SendClcm {
            port: egress,
            message: Clcm::begin(priority, Hop { spuid, egress }),
        });
        self.report(now, egress, priority, ReportKind::ClcmSent { spuid });
    }

    fn receive(&mut self, now: Instant, ingress: PortId, message: &Clcm, toward: &PortSet) {
        if self.config.policy == Policy::Off {
            self.ignore(now, ingress, message, IgnoreReason::PolicyOff);
            return;
        }
        match message.phase() {
            Phase::Detection => self.receive_detection(now, ingress, message, toward),
            Phase::Release { current } => {
                self.receive_release(now, ingress, message, usize::from(current));
            }
        }
    }

    fn receive_detection(
        &mut self,
        now: Instant,
        ingress: PortId,
        message: &Clcm,
        toward: &PortSet,
    ) {
        let priority = message.priority();
        let own = message
            .hops()
            .iter()
            .position(|hop| self.suspects.is_own(priority, hop.spuid));
        if let Some(index) = own {
            let hop = message.hops()[index];
            let on_loop = toward.contains(hop.egress)
                && self
                    .suspects
                    .current(hop.egress, priority)
                    .is_some_and(|suspect| suspect.spuid == hop.spuid);
            if !on_loop {
                self.ignore(now, ingress, message, IgnoreReason::NotOnLoop);
                return;
            }
            self.counters.loops_found += 1;
            let length = (message.hops().len() - index) as u8;
            let egress = hop.egress;
            self.report(
                now,
                ingress,
                priority,
                ReportKind::LoopFound { egress, length },
            );
            self.release(now, ingress, message, index);
            return;
        }
        let candidates = self.suspected_among(priority, toward);
        if candidates.is_empty() {
            self.ignore(now, ingress, message, IgnoreReason::NotSuspected);
            return;
        }
        let choice = self.suspects.choose(candidates.count());
        let Some((egress, spuid)) = candidates.iter().nth(choice).and_then(|egress| {
            let suspect = self.suspects.current(egress, priority)?;
            Some((egress, suspect.spuid))
        }) else {
            return;
        };
        let mut message = *message;
        if message.push(Hop { spuid, egress }).is_err() {
            self.ignore(now, ingress, &message, IgnoreReason::HopsFull);
            return;
        }
        self.forward(now, ingress, egress, message);
    }

    fn receive_release(&mut self, now: Instant, ingress: PortId, message: &Clcm, index: usize) {
        let known = message.hops().get(index).is_some_and(|hop| {
            self.suspects
                .is_known(now, hop.egress, message.priority(), hop.spuid)
        });
        if known {
            self.release(now, ingress, message, index);
        } else {
            self.ignore(now, ingress, message, IgnoreReason::UnknownSpuid);
        }
    }

    /// Releases {`ingress`, EgressPorts\[`index`\]} and sends the message to the next hop of the loop.
    fn release(&mut self, now: Instant, ingress: PortId, message: &Clcm, index: usize) {
        let priority = message.priority();
        let egress = message.hops()[index].egress;
        let interval = self.config.clcm_interval;
        let due = self
            .suspects
            .get_mut(egress, priority)
            .is_some_and(|suspect| suspect.take_release(now, interval));
        if due {
            self.counters.releases_ordered += 1;
            self.command(Command::Release {
                ingress,
                egress,
                priority,
                period: self.config.release_period,
                extra: self.config.release_extra,
            });
            self.report(
                now,
                ingress,
                priority,
                ReportKind::ReleaseOrdered { egress },
            );
        }
        match message.released_at(index + 1) {
            Some(next) => self.forward(now, ingress, egress, next),
            None => self.ignore(now, ingress, message, IgnoreReason::LoopComplete),
        }
    }

    fn forward(&mut self, now: Instant, ingress: PortId, egress: PortId, message: Clcm) {
        self.counters.clcm_forwarded += 1;
        let hops = message.hops().len() as u8;
        self.command(Command::SendClcm {
            port: egress,
            message,
        });
        self.report(
            now,
            ingress,
            message.priority(),
            ReportKind::ClcmForwarded { egress, hops },
        );
    }

    fn ignore(&mut self, now: Instant, ingress: PortId, message: &Clcm, reason: IgnoreReason) {
        self.counters.clcm_ignored[reason as usize] += 1;
        self.report(
            now,
            ingress,
            message.priority(),
            ReportKind::ClcmIgnored { reason },
        );
    }

    fn suspected_among(&self, priority: Priority, ports: &PortSet) -> PortSet {
        ports
            .iter()
            .filter(|egress| self.suspects.current(*egress, priority).is_some())
            .collect()
    }

    fn command(&mut self, command: Command) {
        if self.commands.len() < QUEUE_CAPACITY {
            self.commands.push_back(command);
        } else {
            self.counters.overflows += 1;
        }
    }

    fn report(&mut self, at: Instant, port: PortId, priority: Priority, kind: ReportKind) {
        if self.reports.len() < QUEUE_CAPACITY {
            self.reports.push_back(Report {
                at,
                port,
                priority,
                kind,
            });
        } else {
            self.counters.overflows += 1;
        }
    }
}
