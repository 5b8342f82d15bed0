//! Presents the traces like the paper's figures, with its numbers next to ours, and their dependence on the settings.

mod dependence;

use serde_json::json;
use weir_core::Duration;
use weir_results::figure::{svg, Curve, Curves};
use weir_results::quantity::Unit;
use weir_results::table::grid;

use super::{trace, Configuration, ReproduceError, Setting, Trace};

pub use dependence::{dependence, Dependence};

/// Backlog below which the buffer counts as empty: a frame of each sender.
const CLEAR: u64 = 31 * 1024;

/// The end of Figure 8.
const EARLY: usize = 400;

/// Start of the plateau of the backlog with PFC.
const PLATEAU_FROM: usize = 1000;

/// Figures of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Figure 7: 10 ms.
    Seven,
    /// Figure 8: its first 400 µs.
    Eight,
}

impl Figure {
    /// Returns the figure's time span.
    pub const fn duration(self) -> Duration {
        match self {
            Self::Seven => Duration::from_millis(10),
            Self::Eight => Duration::from_micros(EARLY as u64),
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Seven => 7,
            Self::Eight => 8,
        }
    }
}

/// One statement of the paper and the measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Subject.
    pub what: &'static str,
    /// Value in the paper.
    pub paper: &'static str,
    /// Measured value as text.
    pub ours: String,
    /// The number in `unit`; `None`: it never happened.
    pub value: Option<f64>,
    /// Unit of `value`.
    pub unit: &'static str,
}

/// A reproduced figure.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The figure.
    pub figure: Figure,
    /// Settings left open by the paper.
    pub setting: Setting,
    /// PFC, DCQCN, DCQCN without PFC.
    pub traces: [Trace; 3],
    /// The paper's numbers and ours.
    pub findings: Vec<Finding>,
}

/// Runs the three configurations for the time span of `figure`.
///
/// # Errors
///
/// See [`ReproduceError`].
pub fn figure(figure: Figure, setting: Setting) -> Result<Reproduction, ReproduceError> {
    let [pfc, both, without] = Configuration::of_figure(setting);
    let run = |configuration| trace(configuration, figure.duration());
    let traces = [run(pfc)?, run(both)?, run(without)?];
    let findings = match figure {
        Figure::Seven => findings_of_seven(&traces),
        Figure::Eight => findings_of_eight(&traces),
    };
    Ok(Reproduction {
        figure,
        setting,
        traces,
        findings,
    })
}

impl Trace {
    /// Greatest backlog in bytes, and the interval at whose end it was reached.
    pub fn peak(&self) -> (u64, usize) {
        let points = self.backlog.iter().enumerate();
        points.fold((0, 0), |peak, (index, bytes)| {
            if *bytes > peak.0 {
                (*bytes, index)
            } else {
                peak
            }
        })
    }

    /// First interval after the peak at whose end the backlog is gone.
    pub fn cleared(&self) -> Option<usize> {
        let from = self.peak().1;
        let mut later = self.backlog.iter().skip(from);
        later.position(|bytes| *bytes < CLEAR).map(|at| from + at)
    }

    /// Last interval at whose end the backlog is as large as PFC keeps it: X_on of every port.
    pub fn at_plateau_until(&self) -> Option<usize> {
        self.backlog.iter().rposition(|bytes| *bytes >= self.resume)
    }

    /// Greatest backlog after it was first gone.
    pub fn second_peak(&self) -> u64 {
        let cleared = self.cleared().unwrap_or(self.backlog.len());
        self.backlog
            .iter()
            .skip(cleared)
            .copied()
            .max()
            .unwrap_or(0)
    }

    /// Greatest arrival rate after the backlog was first gone, as a mean of ten intervals, and its time.
    pub fn second_rate(&self) -> Option<(f64, usize)> {
        const WIDTH: usize = 10;
        let from = self.cleared()?;
        let mean = |part: &[f64]| part.iter().sum::<f64>() / WIDTH as f64;
        let later = self.arrival_bps.get(from..)?.chunks_exact(WIDTH);
        later
            .map(mean)
            .enumerate()
            .fold(None, |best, (index, rate)| match best {
                Some((most, _)) if most >= rate => best,
                _ => Some((rate, from + index * WIDTH)),
            })
    }

