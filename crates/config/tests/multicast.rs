//! `[multicast]` of daemons and of scenarios: accepted trees, and refusals.

use std::path::Path;

use weir_config::daemon::DaemonConfig;
use weir_config::scenario::Scenario;
use weir_core::{PortId, PortSet};

const DAEMON: &str = r#"
name = "s1"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "128KiB"
[[port]]
device = "s2"
role = "fabric"
rate = "1Gbit"
[[port]]
device = "s3"
role = "fabric"
rate = "1Gbit"
[[port]]
device = "h1"
role = "edge"
rate = "1Gbit"
"#;

fn daemon(multicast: &str) -> Result<DaemonConfig, String> {
    let text = format!("{DAEMON}\n[multicast]\n{multicast}\n");
    DaemonConfig::parse(&text, Path::new("s1.toml")).map_err(|error| error.to_string())
}

fn set(ports: &[u8]) -> PortSet {
    ports.iter().copied().map(PortId::new).collect()
}

#[test]
fn a_daemon_has_the_ports_that_its_file_names() {
    let config = daemon("tree = [\"h1\", \"s2\"]\nedge-rate = 500\nfabric-rate = 9000").unwrap();
    let flood = config.core(&[]).flood;
    assert_eq!(flood.tree, Some(set(&[0, 2])));
    assert_eq!(
        (flood.edge_rate, flood.fabric_rate),
        (Some(500), Some(9000))
    );
    let again = DaemonConfig::parse(&config.to_toml(), Path::new("s1.toml")).unwrap();
    assert_eq!(again, config);
    let without = daemon("").unwrap();
    assert_eq!(without.core(&[]).flood.tree, None);
    assert!(!without.to_toml().contains("[multicast]"));
}

#[test]
fn a_daemon_refuses_impossible_stations() {
    let refused = |multicast: &str| daemon(multicast).unwrap_err();
    let unknown = refused("tree = [\"s2\", \"h9\"]");
    assert!(
        unknown.contains("multicast.tree") && unknown.contains("`h9`"),
        "{unknown}"
    );
    let twice = refused("tree = [\"s2\", \"s2\"]");
    assert!(
        twice.contains("multicast.tree") && twice.contains("s2"),
        "{twice}"
    );
    let none = refused("edge-rate = 0");
    assert!(none.contains("multicast.edge-rate"), "{none}");
    // ARP is untagged, and would be lossless.
    let lossless = DAEMON.replacen("priority = 3", "priority = 0", 1);
    let text = format!("{lossless}\n[multicast]\ntree = [\"s2\", \"h1\"]\n");
    let error = DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("ARP") && error.contains("default-priority"),
        "{error}"
    );
    let mended = text.replace(
        "role = \"fabric\"",
        "role = \"fabric\"\ndefault-priority = 1",
    );
    let mended = mended.replace("role = \"edge\"", "role = \"edge\"\ndefault-priority = 1");
    DaemonConfig::parse(&mended, Path::new("s1.toml")).unwrap();
}

const STATIONS: &str = r#"
[[station]]
mac = "02:00:00:00:00:01"
addresses = ["10.0.0.1", "fd00:0::1"]
[[station]]
mac = "02:00:00:00:00:02"
addresses = ["10.0.0.2"]
"#;

#[test]
fn stations_are_read_and_written() {
    let config = daemon(&format!("suppress = true\n{STATIONS}")).unwrap();
    assert!(config.multicast.suppress);
    let [one, two] = &config.stations[..] else {
        panic!("two stations");
    };
    assert_eq!(one.mac.to_string(), "02:00:00:00:00:01");
    let addresses: Vec<String> = one.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["10.0.0.1", "fd00::1"]);
    assert_eq!(two.addresses.len(), 1);
    let again = DaemonConfig::parse(&config.to_toml(), Path::new("s1.toml")).unwrap();
    assert_eq!(again, config);
    // Without `suppress` stations are accepted but unused.
    assert!(!daemon(STATIONS).unwrap().multicast.suppress);
}

