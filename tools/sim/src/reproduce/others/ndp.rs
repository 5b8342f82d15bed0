//! Figure 14 of the NDP paper: throughput of each flow of a permutation over a fat tree, by rank, for which htsim was
//! written.
//!
//! Weir has no NDP. It can be compared with the figure's other extreme, DCTCP with one path for each flow, and with DCQCN
//! whose frames take all paths without loss.

use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_core::{Duration, Instant};
use weir_results::chart::{Axis, Chart, Column, Curve, Panel, Style};
use weir_results::quantity::{short, Unit};
use weir_results::table::grid;

use super::{csv, mean, published, run_until};
use crate::network::Network;
use crate::reproduce::setting::set;
use crate::reproduce::{File, ReproduceError, Reproduction, ScenarioFile};
use crate::scenario::{plan, RunError};

/// Published values for the tree with 432 hosts.
const PUBLISHED: &str = include_str!("published/ndp-fig14.csv");
/// Published values for the tree with 128 hosts.
const PUBLISHED_K8: &str = include_str!("published/ndp-fig14-k8.csv");
/// Averaging window of rates, as in htsim.
const WINDOW: Duration = Duration::from_millis(10);
/// Rate of every line in bit/s.
const LINE: f64 = 10e9;

/// Network and duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// k of the fat tree.
    pub k: usize,
    /// End of the run; rates are those of the last [`WINDOW`](self).
    pub until: Duration,
}

impl Setting {
    /// The paper's network.
    pub const PAPER: Self = Self {
        k: 12,
        until: Duration::from_millis(60),
    };
    /// The network for which htsim's authors first published DCTCP's rates.
    pub const SMALL: Self = Self {
        k: 8,
        ..Self::PAPER
    };
}

/// Ways of sending flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// DCTCP in a class that drops, a path for each flow.
    Dctcp,
    /// DCQCN in a class with PFC, a path for each flow.
    Dcqcn,
    /// DCQCN, with a path for each frame.
    DcqcnByFrame,
    /// PFC alone, a path for each frame.
    PfcByFrame,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Dctcp,
        Self::Dcqcn,
        Self::DcqcnByFrame,
        Self::PfcByFrame,
    ];

    /// Name in tables and pictures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dctcp => "DCTCP, by flow",
            Self::Dcqcn => "DCQCN, by flow",
            Self::DcqcnByFrame => "DCQCN, by frame",
            Self::PfcByFrame => "PFC alone, by frame",
        }
    }

    const fn overrides(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Dctcp => &[],
            Self::Dcqcn => &[
                ("traffic.0.transport", "dcqcn"),
                ("traffic.0.class", "lossless"),
            ],
            Self::DcqcnByFrame => &[
                ("traffic.0.transport", "dcqcn"),
                ("traffic.0.class", "lossless"),
                ("routing.spread", "frame"),
            ],
            Self::PfcByFrame => &[
                ("traffic.0.transport", "open"),
                ("traffic.0.class", "lossless"),
                ("routing.spread", "frame"),
            ],
        }
    }
}

/// Results of one way of sending, measured or published.
#[derive(Clone, Debug)]
pub struct Ranks {
    /// Name of the way.
    pub name: String,
    /// True for published numbers.
    pub is_published: bool,
    /// Rates of flows in bit/s, ascending.
    pub rates: Vec<f64>,
    /// Frames lost and pauses sent, if known.
    pub costs: Option<[u64; 2]>,
}

impl Ranks {
    fn published(name: &str, table: &str, column: &str) -> Self {
        let rates = published(table, column);
        Self {
            name: name.to_owned(),
            is_published: true,
            rates: rates.into_iter().map(|gbit| gbit * 1e9).collect(),
            costs: None,
        }
    }

    /// Mean share of a line used by a flow.
    pub fn utilization(&self) -> f64 {
        mean(&self.rates) / LINE
    }

