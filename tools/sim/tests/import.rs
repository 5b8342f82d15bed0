//! Files of HPCC's simulator: the scenario has their contents, and errors name the place of unsupported parts.

use std::path::Path;
use std::process::{Command, Output};

use proptest::prelude::*;
use weir_config::scenario::{Pattern, Scenario, Transport};
use weir_core::{BitRate, Bytes, Duration};
use weir_sim::import::{hpcc, Hpcc, ImportError, Text};
use weir_sim::scenario::{run, Options};

const TOPOLOGY: &str = include_str!("../../../scenarios/hpcc/topology.txt");
const FLOWS: &str = include_str!("../../../scenarios/hpcc/flow.txt");

fn files<'a>(topology: &'a str, flows: &'a str) -> Hpcc<'a> {
    Hpcc {
        name: "hpcc",
        topology: Text {
            name: "topology.txt",
            text: topology,
        },
        flows: Text {
            name: "flow.txt",
            text: flows,
        },
        trace: None,
        payload: Bytes::new(1000),
        header: Bytes::new(48),
        transport: Transport::Dcqcn,
        duration: None,
    }
}

fn import(topology: &str, flows: &str) -> Result<String, ImportError> {
    hpcc(&files(topology, flows))
}

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, Path::new("hpcc.toml"), &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// From, to, class, bytes of frames, start in nanoseconds.
type Seen = (String, String, String, u64, u64);

fn flows(scenario: &Scenario) -> Vec<Seen> {
    let host = |host: usize| scenario.hosts[host].name.clone();
    let flow = |flow: &weir_config::scenario::Flow| {
        let size = match flow.pattern {
            Pattern::Burst { size } => size.get(),
            other => panic!("{other:?}"),
        };
        let class = scenario.classes[flow.class].name.clone();
        let start = flow.start.as_nanos();
        (host(flow.from), host(flow.to), class, size, start)
    };
    scenario.flows.iter().map(flow).collect()
}

/// The first line of PowerTCP's simulator also has the number of switches in racks, that of Reverie's also two rates.
#[test]
fn first_lines_of_forks_are_read() {
    let (first, rest) = TOPOLOGY.split_once('\n').unwrap();
    let [nodes, switches, links] = first.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{first}")
    };
    let theirs = import(TOPOLOGY, FLOWS).unwrap();
    for more in ["", " 25000000000 25000000000"] {
        let fork = format!("{nodes} {switches} 2 {links}{more}\n{rest}");
        assert_eq!(import(&fork, FLOWS).unwrap(), theirs, "{fork}");
    }
    // A switch's number after the three does not indicate a fork.
    let joined = TOPOLOGY.replacen('\n', " ", 1);
    assert_eq!(import(&joined, FLOWS).unwrap(), theirs);
}

#[test]
fn the_example_matches_its_description() {
    let text = import(TOPOLOGY, FLOWS).unwrap();
    let scenario = parse(&text);
    assert_eq!(scenario.switches, ["s4", "s5", "s6", "s7"]);
    let hosts: Vec<_> = scenario
        .hosts
        .iter()
        .map(|host| (host.name.as_str(), host.switch))
        .collect();
    assert_eq!(hosts, [("h0", 0), ("h1", 0), ("h2", 1), ("h3", 1)]);
    let links: Vec<_> = scenario
        .links
        .iter()
        .map(|link| (link.ends, link.properties.rate, link.properties.delay))
        .collect();
    let (fast, delay) = (BitRate::from_mbit(400_000), Duration::from_nanos);
    assert_eq!(
        links,
        [
            ([0, 2], fast, delay(1000)),
            ([0, 3], fast, delay(1000)),
            ([1, 2], fast, delay(1500)),
            ([1, 3], fast, delay(1500)),
        ]
    );
    assert_eq!(
        (scenario.link_defaults.rate, scenario.link_defaults.delay),
        (BitRate::from_mbit(100_000), delay(1000))
    );
    let seen = |from: &str, to: &str, size, start| {
        (
            from.to_owned(),
            to.to_owned(),
            "pg3".to_owned(),
            size,
            start,
        )
    };
    assert_eq!(
        flows(&scenario),
        [
            seen("h0", "h2", 2500 + 3 * 48, 0),
            seen("h1", "h2", 1_048_000, 1000),
            seen("h3", "h2", 1_048_000, 1000),
            seen("h2", "h0", 999 + 48, 1250),
            seen("h0", "h3", 64 * 1048, 100_000),
        ]
    );
    let names: Vec<&str> = scenario
        .flows
        .iter()
        .map(|flow| flow.name.as_str())
        .collect();
    assert_eq!(names, ["p100-1", "p100-2", "p200-3", "p100-4", "p100-5"]);
    let result = run(&scenario, Options::default()).unwrap();
    let arrived = result
        .flows
        .iter()
        .filter(|flow| flow.slowdown.is_some() && flow.lost == 0);
    assert_eq!(arrived.count(), 5, "the duration is long enough for all");
}