#[test]
fn impossible_stations_are_refused_by_line() {
    let refused = |from: &str, to: &str| {
        assert!(STATIONS.contains(from), "{from}");
        daemon(&STATIONS.replacen(from, to, 1)).unwrap_err()
    };
    for (from, to, wanted) in [
        (
            "00:02\"",
            "00:01\"",
            "station.1.mac: `02:00:00:00:00:01` is already used",
        ),
        (
            "10.0.0.2",
            "fd00:0:0::1",
            "fd00::1 is already an address of 02:00:00:00:00:01 in line",
        ),
        (
            "\"fd00:0::1\"",
            "\"10.0.0.1\"",
            "10.0.0.1 is already an address of",
        ),
        (
            "10.0.0.2",
            "10.0.0.2/24",
            "`10.0.0.2/24` is not an IP address",
        ),
        (
            "10.0.0.2",
            "ff02::1",
            "ff02::1 is not the address of a single station",
        ),
        ("\"10.0.0.2\"", "", "0 is not between 1 and 16"),
        (
            "02:00:00:00:00:02",
            "01:00:5e:00:00:01",
            "not the address of a single station",
        ),
        (
            "mac = \"02:00:00:00:00:02\"\n",
            "",
            "station.1.mac: missing",
        ),
    ] {
        let error = refused(from, to);
        assert!(
            error.contains(wanted) && error.starts_with("s1.toml:"),
            "{error}"
        );
    }
    let none = daemon("suppress = true").unwrap_err();
    assert!(
        none.contains("multicast.suppress: there is no station"),
        "{none}"
    );
    let station = |number: usize| {
        let [high, low] = (number as u16).to_be_bytes();
        format!("[[station]]\nmac = \"02:00:00:00:{high:02x}:{low:02x}\"\naddresses = [\"10.1.{high}.{low}\"]\n")
    };
    let text = |count: usize| (1..=count).map(station).collect::<String>();
    assert_eq!(daemon(&text(4096)).unwrap().stations.len(), 4096);
    let error = daemon(&text(4097)).unwrap_err();
    assert!(
        error.contains("station.4096.mac") && error.contains("at most 4096"),
        "{error}"
    );
}

const RING: &str = r#"
name = "ring"
duration = "1s"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "128KiB"
[topology]
kind = "ring"
switches = 4
"#;

fn ring(multicast: &str) -> Result<Scenario, String> {
    let text = format!("{RING}\n{multicast}\n");
    Scenario::parse(&text, Path::new("ring.toml"), &[]).map_err(|error| error.to_string())
}

/// By switch: the names of the ports on its tree.
fn trees(scenario: &Scenario) -> Vec<Option<Vec<String>>> {
    let config = |switch| scenario.multicast_of(switch, &scenario.ports(switch));
    let switches = 0..scenario.switches.len();
    switches.map(|switch| config(switch).tree).collect()
}

fn names(lists: [&[&str]; 4]) -> Vec<Option<Vec<String>>> {
    let owned = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    lists.into_iter().map(owned).collect()
}

#[test]
fn a_scenario_computes_the_tree_or_uses_the_written_one() {
    assert_eq!(trees(&ring("").unwrap()), [const { None }; 4]);
    // Without a root it is the first switch: the link between s3 and s4 is the farthest but one from it.
    let computed = names([
        &["s2", "s4", "h1"],
        &["s1", "s3", "h2"],
        &["s2", "h3"],
        &["s1", "h4"],
    ]);
    assert_eq!(trees(&ring("[multicast]").unwrap()), computed);
    let from_s3 = trees(&ring("[multicast]\nroot = \"s3\"").unwrap());
    let cut_at_s1 = names([
        &["s2", "h1"],
        &["s1", "s3", "h2"],
        &["s2", "s4", "h3"],
        &["s3", "h4"],
    ]);
    assert_eq!(from_s3, cut_at_s1);
    let written = ring("[multicast]\nlinks = [\"s4-s3\", \"s2-s3\", \"s1-s2\"]").unwrap();
    assert_eq!(trees(&written), cut_at_s1);
}

#[test]
fn links_that_form_no_tree_are_refused() {
    let refused = |links: &str| ring(&format!("[multicast]\nlinks = {links}")).unwrap_err();
    let all = refused("[\"s1-s2\", \"s2-s3\", \"s3-s4\", \"s4-s1\"]");
    assert!(all.contains("`s4-s1` closes a loop"), "{all}");
    let twice = refused("[\"s1-s2\", \"s2-s1\"]");
    assert!(twice.contains("closes a loop"), "{twice}");
    let two = refused("[\"s1-s2\", \"s3-s4\"]");
    assert!(two.contains("does not join"), "{two}");
    let across = refused("[\"s1-s3\"]");
    assert!(across.contains("no working link `s1-s3`"), "{across}");
    let unknown = refused("[\"s1-s9\"]");
    assert!(unknown.contains("`s9`"), "{unknown}");
    let odd = refused("[\"s1\"]");
    assert!(odd.contains("is not a link"), "{odd}");
    let both = ring("[multicast]\nroot = \"s1\"\nlinks = [\"s1-s2\", \"s2-s3\", \"s3-s4\"]");
    assert!(both.unwrap_err().contains("multicast.root"));
    let arp = RING.replacen("priority = 3", "priority = 0", 1) + "[multicast]\n";
    let error = Scenario::parse(&arp, Path::new("ring.toml"), &[]).unwrap_err();
    assert!(error.to_string().contains("ARP"), "{error}");
}

