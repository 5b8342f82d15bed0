//! The IPFIX stream of real switches, read by tshark: its sums are the switches' counters.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use weir_api::daemon::{Credits, Exports, Ipfix, Port};
use weir_api::record::RecordLine;
use weir_config::daemon::{DaemonConfig, IpfixConfig};
use weir_lab::lab::stage::Stage;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::collector::{address, namespace_of, Collector, Stream, Sums, IPFIX_PORT};
use weir_tests::scapy::Scapy;
use weir_tests::switches::events;
use weir_tests::{go_on_for, printed, scenario, tear_down, until, variable, Bench};

/// Seconds of traffic; a few by default.
const VARIABLE: &str = "WEIR_IPFIX_SECONDS";
const SECONDS: u64 = 5;
/// Stands for frames without a priority.
const NO_PRIORITY: u8 = 255;

fn ipfix(domain: u32) -> IpfixConfig {
    IpfixConfig {
        collector: Some(address(IPFIX_PORT)),
        interval: weir_core::Duration::from_millis(1),
        observation_domain: domain,
        ..IpfixConfig::default()
    }
}

fn state(switch: &SwitchProcess) -> Ipfix {
    let exports: Exports = switch.get("/v1/exports").unwrap();
    exports.ipfix.unwrap()
}

/// All that a switch has counted, by the first line of a recording. Exact to the nanosecond, unlike metrics.
fn totals(switch: &SwitchProcess) -> RecordLine {
    let mut curl = Command::new("curl");
    curl.args(["-sf", "--unix-socket"]);
    curl.arg(&switch.config.api_socket);
    let request = r#"{"every_seconds": 0.001, "duration_seconds": 0.01}"#;
    curl.args(["-H", "Content-Type: application/json", "-d", request]);
    curl.arg("http://localhost/v1/recordings");
    // A switch that stalls for the whole 10 ms writes none.
    let first = until("a recording has a line", || {
        printed(&mut curl).lines().next().map(str::to_owned)
    });
    serde_json::from_str(&first).unwrap()
}

/// Totals of a switch at which nothing happens any more: no pause lasts, and all readings since are exported.
fn settled(switch: &SwitchProcess) -> RecordLine {
    let line = until("pauses are over", || {
        let line = totals(switch);
        let mut pauses = line.queues.iter().flat_map(|it| [it.received, it.sent]);
        (!pauses.any(|pauses| pauses.unwrap().paused)).then_some(line)
    });
    let exported = state(switch).readings_exported_total;
    until("later readings are exported", || {
        (state(switch).readings_exported_total > exported + 50).then_some(())
    });
    assert_eq!(totals(switch).queues, line.queues);
    line
}

/// The stream's sums are the totals of `line` at each port and priority, and its drops are those of `ports`.
fn assert_sums(stream: &Stream, line: &RecordLine, ports: &[Port]) {
    let sums = |port: &str, priority| {
        let sums = stream.queues.get(&(port.to_owned(), priority));
        sums.copied().unwrap_or_default()
    };
    assert!(!line.queues.is_empty());
    for queue in &line.queues {
        let Sums { received, sent, .. } = sums(&queue.port, queue.priority);
        for (summed, counted) in [(received, queue.received), (sent, queue.sent)] {
            let counted = counted.unwrap();
            let counted = (counted.paused_nanos_total, counted.transitions_total);
            assert_eq!(summed, counted, "{} {}", queue.port, queue.priority);
        }
    }
    for port in ports {
        let all = (0..8).chain([NO_PRIORITY]);
        let summed: u64 = all.map(|priority| sums(&port.name, priority).drops).sum();
        let counted: u64 = port.drops_total.values().sum();
        assert_eq!(summed, counted, "drops at {}", port.name);
    }
}

