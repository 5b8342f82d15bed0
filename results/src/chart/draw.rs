//! A chart drawn as SVG.

use std::fmt::Write as _;

use weir_svg::{colour, escaped, point, Svg};

use super::{Axis, Chart, Column, Curve, Moment, Panel, Style};
use crate::quantity::time;

const PLOT_WIDTH: f64 = 470.0;
const PLOT_HEIGHT: f64 = 210.0;
const LEFT: f64 = 66.0;
/// Room for the legend.
const RIGHT: f64 = 156.0;
/// Room for titles, and for the numbers of moments.
const TOP: f64 = 60.0;
const TOP_WITH_MOMENTS: f64 = 112.0;
/// Below a panel: numbers, title of the axis, and space.
const BELOW: f64 = 62.0;
const KEY_LINE: f64 = 18.0;
/// Badges of moments stand in so many rows at most, lest they cover each other.
const BADGE_ROWS: usize = 3;
const BADGE_WIDTH: f64 = 17.0;
const LEVEL_COLOUR: &str = "#444444";

/// The picture as SVG.
pub fn svg(chart: &Chart) -> String {
    let rows = chart.columns.iter().map(|column| column.panels.len());
    let rows = rows.max().unwrap_or(0);
    let key_lines = chart.columns.iter().map(|column| column.moments.len());
    let key = key_lines.max().unwrap_or(0) as f64 * KEY_LINE;
    let width = (LEFT + PLOT_WIDTH + RIGHT) * chart.columns.len() as f64;
    let top = if key > 0.0 { TOP_WITH_MOMENTS } else { TOP };
    let height = top + rows as f64 * (PLOT_HEIGHT + BELOW) + key + 8.0;
    let mut out = Svg::on_paper([width, height], 12);
    out.title([width / 2.0, 22.0], 16, &chart.title);
    for (index, column) in chart.columns.iter().enumerate() {
        let left = (LEFT + PLOT_WIDTH + RIGHT) * index as f64 + LEFT;
        draw_column(&mut out, column, [left, top], rows);
    }
    out.finish()
}

fn draw_column(out: &mut Svg, column: &Column, [left, highest]: [f64; 2], rows: usize) {
    out.title([left + PLOT_WIDTH / 2.0, 42.0], 14, &column.title);
    for (row, panel) in column.panels.iter().enumerate() {
        let top = highest + row as f64 * (PLOT_HEIGHT + BELOW);
        Drawing { panel, left, top }.draw(out, &column.moments);
    }
    if let Some(panel) = column.panels.first() {
        badges(out, &column.moments, &panel.across, [left, highest]);
        let top = highest + rows as f64 * (PLOT_HEIGHT + BELOW);
        key(out, &column.moments, left, top);
    }
}

/// Numbers above the first panel; a moment close to the one before stands in another row.
fn badges(out: &mut Svg, moments: &[Moment], across: &Axis, [left, top]: [f64; 2]) {
    let mut ends = [f64::NEG_INFINITY; BADGE_ROWS];
    for (index, moment) in moments.iter().enumerate() {
        let x = left + across.part(moment.at) * PLOT_WIDTH;
        let row = ends
            .iter()
            .position(|end| x - BADGE_WIDTH / 2.0 > *end)
            .unwrap_or(index % BADGE_ROWS);
        ends[row] = x + BADGE_WIDTH / 2.0;
        badge(out, index, x, top - 9.0 - row as f64 * 16.0);
    }
}

fn badge(out: &mut Svg, index: usize, x: f64, y: f64) {
    let _ = writeln!(
        out,
        r##"<circle cx="{x:.1}" cy="{y}" r="7.5" fill="#b00000"/><text x="{x:.1}" y="{}" font-size="10" fill="#ffffff" text-anchor="middle">{}</text>"##,
        y + 3.5,
        index + 1
    );
}

fn key(out: &mut Svg, moments: &[Moment], left: f64, top: f64) {
    for (index, moment) in moments.iter().enumerate() {
        let y = top + index as f64 * KEY_LINE;
        badge(out, index, left + 8.0, y - 4.0);
        let _ = writeln!(
            out,
            r#"<text x="{}" y="{y}">{}: {}</text>"#,
            left + 22.0,
            time(Some(moment.at)),
            escaped(&moment.text)
        );
    }
}

struct Drawing<'a> {
    panel: &'a Panel,
    left: f64,
    top: f64,
}

