//! Derivation of the times of Figure 5 from rate, threshold, detection time and control latency.
//!
//! # Time to lock
//!
//! Let C be the rate and X = X_off / C. Each egress serves its ingress ports in turn. Without pauses the last switch gives
//! each of its three inputs C/3, every other one C/2 to each of its two. The hosts of the last switch, 2C/3 together, get
//! C/2 at the next one, so its buffer fills at C/6; and the flow that passes the last switch arrives with C/2 and leaves
//! with C/3: its buffer also fills at C/6. Both are full after 6 X. Now the last link carries no more than the
//! departing flow: C/4 remains for the passing flow. Upstream, a flow that has become slower limits the one next to it
//! to the same rate, since they share the buffer after the link: the next flow arrives with C/2 and leaves with C/4,
//! and fills its buffer in 4 X; then the one before, in another 4 X. At 14 X all four buffers are full, and every round
//! halves all rates.
//!
//! Hence T = 14 X. This assumes buffers that fill slowly compared with R, the round trip of a pause. If X is below
//! about two R, most of a buffer's content arrived after its pause was sent, and its size matters little.
//!
//! # Time from the lock to the reroute
//!
//! The detector takes eight samples in one detection time t and adds whole ones, so the last port of the loop is suspected
//! between t and 9/8 t after its last frame. Its CLCM passes n switches, each with a control latency L up and another down,
//! and a propagation delay d. The elected switch asks its dataplane to move the loop's own flows, has none, and
//! requests those that enter there: (2n + 4) L + n d. A switch forwards a message at most once in half an interval,
//! which may cost another interval.

use serde_json::{json, Value};
use weir_core::{Duration, Instant};
use weir_results::chart::{Axis, Chart, Column, Curve, Panel, Style};
use weir_results::quantity::Unit;

use super::{setting_json, Figure5, RingRun, Setting};
use crate::reproduce::observe::Standstill;
use crate::reproduce::{ReproduceError, ScenarioFile};

const LENGTH: u64 = 4;

/// The derivation's factor.
pub const LOCK_FACTOR_DERIVED: f64 = 14.0;

/// One run of the lock sweep.
#[derive(Clone, Copy, Debug)]
pub struct LockPoint {
    /// Its parameters.
    pub setting: Setting,
    /// From the start of traffic to the last frame.
    pub locked: Duration,
}

impl LockPoint {
    pub(super) fn run(setting: Setting) -> Result<Self, ReproduceError> {
        // Long enough for the predicted time and half as much again.
        let law = setting.xoff_time().saturating_mul(20)
            + setting.round_trip().saturating_mul(40)
            + setting.detect.saturating_mul(3);
        let setting = Setting {
            duration: law,
            ..setting
        };
        let run = RingRun::new(setting, "off", 1)?;
        // For good: a pause may hold the ring for longer than a short detection time.
        let stands = |still: &&Standstill| still.to.is_none();
        let locked = run.seen.standstills.iter().find(stands);
        let locked = locked.ok_or_else(|| never(&setting, "the ring does not lock"))?;
        Ok(Self {
            setting,
            locked: locked.from.saturating_since(Instant::ZERO),
        })
    }

    /// Returns true if the law applies: X is at least two round trips of a pause.
    pub fn is_in_range(&self) -> bool {
        self.setting.xoff_time() >= self.setting.round_trip().saturating_mul(2)
    }

    /// Time to lock in units of X.
    pub fn factor(&self) -> f64 {
        self.locked.as_secs_f64() / self.setting.xoff_time().as_secs_f64()
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "rate_bits_per_second": self.setting.rate.get(),
            "xoff_bytes": self.setting.xoff.get(),
            "xoff_seconds": self.setting.xoff_time().as_secs_f64(),
            "lock_seconds": self.locked.as_secs_f64(),
            "factor": self.factor(),
            "round_trip_seconds": self.setting.round_trip().as_secs_f64(),
            "is_in_range": self.is_in_range(),
        })
    }
}

/// Fit of the runs to T = c X.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockLaw {
    /// Mean c of all points in range.
    pub factor: f64,
    /// Smallest c of these.
    pub least: f64,
    /// Largest c of these.
    pub most: f64,
}

impl LockLaw {
    /// Fits the points in range.
    pub fn of(points: &[LockPoint]) -> Self {
        let factors = points
            .iter()
            .filter(|point| point.is_in_range())
            .map(LockPoint::factor);
        let [least, most] = limits(factors.clone());
        Self {
            factor: factors.clone().sum::<f64>() / factors.count() as f64,
            least,
            most,
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "factor": self.factor,
            "factor_derived": LOCK_FACTOR_DERIVED,
            "least": self.least,
            "most": self.most,
        })
    }
}

/// One run of the reroute sweep.
#[derive(Clone, Copy, Debug)]
pub struct ReroutePoint {
    /// Its parameters.
    pub setting: Setting,
    /// From the lock until the last port was suspected.
    pub suspected: Duration,
    /// From the lock until flows had moved.
    pub rerouted: Duration,
}

