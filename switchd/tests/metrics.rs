//! The metrics' text is valid, complete and documented.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use crate::support::readers::{promtool_accepts, read_by_the_official_parser};
use crate::support::{exchange, info, settings, until, FakeDataplane, FakeXdp, LOSSLESS};
use flate2::read::GzDecoder;
use weir_config::switch::headroom::Charging;
use weir_config::switch::{Cable, CableLine};
use weir_core::config::LevelRules;
use weir_core::control::{IgnoreReason, Policy};
use weir_core::counters::VlanCounters;
use weir_core::level::LEVEL_MAX;
use weir_core::switch::{CableGauges, CreditGauges, LevelGauges, PoolGauges, VlanTraffic};
use weir_core::{
    BitRate, Budgets, Bytes, ClassMode, Duration, Level, PfcThresholds, PoolShare, Threshold,
    VlanId,
};
use weir_dataplane::histogram::Histogram;
use weir_dataplane::messages::Ring;
use weir_monitoring::definitions::{all, find, Kind, PROCESS};
use weir_switchd::control::info::{ClassInfo, PortCable};
use weir_switchd::control::{self, Shared};
use weir_switchd::daemon::RunningDataplane;
use weir_switchd::metrics::{render, Format};

/// A scraped priority with Levels.
const LEVELS: u8 = 4;

struct Scraped {
    shared: Arc<Shared>,
    control: control::Control,
    text: String,
    openmetrics: String,
}

/// Starts a control plane on a fake dataplane and renders its metrics.
async fn scrape() -> Scraped {
    let fake = FakeDataplane::start();
    {
        let mut state = fake.template.lock().unwrap();
        let port = &mut state.ports[1];
        port.counters.priority[usize::from(LOSSLESS)].tx_bytes = 4_711;
        port.counters.priority[0].rx_frames = 3;
        port.gauges[usize::from(LOSSLESS)].xoff = Bytes::new(61_440);
        port.gauges[usize::from(LOSSLESS)].ingress = Bytes::new(61_440 + 4_096);
        port.credits[usize::from(LOSSLESS)] = Some(CreditGauges {
            sender_updates: [1, 2, 3, 4],
            receiver_updates: [10, 20, 30, 40],
            ..CreditGauges::default()
        });
        port.rings.fill = Ring {
            used: 2_000,
            size: 2_048,
        };
        state.pools = vec![PoolGauges {
            size: Bytes::new(1 << 20),
            ..PoolGauges::default()
        }];
        state.shares[usize::from(LOSSLESS)] = Some(PoolShare {
            pool: 0,
            reserved: Bytes::ZERO,
            threshold: Threshold::Static(Bytes::new(4_096)),
            xon_offset: Bytes::ZERO,
        });
        state.vlans.traffic = vec![VlanTraffic {
            vlan: VlanId::new(20),
            counters: VlanCounters {
                tx_frames: 5,
                ..VlanCounters::default()
            },
        }];
        state.rounds.round_times.observe(1_025);
        state.rounds.batches.observe(64);
        let state = &mut *state;
        state.ports[0].cable = Some(CableGauges {
            round_trip: Some(Duration::from_micros(250)),
            exceeded: true,
        });
        let port = &mut state.ports[1];
        port.gauges[usize::from(LOSSLESS)].levels = Some(LevelGauges {
            depth: Level::new(2).unwrap(),
            m: [Bytes::new(40_000); LEVEL_MAX],
            reserve: Bytes::ZERO,
            round_trip: Duration::ZERO,
            round_trip_measured: Some(Duration::from_micros(250)),
            feedback_sent: Level::new(1).unwrap(),
            feedback_received: Level::ZERO,
            eligible: Bytes::ZERO,
            eligible_frames: 0,
            held: Bytes::new(17 * 1500),
            held_frames: 17,
        });
    }
    let mut named = info();
    named.classes[usize::from(LEVELS)] = ClassInfo {
        name: "levels".to_owned(),
        mode: ClassMode::Level {
            budgets: Budgets::new(&[Bytes::new(100_000), Bytes::new(50_000)]).unwrap(),
            rules: LevelRules::default(),
            edge: PfcThresholds::new(Bytes::new(61_440), Bytes::new(53_248), Bytes::new(65_536))
                .unwrap(),
        }
        .into(),
        headroom_by_cable: false,
        configured: true,
    };
    named.name = "s\"1\\\n".to_owned();
    named.ports[0].cable = Some(cable(named.ports[0].rate));
    let control =
        control::start(named, &settings(), fake.link().unwrap(), Box::new(FakeXdp)).unwrap();
    let shared = Arc::clone(&control.shared);
    let snapshot = until(async || {
        let snapshot = shared.dataplane.fresh_snapshot().await;
        (snapshot.at > shared.life.began).then_some(snapshot)
    })
    .await;
    let mut scrapes = Histogram::new(&[1_000_000, 2_000_000]);
    scrapes.observe(1_500_000);
    let render = |format| render(Arc::clone(&shared), Arc::clone(&snapshot), scrapes, format);
    let text = render(Format::Text).unwrap();
    let openmetrics = render(Format::OpenMetrics).unwrap();
    Scraped {
        shared,
        control,
        text,
        openmetrics,
    }
}

