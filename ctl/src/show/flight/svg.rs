//! A record as a picture: occupancy, backlog, spans and events over one time axis.
//!
//! Colours are classes of a style sheet, so that the picture follows a reader's dark or light theme.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weir_api::daemon::FlightPortSample;
use weir_api::words::EventKind;

use super::view::{concerns, Series, View};
use weir_output::{bytes, seconds};
use weir_svg::meaning::{PAUSED, PAUSING, RELEASE, SUSPECTED};
use weir_svg::{escaped, round_up, Svg, THEMED};

const WIDTH: f64 = 980.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 74.0;
const PANEL: f64 = 190.0;
const GAP: f64 = 52.0;
const LANE: f64 = 20.0;

/// Appearance, in light themes and in dark ones.
fn style() -> String {
    let [light, dark] = [0, 1].map(|theme| {
        let curves = THEMED.iter().enumerate();
        let rules =
            curves.map(|(index, colours)| format!(".s{index}{{stroke:{}}}", colours[theme]));
        rules.collect::<String>()
    });
    let spans = |dark: bool| {
        let spans = [PAUSED, PAUSING, RELEASE, SUSPECTED];
        let rules = spans.map(|it| {
            format!(
                ".{}{{fill:{}}}",
                it.name,
                if dark { it.dark } else { it.light }
            )
        });
        rules.concat()
    };
    let (on_light, on_dark) = (spans(false), spans(true));
    format!(
        "\
svg{{background:#fff}}.paper{{fill:#fff}}text{{fill:#222}}.grid{{stroke:#ddd}}.frame{{stroke:#555;fill:none}}.dim{{fill:#666}}.tick{{paint-order:stroke;stroke:#fff;stroke-width:4}}
.line{{fill:none;stroke-width:1.5}}.limit{{fill:none;stroke:#555;stroke-dasharray:7 4}}.xon{{stroke-dasharray:2 4}}
.held{{stroke-dasharray:5 3}}.span{{fill:#d55e00;fill-opacity:.10}}.began{{stroke:#c03000;stroke-dasharray:4 3}}
{light}
{on_light}.mark{{stroke:#222;stroke-width:1.6}}
@media (prefers-color-scheme:dark){{svg{{background:#16181c}}.paper{{fill:#16181c}}text{{fill:#e4e4e4}}.grid{{stroke:#33373d}}.frame{{stroke:#999}}.dim{{fill:#aaa}}.tick{{stroke:#16181c}}
.limit{{stroke:#bbb}}.span{{fill-opacity:.16}}.began{{stroke:#ff7a50}}
{dark}
{on_dark}.mark{{stroke:#e4e4e4}}}}"
    )
}

type Quantity = fn(&FlightPortSample) -> u64;
type Condition = fn(&FlightPortSample) -> bool;

/// Draws the whole picture.
pub fn picture(view: &View<'_>) -> String {
    let mut picture = Picture::new(view);
    let series = view.series();
    picture.occupancy(&series);
    picture.backlog(&series);
    if series.iter().any(has_levels) {
        picture.feedback(&series);
    }
    picture.states(&series);
    picture.events();
    picture.finish()
}

struct Picture<'a> {
    view: &'a View<'a>,
    body: String,
    y: f64,
}

impl<'a> Picture<'a> {
    fn new(view: &'a View<'a>) -> Self {
        Self {
            view,
            body: String::new(),
            y: TOP,
        }
    }

    fn x(&self, at: f64) -> f64 {
        let (start, end) = self.view.span;
        LEFT + (at - start) / (end - start).max(1e-9) * (WIDTH - LEFT - RIGHT)
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(element); // writing to a String does not fail
        self.body.push('\n');
    }

    fn occupancy(&mut self, series: &[Series<'_>]) {
        let shown: Vec<&Series<'_>> = series
            .iter()
            .filter(|series| series.most(|state| state.ingress_bytes) > 0)
            .collect();
        let most = |of: Quantity| shown.iter().map(|series| series.most(of)).max();
        let top = most(|s| s.ingress_bytes).max(most(|s| s.xoff_bytes));
        let panel = self.panel("ingress occupancy, KiB", top.unwrap_or(0) as f64 / 1024.0);
        // Ports of one class have the same thresholds except during a release, so each curve is drawn once.
        let mut limits = BTreeMap::new();
        for series in &shown {
            for (name, class, of) in [
                ("xoff", "limit", (|s| s.xoff_bytes) as Quantity),
                ("xon", "limit xon", |s| s.xon_bytes),
            ] {
                if series.most(of) > 0 {
                    limits.insert(self.steps(&panel, series, of), (name, class));
                }
            }
        }
        for (path, (name, class)) in limits {
            self.put(format_args!(
                r#"<path class="{class}" d="{path}"><title>{name}</title></path>"#
            ));
        }
        let mut legend: Vec<(String, String)> = Vec::new();
        for (index, series) in shown.iter().enumerate() {
            let path = self.steps(&panel, series, |s| s.ingress_bytes);
            legend.push((colour(index), format!("from {}", series.port)));
            self.curve(&colour(index), &path, series.port);
        }
        legend.push(("limit".into(), "xoff".into()));
        legend.push(("limit xon".into(), "xon".into()));
        self.close(&panel, &legend);
    }

    fn backlog(&mut self, series: &[Series<'_>]) {
        let shown: Vec<&Series<'_>> = series
            .iter()
            .filter(|series| series.most(|state| state.egress_bytes) > 0)
            .collect();
        let top = shown.iter().map(|series| series.most(|s| s.egress_bytes));
        let panel = self.panel(
            "egress backlog, KiB",
            top.max().unwrap_or(0) as f64 / 1024.0,
        );
        let mut legend = Vec::new();
        for (index, series) in shown.iter().enumerate() {
            let path = self.steps(&panel, series, |s| s.egress_bytes);
            legend.push((colour(index), format!("to {}", series.port)));
            self.curve(&colour(index), &path, series.port);
            if series.most(held) > 0 {
                let path = self.steps(&panel, series, held);
                let class = format!("held {}", colour(index));
                self.curve(&class, &path, series.port);
                legend.push((class, format!("to {}, held by Feedback", series.port)));
            }
        }
        self.close(&panel, &legend);
    }

    fn feedback(&mut self, series: &[Series<'_>]) {
        const QUANTITIES: [(&str, &str, Quantity); 2] = [
            ("", "received from", |s| {
                s.levels.map_or(0, |levels| levels.feedback_received.into())
            }),
            ("held ", "sent to", |s| {
                s.levels.map_or(0, |levels| levels.feedback_sent.into())
            }),
        ];
        let shown: Vec<&Series<'_>> = series.iter().filter(|series| has_levels(series)).collect();
        let most = QUANTITIES
            .iter()
            .flat_map(|(.., of)| shown.iter().map(|series| series.most(*of)));
        let mut panel = self.panel("Feedback, Level", most.max().unwrap_or(0).max(1) as f64);
        panel.unit = 1.0;
        let mut legend = Vec::new();
        for (index, series) in shown.iter().enumerate() {
            for (class, what, of) in QUANTITIES {
                let class = format!("{class}{}", colour(index));
                let path = self.steps(&panel, series, of);
                self.curve(&class, &path, series.port);
                legend.push((class, format!("{what} {}", series.port)));
            }
        }
        self.close(&panel, &legend);
    }

    /// Draws one lane for each port and state that ever held.
    fn states(&mut self, series: &[Series<'_>]) {
        const STATES: [(&str, &str, Condition); 4] = [
            ("paused", "paused by", |s| s.paused),
            ("pausing", "we pause", |s| s.pausing),
            ("release", "release at", |s| s.release_ingress.is_some()),
            ("suspected", "suspected:", |s| s.suspected),
        ];
        let start = self.y;
        for (class, what, holds) in STATES {
            for series in series {
                let spans = series.spans(holds);
                if spans.is_empty() {
                    continue;
                }
                self.lane(&format!("{what} {}", series.port));
                for (from, to) in spans {
                    let (x, width) = (self.x(from), (self.x(to) - self.x(from)).max(1.0));
                    let y = self.y - LANE + 4.0;
                    let told = format!("{from:+.3} s for {}", seconds(to - from));
                    self.put(format_args!(
                        r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{}"><title>{told}</title></rect>"#,
                        LANE - 8.0
                    ));
                }
            }
        }
        self.close_lanes(start);
    }

    /// Draws one lane for each kind of event, in the order in which they first appear.
    fn events(&mut self) {
        let mut kinds: Vec<&EventKind> = Vec::new();
        for event in &self.view.record.events {
            if !kinds.contains(&&event.kind) {
                kinds.push(&event.kind);
            }
        }
        let start = self.y;
        for kind in kinds {
            let count = self.view.count(kind);
            let name = kind.as_str().replace('_', " ").replace("clcm", "CLCM");
            self.lane(&format!("{name} × {count}"));
            let events: Vec<_> = self
                .view
                .events()
                .filter(|(_, e)| e.kind == *kind)
                .collect();
            for (at, event) in events {
                let (x, y) = (self.x(at), self.y - LANE);
                let told = escaped(&format!("{at:+.6} s {}", concerns(event)));
                self.put(format_args!(
                    r#"<path class="mark" d="M{x:.1} {:.1}v{}"><title>{told}</title></path>"#,
                    y + 3.0,
                    LANE - 6.0
                ));
            }
        }
        self.close_lanes(start);
    }

    fn finish(self) -> String {
        let record = self.view.record;
        let deadlock = &record.deadlock;
        let height = self.y;
        let lasted = match deadlock.lasted_seconds {
            Some(lasted) => format!("lasted {}", seconds(lasted)),
            None => "ongoing".to_owned(),
        };
        let title = escaped(&format!(
            "Suspicion {} of {}: port {}, priority {}",
            deadlock.id, record.switch, deadlock.port, deadlock.priority
        ));
        let facts = escaped(&format!(
            "{}; {}; releases: {}, flows moved: {}; {} sent during releases, {} forced; began {}",
            deadlock.reason,
            lasted,
            deadlock.releases,
            deadlock.flows_moved,
            bytes(deadlock.released_bytes),
            bytes(deadlock.forced_bytes),
            record.began_time
        ));
        let x = self.x(0.0);
        let width = self.x(deadlock.lasted_seconds.unwrap_or(self.view.span.1)) - x;
        let below = height - TOP - GAP;
        let mut svg = Svg::new([WIDTH, height], 12);
        let _ = write!(
            svg,
            r#"<style>{}</style>
<title>{title}</title>
<rect class="paper" width="100%" height="100%"/>
<text x="16" y="26" font-size="16">{title}</text>
<text class="dim" x="16" y="46">{facts}</text>
<rect class="span" x="{x:.1}" y="{TOP}" width="{:.1}" height="{below}"/>
<path class="began" d="M{x:.1} {TOP}v{below}"/>
{}"#,
            style(),
            width.max(1.0),
            self.body
        );
        svg.finish()
    }

    fn curve(&mut self, class: &str, path: &str, port: &str) {
        let port = escaped(port);
        self.put(format_args!(
            r#"<path class="line {class}" d="{path}"><title>{port}</title></path>"#
        ));
    }

    /// Draws a quantity as a line of steps: it holds from one sample to the next.
    fn steps(&self, panel: &Panel, series: &Series<'_>, of: Quantity) -> String {
        let mut path = String::new();
        let mut last = None;
        for (at, state) in &series.points {
            let (x, y) = (self.x(*at), panel.y(of(state) as f64 / panel.unit));
            match last {
                None => {
                    let _ = write!(path, "M{x:.1} {y:.1}");
                }
                Some(before) if before == y => {}
                Some(_) => {
                    let _ = write!(path, "H{x:.1}V{y:.1}");
                }
            }
            last = Some(y);
        }
        if let Some((at, _)) = series.points.last() {
            let _ = write!(path, "H{:.1}", self.x(*at));
        }
        path
    }

    fn panel(&mut self, label: &str, top: f64) -> Panel {
        let panel = Panel {
            top: self.y,
            most: nice(top),
            unit: 1024.0,
        };
        let right = WIDTH - RIGHT;
        const TICKS: usize = 4;
        for tick in 0..=TICKS {
            let value = panel.most * tick as f64 / TICKS as f64;
            let y = panel.y(value);
            self.put(format_args!(
                r#"<path class="grid" d="M{LEFT} {y:.1}H{right}"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
                LEFT - 8.0,
                y + 4.0,
                number(value)
            ));
        }
        self.put(format_args!(
            r#"<text transform="translate({},{}) rotate(-90)" text-anchor="middle">{label}</text>"#,
            LEFT - 72.0,
            self.y + PANEL / 2.0
        ));
        self.y += PANEL;
        panel
    }

    fn close(&mut self, panel: &Panel, legend: &[(String, String)]) {
        self.put(format_args!(
            r#"<rect class="frame" x="{LEFT}" y="{}" width="{}" height="{PANEL}"/>"#,
            panel.top,
            WIDTH - LEFT - RIGHT
        ));
        self.time_axis();
        let mut x = LEFT;
        let mut y = self.y + 34.0;
        for (class, name) in legend {
            let room = 36.0 + 6.6 * name.chars().count() as f64;
            if x + room > WIDTH - RIGHT {
                x = LEFT;
                y += 16.0;
            }
            let name = escaped(name);
            self.put(format_args!(
                r#"<path class="line {class}" d="M{x:.1} {:.1}h16"/><text x="{:.1}" y="{y:.1}">{name}</text>"#,
                y - 4.0,
                x + 20.0
            ));
            x += room;
        }
        self.y = y - 34.0 + GAP + 10.0;
    }

    fn lane(&mut self, label: &str) {
        let label = escaped(label);
        self.y += LANE;
        let y = self.y;
        self.put(format_args!(
            r#"<text x="{}" y="{:.1}" text-anchor="end" font-size="11">{label}</text><path class="grid" d="M{LEFT} {y:.1}H{}"/>"#,
            LEFT - 8.0,
            y - 6.0,
            WIDTH - RIGHT
        ));
    }

    fn close_lanes(&mut self, start: f64) {
        if self.y <= start {
            return;
        }
        self.put(format_args!(
            r#"<rect class="frame" x="{LEFT}" y="{start}" width="{}" height="{}"/>"#,
            WIDTH - LEFT - RIGHT,
            self.y - start
        ));
        self.time_axis();
        self.y += GAP;
    }

    /// Draws the axis in seconds from the suspicion's beginning, with round numbers.
    fn time_axis(&mut self) {
        let (start, end) = self.view.span;
        let step = nice((end - start) / 8.0);
        let mut tick = (start / step).ceil() as i64;
        while tick as f64 * step <= end {
            let at = tick as f64 * step;
            let x = self.x(at);
            self.put(format_args!(
                r#"<text class="tick" x="{x:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                self.y + 15.0,
                number(at)
            ));
            tick += 1;
        }
        self.put(format_args!(
            r#"<text class="dim" x="{}" y="{:.1}" text-anchor="end">s since suspected</text>"#,
            LEFT - 8.0,
            self.y + 15.0
        ));
    }
}

struct Panel {
    top: f64,
    most: f64,
    unit: f64,
}

impl Panel {
    fn y(&self, value: f64) -> f64 {
        self.top + PANEL - (value / self.most).min(1.0) * PANEL
    }
}

fn has_levels(series: &Series<'_>) -> bool {
    let mut points = series.points.iter();
    points.any(|(_, state)| state.levels.is_some())
}

fn held(state: &FlightPortSample) -> u64 {
    state.levels.map_or(0, |levels| levels.held_bytes)
}

fn colour(index: usize) -> String {
    format!("s{}", index % THEMED.len())
}

/// Rounds to a value suitable for an axis.
fn nice(value: f64) -> f64 {
    round_up(value, &[1.0, 2.0, 2.5, 4.0, 5.0, 8.0, 10.0])
}

/// Formats up to three decimals, without trailing zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}
