//! One port's share of the switch: everything that belongs to no other port.

use std::collections::VecDeque;

use super::admission::{BufferMode, IngressBuffer};
use super::levels::{Budget, FeedbackReceived, FeedbackSent, GrantsGiven, GrantsTaken, Told};
use super::link::Authentication;
use super::link::EchoState;
use super::link::Limiter;
use super::link::PauseReceived;
use super::recovery::Head;
use super::recovery::Storms;
use super::schedule::EgressState;
use super::schedule::Shaper;
use super::virtual_queues::Gate;
use crate::config::{ClassMode, FeedbackCoding, Neighbour, PortConfig, PortRole, SwitchConfig};
use crate::counters::PortCounters;
use crate::level::Level;
use crate::priority_set::PrioritySet;
use crate::units::{Bytes, Instant, Priority, PRIORITY_COUNT};
use crate::wire::clcm::Clcm;
use crate::wire::echo::Echo;

/// CLCM messages that wait for one port's transmitter at most.
pub(super) const CONTROL_QUEUE_CAPACITY: usize = 16;

/// State of one port. What every frame reads comes first, so that it lies in few cache lines; what frames of
/// one priority need beside that lies in lines of that priority.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C, align(64))]
pub(super) struct Port {
    pub(super) up: bool,
    /// Its device will never send anything again.
    pub(super) gone: bool,
    pub(super) role: PortRole,
    pub(super) neighbour: Neighbour,
    pub(super) coding: FeedbackCoding,
    /// Priorities with frames to send.
    pub(super) waiting: PrioritySet,
    /// Priorities with a traffic release in force.
    pub(super) forced: PrioritySet,
    /// Priorities whose pause state the neighbour must be told.
    pub(super) pfc_due: PrioritySet,
    /// Priorities whose Feedback must be followed by zero at once (Karol, section IV).
    pub(super) zero_due: PrioritySet,
    pub(super) pause_due: bool,
    pub(super) pause_zero_due: bool,
    /// Messages to send outside the data priorities; never more than [`CONTROL_QUEUE_CAPACITY`].
    pub(super) clcm_queue: VecDeque<Clcm>,
    pub(super) shaper: Shaper,
    pub(super) turn: PriorityTurn,
    /// For classes with Levels at fabric ports.
    pub(super) levels: [Option<Box<LevelState>>; PRIORITY_COUNT],
    pub(super) pause_received: PauseReceived,
    pub(super) storms: Storms,
    /// For fabric ports, where a class has Levels.
    pub(super) echo: Option<EchoState>,
    /// For fabric ports, where there is a key.
    pub(super) authentication: Option<Authentication>,
    pub(super) pause_limit: Limiter,
    pub(super) message_limit: Limiter,
    pub(super) ingress: [IngressBuffer; PRIORITY_COUNT],
    pub(super) egress: [EgressState; PRIORITY_COUNT],
    pub(super) counters: PortCounters,
    pub(super) heads: [Head; PRIORITY_COUNT],
    /// Feedback of the whole link.
    pub(super) link_sent: FeedbackSent,
}

/// Protocol P on one link and class: what arrives by it, and what may leave by it. The usual frame touches the
/// first two cache lines.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C, align(64))]
pub(super) struct LevelState {
    pub(super) taken: GrantsTaken,
    /// Where Feedback is permission for a number of frames.
    pub(super) given: Option<GrantsGiven>,
    /// False for a class that ignores Feedback, and is told none.
    pub(super) obeys: bool,
    pub(super) received: FeedbackReceived,
    pub(super) sent: FeedbackSent,
    pub(super) budget: Budget,
    pub(super) repeat_after: Bytes,
    pub(super) told: Told,
}

