//! Rates of classes on the lines: checks that can be reported with the place in the file.

use weir_core::units::LINE_OVERHEAD;
use weir_core::{BitRate, Bytes, Duration, PartsPerMillion};

use super::{Class, ClassTable};
use crate::reader::Table;
use crate::units::{format_duration, format_probability, format_rate};

/// The lines used by the classes.
pub(crate) struct Lines {
    /// The slowest of them, and its description in messages.
    pub(crate) slowest: Option<(String, BitRate)>,
    /// Maximum share of strict priorities and guaranteed rates.
    pub(crate) strict_share: PartsPerMillion,
    pub(crate) frame_length_max: Bytes,
    /// Time without a frame after which a deadlock is suspected.
    pub(crate) detect: Duration,
}

impl Lines {
    /// Reports rates that are impossible or would look like deadlocks; the checks of `SwitchConfig::validate`, with
    /// line and key.
    pub(crate) fn check(&self, root: &Table<'_>, classes: &[Class]) {
        let tables = root.tables(ClassTable::TABLE, ClassTable::KEYS);
        let table_of = |name: &str| {
            let mut tables = tables.iter();
            tables.find(|table| table.is_text("name", name))
        };
        for class in classes {
            let complaint = self.complaint(class);
            if let (Some((key, complaint)), Some(table)) = (complaint, table_of(&class.name)) {
                table.complain(key, complaint);
            }
        }
        let least = |class: &Class| {
            let each = class.scheduler.rate_min.map_or(0, BitRate::get);
            each.saturating_mul(class.priorities.len() as u64)
        };
        let sum = classes
            .iter()
            .fold(0u64, |sum, class| sum.saturating_add(least(class)));
        let Some((place, rate)) = &self.slowest else {
            return;
        };
        let parts = u128::from(rate.get()) * u128::from(self.strict_share.get());
        let most = (parts / u128::from(PartsPerMillion::ONE.get())) as u64;
        let last = classes.iter().rfind(|class| least(class) > 0);
        let table = last.and_then(|class| table_of(&class.name));
        if let (true, Some(table), Some(sum), Some(most)) =
            (sum > most, table, BitRate::new(sum), BitRate::new(most))
        {
            table.complain(
                "min-rate",
                format!(
                    "the guaranteed rates of all priorities add up to {}, but at most {} is possible at {place} ({} of {}): lower min-rate",
                    format_rate(sum),
                    format_rate(most),
                    format_probability(self.strict_share),
                    format_rate(*rate)
                ),
            );
        }
    }

    fn complaint(&self, class: &Class) -> Option<(&'static str, String)> {
        let rate_max = class.scheduler.rate_max?;
        if let Some(rate_min) = class.scheduler.rate_min.filter(|rate| *rate > rate_max) {
            return Some((
                "min-rate",
                format!(
                    "{} must not be above max-rate ({})",
                    format_rate(rate_min),
                    format_rate(rate_max)
                ),
            ));
        }
        let takes = rate_max.time_for(self.frame_length_max + LINE_OVERHEAD);
        (takes.saturating_mul(2) > self.detect).then(|| {
            (
                "max-rate",
                format!(
                    "at {} a frame of {} takes {}; after {} without a frame (deadlock.detect) a deadlock is suspected. Raise one of the two until detect is at least twice the frame's time",
                    format_rate(rate_max),
                    self.frame_length_max,
                    format_duration(takes),
                    format_duration(self.detect)
                ),
            )
        })
    }
}
