//! State machine of the control plane: Loop Breaker (`loop_breaker`: the election) and Deadlock Breaker
//! (`deadlock_breaker`: detection and release) of the CLCM paper's section 3. `suspects` has the suspected egress
//! ports.
//!
//! It sees only [`Event`]s and answers with [`Command`]s, so that a simulator can put latency and loss between it and
//! the dataplane. It reads no clock, and its only randomness comes from its seed.
//!
//! # Reading of the paper
//!
//! * A switch that starts a message records itself as its first hop, as a switch that forwards it does. The paper
//!   leaves open whether CurIndex 0 is the sender's; recording it saves one hop.
//! * The switch that finds its own identifier at index J is the first hop of the release phase: it releases its own
//!   {ingress, EgressPorts\[J\]} and forwards the message with CurIndex = J + 1. Read literally it would be left out,
//!   since the message is dropped at the last entry, before it returns.
//! * A release is obeyed only if SPUIDs\[CurIndex\] is the identifier that this switch gave that egress: old and forged
//!   messages release nothing.
//! * Only fabric ports take part: no credit loop runs through a host.
//! * In the election a switch forwards a lower SPUID and keeps sending its own; the paper replaces its own. The lowest
//!   SPUID may belong to a switch outside the loop that waits for it. If every switch adopted it, it would circulate
//!   for ever without returning to its owner, and the loop would have no master. Forwarded as its sender's message, it
//!   ends where it meets a switch for the second time, and the lowest SPUID of the loop itself returns to its owner.
//! * The Loop Breaker also checks that frames received on the message's port wait for the suspected egress: without
//!   that, crossing loops elect false masters.
//! * A switch that was elected but could move no flow leaves the election to others and rejoins after a while, since
//!   paths come and go. In the paper every switch tries once. See `suspects.rs` for the duration.
//!
//! Design: docs/src/internals/design/deadlock.md.

mod back_off;
mod config;
pub mod counters;
mod deadlock_breaker;
#[cfg(feature = "testing")]
mod digest;
mod flap_damping;
mod loop_breaker;
pub mod neighbours;
mod report;
mod suspects;
mod watchdog;

use std::collections::VecDeque;

use suspects::Suspects;
use watchdog::Watchdog;

pub use back_off::BACK_OFF_MAX;
pub use config::{ControlConfig, LoopBreakerConfig, NoAlternative, Policy};
pub use counters::ControlCounters;
pub use flap_damping::{DampingConfig, FlapDamping, FLAP_PENALTY};
pub use report::{IgnoreReason, NoStormReason, Report, ReportKind};
pub use watchdog::StormNeighbour;

use crate::command::Command;
use crate::event::{Event, EventKind};
use crate::sets::PortSet;
use crate::units::{Duration, Instant, PortId, Priority};
use crate::wire::clcm::{Clcm, Hop, Phase};

/// Maximum number of commands, and of reports, that wait to be polled.
pub const QUEUE_CAPACITY: usize = 1024;

/// A suspicion continues the previous one if it begins within this many detection times and CLCM
/// intervals after its end.
const RECENT: u64 = 8;

/// Returns how long an identifier is still recognised after the egress has moved.
fn identifier_memory(clcm_interval: Duration) -> Duration {
    clcm_interval.saturating_mul(4)
}

/// Unanswered messages of one suspicion before this is reported.
const UNANSWERED_MAX: u64 = 16;

/// The control plane of one switch. After each call of [`handle_event`](Self::handle_event) or
/// [`handle_timeout`](Self::handle_timeout), drain [`poll_command`](Self::poll_command) and
/// [`poll_report`](Self::poll_report), and call [`next_timeout`](Self::next_timeout) again. Early timeouts have no
/// effect.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub struct ControlPlane {
    config: ControlConfig,
    suspects: Suspects,
    watchdog: Watchdog,
    commands: VecDeque<Command>,
    reports: VecDeque<Report>,
    counters: ControlCounters,
}