impl Drawing<'_> {
    fn draw(&self, out: &mut Svg, moments: &[Moment]) {
        self.axes(out);
        for moment in moments {
            let x = self.x(moment.at);
            let bottom = self.top + PLOT_HEIGHT;
            let _ = writeln!(
                out,
                r##"<line x1="{x:.1}" x2="{x:.1}" y1="{}" y2="{bottom}" stroke="#b00000" stroke-dasharray="3 3" stroke-width="0.8"/>"##,
                self.top
            );
        }
        for (index, curve) in self.panel.curves.iter().enumerate() {
            let colour = colour(index);
            self.curve(out, curve, colour);
            self.legend(out, index, colour, curve.style, &curve.name);
        }
        for (index, (value, name)) in self.panel.levels.iter().enumerate() {
            let y = self.y(*value);
            let right = self.left + PLOT_WIDTH;
            let _ = writeln!(
                out,
                r##"<line x1="{}" x2="{right}" y1="{y:.1}" y2="{y:.1}" stroke="{LEVEL_COLOUR}"{}/>"##,
                self.left,
                dashes(Style::Dashed)
            );
            let index = self.panel.curves.len() + index;
            self.legend(out, index, LEVEL_COLOUR, Style::Dashed, name);
        }
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.panel.across.part(value) * PLOT_WIDTH
    }

    fn y(&self, value: f64) -> f64 {
        self.top + PLOT_HEIGHT - self.panel.up.part(value) * PLOT_HEIGHT
    }

    fn axes(&self, out: &mut Svg) {
        let bottom = self.top + PLOT_HEIGHT;
        for value in self.panel.up.ticks() {
            let y = self.y(value);
            let _ = writeln!(
                out,
                r##"<line x1="{}" x2="{}" y1="{y:.1}" y2="{y:.1}" stroke="#dddddd"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"##,
                self.left,
                self.left + PLOT_WIDTH,
                self.left - 6.0,
                y + 4.0,
                self.panel.up.number(value)
            );
        }
        for value in self.panel.across.ticks() {
            let x = self.x(value);
            let _ = writeln!(
                out,
                r##"<line x1="{x:.1}" x2="{x:.1}" y1="{bottom}" y2="{}" stroke="#444444"/><text x="{x:.1}" y="{}" text-anchor="middle">{}</text>"##,
                bottom + 4.0,
                bottom + 17.0,
                self.panel.across.number(value)
            );
        }
        let _ = writeln!(
            out,
            r##"<rect x="{}" y="{}" width="{PLOT_WIDTH}" height="{PLOT_HEIGHT}" fill="none" stroke="#444444"/>
<text x="{}" y="{}" text-anchor="middle">{}</text><text transform="translate({},{}) rotate(-90)" text-anchor="middle">{}</text>"##,
            self.left,
            self.top,
            self.left + PLOT_WIDTH / 2.0,
            bottom + 34.0,
            escaped(&self.panel.across.title()),
            self.left - 46.0,
            self.top + PLOT_HEIGHT / 2.0,
            escaped(&self.panel.up.title())
        );
    }

    fn curve(&self, out: &mut Svg, curve: &Curve, colour: &str) {
        if curve.style == Style::Dots {
            for (x, y) in &curve.points {
                let _ = writeln!(
                    out,
                    r#"<circle cx="{:.1}" cy="{:.1}" r="3.2" fill="{colour}"/>"#,
                    self.x(*x),
                    self.y(*y)
                );
            }
            return;
        }
        if curve.style == Style::Bars {
            for ends in curve.points.chunks_exact(2) {
                let [x1, x2] = [ends[0].0, ends[1].0].map(|x| self.x(x));
                let y = self.y(ends[0].1);
                let _ = writeln!(
                    out,
                    r#"<line x1="{x1:.1}" x2="{x2:.1}" y1="{y:.1}" y2="{y:.1}" stroke="{colour}" stroke-width="14"/>"#
                );
            }
            return;
        }
        let points = curve.points.iter();
        let points: Vec<String> = points
            .map(|(x, y)| point((self.x(*x), self.y(*y))))
            .collect();
        out.polyline(colour, 1.4, dashes(curve.style), &points);
    }

    fn legend(&self, out: &mut Svg, index: usize, colour: &str, style: Style, name: &str) {
        let x = self.left + PLOT_WIDTH + 8.0;
        let y = self.top + 14.0 + index as f64 * 17.0;
        let sign = match style {
            Style::Dots => format!(
                r#"<circle cx="{}" cy="{}" r="3.2" fill="{colour}"/>"#,
                x + 8.0,
                y - 4.0
            ),
            style => format!(
                r#"<line x1="{x}" x2="{}" y1="{}" y2="{}" stroke="{colour}" stroke-width="2.4"{}/>"#,
                x + 16.0,
                y - 4.0,
                y - 4.0,
                dashes(style)
            ),
        };
        let _ = writeln!(
            out,
            r#"{sign}<text x="{}" y="{y}">{}</text>"#,
            x + 21.0,
            escaped(name)
        );
    }
}

