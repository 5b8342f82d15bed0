//! Impairments: their effect on real frames and links, their end, and their visibility.

use std::process::Output;

use serde_json::Value;
use weir_api::daemon::{Event, EventPage, Impairment, Status};
use weir_tests::scapy::Scapy;
use weir_tests::switches::switchctl;
use weir_tests::{until, Bench, LOSSLESS, PING_THREE};

const FRAME: &str =
    "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Dot1Q(vlan=0, prio=3) / IP(src='10.0.0.1', dst='10.0.0.2', tos=1) / UDP(dport=4791) / Raw(bytes(100))";
const FRAMES: u32 = 100;

fn bench(impair: bool) -> Bench {
    Bench::new(&["link-defaults.rate=100Mbit"], |config| {
        config.dataplane.impair = impair;
    })
}

fn run(bench: &Bench, words: &[&str]) -> Output {
    switchctl(&bench.switch.config.api_socket)
        .arg("--json")
        .arg("impair")
        .args(words)
        .output()
        .unwrap()
}

fn good(bench: &Bench, words: &[&str]) -> Value {
    let output = run(bench, words);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(bench: &Bench, words: &[&str], expected: &str) {
    let output = run(bench, words);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && told.contains(expected),
        "{words:?}: {told}"
    );
}

fn impairments(bench: &Bench) -> Vec<Impairment> {
    bench.switch.get("/v1/impairments").unwrap()
}

fn events(bench: &Bench, kind: &str) -> Vec<Event> {
    let page: EventPage = bench.switch.get("/v1/events?after=0").unwrap();
    let events = page.events.into_iter();
    events.filter(|event| event.kind == kind).collect()
}

fn sent_to_h2(bench: &Bench) -> u64 {
    let queues: Vec<weir_api::daemon::Queue> = bench.switch.get("/v1/queues").unwrap();
    let mut queues = queues.iter();
    let queue = queues.find(|queue| queue.port == "h2" && queue.priority == LOSSLESS);
    queue.unwrap().tx_frames_total
}

#[test]
fn a_switch_in_production_does_not_let_itself_be_impaired() {
    let bench = bench(false);
    let drop = ["drop", "h1", "--for", "1s"];
    refused(&bench, &drop, "set dataplane.impair = true");
    assert_eq!(impairments(&bench), []);
    bench.end();
}

#[test]
fn frames_are_dropped_and_marked_as_asked_and_it_ends_by_itself() {
    let bench = bench(true);
    let mut h1 = Scapy::start(&bench, "h1");
    let filter = "udp and dst port 4791";
    let drop = [
        "drop", "h1", "--filter", filter, "--one-in", "4", "--for", "10min",
    ];
    let began = good(&bench, &drop);
    h1.send(FRAMES, FRAME);
    until("all but a quarter have left", || {
        (sent_to_h2(&bench) >= 75).then_some(())
    });
    assert_eq!(bench.drops("h1", "impaired"), 25);
    let listed = impairments(&bench);
    assert_eq!(
        (listed[0].matched_total, listed[0].impaired_total),
        (100, 25)
    );
    assert_eq!(bench.metric("weir_impairments"), 1);
    let status: Status = bench.switch.get("/v1/status").unwrap();
    assert_eq!(status.impairment_count, 1);
    assert_eq!(events(&bench, "impairment_began").len(), 1);
    let id = began["id"].to_string();
    good(&bench, &["stop", &id]);
    until("it is over", || {
        impairments(&bench).is_empty().then_some(())
    });
    h1.send(FRAMES, FRAME);
    until("all have left", || {
        (sent_to_h2(&bench) >= 175).then_some(())
    });
    assert_eq!(bench.drops("h1", "impaired"), 25);

    good(&bench, &["mark", "h1", "--one-in", "10", "--for", "10min"]);
    h1.send(FRAMES, FRAME);
    until("all have left", || {
        (sent_to_h2(&bench) >= 275).then_some(())
    });
    let marked = format!("weir_ecn_marked_frames_total{{port=\"h1\",priority=\"{LOSSLESS}\"}}");
    assert_eq!(bench.metric(&marked), 10);
    good(&bench, &["stop"]);

    // It ends without a command.
    good(&bench, &["drop", "h1", "--for", "100ms"]);
    until("its time is over", || {
        impairments(&bench).is_empty().then_some(())
    });
    until("all ends are told", || {
        (events(&bench, "impairment_ended").len() == 3).then_some(())
    });

    refused(&bench, &["drop", "h9", "--for", "1s"], "no such port");
    refused(&bench, &["drop", "h1", "--for", "2h"], "seconds must be");
    refused(
        &bench,
        &["drop", "h1", "--filter", "dropped", "--for", "1s"],
        "before the switch has decided",
    );
    refused(
        &bench,
        &["drop", "h1", "--filter", "udp prt 3", "--for", "1s"],
        "prt",
    );
    refused(
        &bench,
        &[
            "pause",
            "h1",
            "--priority",
            "0",
            "--on",
            "1ms",
            "--every",
            "10ms",
            "--for",
            "1s",
        ],
        "does not pause",
    );
    refused(
        &bench,
        &["flap", "h1", "--on", "2s", "--every", "1s", "--for", "9s"],
        "period_seconds must be",
    );
    refused(&bench, &["stop", "77"], "no impairment 77");
    assert_eq!(impairments(&bench), []);
    bench.end();
}

