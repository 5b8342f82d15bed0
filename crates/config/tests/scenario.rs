//! Scenario files: derivations, overrides, and refusals.

use std::path::{Path, PathBuf};

use weir_config::scenario::{PortPeer, Scenario, SwitchPort, KEYS};
use weir_config::Override;
use weir_core::control::Policy;
use weir_core::{BitRate, Duration, PauseRule, PortId, PortRole};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn load(name: &str, overrides: &[&str]) -> Result<Scenario, String> {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::load(&directory().join(name), &overrides).map_err(|error| error.to_string())
}

fn ring4_with(from: &str, to: &str) -> Result<Scenario, String> {
    let text = std::fs::read_to_string(directory().join("ring4.toml")).unwrap();
    assert!(text.contains(from), "{from}");
    Scenario::parse(&text.replacen(from, to, 1), Path::new("ring4.toml"), &[])
        .map_err(|error| error.to_string())
}

#[test]
fn every_scenario_of_the_project_is_valid() {
    let mut count = 0;
    let folders = [directory(), directory().join("kernel")];
    let entries = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    for path in paths.filter(|path| path.is_file()) {
        Scenario::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        count += 1;
    }
    assert!(count >= 22);
}

#[test]
fn ring4_is_the_papers_figure_4() {
    let ring = load("ring4.toml", &[]).unwrap();
    assert_eq!(ring.switches, ["s1", "s2", "s3", "s4"]);
    let names = |way: Vec<usize>| {
        way.iter()
            .map(|s| ring.switches[*s].clone())
            .collect::<Vec<_>>()
    };
    let ways: Vec<_> = (0..ring.flows.len())
        .map(|flow| names(ring.way(flow).unwrap()))
        .collect();
    assert_eq!(ways[0], ["s1", "s2", "s3"]);
    assert_eq!(ways[3], ["s4", "s1", "s2"]);
    assert_eq!(
        ways[4], ways[3],
        "the second host sends as the first one does"
    );
    assert!(ways.iter().all(|way| way.len() == 3), "over three switches");
    assert_eq!(ring.expect.deadlock, Some(true));
    assert_eq!(ring.expect.suspected, Some(4));
}

#[test]
fn switches_get_their_ports_and_routes() {
    let ring = load("ring4.toml", &["deadlock.policy=breaker"]).unwrap();
    let peers: Vec<&str> = ring
        .ports(3)
        .iter()
        .map(|port| ring.peer_name(port.peer))
        .collect();
    assert_eq!(peers, ["s3", "s1", "h4", "h5"]);
    let config = ring.switch(3, &ring.ports(3));
    assert_eq!(config.ports[1].role, PortRole::Fabric);
    assert_eq!(config.ports[2].role, PortRole::Edge);
    assert_eq!(config.deadlock.policy, Policy::Breaker);
    let way_to = |host: usize| {
        let address = ring.hosts[host].address;
        let route = config
            .routes
            .iter()
            .find(|route| route.destination == address);
        route.map(|route| route.ports.clone())
    };
    assert_eq!(way_to(1), Some(vec![PortId::new(1)]), "h2 is clockwise");
    assert_eq!(way_to(4), Some(vec![PortId::new(3)]), "h5 is here");
    assert_eq!(way_to(2), None, "nobody sends to h3 through s4");
}

#[test]
fn a_switch_without_levels_speaks_plain_pfc() {
    let overrides = ["class.lossless.mode=level", "switch.s3.levels=false"];
    let ring = load("ring4.toml", &overrides).unwrap();
    assert_eq!(ring.has_levels, [true, true, false, true]);
    assert!(ring.is_mixed());
    assert_eq!(ring.expect.deadlock, None, "nothing of [expect.level]");
    assert_eq!(ring.expect.lost, Some(0), "what always holds");
    let plain = load("ring4.toml", &[]).unwrap();
    assert!(!plain.is_mixed());
    assert_eq!(ring.classes_of(2), plain.classes, "the same thresholds");
    assert_eq!(ring.classes_of(0), ring.classes);
    let config = ring.switch(2, &ring.ports(2));
    assert_eq!(config.classes, plain.classes);
}

