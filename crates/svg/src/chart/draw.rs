//! A chart drawn as SVG.

use std::fmt::Write as _;

use super::names::{legend, right, shared};
use super::{Axis, Chart, Column, Curve, Marks, Moment, Panel, Style};
use crate::quantity::time;
use crate::{colour, escaped, point, Svg};

pub(super) const PLOT_WIDTH: f64 = 470.0;
pub(super) const PLOT_HEIGHT: f64 = 210.0;
const LEFT: f64 = 66.0;
const TITLE_CHARACTER: f64 = 8.6;
/// Height of the names of all panels, below the title.
const LEGEND: f64 = 26.0;
/// Height of titles, and of the numbers of moments.
const TOP: f64 = 60.0;
const TOP_WITH_MOMENTS: f64 = 112.0;
/// Space below a panel: numbers, title of the axis, and margin.
const BELOW: f64 = 62.0;
const KEY_LINE: f64 = 18.0;
/// Maximum number of rows of moments' badges, so that badges do not overlap.
const BADGE_ROWS: usize = 3;
const BADGE_WIDTH: f64 = 17.0;
pub(super) const LEVEL_COLOUR: &str = "#444444";
/// Dash patterns of levels, in the order of levels in a panel.
const LEVEL_DASHES: [&str; 4] = ["2 3", "7 4", "14 4 2 4", "1 6"];

/// The picture as SVG.
pub fn svg(chart: &Chart) -> String {
    let rows = chart.columns.iter().map(|column| column.panels.len());
    let rows = rows.max().unwrap_or(0);
    let key_lines = chart.columns.iter().map(|column| column.moments.len());
    let key = key_lines.max().unwrap_or(0) as f64 * KEY_LINE;
    let shared = shared(chart);
    let right = right(chart, shared.is_some());
    let column_width = LEFT + PLOT_WIDTH + right;
    let titled = TITLE_CHARACTER * chart.title.chars().count() as f64 + 16.0;
    let width = (column_width * chart.columns.len() as f64).max(titled);
    let top = if key > 0.0 { TOP_WITH_MOMENTS } else { TOP };
    let top = top + if shared.is_some() { LEGEND } else { 0.0 };
    let height = top + rows as f64 * (PLOT_HEIGHT + BELOW) + key + 8.0;
    let mut out = Svg::on_paper([width, height], 12);
    out.title([width / 2.0, 22.0], 16, &chart.title);
    if let Some(curves) = shared {
        legend(&mut out, curves, LEFT, 48.0);
    }
    for (index, column) in chart.columns.iter().enumerate() {
        let left = column_width * index as f64 + LEFT;
        let titles = if shared.is_some() {
            42.0 + LEGEND
        } else {
            42.0
        };
        out.title([left + PLOT_WIDTH / 2.0, titles], 14, &column.title);
        draw_column(&mut out, column, [left, top], rows, shared.is_some());
    }
    out.finish()
}

fn draw_column(
    out: &mut Svg,
    column: &Column,
    [left, highest]: [f64; 2],
    rows: usize,
    is_shared: bool,
) {
    for (row, panel) in column.panels.iter().enumerate() {
        let top = highest + row as f64 * (PLOT_HEIGHT + BELOW);
        let drawing = Drawing { panel, left, top };
        drawing.draw(out, &column.moments);
        drawing.names(out, is_shared);
        if let Some(marks) = &column.marks {
            drawing.marks(out, marks, row == 0);
        }
    }
    if let Some(panel) = column.panels.first() {
        badges(out, &column.moments, &panel.across, [left, highest]);
        let top = highest + rows as f64 * (PLOT_HEIGHT + BELOW);
        key(out, &column.moments, left, top);
    }
}

/// Draws numbers above the first panel; a moment close to the previous one gets another row.
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

pub(super) struct Drawing<'a> {
    pub(super) panel: &'a Panel,
    pub(super) left: f64,
    pub(super) top: f64,
}