impl ReroutePoint {
    pub(super) fn run(setting: Setting) -> Result<Self, ReproduceError> {
        let setting = Setting {
            duration: setting.xoff_time().saturating_mul(20)
                + setting.detect.saturating_mul(2)
                + setting.control_latency.saturating_mul(40)
                + setting.clcm_interval.saturating_mul(20),
            ..setting
        };
        let run = RingRun::new(setting, "loop-breaker", 1)?;
        let moments = run.moments();
        let suspected = moments
            .all_suspected
            .and_then(|at| Some(at.saturating_since(moments.locked?)));
        let (Some(suspected), Some(rerouted)) = (suspected, run.time_to_reroute()) else {
            return Err(never(&setting, "no flow is rerouted"));
        };
        Ok(Self {
            setting,
            suspected,
            rerouted,
        })
    }

    /// Returns the derived bounds: the earliest and the latest time.
    pub fn bounds(&self) -> [Duration; 2] {
        let detect = self.setting.detect;
        let round = self.setting.control_latency.saturating_mul(2 * LENGTH + 4)
            + self.setting.delay.saturating_mul(LENGTH);
        // CLCM also take a little time on the line, after at most one pause frame.
        let on_line = self.setting.frame_time().saturating_mul(LENGTH);
        [
            detect + round,
            detect + detect.divided_by(8) + round + self.setting.clcm_interval + on_line,
        ]
    }

    pub(super) fn json(&self) -> Value {
        let [earliest, latest] = self.bounds();
        json!({
            "setting": setting_json(&self.setting),
            "suspected_seconds": self.suspected.as_secs_f64(),
            "rerouted_seconds": self.rerouted.as_secs_f64(),
            "earliest_seconds": earliest.as_secs_f64(),
            "latest_seconds": latest.as_secs_f64(),
        })
    }
}

fn never(setting: &Setting, what: &'static str) -> ReproduceError {
    ReproduceError::NotAsInThePaper {
        scenario: ScenarioFile::RING4_ECMP.command(&setting.overrides()),
        what,
    }
}

/// Draws the measured points and the laws.
pub(super) fn chart(figure: &Figure5) -> Chart {
    Chart {
        title: "How the times of Figure 5 follow from the parameters".to_owned(),
        columns: vec![lock_column(figure), reroute_column(figure)],
    }
}

fn lock_column(figure: &Figure5) -> Column {
    let x = |point: &LockPoint| point.setting.xoff_time().as_secs_f64();
    let y = |point: &LockPoint| point.locked.as_secs_f64();
    let mut curves = Vec::new();
    for of_rate in figure
        .locks
        .chunk_by(|a, b| a.setting.rate == b.setting.rate)
    {
        let gbit = of_rate.first().map_or(0, |point| point.setting.rate.get()) / 1_000_000_000;
        curves.push(Curve {
            name: format!("{gbit} Gbit/s"),
            points: of_rate.iter().map(|point| (x(point), y(point))).collect(),
            style: Style::Dots,
        });
    }
    let [least, most] = limits(figure.locks.iter().map(x));
    let across = Axis::logarithmic("X_off ÷ rate", Unit::of_time(1e-6), least, most);
    let [least, most] = limits(figure.locks.iter().map(y));
    let up = Axis::logarithmic("time to lock", Unit::of_time(1e-6), least, most);
    let law = [
        across.from.max(up.from / LOCK_FACTOR_DERIVED),
        across.to.min(up.to / LOCK_FACTOR_DERIVED),
    ];
    curves.push(Curve {
        name: format!("{LOCK_FACTOR_DERIVED} X_off ÷ rate"),
        points: law.map(|x| (x, x * LOCK_FACTOR_DERIVED)).into(),
        style: Style::Dashed,
    });
    Column {
        title: "time to lock".to_owned(),
        panels: vec![Panel {
            title: String::new(),
            across,
            up,
            curves,
            levels: Vec::new(),
        }],
        ..Column::default()
    }
}

fn reroute_column(figure: &Figure5) -> Column {
    let detects: Vec<&ReroutePoint> = figure
        .reroutes
        .iter()
        .filter(|point| point.setting.control_latency == Setting::DATA_CENTRE.control_latency)
        .collect();
    let x = |point: &ReroutePoint| point.setting.detect.as_secs_f64();
    let curve = |name: &str, style, y: fn(&ReroutePoint) -> Duration| {
        let points = detects
            .iter()
            .map(|point| (x(point), y(point).as_secs_f64()));
        let mut points: Vec<(f64, f64)> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup();
        Curve {
            name: name.to_owned(),
            points,
            style,
        }
    };
    let [_, most] = limits(detects.iter().map(|point| x(point)));
    let across = Axis::linear("detection time", Unit::of_time(most), most * 1.1);
    let up = Axis::linear("from the lock", Unit::of_time(most), most * 1.25);
    Column {
        title: "from the lock to the reroute".to_owned(),
        panels: vec![Panel {
            title: String::new(),
            across,
            up,
            curves: vec![
                curve("all suspected", Style::Dots, |point| point.suspected),
                curve("rerouted", Style::Dots, |point| point.rerouted),
                curve("law, earliest", Style::Line, |point| point.bounds()[0]),
                curve("law, latest", Style::Dashed, |point| point.bounds()[1]),
            ],
            levels: Vec::new(),
        }],
        ..Column::default()
    }
}

fn limits(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, 0.0], |[least, most], value| {
        [least.min(value), most.max(value)]
    })
}
