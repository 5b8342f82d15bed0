//! Section V of "Network Calculus Characterization of Congestion Control for Time-Varying Traffic" (Lehal, Luangsomboon,
//! Liebeherr), packet by packet: 31 hosts send 10 MB each to one through one switch, under PFC, DCQCN and both.
//!
//! The paper leaves open the initial α of its flows (1 in its text, but rates fall by a quarter), if a notification always
//! sets the target rate, and if switches mark arriving or departing frames. All three are parameters here: [`Setting`].

mod report;

use std::path::Path;

use weir_config::scenario::{Scenario, Transport};
use weir_config::{FileError, Fraction};
use weir_core::{Bytes, ClassMode, Duration, Instant, MarkAt, PortId, Priority};

use crate::network::{Network, PlanError};
use crate::scenario::{plan, PrepareError};

pub use report::{dependence, figure, Dependence, Figure, Finding, Reproduction};

const SCENARIO: &str = include_str!("../../../../scenarios/incast.toml");

/// Interval of the curves, over which the paper averages rates.
pub const INTERVAL: Duration = Duration::from_micros(1);

/// A lossy ingress buffer that holds all frames of one host: "large enough" in the paper.
const LARGE_ENOUGH: Bytes = Bytes::new(12_000_000);

/// RoCE's 1024 B, a whole number of cells: thresholds count the cells of frames.
const FRAME: Bytes = Bytes::new(1024);

/// Settings that the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Initial α.
    pub initial_alpha: Fraction,
    /// True if each notification sets the target rate.
    pub clamp_target: bool,
    /// Backlog that marks a frame.
    pub mark_at: MarkAt,
}

impl Setting {
    /// Settings closest to the paper's figures, as used by simulators of its kind: α = ½, consecutive cuts recover to the
    /// rate before them, marks on departure.
    pub const NEAREST: Self = Self {
        initial_alpha: thousandths(500),
        clamp_target: false,
        mark_at: MarkAt::Departure,
    };
}

/// `count` ÷ 1000, at most one.
const fn thousandths(count: u32) -> Fraction {
    match Fraction::from_parts(count.saturating_mul(Fraction::ONE_IN_PARTS / 1000)) {
        Some(fraction) => fraction,
        None => Fraction::ONE,
    }
}

/// One of the paper's configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Hosts have DCQCN.
    pub has_dcqcn: bool,
    /// The switch has PFC; without it the class is lossy with a buffer that never fills.
    pub has_pfc: bool,
    /// Settings left open by the paper.
    pub setting: Setting,
}

impl Configuration {
    /// Returns the three configurations of Figures 7 and 8.
    pub const fn of_figure(setting: Setting) -> [Self; 3] {
        const fn of(has_dcqcn: bool, has_pfc: bool, setting: Setting) -> Configuration {
            Configuration {
                has_dcqcn,
                has_pfc,
                setting,
            }
        }
        [
            of(false, true, setting),
            of(true, true, setting),
            of(true, false, setting),
        ]
    }

    /// Name in the paper.
    pub const fn name(&self) -> &'static str {
        match (self.has_dcqcn, self.has_pfc) {
            (false, _) => "PFC",
            (true, true) => "DCQCN",
            (true, false) => "DCQCN-noPFC",
        }
    }
}

/// Reason for which a figure could not be made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReproduceError {
    /// The scenario file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The switch does not support the configuration.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Frames do not add up.
    #[error(transparent)]
    Imbalance(#[from] crate::network::Imbalance),
}

/// A figure as a table, a picture and numbers.
///
/// # Errors
///
/// See [`ReproduceError`].
pub fn reproduce(which: Figure, setting: Setting) -> Result<super::Reproduction, ReproduceError> {
    let name = match which {
        Figure::Seven => "calculus-fig7",
        Figure::Eight => "calculus-fig8",
    };
    let made = figure(which, setting)?;
    Ok(super::Reproduction {
        report: made.table(),
        files: vec![
            super::File::new(format!("{name}.svg"), made.svg()),
            super::File::new(format!("{name}.json"), super::json(&made.json())),
        ],
    })
}