    /// Returns the mean backlog in bytes from 1 ms on, and its largest deviation.
    fn plateau(&self) -> (f64, f64) {
        let part = self.backlog.get(PLATEAU_FROM..).unwrap_or_default();
        let mean = part.iter().sum::<u64>() as f64 / part.len().max(1) as f64;
        let away = |bytes: &u64| (*bytes as f64 - mean).abs();
        (mean, part.iter().map(away).fold(0.0, f64::max))
    }

    /// Returns the mean arrival rate over the 50 µs before 400 µs, relative to the egress's rate.
    fn early_load(&self) -> f64 {
        const WIDTH: usize = 50;
        let end = self.arrival_bps.len().min(EARLY);
        let part = &self.arrival_bps[end.saturating_sub(WIDTH)..end];
        part.iter().sum::<f64>() / part.len().max(1) as f64 / self.capacity_bps
    }

    fn early_cuts(&self) -> [u64; 2] {
        let end = self.cuts.len().min(EARLY);
        self.cuts[..end].last().copied().unwrap_or_default()
    }
}

fn findings_of_seven([pfc, both, without]: &[Trace; 3]) -> Vec<Finding> {
    let (mean, away) = pfc.plateau();
    let (peak, at) = without.peak();
    vec![
        finding(
            "PFC: plateau of the backlog",
            "around 30 MB",
            Some(mean / 1e6),
            "MB",
        )
        .with(format!("± {:.2} MB", away / 1e6)),
        finding(
            "DCQCN-noPFC: peak of the backlog",
            "above 50 MB",
            Some(peak as f64 / 1e6),
            "MB",
        ),
        finding(
            "DCQCN-noPFC: when it peaks",
            "about 0.8 ms",
            Some((at + 1) as f64 / 1e3),
            "ms",
        ),
        finding(
            "DCQCN: backlog as with PFC until",
            "about 0.8 ms",
            both.at_plateau_until().map(|at| (at + 1) as f64 / 1e3),
            "ms",
        ),
        finding(
            "DCQCN: the backlog is gone",
            "after more than 3 ms",
            both.cleared().map(|at| (at + 1) as f64 / 1e3),
            "ms",
        ),
        finding(
            "DCQCN: highest rate after that",
            "a jump to 300 Gbit/s at 3 ms",
            both.second_rate().map(|(rate, _)| rate / 1e9),
            "Gbit/s",
        )
        .with(both.second_rate().map_or_else(String::new, |(_, at)| {
            format!("at {:.2} ms", at as f64 / 1e3)
        })),
        finding(
            "DCQCN: second peak of the backlog",
            "a spike at around 3 ms",
            Some(both.second_peak() as f64 / 1e6),
            "MB",
        ),
    ]
}

fn findings_of_eight([pfc, both, without]: &[Trace; 3]) -> Vec<Finding> {
    let millis = |span: Duration| span.as_secs_f64() * 1e3;
    let micros = |span: Duration| span.as_secs_f64() * 1e6;
    let cuts = without.early_cuts();
    vec![
        finding(
            "first cut of the first sender",
            "less than 10 µs",
            without.first_cut.map(|[first, _]| micros(first)),
            "µs",
        )
        .with(without.first_cut.map_or_else(String::new, |[_, last]| {
            format!("the last sender's at {:.0} µs", micros(last))
        })),
        finding(
            "R_C after the first cut",
            "0.75 (empirically)",
            without.first_factor,
            "of the line",
        ),
        finding(
            "between two cuts",
            "50 µs",
            without.cut_interval.map(micros),
            "µs",
        ),
        finding(
            "cuts until 0.4 ms, without PFC",
            "8",
            Some(cuts[1] as f64),
            "cuts",
        )
        .with(format!("every sender {} or more", cuts[0])),
        finding(
            "arrivals at 0.4 ms, without PFC",
            "exceed the link",
            Some(without.early_load()),
            "× the link",
        ),
        finding(
            "DCQCN: PFC begins",
            "about 0.13 ms",
            both.first_pause.map(millis),
            "ms",
        ),
        finding(
            "PFC alone: it begins",
            "(Figure 8: before 0.1 ms)",
            pfc.first_pause.map(millis),
            "ms",
        ),
    ]
}

