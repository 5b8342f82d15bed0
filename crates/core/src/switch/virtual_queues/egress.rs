//! One (egress, priority): its backlog, its progress, and the rules for departures.

use crate::event::SuspicionReason;
use crate::units::{Bytes, Duration, Instant, PortId};

/// State of one (egress, priority), without its virtual queues. Fields that every frame changes come first.
#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C, align(64))]
pub(in crate::switch) struct EgressState {
    backlog: Bytes,
    backlog_max: Bytes,
    frame_count: u64,
    watch: Watch,
    release: Option<ReleaseRule>,
    forced: Option<Forced>,
}

/// The deadlock detector's state: how long frames have waited without any leaving.
#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C)]
struct Watch {
    idle: Duration,
    moved: bool,
    suspected_since: Option<Instant>,
}

/// The arbitration rule of the CLCM paper's section 3.3: only frames from the loop's ingress leave; afterwards these
/// are preferred for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct ReleaseRule {
    pub(in crate::switch) ingress: PortId,
    /// [`Instant::FAR_FUTURE`] once it has passed.
    pub(in crate::switch) exclusive_until: Instant,
    departures: u8,
    pub(in crate::switch) until: Instant,
    pub(in crate::switch) released: Bytes,
}

/// The traffic release of the CLCM paper's section 3.2.3: frames leave although the neighbour pauses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Forced {
    pub(in crate::switch) ingress: PortId,
    pub(in crate::switch) until: Instant,
    pub(in crate::switch) released: Bytes,
    amount: Bytes,
}

impl ReleaseRule {
    pub(in crate::switch) fn is_exclusive(&self) -> bool {
        self.exclusive_until != Instant::FAR_FUTURE
    }

    /// Returns true if the next frame should be one of the loop's, if one waits. One in [`BY_TURNS`] is not, so that
    /// other frames do not wait for the whole preference.
    pub(in crate::switch) fn prefers(&self) -> bool {
        !self.departures.is_multiple_of(BY_TURNS)
    }

    pub(in crate::switch) fn next_change(&self) -> Instant {
        self.exclusive_until.min(self.until)
    }
}

/// While a loop's frames are preferred, one frame in this many leaves by turns.
const BY_TURNS: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) enum WatchChange {
    None,
    Suspected { idle: Duration },
    Ended { lasted: Duration },
}

impl EgressState {
    pub(in crate::switch) fn backlog(&self) -> Bytes {
        self.backlog
    }

    pub(in crate::switch) fn backlog_max(&self) -> Bytes {
        self.backlog_max
    }

    pub(in crate::switch) fn restart_peak(&mut self) {
        self.backlog_max = self.backlog;
    }

    pub(in crate::switch) fn frame_count(&self) -> u64 {
        self.frame_count
    }

    pub(in crate::switch) fn is_suspected(&self) -> bool {
        self.watch.suspected_since.is_some()
    }

    pub(in crate::switch) fn release(&self) -> Option<&ReleaseRule> {
        self.release.as_ref()
    }

    pub(in crate::switch) fn release_ingress(&self) -> Option<PortId> {
        self.release.map(|rule| rule.ingress)
    }

    /// Adds a frame that begins to wait. Returns true if it is the only one.
    pub(in crate::switch) fn note_arrival(&mut self, length: Bytes) -> bool {
        self.backlog += length;
        self.backlog_max = self.backlog_max.max(self.backlog);
        self.frame_count += 1;
        if self.frame_count == 1 {
            self.watch.idle = Duration::ZERO;
        }
        self.frame_count == 1
    }

    /// Removes a frame that leaves. Returns true if none is left.
    pub(in crate::switch) fn note_departure(&mut self, length: Bytes) -> bool {
        self.watch.moved = true;
        if let Some(rule) = &mut self.release {
            rule.released += length;
            rule.departures = rule.departures.wrapping_add(1);
        }
        self.note_discard(length)
    }

    /// Removes a frame that leaves although the port is paused, which does not count as throughput. Returns true if
    /// none is left.
    pub(in crate::switch) fn note_forced_departure(&mut self, length: Bytes) -> bool {
        if let Some(forced) = &mut self.forced {
            forced.released += length;
        }
        self.note_discard(length)
    }

    pub(in crate::switch) fn forced(&self) -> Option<&Forced> {
        self.forced.as_ref()
    }

    pub(in crate::switch) fn force(&mut self, ingress: PortId, amount: Bytes, until: Instant) {
        self.forced = Some(Forced {
            ingress,
            until,
            released: Bytes::ZERO,
            amount,
        });
    }

    /// Ends a traffic release that is complete, expired, or no longer `needed`.
    pub(in crate::switch) fn expire_forced(
        &mut self,
        now: Instant,
        needed: bool,
    ) -> Option<Forced> {
        self.forced
            .take_if(|forced| !needed || forced.until <= now || forced.released >= forced.amount)
    }

    /// Removes a frame dropped in the queue, which does not count as throughput. Returns true if none is left.
    pub(in crate::switch) fn note_discard(&mut self, length: Bytes) -> bool {
        self.backlog -= length;
        self.frame_count -= 1;
        self.frame_count == 0
    }

    /// Samples for a deadlock: `elapsed` is the time since the previous sample, limited to the span that the sampler
    /// has observed (a delayed sampler has not seen the egress stall).
    pub(in crate::switch) fn sample(
        &mut self,
        now: Instant,
        elapsed: Duration,
        detect: Duration,
    ) -> WatchChange {
        let moved = core::mem::take(&mut self.watch.moved);
        if moved || self.frame_count == 0 {
            return self.watch_anew(now);
        }
        self.watch.idle += elapsed;
        if self.watch.suspected_since.is_none() && self.watch.idle >= detect {
            self.watch.suspected_since = Some(now);
            return WatchChange::Suspected {
                idle: self.watch.idle,
            };
        }
        WatchChange::None
    }

