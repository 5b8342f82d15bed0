//! The metrics' text: legal, complete, and documented.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use support::{exchange, info, settings, until, FakeDataplane, FakeXdp, LOSSLESS};
use weir_core::level::LEVEL_MAX;
use weir_core::switch::LevelGauges;
use weir_core::{Bytes, Duration, Level};
use weir_switchd::control::{self, Shared};
use weir_switchd::daemon::RunningDataplane;
use weir_switchd::metrics::definitions::{Kind, ALL};

struct Scraped {
    shared: Arc<Shared>,
    control: control::Control,
    text: String,
}

/// Starts a control plane on a fake dataplane and renders what it knows.
async fn scrape() -> Scraped {
    let fake = FakeDataplane::start();
    {
        let mut state = fake.template.lock().unwrap();
        let port = &mut state.ports[1];
        port.counters.priority[usize::from(LOSSLESS)].tx_bytes = 4_711;
        port.counters.priority[0].rx_frames = 3;
        port.gauges[usize::from(LOSSLESS)].xoff = Bytes::new(61_440);
        port.gauges[usize::from(LOSSLESS)].levels = Some(LevelGauges {
            depth: Level::new(2).unwrap(),
            m: [Bytes::ZERO; LEVEL_MAX],
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
    named.name = "s\"1\\\n".to_owned();
    let control =
        control::start(named, &settings(), fake.link().unwrap(), Box::new(FakeXdp)).unwrap();
    let shared = Arc::clone(&control.shared);
    let snapshot = until(async || {
        let snapshot = shared.fresh_snapshot().await;
        (snapshot.at > shared.began).then_some(snapshot)
    })
    .await;
    let text = weir_switchd::metrics::render(Arc::clone(&shared), snapshot).unwrap();
    Scraped {
        shared,
        control,
        text,
    }
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
        let definition = ALL.iter().find(|metric| metric.name == name).unwrap();
        assert_eq!(help, definition.help);
        let kind = match definition.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        assert_eq!(lines.next().unwrap(), format!("# TYPE {name} {kind}"));
        let mut seen = BTreeSet::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let sample = parse_sample(line);
            assert_eq!(sample.name, name);
            let labels: BTreeSet<&str> = sample.labels.keys().map(String::as_str).collect();
            assert_eq!(labels, definition.labels.iter().copied().collect());
            assert!(sample.value.is_finite(), "{line}");
            assert!(seen.insert(sample.labels), "twice: {line}");
        }
        assert!(!seen.is_empty(), "{name} has no sample");
        assert!(families.insert(name.to_owned()), "{name} comes twice");
    }
    let all: BTreeSet<String> = ALL.iter().map(|metric| metric.name.to_owned()).collect();
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
        "weir_xdp_frames_total{port=\"p2\",class=\"data\"} 102",
        "weir_drops_total{port=\"p0\",reason=\"hairpin\"} 0",
        "weir_link_up{port=\"p0\"} 1",
        "weir_level_feedback{port=\"p1\",priority=\"3\",direction=\"tx\"} 1",
        "weir_level_feedback{port=\"p1\",priority=\"3\",direction=\"rx\"} 0",
        "weir_level_round_trip_seconds{port=\"p1\",priority=\"3\"} 0.00025",
        "weir_level_held_frames{port=\"p1\",priority=\"3\"} 17",
    ] {
        let found = text.lines().any(|found| {
            let (found, line) = (parse_if_sample(found), parse_sample(line));
            found.is_some_and(|found| {
                (&found.name, &found.labels, found.value) == (&line.name, &line.labels, line.value)
            })
        });
        assert!(found, "{line} is missing in\n{text}");
    }
    // Priority 0 is not configured, and was used at p1 alone.
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
    let listener = weir_switchd::metrics::listen("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(weir_switchd::metrics::serve(
        listener,
        Arc::clone(&scraped.shared),
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
    assert_eq!(exchange(connect().await, "GET", "/").await.status, 404);
    scraped.control.stop();
    server.await.unwrap().unwrap();
}

#[test]
fn every_metric_is_documented_with_its_labels() {
    let page = metrics_page();
    let rows: BTreeMap<&str, &str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `weir_"))
        .filter_map(|row| row.split_once('`'))
        .collect();
    for metric in ALL {
        let name = metric.name.strip_prefix("weir_").unwrap();
        let row = rows
            .get(name)
            .unwrap_or_else(|| panic!("{} is not documented", metric.name));
        for label in metric.labels {
            assert!(
                row.contains(&format!("`{label}`")),
                "{}: {label}",
                metric.name
            );
        }
        assert!(
            row.contains(metric.help),
            "{}: {}",
            metric.name,
            metric.help
        );
    }
    assert_eq!(
        rows.len(),
        ALL.len(),
        "a metric is documented that does not exist"
    );
}

/// Whatever the text shows as a value of these labels, the page explains.
#[tokio::test]
async fn every_label_value_is_documented() {
    let page = metrics_page();
    let scraped = scrape().await;
    let samples = scraped.text.lines().filter_map(parse_if_sample);
    let mut checked = BTreeSet::new();
    for sample in samples {
        for label in ["reason", "kind", "protocol", "direction", "what"] {
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
    scraped.control.stop();
}

fn metrics_page() -> String {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/src/operations/metrics.md"
    );
    std::fs::read_to_string(path).unwrap()
}
