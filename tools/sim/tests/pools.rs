//! Buffers that share a pool in virtual time: shares of an incast's buffers, and memory that pools need compared with
//! dedicated buffers.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_core::{Bytes, ClassMode, Duration, Instant, PortId, Priority};
use weir_sim::network::Network;
use weir_sim::scenario::{plan, run, Options};

const PRIORITY: Priority = Priority::ALL[3];
/// Charge of frames of 1500 B.
const FRAME: f64 = 1536.0;
const SIZE: f64 = 1200.0 * 1024.0;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn overrides(changes: &[String]) -> Vec<Override> {
    let parsed = changes.iter().map(|change| change.parse());
    parsed.map(Result::unwrap).collect()
}

/// Returns the peak use of the pool by the buffers of the first `hot` ports, which as many hosts fill at once.
fn shares(alpha: &str, hot: usize) -> Vec<f64> {
    let mut changes = vec![
        format!("class.lossless.alpha={alpha}"),
        "pool.lossless.size=1200KiB".to_owned(),
        "duration=1s".to_owned(),
    ];
    for cold in ["b", "c"].iter().skip(hot - 1) {
        changes.push(format!("flow.{cold}.rate=10Mbit"));
    }
    let file = root().join("scenarios/shared-buffers.toml");
    let scenario = Scenario::load(&file, &overrides(&changes)).unwrap();
    let mut network = Network::new(plan(&scenario).unwrap()).unwrap();
    let mut most = vec![0u64; hot];
    for step in 1..=1000u64 {
        let now = Instant::ZERO + Duration::from_millis(step);
        network.run_until(now);
        for (port, most) in most.iter_mut().enumerate() {
            let port = PortId::from_index(port).unwrap();
            let gauges = network.switch(0).gauges(now, port, PRIORITY);
            *most = (*most).max((gauges.ingress - gauges.headroom_used).get());
        }
    }
    assert_eq!(network.counters().drops.iter().sum::<u64>(), 0);
    most.into_iter().map(|most| most as f64).collect()
}

/// Choudhury and Hahne: α·S ⁄ (1 + α·N).
#[test]
fn an_incast_has_of_the_pool_what_is_published() {
    for (text, alpha) in [
        ("1/8", 0.125),
        ("1/2", 0.5),
        ("1", 1.0),
        ("2", 2.0),
        ("8", 8.0),
    ] {
        for hot in 1..=3usize {
            let published = alpha * SIZE / (1.0 + alpha * hot as f64);
            for share in shares(text, hot) {
                let error = (share - published).abs();
                // One more frame in the pool takes α frames off every threshold.
                assert!(
                    error < (3.0 + alpha) * FRAME,
                    "α {text}, {hot} buffers: {share}, and {published} is published"
                );
            }
        }
    }
}

struct Outcome {
    /// Packet memory of the class without headroom, of the switch with most ports.
    bytes: u64,
    pauses: u64,
    received: u64,
}

fn outcome(text: &str, file: &Path, changes: &[String]) -> Outcome {
    let scenario = Scenario::parse(text, file, &overrides(changes)).unwrap();
    let plan = plan(&scenario).unwrap();
    let config = plan.switches.iter().map(|switch| &switch.config);
    let config = config.max_by_key(|config| config.ports.len()).unwrap();
    let bytes = match (config.pools.first(), config.classes[PRIORITY.index()].mode) {
        (Some(pool), _) => pool.size.get(),
        (None, ClassMode::Pfc(of)) => of.xoff().get() * config.ports.len() as u64,
        _ => panic!("not a class of mode pfc"),
    };
    let mut network = Network::new(plan).unwrap();
    network.run_until(Instant::ZERO + scenario.duration);
    let counters = network.counters();
    assert_eq!(counters.drops.iter().sum::<u64>(), 0, "{changes:?}");
    Outcome {
        bytes,
        pauses: counters.xoff_sent,
        received: network.flows().iter().map(|flow| flow.received).sum(),
    }
}

fn thresholds(text: &str, file: &Path, changes: &[String]) -> (Bytes, usize) {
    let scenario = Scenario::parse(text, file, &overrides(changes)).unwrap();
    let ports = scenario.all_ports().iter().map(Vec::len).max().unwrap();
    (scenario.classes[0].mode.thresholds().unwrap().xoff(), ports)
}

/// Runs the same scenarios with static dedicated thresholds, and with a pool in which a buffer that is alone has as much.
/// WEIR_WRITE=1 rewrites the table of the book.
#[test]
fn the_book_has_the_table_of_memory() {
    let mut table = String::from(
        "| scenario | ports | thresholds | memory without headroom | pauses | frames received |\n|---|---|---|---|---|---|\n",
    );
    for (name, change) in [
        ("incast", vec!["traffic.0.transport=open".to_owned()]),
        ("incast", vec![]),
        ("one-switch", vec![]),
        ("fat-tree", vec!["duration=2s".to_owned()]),
    ] {
        let file = root().join(format!("scenarios/{name}.toml"));
        let text = std::fs::read_to_string(&file).unwrap();
        let (xoff, ports) = thresholds(&text, &file, &change);
        let title = match change.as_slice() {
            [] => name.to_owned(),
            changes => format!("{name}, `{}`", changes.join(" ")),
        };
        let mut row = |thresholds: &str, outcome: &Outcome| {
            let Outcome {
                bytes,
                pauses,
                received,
            } = outcome;
            let kib = bytes.div_ceil(1024);
            let _ = writeln!(
                table,
                "| {title} | {ports} | {thresholds} | {kib} KiB | {pauses} | {received} |"
            );
        };
        row("static, of each buffer", &outcome(&text, &file, &change));
        for (alpha, over, under) in [("1/8", 9, 1), ("1", 2, 1), ("8", 9, 8)] {
            let size = xoff.get() * over / under;
            let pooled = format!("{text}\n[[pool]]\nname = \"p\"\nsize = \"{size}B\"\n");
            let mut changes = change.clone();
            for set in ["xoff=", "xon=", "pool=p", "xon-offset=2KiB"] {
                changes.push(format!("class.lossless.{set}"));
            }
            changes.push(format!("class.lossless.alpha={alpha}"));
            row(&format!("α = {alpha}"), &outcome(&pooled, &file, &changes));
        }
    }
    let page = root().join("docs/src/concepts/shared-buffers.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let begin = text.find("| scenario |").unwrap();
    let end = begin + text[begin..].find("\n\n").unwrap() + 1;
    let renewed = format!("{}{table}{}", &text[..begin], &text[end..]);
    if std::env::var_os("WEIR_WRITE").is_some() {
        std::fs::write(&page, &renewed).unwrap();
    }
    assert!(
        text == renewed,
        "WEIR_WRITE=1 writes the table anew:\n{table}"
    );
}

/// The file's expectations are met, and the same seed gives the same run.
#[test]
fn the_scenario_loses_nothing() {
    let file = root().join("scenarios/shared-buffers.toml");
    let scenario = Scenario::load(&file, &[]).unwrap();
    let result = run(&scenario, Options::default()).unwrap();
    assert!(result.expectations.iter().all(|expected| expected.held));
}