    /// Rate in bit/s that `per_mille` of 1,000 flows do not exceed.
    pub fn at(&self, per_mille: usize) -> f64 {
        let last = self.rates.len().saturating_sub(1);
        let index = self.rates.len() * per_mille / 1000;
        self.rates.get(index.min(last)).copied().unwrap_or(0.0)
    }

    /// Share of flows that get nine tenths of a line or more.
    pub fn alone(&self) -> f64 {
        let alone = self.rates.iter().filter(|rate| **rate >= 0.9 * LINE);
        alone.count() as f64 / self.rates.len().max(1) as f64
    }
}

/// The figure's numbers.
#[derive(Clone, Debug)]
pub struct Figure14 {
    /// Network and duration.
    pub setting: Setting,
    /// In the order of the legend.
    pub ranks: Vec<Ranks>,
}

impl Figure14 {
    /// Runs `ways` in `setting`, each on `threads` threads; the result does not depend on their number.
    ///
    /// # Errors
    ///
    /// A run fails.
    pub fn run(setting: Setting, ways: &[Way], threads: usize) -> Result<Self, ReproduceError> {
        let mut ranks = Vec::new();
        let small = setting.k == Setting::SMALL.k;
        let table = if small { PUBLISHED_K8 } else { PUBLISHED };
        for way in ways {
            ranks.push(measured(setting, *way, threads)?);
        }
        ranks.push(Ranks::published("DCTCP, htsim", table, "dctcp_gbit"));
        let ndp = Ranks::published("NDP, htsim", table, "ndp_gbit");
        ranks.extend((!ndp.rates.is_empty()).then_some(ndp));
        Ok(Self { setting, ranks })
    }

    /// Returns the results of `name`.
    pub fn of(&self, name: &str) -> Option<&Ranks> {
        self.ranks.iter().find(|ranks| ranks.name == name)
    }

    /// Returns the picture, the table and the numbers.
    pub fn reproduction(&self) -> Reproduction {
        Reproduction::figure(
            "ndp-fig14",
            &self.chart(),
            self.report(),
            ("csv", self.csv()),
        )
    }

    /// Returns the table.
    pub fn report(&self) -> String {
        let rows = self.ranks.iter().map(|ranks| {
            let gbit = |per_mille| short(ranks.at(per_mille) / 1e9, 2);
            let cost = |index: usize| {
                let costs = ranks.costs.map(|costs| costs[index].to_string());
                costs.unwrap_or_default()
            };
            vec![
                ranks.name.clone(),
                format!("{} %", short(ranks.utilization() * 100.0, 1)),
                gbit(0),
                gbit(100),
                gbit(500),
                gbit(900),
                format!("{} %", short(ranks.alone() * 100.0, 1)),
                cost(0),
                cost(1),
            ]
        });
        format!(
            "A permutation over a fat tree of k = {}, {} hosts at 10 Gbit/s: rates of flows in Gbit/s over 10 ms, {} after the start.\n\n{}",
            self.setting.k,
            self.setting.k.pow(3) / 4,
            weir_results::quantity::setting(self.setting.until.as_secs_f64()),
            grid(
                &["", "of the lines", "slowest", "10 %", "50 %", "90 %", "above 9 Gbit/s", "frames lost", "pauses"],
                &rows.collect::<Vec<_>>(),
            )
        )
    }

    fn csv(&self) -> String {
        let names = self.ranks.iter().map(|ranks| {
            let name = ranks
                .name
                .to_lowercase()
                .replace(", ", "_")
                .replace(' ', "_");
            format!("{name}_gbit")
        });
        let headings: Vec<String> = std::iter::once("rank".to_owned()).chain(names).collect();
        let flows = self.ranks.iter().map(|ranks| ranks.rates.len()).max();
        let row = |rank: usize| {
            let rates = self.ranks.iter().map(|ranks| {
                let rate = ranks.rates.get(rank);
                rate.map_or_else(String::new, |rate| short(rate / 1e9, 4))
            });
            std::iter::once(rank.to_string()).chain(rates).collect()
        };
        let rows: Vec<Vec<String>> = (0..flows.unwrap_or(0)).map(row).collect();
        csv(&headings, &rows)
    }

