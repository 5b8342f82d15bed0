//! The book's first switch, with its configuration: ordinary hosts at line rate lose nothing, and one that sends faster than
//! its line and ignores pauses is reported within two seconds, in one line per second.

use std::path::Path;
use std::time::{Duration, Instant};

use weir_api::daemon::Health;
use weir_api::words::{Trouble, Verdict};
use weir_config::daemon::DaemonConfig;
use weir_tests::book::block::Use;
use weir_tests::book::pages;
use weir_tests::{until, Bench};

const PAGE: &str = "docs/src/guide/first-switch.md";
const RECEIVER: &str = "10.99.0.2";
const LINE: &str = "the host ignores our pauses (weir-host, `police`, or more headroom)";
/// End of the port's log lines; the line about health has no port.
const LOGGED: &str = "or more headroom) port=\"h1\"";

/// Returns `s1.toml` of the page.
fn configuration() -> DaemonConfig {
    let page = pages()
        .into_iter()
        .find(|page| page.path == Path::new(PAGE));
    let blocks = page.expect(PAGE).blocks;
    let file = blocks
        .iter()
        .find(|block| matches!(&block.used, Use::File(name) if name == "s1.toml"))
        .expect("the page has s1.toml");
    DaemonConfig::parse(&file.text, Path::new("s1.toml")).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the words after `tc qdisc add dev eth0` on the page.
fn shaper() -> Vec<String> {
    let page = pages()
        .into_iter()
        .find(|page| page.path == Path::new(PAGE));
    let blocks = page.expect(PAGE).blocks;
    let mut lines = blocks.iter().flat_map(|block| block.text.lines());
    let line = lines.find_map(|line| line.split_once("tc qdisc add dev eth0 "));
    let (_, words) = line.expect("the page gives hosts a line rate");
    words.split_whitespace().map(str::to_owned).collect()
}

fn bench() -> Bench {
    let book = configuration();
    let bench = Bench::new(&[], |config| {
        config.classes.clone_from(&book.classes);
        config.forwarding = book.forwarding;
        config.routes.clear();
        for (port, said) in config.ports.iter_mut().zip(&book.ports) {
            (port.rate, port.police) = (said.rate, said.police);
        }
    });
    bench.give_addresses();
    bench
}

fn limit(bench: &Bench, host: &str) {
    let shaper = shaper();
    let mut words = vec!["tc", "qdisc", "replace", "dev", bench.host_device()];
    words.extend(shaper.iter().map(String::as_str));
    bench.output(host, &words);
}

/// Returns delivered bytes, and TCP's retransmitted segments; `None` while there is no server.
fn iperf(bench: &Bench, options: &[&str]) -> Option<(u64, u64)> {
    let mut client = bench.command("h1", "iperf3");
    client.args(["--client", RECEIVER, "--json"]).args(options);
    let report: serde_json::Value =
        serde_json::from_slice(&client.output().unwrap().stdout).ok()?;
    let end = &report["end"];
    let received = end["sum_received"]["bytes"].as_u64()?;
    Some((received, end["sum_sent"]["retransmits"].as_u64()?))
}

fn health(bench: &Bench) -> Health {
    bench.switch.status().unwrap().health.unwrap()
}

fn dropped(bench: &Bench) -> u64 {
    bench.switch.status().unwrap().drops_total.values().sum()
}

/// Returns the seconds of the day of each log line that contains `what`.
fn log_times(bench: &Bench, what: &str) -> Vec<f64> {
    let log = std::fs::read_to_string(bench.file("s1.log")).unwrap();
    let lines = log.lines().filter(|line| line.contains(what));
    lines
        .map(|line| {
            let clock = line.split_once('T').unwrap().1;
            let clock = clock.split_once('Z').unwrap().0;
            clock
                .split(':')
                .fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
        })
        .collect()
}

#[test]
fn hosts_at_line_rate_lose_nothing_and_health_is_ok() {
    let bench = bench();
    ["h1", "h2"].iter().for_each(|host| limit(&bench, host));
    let mut server = bench.start("h2", &["iperf3", "--server", "--forceflush"]);
    let (received, again) = until("iperf3 has run", || {
        server.check().unwrap_or_else(|error| panic!("{error:#}"));
        iperf(&bench, &["--time", "2"])
    });
    assert!(received > 1_000_000, "{received} B in 2 s");
    assert_eq!((dropped(&bench), again), (0, 0), "dropped, retransmitted");
    let health = health(&bench);
    assert_eq!(health.verdict, Verdict::Ok, "{}", health.why());
    let status = weir_tests::switches::switchctl(&bench.switch.config.api_socket)
        .arg("status")
        .output()
        .unwrap();
    assert_eq!(status.status.code(), Some(0), "{status:?}");
    drop(server);
    bench.end();
}

#[test]
fn a_host_that_does_not_obey_is_told_of_within_two_seconds_and_once_a_second() {
    let bench = bench();
    limit(&bench, "h2");
    let _server = bench.start("h2", &["iperf3", "--server", "--forceflush"]);
    until("the server is there", || iperf(&bench, &["--bytes", "1K"]));
    // UDP, which does not slow down either.
    let words = [
        "iperf3",
        "--client",
        RECEIVER,
        "--udp",
        "--bitrate",
        "400M",
        "--time",
        "5",
    ];
    let mut client = bench.start("h1", &words);
    until("frames are dropped", || {
        (bench.drops("h1", "headroom_exceeded") > 0).then_some(())
    });
    let since = Instant::now();
    let told = until("health is not ok", || {
        let health = health(&bench);
        (health.verdict != Verdict::Ok).then_some(health)
    });
    let after = since.elapsed();
    assert!(after < Duration::from_secs(2), "{after:?}");
    assert_eq!(told.verdict, Verdict::Degraded, "{}", told.why());
    let mut reasons = told.reasons.iter();
    let loss = reasons
        .find(|reason| reason.kind == Trouble::LosslessLoss)
        .unwrap();
    assert_eq!((loss.port.as_deref(), loss.priority), (Some("h1"), Some(0)));
    assert!(loss.text.ends_with(LINE), "{}", loss.text);
    let status = weir_tests::switches::switchctl(&bench.switch.config.api_socket)
        .arg("status")
        .output()
        .unwrap();
    assert_eq!(status.status.code(), Some(5), "{status:?}");
    assert!(bench.metric("weir_headroom_dropped_frames_total{port=\"h1\",priority=\"0\"}") > 0);

    until("the host is told of three times", || {
        (log_times(&bench, LOGGED).len() >= 3).then_some(())
    });
    until("the host has ended", || {
        client.check().is_err().then_some(())
    });
    let times = log_times(&bench, LOGGED);
    for pair in times.windows(2) {
        assert!(
            (pair[1] - pair[0]).abs() > 0.9,
            "more than one line a second: {times:?}"
        );
    }
    assert_eq!(log_times(&bench, "health is degraded").len(), 1);
    assert!(
        log_times(&bench, "headroom_exceeded").is_empty(),
        "each once more"
    );
    until("the cause is over", || {
        (health(&bench).verdict == Verdict::Ok).then_some(())
    });
    // The verdict appears before its line.
    until("the log says so", || {
        (!log_times(&bench, "health is ok again").is_empty()).then_some(())
    });
    assert_eq!(log_times(&bench, "health is ok again").len(), 1);
    bench.end();
}
