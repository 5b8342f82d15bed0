//! Curves of runs as SVG: throughput of each flow above, occupancy of the ring's ingress buffers below,
//! like the CLCM paper's Figures 5 and 7. One column for each run; all columns have the same axes.

use std::fmt::Write as _;

use weir_api::run::RunResult;
use weir_api::words::EventName;
use weir_config::scenario::Scenario;
use weir_core::ModeKind;
use weir_svg::{colour, point, round_up, Svg};

use crate::quantity::{self, short, Unit};

pub(crate) const COLUMN_WIDTH: f64 = 560.0;
pub(crate) const PANEL_HEIGHT: f64 = 240.0;
pub(crate) const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
pub(crate) const TOP: f64 = 56.0;
pub(crate) const GAP: f64 = 76.0;
const LEGEND: f64 = 26.0;
/// Curves are drawn with at most this many points; each is the mean of the samples it stands for.
const POINTS_MAX: usize = 400;

/// The threshold of the first lossless class, in bytes: what [`svg`] draws across the buffers.
pub fn xoff(scenario: &Scenario) -> Option<u64> {
    let mut classes = scenario.classes.iter();
    classes.find_map(|class| Some(class.mode.thresholds()?.xoff().get()))
}

/// One picture of several runs, each under its title. `xoff_bytes` is drawn as a line across the buffers,
/// but for classes with Levels, whose switches do not use it among themselves.
pub fn svg(columns: &[(&str, &RunResult)], xoff_bytes: Option<u64>) -> String {
    let width = COLUMN_WIDTH * columns.len() as f64;
    let height = TOP + 2.0 * PANEL_HEIGHT + GAP + 2.0 * LEGEND + 20.0;
    let mut out = Svg::on_paper([width, height], 12);
    let most = |curves: &dyn Fn(&RunResult) -> Vec<Curve>| {
        columns
            .iter()
            .flat_map(|(_, result)| thinned(curves(result)))
            .flat_map(|(_, values)| values)
            .fold(0.0, f64::max)
    };
    let xoff = xoff_bytes.map(|bytes| bytes as f64);
    let throughput_max = most(&throughput);
    let occupancy_max = most(&occupancy).max(xoff.unwrap_or(0.0));
    let x_max = columns
        .iter()
        .map(|(_, result)| result.duration_seconds)
        .fold(0.0, f64::max);
    let time_axis = Axis::new("time", Unit::of_time(x_max), x_max);
    let throughput_axis =
        Axis::rounded("throughput", Unit::of_rate(throughput_max), throughput_max);
    let occupancy_axis = Axis::rounded(
        "ingress occupancy",
        Unit::of_amount(occupancy_max),
        occupancy_max,
    );
    for (index, (title, result)) in columns.iter().enumerate() {
        let x = COLUMN_WIDTH * index as f64;
        out.title([x + COLUMN_WIDTH / 2.0, 24.0], 16, title);
        let upper = Panel {
            x: x + LEFT,
            y: TOP,
            across: time_axis,
            up: throughput_axis,
            level: None,
        };
        upper.draw(&mut out, &thinned(throughput(result)), result);
        let lower = Panel {
            x: x + LEFT,
            y: TOP + PANEL_HEIGHT + GAP,
            across: time_axis,
            up: occupancy_axis,
            level: xoff.filter(|_| result.mode != ModeKind::Level),
        };
        lower.draw(&mut out, &thinned(occupancy(result)), result);
    }
    out.finish()
}

/// A name, and values in base units at even distances over the run.
type Curve = (String, Vec<f64>);

fn throughput(result: &RunResult) -> Vec<Curve> {
    let name = |flow: &String| format!("flow {flow}");
    result
        .series
        .throughput
        .iter()
        .map(|(flow, rates)| (name(flow), rates.clone()))
        .collect()
}

/// Ingress buffers that ever held something.
fn occupancy(result: &RunResult) -> Vec<Curve> {
    result
        .series
        .occupancy
        .iter()
        .filter(|(_, bytes)| bytes.iter().any(|value| *value > 0))
        .map(|(key, bytes)| {
            let mut parts = key.split(':');
            let (switch, port) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
            let values = bytes.iter().map(|value| *value as f64).collect();
            (format!("{switch} from {port}"), values)
        })
        .collect()
}

fn thinned(curves: Vec<Curve>) -> Vec<Curve> {
    curves
        .into_iter()
        .map(|(name, values)| {
            let step = values.len().div_ceil(POINTS_MAX).max(1);
            let means = values
                .chunks(step)
                .map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64)
                .collect();
            (name, means)
        })
        .collect()
}

