//! sFlow of a real switch with real frames: tshark reads counters and packet samples, and the crate `sflow-parser` reads the
//! reports of dropped frames, which tshark 4.0 does not know.

use std::collections::BTreeMap;

use sflow_parser::models::{FlowData, SampleData};
use weir_api::daemon::{Exports, Port, Sflow};
use weir_config::daemon::SflowConfig;
use weir_core::Duration;
use weir_tests::capture::{tshark, udp, write_capture};
use weir_tests::collector::{address, namespace_of, Collector, SFLOW_PORT};
use weir_tests::scapy::Scapy;
use weir_tests::{until, Bench};

const LIMIT: u32 = 50;
const GOOD: &str = "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Dot1Q(vlan=0, prio=3) / Raw(bytes(400))";
/// Frames that a switch refuses, and why.
const REFUSED: [(&str, &str); 5] = [
    (
        "no_route",
        "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:77') / Raw(bytes(300))",
    ),
    (
        "hairpin",
        "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:01') / Raw(bytes(100))",
    ),
    (
        "bad_source",
        "Ether(src='03:57:00:00:00:01', dst='02:57:00:00:00:02') / Raw(bytes(100))",
    ),
    (
        "reserved_destination",
        "Ether(src='02:57:00:00:00:01', dst='01:80:c2:00:00:04') / Raw(bytes(100))",
    ),
    (
        "bad_mac_control",
        "bytes.fromhex('0180c2000001025700000001' '8808' '7777') + bytes(44)",
    ),
];

fn start(sampling: Option<u32>) -> (Bench, Collector) {
    let mut collector = None;
    let bench = Bench::of("one-switch.toml", &[], |config| {
        config.sflow = SflowConfig {
            collector: Some(address(SFLOW_PORT)),
            interval: Duration::from_secs(1),
            sampling,
            drops_per_second: Some(LIMIT),
            ..SflowConfig::default()
        };
        collector = Some(Collector::start(&namespace_of(config), SFLOW_PORT));
    });
    (bench, collector.unwrap())
}

fn state(bench: &Bench) -> Sflow {
    let exports: Exports = bench.switch.get("/v1/exports").unwrap();
    exports.sflow.unwrap()
}

fn dropped(bench: &Bench) -> BTreeMap<String, u64> {
    let ports: Vec<Port> = bench.switch.get("/v1/ports").unwrap();
    let mut all = BTreeMap::new();
    for (reason, count) in ports.into_iter().flat_map(|port| port.drops_total) {
        *all.entry(reason.to_string()).or_insert(0) += count;
    }
    all.retain(|_, count| *count > 0);
    all
}

/// Waits until all that was dropped is accounted for, and returns the state.
fn settled(bench: &Bench, count: u64) -> Sflow {
    until("every drop is sent or withheld", || {
        let all: u64 = dropped(bench).values().sum();
        let state = state(bench);
        let told = state.drops_sent_total + state.drops_withheld_total + state.drops_lost_total;
        (all >= count && told == all && state.drops_seen_total == all).then_some(state)
    })
}

/// Reasons of all reports in datagrams, and the largest number of unreported drops that one has.
fn reports(payloads: &[Vec<u8>]) -> (BTreeMap<String, u64>, u64) {
    let (mut reasons, mut unreported) = (BTreeMap::new(), 0);
    for payload in payloads {
        for sample in sflow_parser::parse_datagram(payload).unwrap().samples {
            let SampleData::DiscardedPacket(report) = sample.sample_data else {
                continue;
            };
            let FlowData::ExtendedFunction(function) = &report.flow_records[1].flow_data else {
                panic!("{report:?}");
            };
            *reasons.entry(function.symbol.clone()).or_insert(0) += 1;
            unreported = unreported.max(u64::from(report.drops));
        }
    }
    (reasons, unreported)
}