#[test]
fn a_delay_is_visible_to_ping() {
    let bench = bench(true);
    bench.give_addresses();
    // Nothing is flooded here, so ARP is impossible.
    let device = bench.host_device();
    for (host, other, mac) in [
        ("h1", "10.99.0.2", "02:57:00:00:00:02"),
        ("h2", "10.99.0.1", "02:57:00:00:00:01"),
    ] {
        bench.output(
            host,
            &[
                "ip", "neigh", "replace", other, "lladdr", mac, "dev", device,
            ],
        );
    }
    good(&bench, &["delay", "h1", "300ms", "--for", "10min"]);
    good(&bench, &["delay", "h2", "200ms", "--for", "10min"]);
    let text = bench.output("h1", &[&PING_THREE, &["10.99.0.2"][..]].concat());
    let times = text.lines().filter_map(|line| {
        let time = line.split("time=").nth(1)?;
        time.split(' ').next()?.parse::<f64>().ok()
    });
    let times: Vec<f64> = times.collect();
    assert_eq!(times.len(), 3, "{text}");
    assert!(times.iter().all(|time| *time >= 500.0), "{text}");
    good(&bench, &["stop"]);
    bench.end();
}

#[test]
fn neighbours_are_paused_and_links_go_down_for_a_part_of_the_time() {
    let bench = bench(true);
    let priority = LOSSLESS.to_string();
    let pause = [
        "pause",
        "h1",
        "--priority",
        &priority,
        "--on",
        "20ms",
        "--every",
        "40ms",
        "--for",
        "10min",
    ];
    good(&bench, &pause);
    refused(&bench, &pause, "already does this on the port");
    let xoff = format!(
        "weir_pfc_frames_total{{port=\"h1\",priority=\"{LOSSLESS}\",direction=\"tx\",kind=\"xoff\"}}"
    );
    let xon = xoff.replace("xoff", "xon");
    until("it is paused again and again", || {
        (bench.metric(&xoff) >= 5 && bench.metric(&xon) >= 5).then_some(())
    });
    good(&bench, &["stop"]);
    until("it is over", || {
        impairments(&bench).is_empty().then_some(())
    });
    assert!(!bench.pfc("h1").pausing);

    good(
        &bench,
        &[
            "flap", "h2", "--on", "20ms", "--every", "60ms", "--for", "10min",
        ],
    );
    until("the link goes down again and again", || {
        (events(&bench, "link_down").len() >= 3).then_some(())
    });
    good(&bench, &["stop"]);
    until("it is over", || {
        impairments(&bench).is_empty().then_some(())
    });
    assert!(bench.port("h2").link_up);
    let mut h1 = Scapy::start(&bench, "h1");
    h1.send(FRAMES, FRAME);
    until("all have left", || {
        (sent_to_h2(&bench) >= u64::from(FRAMES)).then_some(())
    });
    bench.end();
}
