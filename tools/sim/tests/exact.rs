//! Lines carry their exact rate although time is counted in whole nanoseconds.

use std::path::Path;

use proptest::prelude::*;
use weir_api::run::{FlowResult, RunResult};
use weir_config::scenario::Scenario;
use weir_core::{Duration, Instant};
use weir_sim::network::Network;
use weir_sim::scenario::{run, Options};

const LINE_OVERHEAD: u64 = 24;

fn simulate(text: &str, threads: usize) -> RunResult {
    let scenario = Scenario::parse(text, Path::new("x.toml"), &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        threads,
        ..Options::default()
    };
    run(&scenario, options).unwrap_or_else(|error| panic!("{error}"))
}

/// `count` pairs of hosts of `mbit` each at two switches, connected by a line with `count` times the rate, so nothing ever
/// blocks.
fn pairs(count: u64, mbit: u64, frame: u64, duration: &str, rate: &str) -> String {
    let mut text = format!("name = \"x\"\nduration = \"{duration}\"\nseed = 5\n[link-defaults]\nrate = \"{mbit}Mbit\"\ndelay = \"1us\"\n[deadlock]\npolicy = \"off\"\n[flows]\ncapacity = 0\n[[switch]]\nname = \"s1\"\n[[switch]]\nname = \"s2\"\n[[link]]\nends = [\"s1\", \"s2\"]\nrate = \"{}Mbit\"\n[[class]]\nname = \"c\"\npriority = 3\nmode = \"pfc\"\nxoff = \"200kB\"\nxon = \"180kB\"\nheadroom = \"900kB\"\n", mbit * count);
    for host in 1..=count {
        text.push_str(&format!("[[host]]\nname = \"a{host}\"\nswitch = \"s1\"\n[[host]]\nname = \"b{host}\"\nswitch = \"s2\"\n[[flow]]\nname = \"f{host}\"\nfrom = \"a{host}\"\nto = \"b{host}\"\nclass = \"c\"\nframe = \"{frame}B\"\nrate = \"{rate}\"\nstart = \"0s\"\n"));
    }
    text
}

fn pauses(result: &RunResult) -> u64 {
    result.buffers.iter().map(|buffer| buffer.xoff_sent).sum()
}

/// Number of a flow's frames that have arrived when the run ends.
fn arrived(flow: &FlowResult, seconds: f64, frame: u64) -> f64 {
    (flow.bits_per_second * seconds / 8.0 / frame as f64).round()
}

/// Number of frames that a line of this rate carries in `nanos`.
fn frames_in(nanos: u64, mbit: u64, length: u64) -> f64 {
    nanos as f64 * mbit as f64 / 8000.0 / length as f64
}

/// A host with 25 Gbit/s sends at its rate, one with 100 Gbit/s at the same switch at its own, and ideal completion times
/// use each host's own line and delay.
#[test]
fn a_host_may_have_a_line_of_its_own() {
    let text = "name = \"x\"\nduration = \"1ms\"\nseed = 5\n[link-defaults]\nrate = \"100Gbit\"\ndelay = \"1us\"\n[deadlock]\npolicy = \"off\"\n[[switch]]\nname = \"s\"\n[[class]]\nname = \"c\"\npriority = 3\nmode = \"pfc\"\nxoff = \"200kB\"\nxon = \"180kB\"\nheadroom = \"900kB\"\n[[host]]\nname = \"slow\"\nswitch = \"s\"\nrate = \"25Gbit\"\ndelay = \"7us\"\n[[host]]\nname = \"fast\"\nswitch = \"s\"\n[[host]]\nname = \"sink\"\nswitch = \"s\"\n[[flow]]\nname = \"a\"\nfrom = \"slow\"\nto = \"fast\"\nclass = \"c\"\nframe = \"1500B\"\nsize = \"150kB\"\nstart = \"100us\"\n[[flow]]\nname = \"b\"\nfrom = \"fast\"\nto = \"sink\"\nclass = \"c\"\nframe = \"1500B\"\nsize = \"150kB\"\nstart = \"500us\"\n";
    let result = simulate(text, 1);
    let on_line = |gbit: f64, frames: f64| frames * 8.0 * (1500 + LINE_OVERHEAD) as f64 / gbit;
    let exact = [
        on_line(25.0, 100.0) + on_line(100.0, 1.0) + 8_000.0,
        on_line(100.0, 101.0) + 2_000.0,
    ];
    for (flow, exact) in result.flows.iter().zip(exact) {
        let seen = flow.completion_seconds.expect("all of it arrives") * 1e9;
        assert!(
            (seen - exact).abs() <= 1.0,
            "{}: {seen} ns, not {exact}",
            flow.name
        );
        assert_eq!(flow.slowdown, Some(1.0), "{}", flow.name);
    }
}