/// Returns the dependence of Figure 7 on the settings, as a table and numbers; `progress` gets the
/// number of finished runs and of all runs.
///
/// # Errors
///
/// See [`ReproduceError`].
pub fn reproduce_dependence(
    progress: &mut dyn FnMut(usize, usize),
) -> Result<super::Reproduction, ReproduceError> {
    let rows = dependence(progress)?;
    let numbers = rows.iter().map(Dependence::json).collect();
    Ok(super::Reproduction {
        report: Dependence::table(&rows),
        files: vec![super::File::new(
            "calculus-dependence.json",
            super::json(&serde_json::Value::Array(numbers)),
        )],
    })
}

/// Observations of one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Its configuration.
    pub configuration: Configuration,
    /// By interval: arrivals at the switch from all senders, in bit/s.
    pub arrival_bps: Vec<f64>,
    /// At the end of each interval: bytes waiting for the egress to the destination.
    pub backlog: Vec<u64>,
    /// At the end of each interval: notifications received by the first sender and the last, smaller number first.
    pub cuts: Vec<[u64; 2]>,
    /// First cut of the first sender and of the last one.
    pub first_cut: Option<[Duration; 2]>,
    /// Mean time between two cuts of one sender.
    pub cut_interval: Option<Duration>,
    /// R_C after the first cut relative to the line rate.
    pub first_factor: Option<f64>,
    /// Time of the first XOFF.
    pub first_pause: Option<Duration>,
    /// Total X_on of all senders' ports in bytes; zero without PFC.
    pub resume: u64,
    /// Frames dropped.
    pub dropped: u64,
    /// Frames that arrived after a later one.
    pub reordered: u64,
    /// Total bytes delivered.
    pub delivered: u64,
    /// Rate of the egress in bytes of frames, without preambles and gaps.
    pub capacity_bps: f64,
}

/// Runs one configuration for `duration`. Equal arguments give equal results.
///
/// # Errors
///
/// See [`ReproduceError`].
pub fn trace(configuration: Configuration, duration: Duration) -> Result<Trace, ReproduceError> {
    let scenario = scenario(configuration)?;
    let mut network = Network::new(plan(&scenario)?)?;
    let mut recorder = Recorder::new(&scenario, configuration);
    let end = Instant::ZERO + duration;
    let mut now = Instant::ZERO;
    while now < end {
        now = (now + INTERVAL).min(end);
        network.run_until(now);
        recorder.note(&network, now.saturating_since(Instant::ZERO));
    }
    network.check_conservation()?;
    Ok(recorder.finish(&network))
}

fn scenario(configuration: Configuration) -> Result<Scenario, FileError> {
    let setting = configuration.setting;
    let mut scenario = Scenario::parse(SCENARIO, Path::new("scenarios/incast.toml"), &[])?;
    for flow in &mut scenario.flows {
        flow.frame = FRAME;
    }
    for class in &mut scenario.classes {
        if let Some(red) = &mut class.ecn {
            red.at = setting.mark_at;
        }
        if !configuration.has_pfc {
            class.mode = ClassMode::Lossy {
                buffer: LARGE_ENOUGH,
            };
        }
    }
    if !configuration.has_dcqcn {
        for flow in &mut scenario.flows {
            flow.transport = Transport::Open;
        }
    }
    scenario.dcqcn.initial_alpha = setting.initial_alpha;
    scenario.dcqcn.clamp_target = setting.clamp_target;
    Ok(scenario)
}

/// Values read from the network after each interval.
struct Recorder {
    trace: Trace,
    ports: Vec<PortId>,
    egress: PortId,
    priority: Priority,
    /// Bytes that had arrived before the interval.
    arrived: u64,
    /// By flow: first and last cut, and their number.
    cuts: Vec<Option<(Duration, Duration, u64)>>,
}

