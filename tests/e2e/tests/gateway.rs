//! The gateway to senders that lower their rate by losses (Karol, section V): a kernel's TCP, which does not obey PFC, sends
//! into a fabric with Levels towards a host that is slower. It is policed at its ingress, and the fabric loses nothing.

use weir_api::daemon::Port;
use weir_core::{BitRate, Police, Priority};
use weir_tests::iperf::received_bytes;
use weir_tests::{until, Bench};

const RECEIVER: &str = "10.99.0.2";
const SLOW: BitRate = BitRate::from_mbit(20);

/// Builds a switch: `h1` sends at up to 100 Mbit/s, `h2` accepts 20 Mbit/s; all untagged frames are in the class with
/// Levels.
fn bench(police: Police) -> Bench {
    let bench = Bench::of("gateway.toml", &[], |config| {
        config.forwarding.learning = true;
        config.routes.clear();
        for port in &mut config.ports {
            port.default_priority = Priority::ALL[3];
            match port.name.as_str() {
                "h1" => port.police = police,
                "h2" => port.rate = SLOW,
                _ => {}
            }
        }
    });
    let device = bench.host_device();
    for (host, address) in [("h1", "10.99.0.1/24"), ("h2", "10.99.0.2/24")] {
        bench.output(host, &["ip", "address", "add", address, "dev", device]);
        bench.output(host, &["sysctl", "-qw", "net.ipv4.tcp_ecn=1"]);
    }
    bench
}

/// Runs four TCP streams for three seconds, repeatedly until the edge has signalled congestion (their windows must exceed
/// the fabric's capacity); returns the bytes delivered in the last round.
fn run_tcp(bench: &Bench, told: impl Fn() -> u64) -> u64 {
    let mut server = bench.start("h2", &["iperf3", "--server", "--forceflush"]);
    until("TCP is told to send less", || {
        server.check().unwrap_or_else(|error| panic!("{error:#}"));
        let received = received_bytes(bench, RECEIVER, &["--time", "3", "--parallel", "4"])?;
        (told() > 0).then_some(received)
    })
}

/// Returns the number of packets with Congestion Experienced that `h2` has received.
fn marked(bench: &Bench) -> u64 {
    let said = bench.output("h2", &["cat", "/proc/net/netstat"]);
    let mut lines = said.lines().filter_map(|line| line.strip_prefix("IpExt:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let found = names
        .split_whitespace()
        .zip(values.split_whitespace())
        .find(|(name, _)| *name == "InCEPkts");
    found.unwrap().1.parse().unwrap()
}

/// Checks that nothing was dropped except for `reason` at the policed port.
fn assert_lossless(bench: &Bench) {
    for switch in std::iter::once(&bench.switch).chain(&bench.others) {
        let ports: Vec<Port> = switch.get("/v1/ports").unwrap();
        for port in ports {
            let unexpected: Vec<_> = port
                .drops_total
                .iter()
                .filter(|(reason, count)| **count > 0 && reason.as_str() != "policed")
                .collect();
            assert!(unexpected.is_empty(), "{}: {unexpected:?}", port.name);
            let policed = port.drops_total.get("policed").copied().unwrap_or(0);
            assert!(policed == 0 || port.name == "h1", "{}", port.name);
            assert_eq!(port.kernel_losses.total(), 0, "{}", port.name);
        }
    }
}

#[test]
fn a_kernel_that_is_dropped_backs_off_and_the_fabric_loses_nothing() {
    let bench = bench(Police::Drop);
    let received = run_tcp(&bench, || bench.drops("h1", "policed"));
    assert!(received > 1_000_000, "{received} B in 3 s at 20 Mbit/s");
    let policed = bench.drops("h1", "policed");
    let sent = bench.port("h1").rx_frames_total;
    assert!(
        policed < sent / 5,
        "{policed} of {sent}: it does not back off"
    );
    assert_lossless(&bench);
    bench.end();
}

#[test]
fn a_kernel_with_ecn_is_marked_and_nothing_is_lost() {
    let bench = bench(Police::Mark);
    let received = run_tcp(&bench, || marked(&bench));
    assert!(received > 1_000_000, "{received} B in 3 s at 20 Mbit/s");
    assert_eq!(bench.drops("h1", "policed"), 0);
    assert_lossless(&bench);
    bench.end();
}
