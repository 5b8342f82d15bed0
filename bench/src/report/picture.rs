//! A picture: rates over frame sizes, and goodput and latency over load at the smallest frame.

use weir_results::chart::{Axis, Chart, Column, Curve, Panel, Style};
use weir_results::quantity::Unit;

use super::summary::at;
use super::Summary;
use crate::measure::{LATENCY_LOADS, OVERLOADS};
use crate::rounds::Measured;

/// One column for each number of flows.
pub fn svg(measured: &Measured) -> String {
    let summaries = Summary::all(measured);
    let mut flows: Vec<u32> = summaries.iter().map(|summary| summary.flows).collect();
    flows.dedup();
    let columns = flows
        .into_iter()
        .map(|flows| {
            let of_flows: Vec<&Summary<'_>> = summaries
                .iter()
                .filter(|summary| summary.flows == flows)
                .collect();
            Column {
                title: if flows == 1 {
                    "one flow".to_owned()
                } else {
                    format!("{flows} flows")
                },
                panels: vec![rates(&of_flows), goodput(&of_flows), latency(&of_flows)],
                moments: Vec::new(),
            }
        })
        .collect();
    weir_results::chart::svg(&Chart {
        title: "Wire to wire over veth".to_owned(),
        columns,
    })
}

const MILLION_FRAMES: Unit = Unit {
    name: "M frames/s",
    size: 1e6,
};
const BYTES: Unit = Unit {
    name: "B",
    size: 1.0,
};
const PERCENT: Unit = Unit {
    name: "% of the rate without loss",
    size: 1.0,
};
const MICROSECONDS: Unit = Unit {
    name: "µs",
    size: 1e3,
};

fn rates(summaries: &[&Summary<'_>]) -> Panel {
    let curves = by_system(summaries, |summary| {
        let rate = summary.of(|one| Some(one.lossless.frames_per_second))?;
        Some(vec![(summary.frame_bytes as f64, rate.median)])
    });
    panel(
        "frame",
        BYTES,
        "throughput without loss",
        MILLION_FRAMES,
        curves,
    )
}

fn goodput(summaries: &[&Summary<'_>]) -> Panel {
    let smallest = smallest(summaries);
    let curves = by_system(&smallest, |summary| {
        let points = OVERLOADS.iter().filter_map(|times| {
            let goodput = summary.of(|one| Some(at(&one.overload, 100 * times)?.goodput))?;
            Some((f64::from(100 * times), goodput.median))
        });
        Some(points.collect())
    });
    panel(
        "offered",
        PERCENT,
        &titled("goodput", &smallest),
        MILLION_FRAMES,
        curves,
    )
}

fn latency(summaries: &[&Summary<'_>]) -> Panel {
    let smallest = smallest(summaries);
    let curves = by_system(&smallest, |summary| {
        let points = LATENCY_LOADS.iter().filter_map(|percent| {
            let p99 = summary.of(|one| Some(at(&one.latency, *percent)?.p99_nanos? as f64))?;
            Some((f64::from(*percent), p99.median))
        });
        Some(points.collect())
    });
    let values = || {
        curves
            .iter()
            .flat_map(|curve| curve.points.iter().map(|point| point.1))
    };
    let (least, most) = (values().fold(1e9, f64::min), values().fold(1e3, f64::max));
    Panel {
        up: Axis::logarithmic(
            &titled("latency, p99", &smallest),
            MICROSECONDS,
            least.max(1e3),
            most * 1.01,
        ),
        ..panel("offered", PERCENT, "", MICROSECONDS, curves)
    }
}

fn smallest<'a>(summaries: &[&'a Summary<'a>]) -> Vec<&'a Summary<'a>> {
    let least = summaries.iter().map(|summary| summary.frame_bytes).min();
    summaries
        .iter()
        .filter(|summary| Some(summary.frame_bytes) == least)
        .copied()
        .collect()
}

fn titled(what: &str, summaries: &[&Summary<'_>]) -> String {
    summaries.first().map_or(what.to_owned(), |summary| {
        format!("{what} ({} B)", summary.frame_bytes)
    })
}

/// One curve for each system, in the order in which they come.
fn by_system(
    summaries: &[&Summary<'_>],
    points: impl Fn(&Summary<'_>) -> Option<Vec<(f64, f64)>>,
) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for summary in summaries {
        let more = points(summary).unwrap_or_default();
        match curves.iter_mut().find(|curve| curve.name == summary.system) {
            Some(curve) => curve.points.extend(more),
            None => curves.push(Curve {
                name: summary.system.to_owned(),
                points: more,
                style: Style::Line,
            }),
        }
    }
    curves
}

fn panel(across: &str, across_unit: Unit, up: &str, up_unit: Unit, curves: Vec<Curve>) -> Panel {
    let most = |pick: fn(&(f64, f64)) -> f64| {
        curves
            .iter()
            .flat_map(|curve| curve.points.iter().map(pick))
            .fold(1.0, f64::max)
    };
    Panel {
        across: Axis::linear(across, across_unit, most(|point| point.0)),
        up: Axis::linear(up, up_unit, most(|point| point.1)),
        curves,
        levels: Vec::new(),
    }
}