impl Recorder {
    fn new(scenario: &Scenario, configuration: Configuration) -> Self {
        let ports = scenario.ports(0);
        let to = scenario.flows.first().map_or(0, |flow| flow.to);
        let of_host = |host| weir_config::scenario::PortPeer::Host(host);
        let egress = ports.iter().position(|port| port.peer == of_host(to));
        let resume = match scenario.classes.first().map(|class| class.mode) {
            Some(ClassMode::Pfc(thresholds)) => {
                thresholds.xon().get() * scenario.flows.len() as u64
            }
            _ => 0,
        };
        let frame = scenario.flows.first().map_or(1, |flow| flow.frame.get());
        let overhead = weir_core::units::LINE_OVERHEAD.get();
        let line = scenario.link_defaults.rate;
        Self {
            trace: Trace {
                configuration,
                arrival_bps: Vec::new(),
                backlog: Vec::new(),
                cuts: Vec::new(),
                first_cut: None,
                cut_interval: None,
                first_factor: None,
                first_pause: None,
                resume,
                dropped: 0,
                reordered: 0,
                delivered: 0,
                capacity_bps: line.get() as f64 * frame as f64 / (frame + overhead) as f64,
            },
            ports: (0..ports.len()).filter_map(PortId::from_index).collect(),
            egress: egress
                .and_then(PortId::from_index)
                .unwrap_or(PortId::new(0)),
            priority: scenario.priority(0),
            arrived: 0,
            cuts: vec![None; scenario.flows.len()],
        }
    }

    fn note(&mut self, network: &Network, now: Duration) {
        let switch = network.switch(0);
        let from_senders = self.ports.iter().filter(|port| **port != self.egress);
        let (mut arrived, mut pauses) = (0, 0);
        for port in from_senders {
            let counters = &switch.counters(*port).priority[self.priority.index()];
            arrived += counters.rx_bytes;
            pauses += counters.xoff_sent;
        }
        let bits = (arrived - self.arrived) as f64 * 8.0;
        self.arrived = arrived;
        self.trace.arrival_bps.push(bits / INTERVAL.as_secs_f64());
        let (_, backlog) = switch.occupancy(self.egress, self.priority);
        self.trace.backlog.push(backlog.get());
        if pauses > 0 {
            self.trace.first_pause.get_or_insert(now);
        }
        self.note_cuts(network, now);
    }

    fn note_cuts(&mut self, network: &Network, now: Duration) {
        let (mut least, mut most) = (u64::MAX, 0);
        for (flow, known) in network.flows().iter().zip(&mut self.cuts) {
            let count = flow.reaction_point().map_or(0, |point| point.cuts());
            (least, most) = (least.min(count), most.max(count));
            match known {
                None if count > 0 => {
                    *known = Some((now, now, count));
                    let factor = flow.reaction_point().map(|point| {
                        let line = network.plan().hosts[flow.plan().from as usize].rate;
                        point.current_bps() / line.get() as f64
                    });
                    self.trace.first_factor = self.trace.first_factor.or(factor);
                }
                Some((_, last, before)) if count > *before => (*last, *before) = (now, count),
                _ => {}
            }
        }
        self.trace.cuts.push([least.min(most), most]);
    }

    fn finish(mut self, network: &Network) -> Trace {
        let cut = || self.cuts.iter().flatten();
        let firsts = || cut().map(|(first, ..)| *first);
        self.trace.first_cut = firsts().min().zip(firsts().max()).map(Into::into);
        let spans: u64 = cut()
            .map(|(first, last, _)| last.as_nanos() - first.as_nanos())
            .sum();
        let intervals: u64 = cut().map(|(.., count)| count - 1).sum();
        self.trace.cut_interval = spans.checked_div(intervals).map(Duration::from_nanos);
        self.trace.dropped = network.totals().dropped;
        let flows = network.flows().iter();
        (self.trace.reordered, self.trace.delivered) = flows
            .map(|flow| (flow.reordered, flow.received_bytes))
            .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        self.trace
    }
}