fn cable(rate: BitRate) -> PortCable {
    let line = CableLine {
        rate,
        cable: Cable::from_metres(40).unwrap(),
        reaction: Duration::from_micros(10),
        overshoot: Bytes::ZERO,
    };
    let charging = Charging {
        cell: Bytes::new(256),
        frame_length_max: Bytes::new(1518),
    };
    PortCable::new(line, charging)
}

/// One sample of the exposition format 0.0.4.
#[derive(Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

fn parse_sample(line: &str) -> Sample {
    let name_end = line.find(['{', ' ']).unwrap();
    let (name, mut rest) = line.split_at(name_end);
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        let mut chars = inner.char_indices();
        loop {
            let label: String = chars
                .by_ref()
                .map(|(_, c)| c)
                .take_while(|c| *c != '=')
                .collect();
            assert_eq!(chars.next().unwrap().1, '"', "{line}");
            let mut value = String::new();
            loop {
                match chars.next().unwrap().1 {
                    '\\' => value.push(match chars.next().unwrap().1 {
                        'n' => '\n',
                        c @ ('\\' | '"') => c,
                        other => panic!("escape {other} in {line}"),
                    }),
                    '"' => break,
                    c => value.push(c),
                }
            }
            assert!(labels.insert(label, value).is_none(), "{line}");
            match chars.next().unwrap() {
                (_, ',') => {}
                (at, '}') => {
                    rest = &inner[at + 1..];
                    break;
                }
                other => panic!("{other:?} in {line}"),
            }
        }
    }
    Sample {
        name: name.to_owned(),
        labels,
        value: rest.trim().parse().unwrap(),
    }
}

#[tokio::test]
async fn the_text_is_legal_and_complete() {
    let scraped = scrape().await;
    let mut lines = scraped.text.lines().peekable();
    let mut families = BTreeSet::new();
    while let Some(line) = lines.next() {
        let (name, help) = line
            .strip_prefix("# HELP ")
            .and_then(|rest| rest.split_once(' '))
            .unwrap_or_else(|| panic!("not a HELP line: {line}"));
        let definition = find(name).unwrap_or_else(|| panic!("{name} is not defined"));
        assert_eq!(help, definition.help);
        let kind = definition.kind;
        assert_eq!(
            lines.next().unwrap(),
            format!("# TYPE {name} {}", kind.name())
        );
        let mut seen = BTreeSet::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let sample = parse_sample(line);
            let part = sample.name.strip_prefix(name).unwrap();
            let mut expected: BTreeSet<&str> = definition.labels.iter().copied().collect();
            match (kind, part) {
                (Kind::Histogram, "_bucket") => assert!(expected.insert("le")),
                (Kind::Histogram, "_sum" | "_count") | (Kind::Counter | Kind::Gauge, "") => {}
                _ => panic!("{line} in {name}"),
            }
            let labels: BTreeSet<&str> = sample.labels.keys().map(String::as_str).collect();
            assert_eq!(labels, expected);
            assert!(sample.value.is_finite(), "{line}");
            assert!(
                seen.insert((part.to_owned(), sample.labels)),
                "twice: {line}"
            );
        }
        assert!(!seen.is_empty(), "{name} has no sample");
        assert!(families.insert(name.to_owned()), "{name} comes twice");
    }
    let defined = all().chain(PROCESS);
    let mut all: BTreeSet<String> = defined.map(|metric| metric.name.to_owned()).collect();
    // Has samples once the kernel has dropped a frame.
    assert!(all.remove("weir_stack_drops_total"));
    assert_eq!(families, all);
    scraped.control.stop();
}

