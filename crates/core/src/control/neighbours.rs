//! Discovery of the neighbour on each link: the LLDP agent of IEEE 802.1AB as a state machine, and the conclusions
//! drawn from announcements.
//!
//! Like the rest of the control plane it reads no clock and does no I/O. The caller
//!
//! * passes received frames to [`receive`](Neighbours::receive) and link states to [`set_link`](Neighbours::set_link),
//! * calls [`handle_timeout`](Neighbours::handle_timeout) at [`next_timeout`](Neighbours::next_timeout) or later (early
//!   or repeated calls have no effect),
//! * and after each of these sends the frames of [`poll_transmit`](Neighbours::poll_transmit), and drains
//!   [`poll_command`](Neighbours::poll_command) and [`poll_report`](Neighbours::poll_report).
//!
//! # Sending
//!
//! One frame in each interval (msgTxInterval, clause 9.2.5.7), valid for four intervals and a second (msgTxHold). When
//! a port comes up or a new neighbour appears, [`FAST_FRAMES`] frames are sent a second apart (txFastInit, msgFastTx;
//! clause 9.2.5). No port ever sends more than one per second, which is stricter than the standard's txCredit.
//!
//! # Conclusions
//!
//! See [`judge`] and [`credits`]. A port's neighbour is forgotten when its time to live ends, when it sends a shutdown LLDPDU, and when
//! the link goes down: the next one may be another.

mod credits;
mod judge;
mod port;

use std::collections::VecDeque;

pub use credits::CreditMismatch;
pub use judge::{Findings, LevelMismatch};
pub use port::{Entry, Lost, ENTRIES_MAX, FAST_FRAMES};

use port::PortState;

use super::counters::LldpCounters;
use super::{StormNeighbour, QUEUE_CAPACITY};
use crate::command::Command;
use crate::config::Neighbour;
use crate::units::{Duration, Instant, PortId, NANOS_PER_SECOND};
use crate::wire::lldp::basic::{ChassisId, PortIdentifier, Text, TimeToLive};
use crate::wire::lldp::dcbx::PfcMismatch;
use crate::wire::lldp::{Announcement, Content, Lldp};

/// Number of intervals for which an announcement is valid (msgTxHold).
const HOLD: u64 = 4;

/// Announcements of this switch, and rules for those of neighbours.
#[derive(Clone, Debug)]
pub struct NeighboursConfig {
    /// Chassis of this switch.
    pub chassis: ChassisId,
    /// Time between two announcements, 1 s to 3600 s.
    pub interval: Duration,
    /// By [`PortId`].
    pub ports: Vec<AnnouncedPort>,
}

/// One port.
#[derive(Clone, Debug)]
pub struct AnnouncedPort {
    /// Its name on the wire.
    pub identifier: PortIdentifier,
    /// Announcement to send; its time to live is replaced by one derived from the interval.
    pub announcement: Announcement,
    /// Configured kind of neighbour; `Unknown` if it is to be discovered.
    pub configured: Neighbour,
    /// True for a fabric port: findings are passed to the dataplane.
    pub is_fabric: bool,
}

/// A report for logs and the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighbourReport {
    /// When.
    pub at: Instant,
    /// Port of the neighbour.
    pub port: PortId,
    /// Change that is reported.
    pub kind: NeighbourReportKind,
}

/// The kinds of [`NeighbourReport`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // few at a time, in a bounded queue
pub enum NeighbourReportKind {
    /// A neighbour is heard for the first time.
    Found {
        /// Its system.
        chassis: ChassisId,
        /// Its port.
        identifier: PortIdentifier,
        /// Its name, if it gave one.
        system_name: Option<Text>,
    },
    /// A neighbour is no longer heard.
    Lost {
        /// Its system.
        chassis: ChassisId,
        /// Its port.
        identifier: PortIdentifier,
        /// Reason.
        reason: Lost,
    },
    /// The port treats its neighbour as this kind from now on.
    NeighbourIs(Neighbour),
    /// The neighbour's PFC configuration now differs from ours.
    PfcMismatch(PfcMismatch),
    /// The PFC configurations agree again.
    PfcMismatchEnded,
    /// The neighbour's Level protocol now differs from ours.
    LevelMismatch(LevelMismatch),
    /// The Level protocols agree again.
    LevelMismatchEnded,
    /// The neighbour's credits now differ from ours.
    CreditMismatch(CreditMismatch),
    /// The credits agree again.
    CreditMismatchEnded,
}

/// The LLDP agent of one switch.
#[derive(Debug)]
pub struct Neighbours {
    chassis: ChassisId,
    interval: Duration,
    ports: Vec<PortState>,
    commands: VecDeque<Command>,
    reports: VecDeque<NeighbourReport>,
    overflows: u64,
}