#[test]
fn every_drop_is_reported_below_the_limit_and_counted_above_it() {
    let (bench, collector) = start(None);
    let mut h1 = Scapy::start(&bench, "h1");
    let few = LIMIT / 10;
    for (_, frame) in REFUSED {
        h1.send(few, frame);
    }
    let below = settled(&bench, REFUSED.len() as u64 * u64::from(few));
    assert_eq!((below.drops_withheld_total, below.drops_lost_total), (0, 0));
    let counted = dropped(&bench);
    for (reason, _) in REFUSED {
        assert!(counted[reason] >= u64::from(few), "{reason}: {counted:?}");
    }
    // More than a burst of one second and what is added while the frames are sent.
    let many = 100 * LIMIT;
    h1.send(many, REFUSED[0].1);
    let above = settled(&bench, below.drops_seen_total + u64::from(many));
    assert!(above.drops_withheld_total > 0);
    // One more after the limit is free again says how many were withheld.
    until("a report has the number of those before", || {
        h1.send(1, REFUSED[0].1);
        let state = state(&bench);
        (state.drops_sent_total > above.drops_sent_total).then_some(())
    });
    drop(h1);
    let last = settled(&bench, above.drops_seen_total + 1);
    let counted_last = dropped(&bench);
    bench.end();
    let payloads = collector.end();
    let (reasons, unreported) = reports(&payloads);
    assert_eq!(reasons.values().sum::<u64>(), last.drops_sent_total);
    assert!(unreported >= above.drops_withheld_total);
    // All of each reason but the one that was sent too often.
    for (reason, count) in &counted_last {
        match reason == REFUSED[0].0 {
            true => assert!(reasons[reason] < *count),
            false => assert_eq!(reasons.get(reason), Some(count), "{reason}"),
        }
    }
}

#[test]
fn tshark_reads_counters_and_samples_of_real_frames() {
    let (bench, collector) = start(Some(1));
    let mut h1 = Scapy::start(&bench, "h1");
    h1.send(40, GOOD);
    let sampled = until("all are sampled", || {
        let state = state(&bench);
        (state.packets_sent_total >= 40).then_some(state)
    });
    let ports: Vec<Port> = bench.switch.get("/v1/ports").unwrap();
    let after = sampled.counters_sent_total + 2 * ports.len() as u64;
    let sent = until("all ports' counters are sent after that", || {
        let state = state(&bench);
        (state.counters_sent_total >= after).then_some(state)
    });
    assert_eq!(sent.packets_lost_total + sent.counters_lost_total, 0);
    let names: Vec<String> = ports.iter().map(|port| port.name.clone()).collect();
    let indexes: Vec<String> = names
        .iter()
        .map(|name| {
            let line = bench.output("s1", &["ip", "-o", "link", "show", "dev", name]);
            line.split(':').next().unwrap().to_owned()
        })
        .collect();
    let frames = sent.packets_sent_total;
    drop(h1);
    bench.end();
    let payloads = collector.end();
    let directory = tempfile::tempdir().unwrap();
    let capture = directory.path().join("sflow.pcap");
    write_capture(&capture, &udp(SFLOW_PORT, &payloads));
    let complaints = tshark(&capture, "_ws.malformed", &["frame.number"]);
    assert_eq!(complaints, "", "tshark objects");
    let fields = [
        "sflow_245.version",
        "sflow_245.ifindex",
        "sflow_245.ifspeed",
        "sflow_245.ifinpkt",
        "sflow.flow_sample.sampling_rate",
        "eth.dst",
    ];
    let (mut counters, mut samples, mut in_frames, mut speeds) = (Vec::new(), 0, 0, Vec::new());
    let list = |cell: &str| -> Vec<String> {
        cell.split(';')
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect()
    };
    for line in tshark(&capture, "sflow", &fields).lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells[0], "5");
        counters.extend(list(cells[1]));
        speeds.extend(list(cells[2]));
        let most = list(cells[3])
            .iter()
            .map(|text| text.parse().unwrap())
            .max();
        in_frames = in_frames.max(most.unwrap_or(0));
        assert!(list(cells[4]).iter().all(|rate| rate == "1"));
        let to = list(cells[5]);
        samples += to
            .iter()
            .filter(|address| *address == "02:57:00:00:00:02")
            .count();
    }
    for index in &indexes {
        assert!(counters.contains(index), "{counters:?}");
    }
    assert!(speeds.iter().all(|speed| speed == "100000000"));
    // The frames of h1 are among those that are counted and sampled.
    assert!(frames >= 40 && samples >= 40 && in_frames >= 40);
}
