//! `switchctl plan --svg`: buffer contents over time, with their thresholds.

use std::path::Path;

use anyhow::{Context, Result};
use weir_calculus::algebra::Element;
use weir_config::daemon::Class;
use weir_core::{Bytes, ClassMode};
use weir_results::chart::{self, Axis, Chart, Column, Curve, Panel, Style};
use weir_results::quantity::Unit;

use crate::network::Network;
use crate::predict::buffers::{buffers, Buffer};
use crate::result::{IngressPlan, Plan};
use crate::show::text::{grouped, place, same_ingress};
use weir_output::bytes;

/// Maximum number of panels per switch, for the fullest buffers.
const PANELS_MAX: usize = 8;
/// Number of time spans for a curve with more points than a screen shows; each is drawn with its least, greatest and last
/// value.
const SPANS: usize = 700;
const BYTES_PER_KILOBIT: f64 = 125.0;
const SECONDS_PER_MICRO: f64 = 1e-6;

/// Draws the plan into `file`: a column per switch, a panel per buffer in which anything waits. Buffers with the same plan
/// share a panel.
pub fn write(network: &Network, plan: &Plan, file: &Path) -> Result<()> {
    let chart = chart(network, plan)?;
    std::fs::write(file, chart::svg(&chart)).with_context(|| file.display().to_string())
}

fn chart(network: &Network, plan: &Plan) -> Result<Chart> {
    let alone = plan.kind == "configuration";
    let mut columns = Vec::new();
    for switch in &network.switches {
        let all = buffers(network, switch, alone)?;
        let mut panels: Vec<(u64, Panel)> = Vec::new();
        let rows = plan.ingress.iter().filter(|row| row.switch == switch.name);
        for (row, count) in grouped(rows, same_ingress) {
            let mut of_row = all.iter();
            let buffer = of_row.find(|one| (&one.port, &one.class) == (&row.port, &row.class));
            let class = switch.classes.iter().find(|class| class.name == row.class);
            let (Some(buffer), Some(class)) = (buffer, class) else {
                continue;
            };
            let panel = panel(buffer, row, class, count)?;
            panels.extend(panel.map(|panel| (row.peak_bytes, panel)));
        }
        // Equal peaks stay in the order of the table.
        panels.sort_by_key(|(peak, _)| std::cmp::Reverse(*peak));
        panels.truncate(PANELS_MAX);
        if !panels.is_empty() {
            columns.push(Column {
                title: switch.name.clone(),
                panels: panels.into_iter().map(|(_, panel)| panel).collect(),
                ..Column::default()
            });
        }
    }
    Ok(Chart {
        title: format!("Planned: {}", plan.file),
        columns,
    })
}

/// Returns `None` if no frame ever waits.
fn panel(buffer: &Buffer, row: &IngressPlan, class: &Class, count: usize) -> Result<Option<Panel>> {
    let end = buffer.end * SECONDS_PER_MICRO;
    let held = thinned(points(buffer)?, end);
    let peak = held.iter().map(|point| point.1).fold(0.0, f64::max);
    if peak <= 0.0 {
        return Ok(None);
    }
    let levels = levels(row, class);
    // A size far above everything else would flatten the rest; its line stays at the upper edge.
    let near = levels.iter().map(|(value, _)| *value);
    let near = near.filter(|value| *value <= 3.0 * peak);
    let most = near.fold(peak, f64::max) * 1.02;
    let up = Axis::until(
        &format!("{} of {}", row.class, place(&row.switch, &row.port, count)),
        Unit::of_amount(most),
        most,
    );
    let levels = levels
        .into_iter()
        .map(|(value, name)| match value > up.to {
            true => (up.to, format!("{name} ↑")),
            false => (value, name),
        })
        .collect();
    let mut curves = vec![Curve {
        name: "held".into(),
        points: held,
        style: Style::Line,
    }];
    if !buffer.pauses.is_empty() {
        curves.push(Curve {
            name: "neighbour paused".into(),
            points: thinned(paused(&buffer.pauses, end, up.to * 0.04), end),
            style: Style::Line,
        });
    }
    Ok(Some(Panel {
        title: String::new(),
        across: Axis::until("time", Unit::of_time(end), end),
        up,
        curves,
        levels,
    }))
}

