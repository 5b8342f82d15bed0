//! The round trip time T of each fabric link, measured by echo messages (Karol, section V).

use crate::config::{FeedbackCoding, PortConfig, PortRole, SwitchConfig};
use crate::counters::DropReason;
use crate::event::EventKind;
use crate::switch::port::Port;
use crate::switch::Switch;
use crate::units::{Duration, Instant, PortId, Priority, PRIORITY_COUNT};
use crate::wire::echo::Echo;

/// Maximum time between two requests.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time between the first two requests; doubles until the neighbour answers.
const INTERVAL_AT_FIRST: Duration = Duration::from_millis(10);
/// A measured maximum falls by this fraction of itself with each shorter sample.
const DECAY: u64 = 32;
/// Number of consecutive samples within the cable's room that end the report of an excess.
const SAMPLES_THAT_FIT: u32 = 10;

/// Maximum distance of out-of-order requests of one run.
const LATE_MAX: u32 = 8;
const FIRST_ID: u32 = 1;

/// Meaning of a request's count of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    /// The first one from the neighbour.
    First,
    Next,
    /// The same or a later one was already received.
    Old,
}

#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct EchoState {
    next_at: Instant,
    interval: Duration,
    request_due: bool,
    reply_due: Option<u32>,
    /// Identifier of the neighbour's last request.
    heard: Option<u32>,
    id: u32,
    sent_at: Option<Instant>,
    round_trip: Option<Duration>,
    exceeded: bool,
    exceeds_cable: bool,
    fit_cable: u32,
}

impl EchoState {
    pub(in crate::switch) fn new() -> Self {
        Self {
            next_at: Instant::ZERO,
            interval: INTERVAL_AT_FIRST,
            request_due: false,
            reply_due: None,
            heard: None,
            id: 0,
            sent_at: None,
            round_trip: None,
            exceeded: false,
            exceeds_cable: false,
            fit_cable: 0,
        }
    }

    pub(in crate::switch) fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    pub(in crate::switch) fn next_at(&self) -> Instant {
        self.next_at
    }

    pub(in crate::switch) fn refresh(&mut self, now: Instant) {
        if self.next_at <= now {
            self.request_due = true;
            self.next_at = now + self.interval;
            self.interval = self.interval.saturating_mul(2).min(INTERVAL);
        }
    }

    pub(in crate::switch) fn is_due(&self) -> bool {
        self.request_due || self.reply_due.is_some()
    }

    /// Returns the message to send now, replies first. A reply is sent at once; requests are sent once an interval, so
    /// that two neighbours cannot keep each other busy.
    pub(in crate::switch) fn take(
        &mut self,
        now: Instant,
        sent: impl FnOnce() -> [u16; PRIORITY_COUNT],
    ) -> Option<Echo> {
        if let Some(id) = self.reply_due.take() {
            return Some(Echo::Reply { id });
        }
        if !core::mem::take(&mut self.request_due) {
            return None;
        }
        self.id = self.id.wrapping_add(1);
        self.sent_at = Some(now);
        Some(Echo::Request {
            id: self.id,
            sent: sent(),
        })
    }

    /// Sends a request at once and another soon: both ends may have outdated knowledge of each other.
    pub(in crate::switch) fn begin_anew(&mut self) {
        self.request_due = true;
        self.next_at = Instant::ZERO;
        self.interval = INTERVAL_AT_FIRST;
    }

    /// Like [`begin_anew`](Self::begin_anew), with a request out of turn, so that the neighbour sends one at once as
    /// well.
    pub(in crate::switch) fn begin_anew_with_the_neighbour(&mut self) {
        self.id = self.id.wrapping_add(1);
        self.begin_anew();
    }

    /// Handles a request. A duplicate is answered again; a late one is not, since its sender has sent another since.
    ///
    /// A request out of turn is the first of a neighbour that has restarted, or one was lost: ours is then sent to the
    /// neighbour at once as well. Ours are in turn, so two neighbours do not keep triggering each other.
    fn note_request(&mut self, id: u32) -> Request {
        // Distance from the last one, modulo 2³².
        let ahead = self.heard.map_or(1, |last| id.wrapping_sub(last));
        let is_late = ahead.wrapping_neg() <= LATE_MAX && id != FIRST_ID;
        if is_late && ahead != 0 {
            return Request::Old;
        }
        self.reply_due = Some(id);
        if ahead == 0 {
            return Request::Old;
        }
        self.heard = Some(id);
        if ahead != 1 {
            self.begin_anew();
        }
        if ahead <= LATE_MAX && id != FIRST_ID {
            Request::Next
        } else {
            Request::First
        }
    }

