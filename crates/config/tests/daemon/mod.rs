//! Configurations of the daemon: accepted ones, and refused ones with their messages.

mod access;
mod cables;
mod credits;
mod damping;
mod ecn;
mod export;
mod express;
mod levels;
mod lldp;
mod memory;
mod names;
mod pools;
mod rates;
mod reference;
mod shares;
mod suggestions;
mod vlans;
mod watchdog;

use std::path::Path;

use proptest::prelude::*;
use weir_config::daemon::{DaemonConfig, DeadlockConfig, KEYS};
use weir_core::control::Policy;
use weir_core::{Bytes, ClassMode, Duration, MacAddress, PortId, PortRole, Priority};

const GOOD: &str = r#"
name = "s1"

[[class]]
name = "lossless"
priorities = [3, 4]
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"

[[class]]
name = "bulk"
priority = 1
mode = "lossy"
buffer = "128KiB"
weight = 2

[[port]]
device = "veth0"
role = "fabric"
rate = "10Gbit"

[[port]]
name = "h1"
device = "veth1"
role = "edge"
rate = "100Mbit"
trust = "dscp"
dscp-map = { 46 = 5 }
fallback = "pass"

[deadlock]
policy = "breaker"
detect = "20ms"
record = false

[[route]]
destination = "02:00:00:00:00:01"
ports = ["h1", "veth0"]
buckets = 96

[lldp]
enabled = false
interval = "5s"

[forwarding]
spare-routes = 7
spare-buckets = 300
pins = 11

[flows]
capacity = 512
age = "3s"
"#;

/// A class with Levels, and every key of a port that concerns it.
const LEVELS: &str = r#"
name = "s1"

[dataplane]
feedback-refresh = "7ms"

[[class]]
name = "lossless"
priority = 3
mode = "level"
max-hops = 3
min-level = 1
ignore-feedback = true
age-limit = "500ms"
ecn-kmin = "20kB"
ecn-kmax = "80kB"
ecn-pmax = "2.5%"
ecn-mark-at = "departure"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"

[[port]]
device = "veth0"
role = "fabric"
rate = "1Gbit"
round-trip = "2ms"
neighbour = "enhanced"
feedback = "pause"

[[port]]
device = "veth1"
role = "fabric"
rate = "1Gbit"
neighbour = "regular"

[[port]]
device = "veth2"
role = "edge"
rate = "100Mbit"
police = "mark"
pause = "no-lossless"
cable = "40m"
reaction = "20us"
"#;

fn parse(text: &str) -> Result<DaemonConfig, String> {
    DaemonConfig::parse(text, Path::new("s1.toml")).map_err(|error| error.to_string())
}

/// The message if `from` in the good file is replaced by `to`.
fn complaint(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    parse(&GOOD.replacen(from, to, 1)).expect_err(to)
}

#[test]
fn a_valid_file_is_read() {
    let config = parse(GOOD).unwrap();
    assert_eq!(config.run_dir, Path::new("/run/weir/s1"));
    assert_eq!(config.api_socket, Path::new("/run/weir/s1/api.sock"));
    assert_eq!(config.deadlock.policy, Policy::Breaker);
    assert_eq!(config.deadlock.detect, Duration::from_millis(20));
    assert!(!config.deadlock.record && DeadlockConfig::default().record);
    assert_eq!(config.lldp.interval, Duration::from_secs(5));
    assert!(!config.lldp.enabled);
    assert_eq!(config.ports[0].name, "veth0");
    assert_eq!(config.ports[0].role, PortRole::Fabric);
    assert_eq!(config.ports[1].dscp_map[46], Priority::ALL[5]);
    assert_eq!(config.ports[1].dscp_map[0], Priority::ALL[0]);
    assert_eq!(config.routes[0].ports, [PortId::new(1), PortId::new(0)]);
    assert_eq!(config.routes[0].buckets, 96);
    let core = config.core(&[MacAddress::BROADCAST; 2]);
    assert_eq!(core.routes[0].buckets, 96);
    assert_eq!(
        (
            core.ecmp.spare_routes,
            core.ecmp.spare_buckets,
            core.ecmp.pin_capacity
        ),
        (7, 300, 11)
    );
    assert_eq!(
        (core.flows.capacity, core.flows.age),
        (512, Duration::from_secs(3))
    );
    assert_eq!(config.class_name(Priority::ALL[4]), "lossless");
    assert_eq!(config.class_name(Priority::ALL[0]), "default");
}