#[test]
fn a_switch_without_levels_is_refused_where_it_has_no_effect() {
    let error = load("ring4.toml", &["switch.s3.levels=false"]).unwrap_err();
    let message = "switch.s3.levels: no class has mode = \"level\", so every switch uses plain PFC: remove this";
    assert!(error.contains(message), "{error}");
    let error = load(
        "one-switch.toml",
        &["class.lossless.mode=level", "switch.s1.levels=false"],
    )
    .unwrap_err();
    let message =
        "switch.s1.levels: no switch with Levels remains: set mode = \"pfc\" in the class instead";
    assert!(error.contains(message), "{error}");
    assert!(load("ring4.toml", &["switch.s3.levels=true"]).is_ok());
}

#[test]
fn the_command_line_overrides_the_file() {
    let ring = load(
        "ring4.toml",
        &[
            "deadlock.policy=breaker",
            "duration=3s",
            "class.lossless.xoff=30KiB",
            "class.lossless.xon=20KiB",
            "flow.a.rate=50Mbit",
            "host.h1.obeys-pfc=false",
        ],
    )
    .unwrap();
    assert_eq!(ring.duration, Duration::from_secs(3));
    assert_eq!(ring.flows[0].rate, Some(BitRate::from_mbit(50)));
    assert_eq!(ring.flows[0].stop, Duration::from_secs(3));
    assert!(!ring.hosts[0].obeys_pfc);
    assert_eq!(
        ring.expect.deadlock,
        Some(false),
        "what the breaker must do"
    );
    assert_eq!(ring.expect.lost, Some(0), "what always holds");
}

#[test]
fn a_hosts_pauses_are_obeyed_where_its_switch_is_set_to() {
    let overrides = ["host.h1.pause=obey", "host.h2.pause=no-lossless"];
    let ring = load("ring4.toml", &overrides).unwrap();
    let rule = |switch: usize| {
        let ports = ring.ports(switch);
        let at = |port: &SwitchPort| matches!(port.peer, PortPeer::Host(_));
        ring.switch(switch, &ports).ports[ports.iter().position(at).unwrap()].pause
    };
    let rules = [PauseRule::Obey, PauseRule::NoLossless, PauseRule::Ignore];
    assert_eq!([rule(0), rule(1), rule(2)], rules);
    let error = load("ring4.toml", &["host.h1.pause=never"]).unwrap_err();
    assert!(
        error.contains("host.h1.pause") || error.contains("no-lossless"),
        "{error}"
    );
}

#[test]
fn the_command_line_can_remove_settings_of_the_file() {
    let up_down = load("ring4.toml", &["route=", "routing.mode=up-down", "expect="]).unwrap();
    assert_eq!(up_down.credit_loops(), []);
    assert_eq!(up_down.expect, Default::default());
    let fewer = load("ring4.toml", &["flow.e="]).unwrap();
    let names: Vec<&str> = fewer.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let pools = [
        "class.lossless.priority=",
        "class.lossless.priorities=[3, 4, 5]",
        "baseline.kind=buffer-pools",
        "expect.credit-loop=false",
    ];
    assert_eq!(
        load("ring4.toml", &pools).unwrap().classes[0]
            .priorities
            .len(),
        3
    );
    for (change, complaint) in [
        ("flow.z=", "flow.z=: no `z` to remove"),
        ("seeds=", "no `seeds` to remove"),
        ("name.x=", "no `x` to remove"),
        ("duration=", "duration: missing"),
    ] {
        let refused = load("ring4.toml", &[change]).unwrap_err();
        assert!(refused.contains(complaint), "{change}: {refused}");
    }
}

#[test]
fn an_override_that_fits_nowhere_is_refused() {
    for (change, said) in [
        (
            "deadlok.policy=off",
            "deadlok: unknown key; did you mean `deadlock`?",
        ),
        (
            "class.lossles.xoff=1KiB",
            "no `lossles`; there are: lossless",
        ),
        ("duration.x=1s", "`x` cannot be set inside text"),
        ("deadlock.policy=on", "deadlock.policy: unknown value `on`"),
        // It contradicts another line of the file.
        ("class.lossless.xoff=1KiB", "class.lossless.xon: "),
    ] {
        let complaint = load("ring4.toml", &[change]).unwrap_err();
        assert!(complaint.contains(said), "{complaint}");
        assert!(
            complaint.starts_with(&format!("--set {change}: ")),
            "{complaint}"
        );
    }
    // Of several overrides, the relevant one; and an invalid file is itself the cause.
    let complaint = load("ring4.toml", &["seed=3", "deadlock.policy=on"]).unwrap_err();
    assert!(
        complaint.starts_with("--set deadlock.policy=on: deadlock.policy: "),
        "{complaint}"
    );
    let text = std::fs::read_to_string(directory().join("ring4.toml")).unwrap();
    let text = format!("nonsense = 1\n{text}");
    let overrides = ["seed=3".parse().unwrap()];
    let complaint = Scenario::parse(&text, Path::new("x.toml"), &overrides).unwrap_err();
    assert!(
        complaint.to_string().starts_with("x.toml:1: nonsense: "),
        "{complaint}"
    );
    assert!("deadlock.policy".parse::<Override>().is_err());
    assert!("a..b=1".parse::<Override>().is_err());
}

