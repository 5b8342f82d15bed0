//! Protocol P on one link and class.

use super::{Budget, FeedbackReceived, FeedbackSent, GrantsGiven, GrantsTaken, Told};
use crate::config::{ClassMode, FeedbackCoding, PortConfig, PortRole, SwitchConfig};
use crate::level::Level;
use crate::units::Bytes;

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