#[test]
fn a_release_buffer_is_part_of_the_headroom() {
    let detect = "detect = \"20ms\"";
    let with = |more: &str| format!("{detect}\n{more}");
    let told = complaint(detect, &with("release-buffer = \"65KiB\""));
    assert_eq!(
        told,
        "s1.toml:36: deadlock.release-buffer: 66560 B is more than the headroom of class `lossless`, 65536 B, the \
         most that a release can lend: write at most 65536 B, or raise headroom"
    );
    let accepted = |from: &str, to: &str| parse(&GOOD.replacen(from, to, 1)).unwrap().deadlock;
    let all = accepted(detect, &with("release-buffer = \"64KiB\""));
    assert_eq!(all.release_buffer, Bytes::new(64 * 1024));
    // Without releases nothing is checked; a default is limited.
    accepted("policy = \"breaker\"", "release-buffer = \"65KiB\"");
    let small = accepted("headroom = \"64KiB\"", "headroom = \"2KiB\"");
    assert_eq!(small.release_buffer, Bytes::new(2048));
}

#[test]
fn the_core_gets_buffers_that_memory_backs() {
    let config = parse(GOOD).unwrap();
    let core = config.core(&[MacAddress::BROADCAST; 2]);
    core.validate().unwrap();
    let ClassMode::Pfc(thresholds) = core.classes[3].mode else {
        panic!("priority 3 is lossless");
    };
    assert_eq!(thresholds.xoff(), Bytes::new(60 * 1024));
    // 2 ports × (2 classes × (60 + 2 × 64) KiB + 128 KiB + 5 × 256 KiB) in cells of 256 B
    let cells = 2 * (2 * (60 + 128) + 128 + 5 * 256) * 1024 / 256;
    assert_eq!(core.frames_needed(), cells);
    assert!(core.frame_count > cells);
    assert_eq!(config.umem_size().get(), core.frame_count as u64 * 2048);
}

#[test]
fn switches_with_other_names_have_other_seeds() {
    let seed = |name: &str| {
        let text = LEVELS.replace("name = \"s1\"", &format!("name = \"{name}\""));
        parse(&text).unwrap().core(&[]).seed
    };
    assert_eq!(seed("s1"), seed("s1"));
    assert_ne!(seed("s1"), seed("s2"));
}