fn dashes(style: Style) -> &'static str {
    match style {
        Style::Dashed => r#" stroke-dasharray="6 4""#,
        Style::Line | Style::Dots | Style::Bars => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Unit;

    #[test]
    fn spans_are_bars_and_an_axis_without_a_label_is_bare() {
        let mut panel = panel();
        panel.up.label.clear();
        panel.levels.clear();
        panel.curves[0].style = Style::Bars;
        panel.curves[0].points = vec![(0.0, 2.5e10), (2e-4, 2.5e10), (3e-4, 2.5e10)];
        let column = Column {
            panels: vec![panel],
            ..Column::default()
        };
        let text = svg(&Chart {
            columns: vec![column],
            ..Chart::default()
        });
        let (left, middle) = (LEFT, LEFT + PLOT_WIDTH / 2.0);
        let bar = format!(r#"<line x1="{left:.1}" x2="{middle:.1}""#);
        assert_eq!(text.matches(&bar).count(), 1, "{text}");
        assert_eq!(text.matches(r#"stroke-width="14""#).count(), 1, "{text}");
        assert!(!text.contains("Gbit/s"), "{text}");
    }

    fn panel() -> Panel {
        Panel {
            across: Axis::until("time", Unit::of_time(4e-4), 4e-4),
            up: Axis::linear("rate", Unit::of_rate(3.7e10), 3.7e10),
            curves: vec![Curve {
                name: "a < b".into(),
                points: vec![(0.0, 0.0), (2e-4, 2.5e10), (4e-4, 5e10)],
                style: Style::Line,
            }],
            levels: vec![(2.5e10, "half".into())],
        }
    }

    #[test]
    fn curves_stand_where_their_axes_say() {
        let chart = Chart {
            title: "t".into(),
            columns: vec![Column {
                title: "c".into(),
                panels: vec![panel()],
                moments: vec![],
            }],
        };
        let text = svg(&chart);
        let bottom = TOP + PLOT_HEIGHT;
        let (left, middle, right) = (LEFT, LEFT + PLOT_WIDTH / 2.0, LEFT + PLOT_WIDTH);
        let points = format!(
            "{left:.1},{bottom:.1} {middle:.1},{:.1} {right:.1},{TOP:.1}",
            bottom - PLOT_HEIGHT / 2.0
        );
        assert!(text.contains(&points), "{points}: {text}");
        for part in [
            "time, µs",
            "rate, Gbit/s",
            "a &lt; b",
            ">half<",
            ">400<",
            ">50<",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn moments_that_are_close_do_not_cover_each_other() {
        let moments: Vec<Moment> = [1e-4, 1.01e-4, 1.02e-4, 3e-4]
            .map(|at| Moment {
                at,
                text: String::new(),
            })
            .into();
        let mut out = Svg::new([1.0, 1.0], 12);
        badges(&mut out, &moments, &panel().across, [LEFT, TOP]);
        let out = out.finish();
        let rows: Vec<&str> = out
            .lines()
            .filter_map(|line| line.split("cy=\"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(rows.len(), 4);
        assert!(rows[0] != rows[1] && rows[1] != rows[2] && rows[0] != rows[2]);
        assert_eq!(rows[0], rows[3]);
    }

    #[test]
    fn axes_have_round_numbers() {
        let axis = Axis::linear("x", Unit::of_time(0.9), 0.00037);
        assert!((axis.to - 0.0005).abs() < 1e-12);
        assert_eq!(axis.ticks().len(), 6);
        let axis = Axis::logarithmic("x", Unit::of_time(2e-6), 2e-6, 3e-4);
        let numbers: Vec<String> = axis.ticks().iter().map(|tick| axis.number(*tick)).collect();
        assert_eq!(numbers, ["1", "10", "100", "1000"]);
        assert!((axis.part(31.622_776_6e-6) - 0.5).abs() < 1e-6);
    }
}
