//! Peaks for their readers, and pauses in both directions, with real frames.

use std::time::Duration;

use weir_api::client::{self, ClientError, Method};
use weir_api::daemon::{
    PauseCounters, Queue, QueueWatermarks, ReaderWatermarks, WatermarkClear, Watermarks,
};
use weir_api::words::Reader;
use weir_lab::lab::run::{run_and, Options};
use weir_tests::scapy::Scapy;
use weir_tests::switches::switchctl;
use weir_tests::{inline_scenario, printed, until, Bench, LOSSLESS};

const THREE_HOSTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/three-hosts.toml");
/// At this rate a pause of 65535 quanta lasts 3.4 s: no test machine is too slow to refresh it. One quantum is 51.2 µs.
const RATE: &str = "link-defaults.rate=10Mbit";
const FRAMES: u32 = 100;
const BURST: &str = "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Dot1Q(vlan=0, prio=3) / Raw(bytes(1000))";
const INTERVAL: weir_core::Duration = weir_core::Duration::from_secs(3);

/// Returns a PFC of the lossless priority from h2.
fn pause(quanta: u16) -> String {
    format!("bytes.fromhex('0180c2000001025700000002' '8808' '0101' '0008' '000000000000' '{quanta:04x}') + bytes(34)")
}

fn bench() -> Bench {
    Bench::of(THREE_HOSTS, &[RATE], |config| {
        config.watermark.interval = INTERVAL;
    })
}

fn readers(bench: &Bench) -> Vec<ReaderWatermarks> {
    let all: Watermarks = bench.switch.get("/v1/watermarks").unwrap();
    all.readers
}

fn of(readers: &[ReaderWatermarks], reader: Reader) -> &ReaderWatermarks {
    let mut readers = readers.iter();
    readers.find(|marks| marks.reader == reader).unwrap()
}

fn marks<'a>(marks: &'a ReaderWatermarks, port: &str) -> &'a QueueWatermarks {
    let mut queues = marks.queues.iter();
    let found = queues.find(|queue| queue.port == port && queue.priority == LOSSLESS);
    found.unwrap()
}

/// Returns ingress and headroom of h1, egress of h2.
fn peaks(of: &ReaderWatermarks) -> [u64; 3] {
    let (from, to) = (marks(of, "h1"), marks(of, "h2"));
    let headroom = from.headroom_used_bytes_max.unwrap();
    [from.ingress_bytes_max, headroom, to.egress_bytes_max]
}

fn clear(bench: &Bench, reader: Reader, ports: &[&str]) -> Result<Watermarks, ClientError> {
    let clear = WatermarkClear {
        reader: reader.into(),
        ports: ports.iter().map(|port| port.to_string()).collect(),
    };
    let (socket, limit) = (&bench.switch.config.api_socket, Duration::from_secs(30));
    client::send(
        socket,
        Method::POST,
        "/v1/watermarks/clear",
        Some(&clear),
        limit,
    )
}

fn queue(bench: &Bench, port: &str) -> Queue {
    let all: Vec<Queue> = bench.switch.get("/v1/queues").unwrap();
    let mut all = all.into_iter();
    let found = all.find(|queue| queue.port == port && queue.priority == LOSSLESS);
    found.unwrap()
}

/// Sends frames from h1 to h2, which pauses them until all have arrived. Returns the resulting peaks.
fn burst(bench: &Bench, h1: &mut Scapy, h2: &mut Scapy) -> [u64; 3] {
    h2.send(1, &pause(u16::MAX));
    until("h2 pauses", || {
        h2.send(1, &pause(u16::MAX));
        bench.pfc("h2").paused.then_some(())
    });
    h1.send(FRAMES, BURST);
    until("all wait", || {
        h2.send(1, &pause(u16::MAX));
        (queue(bench, "h2").egress_frames == u64::from(FRAMES)).then_some(())
    });
    let (from, to) = (queue(bench, "h1"), queue(bench, "h2"));
    let pfc = bench.pfc("h1");
    let headroom = from.ingress_bytes - pfc.xoff_bytes;
    assert!(headroom > 0, "the burst is too small for the headroom");
    h2.send(1, &pause(0));
    until("all have left", || {
        (queue(bench, "h2").egress_frames == 0).then_some(())
    });
    until("their memory is back", || {
        (queue(bench, "h1").ingress_bytes == 0).then_some(())
    });
    [from.ingress_bytes, headroom, to.egress_bytes]
}