impl Neighbours {
    /// Creates an agent without any neighbour. All links count as up: the first announcements are
    /// due at `now`.
    pub fn new(config: NeighboursConfig, now: Instant) -> Self {
        let ttl = time_to_live(config.interval);
        Self {
            chassis: config.chassis,
            interval: config.interval,
            ports: config
                .ports
                .into_iter()
                .map(|mut port| {
                    port.announcement.ttl = ttl;
                    PortState::new(port, now)
                })
                .collect(),
            commands: VecDeque::with_capacity(QUEUE_CAPACITY),
            reports: VecDeque::with_capacity(QUEUE_CAPACITY),
            overflows: 0,
        }
    }

    /// Processes a whole frame received on `port`. Counts frames that cannot be used.
    pub fn receive(&mut self, now: Instant, port: PortId, frame: &[u8]) {
        if let Some(state) = self.ports.get_mut(port.index()) {
            let change = state.receive(now, frame);
            self.note_change(now, port, change);
        }
    }

    /// Counts `frames` received on `port` faster than they were read.
    pub fn count_limited(&mut self, port: PortId, frames: u64) {
        if let Some(state) = self.ports.get_mut(port.index()) {
            state.counters.limited += frames;
        }
    }

    /// Counts a frame of [`poll_transmit`](Self::poll_transmit) that the device refused.
    pub fn count_unsent(&mut self, port: PortId) {
        if let Some(state) = self.ports.get_mut(port.index()) {
            state.counters.tx_frames = state.counters.tx_frames.saturating_sub(1);
            state.counters.unsent += 1;
        }
    }

