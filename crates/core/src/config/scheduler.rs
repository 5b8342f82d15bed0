//! A class's share of each line, in addition to its weight.

use crate::units::BitRate;

crate::named! {
    /// Transmission selection algorithm of a class (IEEE 802.1Q, 8.6.8; 802.1Qaz).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Algorithm {
        /// By weight: enhanced transmission selection, here deficit round robin.
        Ets => "ets" (default),
        /// Before all classes that share by weight; among strict priorities, the highest number first.
        Strict => "strict",
        /// Together with all other such classes as one class of weight 1, in which ingress ports take turns first, and
        /// then the priorities of each: a port gets no more by using several priorities. A class with Levels or rates
        /// shares by weight instead.
        Ports => "ports",
    }
}

/// Share of a priority in each line. Like a port's rate, rates include preamble and gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// By weight or strict.
    pub algorithm: Algorithm,
    /// Guaranteed rate: below it, the class precedes even strict priorities; `None` for no guarantee.
    pub rate_min: Option<BitRate>,
    /// Maximum rate; `None` for the line's rate.
    pub rate_max: Option<BitRate>,
}

impl SchedulerConfig {
    /// Returns true if the class has no precedence over others: neither strictness nor rates.
    pub fn is_plain(&self) -> bool {
        self.algorithm != Algorithm::Strict && self.rate_min.is_none() && self.rate_max.is_none()
    }
}