/// A flow from one end of a row of switches to the other, alone in the network, over lines of `line`.
fn alone(switches: u64, line: &str, class: &str, size: u64, frame: u64) -> String {
    let mut text = format!("name = \"x\"\nduration = \"1ms\"\nseed = 5\n[link-defaults]\n{line}\n[topology]\nkind = \"line\"\nswitches = {switches}\nhosts = 2\n[[class]]\nname = \"c\"\npriority = 3\n{class}\n");
    text.push_str(&format!("[[flow]]\nname = \"f\"\nfrom = \"h1\"\nto = \"h{}\"\nclass = \"c\"\nsize = \"{size}B\"\nframe = \"{frame}B\"\n", 2 * switches));
    text
}

/// Delays and cables, from none to a city.
const WAYS: [&str; 7] = [
    "delay = \"0s\"",
    "delay = \"1ns\"",
    "delay = \"1us\"",
    "cable = \"1m\"",
    "cable = \"3m\"",
    "cable = \"100m\"",
    "cable = \"2km\"",
];
/// Without Levels or credits, of which switches send messages.
const CLASSES: [&str; 3] = [
    "mode = \"pfc\"\nxoff = \"200kB\"\nxon = \"180kB\"\nheadroom = \"64MB\"",
    "mode = \"pfc\"\nxoff = \"200kB\"\nxon = \"180kB\"",
    "mode = \"lossy\"\nbuffer = \"1MB\"",
];
/// Sizes of flows, and frames.
const SIZES: [(u64, u64); 7] = [
    (60, 60),
    (1, 1500),
    (61, 60),
    (64, 64),
    (1500, 1500),
    (4000, 1500),
    (30_000, 9216),
];

#[test]
fn a_flow_alone_has_a_slowdown_of_one() {
    for (mbit, way) in [1_000, 10_000, 100_000, 800_000]
        .iter()
        .flat_map(|mbit| WAYS.map(|way| (mbit, way)))
    {
        let line = format!("rate = \"{mbit}Mbit\"\n{way}");
        // Only cables give the headroom.
        let has_headroom = |class: &&str| class.contains("headroom") || !class.contains("pfc");
        let is_known = |class: &&str| way.starts_with("cable") || has_headroom(class);
        for class in CLASSES.into_iter().filter(is_known) {
            for (switches, (size, frame)) in
                (1..=4).flat_map(|count| SIZES.map(|size| (count, size)))
            {
                let result = simulate(&alone(switches, &line, class, size, frame), 1);
                let flow = &result.flows[0];
                assert_eq!(
                    flow.slowdown,
                    Some(1.0),
                    "{line}, {class}, {switches} switches, {size} B in {frame} B: {:?} s, not {:?}",
                    flow.completion_seconds,
                    flow.ideal_seconds
                );
            }
        }
    }
}