    /// Sets the state of `port`'s link.
    pub fn set_link(&mut self, now: Instant, port: PortId, up: bool) {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return;
        };
        for entry in state.set_link(now, up) {
            self.report_lost(now, port, &entry, Lost::LinkDown);
        }
        self.judge(now, port);
    }

    /// Forgets neighbours whose time to live is over, and notes prolonged absences.
    pub fn handle_timeout(&mut self, now: Instant) {
        for index in 0..self.ports.len() {
            let Some(port) = PortId::from_index(index) else {
                return;
            };
            let mut any = false;
            while let Some(entry) = self.ports[index].take_expired(now) {
                any = true;
                self.report_lost(now, port, &entry, Lost::Expired);
            }
            any |= self.ports[index].note_absence(now);
            if any {
                self.judge(now, port);
            }
        }
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) or [`poll_transmit`](Self::poll_transmit) next has
    /// something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        let next = self
            .ports
            .iter()
            .filter_map(PortState::next_timeout)
            .min()?;
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// The next announcement that is due at `now`. O(ports).
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(PortId, Lldp)> {
        let index = self.ports.iter().position(|port| port.is_due(now))?;
        let port = PortId::from_index(index)?;
        let state = self.ports.get_mut(index)?;
        state.note_sent(now, self.interval);
        // A command may have been lost; repeating it has no effect.
        let neighbour = state.neighbour();
        let coding = state.learnt_coding();
        let hints = state.credit_hints();
        let content = Content::Announcement(state.announcement());
        let lldp = Lldp {
            chassis: self.chassis,
            port: state.config.identifier,
            content,
        };
        if state.learns() {
            self.command(Command::SetNeighbour { port, neighbour });
        }
        if let Some(coding) = coding {
            self.command(Command::SetFeedback { port, coding });
        }
        if let Some(hints) = hints {
            self.command(Command::SetCreditHints { port, hints });
        }
        Some((port, lldp))
    }

    /// Sets the announcement of `port`, and sends it at once if it has changed. Its time to live is replaced by one
    /// derived from the interval. Our side of the findings follows with the neighbour's next announcement.
    pub fn announce(&mut self, now: Instant, port: PortId, mut announcement: Announcement) {
        announcement.ttl = time_to_live(self.interval);
        if let Some(state) = self.ports.get_mut(port.index()) {
            state.announce(now, announcement);
        }
    }

    /// Returns the frame that makes `port`'s neighbour forget us at once (clause 9.2.7.9, a shutdown LLDPDU). `None`
    /// when the link is down. The port sends no announcements afterwards.
    pub fn take_goodbye(&mut self, port: PortId) -> Option<Lldp> {
        let state = self.ports.get_mut(port.index())?;
        state.take_goodbye().then_some(Lldp {
            chassis: self.chassis,
            port: state.config.identifier,
            content: Content::Shutdown,
        })
    }

    /// Returns how the neighbour on `port` is assumed to react to an endless pause: every switch with our TLV
    /// distinguishes storms from loops. Announcements take precedence over the configuration.
    pub fn storm_neighbour(&self, port: PortId) -> StormNeighbour {
        let Some(state) = self.ports.get(port.index()) else {
            return StormNeighbour::Unknown;
        };
        let entries = state.entries();
        if entries
            .iter()
            .any(|entry| entry.announcement.weir.is_some())
        {
            return StormNeighbour::Judges;
        }
        match state.config.configured {
            _ if !entries.is_empty() => StormNeighbour::Regular,
            Neighbour::Unknown => StormNeighbour::Unknown,
            Neighbour::Enhanced => StormNeighbour::Judges,
            Neighbour::Regular => StormNeighbour::Regular,
        }
    }

    /// The next request to the dataplane, oldest first.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next report, oldest first.
    pub fn poll_report(&mut self) -> Option<NeighbourReport> {
        self.reports.pop_front()
    }

    /// Commands and reports lost because their queue was full.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// Returns the neighbours heard at `port`, in the order in which they were first heard; empty if the port does not
    /// exist.
    pub fn entries(&self, port: PortId) -> &[Entry] {
        self.ports
            .get(port.index())
            .map_or(&[], |state| state.entries())
    }

    /// Returns the kind of neighbour assumed at `port`.
    pub fn neighbour(&self, port: PortId) -> Neighbour {
        self.ports
            .get(port.index())
            .map_or(Neighbour::Unknown, PortState::neighbour)
    }

    /// Returns the findings about `port`.
    pub fn findings(&self, port: PortId) -> Findings {
        self.ports
            .get(port.index())
            .map_or_else(Findings::default, |state| state.findings)
    }

    /// Returns the counters of `port`.
    pub fn counters(&self, port: PortId) -> LldpCounters {
        self.ports
            .get(port.index())
            .map_or_else(LldpCounters::default, |state| state.counters)
    }

    fn note_change(&mut self, now: Instant, port: PortId, change: port::Change) {
        match change {
            port::Change::Nothing => return,
            port::Change::Refreshed => {}
            port::Change::Found(entry) => {
                self.report(
                    now,
                    port,
                    NeighbourReportKind::Found {
                        chassis: entry.chassis,
                        identifier: entry.port,
                        system_name: entry.announcement.system_name,
                    },
                );
            }
            port::Change::Lost(entry) => self.report_lost(now, port, &entry, Lost::Goodbye),
        }
        self.judge(now, port);
    }

    fn judge(&mut self, now: Instant, port: PortId) {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return;
        };
        let before = state.judge(now);
        let (findings, learns, coding) = (state.findings, state.learns(), state.learnt_coding());
        if let Some(coding) = coding.filter(|coding| *coding != before.coding) {
            self.command(Command::SetFeedback { port, coding });
        }
        if learns && findings.neighbour != before.neighbour {
            let neighbour = findings.neighbour;
            self.command(Command::SetNeighbour { port, neighbour });
            self.report(now, port, NeighbourReportKind::NeighbourIs(neighbour));
        }
        match (before.pfc, findings.pfc) {
            (None, Some(found)) => self.report(now, port, NeighbourReportKind::PfcMismatch(found)),
            (Some(_), None) => self.report(now, port, NeighbourReportKind::PfcMismatchEnded),
            _ => {}
        }
        match (before.level, findings.level) {
            (None, Some(found)) => {
                self.report(now, port, NeighbourReportKind::LevelMismatch(found));
            }
            (Some(_), None) => self.report(now, port, NeighbourReportKind::LevelMismatchEnded),
            _ => {}
        }
        if findings.credit_hints != before.credit_hints {
            let hints = findings.credit_hints;
            self.command(Command::SetCreditHints { port, hints });
        }
        match (before.credits, findings.credits) {
            (None, Some(found)) => {
                self.report(now, port, NeighbourReportKind::CreditMismatch(found));
            }
            (Some(_), None) => self.report(now, port, NeighbourReportKind::CreditMismatchEnded),
            _ => {}
        }
    }

    fn report_lost(&mut self, now: Instant, port: PortId, entry: &Entry, reason: Lost) {
        self.report(
            now,
            port,
            NeighbourReportKind::Lost {
                chassis: entry.chassis,
                identifier: entry.port,
                reason,
            },
        );
    }

    fn command(&mut self, command: Command) {
        if self.commands.len() < QUEUE_CAPACITY {
            self.commands.push_back(command);
        } else {
            self.overflows += 1;
        }
    }

    fn report(&mut self, at: Instant, port: PortId, kind: NeighbourReportKind) {
        if self.reports.len() < QUEUE_CAPACITY {
            self.reports.push_back(NeighbourReport { at, port, kind });
        } else {
            self.overflows += 1;
        }
    }
}

/// min(65535, msgTxInterval × msgTxHold + 1) seconds (clause 9.2.5.22, txTTL).
fn time_to_live(interval: Duration) -> TimeToLive {
    let held = interval.saturating_mul(HOLD).as_nanos();
    let seconds = held.div_ceil(NANOS_PER_SECOND).saturating_add(1);
    let seconds = u16::try_from(seconds).unwrap_or(u16::MAX);
    TimeToLive::new(seconds).unwrap_or(TimeToLive::STANDARD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_intervals_and_a_second() {
        let ttl = |interval| time_to_live(interval).seconds();
        assert_eq!(ttl(Duration::from_secs(30)), 121);
        assert_eq!(ttl(Duration::from_secs(1)), 5);
        assert_eq!(ttl(Duration::from_millis(1_100)), 6, "rounded up");
        assert_eq!(ttl(Duration::from_secs(3_600)), 14_401);
        assert_eq!(ttl(Duration::from_secs(1 << 30)), u16::MAX);
    }
}
