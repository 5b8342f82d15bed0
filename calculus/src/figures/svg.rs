//! Curves as SVG.

use std::fmt::Write as _;
use std::io::{self, Write};

use weir_svg::{colour, escaped, point, round_up, Svg};

use super::{Curves, Panel, Series};

const PANEL_WIDTH: f64 = 480.0;
const PANEL_HEIGHT: f64 = 240.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 44.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 72.0;
const TICKS: usize = 5;

impl Curves {
    /// One picture of all panels.
    pub fn write_svg(&self, mut out: impl Write) -> io::Result<()> {
        out.write_all(self.svg().as_bytes())
    }

    fn svg(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = columns as f64 * (LEFT + PANEL_WIDTH + RIGHT);
        let height = TOP + self.rows.len() as f64 * (ABOVE + PANEL_HEIGHT + BELOW);
        let mut out = Svg::on_paper([width, height], 12);
        out.title([width / 2.0, 28.0], 16, &self.title);
        for (row, panels) in self.rows.iter().enumerate() {
            for (column, panel) in panels.iter().enumerate() {
                let frame = Frame::new(panel, row, column);
                frame.draw(&mut out, panel);
            }
        }
        out.finish()
    }
}

struct Frame {
    left: f64,
    top: f64,
    x_max: f64,
    y_max: f64,
}

impl Frame {
    fn new(panel: &Panel, row: usize, column: usize) -> Self {
        let greatest = |value: fn(&(f64, f64)) -> f64| {
            let points = panel.series.iter().flat_map(|series| &series.points);
            points.map(value).fold(0.0, f64::max)
        };
        let levels = panel.levels.iter().map(|(_, level)| *level);
        Self {
            left: LEFT + column as f64 * (LEFT + PANEL_WIDTH + RIGHT),
            top: TOP + ABOVE + row as f64 * (ABOVE + PANEL_HEIGHT + BELOW),
            x_max: nice(greatest(|point| point.0)),
            y_max: nice(levels.fold(greatest(|point| point.1), f64::max)),
        }
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.left + x / self.x_max * PANEL_WIDTH,
            self.top + PANEL_HEIGHT - y / self.y_max * PANEL_HEIGHT,
        )
    }

    fn draw(&self, out: &mut Svg, panel: &Panel) {
        self.axes(out, panel);
        for (index, series) in panel.series.iter().enumerate() {
            let points = simplified(series).into_iter();
            let mut points: Vec<String> = points.map(|(x, y)| point(self.at(x, y))).collect();
            points.dedup();
            out.polyline(colour(index), 1.3, " stroke-linejoin=\"round\"", &points);
        }
        for (name, level) in &panel.levels {
            let (left, y) = self.at(0.0, *level);
            let right = left + PANEL_WIDTH;
            let _ = writeln!(
                out,
                r##"<line x1="{left}" x2="{right}" y1="{y:.1}" y2="{y:.1}" stroke="#444444" stroke-dasharray="8 4"/><text x="{}" y="{:.1}" text-anchor="end" font-size="11" stroke="#ffffff" stroke-width="3" paint-order="stroke">{} {} {}</text>"##,
                right - 4.0,
                y - 5.0,
                escaped(name),
                number(*level),
                panel.y.unit
            );
        }
        self.legend(out, panel);
    }

    fn axes(&self, out: &mut Svg, panel: &Panel) {
        let (left, bottom) = self.at(0.0, 0.0);
        let middle = left + PANEL_WIDTH / 2.0;
        let _ = writeln!(
            out,
            r##"<rect x="{left}" y="{}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" fill="none" stroke="#444444"/><text x="{middle}" y="{}" font-size="13" text-anchor="middle">{}</text>"##,
            self.top,
            self.top - 8.0,
            escaped(&panel.title)
        );
        for tick in 0..=TICKS {
            let part = tick as f64 / TICKS as f64;
            let (x, y) = self.at(part * self.x_max, part * self.y_max);
            let _ = writeln!(
                out,
                r##"<line x1="{left}" x2="{}" y1="{y}" y2="{y}" stroke="#dddddd"/><text x="{}" y="{}" text-anchor="end">{}</text><text x="{x}" y="{}" text-anchor="middle">{}</text>"##,
                left + PANEL_WIDTH,
                left - 6.0,
                y + 4.0,
                number(part * self.y_max),
                bottom + 16.0,
                number(part * self.x_max)
            );
        }
        let _ = writeln!(
            out,
            r#"<text x="{middle}" y="{}" text-anchor="middle">{}, {}</text><text transform="translate({},{}) rotate(-90)" text-anchor="middle">{}, {}</text>"#,
            bottom + 32.0,
            panel.x.label,
            panel.x.unit,
            left - 52.0,
            self.top + PANEL_HEIGHT / 2.0,
            panel.y.label,
            panel.y.unit
        );
    }

    /// Names of the lines; one line has its name above the panel.
    fn legend(&self, out: &mut Svg, panel: &Panel) {
        if panel.series.len() < 2 {
            return;
        }
        let y = self.top + PANEL_HEIGHT + 52.0;
        let mut x = self.left;
        for (index, series) in panel.series.iter().enumerate() {
            out.legend([x, y], colour(index), &series.name);
            x += 34.0 + 6.8 * series.name.chars().count() as f64;
        }
    }
}

/// Without points between two others of the same height: a mean over 1 µs rests most of the time.
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

/// So that round numbers stand at the axis.
fn nice(value: f64) -> f64 {
    round_up(
        value,
        &[1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.5, 10.0],
    )
}

fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').into()
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
            assert_eq!(picture.matches("<polyline").count(), count, "{figure}");
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
        let frame = Frame::new(&panel, 0, 0);
        assert_eq!((frame.x_max, frame.y_max), (4.0, 100.0));
        assert_eq!(simplified(&panel.series[0]).len(), 4);
        let mut out = Svg::new([1.0, 1.0], 12);
        frame.draw(&mut out, &panel);
        let out = out.finish();
        assert!(out.contains("a &lt; b") && out.contains("limit 98.5 u"));
    }
}
