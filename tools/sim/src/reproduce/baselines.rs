//! Costs of each remedy for credit loops in throughput and in buffers: prior art criticized by the papers, and our own, on
//! three networks.

use serde_json::{json, Value};
use weir_api::run::{FlowResult, RunResult};
use weir_config::scenario::{Baseline, Flow, PortPeer, Scenario};
use weir_config::Override;
use weir_core::{ClassMode, Duration, PortRole};
use weir_results::quantity::{amount, time};
use weir_results::table::grid;
use weir_results::verdict;

use super::setting::set;
use super::{clcm_fig7, File, ReproduceError, Reproduction, ScenarioFile};
use crate::scenario::{run, Options};

/// Overrides of the scenario files: links fast enough for headroom as in hardware, and slow enough that a watchdog, which
/// takes at least 100 ms, acts.
const SPEED: [(&str, &str); 12] = [
    ("link-defaults.rate", "1Gbit"),
    ("link-defaults.delay", "5us"),
    ("link-defaults.round-trip", "60us"),
    ("class.lossless.xoff", "60KiB"),
    ("class.lossless.xon", "52KiB"),
    ("class.lossless.headroom", "16KiB"),
    ("deadlock.detect", "2ms"),
    ("deadlock.clcm-interval", "200us"),
    ("deadlock.release", "1ms"),
    ("deadlock.traffic-release-max", "8KiB"),
    ("control.latency", "20us"),
    ("expect", ""),
];

/// A remedy for credit loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plain,
    Lifetime,
    Watchdog,
    UpDown,
    BufferPools,
    VirtualChannels,
    LoopBreaker,
    DeadlockBreaker,
    Auto,
    Levels,
}

impl Way {
    const ALL: [Self; 10] = [
        Self::Plain,
        Self::Lifetime,
        Self::Watchdog,
        Self::UpDown,
        Self::BufferPools,
        Self::VirtualChannels,
        Self::LoopBreaker,
        Self::DeadlockBreaker,
        Self::Auto,
        Self::Levels,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain PFC",
            Self::Lifetime => "lifetime limit",
            Self::Watchdog => "storm watchdog",
            Self::UpDown => "up*/down* routes",
            Self::BufferPools => "buffer pools by hops",
            Self::VirtualChannels => "virtual channels",
            Self::LoopBreaker => "Loop Breaker",
            Self::DeadlockBreaker => "Deadlock Breaker",
            Self::Auto => "auto",
            Self::Levels => "Levels",
        }
    }
}

#[derive(Clone, Debug)]
struct Network {
    name: &'static str,
    file: ScenarioFile,
    overrides: Vec<Override>,
    /// Links, as a TOML list, at which virtual channels change; `None` if no loop needs it.
    change_at: Option<&'static str>,
    /// Root switch of up*/down* routes.
    root: &'static str,
    /// Path settings in the file that are invalid with other routing modes.
    ways: Vec<String>,
}

/// One line of a table.
#[derive(Clone, Debug)]
pub struct Line {
    /// The network's name.
    pub network: &'static str,
    /// The remedy's name.
    pub way: &'static str,
    /// Result of the run.
    pub result: RunResult,
    /// Lossless priorities needed.
    pub priorities: usize,
    /// Size of the ingress buffers of one fabric port.
    pub buffer_bytes: u64,
    /// Credit loops closed by its routes.
    pub loops: usize,
    /// Flows between switches, by index in the result: those within one switch disturb no other.
    fabric_flows: Vec<usize>,
}

/// Duration of traffic in the table's runs.
pub const DURATION: Duration = Duration::from_millis(1500);

/// Runs all networks for `duration`; returns the lines, network by network.
///
/// # Errors
///
/// A run fails.
pub fn lines(duration: Duration) -> Result<Vec<Line>, ReproduceError> {
    let mut lines = Vec::new();
    for network in networks(duration)? {
        for way in Way::ALL {
            if let Some(line) = line(&network, way)? {
                lines.push(line);
            }
        }
    }
    Ok(lines)
}

/// Returns the tables.
///
/// # Errors
///
/// Those of [`lines`].
pub fn reproduce() -> Result<Reproduction, ReproduceError> {
    let lines = lines(DURATION)?;
    let report = report(&lines);
    let numbers = json!({
        "format": 1,
        "figure": "baselines",
        "lines": lines.iter().map(line_json).collect::<Vec<_>>(),
    });
    Ok(Reproduction {
        files: vec![
            File::new("baselines.txt", report.clone()),
            File::new("baselines.json", super::json(&numbers)),
        ],
        report,
    })
}