/// An axis from zero on. Lengths on it are in base units, what stands at it in its unit.
#[derive(Clone, Copy)]
pub(crate) struct Axis {
    label: &'static str,
    unit: Unit,
    max: f64,
}

impl Axis {
    pub(crate) fn new(label: &'static str, unit: Unit, max: f64) -> Self {
        Self { label, unit, max }
    }

    /// As long as the next round number in its unit.
    pub(crate) fn rounded(label: &'static str, unit: Unit, max: f64) -> Self {
        Self::new(label, unit, nice(unit.count(max)) * unit.size)
    }

    /// Where along the axis `value` is, from 0 to 1; what is beyond its end stands at its end.
    fn part(&self, value: f64) -> f64 {
        if self.max > 0.0 {
            (value / self.max).min(1.0)
        } else {
            0.0
        }
    }

    fn number(&self, value: f64) -> String {
        short(self.unit.count(value), 2)
    }

    fn title(&self) -> String {
        format!("{}, {}", self.label, self.unit.name)
    }
}

pub(crate) struct Panel {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) across: Axis,
    pub(crate) up: Axis,
    /// Where xoff is drawn.
    pub(crate) level: Option<f64>,
}

impl Panel {
    fn width(&self) -> f64 {
        COLUMN_WIDTH - LEFT - RIGHT
    }

    pub(crate) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.x + self.across.part(x) * self.width(),
            self.y + PANEL_HEIGHT - self.up.part(y) * PANEL_HEIGHT,
        )
    }

    fn draw(&self, out: &mut Svg, curves: &[Curve], result: &RunResult) {
        self.axes(out);
        self.releases(out, result);
        for (index, (_, values)) in curves.iter().enumerate() {
            let step = result.duration_seconds / values.len().max(1) as f64;
            let at = |(index, value): (usize, &f64)| self.at((index as f64 + 0.5) * step, *value);
            let points: Vec<String> = values.iter().enumerate().map(at).map(point).collect();
            out.polyline(colour(index), 1.3, "", &points);
        }
        self.draw_level(out);
        self.legend(out, curves, result);
    }

    fn draw_level(&self, out: &mut Svg) {
        let Some(level) = self.level else { return };
        let (left, y) = self.at(0.0, level);
        let right = left + self.width();
        let _ = writeln!(
            out,
            r##"<line x1="{left}" x2="{right}" y1="{y:.1}" y2="{y:.1}" stroke="#444444" stroke-dasharray="8 4"/><text x="{}" y="{:.1}" text-anchor="end" font-size="11">xoff {}</text>"##,
            right - 4.0,
            y - 5.0,
            quantity::amount(level)
        );
    }

    pub(crate) fn axes(&self, out: &mut Svg) {
        const TICKS: usize = 5;
        let (left, bottom) = self.at(0.0, 0.0);
        let _ = writeln!(
            out,
            r##"<rect x="{left}" y="{}" width="{}" height="{PANEL_HEIGHT}" fill="none" stroke="#444444"/>"##,
            self.y,
            self.width()
        );
        for tick in 0..=TICKS {
            let part = tick as f64 / TICKS as f64;
            let value = part * self.up.max;
            let (_, y) = self.at(0.0, value);
            let _ = writeln!(
                out,
                r##"<line x1="{left}" x2="{}" y1="{y}" y2="{y}" stroke="#dddddd"/><text x="{}" y="{}" text-anchor="end">{}</text>"##,
                left + self.width(),
                left - 6.0,
                y + 4.0,
                self.up.number(value)
            );
        }
        let end = self.across.unit.count(self.across.max);
        let step = nice(end / TICKS as f64);
        for tick in 0..=(end / step * (1.0 + f64::EPSILON)) as usize {
            let time = tick as f64 * step * self.across.unit.size;
            let (x, _) = self.at(time, 0.0);
            let _ = writeln!(
                out,
                r#"<text x="{x}" y="{}" text-anchor="middle">{}</text>"#,
                bottom + 16.0,
                self.across.number(time)
            );
        }
        let _ = writeln!(
            out,
            r#"<text x="{}" y="{}" text-anchor="middle">{}</text><text transform="translate({},{}) rotate(-90)" text-anchor="middle">{}</text>"#,
            left + self.width() / 2.0,
            bottom + 31.0,
            self.across.title(),
            left - 44.0,
            self.y + PANEL_HEIGHT / 2.0,
            self.up.title()
        );
    }

    /// A mark at the top edge for the first suspicion and for each release.
    fn releases(&self, out: &mut Svg, result: &RunResult) {
        let mut seen_suspicion = false;
        for event in &result.events {
            let (x, _) = self.at(event.seconds.max(0.0), 0.0);
            let top = self.y;
            match event.kind.known() {
                Some(EventName::Suspected) if !seen_suspicion => {
                    seen_suspicion = true;
                    let _ = writeln!(
                        out,
                        r##"<line x1="{x:.1}" x2="{x:.1}" y1="{top}" y2="{}" stroke="#b00000" stroke-dasharray="4 3"/>"##,
                        top + PANEL_HEIGHT
                    );
                }
                Some(EventName::ReleaseStarted) => {
                    let _ = writeln!(
                        out,
                        r##"<path d="M{x:.1} {top} l-3 -6 h6 z" fill="#00704a"/>"##
                    );
                }
                _ => {}
            }
        }
    }

    fn legend(&self, out: &mut Svg, curves: &[Curve], result: &RunResult) {
        let y = self.y + PANEL_HEIGHT + 50.0;
        let mut x = self.x;
        for (index, (name, _)) in curves.iter().enumerate() {
            out.legend([x, y], colour(index), name);
            x += 30.0 + 6.4 * name.len() as f64;
        }
        if result
            .events
            .iter()
            .any(|event| event.kind == EventName::Suspected)
        {
            let releases = if result.releases > 0 {
                "  ▾ release"
            } else {
                ""
            };
            let _ = writeln!(
                out,
                r##"<text x="{}" y="{}" text-anchor="end" font-size="11"><tspan fill="#b00000">┆ first suspicion</tspan><tspan dx="10" fill="#00704a">{releases}</tspan></text>"##,
                self.x + self.width(),
                self.y - 10.0
            );
        }
    }
}

