//! Animation of the ring that locks and is released: an SVG with CSS animations that follow a run's curves. Without
//! animations, because of a reader's preference or an old viewer, it shows the locked ring.

use std::fmt::Write as _;

use weir_core::{Bytes, Instant};
use weir_svg::{Svg, PALETTE};

use super::ring::{ends, heads, BOX, MIDDLES, PAUSE, TRAFFIC};
use crate::reproduce::observe::{Observation, Series};
use crate::reproduce::picture::seconds;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 560.0;
const FILLED: &str = PALETTE[4];
/// The timeline below the ring.
const LINE: [f64; 3] = [40.0, 720.0, 506.0];
/// Seconds of the animation for a second of the run.
const SLOWER: f64 = 40_000.0;
/// Bytes sent for each pixel by which dashes move: about one frame for each dash.
const BYTES_PER_PIXEL: f64 = 180.0;
/// Maximum distance of the drawn line from a curve, relative to its largest value.
const TOLERANCE: f64 = 0.012;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Moves,
    Locked,
}

impl State {
    const ALL: [Self; 2] = [Self::Moves, Self::Locked];

    fn class(self) -> &'static str {
        match self {
            Self::Moves => "moves",
            Self::Locked => "locked",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Moves => "frames move around the ring",
            Self::Locked => "LOCKED: every switch waits for the next",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Self::Moves => "#00704a",
            Self::Locked => PAUSE,
        }
    }
}

/// Draws the whole run. `still` is the time shown without animations.
pub(super) fn svg(seen: &Observation, xoff: Bytes, still: Instant) -> String {
    let length = seen
        .held_back
        .first()
        .map_or(0, |series| series.values.len());
    let duration = length as f64 * seen.interval.as_secs_f64();
    let mut run = Animation {
        seen,
        xoff: xoff.get() as f64,
        duration,
        still: (seconds(still) / seen.interval.as_secs_f64()) as usize,
        styles: String::new(),
        body: Svg::new([WIDTH, HEIGHT], 13),
    };
    for index in 0..MIDDLES.len() {
        run.link(index);
        run.switch(index);
    }
    run.time_line();
    run.document()
}

struct Animation<'a> {
    seen: &'a Observation,
    xoff: f64,
    duration: f64,
    still: usize,
    styles: String,
    body: Svg,
}

