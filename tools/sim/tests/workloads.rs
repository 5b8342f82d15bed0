//! Flow completion times relative to an empty network, and flows that wait for each other.

use std::path::Path;

use proptest::prelude::*;
use weir_api::run::{FlowResult, RunResult, Series};
use weir_config::scenario::{Pattern, Scenario};
use weir_config::sweep::Sweep;
use weir_config::Override;
use weir_core::units::LINE_OVERHEAD;
use weir_core::Bytes;
use weir_results::{slowdown, table};
use weir_sim::scenario::{run, Options};
use weir_sim::sweep::Campaign;

fn parse(text: &str, changes: &[&str]) -> Scenario {
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::parse(text, Path::new("x.toml"), &changes).unwrap_or_else(|error| panic!("{error}"))
}

fn file(name: &str, changes: &[&str]) -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::load(&file, &changes).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(scenario: &Scenario) -> RunResult {
    run(scenario, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn nanos(seconds: Option<f64>) -> u64 {
    (seconds.expect("a time") * 1e9).round() as u64
}

/// Rate in Mbit/s and delay in nanoseconds, of the hosts' lines and then of each link of a line of switches.
type Lines = Vec<(u64, u64)>;

#[derive(Clone, Debug)]
struct One {
    lines: Lines,
    frame: u64,
    size: u64,
    rate_mbit: Option<u64>,
    start_nanos: u64,
    transport: &'static str,
}

fn one() -> impl Strategy<Value = One> {
    let line = (
        prop::sample::select(vec![
            10u64, 99, 1000, 2500, 10_000, 400_000, 777_777, 1_600_000,
        ]),
        prop_oneof![Just(0u64), 1u64..5_000],
    );
    let frame = prop_oneof![Just(1500u64), 60u64..9216];
    (
        prop::collection::vec(line, 1..5),
        frame,
        prop_oneof![1u64..200, 1u64..400_000],
        prop::option::of(5u64..200_000),
        0u64..10_000,
        prop::sample::select(vec!["open", "dcqcn"]),
    )
        .prop_map(
            |(lines, frame, size, rate_mbit, start_nanos, transport)| One {
                lines,
                frame,
                size,
                rate_mbit,
                start_nanos,
                transport,
            },
        )
}

/// One flow from the first host to the last; no buffer ever fills.
fn text(one: &One) -> String {
    let (rate, delay) = one.lines[0];
    let mut text = format!(
        "name = \"x\"\nduration = \"3s\"\n[link-defaults]\nrate = \"{rate}Mbit\"\ndelay = \"{delay}ns\"\n[[class]]\nname = \"c\"\npriority = 3\nmode = \"lossy\"\nbuffer = \"40MB\"\n"
    );
    for switch in 1..=one.lines.len() {
        text.push_str(&format!("[[switch]]\nname = \"s{switch}\"\n"));
    }
    for (index, (rate, delay)) in one.lines.iter().enumerate().skip(1) {
        let next = index + 1;
        text.push_str(&format!(
            "[[link]]\nends = [\"s{index}\", \"s{next}\"]\nrate = \"{rate}Mbit\"\ndelay = \"{delay}ns\"\n"
        ));
    }
    let last = one.lines.len();
    text.push_str(&format!("[[host]]\nname = \"a\"\nswitch = \"s1\"\n[[host]]\nname = \"b\"\nswitch = \"s{last}\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nclass = \"c\"\nsize = \"{}B\"\nframe = \"{}B\"\nstart = \"{}ns\"\ntransport = \"{}\"\n", one.size, one.frame, one.start_nanos, one.transport));
    if let Some(rate) = one.rate_mbit {
        text.push_str(&format!("rate = \"{rate}Mbit\"\n"));
    }
    text
}

/// A time in nanoseconds, with fractions in units of 1 ÷ rate in Mbit/s, so that each bit takes a whole number.
struct Moment {
    mbit: u128,
    parts: u128,
}

impl Moment {
    fn of(mbit: u64) -> Self {
        Self {
            mbit: u128::from(mbit),
            parts: 0,
        }
    }

    fn nanos(&self) -> u64 {
        self.parts.div_ceil(self.mbit) as u64
    }

    /// Sends `bytes` from `begin` on, or earlier within that nanosecond if the line was free.
    fn pass(&mut self, begin: u64, bytes: u64) -> u64 {
        if begin > self.nanos() {
            self.parts = u128::from(begin) * self.mbit;
        }
        self.parts += u128::from(bytes) * 8 * 1000;
        self.nanos()
    }
}

/// The slow model: each frame over each line, one after another; in nanoseconds since the start.
fn model(one: &One) -> u64 {
    let host = one.lines[0];
    let mut lines = one.lines.clone();
    lines.push(host);
    let mut free_at: Vec<Moment> = lines.iter().map(|(mbit, _)| Moment::of(*mbit)).collect();
    let mut pace = one.rate_mbit.map(Moment::of);
    let (mut left, mut released, mut arrived) = (one.size, 0, 0);
    while left > 0 {
        let length = one.frame.min(left.max(60));
        left = left.saturating_sub(length);
        let mut at = released;
        for (line, (_, delay)) in lines.iter().enumerate() {
            let begin = at.max(free_at[line].nanos());
            if line == 0 {
                if let Some(pace) = &mut pace {
                    released = pace.pass(begin.saturating_sub(1), length);
                }
            }
            let sent = free_at[line].pass(begin, length + LINE_OVERHEAD.get());
            at = (sent + delay).max(begin + 1);
        }
        arrived = at;
    }
    arrived
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_flow_alone_takes_what_the_slow_model_says_and_is_not_slowed_down(one in one()) {
        let expected = model(&one);
        prop_assume!(expected < 2_900_000_000);
        let result = simulate(&parse(&text(&one), &[]));
        let flow = &result.flows[0];
        prop_assert_eq!(nanos(flow.ideal_seconds), expected);
        prop_assert_eq!(nanos(flow.completion_seconds), expected);
        prop_assert_eq!(flow.slowdown, Some(1.0));
        prop_assert_eq!(result.slowdown[0].flows, 1);
    }
}

#[test]
fn a_flow_alone_in_a_fat_tree_is_not_slowed_down_whichever_way_its_hash_picks() {
    for (seed, to) in (1..=8).zip(["h2", "h3", "h4", "h5", "h8", "h12", "h15", "h16"]) {
        let mut scenario = file("workload", &[&format!("seed={seed}")]);
        let (from, to) = (
            0,
            scenario
                .hosts
                .iter()
                .position(|host| host.name == to)
                .unwrap(),
        );
        scenario.flows.truncate(1);
        scenario.flows[0].from = from;
        scenario.flows[0].to = to;
        scenario.flows[0].pattern = Pattern::Burst {
            size: Bytes::new(300_001),
        };
        let result = simulate(&scenario);
        assert_eq!(result.flows[0].slowdown, Some(1.0), "seed {seed}");
    }
}

#[test]
fn two_flows_on_one_line_take_twice_as_long() {
    let text = "name = \"x\"\nduration = \"10ms\"\n[link-defaults]\nrate = \"10Gbit\"\ndelay = \"1us\"\n[topology]\nkind = \"line\"\nswitches = 1\nhosts = 3\n[[class]]\nname = \"c\"\npriority = 3\nmode = \"lossy\"\nbuffer = \"40MB\"\n[[traffic]]\nkind = \"incast\"\nto = \"h1\"\nclass = \"c\"\nsize = \"3MB\"\n";
    let result = simulate(&parse(text, &[]));
    let found: Vec<f64> = result
        .flows
        .iter()
        .filter_map(|flow| flow.slowdown)
        .collect();
    assert!(
        found.len() == 2 && found.iter().all(|slowdown| (slowdown - 2.0).abs() < 0.01),
        "{found:?}"
    );
    let text = table::run(&result);
    assert!(text.contains("  1 MB to 3 MB "), "{text}");
}

#[test]
fn a_workload_is_slowed_down_and_every_bin_says_how_much() {
    let scenario = file("workload", &["duration=500us"]);
    let result = simulate(&scenario);
    assert!(result.flows.len() > 200, "{}", result.flows.len());
    let all = slowdown::sorted(&result.flows);
    assert!(all[0] >= 1.0, "nothing is faster than alone: {}", all[0]);
    assert!(all[all.len() - 1] > 1.5, "nothing waits for anything");
    let of_bins: u64 = result.slowdown.iter().map(|bin| bin.flows).sum();
    assert_eq!(of_bins, all.len() as u64);
    assert_eq!(result.slowdown, slowdown::bins(&result.flows));
    // Written results are read back unchanged.
    let json = serde_json::to_string(&result).unwrap();
    let again: RunResult = serde_json::from_str(&json).unwrap();
    for (again, bin) in again.slowdown.iter().zip(&result.slowdown) {
        assert_eq!((again.flows, again.to_bytes), (bin.flows, bin.to_bytes));
        assert!((again.p99 / bin.p99 - 1.0).abs() < 1e-12);
    }
    assert_eq!(json, serde_json::to_string(&simulate(&scenario)).unwrap());
}

/// Returns when a flow began and when all of it had arrived, in nanoseconds.
fn span(result: &RunResult, index: usize) -> (u64, u64) {
    let flow: &FlowResult = &result.flows[index];
    let began = nanos(flow.began_seconds);
    (began, began + nanos(flow.completion_seconds))
}

#[test]
fn many_flows_have_two_curves_that_sum_up_what_arrived() {
    let changes = ["traffic.0.pairs=any", "duration=1500us"];
    let many = simulate(&file("workload", &changes));
    assert!(many.flows.len() > Series::FLOW_CURVES_MAX);
    let curves = &many.series.throughput;
    assert_eq!(curves.len(), 2);
    let bits = |curve: &str| curves[curve].iter().sum::<f64>() * many.series.interval_seconds;
    let [between, inside] = [Series::BETWEEN_SWITCHES, Series::AT_ONE_SWITCH].map(bits);
    let scenario = file("workload", &changes);
    let of_flows = |is_between: bool| -> f64 {
        let flows = many.flows.iter().enumerate();
        let chosen = flows.filter(|(index, _)| scenario.crosses_links(*index) == is_between);
        chosen.map(|(_, flow)| flow.bits_per_second * 1.5e-3).sum()
    };
    // Frames that arrive at the very end belong to no interval.
    for (curve, flows) in [(between, of_flows(true)), (inside, of_flows(false))] {
        assert!(
            (curve / flows - 1.0).abs() < 1e-4 && flows > 0.0,
            "{curve} {flows}"
        );
    }
    let text = table::run(&many);
    let flow_lines = text.lines().filter(|line| line.starts_with("  flow "));
    assert_eq!(flow_lines.count(), 10);
    let more = format!(
        "  and {} more flows: --json has them all",
        many.flows.len() - 10
    );
    assert!(text.contains(&more), "{text}");
}

#[test]
fn a_flow_of_a_collective_begins_when_the_last_one_that_it_waits_for_has_arrived() {
    for kind in ["ring-all-reduce", "tree-all-reduce", "all-to-all-steps"] {
        for transport in ["open", "dcqcn", "reno"] {
            let scenario = file(
                "all-reduce",
                &[
                    &format!("traffic.0.kind={kind}"),
                    &format!("traffic.0.transport={transport}"),
                    "traffic.0.size=200kB",
                    "traffic.0.start=3us",
                ],
            );
            let result = simulate(&scenario);
            let mut waited = 0;
            for (index, flow) in scenario.flows.iter().enumerate() {
                let (began, _) = span(&result, index);
                let last = flow.after.iter().map(|before| span(&result, before.flow).1);
                let expected = last.max().unwrap_or(3_000);
                assert_eq!(began, expected, "{kind} {transport}: {}", flow.name);
                waited += usize::from(!flow.after.is_empty());
            }
            assert!(waited > 10, "{kind}");
        }
    }
}

#[test]
fn what_waits_for_something_that_never_arrives_never_begins() {
    let scenario = file("all-reduce", &["duration=20us", "traffic.0.size=16MB"]);
    let result = simulate(&scenario);
    let later = result.flows.iter().zip(&scenario.flows);
    for (flow, planned) in later.filter(|(_, planned)| !planned.after.is_empty()) {
        assert_eq!(
            (flow.sent, flow.began_seconds),
            (0, None),
            "{}",
            planned.name
        );
        assert_eq!(flow.completion_seconds, None);
    }
}

#[test]
fn a_sweep_makes_a_run_again_when_a_file_that_its_scenario_names_has_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let of_files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/workload.toml");
    let text = std::fs::read_to_string(of_files).unwrap();
    let own = text.replace("\"fb-hadoop\"", "\"own.csv\"");
    let sweep = "name = \"x\"\nscenario = \"own.toml\"\n[[parameter]]\nkey = \"traffic.0.load\"\nvalues = [0.2, 0.4]\n";
    std::fs::write(path("own.toml"), &own).unwrap();
    std::fs::write(path("sweep.toml"), sweep).unwrap();
    let keys = |sizes: &str| {
        std::fs::write(path("own.csv"), sizes).unwrap();
        let sweep = Sweep::load(&path("sweep.toml")).unwrap();
        let campaign = Campaign::new(sweep, own.clone()).unwrap();
        [0, 1].map(|run| campaign.key(run))
    };
    let first = keys("size_bytes,cdf\n1000,1\n");
    assert_eq!(keys("size_bytes,cdf\n1000,1\n"), first);
    let other = keys("size_bytes,cdf\n1001,1\n");
    assert!(other[0] != first[0] && other[1] != first[1]);
}