#[test]
fn every_error_names_file_line_key_and_remedy() {
    for (from, to, said) in [
        (
            "xoff = \"60KiB\"",
            "xof = \"60KiB\"",
            "s1.toml:8: class.lossless.xof: unknown key; did you mean `xoff`? (valid: name, priority, priorities, mode, xoff, xon, headroom, credit-limit, credit-size, packet-overhead, credit-fallback, buffer, pool, reserved, alpha, static-threshold, xon-offset, max-hops, budgets, min-level, ignore-feedback, age-limit, ecn, ecn-kmin, ecn-kmax, ecn-pmax, ecn-mark-at, express, weight, scheduler, min-rate, max-rate)",
        ),
        (
            "rate = \"10Gbit\"",
            "rate = 10",
            "s1.toml:22: port.0.rate: 10 has no unit; write text such as \"100Mbit\"",
        ),
        (
            "rate = \"10Gbit\"",
            "rate = \"10gbit\"",
            "s1.toml:22: port.0.rate: `10gbit` is not a rate; did you mean \"10Gbit\"? (units: bit, kbit, Mbit, Gbit, Tbit)",
        ),
        (
            "mode = \"pfc\"",
            "mode = \"levels\"",
            "s1.toml:7: class.lossless.mode: unknown value `levels`; did you mean `level`? (valid: lossy, pfc, level, credit)",
        ),
        (
            "policy = \"breaker\"",
            "policy = \"braker\"",
            "s1.toml:34: deadlock.policy: unknown value `braker`; did you mean `breaker`? (valid: off, breaker, loop-breaker, auto, watchdog, lifetime)",
        ),
        (
            "priority = 1",
            "priority = 3",
            "s1.toml:14: class.bulk.priority: priority 3 already belongs to class `lossless`",
        ),
        (
            "priority = 1",
            "priority = 8",
            "s1.toml:14: class.bulk.priority: priority 8 does not exist; valid are 0 to 7",
        ),
        (
            "xon = \"52KiB\"",
            "xon = \"60KiB\"",
            "s1.toml:9: class.lossless.xon: xon (61440 B) must be below xoff (61440 B)",
        ),
        (
            "headroom = \"64KiB\"\n",
            "",
            "s1.toml:4: class.lossless.headroom: missing; write text with a unit such as \"64KiB\"",
        ),
        (
            "ports = [\"h1\", \"veth0\"]",
            "ports = [\"h2\"]",
            "s1.toml:40: route.0.ports: unknown port `h2` (valid: veth0, h1)",
        ),
        (
            "ports = [\"h1\", \"veth0\"]",
            "ports = [\"h1\", \"veth0\", \"h1\"]",
            "s1.toml:40: route.0.ports: port `h1` is listed twice",
        ),
        (
            "buckets = 96",
            "buckets = 1",
            "s1.toml:41: route.0.buckets: 1 is not between 2 and 4096",
        ),
        (
            "buckets = 96",
            "buckets = 4097",
            "s1.toml:41: route.0.buckets: 4097 is not between 2 and 4096",
        ),
        (
            "age = \"3s\"",
            "age = \"0s\"",
            "s1.toml:54: flows.age: must be above zero",
        ),
        (
            "pins = 11",
            "pins = 1048577",
            "s1.toml:50: forwarding.pins: 1048577 is not between 0 and 1048576",
        ),
        (
            "name = \"h1\"",
            "name = \"veth0\"",
            "s1.toml:25: port.veth0.name: `veth0` is already used in line 20; names must be unique",
        ),
        (
            "02:00:00:00:00:01",
            "02:00:00:00:00",
            "s1.toml:39: route.0.destination: `02:00:00:00:00` is not a MAC address; write six hexadecimal bytes such as 02:00:00:00:00:01",
        ),
        (
            "dscp-map = { 46 = 5 }",
            "dscp-map = { 64 = 5 }",
            "s1.toml:30: port.h1.dscp-map.64: `64` is not a DSCP; valid are 0 to 63",
        ),
        (
            "interval = \"5s\"",
            "interval = \"900ms\"",
            "s1.toml:45: lldp.interval: must be between \"1s\" and \"3600s\"",
        ),
        (
            "buffer = \"128KiB\"",
            "xoff = \"128KiB\"",
            "s1.toml:16: class.bulk.xoff: does not apply to this mode; keys of this mode: buffer, pool",
        ),
    ] {
        let complaint = complaint(from, to);
        assert!(complaint.lines().any(|line| line == said), "{said}\nis not in\n{complaint}");
    }
}

#[test]
fn a_syntax_error_has_its_place() {
    let complaint = complaint("name = \"s1\"", "name = ");
    assert!(complaint.starts_with("s1.toml:2: "), "{complaint}");
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = GOOD
        .replace("xoff = ", "xof = ")
        .replace("role = \"edge\"", "role = \"host\"")
        .replace("[deadlock]", "[deadlok]");
    let complaint = parse(&text).unwrap_err();
    for line in ["s1.toml:8:", "s1.toml:27:", "s1.toml:33:"] {
        assert!(complaint.contains(line), "{line} in\n{complaint}");
    }
}

#[test]
fn missing_settings_are_named() {
    let complaint = parse("").unwrap_err();
    assert!(complaint.contains("name: missing"), "{complaint}");
    let complaint = parse("name = \"s1\"").unwrap_err();
    assert_eq!(
        complaint,
        "s1.toml:1: port: a switch needs at least one [[port]]"
    );
}

#[test]
fn a_file_that_does_not_exist_is_named() {
    let error = DaemonConfig::load(Path::new("/nowhere/s1.toml")).unwrap_err();
    assert!(
        error.to_string().starts_with("/nowhere/s1.toml: "),
        "{error}"
    );
}

#[test]
fn a_written_configuration_is_read_back() {
    let config = parse(GOOD).unwrap();
    let text = config.to_toml();
    assert_eq!(parse(&text), Ok(config), "{text}");
    let config = parse(LEVELS).unwrap();
    let text = config.to_toml();
    assert_eq!(parse(&text), Ok(config), "{text}");
}

#[test]
fn each_policy_switches_on_what_it_needs() {
    for policy in ["off", "breaker", "watchdog", "lifetime"] {
        let text = GOOD.replace(
            "policy = \"breaker\"",
            &format!("policy = \"{policy}\"\nstall-count = 3"),
        );
        let config = parse(&text).unwrap();
        assert_eq!(config.deadlock.policy.name(), policy);
        let core = config.core(&[]);
        assert_eq!(
            core.lifetime.map(|lifetime| lifetime.stall_count),
            (policy == "lifetime").then_some(3)
        );
        assert_eq!(core.ports[0].watchdog.is_some(), policy == "watchdog");
        assert_eq!(parse(&config.to_toml()), Ok(config));
    }
    let error = parse(&GOOD.replace("policy = \"breaker\"", "stall-count = 8")).unwrap_err();
    assert!(
        error.to_string().contains("8 is not between 0 and 7"),
        "{error}"
    );
}