impl Drawing<'_> {
    fn draw(&self, out: &mut Svg, moments: &[Moment]) {
        self.axes(out);
        if !self.panel.title.is_empty() {
            let middle = self.left + PLOT_WIDTH / 2.0;
            out.title([middle, self.top - 7.0], 13, &self.panel.title);
        }
        for moment in moments {
            let x = self.x(moment.at);
            let bottom = self.top + PLOT_HEIGHT;
            let _ = writeln!(
                out,
                r##"<line x1="{x:.1}" x2="{x:.1}" y1="{}" y2="{bottom}" stroke="#b00000" stroke-dasharray="3 3" stroke-width="0.8"/>"##,
                self.top
            );
        }
        for (index, (value, _)) in self.panel.levels.iter().enumerate() {
            let y = self.y(*value);
            let right = self.left + PLOT_WIDTH;
            let _ = writeln!(
                out,
                r##"<line x1="{}" x2="{right}" y1="{y:.1}" y2="{y:.1}" stroke="{LEVEL_COLOUR}" stroke-dasharray="{}"/>"##,
                self.left,
                level_dashes(index)
            );
        }
        for (index, curve) in self.panel.curves.iter().enumerate() {
            self.curve(out, curve, colour(index));
        }
    }

    /// Triangles along the upper edge, with their name once above its right end.
    fn marks(&self, out: &mut Svg, marks: &Marks, is_first: bool) {
        for at in &marks.at {
            let _ = writeln!(
                out,
                r##"<path d="M{:.1} {} l-3 -6 h6 z" fill="#00704a"/>"##,
                self.x(*at),
                self.top
            );
        }
        if is_first && !marks.at.is_empty() {
            let _ = writeln!(
                out,
                r##"<text x="{}" y="{}" text-anchor="end" fill="#00704a">▾ {}</text>"##,
                self.left + PLOT_WIDTH,
                self.top - 10.0,
                escaped(&marks.name)
            );
        }
    }

    pub(super) fn x(&self, value: f64) -> f64 {
        self.left + self.panel.across.part(value) * PLOT_WIDTH
    }

    pub(super) fn y(&self, value: f64) -> f64 {
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
        let mut points: Vec<String> = points
            .map(|(x, y)| point((self.x(*x), self.y(*y))))
            .collect();
        points.dedup();
        let attributes = format!(r#" stroke-linejoin="round"{}"#, dashes(curve.style));
        out.polyline(colour, 1.4, &attributes, &points);
    }
}

pub(super) fn level_dashes(index: usize) -> &'static str {
    LEVEL_DASHES[index % LEVEL_DASHES.len()]
}

pub(super) fn dashes(style: Style) -> &'static str {
    match style {
        Style::Dashed => r#" stroke-dasharray="6 4""#,
        Style::Line | Style::Dots | Style::Bars => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::LEAD;
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
            title: String::new(),
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
                ..Column::default()
            }],
        };
        let text = svg(&chart);
        let bottom = TOP + PLOT_HEIGHT;
        let (left, middle, right) = (LEFT, LEFT + PLOT_WIDTH / 2.0, LEFT + PLOT_WIDTH);
        let points = format!(
            "{left:.1},{bottom:.1} {middle:.1},{:.1} {right:.1},{TOP:.1}",
            bottom - PLOT_HEIGHT * 0.625
        );
        assert!(text.contains(&points), "{points}: {text}");
        for part in [
            "time, µs",
            "rate, Gbit/s",
            "a &lt; b",
            ">half<",
            ">400<",
            ">40<",
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
    fn panels_with_the_same_curves_name_them_once_and_levels_are_distinct() {
        let mut panel = panel();
        panel.curves.push(Curve {
            name: "other".into(),
            ..panel.curves[0].clone()
        });
        panel.levels.push((2.6e10, "needed".into()));
        let chart = |panels: Vec<Panel>| Chart {
            columns: vec![Column {
                panels,
                ..Column::default()
            }],
            ..Chart::default()
        };
        let text = svg(&chart(vec![panel.clone(), panel.clone(), panel.clone()]));
        assert_eq!(text.matches(">other<").count(), 1, "{text}");
        assert_eq!(text.matches(">needed<").count(), 3, "each at its level");
        for dashes in &LEVEL_DASHES[..2] {
            let drawn = format!(r#"stroke-dasharray="{dashes}"/>"#);
            assert_eq!(text.matches(&drawn).count(), 3, "{dashes}: {text}");
        }
        // Names of a single panel are at the ends of its curves, to the right.
        let text = svg(&chart(vec![panel]));
        let beside = format!(r#"<text x="{:.1}""#, LEFT + PLOT_WIDTH + LEAD);
        assert_eq!(text.matches(&beside).count(), 4, "{text}");
    }

    #[test]
    fn marks_are_in_every_panel_and_named_once() {
        let column = Column {
            panels: vec![panel(), panel()],
            marks: Some(Marks {
                name: "release".into(),
                at: vec![1e-4, 2e-4],
            }),
            ..Column::default()
        };
        let text = svg(&Chart {
            columns: vec![column],
            ..Chart::default()
        });
        assert_eq!(text.matches("<path").count(), 4);
        assert_eq!(text.matches("▾ release").count(), 1);
    }
}
