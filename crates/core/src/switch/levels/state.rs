//! Protocol P on one link and class.

use super::{Budget, FeedbackReceived, FeedbackSent, GrantsGiven, GrantsTaken, Told};
use crate::config::{ClassMode, FeedbackCoding, Neighbour, PortConfig, PortRole, SwitchConfig};
use crate::level::Level;
use crate::switch::port::Port;
use crate::units::{Bytes, Priority};

/// Protocol P on one link and class, in both directions. Most frames touch only the first two cache lines.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C, align(64))]
pub(in crate::switch) struct LevelState {
    pub(in crate::switch) taken: GrantsTaken,
    /// Set if Feedback grants a number of frames.
    pub(in crate::switch) given: Option<GrantsGiven>,
    pub(in crate::switch) obeys: bool,
    pub(in crate::switch) received: FeedbackReceived,
    pub(in crate::switch) sent: FeedbackSent,
    pub(in crate::switch) budget: Budget,
    pub(in crate::switch) repeat_after: Bytes,
    pub(in crate::switch) told: Told,
}

impl LevelState {
    /// Returns `None` for a class without Levels, and towards hosts.
    pub(in crate::switch) fn new(
        config: &SwitchConfig,
        port: &PortConfig,
        priority: usize,
    ) -> Option<Box<Self>> {
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
                received: FeedbackReceived::new(config.lingering(port)),
                given: (port.feedback == FeedbackCoding::Grants && rules.obeys_feedback)
                    .then(GrantsGiven::default),
                taken: GrantsTaken::default(),
                repeat_after: config.repeat_after(port),
                told: Told::new(port.round_trip + config.lingering(port)),
                obeys: rules.obeys_feedback,
            })
        })
    }

    /// Forgets a loan that has ended as soon as the frames that it may have put in flight have room without it.
    pub(in crate::switch) fn settle_loan(&mut self) {
        let permitted = self.given.as_ref().map_or(0, GrantsGiven::permitted);
        self.budget.settle_loan(permitted);
    }

    /// Returns true if the neighbour blocks no Level. False with grants, which every frame uses up, and with Feedback
    /// for the whole link, which covers more than this class.
    pub(in crate::switch) fn lets_all_out(&self, coding: FeedbackCoding) -> bool {
        coding == FeedbackCoding::Pfc && self.received.feedback() == Level::ZERO
    }

    /// Returns true if the neighbour need not be notified, unless frames are granted to it: the last Feedback sent is 0
    /// and still right.
    pub(in crate::switch) fn is_calm(&self) -> bool {
        self.budget.feedback() == Level::ZERO && self.sent.is_calm()
    }
}

impl Port {
    /// Checks whether the neighbour must be notified about `priority` now. O(D); with one Feedback for the whole link
    /// O(priorities × D).
    pub(in crate::switch) fn note_feedback(&mut self, priority: Priority) {
        if self.coding == FeedbackCoding::Pause {
            let (feedback, _) = self.link_feedback();
            self.due.pause |= self.link_sent.is_due(feedback);
            return;
        }
        let Some(level) = &mut self.levels[priority.index()] else {
            return;
        };
        let given = level.given.as_ref();
        if given.is_some_and(|given| given.is_due(&level.budget)) {
            // A lost grant must be resent sooner than a Feedback 0 already repeated many times.
            level.sent.tell_anew();
        }
        if level.sent.is_due(level.budget.feedback()) {
            self.due.pfc.insert(priority);
        }
    }

    /// Returns true when the neighbour's Feedback blocks everything at `priority`.
    pub(in crate::switch) fn is_shut(&self, priority: Priority) -> bool {
        self.levels[priority.index()]
            .as_ref()
            .is_some_and(|state| state.received.feedback() >= state.budget.depth())
    }

    /// Returns true if frames in flight when a Feedback is sent need a reserve.
    pub(in crate::switch) fn needs_reserve(&self) -> bool {
        self.coding != FeedbackCoding::Grants
    }

    /// Returns the highest Feedback of all classes that obey any, and their highest Level. One full class of
    /// a lower D stops the link of a neighbour that need not know that D.
    pub(in crate::switch) fn link_feedback(&self) -> (Level, Level) {
        let mut highest = (Level::ZERO, Level::ZERO);
        let mut is_full = false;
        for level in self.levels.iter().flatten() {
            if level.obeys {
                let (feedback, depth) = (level.budget.feedback(), level.budget.depth());
                highest.0 = highest.0.max(feedback);
                highest.1 = highest.1.max(depth);
                is_full |= feedback == depth;
            }
        }
        if is_full && self.neighbour != Neighbour::Enhanced {
            highest.0 = highest.1;
        }
        highest
    }
}