/// Returns thresholds in bytes, each with its name and value.
fn levels(row: &IngressPlan, class: &Class) -> Vec<(f64, String)> {
    let level = |name: &str, value: Bytes| {
        let text = format!("{name} {}", bytes(value.get()));
        (value.get() as f64, text)
    };
    match (class.mode, &row.budgets) {
        (ClassMode::Level { budgets, .. }, Some(_)) => vec![level("budgets", budgets.total())],
        (ClassMode::Lossy { buffer }, _) => vec![level("buffer", buffer)],
        (
            ClassMode::Pfc(thresholds)
            | ClassMode::Level {
                edge: thresholds, ..
            },
            _,
        ) => {
            let needed = row.headroom.as_ref().map(|room| room.needed_bytes);
            let needed = thresholds.xoff() + Bytes::new(needed.unwrap_or(0));
            vec![
                level("xon", thresholds.xon()),
                level("xoff", thresholds.xoff()),
                level("needed", needed),
                level("headroom", thresholds.limit()),
            ]
        }
    }
}

/// Returns seconds and bytes, connected by straight lines.
fn points(buffer: &Buffer) -> Result<Vec<(f64, f64)>> {
    let mut points = Vec::new();
    let mut add = |time: f64, value: f64| {
        let time = time.min(buffer.end) * SECONDS_PER_MICRO;
        points.push((time, value * BYTES_PER_KILOBIT));
    };
    for element in buffer.curve.graph(&buffer.end)? {
        match element {
            Element::Point { at, value } => add(at, value),
            Element::Segment {
                from,
                to,
                start,
                slope,
            } => {
                let to = to.unwrap_or(buffer.end).min(buffer.end);
                add(from, start);
                add(to, start + slope * (to - from));
            }
        }
    }
    points.dedup();
    Ok(points)
}

/// Reduces the points to a screen's resolution, and keeps extremes.
fn thinned(points: Vec<(f64, f64)>, end: f64) -> Vec<(f64, f64)> {
    if points.len() <= 4 * SPANS {
        return points;
    }
    let span = |point: &(f64, f64)| (point.0 / end * SPANS as f64) as usize;
    let mut kept = Vec::with_capacity(3 * SPANS);
    for group in points.chunk_by(|left, right| span(left) == span(right)) {
        let by_value = |left: &&(f64, f64), right: &&(f64, f64)| left.1.total_cmp(&right.1);
        let least = group.iter().min_by(by_value);
        let most = group.iter().max_by(by_value);
        let some = [least, most, group.last()].into_iter().flatten();
        let mut some: Vec<(f64, f64)> = some.copied().collect();
        // The sort is stable: values of one time stay in order if both are kept.
        some.sort_by(|left, right| left.0.total_cmp(&right.0));
        some.dedup();
        kept.extend(some);
    }
    kept
}

/// Draws a line on the axis that rises to `height` during pauses.
fn paused(pauses: &[[f64; 2]], end: f64, height: f64) -> Vec<(f64, f64)> {
    let mut points = vec![(0.0, 0.0)];
    for [from, to] in pauses {
        let [from, to] = [from, to].map(|time| time * SECONDS_PER_MICRO);
        points.extend([(from, 0.0), (from, height), (to, height), (to, 0.0)]);
    }
    points.push((end, 0.0));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_of_every_span() {
        let saw = |index: usize| (index as f64, (index % 7) as f64);
        let all: Vec<(f64, f64)> = (0..100_000).map(saw).collect();
        let kept = thinned(all.clone(), 1e5);
        assert!(kept.len() <= 3 * SPANS, "{}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        for value in [0.0, 6.0] {
            let count = kept.iter().filter(|point| point.1 == value).count();
            assert!(count >= SPANS, "every span has {value}");
        }
        let few = all[..100].to_vec();
        assert_eq!(thinned(few.clone(), 1e5), few);
    }

    #[test]
    fn pauses_are_steps() {
        let points = paused(&[[1e6, 2e6]], 4.0, 10.0);
        assert_eq!(
            points,
            [
                (0.0, 0.0),
                (1.0, 0.0),
                (1.0, 10.0),
                (2.0, 10.0),
                (2.0, 0.0),
                (4.0, 0.0)
            ]
        );
    }
}