/// Line breaks at random places, which HPCC's reader accepts.
#[test]
fn lines_do_not_matter_and_what_follows_says_nothing() {
    let plain = import(TOPOLOGY, FLOWS).unwrap();
    let one_line = TOPOLOGY.replace('\n', "  ");
    let words: Vec<&str> = FLOWS.split_whitespace().collect();
    assert_eq!(import(&one_line, &words.join("\n\n")).unwrap(), plain);
}

/// A number without a unit, bytes instead of bits, and a byte order mark, as written by ns-3 and editors.
#[test]
fn rates_are_those_of_ns_3() {
    let plain = import(TOPOLOGY, FLOWS).unwrap();
    for (bits, same) in [
        ("100Gbps", "100000000000"),
        ("100Gbps", "100000000000.0"),
        ("100Gbps", "12.5GBps"),
        ("400Gbps", "50000MB/s"),
    ] {
        assert_eq!(
            import(&TOPOLOGY.replace(bits, same), FLOWS).unwrap(),
            plain,
            "{same}"
        );
    }
    let marked = |text: &str| format!("\u{feff}{text}");
    assert_eq!(import(&marked(TOPOLOGY), &marked(FLOWS)).unwrap(), plain);
}

#[test]
fn hosts_may_have_lines_of_several_kinds() {
    let text = TOPOLOGY
        .replacen("0 4 100Gbps", "0 4 25Gbps", 1)
        .replacen("1us 0", "2us 0", 1);
    let scenario = parse(&import(&text, FLOWS).unwrap());
    let line = |name: &str| {
        let host = scenario.hosts.iter().find(|host| host.name == name);
        let line = host.expect(name).line;
        (line.rate, line.delay)
    };
    assert_eq!(line("h0").0, BitRate::from_mbit(25_000));
    assert_eq!(line("h1").0, BitRate::from_mbit(100_000));
    let delays: Vec<u64> = scenario
        .hosts
        .iter()
        .map(|host| host.line.delay.as_nanos())
        .collect();
    assert!(
        delays.contains(&2_000) && delays.contains(&1_000),
        "{delays:?}"
    );
}

