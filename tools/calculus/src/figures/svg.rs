//! Draws curves as SVG.

use std::io::{self, Write};

use weir_svg::chart::{self, Axis, Chart, Column, Curve, Style};
use weir_svg::quantity::{short, Unit};

use super::{Curves, Panel, Series};

impl Curves {
    /// Writes one picture of all panels.
    pub fn write_svg(&self, mut out: impl Write) -> io::Result<()> {
        out.write_all(self.svg().as_bytes())
    }

    fn svg(&self) -> String {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let column = |index: usize| {
            let panels = self.rows.iter().filter_map(|row| row.get(index));
            Column {
                panels: panels.map(drawn).collect(),
                ..Column::default()
            }
        };
        chart::svg(&Chart {
            title: self.title.clone(),
            columns: (0..count).map(column).collect(),
        })
    }
}

fn drawn(panel: &Panel) -> chart::Panel {
    let greatest = |value: fn(&(f64, f64)) -> f64| {
        let points = panel.series.iter().flat_map(|series| &series.points);
        points.map(value).fold(0.0, f64::max)
    };
    let levels = panel.levels.iter().map(|(_, level)| *level);
    let most = levels.fold(greatest(|point| point.1), f64::max);
    let unit = |name| Unit { name, size: 1.0 };
    let level = |(name, level): &(String, f64)| {
        let text = format!("{name} {} {}", short(*level, 2), panel.y.unit);
        (*level, text)
    };
    let curve = |series: &Series| Curve {
        // A single line has its name above the panel.
        name: match panel.series.len() {
            1 => String::new(),
            _ => series.name.clone(),
        },
        points: simplified(series),
        style: Style::Line,
    };
    chart::Panel {
        title: panel.title.clone(),
        across: Axis::until(panel.x.label, unit(panel.x.unit), greatest(|point| point.0)),
        up: Axis::linear(panel.y.label, unit(panel.y.unit), most),
        curves: panel.series.iter().map(curve).collect(),
        levels: panel.levels.iter().map(level).collect(),
    }
}

/// Removes points between two others of the same height, since a mean over 1 µs is mostly constant.
fn simplified(series: &Series) -> Vec<(f64, f64)> {
    let points = &series.points;
    let needed = |index: &usize| {
        let neighbours = index
            .checked_sub(1)
            .and_then(|before| Some((points[before].1, points.get(index + 1)?.1)));
        let height = points[*index].1;
        neighbours.is_none_or(|(before, after)| before != height || after != height)
    };
    (0..points.len())
        .filter(needed)
        .map(|index| points[index])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{reproduce, Axis, Figure};
    use super::*;

    #[test]
    fn every_curve_of_a_figure_is_drawn() {
        for figure in Figure::ALL {
            let curves = reproduce(figure).unwrap();
            let picture = curves.svg();
            let count: usize = curves
                .rows
                .iter()
                .flatten()
                .map(|panel| panel.series.len())
                .sum();
            let joints = picture.matches("stroke-linejoin").count();
            assert_eq!(joints, count, "{figure}");
            assert!(
                !picture.contains("NaN") && !picture.contains("inf"),
                "{figure}"
            );
        }
    }

    #[test]
    fn points_lie_within_the_frame_and_flat_ones_are_left_out() {
        let axis = |label| Axis { label, unit: "u" };
        let panel = Panel {
            title: "a < b".into(),
            x: axis("x"),
            y: axis("y"),
            series: vec![Series {
                name: "one".into(),
                points: vec![(0.0, 0.0), (1.0, 7.0), (2.0, 7.0), (3.0, 7.0), (4.0, 97.0)],
            }],
            levels: vec![("limit".into(), 98.5)],
        };
        assert_eq!(simplified(&panel.series[0]).len(), 4);
        let drawn = drawn(&panel);
        assert_eq!((drawn.across.to, drawn.up.to), (4.0, 100.0));
        assert_eq!(drawn.levels, [(98.5, "limit 98.5 u".to_owned())]);
        assert_eq!(drawn.title, "a < b");
    }
}