fn finding(
    what: &'static str,
    paper: &'static str,
    value: Option<f64>,
    unit: &'static str,
) -> Finding {
    let ours = value.map_or_else(|| "never".to_owned(), |value| format!("{value:.2} {unit}"));
    Finding {
        what,
        paper,
        ours,
        value,
        unit,
    }
}

impl Finding {
    fn with(mut self, more: String) -> Self {
        if self.value.is_some() && !more.is_empty() {
            self.ours = format!("{}, {more}", self.ours);
        }
        self
    }
}

impl Reproduction {
    /// Draws the figure: arrival rate above, backlog below.
    pub fn svg(&self) -> String {
        let panel = |label, unit, values: &dyn Fn(&Trace) -> Vec<f64>| Curves {
            label,
            unit,
            curves: self
                .traces
                .iter()
                .map(|trace| Curve {
                    name: trace.configuration.name().to_owned(),
                    values: values(trace),
                })
                .collect(),
        };
        let gbit = Unit {
            name: "Gbit/s",
            size: 1e9,
        };
        let megabytes = Unit {
            name: "MB",
            size: 1e6,
        };
        let backlog = |trace: &Trace| trace.backlog.iter().map(|bytes| *bytes as f64).collect();
        svg(
            &format!("31 senders; {}", setting_text(self.setting)),
            self.figure.duration().as_secs_f64(),
            &[
                panel("aggregate arrivals", gbit, &|trace| {
                    trace.arrival_bps.clone()
                }),
                panel("backlog", megabytes, &backlog),
            ],
        )
    }

    /// Returns the paper's numbers next to ours.
    pub fn table(&self) -> String {
        let rows: Vec<Vec<String>> = self
            .findings
            .iter()
            .map(|finding| {
                vec![
                    finding.what.into(),
                    finding.paper.into(),
                    finding.ours.clone(),
                ]
            })
            .collect();
        let headings = [
            &format!(
                "Figure {}, {}",
                self.figure.number(),
                setting_text(self.setting)
            ),
            "paper",
            "here",
        ];
        grid(&headings, &rows)
    }

    /// Returns findings and curves: rates in bit/s and backlogs in bytes, each for 1 µs.
    pub fn json(&self) -> serde_json::Value {
        json!({
            "figure": self.figure.number(),
            "setting": setting_json(self.setting),
            "findings": self.findings.iter().map(|finding| json!({
                "what": finding.what,
                "paper": finding.paper,
                "value": finding.value,
                "unit": finding.unit,
            })).collect::<Vec<_>>(),
            "interval_seconds": super::INTERVAL.as_secs_f64(),
            "curves": self.traces.iter().map(|trace| json!({
                "configuration": trace.configuration.name(),
                "arrival_bits_per_second": trace.arrival_bps,
                "backlog_bytes": trace.backlog,
                "dropped": trace.dropped,
                "reordered": trace.reordered,
            })).collect::<Vec<_>>(),
        })
    }
}

fn setting_text(setting: Setting) -> String {
    let target = if setting.clamp_target {
        "clamped"
    } else {
        "not clamped"
    };
    format!(
        "marks on {}, target {target}, α = {}",
        setting.mark_at.name(),
        setting.initial_alpha.as_f64()
    )
}

fn setting_json(setting: Setting) -> serde_json::Value {
    json!({
        "initial_alpha": setting.initial_alpha.as_f64(),
        "clamp_target": setting.clamp_target,
        "mark_at": setting.mark_at.name(),
    })
}