impl ControlPlane {
    /// Creates a control plane without suspicions. Switches of one network need different seeds, so that their
    /// identifiers differ.
    pub fn new(config: ControlConfig, seed: u64) -> Self {
        Self {
            suspects: Suspects::new(
                config.port_count,
                seed,
                identifier_memory(config.clcm_interval),
            ),
            watchdog: Watchdog::new(config.port_count),
            config,
            commands: VecDeque::new(),
            reports: VecDeque::new(),
            counters: ControlCounters::default(),
        }
    }

    /// Applies other settings. Ports and their roles stay. Present suspicions send no more messages if the policy sends
    /// none; otherwise they continue. Suspicions for which the old policy sent no messages are picked up when the
    /// dataplane reports them again ([`Command::SetDetector`]).
    pub fn reconfigure(&mut self, config: ControlConfig) {
        self.config = ControlConfig {
            port_count: self.config.port_count,
            fabric_ports: self.config.fabric_ports,
            ..config
        };
        self.suspects
            .set_memory(identifier_memory(config.clcm_interval));
        if !config.policy.speaks_clcm() {
            self.suspects.silence();
        }
    }

    /// The counters.
    pub fn counters(&self) -> &ControlCounters {
        &self.counters
    }

    /// The next request to the dataplane, oldest first.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next report, oldest first.
    pub fn poll_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// Handles an event of the dataplane, which happened at `event.at`.
    pub fn handle_event(&mut self, event: &Event) {
        let now = event.at;
        match event.kind {
            EventKind::Suspected {
                egress,
                priority,
                alternatives_from,
                idle,
                ..
            } => {
                self.begin(now, egress, priority, &alternatives_from, idle);
                self.note_suspected_stall(now, egress, priority);
            }
            EventKind::SuspicionEnded {
                egress, priority, ..
            } => self.suspects.end(now, egress, priority),
            EventKind::ClcmReceived {
                ingress,
                message,
                toward,
            } => {
                self.note_clcm_from(now, ingress);
                self.receive(now, ingress, &message, &toward);
            }
            EventKind::Rerouted {
                selection,
                egress,
                priority,
                moved,
                ..
            } => self.note_rerouted(now, selection, egress, priority, moved),
            EventKind::WaysChanged => self.suspects.note_ways(now, self.config.clcm_interval),
            EventKind::PauseStalled {
                egress, priority, ..
            } => self.begin_stall(now, egress, priority),
            EventKind::PauseStallEnded { egress, priority }
            | EventKind::StormRestored {
                egress, priority, ..
            } => self.end_stall(egress, priority),
            EventKind::FlowMoved { .. }
            | EventKind::TrafficReleaseEnded { .. }
            | EventKind::ReleaseStarted { .. }
            | EventKind::ReleaseEnded { .. }
            | EventKind::RouteTooLong { .. }
            | EventKind::ForwardingLoop { .. }
            | EventKind::ForwardingLoopEnded { .. }
            | EventKind::LoopBehind { .. }
            | EventKind::AddressMoves { .. }
            | EventKind::RoundTripExceeded { .. }
            | EventKind::CableExceeded { .. }
            | EventKind::CableFits { .. }
            | EventKind::TransmitterStalled { .. }
            | EventKind::TransmitterResumed { .. }
            | EventKind::LearningTableFull { .. }
            | EventKind::DataplaneStalled { .. }
            | EventKind::HeadroomExceeded { .. }
            | EventKind::StormDetected { .. }
            | EventKind::LifetimeStalled { .. } => {}
        }
    }

    /// Sends messages that are due. O(ports).
    pub fn handle_timeout(&mut self, now: Instant) {
        self.judge_due_stalls(now);
        for index in 0..self.config.port_count {
            for priority in Priority::ALL {
                let Some(egress) = PortId::from_index(index) else {
                    return;
                };
                let Some(suspect) = self.suspects.current(egress, priority) else {
                    continue;
                };
                let election = suspect.next_election <= now;
                let detection = suspect.next_detection <= now;
                if election {
                    self.send_own(now, egress, priority, Phase::Election);
                }
                if detection {
                    self.send_own(now, egress, priority, Phase::Detection);
                }
                if election || detection {
                    self.look_for_answers(now, egress, priority);
                }
            }
        }
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due; `None` while nothing is suspected or stalled.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.suspects
            .iter_current()
            .map(|(_, _, suspect)| suspect.next_election.min(suspect.next_detection))
            .chain(self.watchdog.next_timeout())
            .min()
            .filter(|at| *at != Instant::FAR_FUTURE)
    }

