//! Properties of the transports stated in their papers, in networks: queues, delays, shares, and recovery of every loss.

use std::path::Path;

use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_core::{Duration, Instant, PortId, Priority};
use weir_sim::network::{Flow, Network};
use weir_sim::scenario::{plan, run, Options};
use weir_sim::transport::acknowledged::Control;

/// Two switches; each host of the first sends to one of the second over one link.
const DUMBBELL: &str = r#"
name = "dumbbell"
duration = "20ms"
seed = 1

[link-defaults]
rate = "10Gbit"
delay = "2us"

[[class]]
name = "lossy"
priority = 1
mode = "lossy"
buffer = "60kB"

[[class]]
name = "marked"
priority = 2
mode = "lossy"
buffer = "400kB"
ecn-kmin = "30kB"
ecn-kmax = "30kB"
ecn-pmax = "100%"

[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "400KiB"
xon = "390KiB"
headroom = "64KiB"
ecn-kmin = "5kB"
ecn-kmax = "50kB"

[topology]
kind = "line"
switches = 2
hosts = 4
"#;

const HOSTS: u32 = 4;
/// The marked and the lossless class.
const P2: Priority = Priority::ALL[2];
const P3: Priority = Priority::ALL[3];
const LINE_BPS: f64 = 10e9;

fn dumbbell(keys: &str, rest: &str, overrides: &[&str]) -> Scenario {
    let mut text = format!("{DUMBBELL}{rest}\n");
    for host in 1..=HOSTS {
        let to = host + HOSTS;
        text += &format!(
            "[[flow]]\nname = \"f{host}\"\nfrom = \"h{host}\"\nto = \"h{to}\"\nframe = \"1024B\"\n{keys}\n"
        );
    }
    parse(&text, overrides)
}

fn parse(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::parse(text, Path::new("x.toml"), &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// Runs until `micros`, checking the accounts regularly.
fn go_on(network: &mut Network, micros: u64) {
    let begin = network.now().saturating_since(Instant::ZERO).as_nanos() / 1000;
    for step in (begin..micros).step_by(50) {
        network.run_until(at((step + 50).min(micros)));
        network.check_conservation().unwrap();
    }
}

fn network(scenario: &Scenario, micros: u64) -> Network {
    let mut network = Network::new(plan(scenario).unwrap()).unwrap();
    go_on(&mut network, micros);
    network
}

/// Returns the bytes queued at the first switch in `priority`.
fn waiting(network: &Network, priority: Priority) -> u64 {
    let switch = network.switch(0);
    let ports = (0..switch.config().ports.len()).filter_map(PortId::from_index);
    ports
        .map(|port| switch.occupancy(port, priority).1.get())
        .sum()
}

/// Backlog in a span of time, and the arrivals in it.
struct Span {
    least: u64,
    mean: f64,
    most: u64,
    /// Used share of the line, in bytes of frames.
    used: f64,
    smallest_share: f64,
}

/// Samples every 5 µs.
fn watch(network: &mut Network, priority: Priority, from: u64, to: u64) -> Span {
    go_on(network, from);
    let received = |network: &Network| -> Vec<u64> {
        let flows = network.flows().iter();
        flows.map(|flow| flow.received_bytes).collect()
    };
    let before = received(network);
    let mut seen = Vec::new();
    for step in (from..to).step_by(5) {
        network.run_until(at(step + 5));
        seen.push(waiting(network, priority));
    }
    network.check_conservation().unwrap();
    let arrived: Vec<f64> = received(network)
        .iter()
        .zip(&before)
        .map(|(after, before)| (after - before) as f64)
        .collect();
    let total: f64 = arrived.iter().sum();
    Span {
        least: *seen.iter().min().unwrap(),
        mean: seen.iter().sum::<u64>() as f64 / seen.len() as f64,
        most: *seen.iter().max().unwrap(),
        used: total * 8.0 / ((to - from) as f64 * 1e-6) / LINE_BPS,
        smallest_share: arrived.iter().copied().fold(f64::INFINITY, f64::min) / total,
    }
}

fn sum(network: &Network, of: impl Fn(&Flow) -> u64) -> u64 {
    network.flows().iter().map(of).sum()
}

/// DCTCP (RFC 8257; Alizadeh et al., SIGCOMM 2010, section 3.3): the queue stays below K plus a frame of each flow, never
/// runs empty if K is well above an eighth of the bandwidth-delay product, and drops nothing.
#[test]
fn dctcp_keeps_its_queue_about_k() {
    let scenario = dumbbell("class = \"marked\"\ntransport = \"dctcp\"", "", &[]);
    let mut network = network(&scenario, 0);
    let span = watch(&mut network, P2, 5_000, 20_000);
    let k = 30_000;
    assert!(span.most < k + 3 * u64::from(HOSTS) * 1024, "{}", span.most);
    assert!(span.least > 0, "{}", span.least);
    assert!(
        span.mean > 15_000.0 && span.mean < 35_000.0,
        "{}",
        span.mean
    );
    assert!(span.used > 0.95, "{}", span.used);
    assert!(span.smallest_share > 0.2, "{}", span.smallest_share);
    assert_eq!(network.totals().dropped, 0);
    for flow in network.flows() {
        let alpha = flow.window().unwrap().dctcp_alpha();
        assert!(alpha > 0.0 && alpha < 1.0, "{alpha}");
        assert_eq!(flow.repeated, 0);
    }
}

/// The complete DCQCN: with recovery it delivers everything over a lossy class, and all frames are accounted for.
#[test]
fn every_loss_is_made_good() {
    let mut repeated = Vec::new();
    for (transport, mode) in [
        ("dcqcn", "go-back-n"),
        ("dcqcn", "selective"),
        ("timely", "go-back-n"),
        ("timely", "selective"),
        ("swift", "go-back-n"),
        ("swift", "selective"),
        ("hpcc", "go-back-n"),
        ("hpcc", "selective"),
        ("dctcp", "none"),
    ] {
        let case = format!("{transport}, {mode}");
        let keys = format!("class = \"lossy\"\nsize = \"2MB\"\ntransport = \"{transport}\"");
        let rest = "[window]\ntimeout-min = \"1ms\"\n[[fault]]\nkind = \"drop\"\nswitch = \"s2\"\nport = \"s1\"\none-in = 200\n";
        let overrides = [
            "duration=200ms".to_owned(),
            format!("recovery.mode={mode}"),
            "class.lossy.buffer=40kB".to_owned(),
        ];
        let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
        let network = network(&dumbbell(&keys, rest, &overrides), 200_000);
        for flow in network.flows() {
            assert_eq!(flow.received_bytes, 2_000_000, "{case}");
            assert!(flow.completion().is_some(), "{case}");
            assert!(
                flow.acknowledged().is_none_or(|sender| sender.is_done()),
                "{case}"
            );
        }
        // Answers meet no full buffer, but they could also be dropped at their ingress: none is.
        let lost = sum(&network, |flow| flow.sent - flow.received);
        assert_eq!(lost, network.totals().dropped, "{case}");
        assert!(lost > 20, "{case}: {lost}");
        let again = sum(&network, |flow| flow.repeated);
        assert!(again >= lost, "{case}: {again} for {lost}");
        assert_eq!(
            sum(&network, |flow| flow.answers_received),
            sum(&network, |flow| flow.answers_sent),
            "{case}"
        );
        assert_eq!(network.frames_in_network(), 0, "{case}");
        repeated.push((case, again as f64 / lost as f64));
    }
    // Go-back-N also repeats frames that had arrived; selective repetition only lost ones.
    let ratio = |case: &str| repeated.iter().find(|(known, _)| known == case).unwrap().1;
    for transport in ["dcqcn", "timely", "swift", "hpcc"] {
        let [back, selective] =
            ["go-back-n", "selective"].map(|mode| ratio(&format!("{transport}, {mode}")));
        assert!(selective < 1.05, "{transport}: {selective}");
        assert!(back > 1.2, "{transport}: {back}");
    }
}

/// Frames and answers are lost in both directions, and whole lines fail for a time.
#[test]
fn recovery_outlives_lost_answers_and_a_dead_link() {
    for transport in ["dcqcn", "timely", "swift", "hpcc"] {
        for mode in ["go-back-n", "selective"] {
            let keys = format!("class = \"lossy\"\nsize = \"500kB\"\ntransport = \"{transport}\"");
            let mut rest = String::new();
            for (switch, port) in [("s1", "s2"), ("s2", "s1")] {
                rest += &format!("[[fault]]\nkind = \"drop\"\nswitch = \"{switch}\"\nport = \"{port}\"\none-in = 30\n");
            }
            rest += "[[fault]]\nkind = \"link-down\"\nlink = [\"s1\", \"s2\"]\nat = \"300us\"\nfor = \"2ms\"\n";
            let mode_key = format!("recovery.mode={mode}");
            let overrides = ["duration=300ms", mode_key.as_str()];
            let network = network(&dumbbell(&keys, &rest, &overrides), 300_000);
            for flow in network.flows() {
                assert_eq!(flow.received_bytes, 500_000, "{transport}, {mode}");
                assert!(
                    flow.acknowledged().unwrap().is_done(),
                    "{transport}, {mode}"
                );
            }
            assert!(network.totals().lost_on_lines > 0);
            assert_eq!(network.frames_in_network(), 0);
        }
    }
}

/// HPCC, section 5.2: almost no queue at η of the line, and fair shares in the end.
#[test]
fn hpcc_has_nearly_no_queue() {
    let scenario = dumbbell(
        "class = \"lossless\"\ntransport = \"hpcc\"",
        "",
        &["duration=60ms"],
    );
    let mut network = network(&scenario, 0);
    let span = watch(&mut network, P3, 10_000, 60_000);
    assert!(span.mean < 1500.0, "{}", span.mean);
    assert!(span.most < 8 * 1024, "{}", span.most);
    // η of the line with its overhead: 0.95 · 1024/1048 = 0.928.
    assert!(span.used > 0.88 && span.used < 0.94, "{}", span.used);
    assert!(span.smallest_share > 0.2, "{}", span.smallest_share);
    for flow in network.flows() {
        assert!(matches!(
            flow.acknowledged().unwrap().control(),
            Control::Hpcc(_)
        ));
        assert_eq!(flow.repeated, 0);
    }
    assert_eq!(network.counters().xoff_sent, 0);
    // DCTCP's is many times longer.
    let dctcp = dumbbell("class = \"marked\"\ntransport = \"dctcp\"", "", &[]);
    let mut dctcp = Network::new(plan(&dctcp).unwrap()).unwrap();
    assert!(watch(&mut dctcp, P2, 10_000, 20_000).mean > 10.0 * span.mean);
}

/// TIMELY: the rate grows until the round trip exceeds T_low, then follows its gradient: the queue stays far below T_high,
/// and flows that begin alike have the same rate.
#[test]
fn timely_turns_back_above_t_low() {
    let keys = "class = \"lossless\"\ntransport = \"timely\"";
    let scenario = dumbbell(keys, "", &["duration=150ms"]);
    let mut network = network(&scenario, 0);
    // From the minimum rate, δ takes about 30 ms to reach a quarter of the line.
    let span = watch(&mut network, P3, 50_000, 150_000);
    // Without a queue the round trip is 14.7 µs. Ingress ports are served in turn, so T_low is exceeded between 11 kB of one
    // flow that waits alone, at a quarter of the line, and 44 kB of all four together.
    assert!((11_000..50_000).contains(&span.most), "{}", span.most);
    assert!(span.used > 0.6, "{}", span.used);
    assert!(span.smallest_share > 0.2, "{}", span.smallest_share);
    assert_eq!(network.counters().xoff_sent, 0);
}

/// Swift: the round trip stays near the target of the resulting windows.
#[test]
fn swift_keeps_its_delay_near_the_target() {
    let scenario = dumbbell(
        "class = \"lossless\"\ntransport = \"swift\"",
        "",
        &["duration=40ms"],
    );
    let mut network = network(&scenario, 0);
    let span = watch(&mut network, P3, 10_000, 40_000);
    assert!(span.used > 0.95, "{}", span.used);
    assert!(span.smallest_share > 0.15, "{}", span.smallest_share);
    // Without a queue: three lines of 2 µs and a frame of 0.84 µs, and back with an answer of 0.07 µs.
    let empty = 3.0 * (2.0 + 0.838) + 3.0 * (2.0 + 0.067);
    let seen = empty + span.mean * 8.0 / LINE_BPS * 1e6;
    let targets = network.flows().iter().map(|flow| {
        let Control::Swift(swift) = flow.acknowledged().unwrap().control() else {
            panic!("it is Swift");
        };
        swift.target(2).as_nanos() as f64 / 1e3
    });
    let target = targets.sum::<f64>() / f64::from(HOSTS);
    assert!(
        (seen / target - 1.0).abs() < 0.15,
        "{seen} µs, not {target} µs"
    );
}

/// An incast of more flows than frames fit within the target: windows below one frame, paced, without losses.
#[test]
fn swift_paces_windows_below_one_frame() {
    let text = "name = \"x\"\nduration = \"50ms\"\n[link-defaults]\nrate = \"10Gbit\"\ndelay = \"2us\"\n[[class]]\nname = \"c\"\npriority = 3\nmode = \"lossy\"\nbuffer = \"100kB\"\n[topology]\nkind = \"line\"\nswitches = 1\nhosts = 49\n[swift]\nbase-target = \"15us\"\nhop-scale = \"1us\"\nflow-scale = \"8us\"\ninitial = 1\n[[traffic]]\nkind = \"incast\"\nclass = \"c\"\nto = \"h49\"\nframe = \"1024B\"\ntransport = \"swift\"\n";
    let mut network = network(&parse(text, &[]), 0);
    let span = watch(&mut network, P3, 20_000, 40_000);
    let mut windows = Vec::new();
    for step in 1..=200 {
        network.run_until(at(40_000 + 10 * step));
        windows.extend(network.flows().iter().map(|flow| {
            let Control::Swift(swift) = flow.acknowledged().unwrap().control() else {
                panic!("it is Swift");
            };
            swift.window()
        }));
    }
    let below = windows.iter().filter(|window| **window < 1.0).count() as f64;
    let below = below / windows.len() as f64;
    assert!(below > 0.4, "{below}");
    assert!(span.used > 0.85, "{}", span.used);
    assert!(span.smallest_share > 0.5 / 48.0, "{}", span.smallest_share);
    // Fewer frames than flows.
    assert!(span.mean < 40.0 * 1024.0, "{}", span.mean);
    assert_eq!(network.totals().dropped, 0);
}

/// A limit of one bandwidth-delay product bounds the first round trip of an incast, before any answer.
#[test]
fn a_window_limit_bounds_what_is_under_way() {
    let most = |limit: &[&str]| {
        let mut overrides = vec!["duration=1ms", "recovery.mode=go-back-n"];
        overrides.extend(limit);
        let scenario = dumbbell(
            "class = \"lossless\"\ntransport = \"dcqcn\"",
            "",
            &overrides,
        );
        let mut network = Network::new(plan(&scenario).unwrap()).unwrap();
        watch(&mut network, P3, 0, 1000).most
    };
    // 10 Gbit/s · 14.7 µs = 18 kB for each flow, plus a frame that was begun.
    let bdp = most(&["recovery.window-limit=bdp"]);
    assert!(bdp < 4 * (18_400 + 1024), "{bdp}");
    let five = most(&["recovery.window-limit=5kB"]);
    assert!(five < 4 * 6024 && five < bdp, "{five}");
    assert!(most(&[]) > 2 * bdp);
}

/// Every error is reported with the key and the remedy.
#[test]
fn wrong_keys_are_reported() {
    for (keys, rest, said) in [
        (
            "transport = \"hpcc\"",
            "[recovery]\nmode = \"none\"",
            "recovery.mode: `hpcc` needs acknowledgements (flow `f1`): write \"go-back-n\" or \"selective\"",
        ),
        (
            "transport = \"dcqcn\"",
            "[recovery]\nwindow-limit = \"bdp\"",
            "recovery.window-limit: needs acknowledgements, and `dcqcn` (flow `f1`) has none: write `mode` = \"go-back-n\" or \"selective\"",
        ),
        (
            "transport = \"timely\"",
            "[recovery]\nwindow-limit = \"bpd\"",
            "or \"bdp\"",
        ),
        (
            "transport = \"timely\"",
            "[timely]\nlow = \"600us\"",
            "timely.high: must not be below low (600us)",
        ),
        (
            "transport = \"swift\"",
            "[swift]\nwindow-min = 0",
            "swift.window-min: must be above zero",
        ),
        (
            "transport = \"dcqcn\"",
            "[dcqcn]\nreaction = \"nic\"\nbyte-counter = \"1MB\"",
            "dcqcn.byte-counter: has no effect here; it applies only with `reaction` = \"paper\"",
        ),
        (
            "transport = \"dcqcn\"",
            "[dcqcn]\ncut-interval = \"8us\"",
            "dcqcn.cut-interval: has no effect here; it applies only with `reaction` = \"nic\"",
        ),
        (
            "transport = \"hpc\"",
            "",
            "did you mean `hpcc`?",
        ),
    ] {
        let mut text = format!("{DUMBBELL}{rest}\n");
        text += &format!("[[flow]]\nname = \"f1\"\nfrom = \"h1\"\nto = \"h5\"\nclass = \"lossless\"\n{keys}\n");
        let error = Scenario::parse(&text, Path::new("x.toml"), &[]).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// All transports in one fat tree, on any number of threads.
#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let mut text = "name = \"x\"\nduration = \"300us\"\nseed = 3\n[link-defaults]\nrate = \"100Gbit\"\ndelay = \"1us\"\n[topology]\nkind = \"fat-tree\"\nk = 4\n[routing]\nmode = \"ecmp\"\n[[class]]\nname = \"c\"\npriority = 3\nmode = \"lossy\"\nbuffer = \"100kB\"\necn-kmin = \"40kB\"\necn-kmax = \"80kB\"\necn-pmax = \"20%\"\n[recovery]\nmode = \"selective\"\nwindow-limit = \"bdp\"\n".to_owned();
    for transport in ["dcqcn", "timely", "swift", "hpcc", "dctcp"] {
        text += &format!("[[traffic]]\nkind = \"poisson\"\nclass = \"c\"\nload = 0.2\nsizes = \"fb-hadoop\"\nframe = \"1048B\"\ntransport = \"{transport}\"\n");
    }
    for mode in ["selective", "go-back-n"] {
        let scenario = parse(&text, &[&format!("recovery.mode={mode}")]);
        let result = |threads| {
            let options = Options {
                threads,
                ..Options::default()
            };
            let result = run(&scenario, options).unwrap();
            assert!(result.flows.len() > 100);
            serde_json::to_string(&result).unwrap()
        };
        let one = result(1);
        for threads in [2, 3, 7] {
            assert!(one == result(threads), "{mode}, {threads} threads");
        }
    }
}
