//! Switches that spread frames themselves: effect of flowlets when one path is slower, and things that they must not change.

use std::path::{Path, PathBuf};

use weir_api::run::RunResult;
use weir_config::scenario::{PortPeer, Scenario};
use weir_config::Override;
use weir_core::Instant;
use weir_sim::network::plan::host_address;
use weir_sim::network::Network;
use weir_sim::scenario::{plan, run, Options};

const FLOWLETS: &str = "spread = \"flowlet\"\nspread-at = \"switch\"\nflowlet-gap = \"20us\"";
const FRAMES: &str = "spread = \"frame\"\nspread-at = \"switch\"";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"))
}

/// Parses the scenario file `name` with additions to its `[routing]`.
fn parse(name: &str, routing: &str, changes: &[&str]) -> Result<Scenario, String> {
    let file = file(name);
    let text = std::fs::read_to_string(&file).unwrap();
    let mode = "mode = \"ecmp\"";
    assert!(text.contains(mode));
    let text = text.replace(mode, &format!("{mode}\n{routing}"));
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::parse(&text, &file, &changes).map_err(|error| error.to_string())
}

fn scenario(routing: &str, changes: &[&str]) -> Scenario {
    parse("asymmetric", routing, changes).unwrap_or_else(|error| panic!("{error}"))
}

fn network(scenario: &Scenario) -> Network {
    let mut network = Network::new(plan(scenario).unwrap()).unwrap();
    network.run_until(Instant::ZERO + scenario.duration);
    network.check_conservation().unwrap();
    network
}

fn sent(scenario: &Scenario, network: &Network, switch: &str, peer: &str) -> u64 {
    let number = |name: &str| scenario.switches.iter().position(|known| known == name);
    let [switch, peer] = [switch, peer].map(|name| number(name).unwrap());
    let ports = scenario.ports(switch);
    let port = ports
        .iter()
        .position(|port| port.peer == PortPeer::Switch(peer));
    let port = weir_core::PortId::from_index(port.unwrap()).unwrap();
    let counters = network.switch(switch).counters(port);
    counters.priority.iter().map(|of| of.tx_bytes).sum()
}

/// Returns the bytes between the leaves on the slow path, and on both.
fn by_slow_way(scenario: &Scenario, network: &Network) -> [f64; 2] {
    let sent = |spine: &str| {
        let leaves = ["leaf1", "leaf2"].into_iter();
        let bytes: u64 = leaves
            .map(|leaf| sent(scenario, network, leaf, spine))
            .sum();
        bytes as f64
    };
    let slow = sent("slow");
    [slow, slow + sent("fast")]
}

#[test]
fn flowlets_leave_the_slower_way_by_themselves() {
    for traffic in [
        ["traffic.0.transport=dctcp", "traffic.0.class=lossy"],
        ["traffic.0.transport=dcqcn", "traffic.0.class=lossless"],
    ] {
        let measure = |routing: &str| {
            let scenario = scenario(routing, &[&traffic[..], &["duration=120ms"]].concat());
            let network = network(&scenario);
            let reordered: u64 = network.flows().iter().map(|flow| flow.reordered).sum();
            let [slow, all] = by_slow_way(&scenario, &network);
            (slow / all, all, reordered)
        };
        let by_flow = measure("spread = \"flow\"");
        let by_flowlet = measure(FLOWLETS);
        let by_frame = measure(FRAMES);
        let told = format!("{traffic:?}: {by_flow:?} {by_flowlet:?} {by_frame:?}");
        // Half of the frames are sent over each path, and the fast one waits for the slow one.
        assert!((0.48..0.52).contains(&by_frame.0), "{told}");
        // All frames of a flow stay on the full slow path, but a flowlet can leave it.
        assert!(by_flowlet.0 < by_flow.0 - 0.04, "{told}");
        assert!(by_flowlet.1 > by_flow.1 * 1.08, "{told}");
        assert!(by_flowlet.1 > by_frame.1 * 1.25, "{told}");
        assert_eq!(by_flow.2, 0, "{told}");
        assert!((1..by_frame.2 / 4).contains(&by_flowlet.2), "{told}");
    }
}