fn networks(duration: Duration) -> Result<Vec<Network>, ReproduceError> {
    let duration = format!("{}ns", duration.as_nanos());
    let mut speed = set(SPEED);
    speed.extend(set([("duration", duration.as_str())]));
    let ways_of = |file: ScenarioFile| -> Result<Vec<String>, ReproduceError> {
        let flows = file.with(&[])?.flows;
        let on_a_way = flows.iter().filter(|flow| flow.via.is_some());
        Ok(on_a_way
            .map(|flow| format!("flow.{}.via", flow.name))
            .collect())
    };
    let mut right = speed.clone();
    right.extend(clcm_fig7::wired_right()?);
    Ok(vec![
        Network {
            name: "the ring of Figure 4, both ways round",
            file: ScenarioFile::RING4_ECMP,
            overrides: speed.clone(),
            change_at: Some("[[\"s4\", \"s1\"]]"),
            root: "s1",
            ways: ways_of(ScenarioFile::RING4_ECMP)?,
        },
        Network {
            name: "the miswired fat tree of Figure 7",
            file: ScenarioFile::FIGURE7,
            overrides: speed,
            change_at: Some("[[\"l5\", \"a2-1\"]]"),
            root: "c1",
            ways: ways_of(ScenarioFile::FIGURE7)?,
        },
        Network {
            name: "the same fat tree, wired right",
            file: ScenarioFile::FIGURE7,
            overrides: right,
            change_at: None,
            root: "c1",
            ways: Vec::new(),
        },
    ])
}

/// Returns `None` if a remedy makes no difference.
fn line(network: &Network, way: Way) -> Result<Option<Line>, ReproduceError> {
    let mut overrides = network.overrides.clone();
    let mut put = |values: &[(&str, &str)]| overrides.extend(set(values.iter().copied()));
    match way {
        Way::Plain => {}
        // A HOQLife that InfiniBand can express: 4.096 µs × 2^12.
        Way::Lifetime => put(&[
            ("deadlock.policy", "lifetime"),
            ("deadlock.lifetime", "16777216ns"),
        ]),
        Way::Watchdog => put(&[
            ("deadlock.policy", "watchdog"),
            ("pfcwd.detection-time", "100ms"),
            ("pfcwd.restoration-time", "100ms"),
        ]),
        Way::UpDown => {
            put(&[("routing.mode", "up-down"), ("routing.root", network.root)]);
            for way in &network.ways {
                put(&[(way, "")]);
            }
        }
        Way::BufferPools => {
            let links = longest_way(&network.file.with(&network.overrides)?);
            put(&[
                ("class.lossless.priority", ""),
                ("class.lossless.priorities", &priorities(links + 1)),
                ("baseline.kind", "buffer-pools"),
            ]);
        }
        Way::VirtualChannels => {
            let Some(change_at) = network.change_at else {
                return Ok(None);
            };
            put(&[
                ("class.lossless.priority", ""),
                ("class.lossless.priorities", &priorities(2)),
                ("baseline.kind", "virtual-channels"),
                ("baseline.change-at", change_at),
            ]);
        }
        Way::LoopBreaker => put(&[("deadlock.policy", "loop-breaker")]),
        Way::DeadlockBreaker => put(&[("deadlock.policy", "breaker")]),
        Way::Auto => put(&[("deadlock.policy", "auto")]),
        Way::Levels => put(&[("class.lossless.mode", "level")]),
    }
    let scenario = network.file.with(&overrides)?;
    Ok(Some(Line {
        network: network.name,
        way: way.name(),
        result: run(&scenario, Options::default())?,
        priorities: lossless_priorities(&scenario).count(),
        buffer_bytes: buffer_bytes(&scenario),
        loops: scenario.credit_loops().len(),
        fabric_flows: verdict::fabric_flows(&scenario).collect(),
    }))
}

fn priorities(count: usize) -> String {
    let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    format!("[{}]", numbers.join(", "))
}

/// Returns the number of links between switches on the longest path of any flow.
fn longest_way(scenario: &Scenario) -> usize {
    let ports = scenario.all_ports();
    let longest = |flow: &Flow| {
        if let Some(via) = &flow.via {
            return via.len() - 1;
        }
        // Shortest paths: all members that the hash may pick are equally long.
        let mut at = scenario.hosts[flow.from].switch;
        let mut links = 0;
        while at != scenario.hosts[flow.to].switch && links < scenario.switches.len() {
            let member = scenario.next_hops[at][flow.to].first();
            let peer = member.map(|port| ports[at][*port].peer);
            let Some(PortPeer::Switch(next)) = peer else {
                break;
            };
            at = next;
            links += 1;
        }
        links
    };
    scenario.flows.iter().map(longest).max().unwrap_or(0)
}