/// Two racks of two switches; hosts 0 to 2 have a line to both switches of their rack, as in HPCC's `ali_32host_10rack.txt`.
#[test]
fn hosts_may_have_several_lines() {
    let topology = "8 4 8\n4 5 6 7\n0 4 25Gbps 1us 0\n0 5 25Gbps 1us 0\n1 4 25Gbps 1us 0\n1 5 10Gbps 2us 0\n2 6 25Gbps 1us 0\n2 7 25Gbps 1us 0\n3 6 25Gbps 1us 0\n4 6 100Gbps 1us 0\n";
    let text = import(topology, "2\n0 1 3 100 100000 2.0\n0 2 3 100 100000 2.0\n").unwrap();
    assert!(text.contains("h0-1 is its first line"), "{text}");
    let scenario = parse(&text);
    let hosts: Vec<(&str, usize)> = scenario
        .hosts
        .iter()
        .map(|host| (host.name.as_str(), host.switch))
        .collect();
    assert_eq!(
        hosts,
        [
            ("h0-1", 0),
            ("h0-2", 1),
            ("h1-1", 0),
            ("h1-2", 1),
            ("h2-1", 2),
            ("h2-2", 3),
            ("h3", 2)
        ]
    );
    let slow = &scenario.hosts[3].line;
    assert_eq!(
        (slow.rate, slow.delay),
        (BitRate::from_mbit(10_000), Duration::from_nanos(2000))
    );
    let names: Vec<&str> = scenario
        .multihomed
        .iter()
        .map(|host| host.name.as_str())
        .collect();
    assert_eq!(names, ["h0", "h1", "h2"]);
    // Both ends of the first flow are at one switch, whichever that is, and the second has only one way.
    let [first, second] = &scenario.flows[..] else {
        panic!("{:?}", scenario.flows)
    };
    assert_eq!(
        scenario.hosts[first.from].switch,
        scenario.hosts[first.to].switch
    );
    assert_eq!([second.from, second.to], [0, 4]);
    let result = run(&scenario, Options::default()).unwrap();
    assert!(
        result.flows.iter().all(|flow| flow.slowdown.is_some()),
        "all arrive"
    );
    // A host forwards nothing: its two lines join no switches.
    let apart = topology.replacen("8 4 8", "8 4 7", 1);
    let error = import(&apart, "1\n0 2 3 100 100000 2.0\n")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "flow.txt:2:3: no links of topology.txt lead from host 0 to host 2; add one between their switches"
    );
}

/// A topology may be imported before it has traffic.
#[test]
fn a_file_may_announce_no_flows() {
    let scenario = parse(&import(TOPOLOGY, "0\n").unwrap());
    assert!(scenario.flows.is_empty());
    assert_eq!(scenario.hosts.len(), 4);
}

#[test]
fn traced_nodes_are_named() {
    let mut wanted = files(TOPOLOGY, FLOWS);
    let trace = |text| Text {
        name: "trace.txt",
        text,
    };
    wanted.trace = Some(trace(include_str!("../../../scenarios/hpcc/trace.txt")));
    let text = hpcc(&wanted).unwrap();
    assert!(text.contains("# trace.txt traces h0, s4, s6;"), "{text}");
    parse(&text);
    // One trace file serves several topologies.
    wanted.trace = Some(trace("3\n0 8 4000\n"));
    let text = hpcc(&wanted).unwrap();
    assert!(text.contains("# trace.txt traces h0;"), "{text}");
}

