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
    /// Returns true if the class only shares by weight.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}