#[test]
fn a_burst_is_seen_afterwards_and_a_clear_is_for_its_reader_alone() {
    let bench = bench();
    let (mut h1, mut h2) = (Scapy::start(&bench, "h1"), Scapy::start(&bench, "h2"));
    let expected = burst(&bench, &mut h1, &mut h2);
    let all = readers(&bench);
    for reader in [Reader::User, Reader::Persistent] {
        let marks = of(&all, reader);
        assert_eq!(peaks(marks), expected, "{}", reader.name());
        assert!(marks.held_frames_max >= u64::from(FRAMES));
    }
    assert_eq!(bench.pfc("h1").headroom_used_bytes_max, expected[1]);
    for (name, port, peak) in [
        ("ingress_max", "h1", expected[0]),
        ("headroom_used_max", "h1", expected[1]),
        ("egress_max", "h2", expected[2]),
    ] {
        let labels = format!("port=\"{port}\",priority=\"3\",reader=\"persistent\"");
        let metric = bench.metric(&format!("weir_{name}_bytes{{{labels}}}"));
        assert_eq!(metric, peak, "{name}");
    }

    until("the interval with the burst is over", || {
        let all = readers(&bench);
        let mut all = all.iter();
        let telemetry = all.find(|marks| marks.reader == Reader::Telemetry)?;
        (peaks(telemetry) == expected).then_some(())
    });
    assert_eq!(
        bench.pfc("h1").telemetry_headroom_used_bytes_max,
        Some(expected[1])
    );
    until("an interval without it is over", || {
        let all = readers(&bench);
        (peaks(of(&all, Reader::Telemetry)) == [0; 3]).then_some(())
    });

    // One port, for one reader.
    clear(&bench, Reader::User, &["h1"]).unwrap();
    let all = readers(&bench);
    assert_eq!(peaks(of(&all, Reader::User)), [0, 0, expected[2]]);
    assert!(of(&all, Reader::User).held_frames_max >= u64::from(FRAMES));
    assert_eq!(peaks(of(&all, Reader::Persistent)), expected);
    // The whole list, by command.
    let socket = &bench.switch.config.api_socket;
    let text = printed(switchctl(socket).args(["watermark", "clear"]));
    assert!(text.contains("headroom"), "{text}");
    let all = readers(&bench);
    assert_eq!(peaks(of(&all, Reader::User)), [0; 3]);
    assert!(of(&all, Reader::User).held_frames_max < u64::from(FRAMES));
    assert_eq!(peaks(of(&all, Reader::Persistent)), expected);
    // Later values count for both.
    assert_eq!(burst(&bench, &mut h1, &mut h2), expected);
    clear(&bench, Reader::Persistent, &[]).unwrap();
    let all = readers(&bench);
    assert_eq!(peaks(of(&all, Reader::User)), expected);
    assert_eq!(peaks(of(&all, Reader::Persistent)), [0; 3]);
    assert_eq!(bench.pfc("h1").headroom_used_bytes_max, 0);

    let refused = |reader, ports: &[&str]| clear(&bench, reader, ports).unwrap_err().to_string();
    let by_itself = refused(Reader::Telemetry, &[]);
    assert!(by_itself.contains("[watermark] interval"), "{by_itself}");
    let unknown = refused(Reader::User, &["h1", "h9"]);
    assert!(unknown.contains("no such port: `h9`"), "{unknown}");
    drop((h1, h2));
    bench.end();
}

fn counters(all: &[PauseCounters], port: &str) -> PauseCounters {
    let mut all = all.iter();
    let found = all.find(|counters| counters.port == port && counters.priority == LOSSLESS);
    found.unwrap().clone()
}

fn counted(bench: &Bench, port: &str) -> PauseCounters {
    counters(
        &bench.switch.get::<Vec<_>>("/v1/pfc/counters").unwrap(),
        port,
    )
}