#[test]
fn errors_are_reported_with_place_and_remedy() {
    let of_topology = [
        ("", "", "topology.txt:1:1: the file ends here; expected how many nodes there are"),
        ("8 4 8", "8 9 8", "topology.txt:1:3: 9: how many of the nodes are switches, 8 at most"),
        ("4 5 6 7", "4 5 5 7", "topology.txt:2:5: switch 5 is listed twice; remove one"),
        ("4 5 6 7", "4 5 6 8", "topology.txt:2:7: 8: a node; there are 8, from 0, 7 at most"),
        ("0 4 100Gbps", "x 4 100Gbps", "topology.txt:3:1: `x` is no whole number: a node; there are 8"),
        ("0 4 100Gbps", "0 4 100G", "topology.txt:3:5: `100G` is no rate in whole bits a second; write one such as 100Gbps"),
        ("100Gbps 0.001ms", "100Gbps 0.5ns", "topology.txt:5:13: `0.5ns` is no time in whole nanoseconds; write one such as 1000ns"),
        ("1us 0", "1us 0.1", "topology.txt:6:17: error rate `0.1`: a scenario's links lose nothing by chance; write 0, and lose frames by a [[fault]]"),
        ("1 4 100Gbps", "0 4 100Gbps", "topology.txt:4:1: 0 and 4 have a link already, in line 3; a scenario has one between two nodes"),
        ("1 4 100Gbps", "0 1 100Gbps", "topology.txt:4:1: 0 and 1 are both hosts; put a switch between them"),
        ("4 7 400Gbps", "6 4 400Gbps", "topology.txt:8:1: 6 and 4 have a link already, in line 7; a scenario has one between two nodes"),
        ("4 7 400Gbps", "4 4 400Gbps", "topology.txt:8:3: a link from 4 to itself"),
        ("8 4 8", "8 4 9", "topology.txt:10:21: the file ends here; expected the first end of a link"),
        ("8 4 8", "8 4 0", "topology.txt:3:1: no link leads to a host; is the number of links too small?"),
    ];
    for (from, to, said) in of_topology {
        let text = match from {
            "" => String::new(),
            _ => TOPOLOGY.replacen(from, to, 1),
        };
        let error = import(&text, FLOWS).expect_err(said).to_string();
        assert!(error.starts_with(said), "{error}");
    }
    let of_flows = [
        (
            "5\n0",
            "2000000\n0",
            "flow.txt:1:1: 2000000: how many flows there are, 1000000 at most",
        ),
        (
            "0 2 3 100 2500",
            "4 2 3 100 2500",
            "flow.txt:2:1: 4 is a switch; flows go between hosts",
        ),
        (
            "0 2 3 100 2500",
            "0 0 3 100 2500",
            "flow.txt:2:3: a flow from host 0 to itself; remove it",
        ),
        (
            "0 2 3 100 2500",
            "0 2 9 100 2500",
            "flow.txt:2:5: 9: a flow's priority group (pg), 7 at most",
        ),
        (
            "0 2 3 100 2500",
            "0 2 3 100 0",
            "flow.txt:2:11: a flow of no bytes; remove it",
        ),
        (
            "2.000000000",
            "2.0000000001",
            "flow.txt:2:16: `2.0000000001` is no time in seconds with up to nine decimals",
        ),
        (
            "5\n0",
            "6\n0",
            "flow.txt:8:1: `src` is no whole number: a flow's sender",
        ),
    ];
    for (from, to, said) in of_flows {
        let error = import(TOPOLOGY, &FLOWS.replacen(from, to, 1)).expect_err(said);
        assert!(error.to_string().starts_with(said), "{error}");
    }
    let islands =
        "6 2 4\n0 5\n0 1 100Gbps 1us 0\n0 2 100Gbps 1us 0\n5 3 100Gbps 1us 0\n5 4 100Gbps 1us 0\n";
    let error = import(islands, "2\n1 2 3 100 1000 2\n1 3 3 100 1000 2\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "flow.txt:3:3: no links of topology.txt lead from host 1 to host 3; add one between their switches"
    );
    let lonely = TOPOLOGY.replacen("8 4 8", "9 4 8", 1);
    let error = import(
        &lonely,
        &FLOWS.replacen("0 2 3 100 2500", "8 2 3 100 2500", 1),
    );
    let error = error.unwrap_err().to_string();
    assert_eq!(
        error,
        "flow.txt:2:1: host 8 has no link; add one to topology.txt"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Switches in a row with hosts, and flows: the scenario contains what was written.
    #[test]
    fn whatever_the_files_say_the_scenario_says(
        switches in 1u64..5,
        hosts in 2u64..8,
        rates in prop::collection::vec(prop_oneof![1u64..1100, (1u64..400).prop_map(|gbit| gbit * 1000)], 8),
        slow in any::<bool>(),
        delays in prop::collection::vec(0u64..5000, 8),
        drawn in prop::collection::vec((0u64..8, 1u64..8, 0u64..8, 1u64..2_000_000, 0u64..1_000_000_000), 1..12),
    ) {
        // In Mbit/s: many networks only have slow lines.
        let rates: Vec<u64> = rates.iter().map(|rate| if slow { 1 + rate % 1100 } else { *rate }).collect();
        // Hosts come first, as HPCC numbers them; each has one switch, in turn.
        let mut topology = format!("{} {switches} {}\n", hosts + switches, hosts + switches - 1);
        for switch in hosts..hosts + switches {
            topology.push_str(&format!("{switch} "));
        }
        topology.push('\n');
        let (host_rate, host_delay) = (rates[7], delays[7]);
        for host in 0..hosts {
            topology.push_str(&format!("{host} {} {host_rate}Mbps {host_delay}ns 0\n", hosts + host % switches));
        }
        for link in 1..switches {
            let (a, b) = (hosts + link - 1, hosts + link);
            topology.push_str(&format!("{b} {a} {}Mbps {}ns 0.0\n", rates[link as usize], delays[link as usize]));
        }
        let mut text = format!("{}\n", drawn.len());
        let mut expected = Vec::new();
        let first = drawn.iter().map(|flow| flow.4).min().unwrap();
        for (from, step, group, size, start) in &drawn {
            let from = from % hosts;
            let to = (from + 1 + step % (hosts - 1)) % hosts;
            text.push_str(&format!("{from} {to} {group} 100 {size} {}.{:09}\n", start / 1_000_000_000, start % 1_000_000_000));
            expected.push((format!("h{from}"), format!("h{to}"), format!("pg{group}"), size + size.div_ceil(1000) * 48, start - first));
        }
        let scenario = parse(&import(&topology, &text).unwrap());
        prop_assert_eq!(flows(&scenario), expected);
        prop_assert_eq!(scenario.hosts.len() as u64, hosts);
        prop_assert_eq!(scenario.links.len() as u64, switches - 1);
        for (index, link) in scenario.links.iter().enumerate() {
            prop_assert_eq!(link.properties.rate, BitRate::from_mbit(rates[index + 1]));
            prop_assert_eq!(link.properties.delay, Duration::from_nanos(delays[index + 1]));
        }
        for (index, host) in scenario.hosts.iter().enumerate() {
            prop_assert_eq!(host.switch as u64, index as u64 % switches);
        }
    }

    #[test]
    fn any_text_is_refused_or_a_scenario(topology in "([0-9]{1,2}( |\n)){3}([0-9] ){0,3}([0-9] [0-9] [0-9]{1,2}(Gbps|G) [0-9]ns [01]\n){0,4}", flows in "[0-3]\n([0-9] [0-9] [0-9] 1 [0-9]{1,3} [0-9.]{1,3}\n){0,3}") {
        match import(&topology, &flows) {
            Ok(text) => prop_assert!(!parse(&text).flows.is_empty()),
            Err(error) => prop_assert!(error.line >= 1 && error.column >= 1),
        }
    }
}

fn weir_sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir-sim"))
        .args(["import", "hpcc"])
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/hpcc"))
        .output()
        .expect("weir-sim runs")
}

