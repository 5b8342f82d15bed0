//! Figure 11(c) of the HPCC paper: slowdown of flows by size, with sizes of Facebook's Hadoop clusters at half load on its
//! fat tree of 320 hosts.
//!
//! The paper only has a picture; the reference numbers are those of its simulator. Times are measured as there, from a
//! flow's start to the last acknowledgement at its sender.

mod network;
mod report;

use weir_core::{Duration, Instant};

use super::{published, run_until};
use crate::network::{Flow, Network};
use crate::reproduce::{File, ReproduceError, Reproduction};
use crate::scenario::{plan, RunError};
use network::{ideal_seconds, scenario};

const PUBLISHED: &str = include_str!("published/hpcc-fig11c.csv");
/// Number of rows: each has the same share of the flows.
pub const ROWS: usize = 20;
/// Time limit for flows that have begun, and the interval of checks.
const PATIENCE: Duration = Duration::from_millis(60);
const LOOK: Duration = Duration::from_micros(100);

/// Flows that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Earlier flows only fill the network.
    pub warm_up: Duration,
    /// Flows that begin in this span after it count.
    pub span: Duration,
}

impl Setting {
    /// Setting of the committed figure.
    pub const FIGURE: Self = Self {
        warm_up: Duration::from_millis(2),
        span: Duration::from_millis(6),
    };
    /// A shorter one, for a table that takes seconds.
    pub const SHORT: Self = Self {
        warm_up: Duration::from_micros(100),
        span: Duration::from_micros(200),
    };
}

/// Congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// HPCC.
    Hpcc,
    /// DCQCN limited to one bandwidth-delay product in flight.
    DcqcnWindow,
    /// DCQCN.
    Dcqcn,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hpcc, Self::DcqcnWindow, Self::Dcqcn];

    /// Name in tables and pictures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hpcc => "HPCC",
            Self::DcqcnWindow => "DCQCN with a window",
            Self::Dcqcn => "DCQCN",
        }
    }

    const fn key(self) -> &'static str {
        match self {
            Self::Hpcc => "hpcc",
            Self::DcqcnWindow => "dcqcn_window",
            Self::Dcqcn => "dcqcn",
        }
    }
}

/// Slowdown of the flows of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Payload of the largest in bytes.
    pub size_bytes: u64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// One transport, here and in HPCC's simulator.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The transport.
    pub way: Way,
    /// The run here.
    pub here: Vec<Row>,
    /// Published values.
    pub there: Vec<Row>,
    /// Flows that count.
    pub flows: usize,
    /// Those that did not finish in time, and are left out.
    pub unfinished: usize,
    /// Pauses sent in the run.
    pub pauses: u64,
}

/// The figure's numbers.
#[derive(Clone, Debug)]
pub struct Figure11 {
    /// Flows that count.
    pub setting: Setting,
    /// By transport.
    pub compared: Vec<Compared>,
}