/// A host pauses, refreshes, resumes, and lets a pause expire; its neighbour at the other port is paused meanwhile.
#[test]
fn pauses_count_as_they_were_sent_and_received() {
    let bench = bench();
    let (mut h1, mut h2) = (Scapy::start(&bench, "h1"), Scapy::start(&bench, "h2"));
    assert_eq!(counted(&bench, "h2").received, Default::default());
    h2.send(1, &pause(u16::MAX));
    until("h2 pauses", || bench.pfc("h2").paused.then_some(()));
    h1.send(FRAMES, BURST);
    until("all wait", || {
        (queue(&bench, "h2").egress_frames == u64::from(FRAMES)).then_some(())
    });
    h2.send(3, &pause(u16::MAX));
    let held = until("the refreshes have come", || {
        let received = counted(&bench, "h2").received;
        (received.xoff_frames_total == 4).then_some(received)
    });
    assert_eq!((held.transitions_total, held.paused), (1, true));
    assert_eq!((held.xon_frames_total, held.last_ended), (0, None));
    let paused = counted(&bench, "h1").sent;
    assert_eq!((paused.transitions_total, paused.paused), (1, true));

    h2.send(1, &pause(0));
    let over = until("it is over", || {
        let received = counted(&bench, "h2").received;
        (received.xon_frames_total == 1).then_some(received)
    });
    assert_eq!((over.transitions_total, over.paused), (1, false));
    let began = held.last_began_monotonic_nanos.unwrap();
    assert_eq!(over.last_began_monotonic_nanos, Some(began));
    let lasted = over.last_ended_monotonic_nanos.unwrap() - began;
    let seconds = lasted as f64 / 1e9;
    assert!((over.paused_seconds_total - seconds).abs() < 1e-9);
    assert!((over.longest_seconds - seconds).abs() < 1e-9);
    until("h1 may go on", || {
        let sent = counted(&bench, "h1").sent;
        (sent.xon_frames_total == 1 && !sent.paused).then_some(())
    });
    let sent = counted(&bench, "h1").sent;
    assert_eq!(
        sent.transitions_total, 1,
        "all others are refreshes: {sent:?}"
    );
    assert!(sent.xoff_frames_total >= 1 && sent.longest_seconds > 0.0);

    // A pause without a resume expires: 256 quanta.
    h2.send(1, &pause(256));
    let out = until("it has run out", || {
        let received = counted(&bench, "h2").received;
        (received.transitions_total == 2 && !received.paused).then_some(received)
    });
    let began = out.last_began_monotonic_nanos.unwrap();
    assert_eq!(out.last_ended_monotonic_nanos, Some(began + 256 * 51_200));

    let text = printed(switchctl(&bench.switch.config.api_socket).args(["pfc", "counters"]));
    let line = text.lines().find(|line| line.starts_with("h2")).unwrap();
    let frames: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(frames[1 + usize::from(LOSSLESS)], "6", "{text}");
    drop((h1, h2));
    bench.end();
}

const TWO_INTO_ONE: &str = r#"
name = "two-into-one"
duration = "2s"
seed = 1

[link-defaults]
rate = "25Mbit"

[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "30KiB"
xon = "24KiB"
headroom = "512KiB"

[[switch]]
name = "s1"

[[host]]
name = "h1"
switch = "s1"

[[host]]
name = "h2"
switch = "s1"

[[host]]
name = "h3"
switch = "s1"

[[flow]]
name = "a"
from = "h1"
to = "h3"
class = "lossless"

[[flow]]
name = "b"
from = "h2"
to = "h3"
class = "lossless"

[expect]
lost = 0
"#;

/// The lab's hosts count the received PFC frames.
#[test]
fn hosts_have_got_the_pauses_that_the_switch_counts() {
    let scenario = inline_scenario("two-into-one.toml", TWO_INTO_ONE);
    let options = Options {
        quiet: true,
        ..Options::default()
    };
    let look = |stage: &weir_lab::lab::stage::Stage| {
        Ok(stage.switches[0].get::<Vec<PauseCounters>>("/v1/pfc/counters")?)
    };
    let (result, all) =
        run_and(&scenario, options, look).unwrap_or_else(|error| panic!("{error:#}"));
    assert!(result.expectations.iter().all(|expected| expected.held));
    let mut pauses = 0;
    for buffer in result.buffers.iter().filter(|buffer| buffer.port != "h3") {
        // The host got as many XOFF and XON as the switch has sent.
        assert_eq!(buffer.pauses_lost, 0);
        let sent = counters(&all, &buffer.port).sent;
        assert_eq!(sent.xoff_frames_total, buffer.xoff_sent, "{sent:?}");
        assert!(!sent.paused, "it has drained");
        // Each ends with its XON, except those that the switch refreshed too late.
        assert!(sent.transitions_total >= buffer.pauses);
        assert!(sent.transitions_total <= sent.xoff_frames_total);
        pauses += sent.transitions_total;
    }
    assert!(pauses > 10, "{pauses}");
}