impl Animation<'_> {
    fn document(self) -> String {
        let mut out = Svg::on_paper([WIDTH, HEIGHT], 13);
        let moments = &self.seen.moments;
        let at = |moment: Option<Instant>| moment.map_or(f64::NAN, |at| seconds(at) * 1e6);
        let _ = writeln!(
            out,
            "<title>A ring of four switches locks and is released</title>
<desc>From a run of the simulator, {SLOWER} times slower: each switch's buffer fills, switches pause those before them, the ring locks at {:.1} µs, the Deadlock Breaker releases it at {:.1} µs, and frames move again at {:.1} µs. None is lost.</desc>",
            at(moments.locked),
            at(moments.released),
            at(moments.moved_again)
        );
        let _ = writeln!(
            out,
            "<style>{}@media (prefers-reduced-motion: reduce) {{ * {{ animation: none !important }} }}</style>",
            self.styles
        );
        let _ = writeln!(out, "<defs>{}</defs>", heads());
        out.title(
            [WIDTH / 2.0, 30.0],
            16,
            "A credit loop locks, and the Deadlock Breaker releases it",
        );
        out.push(&self.body);
        out.finish()
    }

    /// Animates `property` of a class with values at fractions of the run, joined by straight lines or steps.
    fn animate(&mut self, class: &str, steps: bool, frames: &[(f64, String)]) {
        let timing = if steps { "step-end" } else { "linear" };
        let _ = write!(
            self.styles,
            ".{class} {{ animation: {class} {:.1}s {timing} infinite }} @keyframes {class} {{",
            self.duration * SLOWER
        );
        for (part, declaration) in frames {
            let percent = format!("{:.2}", part * 100.0);
            let percent = percent.trim_end_matches('0').trim_end_matches('.');
            let _ = write!(self.styles, " {percent}% {{ {declaration} }}");
        }
        self.styles.push_str(" }\n");
    }

    /// Draws traffic, which moves as bytes are sent, and the opposite pause.
    fn link(&mut self, index: usize) {
        let (from, to) = (MIDDLES[index], MIDDLES[(index + 1) % MIDDLES.len()]);
        let sent = running_sum(&self.seen.sent[index]);
        let moved = straightened(&sent);
        let frames: Vec<(f64, String)> = moved
            .into_iter()
            .map(|(part, bytes)| {
                let pixels = -bytes / BYTES_PER_PIXEL;
                (part, format!("stroke-dashoffset: {pixels:.0}px"))
            })
            .collect();
        self.animate(&format!("f{index}"), false, &frames);
        let ([x1, y1], [x2, y2]) = ends(from, to);
        let _ = writeln!(
            self.body,
            r#"<line class="f{index}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{TRAFFIC}" stroke-width="3" stroke-dasharray="8 6" marker-end="url(#traffic)"/>"#
        );
        let paused = &self.seen.held_back[index].values;
        let frames = steps(paused, |held| format!("opacity: {}", u64::from(held > 0)));
        self.animate(&format!("p{index}"), true, &frames);
        let is_paused = paused.get(self.still).is_some_and(|held| *held > 0);
        let ([x1, y1], [x2, y2]) = ends(to, from);
        let _ = writeln!(
            self.body,
            r#"<line class="p{index}" opacity="{}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{PAUSE}" stroke-width="2.5" stroke-dasharray="7 4" marker-end="url(#pause)"/>"#,
            u8::from(is_paused)
        );
    }

    /// Draws a switch and the ring's ingress buffer; a full bar is twice X_off.
    fn switch(&mut self, index: usize) {
        let [x, y] = MIDDLES[index];
        let before = (index + MIDDLES.len() - 1) % MIDDLES.len();
        let held = &self.seen.occupancy[before];
        let name = held.name.split(' ').next().unwrap_or_default();
        let [width, height] = BOX;
        let (left, top, full) = (x - width / 2.0, y - height / 2.0, width - 20.0);
        let part = |bytes: f64| (bytes / (2.0 * self.xoff)).min(1.0);
        let values: Vec<f64> = held.values.iter().map(|bytes| *bytes as f64).collect();
        let frames: Vec<(f64, String)> = straightened(&values)
            .into_iter()
            .map(|(at, bytes)| (at, format!("transform: scaleX({:.3})", part(bytes))))
            .collect();
        let still = part(values.get(self.still).copied().unwrap_or_default());
        self.animate(&format!("b{index}"), false, &frames);
        let _ = writeln!(
            self.body,
            r##"<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="6" fill="#f4f4f4" stroke="#444444"/>
<text x="{x}" y="{}" text-anchor="middle" font-weight="bold">{name}</text>
<rect x="{bar}" y="{}" width="{full}" height="18" fill="#ffffff" stroke="#444444"/>
<g transform="translate({bar} {})"><rect class="b{index}" width="{full}" height="18" fill="{FILLED}" transform="scale({still:.3} 1)"/></g>
<line x1="{at}" x2="{at}" y1="{}" y2="{}" stroke="#444444" stroke-dasharray="3 2"/>
<text x="{x}" y="{}" text-anchor="middle" font-size="12">buffer, and its X_off</text>"##,
            top + 22.0,
            top + 34.0,
            top + 34.0,
            top + 30.0,
            top + 56.0,
            top + 78.0,
            bar = left + 10.0,
            at = left + 10.0 + full / 2.0,
        );
    }

    fn time_line(&mut self) {
        let [left, right, y] = LINE;
        let x = |at: f64| left + at / self.duration * (right - left);
        let mut states = vec![(0.0, State::Moves)];
        let mut body = String::new();
        for still in &self.seen.standstills {
            let (from, to) = (seconds(still.from), still.to.map_or(self.duration, seconds));
            states.extend([(from, State::Locked), (to, State::Moves)]);
            let _ = writeln!(
                body,
                r#"<rect x="{:.1}" y="{}" width="{:.1}" height="10" fill="{PAUSE}"/>"#,
                x(from),
                y - 5.0,
                x(to) - x(from)
            );
        }
        states.retain(|(at, _)| *at < self.duration);
        let moments = &self.seen.moments;
        for (at, text, above) in [
            (moments.locked, "locks", true),
            (moments.all_suspected, "suspected", false),
            (moments.released, "released", true),
        ] {
            let Some(at) = at.map(seconds) else { continue };
            let (place, end) = if above {
                (y - 14.0, 12.0)
            } else {
                (y + 36.0, 26.0)
            };
            let (sign, anchor) = if text == "released" {
                (4.0, "start")
            } else {
                (-4.0, "end")
            };
            let _ = writeln!(
                body,
                r##"<line x1="{0:.1}" x2="{0:.1}" y1="{1}" y2="{2}" stroke="#444444"/><text x="{3:.1}" y="{place}" text-anchor="{anchor}" font-size="12">{text} {4:.1} µs</text>"##,
                x(at),
                y - 12.0,
                y + end,
                x(at) + sign,
                at * 1e6
            );
        }
        let still = self.still as f64 * self.seen.interval.as_secs_f64();
        let _ = writeln!(
            self.body,
            r##"<rect x="{left}" y="{}" width="{}" height="10" fill="#dddddd"/>
{body}<text x="{left}" y="{2}">0</text><text x="{right}" y="{2}" text-anchor="end">{3:.0} µs</text>
<path class="now" transform="translate({4:.1} {5})" d="M0 0 l-6 12 h12 z" fill="#444444"/>"##,
            y - 5.0,
            right - left,
            y + 40.0,
            self.duration * 1e6,
            x(still),
            y + 8.0,
        );
        let now = |x: f64| format!("transform: translate({x}px, {}px)", y + 8.0);
        self.animate("now", false, &[(0.0, now(left)), (1.0, now(right))]);
        self.captions(&states);
    }

    fn captions(&mut self, states: &[(f64, State)]) {
        let y = (MIDDLES[0][1] + MIDDLES[2][1]) / 2.0 + 5.0;
        for state in State::ALL {
            let shown = |other: State| format!("opacity: {}", u8::from(other == state));
            let frames = states
                .iter()
                .map(|(at, it)| (at / self.duration, shown(*it)));
            let mut frames: Vec<(f64, String)> = frames.collect();
            if let Some((_, last)) = states.last() {
                frames.push((1.0, shown(*last)));
            }
            self.animate(state.class(), true, &frames);
            let _ = writeln!(
                self.body,
                r#"<text class="{}" opacity="{}" x="{}" y="{y}" text-anchor="middle" font-size="15" font-weight="bold" fill="{}">{}</text>"#,
                state.class(),
                u8::from(state == State::Locked),
                WIDTH / 2.0,
                state.colour(),
                state.text()
            );
        }
    }
}