/// Ring4 locks again and again, and the breaker releases it. `WEIR_IPFIX_SECONDS=60` has it do so for a minute.
#[test]
fn sums_over_the_stream_are_the_counters_with_deadlocks_in_it() {
    let seconds = variable(VARIABLE, SECONDS);
    let duration = format!("duration={}s", seconds + 60);
    let scenario = scenario("ring4.toml", &[&duration, "deadlock.policy=breaker"]);
    let mut collectors = BTreeMap::new();
    let configure = |config: &mut DaemonConfig| {
        let domain = collectors.len() as u32 + 1;
        config.ipfix = ipfix(domain);
        let collector = Collector::start(&namespace_of(config), IPFIX_PORT);
        collectors.insert(domain, collector);
    };
    let mut stage =
        Stage::set_up_with(&scenario, false, configure).unwrap_or_else(|error| panic!("{error:#}"));
    stage.start_hosts(&scenario).unwrap();
    go_on_for(Duration::from_secs(seconds), || stage.check().unwrap());
    for host in &mut stage.hosts {
        host.stop_sending().unwrap();
    }
    until("the network has drained", || {
        (stage.held_frames().unwrap() == 0).then_some(())
    });
    stage.finish_hosts().unwrap();

    let directory = tempfile::tempdir().unwrap();
    let mut releases = 0;
    for (domain, collector) in collectors {
        let switch = &stage.switches[domain as usize - 1];
        let line = settled(switch);
        let ports: Vec<Port> = switch.get("/v1/ports").unwrap();
        let state = state(switch);
        let payloads = collector.end();
        let stream = Stream::of(directory.path(), &payloads, domain);
        eprintln!(
            "{}: {} messages, {} records, {} s paused by neighbours; readings: {} exported, {} late, {} without memory",
            switch.config.name,
            stream.messages,
            stream.records,
            stream.queues.values().map(|sums| sums.received.0).sum::<u64>() as f64 / 1e9,
            state.readings_exported_total,
            state.readings_late_total,
            state.readings_no_memory_total,
        );
        assert_sums(&stream, &line, &ports);
        assert_eq!(
            (state.messages_lost_total, state.messages_refused_total),
            (0, 0)
        );
        releases += events(switch, "release_started").len();
        let is_held = |sums: &Sums| sums.received.0 > 0 && sums.egress_max > 0;
        assert!(stream.queues.values().any(is_held));
    }
    assert!(releases > 0, "nothing locked");
    tear_down(stage);
}

/// Drops of frames with a priority and of one without; and a route that goes for a while, with drops meanwhile.
#[test]
fn drops_have_their_priority_and_survive_messages_that_are_not_sent() {
    let mut collector = None;
    let bench = Bench::of("one-switch.toml", &[], |config| {
        config.ipfix = ipfix(9);
        collector = Some(Collector::start(&namespace_of(config), IPFIX_PORT));
    });
    let nowhere = |priority: u8| {
        format!(
            "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:77') / Dot1Q(vlan=0, prio={priority}) / Raw(bytes(100))"
        )
    };
    let mut h1 = Scapy::start(&bench, "h1");
    h1.send(7, &nowhere(0));
    h1.send(5, &nowhere(3));
    // An opcode of MAC control that is not known.
    let unknown = "bytes.fromhex('0180c2000001025700000001' '8808' '7777') + bytes(44)";
    h1.send(3, unknown);
    until("all are dropped", || {
        (bench.drops("h1", "no_route") >= 12 && bench.drops("h1", "bad_mac_control") >= 3)
            .then_some(())
    });
    // Without its address there is no route to the collector.
    let address = |change| {
        bench.output("s1", &["ip", "address", change, "127.0.0.1/8", "dev", "lo"]);
    };
    address("del");
    h1.send(11, &nowhere(3));
    until("messages are lost", || {
        let state = state(&bench.switch);
        (state.records_lost_total > 20).then_some(())
    });
    assert!(state(&bench.switch).error.is_some());
    address("add");
    let line = settled(&bench.switch);
    let ports: Vec<Port> = bench.switch.get("/v1/ports").unwrap();
    let payloads = collector.unwrap().end();
    let directory = tempfile::tempdir().unwrap();
    let stream = Stream::of(directory.path(), &payloads, 9);
    assert_sums(&stream, &line, &ports);
    let drops = |priority| stream.queues[&("h1".to_owned(), priority)].drops;
    assert!(drops(0) >= 7 && drops(NO_PRIORITY) >= 3);
    assert_eq!(drops(3), 16);
    drop(h1);
    bench.end();
}

const PAID: &str = r#"
name = "paid"
description = "Two switches with credits"
duration = "3s"
seed = 1
[link-defaults]
rate = "100Mbit"
[[class]]
name = "paid"
priority = 3
mode = "credit"
credit-limit = "1MiB"
[[switch]]
name = "s1"
[[switch]]
name = "s2"
[[link]]
ends = ["s1", "s2"]
[[host]]
name = "h1"
switch = "s1"
[[host]]
name = "h2"
switch = "s2"
"#;

/// Credits of two switches, as the stream and the API have them.
#[test]
fn credits_are_those_of_the_api() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("paid.toml");
    std::fs::write(&file, PAID).unwrap();
    let mut collectors = Vec::new();
    let bench = Bench::of(file.to_str().unwrap(), &[], |config| {
        config.ipfix = ipfix(collectors.len() as u32 + 1);
        collectors.push(Collector::start(&namespace_of(config), IPFIX_PORT));
    });
    let all = until("the neighbour has given credits", || {
        let all: Vec<Credits> = bench.switch.get("/v1/credits").unwrap();
        let is_known = all.iter().any(|credits| credits.sending.limit > 0);
        is_known.then_some(all)
    });
    settled(&bench.switch);
    let payloads = collectors.swap_remove(0).end();
    let stream = Stream::of(directory.path(), &payloads, 1);
    for credits in all {
        let key = (credits.port.clone(), credits.priority);
        let limit = u64::from(credits.sending.limit);
        assert_eq!(stream.queues[&key].credits.1, limit, "{credits:?}");
    }
    bench.end();
}