#[test]
fn flows_that_share_an_entry_share_their_way_and_others_have_no_part_in_it() {
    // A frame of every flow in 300 us, which is no gap here, at a rate that both paths carry.
    let steady = [
        "traffic=[{ kind = \"all-to-all\", class = \"lossless\", rate = \"40Mbit\", frame = \"1500B\" }]",
        "duration=5ms",
        "routing.flowlet-gap=1ms",
    ];
    let spines = |entries: &str| {
        let scenario = scenario(&format!("{FLOWLETS}\n{entries}"), &steady);
        let network = network(&scenario);
        let sent = |spine| sent(&scenario, &network, "leaf1", spine);
        ["fast", "slow"].map(sent)
    };
    let [fast, slow] = spines("flowlet-table = 1");
    assert!(fast == 0 || slow == 0, "{fast} {slow}");
    let [fast, slow] = spines("");
    assert!(fast > 0 && slow > 0, "{fast} {slow}");
}

#[test]
fn switches_know_where_they_have_a_choice() {
    let scenario = scenario(FLOWLETS, &["duration=1ms"]);
    let network = Network::new(plan(&scenario).unwrap()).unwrap();
    assert!(scenario.flows.len() > 3);
    for flow in &scenario.flows {
        let has_choice = |switch: usize| {
            let to = host_address(flow.to as u32);
            network.switch(switch).has_choice(to)
        };
        let [from, to] = [flow.from, flow.to].map(|host| scenario.hosts[host].switch);
        assert!(has_choice(from), "{}", flow.name);
        for (switch, name) in scenario.switches.iter().enumerate() {
            assert!(
                switch == from || !has_choice(switch),
                "{} {name} {to}",
                flow.name
            );
        }
    }
    let nobody = host_address(1000);
    assert!(!network.switch(0).has_choice(nobody));
}

/// Including restarts, losses and frozen switches.
#[test]
fn any_number_of_threads_has_the_same_result() {
    let faults = "fault=[{ kind = \"switch-restart\", switch = \"leaf1\", at = \"900us\", for = \"100us\" }, \
        { kind = \"link-down\", link = [\"leaf2\", \"slow\"], at = \"1500us\", for = \"200us\" }, \
        { kind = \"switch-freeze\", switch = \"leaf2\", at = \"600us\", for = \"50us\" }]";
    for (name, routing, changes) in [
        ("asymmetric", FLOWLETS, &["duration=4ms", faults][..]),
        ("asymmetric", FRAMES, &["duration=3ms"]),
        ("balancing", FLOWLETS, &["routing.hash=per-switch"]),
        ("balancing", FRAMES, &[]),
    ] {
        let scenario = parse(name, routing, changes).unwrap();
        let result = |threads| {
            let options = Options {
                threads,
                ..Options::default()
            };
            let result = run(&scenario, options).unwrap();
            assert!(result.flows.iter().any(|flow| flow.received > 0));
            serde_json::to_string(&result).unwrap()
        };
        let one = result(1);
        for threads in [1, 2, 3] {
            assert!(one == result(threads), "{name} {routing}: {threads}");
        }
        let other = parse(name, routing, &[changes, &["seed=9"]].concat()).unwrap();
        let other = run(&other, Options::default()).unwrap();
        assert!(one != serde_json::to_string(&other).unwrap());
    }
}