    fn chart(&self) -> Chart {
        let count = Unit {
            name: "",
            size: 1.0,
        };
        let curve = |ranks: &Ranks| Curve {
            name: ranks.name.clone(),
            points: (0..)
                .map(f64::from)
                .zip(ranks.rates.iter().copied())
                .collect(),
            style: if ranks.is_published {
                Style::Dashed
            } else {
                Style::Line
            },
        };
        let flows = self.setting.k.pow(3) / 4;
        Chart {
            title: format!("A permutation over a fat tree of {flows} hosts"),
            columns: vec![Column {
                panels: vec![Panel {
                    title: String::new(),
                    across: Axis::until("rank of the flow", count, flows as f64),
                    up: Axis::until("throughput", Unit::of_rate(LINE), LINE),
                    curves: self.ranks.iter().map(curve).collect(),
                    levels: Vec::new(),
                }],
                ..Column::default()
            }],
        }
    }
}

/// Makes the paper's figure and the table of the smaller tree.
///
/// # Errors
///
/// Those of [`Figure14::run`].
pub fn reproduce(threads: usize) -> Result<Reproduction, ReproduceError> {
    let mut made = Figure14::run(Setting::PAPER, &Way::ALL, threads)?.reproduction();
    let small = Figure14::run(Setting::SMALL, &Way::ALL, threads)?.report();
    made.report += &format!("\n{small}");
    made.files.push(File::new("ndp-fig14-k8.txt", small));
    Ok(made)
}

fn measured(setting: Setting, way: Way, threads: usize) -> Result<Ranks, ReproduceError> {
    let scenario = scenario(setting, way)?;
    let mut network =
        Network::new(plan(&scenario).map_err(RunError::from)?).map_err(RunError::from)?;
    let end = Instant::ZERO + setting.until;
    let begin = Duration::from_nanos(setting.until.as_nanos().saturating_sub(WINDOW.as_nanos()));
    run_until(&mut network, Instant::ZERO + begin, threads)?;
    let received = |network: &Network| -> Vec<u64> {
        let flows = network.flows().iter();
        flows.map(|flow| flow.received_bytes).collect()
    };
    let before = received(&network);
    run_until(&mut network, end, threads)?;
    let checked = network.check_conservation();
    checked.map_err(|imbalance| RunError::imbalance(&scenario, &network, imbalance))?;
    let seconds = WINDOW.as_secs_f64();
    let pairs = received(&network).into_iter().zip(before);
    let mut rates: Vec<f64> = pairs
        .map(|(after, before)| (after - before) as f64 * 8.0 / seconds)
        .collect();
    rates.sort_by(f64::total_cmp);
    Ok(Ranks {
        name: way.name().to_owned(),
        is_published: false,
        rates,
        costs: Some([network.totals().dropped, network.counters().xoff_sent]),
    })
}

fn scenario(setting: Setting, way: Way) -> Result<Scenario, ReproduceError> {
    let k = setting.k.to_string();
    let duration = format!("{}ns", setting.until.as_nanos());
    let mut overrides: Vec<Override> =
        set([("topology.k", k.as_str()), ("duration", duration.as_str())]);
    overrides.extend(set(way.overrides().iter().copied()));
    Ok(ScenarioFile::NDP_FIG14.with(&overrides)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_rates_are_those_of_every_flow_and_rise() {
        for (table, column, flows, gbit) in [
            (PUBLISHED, "dctcp_gbit", 432, 4.667_88),
            (PUBLISHED, "ndp_gbit", 432, 9.249_28),
            (PUBLISHED_K8, "dctcp_gbit", 128, 5.233_67),
        ] {
            let rates = published(table, column);
            assert_eq!(rates.len(), flows);
            assert!(rates.is_sorted());
            assert!((mean(&rates) - gbit).abs() < 1e-5, "{}", mean(&rates));
        }
        assert!(published(PUBLISHED, "dcqcn_gbit").is_empty());
    }
}
