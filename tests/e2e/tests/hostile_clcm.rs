//! CLCM without a loop: from a host, forged, replayed, truncated, or with the maximum number of hops. Counted and ignored;
//! no port is released.

use weir_core::control::Policy;
use weir_core::PortRole;
use weir_tests::scapy::Scapy;
use weir_tests::{until, Bench, LOSSLESS};

/// Repetitions of each frame.
const COUNT: u64 = 10;

/// Python that builds CLCM: kind, CurPhase, CurIndex, and hops of (SPUID, egress port).
const CLCM: &str =
    "(lambda kind, phase, index, hops: bytes.fromhex('0180c200000e025700000002' '88b5') \
    + struct.pack('!HBBBBBBHI', 0x5743, 1, kind, 3, phase, index, len(hops), 0, hops[0][0]) \
    + b''.join(struct.pack('!IHH', spuid, port, 0) for spuid, port in hops))";

/// Holds the lossless priority of the switch's port forever.
const PAUSE: &str = "
import socket, sys, time
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0))
frame = bytes.fromhex('0180c2000001025700000002' '8808' '0101' '0008') + bytes(6) + b'\\xff\\xff' + bytes(34)
while True:
    out.send(frame)
    time.sleep(0.05)
";

#[test]
fn clcm_that_no_loop_made_releases_nothing() {
    let bench = Bench::new(&[], |config| {
        config.deadlock.policy = Policy::Auto;
        // The second host acts as a switch.
        let port = config.ports.iter_mut().find(|port| port.name == "h2");
        port.unwrap().role = PortRole::Fabric;
    });
    let device = bench.host_device().to_owned();
    let _pause = bench.start("h2", &["python3", "-c", PAUSE, &device]);
    until("the port is paused", || {
        bench.pfc("h2").paused.then_some(())
    });
    let mut host = Scapy::start(&bench, "h1");
    let mut neighbour = Scapy::start(&bench, "h2");
    host.send(
        5,
        &format!(
            "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') \
            / Dot1Q(prio={LOSSLESS}) / Raw(bytes(100))"
        ),
    );
    until("the port is suspected", || {
        (bench.switch.status().unwrap().suspected_count == 1).then_some(())
    });

    let all_hops = "[(number + 1, 1) for number in range(64)]";
    let readable = format!("{CLCM}(2, 1, 64, {all_hops})");
    expect_dropped(&bench, &mut host, "h1", &readable, "clcm_from_edge");

    // The switch's own message, as received by its neighbour.
    let own = "[frame for frame in [sniff(iface=sys.argv[1], count=1, timeout=30, \
        lfilter=lambda frame: frame.type == 0x88b5 and bytes(frame)[17] == 2)]][0][0]";
    let own_hop =
        format!("(lambda frame: (int.from_bytes(frame[28:32], 'big'), frame[33]))(bytes({own}))");
    for (frame, reason) in [
        // 64 entries: a loop elsewhere.
        (readable, "not_suspected"),
        (format!("{CLCM}(1, 1, 64, {all_hops})"), "not_suspected"),
        // Forged: a release with a foreign identifier, and an election with the lowest possible.
        (
            format!("{CLCM}(2, 2, 0, [(0xdeadbeef, 1)])"),
            "unknown_spuid",
        ),
        (format!("{CLCM}(1, 1, 1, [(1, 1)])"), "not_suspected"),
        // Replayed unchanged, and changed to a release by someone who has overheard the identifier.
        (own.to_owned(), "not_on_loop"),
        (format!("{CLCM}(2, 2, 0, [{own_hop}])"), "not_on_loop"),
    ] {
        let series = format!("weir_clcm_ignored_total{{reason=\"{reason}\"}}");
        let before = bench.metric(&series);
        neighbour.send(COUNT as u32, &frame);
        until(&format!("{frame} is ignored as {reason}"), || {
            (bench.metric(&series) == before + COUNT).then_some(())
        });
    }
    // Truncated anywhere, too many hops, and a CurIndex past the last hop.
    for length in [14, 15, 16, 20, 23, 27, 28, 35] {
        let frame = format!("{CLCM}(2, 1, 1, [(7, 1)])[:{length}]");
        expect_dropped(&bench, &mut neighbour, "h2", &frame, "bad_clcm");
    }
    let too_many = "[(number + 1, 1) for number in range(65)]";
    for frame in [
        format!("{CLCM}(2, 1, 65, {too_many})"),
        format!("{CLCM}(2, 2, 1, [(7, 1)])"),
        format!("{CLCM}(1, 2, 0, [(7, 1)])"),
    ] {
        expect_dropped(&bench, &mut neighbour, "h2", &frame, "bad_clcm");
    }

    let status = bench.switch.status().unwrap();
    assert_eq!(status.suspected_count, 1, "as stuck as before");
    assert_eq!(status.clcm.loops_found_total, 0);
    assert_eq!(status.clcm.releases_total, 0);
    assert_eq!(status.held_frames, 5, "nothing has left");
    drop((host, neighbour));
}

fn expect_dropped(bench: &Bench, from: &mut Scapy, port: &str, frame: &str, reason: &str) {
    let before = bench.drops(port, reason);
    from.send(COUNT as u32, frame);
    until(&format!("{frame} is counted as {reason}"), || {
        (bench.drops(port, reason) == before + COUNT).then_some(())
    });
}
