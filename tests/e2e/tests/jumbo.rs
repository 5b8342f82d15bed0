//! Frames longer than a chunk of packet memory: real pings, TCP and captures.

use weir_config::daemon::{DaemonConfig, Workers};
use weir_core::Bytes;
use weir_tests::iperf::received_bytes;
use weir_tests::switches::switchctl;
use weir_tests::{printed, until, Bench, PING_THREE};

/// Makes the lab's links and the switch accept frames of 9,216 B.
const LONG_FRAMES: &str = "flow.a.frame=9216B";
/// Headers of Ethernet, IPv4 and ICMP or UDP.
const HEADERS: usize = 14 + 20 + 8;
/// Part of a chunk of 2 KiB used for a frame.
const PART: usize = 2048 - 256;
const LONGEST: usize = 9216 - 2 * 4;

/// Builds a learning switch: frames with unknown destinations go to every port.
fn bench(mut change: impl FnMut(&mut DaemonConfig)) -> Bench {
    let bench = Bench::of("one-switch.toml", &[LONG_FRAMES], |config| {
        config.forwarding.learning = true;
        change(config);
    });
    bench.give_addresses();
    bench
}

/// Runs ping(8), which compares the replies with its requests.
fn ping(bench: &Bench, frame: usize) {
    let size = (frame - HEADERS).to_string();
    let how = ["-M", "do", "-p", "5a17c3", "-s", &size, "10.99.0.2"];
    let text = bench.output("h1", &[&PING_THREE, &how[..]].concat());
    assert!(text.contains(" 0% packet loss"), "{frame} B: {text}");
    assert!(!text.contains("wrong data"), "{frame} B: {text}");
}

/// Checks that nothing was lost, except for `expected`, and every chunk is back.
fn assert_balanced(bench: &Bench, expected: Option<&str>) {
    until("nothing is held", || {
        let status = bench.switch.status().unwrap();
        (status.held_frames == 0).then_some(())
    });
    let status = bench.switch.status().unwrap();
    for (reason, count) in &status.drops_total {
        let is_expected = expected == Some(reason.as_str());
        assert!(is_expected || *count == 0, "{count} for {reason}");
    }
    let text = printed(switchctl(&bench.switch.config.api_socket).arg("audit"));
    assert!(text.contains("all is accounted for"), "{text}");
    for host in ["h1", "h2"] {
        assert_eq!(bench.port(host).kernel_losses.total(), 0, "{host}");
    }
}

#[test]
fn frames_of_any_length_come_as_they_went() {
    for (chunk, workers) in [(2048, 1), (4096, 1), (2048, 2)] {
        let bench = bench(|config| {
            config.dataplane.chunk = Some(Bytes::new(chunk));
            config.dataplane.workers = Workers::Count(workers);
        });
        let ends = (1..=5).map(|parts| parts * PART);
        for frame in ends.flat_map(|end| [end - 1, end, end + 1]) {
            ping(&bench, frame);
        }
        ping(&bench, 60);
        ping(&bench, LONGEST);
        assert_balanced(&bench, None);
        bench.end();
    }
}

#[test]
fn tcp_takes_long_frames() {
    let bench = bench(|_| {});
    let _server = bench.start("h2", &["iperf3", "--server"]);
    let bytes = until("TCP gets through", || {
        received_bytes(&bench, "10.99.0.2", &["--time", "2"])
    });
    assert!(bytes > 1 << 20, "{bytes} B");
    let port = bench.port("h1");
    let mean = port.rx_bytes_total / port.rx_frames_total;
    assert!(mean > 8_000, "{mean} B a frame");
    // A lossy class: TCP probes for bandwidth by losses.
    assert_balanced(&bench, Some("buffer_full"));
    bench.end();
}

#[test]
fn a_capture_has_the_whole_frame() {
    let bench = bench(|_| {});
    let file = bench.file("long.pcapng");
    let mut capture = switchctl(&bench.switch.config.api_socket);
    capture
        .args([
            "capture", "h1", "--count", "2", "--snap", "10000", "--filter", "ip", "-w",
        ])
        .arg(&file);
    let mut capture = capture.spawn().unwrap();
    until("there are two frames in the capture", || {
        ping(&bench, LONGEST);
        capture.try_wait().unwrap()
    });
    let lengths = bench.output(
        "s1",
        &[
            "tshark",
            "-r",
            file.to_str().unwrap(),
            "-T",
            "fields",
            "-e",
            "frame.cap_len",
            "-e",
            "icmp.checksum.status",
        ],
    );
    for line in lengths.lines() {
        assert_eq!(
            line,
            format!("{LONGEST}\t1"),
            "whole, and the checksum is right"
        );
    }
    assert_eq!(lengths.lines().count(), 2, "{lengths}");
    bench.end();
}

#[test]
fn a_frame_that_is_longer_than_the_switch_takes_is_counted() {
    let bench = bench(|config| config.dataplane.mtu = Bytes::new(4000));
    ping(&bench, 4000);
    let too_long = [
        "ping",
        "-c",
        "1",
        "-W",
        "1",
        "-M",
        "do",
        "-s",
        "8000",
        "10.99.0.2",
    ];
    let output = bench
        .command("h1", too_long[0])
        .args(&too_long[1..])
        .output()
        .unwrap();
    assert!(!output.status.success(), "8,042 B do not pass");
    until("it is counted", || {
        (bench.drops("h1", "bad_length") == 1).then_some(())
    });
    ping(&bench, 4000);
    bench.end();
}