/// So that round numbers stand at the axis.
fn nice(value: f64) -> f64 {
    round_up(value, &[1.0, 1.25, 1.5, 2.0, 2.5, 4.0, 5.0, 7.5, 10.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_every_curve_and_each_mark_once() {
        let mut result = RunResult {
            duration_seconds: 1.0,
            releases: 1,
            ..crate::fixtures::empty_result()
        };
        result
            .series
            .throughput
            .insert("a<b".into(), vec![1e6, 2e6]);
        result
            .series
            .occupancy
            .insert("s1:s2:3".into(), vec![1024, 61_440]);
        result.series.occupancy.insert("s2:s1:3".into(), vec![0, 0]);
        for (kind, seconds) in [
            ("suspected", 0.5),
            ("suspected", 0.6),
            ("release_started", 0.7),
        ] {
            result.events.push(weir_api::run::RunEvent {
                seconds,
                switch: "s1".into(),
                kind: kind.into(),
                port: None,
                priority: None,
                details: Default::default(),
            });
        }
        let picture = svg(&[("plain & simple", &result)], Some(61_440));
        let count = |what: &str| picture.matches(what).count();
        assert_eq!(count("<polyline"), 2, "an empty buffer has no curve");
        assert_eq!(count("flow a&lt;b") + count("plain &amp; simple"), 2);
        assert_eq!(count("s1 from s2"), 1);
        assert_eq!(count("xoff 60 KiB"), 1);
        assert_eq!(count("<path"), 2, "the release in both panels");
        assert_eq!(
            count(r##"stroke="#b00000" stroke-dasharray"##),
            2,
            "the first suspicion in both panels"
        );
    }

    #[test]
    fn axes_have_units_that_fit_the_run() {
        let mut result = RunResult {
            duration_seconds: 1e-4,
            ..crate::fixtures::empty_result()
        };
        result.series.interval_seconds = 5e-5;
        let rates = vec![40e9, 98e9];
        result.series.throughput.insert("a".into(), rates);
        let occupancy = vec![0, 3 << 20];
        result.series.occupancy.insert("s1:s2:3".into(), occupancy);
        let picture = svg(&[("fast", &result)], Some(2 << 20));
        let texts = [
            ">time, µs<",
            ">throughput, Gbit/s<",
            ">ingress occupancy, MiB<",
            ">xoff 2 MiB<",
            // The ends of the three axes.
            ">100<",
            ">4<",
        ];
        for text in texts {
            assert!(picture.contains(text), "{text}: {picture}");
        }
        // 98 of 100 Gbit/s, three quarters through the run, in a panel of 480 by 240.
        assert!(picture.contains(" 424.0,60.8\""), "{picture}");
    }
}