#[test]
fn refusals_name_the_place_and_the_remedy() {
    for (from, to, said) in [
        (
            "ends = [\"s1\", \"s2\"]",
            "ends = [\"s1\", \"s9\"]",
            "unknown switch `s9`",
        ),
        (
            "ends = [\"s1\", \"s2\"]",
            "ends = [\"s1\"]",
            "a link has two ends",
        ),
        (
            "ends = [\"s1\", \"s2\"]",
            "ends = [\"s1\", \"s1\"]",
            "cannot be linked to itself",
        ),
        ("switch = \"s1\"", "switch = \"s7\"", "unknown switch `s7`"),
        (
            "via = [\"s1\", \"s2\", \"s3\"]",
            "via = [\"s1\", \"s3\"]",
            "no working link from `s1` to `s3`",
        ),
        (
            "via = [\"s1\", \"s2\", \"s3\"]",
            "via = [\"s1\", \"s2\"]",
            "must end at `s3`, where `h3` is",
        ),
        (
            "class = \"lossless\"",
            "class = \"losless\"",
            "did you mean `lossless`?",
        ),
        (
            "frame = \"1500B\"",
            "frame = \"9217B\"",
            "must be between 60 B and 9216 B",
        ),
        (
            "name = \"s1\"",
            "name = \"S 1\"",
            "1 to 11 of a-z, 0-9 and -",
        ),
        (
            "mode = \"explicit\"",
            "mode = \"emcp\"",
            "valid: shortest, ecmp, up-down, explicit",
        ),
        ("duration = \"8s\"", "duration = 8", "8 has no unit"),
        (
            "headroom = \"3MiB\"",
            "headroom = \"100B\"",
            "class.lossless.headroom: priority 3: headroom (100 B) must be at least one frame",
        ),
    ] {
        let complaint = ring4_with(from, to).expect_err(to);
        assert!(complaint.contains(said), "{to}:\n{complaint}");
        assert!(complaint.starts_with("ring4.toml:"), "{complaint}");
    }
}

#[test]
fn a_flow_without_a_way_is_refused() {
    let text = std::fs::read_to_string(directory().join("ring4.toml")).unwrap();
    let without: String = text
        .split("[[route]]")
        .filter(|part| !part.starts_with("\nto = \"h3\""))
        .collect::<Vec<_>>()
        .join("[[route]]");
    let complaint = Scenario::parse(&without, Path::new("ring4.toml"), &[])
        .unwrap_err()
        .to_string();
    assert!(
        complaint.contains("frames to `h3` get no further than `s1`"),
        "{complaint}"
    );
}

#[test]
fn two_ways_to_one_host_must_agree() {
    let extra = "[[route]]\nto = \"h3\"\nvia = [\"s2\", \"s1\", \"s4\", \"s3\"]\n\n[[flow]]";
    let complaint = ring4_with("[[flow]]", extra).unwrap_err();
    assert!(
        complaint.contains("another route to `h3` leaves `s2`"),
        "{complaint}"
    );
}

#[test]
fn shortest_paths_are_found_without_routes() {
    let scenario = load("one-switch.toml", &[]).unwrap();
    assert_eq!(scenario.way(0), Some(vec![0]));
    assert_eq!(scenario.way(1), Some(vec![0]));
}

#[test]
fn the_reference_names_every_key() {
    let page = include_str!("../../../docs/src/reference/scenario.md");
    for (table, keys) in KEYS {
        for key in *keys {
            assert!(
                page.contains(&format!("`{key}`")),
                "[{table}] {key} is not documented"
            );
        }
    }
}