    /// Handles a reply and returns its sample, unless it does not answer the last request.
    fn note_reply(&mut self, now: Instant, id: u32) -> Option<Duration> {
        if id != self.id {
            return None;
        }
        let sample = now.saturating_since(self.sent_at.take()?);
        self.interval = INTERVAL;
        let before = self.round_trip.unwrap_or(Duration::ZERO);
        let fallen = Duration::from_nanos(before.as_nanos() - before.as_nanos() / DECAY);
        self.round_trip = Some(sample.max(fallen));
        Some(sample)
    }

    /// Returns true for the first sample of a span that exceeds the buffers' room.
    fn note_exceeded(&mut self, exceeds: bool) -> bool {
        let before = core::mem::replace(&mut self.exceeded, exceeds);
        exceeds && !before
    }

    pub(in crate::switch) fn exceeds_cable(&self) -> bool {
        self.exceeds_cable
    }

    /// Notes whether a sample exceeds the cable's room; returns the state if it changed and must be reported.
    fn note_cable(&mut self, exceeds: bool) -> Option<bool> {
        let before = self.exceeds_cable;
        if exceeds {
            (self.exceeds_cable, self.fit_cable) = (true, 0);
        } else {
            self.fit_cable = self.fit_cable.saturating_add(1);
            self.exceeds_cable &= self.fit_cable < SAMPLES_THAT_FIT;
        }
        (self.exceeds_cable != before).then_some(self.exceeds_cable)
    }
}

impl Switch {
    pub(in crate::switch) fn receive_echo(
        &mut self,
        now: Instant,
        port: PortId,
        bytes: &[u8],
    ) -> Result<(), DropReason> {
        let message = Echo::parse(bytes).map_err(|_| DropReason::BadEcho)?;
        let Some(state) = self.ports.get_mut(port.index()) else {
            return Err(DropReason::PortDown);
        };
        if state.role == PortRole::Edge {
            return Err(DropReason::ClcmFromEdge);
        }
        // A neighbour with Levels sent a request to a switch without: ignored.
        let Some(echo) = &mut state.echo else {
            return Ok(());
        };
        match message {
            Echo::Request { id, sent } => match echo.note_request(id) {
                Request::First => state.synchronise_grants(&sent, true),
                Request::Next => state.synchronise_grants(&sent, false),
                Request::Old => {}
            },
            Echo::Reply { id } => {
                if let Some(sample) = echo.note_reply(now, id) {
                    state.open_grants();
                    self.note_round_trip(now, port, sample);
                    self.note_round_trip_of_cable(now, port, sample);
                }
            }
        }
        Ok(())
    }

    /// Reports the start and end of a T for which the headroom derived from the cable is too small.
    fn note_round_trip_of_cable(&mut self, now: Instant, port: PortId, measured: Duration) {
        let Some(room) = self.config.ports[port.index()].cable else {
            return;
        };
        let state = &mut self.ports[port.index()];
        let exceeds = measured > room.round_trip_max;
        state.counters.cable_exceeded += u64::from(exceeds);
        let news = state
            .echo
            .as_mut()
            .and_then(|echo| echo.note_cable(exceeds));
        let round_trip_max = room.round_trip_max;
        match news {
            Some(true) => self.push_event(
                now,
                EventKind::CableExceeded {
                    port,
                    measured,
                    round_trip_max,
                },
            ),
            Some(false) => self.push_event(now, EventKind::CableFits { port, measured }),
            None => {}
        }
    }

    /// Adapts the reserve if T is measured, and reports a T for which the buffers are too small.
    fn note_round_trip(&mut self, now: Instant, port: PortId, sample: Duration) {
        let config = &self.config.ports[port.index()];
        let state = &mut self.ports[port.index()];
        state.counters.echo_replies += 1;
        let fits = state.reserve_for_round_trip(&self.config, config);
        let exceeds = if !state.needs_reserve() {
            false
        } else if config.round_trip_measured {
            for priority in Priority::ALL {
                state.note_feedback(priority);
            }
            !fits
        } else {
            sample > config.round_trip
        };
        state.counters.round_trips_exceeded += u64::from(exceeds);
        let report = state
            .echo
            .as_mut()
            .is_some_and(|echo| echo.note_exceeded(exceeds));
        if report {
            self.push_event(
                now,
                EventKind::RoundTripExceeded {
                    port,
                    measured: sample,
                },
            );
        }
    }
}