impl LevelState {
    /// `None` for a class without Levels, and towards hosts.
    fn new(config: &SwitchConfig, port: &PortConfig, priority: usize) -> Option<Box<Self>> {
        let ClassMode::Level { budgets, rules, .. } = &config.classes[priority].mode else {
            return None;
        };
        (port.role == PortRole::Fabric).then(|| {
            Box::new(Self {
                budget: Budget::new(budgets, config.gamma_max(), config.reserve(port)),
                sent: if rules.obeys_feedback && port.feedback != FeedbackCoding::Pause {
                    FeedbackSent::new()
                } else {
                    FeedbackSent::silent()
                },
                received: FeedbackReceived::new(),
                given: (port.feedback == FeedbackCoding::Grants && rules.obeys_feedback)
                    .then(GrantsGiven::default),
                taken: GrantsTaken::default(),
                repeat_after: config.repeat_after(port),
                told: Told::new(port.round_trip),
                obeys: rules.obeys_feedback,
            })
        })
    }
}

impl LevelState {
    /// Forgets a loan that has ended as soon as what may be under way because of it has room without.
    pub(super) fn settle_loan(&mut self) {
        let permitted = self.given.as_ref().map_or(0, GrantsGiven::permitted);
        self.budget.settle_loan(permitted);
    }

    /// True when the neighbour need not be told anything, unless frames are granted to it: the Feedback is 0
    /// and was told as such.
    pub(super) fn is_calm(&self) -> bool {
        self.budget.feedback() == Level::ZERO && self.sent.is_calm()
    }
}

/// Deficit round robin between the priorities of one port.
#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C)]
pub(super) struct PriorityTurn {
    pub(super) current: usize,
    pub(super) deficits: [u64; PRIORITY_COUNT],
}

impl Port {
    pub(super) fn new(config: &SwitchConfig, port: &PortConfig, index: usize) -> Self {
        let limits = config.control_limits;
        let levels: [_; PRIORITY_COUNT] =
            core::array::from_fn(|index| LevelState::new(config, port, index));
        let obeying = levels.iter().flatten().any(|level| level.obeys);
        Self {
            echo: levels.iter().any(Option::is_some).then(EchoState::new),
            authentication: Self::new_authentication(config.authentication, port.role, index),
            pause_limit: Limiter::new(limits.pause_rate),
            message_limit: Limiter::new(limits.message_rate),
            coding: port.feedback,
            link_sent: if obeying && port.feedback == FeedbackCoding::Pause {
                FeedbackSent::new()
            } else {
                FeedbackSent::silent()
            },
            pause_due: false,
            pause_zero_due: false,
            role: port.role,
            up: true,
            gone: false,
            ingress: core::array::from_fn(|index| {
                IngressBuffer::new(BufferMode::of(config.classes[index].mode, port))
            }),
            levels,
            neighbour: port.neighbour,
            egress: core::array::from_fn(|_| EgressState::default()),
            pause_received: PauseReceived::new(port.rate),
            storms: Storms::new(port.watchdog),
            heads: Default::default(),
            shaper: Shaper::new(
                port.rate,
                port.rate
                    .time_for(config.shaper_burst)
                    .max(config.shaper_burst_time),
            ),
            counters: PortCounters::default(),
            clcm_queue: VecDeque::with_capacity(CONTROL_QUEUE_CAPACITY),
            pfc_due: PrioritySet::default(),
            zero_due: PrioritySet::default(),
            waiting: PrioritySet::default(),
            forced: PrioritySet::default(),
            turn: PriorityTurn::default(),
        }
    }

    /// Which frames of `priority` may leave: a release's rule, a traffic release's, or the Transmit Eligibility Rule. With
    /// Feedback D none may (Karol, section III).
    #[inline(always)]
    pub(super) fn gate(&self, priority: Priority) -> Gate {
        let index = priority.index();
        if self.forced.contains(priority) || self.egress[index].release().is_some() {
            return self.gate_of_release(priority);
        }
        self.gate_of_levels(priority)
    }

    #[inline(always)]
    fn gate_of_levels(&self, priority: Priority) -> Gate {
        match &self.levels[priority.index()] {
            None => Gate::FromLevel(Level::ZERO),
            Some(state) if state.received.feedback() >= state.budget.depth() => {
                self.gate_of_storm(priority, state)
            }
            Some(state) if state.given.is_some() && !state.taken.permits() => Gate::Shut,
            Some(state) => Gate::FromLevel(state.received.feedback()),
        }
    }

