//! Names of curves and levels: next to their ends, or once for all panels.

use std::fmt::Write as _;

use super::draw::{dashes, level_dashes, Drawing, LEVEL_COLOUR, PLOT_HEIGHT, PLOT_WIDTH};
use super::labels::spread;
use super::{Chart, Curve, Panel, Style};
use crate::{colour, escaped, Svg};

/// Distance right of a panel from a curve's end to its name, and the width of a character of the
/// name.
pub(super) const LEAD: f64 = 24.0;
const CHARACTER: f64 = 6.9;
const RIGHT_MIN: f64 = 24.0;
/// A curve that ends beyond this fraction of its axis ends at the panel's edge.
const NEAR_EDGE: f64 = 0.97;

/// Returns the curves of every panel, if all have the same ones: they are named once.
pub(super) fn shared(chart: &Chart) -> Option<&[Curve]> {
    let panels = || chart.columns.iter().flat_map(|column| &column.panels);
    let first = &panels().next()?.curves;
    let same = |panel: &Panel| {
        let both = panel.curves.iter().zip(first);
        let mut both = both.map(|(one, other)| one.name == other.name && one.style == other.style);
        panel.curves.len() == first.len() && both.all(|same| same)
    };
    let is_shared = panels().count() > 1 && first.len() > 1 && panels().all(same);
    is_shared.then_some(first)
}

pub(super) fn right(chart: &Chart, is_shared: bool) -> f64 {
    let panels = chart.columns.iter().flat_map(|column| &column.panels);
    let names = panels.flat_map(|panel| {
        let curves = panel.curves.iter().filter(|_| !is_shared);
        let levels = panel.levels.iter().map(|(_, name)| name);
        let names = curves.map(|curve| &curve.name).chain(levels);
        names.filter(|name| !name.is_empty())
    });
    let longest = names.map(|name| name.chars().count()).max();
    longest.map_or(RIGHT_MIN, |count| LEAD + CHARACTER * count as f64 + 8.0)
}

pub(super) fn legend(out: &mut Svg, curves: &[Curve], left: f64, y: f64) {
    let mut x = left;
    for (index, curve) in curves.iter().enumerate() {
        sign(out, [x, y - 4.0], colour(index), curve.style);
        let _ = writeln!(
            out,
            r#"<text x="{}" y="{y}">{}</text>"#,
            x + 20.0,
            escaped(&curve.name)
        );
        x += 40.0 + CHARACTER * curve.name.chars().count() as f64;
    }
}

/// Draws a sample of a curve's line or dot.
fn sign(out: &mut Svg, [x, y]: [f64; 2], colour: &str, style: Style) {
    let _ = match style {
        Style::Dots => writeln!(
            out,
            r#"<circle cx="{}" cy="{y}" r="3.2" fill="{colour}"/>"#,
            x + 8.0
        ),
        style => writeln!(
            out,
            r#"<line x1="{x}" x2="{}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2.4"{}/>"#,
            x + 16.0,
            dashes(style)
        ),
    };
}

struct Name<'a> {
    /// Position of the end of the named curve.
    y: f64,
    text: &'a str,
    colour: &'static str,
    dashes: String,
    /// Without a connecting line: the curve does not reach the edge, and a sample of this style
    /// precedes the name.
    alone: Option<Style>,
}

impl Drawing<'_> {
    /// Draws names right of the panel, each at the end of its curve or at its level, with a
    /// connecting line.
    pub(super) fn names(&self, out: &mut Svg, is_shared: bool) {
        let right = self.left + PLOT_WIDTH;
        let mut names: Vec<Name<'_>> = Vec::new();
        let curves = self.panel.curves.iter().enumerate();
        for (index, curve) in curves.filter(|(_, it)| !is_shared && !it.name.is_empty()) {
            let end = curve.points.last().copied().unwrap_or_default();
            let is_at_edge = self.panel.across.part(end.0) > NEAR_EDGE;
            names.push(Name {
                y: self.y(end.1),
                text: &curve.name,
                colour: colour(index),
                dashes: dashes(curve.style).to_owned(),
                alone: (!is_at_edge || curve.style == Style::Dots).then_some(curve.style),
            });
        }
        for (index, (value, name)) in self.panel.levels.iter().enumerate() {
            names.push(Name {
                y: self.y(*value),
                text: name,
                colour: LEVEL_COLOUR,
                dashes: format!(r#" stroke-dasharray="{}""#, level_dashes(index)),
                alone: None,
            });
        }
        let wanted: Vec<f64> = names.iter().map(|name| name.y).collect();
        let places = spread(&wanted, self.top + 2.0, self.top + PLOT_HEIGHT - 4.0);
        for (name, place) in names.into_iter().zip(places) {
            match name.alone {
                Some(style) => sign(out, [right + 5.0, place], name.colour, style),
                None => {
                    let _ = writeln!(
                        out,
                        r#"<polyline fill="none" stroke="{}" stroke-width="1.4"{} points="{right:.1},{:.1} {:.1},{place:.1} {:.1},{place:.1}"/>"#,
                        name.colour,
                        name.dashes,
                        name.y,
                        right + 8.0,
                        right + LEAD - 4.0
                    );
                }
            }
            let _ = writeln!(
                out,
                r#"<text x="{:.1}" y="{:.1}">{}</text>"#,
                right + LEAD,
                place + 4.0,
                escaped(name.text)
            );
        }
    }
}
