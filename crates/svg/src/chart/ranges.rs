//! Dot plots: for each row and quantity a middle value, and the range of the middle half of the values.

use std::fmt::Write as _;

use super::Axis;
use crate::{colour, escaped, Svg};

const ROW: f64 = 26.0;
const PLOT_WIDTH: f64 = 200.0;
const GAP: f64 = 34.0;
const TOP: f64 = 84.0;
const BELOW: f64 = 66.0;
const CHARACTER: f64 = 7.0;

/// A picture.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// Above all panels.
    pub title: String,
    /// Explanation of dots and bars, below the title.
    pub note: String,
    /// From top to bottom.
    pub rows: Vec<String>,
    /// From left to right.
    pub panels: Vec<RangePanel>,
}

/// One quantity.
#[derive(Clone, Debug)]
pub struct RangePanel {
    /// Its axis; the label is below.
    pub across: Axis,
    /// One for each row.
    pub values: Vec<Option<Range>>,
    /// Reference value, drawn through all rows.
    pub reference: Option<f64>,
}

/// Values of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// A quarter of the values are below it.
    pub low: f64,
    /// Half of the values are below it.
    pub middle: f64,
    /// A quarter of the values are above it.
    pub high: f64,
}

impl Ranges {
    /// The picture as SVG.
    pub fn svg(&self) -> String {
        let longest = self.rows.iter().map(|row| row.chars().count()).max();
        let left = 16.0 + CHARACTER * longest.unwrap_or(0) as f64;
        let width = left + (PLOT_WIDTH + GAP) * self.panels.len() as f64;
        let bottom = TOP + ROW * self.rows.len() as f64;
        let mut out = Svg::on_paper([width, bottom + BELOW], 12);
        out.title([width / 2.0, 24.0], 16, &self.title);
        out.title([width / 2.0, 44.0], 12, &self.note);
        for (index, row) in self.rows.iter().enumerate() {
            let y = TOP + ROW * (index as f64 + 0.5);
            if index % 2 == 0 {
                let _ = writeln!(
                    out,
                    r##"<rect x="0" y="{}" width="{width}" height="{ROW}" fill="#f4f4f4"/>"##,
                    y - ROW / 2.0
                );
            }
            let _ = writeln!(
                out,
                r#"<text x="{}" y="{}" text-anchor="end">{}</text>"#,
                left - 10.0,
                y + 4.0,
                escaped(row)
            );
        }
        for (index, panel) in self.panels.iter().enumerate() {
            let x = left + GAP / 2.0 + (PLOT_WIDTH + GAP) * index as f64;
            panel.draw(&mut out, x, bottom);
        }
        out.finish()
    }
}

impl RangePanel {
    fn draw(&self, out: &mut Svg, left: f64, bottom: f64) {
        let x = |value: f64| left + self.across.part(value) * PLOT_WIDTH;
        for tick in self.across.ticks() {
            let at = x(tick);
            let _ = writeln!(
                out,
                r##"<line x1="{at:.1}" x2="{at:.1}" y1="{TOP}" y2="{bottom}" stroke="#dddddd"/><text x="{at:.1}" y="{}" text-anchor="middle">{}</text>"##,
                bottom + 17.0,
                self.across.number(tick)
            );
        }
        let _ = writeln!(
            out,
            r##"<line x1="{left:.1}" x2="{:.1}" y1="{bottom}" y2="{bottom}" stroke="#444444"/><text x="{:.1}" y="{}" text-anchor="middle">{}</text>"##,
            left + PLOT_WIDTH,
            left + PLOT_WIDTH / 2.0,
            bottom + 36.0,
            escaped(&self.across.title())
        );
        if let Some(reference) = self.reference {
            let at = x(reference);
            let _ = writeln!(
                out,
                r##"<line x1="{at:.1}" x2="{at:.1}" y1="{TOP}" y2="{bottom}" stroke="#444444" stroke-dasharray="4 3"/>"##
            );
        }
        for (row, range) in self.values.iter().enumerate() {
            let y = TOP + ROW * (row as f64 + 0.5);
            let Some(range) = range else {
                let _ = writeln!(
                    out,
                    r##"<text x="{:.1}" y="{}" text-anchor="middle" fill="#444444">–</text>"##,
                    left + PLOT_WIDTH / 2.0,
                    y + 4.0
                );
                continue;
            };
            let (low, middle, high) = (x(range.low), x(range.middle), x(range.high));
            let _ = writeln!(
                out,
                r#"<line x1="{low:.1}" x2="{high:.1}" y1="{y}" y2="{y}" stroke="{0}" stroke-width="3" stroke-linecap="round"/><circle cx="{middle:.1}" cy="{y}" r="5" fill="{0}"/>"#,
                colour(0)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Unit;

    #[test]
    fn a_dot_stands_in_its_range_and_no_data_draws_nothing() {
        let unit = Unit {
            name: "",
            size: 1.0,
        };
        let picture = Ranges {
            title: "a < b".into(),
            note: "n".into(),
            rows: vec!["one".into(), "two".into()],
            panels: vec![RangePanel {
                across: Axis::linear("ratio", unit, 2.0),
                values: vec![
                    Some(Range {
                        low: 0.5,
                        middle: 1.0,
                        high: 2.0,
                    }),
                    None,
                ],
                reference: Some(1.0),
            }],
        };
        let text = picture.svg();
        let left = 16.0 + CHARACTER * 3.0 + GAP / 2.0;
        let bar = format!(
            r#"<line x1="{:.1}" x2="{:.1}""#,
            left + PLOT_WIDTH / 4.0,
            left + PLOT_WIDTH
        );
        assert!(text.contains(&bar), "{bar}: {text}");
        assert!(
            text.contains(&format!(r#"cx="{:.1}""#, left + PLOT_WIDTH / 2.0)),
            "{text}"
        );
        assert_eq!(
            (text.matches("<circle").count(), text.matches(">–<").count()),
            (1, 1)
        );
        assert!(text.contains("a &lt; b") && text.contains(">ratio<"));
    }
}