    pub(in crate::switch) fn watch_anew(&mut self, now: Instant) -> WatchChange {
        self.watch.idle = Duration::ZERO;
        match self.watch.suspected_since.take() {
            Some(since) => WatchChange::Ended {
                lasted: now.saturating_since(since),
            },
            None => WatchChange::None,
        }
    }

    /// Returns the reason for the stall, for reports.
    pub(in crate::switch) fn reason(
        &self,
        paused: bool,
        has_levels: bool,
        may_leave: bool,
    ) -> SuspicionReason {
        if paused {
            SuspicionReason::Paused
        } else if has_levels && !may_leave {
            SuspicionReason::NoEligibleLevel
        } else if self.release.is_some() && !may_leave {
            SuspicionReason::ReleaseRule
        } else {
            SuspicionReason::TransmitterStuck
        }
    }

    /// Installs or prolongs the rule. `Err` contains the ingress port that already holds this egress; `Ok(true)` means
    /// that the rule is new.
    pub(in crate::switch) fn install_release(
        &mut self,
        ingress: PortId,
        exclusive_until: Instant,
        until: Instant,
    ) -> Result<bool, PortId> {
        match &mut self.release {
            Some(rule) if rule.ingress != ingress => Err(rule.ingress),
            Some(rule) => {
                rule.exclusive_until = if rule.is_exclusive() {
                    rule.exclusive_until.max(exclusive_until)
                } else {
                    exclusive_until
                };
                rule.until = rule.until.max(until);
                Ok(false)
            }
            None => {
                self.release = Some(ReleaseRule {
                    ingress,
                    exclusive_until,
                    departures: 0,
                    until,
                    released: Bytes::ZERO,
                });
                Ok(true)
            }
        }
    }

    /// Removes a rule that only prefers another ingress port than `ingress`: a loop that is locked now needs the egress
    /// more.
    pub(in crate::switch) fn make_way(&mut self, ingress: PortId) -> Option<ReleaseRule> {
        self.release
            .take_if(|rule| rule.ingress != ingress && !rule.is_exclusive())
    }

    pub(in crate::switch) fn expire_release(&mut self, now: Instant) -> Option<ReleaseRule> {
        if let Some(rule) = &mut self.release {
            if rule.exclusive_until <= now {
                rule.exclusive_until = Instant::FAR_FUTURE;
            }
        }
        self.release.take_if(|rule| rule.until <= now)
    }
}

#[cfg(feature = "testing")]
#[path = "digest/egress.rs"]
mod digest;

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(5);
    const DETECT: Duration = Duration::from_millis(20);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_queue_that_stands_still_is_suspected_once_and_until_it_moves() {
        let mut egress = EgressState::default();
        assert!(egress.note_arrival(Bytes::new(100)));
        assert!(!egress.note_arrival(Bytes::new(100)));
        for n in 1..4 {
            assert_eq!(egress.sample(at(5 * n), TICK, DETECT), WatchChange::None);
        }
        assert_eq!(
            egress.sample(at(20), TICK, DETECT),
            WatchChange::Suspected { idle: DETECT }
        );
        assert_eq!(egress.sample(at(25), TICK, DETECT), WatchChange::None);
        assert!(!egress.note_departure(Bytes::new(100)));
        assert_eq!(
            egress.sample(at(30), TICK, DETECT),
            WatchChange::Ended {
                lasted: Duration::from_millis(10)
            }
        );
    }

    #[test]
    fn movement_and_emptiness_restart_the_clock() {
        let mut egress = EgressState::default();
        egress.note_arrival(Bytes::new(100));
        egress.note_arrival(Bytes::new(100));
        for n in 0..3 {
            egress.sample(at(n), TICK, DETECT);
        }
        egress.note_departure(Bytes::new(100));
        for n in 3..7 {
            assert_eq!(egress.sample(at(n), TICK, DETECT), WatchChange::None);
        }
        assert!(egress.note_departure(Bytes::new(100)));
        for n in 7..20 {
            assert_eq!(egress.sample(at(n), TICK, DETECT), WatchChange::None);
        }
    }

    #[test]
    fn a_preference_gives_way_to_another_loop() {
        let mut egress = EgressState::default();
        let (one, two) = (PortId::new(1), PortId::new(2));
        assert_eq!(egress.install_release(one, at(10), at(50)), Ok(true));
        assert_eq!(egress.make_way(two), None, "it is exclusive");
        assert_eq!(egress.expire_release(at(10)), None);
        assert!(!egress.release().unwrap().is_exclusive());
        assert_eq!(egress.make_way(one), None, "its own");
        assert_eq!(egress.make_way(two).map(|rule| rule.ingress), Some(one));
        assert_eq!(egress.install_release(two, at(20), at(60)), Ok(true));
        assert_eq!(egress.expire_release(at(60)).map(|r| r.ingress), Some(two));
    }

    #[test]
    fn a_rule_belongs_to_one_ingress_until_it_ends() {
        let mut egress = EgressState::default();
        let (one, two) = (PortId::new(1), PortId::new(2));
        assert_eq!(egress.install_release(one, at(10), at(10)), Ok(true));
        assert_eq!(egress.install_release(two, at(10), at(10)), Err(one));
        assert_eq!(egress.install_release(one, at(20), at(20)), Ok(false));
        assert_eq!(egress.expire_release(at(19)), None);
        assert_eq!(egress.expire_release(at(20)).map(|r| r.ingress), Some(one));
        assert_eq!(egress.install_release(two, at(30), at(30)), Ok(true));
    }
}