/// The ring whose flows can go both ways: releases, moved buckets and pinned flowlets deliver all frames.
#[test]
fn deadlocks_are_broken_while_flowlets_choose_their_ways() {
    let text = std::fs::read_to_string(file("ring4-ecmp")).unwrap();
    let (text, _) = text.split_once("# Whatever the policy.").unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("via"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let ring = |spread: &str, policy: &str| -> RunResult {
        let text = text.replace(
            "mode = \"ecmp\"",
            &format!("mode = \"ecmp\"\nspread-at = \"switch\"\n{spread}"),
        );
        let policy = format!("deadlock.policy={policy}").parse().unwrap();
        let scenario = Scenario::parse(&text, &file("ring4-ecmp"), &[policy]).unwrap();
        run(&scenario, Options::default()).unwrap()
    };
    for spread in [
        "spread = \"frame\"",
        "spread = \"flowlet\"\nflowlet-gap = \"5ms\"",
    ] {
        for policy in ["breaker", "loop-breaker", "auto"] {
            let result = ring(spread, policy);
            let told = format!("{spread} {policy}");
            assert!(!result.deadlocked, "{told}");
            assert!(result.suspected_peak >= 3, "{told}");
            let does = |name: &str| policy == name || policy == "auto";
            assert_eq!(does("breaker"), result.releases > 0, "{told}");
            assert_eq!(does("loop-breaker"), result.flows_moved > 0, "{told}");
            assert!(result.drops.is_empty(), "{told}: {:?}", result.drops);
            for flow in &result.flows {
                assert_eq!(flow.lost + flow.in_flight, 0, "{told}: {}", flow.name);
                assert!(
                    flow.bits_per_second_last_third > 1e6,
                    "{told}: {}",
                    flow.name
                );
            }
        }
    }
    assert!(ring("spread = \"frame\"", "off").deadlocked);
}

#[test]
fn what_contradicts_itself_is_refused_with_the_remedy() {
    for (routing, change, said) in [
        (
            "spread-at = \"switch\"",
            "seed=1",
            "routing.spread-at: nothing is spread: set spread = \"frame\" or \"flowlet\"",
        ),
        (
            "spread = \"flow\"\nspread-at = \"sender\"",
            "seed=1",
            "routing.spread-at: nothing is spread",
        ),
        (
            "spread = \"flowlet\"\nflowlet-gap = \"1us\"\nflowlet-table = 5",
            "seed=1",
            "routing.flowlet-table: only switches have a table, of flowlets",
        ),
        (
            "spread = \"frame\"\nspread-at = \"switch\"\nflowlet-table = 5",
            "seed=1",
            "routing.flowlet-table: only switches have a table, of flowlets",
        ),
        (
            "spread = \"frame\"\nspread-at = \"switch\"\nflowlet-gap = \"1us\"",
            "seed=1",
            "routing.flowlet-gap: only spread = \"flowlet\" has a gap",
        ),
        (FLOWLETS, "routing.flowlet-table=0", "0 is not between 1 and 1048576"),
        (FLOWLETS, "routing.spread-at=leaf", "valid: sender, switch"),
        (
            FLOWLETS,
            "routing.mode=shortest",
            "routing.spread-at: no switch has several next hops to choose from: set mode = \"ecmp\"",
        ),
    ] {
        let error = parse("asymmetric", routing, &[change]).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    // Line of the key.
    let error = parse("asymmetric", "spread-at = \"switch\"", &[]).unwrap_err();
    let line = error
        .split(':')
        .find_map(|part| part.trim().parse::<usize>().ok());
    let text = std::fs::read_to_string(file("asymmetric")).unwrap();
    let mode = text
        .lines()
        .position(|line| line == "mode = \"ecmp\"")
        .unwrap();
    assert_eq!(line, Some(mode + 2), "{error}");
    // A group listed in a file also counts, and so does a later one.
    let group = "route=[{ to = \"b1\", at = \"leaf1\", ports = [\"fast\", \"slow\"] }]";
    assert!(parse("asymmetric", FLOWLETS, &["routing.mode=shortest", group]).is_ok());
    let error = parse("ring4-ecmp", FLOWLETS, &[]).unwrap_err();
    assert!(
        error.contains("has a `via`, which it would leave"),
        "{error}"
    );
    let gaps = scenario(FLOWLETS, &[]).lab_gaps().join("\n");
    assert!(
        gaps.contains("all switches of the lab use the same hash, by flow"),
        "{gaps}"
    );
}
