//! Hosts that pause without end, with real frames: lossy traffic continues, and others lose nothing.

use weir_api::daemon::Queue;
use weir_config::daemon::PfcwdConfig;
use weir_tests::scapy::Scapy;
use weir_tests::{until, Bench, LOSSLESS};

const THREE_HOSTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/three-hosts.toml");
/// At this rate a pause of 65535 quanta lasts 3.4 s: no test machine is too slow to refresh it.
const RATE: &str = "link-defaults.rate=10Mbit";
const FRAMES: u32 = 100;
/// Priorities 0, 1 and 2, none of which is lossless.
const LOSSY: &str =
    "bytes.fromhex('0180c2000001025700000003' '8808' '0101' '0007' 'ffffffffffff') + bytes(40)";
/// All eight.
const ALL: &str = "bytes.fromhex('0180c2000001025700000003' '8808' '0101' '00ff') + bytes([255]) * 16 + bytes(26)";
const PAUSE: &str = "bytes.fromhex('0180c2000001025700000003' '8808' '0001' 'ffff') + bytes(42)";

fn frame(host: u8, priority: u8) -> String {
    format!(
        "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:0{host}') / Dot1Q(vlan=0, prio={priority}) / Raw(bytes(1000))"
    )
}

fn bench() -> Bench {
    Bench::of(THREE_HOSTS, &[RATE], |config| {
        config.pfcwd = PfcwdConfig {
            enabled: Some(true),
            ..PfcwdConfig::default()
        };
    })
}

fn sent(bench: &Bench, host: &str, priority: u8) -> u64 {
    let all: Vec<Queue> = bench.switch.get("/v1/queues").unwrap();
    let mut all = all.iter();
    all.find(|queue| queue.port == host && queue.priority == priority)
        .map_or(0, |queue| queue.tx_frames_total)
}

/// Repeats `pause` from h3 while h1 sends frames of a lossy priority to h3 and of both kinds to h2: checks that they leave.
fn others_flow(bench: &Bench, pause: &str) -> (Scapy, Scapy) {
    let mut h1 = Scapy::start(bench, "h1");
    let mut h3 = Scapy::start(bench, "h3");
    h3.send(1, pause);
    until("the pause has come in", || {
        let [pfc, pause] = ["pfc", "pause"].map(|protocol| {
            let labels = format!("port=\"h3\",protocol=\"{protocol}\",direction=\"rx\"");
            bench.metric(&format!("weir_pause_frames_total{{{labels}}}"))
        });
        (pfc + pause > 0).then_some(())
    });
    for (host, priority) in [(3, 0), (2, 0), (2, LOSSLESS)] {
        h1.send(FRAMES, &frame(host, priority));
        until("frames leave", || {
            h3.send(1, pause);
            let left = sent(bench, &format!("h{host}"), priority);
            (left == u64::from(FRAMES)).then_some(())
        });
    }
    (h1, h3)
}

fn dropped(bench: &Bench) -> u64 {
    bench.switch.status().unwrap().drops_total.values().sum()
}

#[test]
fn pauses_of_lossy_priorities_for_ever_stop_nobody() {
    let bench = bench();
    let hosts = others_flow(&bench, LOSSY);
    for priority in 0..3 {
        let ignored = format!("weir_pfc_ignored_total{{port=\"h3\",priority=\"{priority}\"}}");
        assert!(bench.metric(&ignored) > 0, "{ignored}");
    }
    assert_eq!(dropped(&bench), 0);
    drop(hosts);
    bench.end();
}

#[test]
fn pause_for_ever_stops_nobody_at_an_edge_port() {
    let bench = bench();
    let (mut h1, h3) = others_flow(&bench, PAUSE);
    assert!(bench.metric("weir_pause_ignored_total{port=\"h3\"}") > 0);
    h1.send(FRAMES, &frame(3, LOSSLESS));
    until("lossless frames leave, too", || {
        (sent(&bench, "h3", LOSSLESS) == u64::from(FRAMES)).then_some(())
    });
    assert_eq!(dropped(&bench), 0);
    drop((h1, h3));
    bench.end();
}

/// Lossless frames for the pausing host wait until the watchdog declares a storm and drops only them.
#[test]
fn pauses_of_all_priorities_for_ever_cost_only_what_is_for_that_host() {
    let bench = bench();
    let (mut h1, mut h3) = others_flow(&bench, ALL);
    assert_eq!(dropped(&bench), 0);
    h1.send(FRAMES, &frame(3, LOSSLESS));
    until("the watchdog drops them", || {
        h3.send(1, ALL);
        (bench.drops("h1", "storm") == u64::from(FRAMES)).then_some(())
    });
    // Others continue during the storm, through the same ingress port.
    h1.send(FRAMES, &frame(2, LOSSLESS));
    until("frames for others leave", || {
        h3.send(1, ALL);
        (sent(&bench, "h2", LOSSLESS) == 2 * u64::from(FRAMES)).then_some(())
    });
    assert_eq!(dropped(&bench), u64::from(FRAMES));
    assert_eq!(sent(&bench, "h3", LOSSLESS), 0);
    drop((h1, h3));
    bench.end();
}