#[test]
fn the_command_prints_a_scenario_or_says_what_is_wrong() {
    let usual = ["--topology", "topology.txt", "--flow", "flow.txt"];
    let with = |more: &[&str]| weir_sim(&[&usual[..], more].concat());
    let output = with(&[
        "--trace",
        "trace.txt",
        "--transport",
        "open",
        "--duration",
        "1ms",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let scenario = parse(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(scenario.duration, Duration::from_millis(1));
    assert!(scenario
        .flows
        .iter()
        .all(|flow| flow.transport == Transport::Open && flow.frame == Bytes::new(1048)));
    let output = with(&["--transport", "hpcc"]);
    let scenario = parse(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(scenario.flows[0].frame, Bytes::new(1090));
    for (arguments, status, said) in [
        (
            &["--payload", "10kB"][..],
            2,
            "--payload and --header make frames of 10048 B; a frame has 60 B to 9216 B",
        ),
        (
            &["--transport", "cubic"],
            2,
            "write one of open, dcqcn, tahoe, reno, vegas, dctcp, timely, swift, hpcc",
        ),
        (&["--trace", "none.txt"], 2, "error: none.txt: No such file"),
        (
            &["--duration", "1us"],
            2,
            "error: flow.txt:3:1: flow.p100-2.stop: start < stop ≤ duration must hold",
        ),
    ] {
        let output = with(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}