#[test]
fn a_host_has_the_addresses_and_priorities_of_the_file() {
    let ports = |text: &str| parse(text).unwrap().core(&[]).ports;
    for port in ports(GOOD) {
        let is_edge = port.role == PortRole::Edge;
        assert_eq!(port.address_limit, is_edge.then_some(256));
        assert_eq!(port.priorities, [true; 8]);
    }
    let keys = "rate = \"100Mbit\"\npriorities = [0, 3]\naddress-limit = 2";
    let text = GOOD.replace("rate = \"100Mbit\"", keys);
    let host = ports(&text)[1];
    assert_eq!(host.address_limit, Some(2));
    let allowed = Priority::ALL
        .iter()
        .filter(|it| host.priorities[it.index()]);
    assert_eq!(allowed.map(|it| it.get()).collect::<Vec<_>>(), [0, 3]);
    let config = parse(&text).unwrap();
    assert_eq!(parse(&config.to_toml()), Ok(config));
    for (from, to) in [("[0, 3]", "[]"), ("address-limit = 2", "address-limit = 0")] {
        assert!(parse(&text.replace(from, to)).is_err(), "{to}");
    }
}

#[test]
fn every_key_of_a_port_is_written() {
    let text = parse(LEVELS).unwrap().to_toml();
    for key in KEYS.iter().find(|(table, _)| *table == "port").unwrap().1 {
        // Defaults are not written: the device's own address and queues, usual maps, shares of the classes, slots for
        // credits, and VLANs.
        let written = text.contains(&format!("\n{key} = "));
        assert!(
            written
                || [
                    "address",
                    "alpha",
                    "static-threshold",
                    "queues",
                    "credit-slots",
                    "dscp-map",
                    "pfcwd",
                    "tag",
                    "trunks",
                    "vlan-mode",
                    "priorities",
                    "address-limit"
                ]
                .contains(key),
            "{key}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text: String) {
        let _ = parse(&text);
    }

    #[test]
    fn a_damaged_file_is_read_or_refused(at in 0usize..1000, byte: char) {
        let mut text: Vec<char> = GOOD.chars().collect();
        let at = at % text.len();
        text[at] = byte;
        let _ = parse(&text.into_iter().collect::<String>());
    }

    #[test]
    fn sizes_and_rates_survive_a_round_trip(
        xon in 2000u64..1 << 20, above in 1u64..1 << 20, headroom in 2048u64..1 << 24, rate in 1u64..1 << 40
    ) {
        let text = GOOD
            .replace("60KiB", &format!("{}B", xon + above))
            .replace("52KiB", &format!("{xon}B"))
            .replace("64KiB", &format!("{headroom}B"))
            .replace("10Gbit", &format!("{rate}bit"));
        let config = parse(&text).unwrap();
        prop_assert_eq!(parse(&config.to_toml()), Ok(config));
    }
}

#[test]
fn hardware_time_is_for_native_programs() {
    let asked = GOOD.replace(
        "device = \"veth0\"",
        "device = \"veth0\"\nhardware-time = true",
    );
    let ports = parse(&asked).unwrap().ports;
    assert_eq!(
        ports
            .iter()
            .map(|port| port.hardware_time)
            .collect::<Vec<_>>(),
        [true, false]
    );
    let generic = format!("{asked}\n[dataplane]\nxdp-mode = \"generic\"\n");
    let complaint = parse(&generic).unwrap_err();
    assert_eq!(
        complaint,
        "s1.toml:21: port.0.hardware-time: contradicts xdp-mode = \"generic\" of [dataplane], in which no driver is asked: remove one of the two"
    );
}

#[test]
fn a_policy_that_moves_flows_needs_the_monitor() {
    let text = GOOD
        .replace("policy = \"breaker\"", "policy = \"auto\"")
        .replace("capacity = 512", "capacity = 0");
    let error = parse(&text).unwrap_err();
    assert!(
        error.contains(
            "flows.capacity: deadlock policy auto moves flows that the monitor has recorded"
        ),
        "{error}"
    );
}