    /// With Feedback D none may leave, unless the storm watchdog has it ignored. A number of permitted frames is never
    /// exceeded.
    #[cold]
    fn gate_of_storm(&self, priority: Priority, state: &LevelState) -> Gate {
        if self.storms.ignores_pause(priority) && state.given.is_none() {
            Gate::ALL
        } else {
            Gate::Shut
        }
    }

    /// True when the neighbour's Feedback lets nothing out at `priority`.
    pub(super) fn is_shut(&self, priority: Priority) -> bool {
        self.levels[priority.index()]
            .as_ref()
            .is_some_and(|state| state.received.feedback() >= state.budget.depth())
    }

    /// A release chooses among what the Feedback lets out; a traffic release is for classes without Levels.
    #[cold]
    fn gate_of_release(&self, priority: Priority) -> Gate {
        let index = priority.index();
        let Gate::FromLevel(from) = self.gate_of_levels(priority) else {
            return Gate::Shut;
        };
        if self.forced.contains(priority) {
            if let Some(forced) = self.egress[index].forced() {
                return Gate::OnlyFrom(forced.ingress, from);
            }
        }
        match self.egress[index].release() {
            Some(rule) if rule.is_exclusive() => Gate::OnlyFrom(rule.ingress, from),
            Some(rule) if rule.prefers() => Gate::FirstFrom(rule.ingress, from),
            _ => Gate::FromLevel(from),
        }
    }

    /// An echo message that is due.
    pub(super) fn next_echo(&mut self, now: Instant) -> Option<Echo> {
        let levels = &self.levels;
        self.echo.as_mut()?.take(now, || {
            core::array::from_fn(|index| {
                levels[index].as_ref().map_or(0, |level| level.taken.sent())
            })
        })
    }

    /// Where frames are granted: one is here, and its sender has counted it whatever becomes of it.
    pub(super) fn note_link_arrival(&mut self, priority: Priority) {
        let level = self.levels[priority.index()].as_mut();
        if let Some(given) = level.and_then(|level| level.given.as_mut()) {
            given.note_arrival();
        }
    }

    /// The neighbour has said how many frames it has sent, for the first time in its life or once more.
    pub(super) fn synchronise_grants(&mut self, sent: &[u16; PRIORITY_COUNT], begins_anew: bool) {
        for priority in Priority::ALL {
            let level = self.levels[priority.index()].as_mut();
            let Some((given, told)) =
                level.and_then(|level| Some((level.given.as_mut()?, &mut level.sent)))
            else {
                continue;
            };
            // It may be one that has begun anew, and believes no grant before its echo is answered: more than one is
            // told, as to a new neighbour.
            if given.synchronise(sent[priority.index()], begins_anew) {
                told.tell_anew();
            }
            self.note_feedback(priority);
        }
    }

    /// The neighbour knows how many frames we have sent.
    pub(super) fn open_grants(&mut self) {
        for level in self.levels.iter_mut().flatten() {
            level.taken.open();
        }
    }

    /// When the neighbour lets `priority` go if nothing else comes in; in the past when it may send.
    #[inline]
    pub(super) fn resumes_at(&self, priority: Priority) -> Instant {
        if self.storms.ignores_pause(priority) || self.forced.contains(priority) {
            Instant::ZERO
        } else {
            self.pause_received.resumes_at(priority)
        }
    }

    /// Priorities that have frames and are not held by the neighbour, or sent in spite of it.
    pub(super) fn sendable(&self, now: Instant) -> PrioritySet {
        let mut set = self.waiting;
        for priority in self.waiting.iter() {
            if self.resumes_at(priority) > now {
                set.remove(priority);
            }
        }
        set
    }
}