const KERNEL: &str = r#"
[multicast]
edge-rate = 100

[[application]]
name = "a"
from = "h1"
to = "h3"
class = "lossless"
command = "iperf3 --client {to} --tos {tos} --title 'one and {dscp}'"

[[application]]
name = "b"
from = "h4"
to = "h2"
command = "ping -c 1 -p {port} {to}"
server = "nc -l {from} {port} {priority}"
"#;

fn kernel(text: &str) -> Result<Scenario, String> {
    let text = format!("hosts = \"kernel\"\n{RING}\n{text}");
    Scenario::parse(&text, Path::new("ring.toml"), &[]).map_err(|error| error.to_string())
}

#[test]
fn applications_have_addresses_ports_and_priorities() {
    let scenario = kernel(KERNEL).unwrap();
    let words = |application: usize, words: &Vec<String>| scenario.expanded(application, words);
    let [a, b] = &scenario.applications[..] else {
        panic!("two applications");
    };
    assert_eq!(
        words(0, &a.command).join("|"),
        "iperf3|--client|10.87.0.3|--tos|96|--title|one and 24|--json|--port|5201"
    );
    let server = a.server.as_ref().unwrap();
    assert_eq!(
        words(0, server).join(" "),
        "iperf3 --server --one-off --port 5201"
    );
    assert_eq!(
        words(1, &b.command).join(" "),
        "ping -c 1 -p 5202 10.87.0.2"
    );
    let server = b.server.as_ref().unwrap();
    assert_eq!(words(1, server).join(" "), "nc -l 10.87.0.4 5202 0");
    // Every host can be reached, by routes and by ARP, even without a flow.
    let tables = &scenario.next_hops;
    let reached = |switch: usize| tables[switch].routes().count() == scenario.hosts.len();
    assert!((0..scenario.switches.len()).all(reached));
    assert!(trees(&kernel("").unwrap()).iter().all(Option::is_some));
    assert!(scenario.simulator_gap().is_some() && scenario.lab_gaps().is_empty());
}

#[test]
fn hosts_get_the_applications_they_can_run() {
    let flow = "[[flow]]\nname = \"f\"\nfrom = \"h1\"\nto = \"h2\"\nclass = \"lossless\"\n";
    let error = kernel(flow).unwrap_err();
    assert!(error.contains("[[application]]"), "{error}");
    let error = ring(KERNEL).unwrap_err();
    assert!(error.contains("hosts = \"kernel\""), "{error}");
    let refused = |from: &str, to: &str| kernel(&KERNEL.replacen(from, to, 1)).unwrap_err();
    let unknown = refused("{tos}", "{toz}");
    assert!(
        unknown.contains("placeholder `toz`") && unknown.contains("tos"),
        "{unknown}"
    );
    let open = refused("{dscp}'", "{dscp}");
    assert!(open.contains("unterminated"), "{open}");
    let same = refused("to = \"h3\"", "to = \"h1\"");
    assert!(same.contains("another host"), "{same}");
    let late = refused("class = \"lossless\"", "start = \"1s\"");
    assert!(late.contains("start < duration"), "{late}");
}

#[test]
fn a_scenario_with_kernel_hosts_may_suppress() {
    let suppresses = |scenario: &Scenario| {
        let ports = scenario.ports(0);
        scenario.multicast_of(0, &ports).suppress
    };
    assert!(!suppresses(&kernel(KERNEL).unwrap()));
    let text = KERNEL.replacen("edge-rate = 100", "suppress = true", 1);
    assert!(suppresses(&kernel(&text).unwrap()));
    let error = ring("[multicast]\nsuppress = true").unwrap_err();
    assert!(
        error.contains("multicast.suppress") && error.contains("kernel"),
        "{error}"
    );
}