    fn begin(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        alternatives_from: &PortSet,
        idle: Duration,
    ) {
        let policy = self.config.policy;
        if !policy.speaks_clcm() || !self.config.fabric_ports.contains(egress) {
            return;
        }
        let forwards = self.config.loop_breaker.no_alternative == NoAlternative::Forward;
        // A loop enters by a fabric port: frames received from a host are not on it.
        let fabric = &self.config.fabric_ports;
        let has_path = alternatives_from.iter().any(|port| fabric.contains(port));
        let interval = self.config.clcm_interval;
        let recent = (idle + interval).saturating_mul(RECENT);
        let Some(suspect) = self.suspects.begin(now, egress, priority, recent) else {
            return;
        };
        suspect.idle = idle;
        let spuid = suspect.spuid;
        let was_master = suspect.mastership.is_some();
        let elects = policy.reroutes() && (has_path || !forwards || was_master);
        if elects {
            suspect.next_election = now;
        } else if policy.reroutes() {
            suspect.stay_out(now, interval);
        }
        if policy.releases() {
            // An election that comes first moves flows before the loop moves and no switch suspects it.
            suspect.next_detection = if policy.reroutes() {
                now + interval
            } else {
                now
            };
        }
        self.report(now, egress, priority, ReportKind::SpuidAssigned { spuid });
        if elects {
            self.send_own(now, egress, priority, Phase::Election);
        } else if !policy.reroutes() {
            self.send_own(now, egress, priority, Phase::Detection);
        }
    }

    fn send_own(&mut self, now: Instant, egress: PortId, priority: Priority, phase: Phase) {
        let next = now + self.config.clcm_interval;
        let Some(suspect) = self.suspects.get_mut(egress, priority) else {
            return;
        };
        let spuid = suspect.spuid;
        let hop = Hop { spuid, egress };
        let message = if phase == Phase::Election {
            suspect.stand(now, next);
            Clcm::begin_election(priority, hop)
        } else {
            suspect.next_detection = next;
            Clcm::begin(priority, hop)
        };
        self.counters.clcm_sent += 1;
        self.command(Command::SendClcm {
            port: egress,
            message,
        });
        self.report(now, egress, priority, ReportKind::ClcmSent { spuid });
    }

    /// Reports once that a suspicion has had no answer: either the traffic waits for a host, or a switch of the loop
    /// does not support CLCM.
    fn look_for_answers(&mut self, now: Instant, egress: PortId, priority: Priority) {
        let limit = self.config.clcm_interval.saturating_mul(UNANSWERED_MAX);
        let Some(suspect) = self.suspects.current_mut(egress, priority) else {
            return;
        };
        let lasted = now.saturating_since(suspect.began);
        if suspect.is_answered || suspect.is_reported_unanswered || lasted < limit {
            return;
        }
        suspect.is_reported_unanswered = true;
        self.counters.unanswered += 1;
        self.report(now, egress, priority, ReportKind::Unanswered { lasted });
    }

    fn receive(&mut self, now: Instant, ingress: PortId, message: &Clcm, toward: &PortSet) {
        let policy = self.config.policy;
        let understood = match message.phase() {
            Phase::Election => policy.reroutes(),
            Phase::Detection | Phase::Release { .. } => policy.releases(),
        };
        if !understood {
            let reason = if policy.speaks_clcm() {
                IgnoreReason::OtherPolicy
            } else {
                IgnoreReason::PolicyOff
            };
            self.ignore(now, ingress, message, reason);
            return;
        }
        match message.phase() {
            Phase::Election => self.receive_election(now, ingress, message, toward),
            Phase::Detection => self.receive_detection(now, ingress, message, toward),
            Phase::Release { current } => {
                self.receive_release(now, ingress, message, usize::from(current), toward);
            }
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
        self.counters.clcm_ignored[reason.index()] += 1;
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