fn lossless_priorities(scenario: &Scenario) -> impl Iterator<Item = ClassMode> + '_ {
    let lossless = scenario
        .classes
        .iter()
        .filter(|class| class.mode.is_lossless());
    lossless.flat_map(|class| class.priorities.iter().map(|_| class.mode))
}

/// Returns the buffer that a fabric port needs for lossless classes. The second headroom and the loan to Level D serve
/// only releases of the Deadlock Breaker, and the first structured buffer pool holds only frames from hosts.
fn buffer_bytes(scenario: &Scenario) -> u64 {
    let releases = scenario.deadlock.policy.releases();
    let at_hosts_alone = usize::from(scenario.baseline == Baseline::BufferPools);
    let at_links = lossless_priorities(scenario).skip(at_hosts_alone);
    let bytes = at_links.map(|mode| match mode {
        ClassMode::Pfc(thresholds) if !releases => thresholds.limit(),
        ClassMode::Level { budgets, .. } if !releases => budgets.total(),
        mode => mode.memory_bound(PortRole::Fabric),
    });
    bytes.map(|bytes| bytes.get()).sum()
}

fn report(lines: &[Line]) -> String {
    let mut out = String::from(
        "What each way costs: 1 Gbit/s, 5 µs each way, X_off 60 KiB, headroom 16 KiB, detection time 2 ms, 1.5 s of traffic.\n\
         Rates are those of all flows between switches together; buffers are those of one fabric port.\n",
    );
    for of_network in lines.chunk_by(|a, b| a.network == b.network) {
        let name = of_network.first().map_or("", |line| line.network);
        out.push_str(&format!("\n{name}\n\n"));
        out.push_str(&grid(
            &[
                "",
                "delivered",
                "last third",
                "slowest flow",
                "lost",
                "reordered",
                "longest stall",
                "loops",
                "priorities",
                "buffers",
            ],
            &of_network.iter().map(row).collect::<Vec<_>>(),
        ));
    }
    out
}

impl Line {
    fn flows(&self) -> impl Iterator<Item = &FlowResult> {
        self.fabric_flows
            .iter()
            .filter_map(|flow| self.result.flows.get(*flow))
    }

    fn total(&self, count: fn(&FlowResult) -> u64) -> u64 {
        self.flows().map(count).sum()
    }

    /// Total rate of all flows between switches over the whole run in bit/s.
    pub fn delivered(&self) -> f64 {
        self.flows().map(|flow| flow.bits_per_second).sum()
    }

    fn last_third(&self) -> f64 {
        self.flows()
            .map(|flow| flow.bits_per_second_last_third)
            .sum()
    }

    /// Mean rate of the slowest over the whole run in bit/s.
    fn slowest(&self) -> f64 {
        let rates = self.flows().map(|flow| flow.bits_per_second);
        rates.fold(f64::INFINITY, f64::min)
    }

    fn longest_stall_seconds(&self) -> f64 {
        let stalls = self.flows().map(|flow| flow.longest_stall_seconds);
        stalls.fold(0.0, f64::max)
    }
}

fn row(line: &Line) -> Vec<String> {
    vec![
        line.way.to_owned(),
        mbit(line.delivered()),
        mbit(line.last_third()),
        mbit(line.slowest()),
        line.total(|flow| flow.lost).to_string(),
        line.total(|flow| flow.reordered).to_string(),
        time(Some(line.longest_stall_seconds())),
        line.loops.to_string(),
        line.priorities.to_string(),
        amount(line.buffer_bytes as f64),
    ]
}

fn mbit(bits_per_second: f64) -> String {
    format!("{:.1} Mbit/s", bits_per_second / 1e6)
}

fn line_json(line: &Line) -> Value {
    json!({
        "network": line.network,
        "way": line.way,
        "deadlocked": line.result.deadlocked,
        "bits_per_second": line.delivered(),
        "bits_per_second_last_third": line.last_third(),
        "slowest_bits_per_second": line.slowest(),
        "received": line.total(|flow| flow.received),
        "lost": line.total(|flow| flow.lost),
        "reordered": line.total(|flow| flow.reordered),
        "longest_stall_seconds": line.longest_stall_seconds(),
        "credit_loops": line.loops,
        "priorities": line.priorities,
        "buffer_bytes": line.buffer_bytes,
        "drops": line.result.drops,
    })
}
