//! Dependence of the figures on the settings.

use serde_json::json;
use weir_core::{Duration, MarkAt};
use weir_results::table::grid;

use super::super::{thousandths, trace, Configuration, ReproduceError, Setting, Trace};
use super::{setting_json, setting_text, Figure};

/// Observations of both configurations with DCQCN in one setting.
#[derive(Clone, Debug)]
pub struct Dependence {
    /// The setting.
    pub setting: Setting,
    /// With PFC.
    pub both: Trace,
    /// Without PFC.
    pub without: Trace,
}

/// Figure 7's runs in every setting: α of 1, ¾, ½ and ¼, target rates clamped and not, marks on arrival and on departure.
/// Calls `report` after each run.
///
/// # Errors
///
/// See [`ReproduceError`].
pub fn dependence(report: &mut dyn FnMut(usize, usize)) -> Result<Vec<Dependence>, ReproduceError> {
    let mut settings = Vec::new();
    for mark_at in [MarkAt::Departure, MarkAt::Arrival] {
        for clamp_target in [false, true] {
            for alpha in [1000, 750, 500, 250] {
                settings.push(Setting {
                    initial_alpha: thousandths(alpha),
                    clamp_target,
                    mark_at,
                });
            }
        }
    }
    let count = settings.len();
    let mut rows = Vec::with_capacity(count);
    for setting in settings {
        let [_, both, without] = Configuration::of_figure(setting);
        rows.push(Dependence {
            setting,
            both: trace(both, Figure::Seven.duration())?,
            without: trace(without, Figure::Seven.duration())?,
        });
        report(rows.len(), count);
    }
    Ok(rows)
}

impl Dependence {
    /// Returns one row for each setting.
    pub fn table(rows: &[Self]) -> String {
        let headings = [
            "marks, target, α",
            "first cut",
            "PFC begins",
            "without PFC: peak",
            "at",
            "load at 0.4 ms",
            "with PFC: gone",
            "second peak",
            "delivered",
        ];
        let rows: Vec<Vec<String>> = rows.iter().map(Self::row).collect();
        grid(&headings, &rows)
    }

    /// Returns the results as JSON.
    pub fn json(&self) -> serde_json::Value {
        let seconds = |span: Option<Duration>| span.map(|span| span.as_secs_f64());
        json!({
            "setting": setting_json(self.setting),
            "first_cut_seconds": seconds(self.without.first_cut.map(|[first, _]| first)),
            "first_pause_seconds": seconds(self.both.first_pause),
            "without_pfc_peak_bytes": self.without.peak().0,
            "without_pfc_peak_seconds": (self.without.peak().1 + 1) as f64 / 1e6,
            "load_at_400_us": self.without.early_load(),
            "cleared_seconds": self.both.cleared().map(|at| (at + 1) as f64 / 1e6),
            "second_peak_bytes": self.both.second_peak(),
            "delivered_bytes": self.both.delivered,
        })
    }

    fn row(&self) -> Vec<String> {
        let none = || "–".to_owned();
        let micros = |span: Option<Duration>| {
            span.map_or_else(none, |span| format!("{} µs", span.as_nanos() / 1000))
        };
        let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        let millis = |at: usize| format!("{:.2} ms", (at + 1) as f64 / 1e3);
        let (peak, at) = self.without.peak();
        vec![
            setting_text(self.setting),
            micros(self.without.first_cut.map(|[first, _]| first)),
            micros(self.both.first_pause),
            megabytes(peak),
            millis(at),
            format!("{:.2}", self.without.early_load()),
            self.both.cleared().map_or_else(none, millis),
            megabytes(self.both.second_peak()),
            megabytes(self.both.delivered),
        ]
    }
}
