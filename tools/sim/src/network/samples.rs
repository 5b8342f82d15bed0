//! Curves over time.

use weir_api::run::Series;
use weir_core::{Bytes, Duration, Instant, PortId, Priority};

use super::points::Points;
use super::{Event, Flow, Network};

/// Maximum number of points of a curve.
const POINTS_MAX: usize = 1_000_000;

/// Curves with one interval, from the epoch on.
#[derive(Debug)]
pub struct Samples {
    interval: Duration,
    /// Points so far.
    count: usize,
    /// Number of intervals until the end of traffic; `None` before that.
    ended: Option<usize>,
    curves: Vec<Curve>,
    sums: Option<Sums>,
}

/// By interval: bytes received without repetitions, sum of all flows.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Flows between hosts of different switches.
    pub between_switches: Vec<u64>,
    /// Other flows.
    pub at_one_switch: Vec<u64>,
}

/// Occupancy of one lossless buffer.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The switch.
    pub switch: u32,
    /// The port.
    pub port: PortId,
    /// The priority.
    pub priority: Priority,
    /// By interval: bytes charged to the ingress buffer.
    pub ingress: Points,
    /// By interval: bytes that wait for the egress. Only where pauses are recorded.
    pub egress: Points,
}

impl Samples {
    pub(super) fn new(network: &Network, interval: Duration) -> Self {
        let mut curves = Vec::new();
        for (switch, node) in network.nodes.iter().enumerate() {
            for port in node.ports() {
                for priority in Priority::ALL {
                    let class = &node.switch.config().classes[priority.index()];
                    if class.mode.is_lossless() {
                        curves.push(Curve {
                            switch: switch as u32,
                            port,
                            priority,
                            ingress: Points::default(),
                            egress: Points::default(),
                        });
                    }
                }
            }
        }
        if curves.len() > Series::BUFFER_CURVES_MAX {
            curves = Vec::new();
        }
        Self {
            interval,
            count: 0,
            ended: None,
            curves,
            sums: (network.plan.flows.len() > Series::FLOW_CURVES_MAX).then(Sums::default),
        }
    }

    /// Time between two points.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// One curve for each lossless (switch, port, priority); none if there would be more than [`Series::BUFFER_CURVES_MAX`].
    pub fn curves(&self) -> &[Curve] {
        &self.curves
    }

    /// Sums over all flows, if there are too many for one curve each.
    pub const fn sums(&self) -> Option<&Sums> {
        self.sums.as_ref()
    }

    /// A flow receives `length`.
    pub(super) fn note_arrival(&mut self, flow: &mut Flow, now: Instant, length: Bytes) {
        let bin = (now.as_nanos() / self.interval.as_nanos().max(1)) as usize;
        if bin >= self.ended.unwrap_or(POINTS_MAX).min(POINTS_MAX) {
            return;
        }
        let series = match &mut self.sums {
            None => &mut flow.series,
            Some(sums) if flow.is_between_switches => &mut sums.between_switches,
            Some(sums) => &mut sums.at_one_switch,
        };
        if series.len() <= bin {
            series.resize(bin + 1, 0);
        }
        series[bin] += length.get();
    }
}

impl Samples {
    /// Splits the curves by switch, as given by `owner`; the first part keeps the sums.
    pub(super) fn split(self, count: usize, owner: impl Fn(usize) -> usize) -> Vec<Self> {
        let mut parts: Vec<Self> = (0..count)
            .map(|_| Self {
                interval: self.interval,
                count: self.count,
                ended: self.ended,
                curves: Vec::new(),
                sums: self.sums.as_ref().map(|_| Sums::default()),
            })
            .collect();
        for curve in self.curves {
            parts[owner(curve.switch as usize)].curves.push(curve);
        }
        parts[0].sums = self.sums;
        parts
    }

    pub(super) fn join(parts: Vec<Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for part in parts {
            whole.curves.extend(part.curves);
            if let Some((sums, more)) = whole.sums.as_mut().zip(part.sums) {
                add(&mut sums.between_switches, &more.between_switches);
                add(&mut sums.at_one_switch, &more.at_one_switch);
            }
        }
        // Stable: a switch's curves keep their order.
        whole.curves.sort_by_key(|curve| curve.switch);
        Some(whole)
    }
}

fn add(sums: &mut Vec<u64>, more: &[u64]) {
    if sums.len() < more.len() {
        sums.resize(more.len(), 0);
    }
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

impl Network {
    /// Ends the curves: results have no points after the end of traffic. A recording of pauses has.
    pub(super) fn end_curves(&mut self) {
        if let (None, Some(samples)) = (&self.pauses, &mut self.samples) {
            let interval = samples.interval.as_nanos().max(1);
            samples.ended = Some(self.now.as_nanos().div_ceil(interval) as usize);
        }
    }

    pub(super) fn sample(&mut self) {
        let Some(samples) = &mut self.samples else {
            return;
        };
        if samples.ended.is_some() {
            return;
        }
        for curve in &mut samples.curves {
            let switch = &self.nodes[curve.switch as usize].switch;
            let (ingress, egress) = switch.occupancy(curve.port, curve.priority);
            curve.ingress.push(ingress.get());
            if self.pauses.is_some() {
                curve.egress.push(egress.get());
            }
        }
        samples.count += 1;
        if samples.count < POINTS_MAX {
            self.queue
                .push_everywhere(self.now + samples.interval, Event::Sample);
        }
    }
}
