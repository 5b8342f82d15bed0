//! Share of a class in each line beside its weight.

use crate::units::BitRate;

crate::named! {
    /// How frames of a class take turns with those of others (IEEE 802.1Q, 8.6.8; transmission selection algorithms of 802.1Qaz).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Algorithm {
        /// By weight: enhanced transmission selection, here deficit round robin.
        Ets => "ets" (default),
        /// Before all that share by weight; among strict priorities the highest number first.
        Strict => "strict",
    }
}

/// Share of a priority in each line. Rates are line rates like a port's rate: preamble and gap
/// count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// Turns, or first.
    pub algorithm: Algorithm,
    /// As long as it gets less than this, it also goes before strict priorities; `None` for no such
    /// promise.
    pub rate_min: Option<BitRate>,
    /// It never gets more; `None` for as much as the line has.
    pub rate_max: Option<BitRate>,
}

impl SchedulerConfig {
    /// Returns true if the class has only its turns by weight.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}
