//! Curves of runs as SVG: throughput of each flow above, occupancy of the ring's ingress buffers below, like the CLCM
//! paper's Figures 5 and 7. One column for each run; all columns have the same axes.

use weir_api::run::{RunResult, Series};
use weir_api::words::EventName;
use weir_config::scenario::{PortPeer, Scenario};
use weir_core::ModeKind;

use crate::chart::{self, carried, Axis, Chart, Column, Marks, Moment, Panel, Style};
use crate::quantity::{self, Unit};

/// Maximum number of points of a curve; each is the mean of the samples it represents.
const POINTS_MAX: usize = 400;

/// Reference values of a scenario's pictures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Threshold of the first lossless class, in bytes: a line across the buffers.
    pub xoff_bytes: Option<u64>,
    /// Rate of the fastest line to a host, in bit/s: an upper bound of every flow.
    pub line_bits_per_second: Option<u64>,
}

impl Limits {
    /// The values of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let mut classes = scenario.classes.iter();
        let ports = (0..scenario.switches.len()).flat_map(|index| scenario.ports(index));
        let hosts = ports.filter(|port| matches!(port.peer, PortPeer::Host(_)));
        Self {
            xoff_bytes: classes.find_map(|class| Some(class.mode.thresholds()?.xoff().get())),
            line_bits_per_second: hosts.map(|port| port.properties.rate.get()).max(),
        }
    }
}

/// One picture of several runs, each with its title. xoff is not drawn for classes with Levels, whose switches do not
/// use it between each other.
pub fn svg(columns: &[(&str, &RunResult)], limits: Limits) -> String {
    let curves: Vec<[Vec<Curve>; 2]> = columns
        .iter()
        .map(|(_, result)| [throughput(result, limits), occupancy(result)].map(thinned))
        .collect();
    let most = |row: usize| {
        let of_row = curves.iter().flat_map(|both| &both[row]);
        of_row
            .flat_map(|(_, values)| values)
            .fold(0.0, |most: f64, it| most.max(*it))
    };
    let xoff = limits.xoff_bytes.map(|bytes| bytes as f64);
    let throughput_max = most(0);
    let occupancy_max = most(1).max(xoff.unwrap_or(0.0));
    let durations = columns.iter().map(|(_, result)| result.duration_seconds);
    let end = durations.fold(0.0, f64::max);
    let across = Axis::until("time", Unit::of_time(end), end);
    let up = [
        Axis::linear("throughput", Unit::of_rate(throughput_max), throughput_max),
        Axis::linear(
            "ingress occupancy",
            Unit::of_amount(occupancy_max),
            occupancy_max,
        ),
    ];
    let columns = columns.iter().zip(curves);
    let columns = columns.map(|((title, result), curves)| {
        let panels = curves.into_iter().zip(&up).enumerate();
        let panels = panels.map(|(row, (curves, up))| {
            let xoff = xoff.filter(|_| row == 1 && result.mode != ModeKind::Level);
            let level = |bytes| (bytes, format!("xoff {}", quantity::amount(bytes)));
            Panel {
                title: String::new(),
                across: across.clone(),
                up: up.clone(),
                curves: drawn(curves, result.duration_seconds),
                levels: xoff.map(level).into_iter().collect(),
            }
        });
        Column {
            title: (*title).to_owned(),
            panels: panels.collect(),
            moments: first_suspicion(result).into_iter().collect(),
            marks: releases(result),
        }
    });
    chart::svg(&Chart {
        title: String::new(),
        columns: columns.collect(),
    })
}

fn drawn(curves: Vec<Curve>, seconds: f64) -> Vec<chart::Curve> {
    let drawn = |(name, values): Curve| {
        let step = seconds / values.len().max(1) as f64;
        let values = values.into_iter().enumerate();
        chart::Curve {
            name,
            points: values
                .map(|(index, value)| ((index as f64 + 0.5) * step, value))
                .collect(),
            style: Style::Line,
        }
    };
    curves.into_iter().map(drawn).collect()
}

fn first_suspicion(result: &RunResult) -> Option<Moment> {
    let mut events = result.events.iter();
    let first = events.find(|event| event.kind == EventName::Suspected)?;
    let port = first.port.as_deref().unwrap_or("a port");
    Some(Moment {
        at: first.seconds.max(0.0),
        text: format!("the first suspicion: {} of {}", port, first.switch),
    })
}

fn releases(result: &RunResult) -> Option<Marks> {
    let events = result.events.iter();
    let at: Vec<f64> = events
        .filter(|event| event.kind == EventName::ReleaseStarted)
        .map(|event| event.seconds.max(0.0))
        .collect();
    (!at.is_empty()).then(|| Marks {
        name: "release".to_owned(),
        at,
    })
}

/// A name, and values in base units at equal distances over the run.
type Curve = (String, Vec<f64>);

/// Frames are counted when a host reads them, possibly after the interval in which they arrived: a late host reads more
/// in one interval than its line carries in it. The excess over the line's capacity is drawn in the previous intervals.
fn throughput(result: &RunResult, limits: Limits) -> Vec<Curve> {
    let name = |flow: &String| format!("flow {flow}");
    let line = limits.line_bits_per_second.map(|rate| rate as f64);
    let is_sum = |flow: &str| [Series::BETWEEN_SWITCHES, Series::AT_ONE_SWITCH].contains(&flow);
    let flows = result.series.throughput.iter();
    flows
        .map(|(flow, rates)| {
            let rates = match line.filter(|_| !is_sum(flow)) {
                Some(line) => carried(rates, line, true),
                None => rates.clone(),
            };
            (name(flow), rates)
        })
        .collect()
}

/// Occupancy of ingress buffers that were ever used.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(xoff_bytes: u64) -> Limits {
        Limits {
            xoff_bytes: Some(xoff_bytes),
            line_bits_per_second: Some(100_000_000_000),
        }
    }

    #[test]
    fn no_flow_is_drawn_above_its_line() {
        let mut result = RunResult {
            duration_seconds: 1.0,
            ..crate::fixtures::empty_result()
        };
        // The host read late in the third interval.
        let counted = vec![90e6, 70e6, 125e6, 95e6];
        result.series.throughput.insert("a".into(), counted.clone());
        let limits = Limits {
            xoff_bytes: None,
            line_bits_per_second: Some(100_000_000),
        };
        let drawn = throughput(&result, limits).remove(0).1;
        assert_eq!(drawn, [90e6, 95e6, 100e6, 95e6]);
        assert_eq!(drawn.iter().sum::<f64>(), counted.iter().sum::<f64>());
        let picture = svg(&[("late", &result)], limits);
        assert!(
            picture.contains(">100<") && !picture.contains(">120<"),
            "{picture}"
        );
    }

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
        let picture = svg(&[("plain & simple", &result)], limits(61_440));
        let count = |what: &str| picture.matches(what).count();
        // Two curves, and the line from the level to its name.
        assert_eq!(count("<polyline"), 3, "an empty buffer has no curve");
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
        let picture = svg(&[("fast", &result)], limits(2 << 20));
        let texts = [
            ">time, µs<",
            ">throughput, Gbit/s<",
            ">ingress occupancy, MiB<",
            ">xoff 2 MiB<",
            // The ends of the three axes.
            ">100<",
            ">3<",
        ];
        for text in texts {
            assert!(picture.contains(text), "{text}: {picture}");
        }
    }
}