#[tokio::test]
async fn values_are_those_of_the_snapshot() {
    let scraped = scrape().await;
    let text = &scraped.text;
    for line in [
        "weir_port_bytes_total{port=\"p1\",priority=\"3\",direction=\"tx\"} 4711",
        "weir_port_frames_total{port=\"p1\",priority=\"0\",direction=\"rx\"} 3",
        "weir_xoff_bytes{port=\"p1\",priority=\"3\"} 61440",
        "weir_credit_updates_total{port=\"p1\",message=\"cf_update\",direction=\"rx\"} 2",
        "weir_credit_updates_ignored_total{port=\"p1\",reason=\"epoch\"} 33",
        "weir_credit_updates_ignored_total{port=\"p1\",reason=\"implausible\"} 44",
        "weir_xdp_frames_total{port=\"p2\",class=\"data\"} 102",
        "weir_xdp_verdicts_total{port=\"p2\",verdict=\"redirected\"} 107",
        "weir_vlan_frames_total{vlan=\"20\",direction=\"tx\"} 5",
        "weir_drops_total{port=\"p0\",reason=\"hairpin\"} 0",
        "weir_link_up{port=\"p0\"} 1",
        "weir_level_feedback{port=\"p1\",priority=\"3\",direction=\"tx\"} 1",
        "weir_level_feedback{port=\"p1\",priority=\"3\",direction=\"rx\"} 0",
        "weir_level_round_trip_seconds{port=\"p1\",priority=\"3\"} 0.00025",
        "weir_level_held_frames{port=\"p1\",priority=\"3\"} 17",
        "weir_level_held_bytes{port=\"p1\",priority=\"3\"} 25500",
        "weir_level_free_bytes{port=\"p1\",priority=\"3\",level=\"2\"} 40000",
        "weir_level_budget_bytes{priority=\"4\",level=\"1\"} 100000",
        "weir_headroom_used_bytes{port=\"p1\",priority=\"3\"} 4096",
        "weir_ring_frames{port=\"p1\",ring=\"fill\"} 2000",
        "weir_ring_size_frames{port=\"p1\",ring=\"fill\"} 2048",
        "weir_dataplane_round_seconds_bucket{le=\"0.000001024\"} 0",
        "weir_dataplane_round_seconds_bucket{le=\"0.000002048\"} 1",
        "weir_dataplane_round_seconds_count 1",
        "weir_dataplane_busy_seconds_total 0.000001025",
        "weir_dataplane_batch_frames_bucket{le=\"32\"} 0",
        "weir_dataplane_batch_frames_bucket{le=\"64\"} 1",
        "weir_scrape_seconds_bucket{le=\"0.001\"} 0",
        "weir_scrape_seconds_bucket{le=\"0.002\"} 1",
        "weir_scrape_seconds_sum 0.0015",
    ] {
        let found = text.lines().any(|found| {
            let (found, line) = (parse_if_sample(found), parse_sample(line));
            found.is_some_and(|found| {
                (&found.name, &found.labels) == (&line.name, &line.labels)
                    && (found.value - line.value).abs() <= 1e-12 * line.value.abs()
            })
        });
        assert!(found, "{line} is missing in\n{text}");
    }
    // Priority 0 is not configured, and was used at p1 only.
    assert!(!text.contains("weir_ingress_bytes{port=\"p0\",priority=\"0\"}"));
    let build = text
        .lines()
        .find(|line| line.starts_with("weir_build_info{"))
        .unwrap();
    assert_eq!(parse_sample(build).labels["switch"], "s\"1\\\n");
    scraped.control.stop();
}

fn parse_if_sample(line: &str) -> Option<Sample> {
    (!line.starts_with('#')).then(|| parse_sample(line))
}

#[tokio::test]
async fn a_scrape_over_tcp_has_the_format_in_its_head() {
    let scraped = scrape().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(weir_switchd::metrics::serve(
        listener,
        Arc::clone(&scraped.shared),
        Default::default(),
    ));
    let connect = || async { tokio::net::TcpStream::connect(address).await.unwrap() };
    let answer = exchange(connect().await, "GET", "/metrics").await;
    assert_eq!(answer.status, 200);
    assert!(
        answer.head.contains("text/plain; version=0.0.4"),
        "{}",
        answer.head
    );
    assert!(answer.body.contains("weir_build_info{"));
    // Without a token only metrics are served.
    for path in ["/", "/overview"] {
        assert_eq!(exchange(connect().await, "GET", path).await.status, 404);
    }
    let (head, packed) = compressed(connect().await, "*/*").await;
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(packed.len() * 4 < answer.body.len(), "{}", packed.len());
    let text = unpacked(&packed);
    // There was one scrape before this one.
    assert!(text.contains("\nweir_scrape_seconds_count 1\n"), "{text}");
    promtool_accepts(&text);
    let wanted = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    let (head, packed) = compressed(connect().await, wanted).await;
    let named = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.contains(named), "{head}");
    assert!(unpacked(&packed).ends_with("\n# EOF\n"));
    scraped.control.stop();
    server.await.unwrap().unwrap();
}