/// Returns each value plus all before it.
fn running_sum(series: &Series) -> Vec<f64> {
    let mut sum = 0.0;
    let mut add = |value: &u64| {
        sum += *value as f64;
        sum
    };
    series.values.iter().map(&mut add).collect()
}

/// Returns a declaration for every change, and at the end; a value holds until the end of its interval.
fn steps(values: &[u64], declaration: impl Fn(u64) -> String) -> Vec<(f64, String)> {
    let mut frames: Vec<(f64, String)> = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let text = declaration(*value);
        if frames.last().is_none_or(|(_, last)| *last != text) {
            frames.push((index as f64 / values.len() as f64, text));
        }
    }
    if let Some((_, last)) = frames.last().cloned() {
        frames.push((1.0, last));
    }
    frames
}

/// Reduces values to few points, at fractions of the run, joined by straight lines that are close to all values (Douglas and
/// Peucker).
fn straightened(values: &[f64]) -> Vec<(f64, f64)> {
    let Some(last) = values.len().checked_sub(1) else {
        return Vec::new();
    };
    let near = values.iter().copied().fold(0.0, f64::max) * TOLERANCE;
    let mut kept = vec![0, last];
    let mut spans = vec![(0, last)];
    while let Some((from, to)) = spans.pop() {
        let slope = (values[to] - values[from]) / (to - from).max(1) as f64;
        let away = |index: usize| {
            let line = values[from] + slope * (index - from) as f64;
            (values[index] - line).abs()
        };
        let farthest = (from + 1..to).max_by(|a, b| away(*a).total_cmp(&away(*b)));
        if let Some(index) = farthest.filter(|index| away(*index) > near) {
            kept.push(index);
            spans.extend([(from, index), (index, to)]);
        }
    }
    kept.sort_unstable();
    kept.dedup();
    let part = |index: usize| index as f64 / last.max(1) as f64;
    kept.into_iter()
        .map(|index| (part(index), values[index]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_lines_stay_near_the_curve() {
        let values: Vec<f64> = (0..400).map(|it| f64::from(it % 60).min(30.0)).collect();
        let points = straightened(&values);
        assert!(points.len() < 40, "{}", points.len());
        assert_eq!((points[0].0, points[points.len() - 1].0), (0.0, 1.0));
        for (index, value) in values.iter().enumerate() {
            let at = index as f64 / 399.0;
            let after = points
                .iter()
                .position(|point| point.0 >= at)
                .unwrap()
                .max(1);
            let ((x1, y1), (x2, y2)) = (points[after - 1], points[after]);
            let line = y1 + (y2 - y1) * (at - x1) / (x2 - x1);
            assert!((line - value).abs() <= 30.0 * TOLERANCE + 1e-9, "{index}");
        }
        assert_eq!(straightened(&[]), []);
    }

    #[test]
    fn steps_are_where_a_value_changes() {
        let frames = steps(&[0, 0, 1, 1], |value| value.to_string());
        let expected = [(0.0, "0"), (0.5, "1"), (1.0, "1")];
        assert_eq!(frames, expected.map(|(at, text)| (at, text.to_owned())));
    }
}
