//! The locked ring: four switches, the occupancy of their buffers, and the pauses that hold them.

use std::fmt::Write as _;

use weir_core::Bytes;
use weir_results::quantity::amount;
use weir_svg::{Svg, PALETTE};

use crate::reproduce::observe::Observation;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 500.0;
/// Size of a switch.
pub(super) const BOX: [f64; 2] = [230.0, 96.0];
/// Centres of the switches, clockwise from the upper left one, in ring order.
pub(super) const MIDDLES: [[f64; 2]; 4] = [
    [150.0, 130.0],
    [610.0, 130.0],
    [610.0, 370.0],
    [150.0, 370.0],
];
pub(super) const TRAFFIC: &str = PALETTE[0];
const FILLED: &str = PALETTE[4];
pub(super) const PAUSE: &str = "#b00000";
/// Distance of traffic and pause from the line between two switches.
const ASIDE: f64 = 12.0;

/// Draws the ring at the end of the run. The buffers of a run are named `TO from FROM`.
pub(super) fn svg(seen: &Observation, xoff: Bytes) -> String {
    let mut out = Svg::on_paper([WIDTH, HEIGHT], 13);
    let _ = writeln!(out, "<defs>{}</defs>", heads());
    out.title(
        [WIDTH / 2.0, 30.0],
        16,
        "A credit loop: each switch waits for the next, and holds the one before",
    );
    for (index, middle) in MIDDLES.iter().enumerate() {
        let next = (index + 1) % MIDDLES.len();
        let is_paused = last(&seen.held_back[index].values) > 0;
        link(&mut out, *middle, MIDDLES[next], is_paused);
        let before = (index + MIDDLES.len() - 1) % MIDDLES.len();
        let held = &seen.occupancy[before];
        switch(
            &mut out,
            *middle,
            &held.name,
            last(&held.values),
            xoff.get(),
        );
    }
    let _ = writeln!(
        out,
        r##"<text x="{x}" y="{y}" text-anchor="middle" fill="{TRAFFIC}">→ frames want to go this way round</text>
<text x="{x}" y="{}" text-anchor="middle" fill="{PAUSE}">⇢ PFC pause in force, sent by the next switch</text>"##,
        HEIGHT - 16.0,
        x = WIDTH / 2.0,
        y = HEIGHT - 36.0
    );
    out.finish()
}

fn last(values: &[u64]) -> u64 {
    values.last().copied().unwrap_or_default()
}

pub(super) fn heads() -> String {
    head("traffic", TRAFFIC) + &head("pause", PAUSE)
}

fn head(name: &str, colour: &str) -> String {
    format!(
        r#"<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="{colour}"/></marker>"#
    )
}

/// Returns the ends of a line from the edge of one switch to that of the other, to the left of its
/// path.
pub(super) fn ends(from: [f64; 2], to: [f64; 2]) -> ([f64; 2], [f64; 2]) {
    let across = [to[0] - from[0], to[1] - from[1]].map(|way| (way / 100.0).clamp(-1.0, 1.0));
    let edge = |middle: [f64; 2], sign: f64| {
        [
            middle[0] + sign * across[0] * (BOX[0] / 2.0 + 4.0) + across[1] * ASIDE,
            middle[1] + sign * across[1] * (BOX[1] / 2.0 + 4.0) - across[0] * ASIDE,
        ]
    };
    (edge(from, 1.0), edge(to, -1.0))
}

/// Draws traffic on one side, and the opposite pause on the other.
fn link(out: &mut Svg, from: [f64; 2], to: [f64; 2], is_paused: bool) {
    let mut arrow = |from: [f64; 2], to: [f64; 2], name: &str, colour: &str, dashes: &str| {
        let ([x1, y1], [x2, y2]) = ends(from, to);
        let _ = writeln!(
            out,
            r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="2.5"{dashes} marker-end="url(#{name})"/>"#
        );
    };
    arrow(from, to, "traffic", TRAFFIC, "");
    if is_paused {
        arrow(to, from, "pause", PAUSE, r#" stroke-dasharray="7 4""#);
    }
}

fn switch(out: &mut Svg, [x, y]: [f64; 2], buffer: &str, held: u64, xoff: u64) {
    let name = buffer.split(' ').next().unwrap_or_default();
    let [width, height] = BOX;
    let (left, top) = (x - width / 2.0, y - height / 2.0);
    let full = width - 20.0;
    let filled = (held as f64 / (2 * xoff) as f64).min(1.0) * full;
    let _ = writeln!(
        out,
        r##"<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="6" fill="#f4f4f4" stroke="#444444"/>
<text x="{x}" y="{}" text-anchor="middle" font-weight="bold">{name}</text>
<rect x="{bar}" y="{}" width="{full}" height="18" fill="#ffffff" stroke="#444444"/>
<rect x="{bar}" y="{}" width="{filled:.1}" height="18" fill="{FILLED}"/>
<line x1="{at}" x2="{at}" y1="{}" y2="{}" stroke="#444444" stroke-dasharray="3 2"/>
<text x="{x}" y="{}" text-anchor="middle" font-size="12">{buffer}: {}, X_off {}</text>"##,
        top + 22.0,
        top + 34.0,
        top + 34.0,
        top + 30.0,
        top + 56.0,
        top + 78.0,
        amount(held as f64),
        amount(xoff as f64),
        bar = left + 10.0,
        at = left + 10.0 + full / 2.0,
    );
}