/// Returns head and body of `GET /metrics` for clients that accept gzip and `accept`.
async fn compressed(mut stream: tokio::net::TcpStream, accept: &str) -> (String, Vec<u8>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\nAccept-Encoding: gzip\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let end = answer
        .windows(4)
        .position(|bytes| bytes == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    (head, answer[end + 4..].to_vec())
}

fn unpacked(packed: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn openmetrics_says_the_same_with_kinds_and_units() {
    let scraped = scrape().await;
    let read = read_by_the_official_parser(&scraped.openmetrics);
    for line in [
        "family weir_port_bytes counter bytes",
        "family weir_port_frames counter ",
        "family weir_dataplane_busy_seconds counter seconds",
        "family weir_xoff_bytes gauge bytes",
        "family weir_dataplane_round_seconds histogram seconds",
        "family weir_build info ",
        "family process_cpu_seconds counter seconds",
        "sample weir_port_bytes_total direction='tx',port='p1',priority='3' 4711.0",
        "sample weir_link_up port='p0' 1.0",
        "sample weir_dataplane_batch_frames_bucket le='64.0' 1.0",
        "sample weir_dataplane_batch_frames_bucket le='+Inf' 1.0",
        "sample weir_scrape_seconds_sum  0.0015",
    ] {
        assert!(
            read.lines().any(|found| found == line),
            "{line} is missing in\n{read}"
        );
    }
    // Only a bucket's bound may be written differently, and no sample may be missing.
    let samples = |text: &str| {
        let mut samples: Vec<_> = text
            .lines()
            .filter_map(parse_if_sample)
            // The process's own metrics change between the two.
            .filter(|sample| !sample.name.starts_with("process_"))
            .filter(|sample| {
                sample.name != "weir_uptime_seconds" && sample.name != "weir_snapshot_age_seconds"
            })
            .map(|mut sample| {
                if let Some(bound) = sample.labels.get_mut("le") {
                    let number: f64 = bound.parse().unwrap();
                    *bound = number.to_string();
                }
                (sample.name, sample.labels, sample.value.to_bits())
            })
            .collect();
        samples.sort();
        samples
    };
    assert_eq!(samples(&scraped.openmetrics), samples(&scraped.text));
    scraped.control.stop();
}

#[test]
fn every_metric_is_documented_with_its_labels() {
    let page = metrics_page();
    let updated = weir_monitoring::book::updated(&page).unwrap();
    assert!(
        updated == page,
        "`cargo xtask dashboards` writes its rows anew"
    );
}

/// The page explains every value of these labels in the text.
#[tokio::test]
async fn every_label_value_is_documented() {
    let page = metrics_page();
    let scraped = scrape().await;
    let samples = scraped.text.lines().filter_map(parse_if_sample);
    let mut checked = BTreeSet::new();
    for sample in samples {
        for label in ["reason", "kind", "protocol", "direction", "what", "ring"] {
            if let Some(value) = sample.labels.get(label) {
                assert!(
                    page.contains(&format!("`{value}`")),
                    "{}: {value}",
                    sample.name
                );
                checked.insert(value.clone());
            }
        }
    }
    assert!(checked.contains("headroom_exceeded") && checked.contains("tx_device_drops"));
    // A sample has one of these values; the page lists all of them in the label's row.
    let rows = || page.lines().filter(|line| line.starts_with("| `"));
    for (label, values) in [
        (
            "`deadlock_policy` of",
            Policy::NAMED.map(|(name, _)| name).to_vec(),
        ),
        (
            "`reason` of `weir_clcm_ignored_total`",
            IgnoreReason::ALL.map(IgnoreReason::name).to_vec(),
        ),
    ] {
        let row = rows().find(|row| row.contains(label)).expect(label);
        let documented = row.split('`').skip(1).step_by(2);
        let documented: Vec<&str> = documented.skip(2).collect();
        assert_eq!(documented, values, "{label}");
    }
    scraped.control.stop();
}

fn metrics_page() -> String {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/src/operations/metrics.md"
    );
    std::fs::read_to_string(path).unwrap()
}