impl PriorityTurn {
    /// What [`choose`](Self::choose) does when it chooses `priority` and no other one has anything to send.
    #[inline(always)]
    pub(super) fn take_alone(
        &mut self,
        priority: Priority,
        quantum: impl FnOnce() -> u64,
        length: u64,
    ) {
        let index = priority.index();
        let deficit = &mut self.deficits[index];
        *deficit = if self.current != index {
            self.current = index;
            let quantum = quantum();
            (*deficit).min(quantum) + quantum - length
        } else if *deficit >= length {
            *deficit - length
        } else {
            quantum().saturating_sub(length)
        };
    }

    /// Chooses a priority whose next frame may leave, beside those that the turn leaves or passes because
    /// nothing may. `length_of` gives the next frame's length in bytes, `None` where nothing may leave.
    /// O(priorities).
    pub(super) fn choose(
        &mut self,
        quantum_of: impl Fn(Priority) -> u64,
        length_of: impl Fn(Priority) -> Option<u32>,
    ) -> Option<(Priority, PrioritySet)> {
        let mut passed = PrioritySet::default();
        for step in 0..PRIORITY_COUNT {
            let index = (self.current + step) % PRIORITY_COUNT;
            let priority = Priority::ALL[index];
            let Some(length) = length_of(priority).map(u64::from) else {
                passed.insert(priority);
                continue;
            };
            let deficit = &mut self.deficits[index];
            if step == 0 && *deficit >= length {
                *deficit -= length;
                return Some((priority, passed));
            }
            if step == 0 {
                continue;
            }
            self.current = index;
            *deficit = (*deficit).min(quantum_of(priority)) + quantum_of(priority) - length;
            return Some((priority, passed));
        }
        // Only the current one has something to send: a new turn for it.
        let priority = Priority::ALL[self.current];
        let length = u64::from(length_of(priority)?);
        self.deficits[self.current] = quantum_of(priority).saturating_sub(length);
        Some((priority, passed))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn priorities_share_by_weight_in_bytes() {
        let mut turn = PriorityTurn::default();
        let weights = [1u64, 0, 0, 3, 0, 0, 0, 0];
        let lengths = [Some(1500u32), None, None, Some(500), None, None, None, None];
        let mut bytes = [0u64; PRIORITY_COUNT];
        for _ in 0..5000 {
            let (priority, _) = turn
                .choose(|p| weights[p.index()] * 1500, |p| lengths[p.index()])
                .unwrap();
            bytes[priority.index()] += u64::from(lengths[priority.index()].unwrap());
        }
        let ratio = bytes[3] as f64 / bytes[0] as f64;
        assert!((2.9..3.1).contains(&ratio), "{ratio}");
    }

    proptest! {
        /// The short way for one priority does what the long way does.
        #[test]
        fn alone_is_chosen_as_among_others(
            steps in prop::collection::vec((0..8u8, prop::option::of(0..8u8), 60u32..1522), 1..100),
        ) {
            let (mut long, mut short) = (PriorityTurn::default(), PriorityTurn::default());
            let quantum = |priority: Priority| 1522 * u64::from(priority.get() + 1);
            for (one, other, length) in steps {
                let one = Priority::ALL[usize::from(one)];
                let waits = |p: Priority| (p == one || Some(p.get()) == other).then_some(length);
                let chosen = long.choose(quantum, waits).map(|(chosen, _)| chosen);
                if other.is_none_or(|other| other == one.get()) {
                    short.take_alone(one, || quantum(one), u64::from(length));
                    prop_assert_eq!(chosen, Some(one));
                } else {
                    prop_assert_eq!(chosen, short.choose(quantum, waits).map(|(chosen, _)| chosen));
                }
                prop_assert_eq!((long.current, long.deficits), (short.current, short.deficits));
            }
        }
    }

    #[test]
    fn one_priority_alone_always_sends() {
        let mut turn = PriorityTurn::default();
        for _ in 0..10 {
            let choice = turn.choose(|_| 1500, |p| (p.get() == 5).then_some(1400));
            assert_eq!(choice.map(|(chosen, _)| chosen), Priority::new(5));
        }
        assert_eq!(turn.choose(|_| 1500, |_| None), None);
    }
}