impl Figure11 {
    /// Runs `ways` in `setting`, each on `threads` threads; the result does not depend on their number.
    ///
    /// # Errors
    ///
    /// A run fails.
    pub fn run(setting: Setting, ways: &[Way], threads: usize) -> Result<Self, ReproduceError> {
        let compared = ways.iter().map(|way| compared(setting, *way, threads));
        Ok(Self {
            setting,
            compared: compared.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the results of `way`.
    pub fn of(&self, way: Way) -> Option<&Compared> {
        self.compared.iter().find(|compared| compared.way == way)
    }
}

/// Makes the paper's figure and the shorter table.
///
/// # Errors
///
/// Those of [`Figure11::run`].
pub fn reproduce(threads: usize) -> Result<Reproduction, ReproduceError> {
    let mut made = Figure11::run(Setting::FIGURE, &Way::ALL, threads)?.reproduction();
    let short = Figure11::run(Setting::SHORT, &Way::ALL, threads)?.report();
    made.files.push(File::new("hpcc-fig11c-short.txt", short));
    Ok(made)
}

fn compared(setting: Setting, way: Way, threads: usize) -> Result<Compared, ReproduceError> {
    let scenario = scenario(setting, way)?;
    let mut network =
        Network::new(plan(&scenario).map_err(RunError::from)?).map_err(RunError::from)?;
    let stop = Instant::ZERO + setting.warm_up + setting.span;
    run_until(&mut network, stop, threads)?;
    let is_done = |flow: &Flow| flow.acknowledged_completion().is_some();
    while network.now() < stop + PATIENCE && !network.flows().iter().all(is_done) {
        network.run_until(network.now() + LOOK);
    }
    let checked = network.check_conservation();
    checked.map_err(|imbalance| RunError::imbalance(&scenario, &network, imbalance))?;
    let from = Instant::ZERO + setting.warm_up;
    let counts = || {
        let flows = network.flows().iter();
        flows.filter(|flow| flow.plan().start >= from)
    };
    let mut slowdowns: Vec<(u64, f64)> = counts().filter_map(|flow| slowdown(flow, way)).collect();
    Ok(Compared {
        way,
        flows: counts().count(),
        unfinished: counts().count() - slowdowns.len(),
        here: rows(&mut slowdowns),
        there: there(way),
        pauses: network.counters().xoff_sent,
    })
}

/// Returns the payload, and the completion time relative to the empty network.
fn slowdown(flow: &Flow, way: Way) -> Option<(u64, f64)> {
    let took = flow.acknowledged_completion()?.as_secs_f64();
    let payload = network::payload(flow.plan().size?, way);
    let ideal = ideal_seconds(flow.plan().from, flow.plan().to, payload);
    // As there, the minimum is one.
    Some((payload.get(), (took / ideal).max(1.0)))
}

/// Returns twentieths of the flows, by size, as in HPCC's analysis.
fn rows(slowdowns: &mut [(u64, f64)]) -> Vec<Row> {
    slowdowns.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let count = slowdowns.len();
    let row = |index: usize| {
        let part = slowdowns.get(index * count / ROWS..(index + 1) * count / ROWS)?;
        let size_bytes = part.last()?.0;
        let mut sorted: Vec<f64> = part.iter().map(|(_, slowdown)| *slowdown).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |percent: usize| sorted.get(sorted.len() * percent / 100).copied();
        Some(Row {
            size_bytes,
            p50: at(50)?,
            p95: at(95)?,
            p99: at(99)?,
        })
    };
    (0..ROWS).filter_map(row).collect()
}

fn there(way: Way) -> Vec<Row> {
    let sizes = published(PUBLISHED, "size_bytes");
    let column = |percent: &str| published(PUBLISHED, &format!("{}_{percent}", way.key()));
    let [p50, p95, p99] = ["p50", "p95", "p99"].map(column);
    let rows = sizes.iter().zip(p50).zip(p95).zip(p99);
    rows.map(|(((size, p50), p95), p99)| Row {
        size_bytes: *size as u64,
        p50,
        p95,
        p99,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_rows_are_all_there() {
        for way in Way::ALL {
            let rows = there(way);
            assert_eq!(rows.len(), ROWS, "{way:?}");
            assert!(rows.is_sorted_by_key(|row| row.size_bytes));
            assert!(rows
                .iter()
                .all(|row| row.p50 < row.p95 && row.p95 < row.p99));
        }
        let first = there(Way::Dcqcn)[0];
        assert_eq!((first.size_bytes, first.p95), (300, 8.056));
    }

    #[test]
    fn rows_are_twentieths_by_size() {
        let mut slowdowns: Vec<(u64, f64)> = (1..=2000u64)
            .rev()
            .map(|size| (size, (size % 100) as f64))
            .collect();
        let rows = rows(&mut slowdowns);
        assert_eq!(rows.len(), ROWS);
        assert_eq!(rows[0].size_bytes, 100);
        assert_eq!((rows[0].p50, rows[0].p95, rows[0].p99), (50.0, 95.0, 99.0));
    }
}
