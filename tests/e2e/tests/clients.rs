//! Ordinary kernels communicate through the switch: ARP, ICMP, TCP and UDP.

use weir_tests::iperf::received_bytes;
use weir_tests::{until, Bench, PING_THREE};

/// Creates a learning switch between two hosts with IP addresses.
fn bench() -> Bench {
    let bench = Bench::new(&[], |config| {
        config.forwarding.learning = true;
        config.routes.clear();
    });
    bench.give_addresses();
    bench
}

#[test]
fn ping_loses_nothing() {
    let bench = bench();
    for _ in 0..20 {
        let said = bench.output("h1", &[&PING_THREE, &["10.99.0.2"][..]].concat());
        assert!(said.contains("3 received, 0% packet loss"), "{said}");
    }
    bench.end();
}

#[test]
fn tcp_and_udp_bytes_arrive() {
    let bench = bench();
    let mut server = bench.start("h2", &["iperf3", "--server", "--forceflush"]);
    for protocol in [
        &["--time", "2"][..],
        &["--udp", "--bitrate", "20M", "--time", "2"],
    ] {
        let received = until("the server answers", || {
            server.check().unwrap_or_else(|error| panic!("{error:#}"));
            received_bytes(&bench, "10.99.0.2", protocol)
        });
        assert!(received > 100_000, "{protocol:?}: {received} B");
    }
    for host in ["h1", "h2"] {
        let port = bench.port(host);
        assert!(
            port.rx_bytes_total > 0 && port.tx_bytes_total > 0,
            "{port:?}"
        );
        assert_eq!(port.kernel_losses.total(), 0, "{port:?}");
    }
    drop(server);
    bench.end();
}