impl Port {
    /// Keeps room for frames that arrive in the round-trip time, if it is known and the link's coding needs it. Returns
    /// false if a budget is too small: then the largest reserve that fits is used, and a port whose buffers were not
    /// made for it blocks everything.
    pub(in crate::switch) fn reserve_for_round_trip(
        &mut self,
        config: &SwitchConfig,
        configured: &PortConfig,
    ) -> bool {
        let measured = self.echo.as_deref().and_then(EchoState::round_trip);
        let twice = measured.unwrap_or(Duration::ZERO).saturating_mul(2);
        let longest = twice.max(configured.round_trip);
        let counts = if configured.round_trip_measured {
            longest
        } else {
            configured.round_trip
        };
        let as_told = PortConfig {
            feedback: self.coding,
            ..*configured
        };
        let reserve = config.reserve_for(&as_told, counts);
        let counts_for = longest + config.lingering(configured);
        let mut fits = true;
        for level in self.levels.iter_mut().flatten() {
            level.told.set_window(counts_for);
            let has_room = level.budget.set_reserve(reserve.total());
            if configured.feedback == FeedbackCoding::Grants {
                level.budget.bar(!has_room);
            }
            level.repeat_after = reserve.repeat_after;
            fits &= has_room;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn a_cable_is_reported_once_and_fits_again_after_ten_samples() {
        let mut echo = EchoState::new();
        assert_eq!(echo.note_cable(false), None);
        assert_eq!(echo.note_cable(true), Some(true));
        assert_eq!(echo.note_cable(true), None);
        for _ in 1..SAMPLES_THAT_FIT {
            assert_eq!(echo.note_cable(false), None);
        }
        // A round trip that is too long restarts the count.
        assert_eq!(echo.note_cable(true), None);
        let news: Vec<_> = (0..SAMPLES_THAT_FIT)
            .map(|_| echo.note_cable(false))
            .collect();
        assert_eq!(news.last(), Some(&Some(false)));
        assert_eq!(news.iter().flatten().count(), 1);
        assert!(!echo.exceeds_cable());
    }

    fn no_frames() -> [u16; PRIORITY_COUNT] {
        [0; PRIORITY_COUNT]
    }

    #[test]
    fn the_longest_round_trip_counts_and_falls_slowly() {
        let mut echo = EchoState::new();
        assert_eq!(echo.take(at(0), no_frames), None);
        echo.refresh(at(0));
        let request = echo.take(at(0), no_frames);
        let id = 1;
        assert_eq!(
            request,
            Some(Echo::Request {
                id,
                sent: no_frames()
            })
        );
        assert_eq!(echo.take(at(0), no_frames), None);
        assert_eq!(echo.note_reply(at(320), 7), None, "of another request");
        let sample = Some(Duration::from_micros(320));
        assert_eq!(echo.note_reply(at(320), id), sample);
        assert_eq!(echo.note_reply(at(400), id), None, "twice");
        echo.refresh(at(200_000));
        assert!(echo.take(at(200_000), no_frames).is_some());
        echo.note_reply(at(200_010), 2);
        assert_eq!(echo.round_trip(), Some(Duration::from_micros(310)));
    }

    #[test]
    fn requests_are_answered_once_and_first() {
        let mut echo = EchoState::new();
        echo.refresh(at(0));
        echo.note_request(8);
        echo.note_request(9);
        assert_eq!(echo.take(at(0), no_frames), Some(Echo::Reply { id: 9 }));
        assert!(matches!(
            echo.take(at(0), no_frames),
            Some(Echo::Request { .. })
        ));
    }

    #[test]
    fn a_neighbour_that_starts_again_is_told_at_once() {
        let mut echo = EchoState::new();
        echo.refresh(at(0));
        assert!(echo.take(at(0), no_frames).is_some());
        for id in [8, 9, 10] {
            echo.note_request(id);
            assert_eq!(echo.take(at(1), no_frames), Some(Echo::Reply { id }));
            assert_eq!(echo.take(at(1), no_frames), None, "in turn");
        }
        echo.note_request(1);
        assert_eq!(echo.take(at(2), no_frames), Some(Echo::Reply { id: 1 }));
        assert!(matches!(
            echo.take(at(2), no_frames),
            Some(Echo::Request { id: 2, .. })
        ));
    }
    #[test]
    fn a_count_is_new_unless_a_later_one_was_heard() {
        let mut echo = EchoState::new();
        let outcomes = [
            (1, Request::First),
            (2, Request::Next),
            (2, Request::Old),
            (4, Request::Next),
            (3, Request::Old),
            (5, Request::Next),
            (1, Request::First),
            (2, Request::Next),
            (100, Request::First),
            (3, Request::First),
        ];
        for (id, expected) in outcomes {
            assert_eq!(echo.note_request(id), expected, "{id}");
        }
    }
}