/// The drain after a short run is much longer than it, and results have no points of it.
#[test]
fn curves_end_with_traffic() {
    let text = pairs(2, 100_000, 1500, "1us", "line");
    let scenario = Scenario::parse(&text, Path::new("x.toml"), &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let plan = weir_sim::scenario::plan(&scenario).unwrap_or_else(|error| panic!("{error}"));
    let mut network = Network::new(plan).unwrap_or_else(|error| panic!("{error}"));
    network.run_until(Instant::ZERO + scenario.duration);
    assert!(network.frames_in_network() > 0);
    assert!(network.drain(Duration::from_millis(1), Duration::from_millis(1)));
    let samples = network.samples().expect("a scenario has curves");
    let points = scenario
        .duration
        .as_nanos()
        .div_ceil(samples.interval().as_nanos());
    assert!(points > 100);
    for curve in samples.curves() {
        // One is at the end itself.
        assert_eq!(curve.ingress.iter().count() as u64, points + 1);
        assert_eq!(curve.egress.iter().count(), 0, "without a recording");
    }
    for flow in network.flows() {
        assert!(flow.series.len() as u64 <= points);
    }
}

#[test]
fn a_line_carries_its_rate_over_a_second() {
    for (mbit, frame) in [(10_000, 9216), (25_000, 9000), (100_000, 9001)] {
        let result = simulate(&pairs(1, mbit, frame, "1s", "line"), 1);
        let on_way = 3_000 + 2 * 8 * (frame + LINE_OVERHEAD) * 1000 / mbit;
        let exact = frames_in(1_000_000_000 - on_way, mbit, frame + LINE_OVERHEAD);
        let seen = arrived(&result.flows[0], 1.0, frame);
        assert!(
            (seen - exact).abs() <= 1.0 + exact * 1e-6,
            "{mbit} Mbit/s, {frame} B: {seen} frames, not {exact}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A loss of 10^-6 would be less than a frame here, so missing frames are counted.
    #[test]
    fn every_line_carries_its_rate_to_the_frame(
        mbit in prop_oneof![
            prop::sample::select(vec![10_000u64, 25_000, 100_000, 400_000, 800_000, 1_600_000]),
            10_000u64..1_600_000,
        ],
        frame in prop_oneof![Just(60u64), Just(1500), 60u64..9217],
    ) {
        let nanos = 300_000;
        let result = simulate(&pairs(1, mbit, frame, "300us", "line"), 1);
        let on_way = 3_000 + 2 * 8 * (frame + LINE_OVERHEAD) * 1000 / mbit;
        let exact = frames_in(nanos - on_way, mbit, frame + LINE_OVERHEAD);
        let seen = arrived(&result.flows[0], 3e-4, frame);
        // Times on the path are whole nanoseconds.
        let slack = frames_in(4, mbit, frame + LINE_OVERHEAD);
        prop_assert!((seen - exact).abs() <= 1.0 + slack, "{} frames, not {}", seen, exact);
    }

    #[test]
    fn a_flow_has_its_rate_to_the_frame(
        mbit in prop_oneof![prop::sample::select(vec![10_000u64, 40_000, 399_999]), 1_000u64..400_000],
        frame in prop_oneof![Just(60u64), Just(1500), 60u64..9217],
    ) {
        let result = simulate(&pairs(1, 800_000, frame, "300us", &format!("{mbit}Mbit")), 1);
        // With frames shorter than the overhead between them, the line carries less than the flow's rate.
        prop_assume!(mbit * (frame + LINE_OVERHEAD) < 800_000 * frame);
        let exact = frames_in(300_000, mbit, frame);
        let seen = result.flows[0].sent as f64;
        prop_assert!((seen - exact).abs() <= 1.0 + exact * 1e-6, "{} frames, not {}", seen, exact);
    }

    #[test]
    fn as_many_lines_as_the_next_one_can_carry_never_pause(
        count in 2u64..9,
        mbit in prop_oneof![
            prop::sample::select(vec![10_000u64, 25_000, 50_000, 100_000, 200_000]),
            10_000u64..200_000,
        ],
        frame in prop_oneof![Just(1048u64), Just(1500), 60u64..9217],
    ) {
        let text = pairs(count, mbit, frame, "300us", "line");
        let result = simulate(&text, 1);
        prop_assert_eq!(pauses(&result), 0);
        let on_way = 3_000 + 2 * 8 * (frame + LINE_OVERHEAD) * 1000 / mbit;
        let exact = frames_in(300_000 - on_way, mbit, frame + LINE_OVERHEAD);
        for flow in &result.flows {
            let seen = arrived(flow, 3e-4, frame);
            // A frame waits for those of the others, and times on the path are whole nanoseconds.
            let slack = 1.0 + frames_in(4, mbit, frame + LINE_OVERHEAD);
            prop_assert!((seen - exact).abs() <= 1.0 + slack, "{} frames, not {}", seen, exact);
        }
        let one = serde_json::to_string(&result).unwrap();
        for threads in [2, 3] {
            prop_assert!(one == serde_json::to_string(&simulate(&text, threads)).unwrap());
        }
    }
}
