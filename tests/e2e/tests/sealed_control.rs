//! CLCM with the fabric's key, on real frames: a ring whose switches have it is released; an attacker in a neighbour's place
//! who forges, changes or repeats messages has no effect. The neighbour is written in Python according to the book.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use weir_config::daemon::DaemonConfig;
use weir_core::control::Policy;
use weir_core::PortRole;
use weir_lab::lab::stage::Stage;
use weir_tests::scapy::Scapy;
use weir_tests::{scenario, switches, tear_down, until, Bench, PATIENT_DETECTION};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
/// Repetitions of each frame.
const COUNT: u64 = 10;

fn give_key(config: &mut DaemonConfig, directory: &Path) {
    let path = directory.join(format!("{}.key", config.name));
    std::fs::write(&path, format!("{KEY}\n")).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    config.control_frames.key_file = Some(path);
}

#[test]
fn a_ring_with_a_key_is_released() {
    let scenario = scenario("ring4.toml", &["deadlock.policy=breaker", "duration=600s"]);
    let keys = tempfile::tempdir().unwrap();
    let mut stage = Stage::set_up_with(&scenario, false, |config| give_key(config, keys.path()))
        .unwrap_or_else(|error| panic!("{error:#}"));
    stage
        .start_hosts(&scenario)
        .unwrap_or_else(|error| panic!("{error:#}"));
    until("the ring has locked and was released five times", || {
        let releases = stage.switches.iter().map(|switch| {
            let status = switch.status().unwrap();
            status.clcm.releases_total
        });
        (releases.sum::<u64>() >= 5).then_some(())
    });
    for switch in &stage.switches {
        let ports: Vec<weir_api::daemon::Port> = switch.get("/v1/ports").unwrap();
        for port in ports {
            assert!(
                port.drops_total.values().all(|drops| *drops == 0),
                "{port:?}"
            );
        }
    }
    tear_down(stage);
}

/// Returns Python for `message` (bytes) sealed with `key` for the receiver of `nonce`; a greeting has none.
fn sealed(message: &str, key: &str, sequence: &str, nonce: &str) -> String {
    format!(
        "(lambda signed: signed + __import__('hmac').new(bytes.fromhex('{key}'), signed + {nonce}, 'sha256').digest()[:16])\
         ({message} + b'WS\\x01\\x00' + struct.pack('!Q', {sequence}))"
    )
}

const HEADER: &str = "bytes.fromhex('0180c200000e' '025700000002' '88b5')";

fn greeting(own: u64, heard: &str) -> String {
    format!("{HEADER} + b'WG\\x01\\x00\\x00\\x00' + struct.pack('!Q', {own}) + {heard} + bytes(24)")
}

/// A CLCM with one hop in the detection phase.
const CLCM: &str = "(bytes.fromhex('0180c200000e' '025700000002' '88b5') \
    + struct.pack('!HBBBBBBHI', 0x5743, 1, 2, 3, 1, 1, 1, 0, 7) + struct.pack('!IHH', 7, 1, 0) + bytes(24))";

/// Nonce sent by the switch at this port.
const NONCE: &str = "bytes(sniff(iface=sys.argv[1], count=1, timeout=60, lfilter=lambda frame: frame.type == 0x88b5 \
    and frame.src != '02:57:00:00:00:02' and bytes(frame)[14:16] == b'WG')[0])[20:28]";

#[test]
fn an_attacker_who_forges_changes_or_repeats_gets_nothing() {
    let keys = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(&[PATIENT_DETECTION], |config| {
        config.deadlock.policy = Policy::Auto;
        for port in &mut config.ports {
            port.role = PortRole::Fabric;
        }
        give_key(config, keys.path());
    });
    let mut neighbour = Scapy::start(&bench, "h2");
    let mut elsewhere = Scapy::start(&bench, "h1");
    let other_key = KEY.replace('f', "e");

    // Without a seal, with another key's, and with the switch's greeting reflected.
    expect_dropped(&bench, &mut neighbour, "h2", CLCM, "unauthentic");
    let forged = sealed(CLCM, &other_key, "10**18", "bytes(8)");
    expect_dropped(&bench, &mut neighbour, "h2", &forged, "unauthentic");
    let forged = sealed(&greeting(5, "bytes(8)"), &other_key, "10**18", "b''");
    expect_dropped(&bench, &mut neighbour, "h2", &forged, "unauthentic");

    // Each message of a neighbour written according to the book is accepted, once.
    neighbour.send(0, &format!("(nonce := {NONCE})"));
    let met = sealed(&greeting(0xabcdef, "nonce"), KEY, "1000", "b''");
    neighbour.send(1, &format!("(met := {met})"));
    let heard = "weir_clcm_ignored_total{reason=\"not_suspected\"}";
    let before = bench.metric(heard);
    let replayed = bench.drops("h2", "replayed");
    let good = sealed(CLCM, KEY, "2000", "nonce");
    neighbour.send(COUNT as u32, &format!("(good := {good})"));
    until("the message counts once, and all else as replayed", || {
        let seen = bench.metric(heard) == before + 1;
        (seen && bench.drops("h2", "replayed") == replayed + COUNT - 1).then_some(())
    });

    // Changed in its priority, its sequence number or its code; repeated; truncated; sealed for another link.
    for (changed, reason) in [
        ("good[:18] + b'\\x04' + good[19:]", "unauthentic"),
        ("good[:-17] + b'\\xff' + good[-16:]", "unauthentic"),
        ("good[:-1] + bytes([good[-1] ^ 1])", "unauthentic"),
        ("good[:-1]", "unauthentic"),
        ("good + bytes(1)", "unauthentic"),
        ("good", "replayed"),
        ("met", "replayed"),
    ] {
        expect_dropped(&bench, &mut neighbour, "h2", changed, reason);
    }
    let sealed_for_h2 = format!(
        "(lambda nonce: {})({NONCE}[:7] + b'\\x00')",
        sealed(CLCM, KEY, "3000", "nonce")
    );
    expect_dropped(&bench, &mut elsewhere, "h1", &sealed_for_h2, "unauthentic");

    // The switch restarts: earlier messages are void, and the neighbour is accepted again.
    switches::end(&mut bench.switch);
    switches::start(&mut bench.switch);
    expect_dropped(&bench, &mut neighbour, "h2", "good", "unauthentic");
    neighbour.send(1, "met");
    expect_dropped(&bench, &mut neighbour, "h2", "good", "unauthentic");
    neighbour.send(0, &format!("(nonce := {NONCE})"));
    let met = sealed(&greeting(0xabcdef, "nonce"), KEY, "4000", "b''");
    neighbour.send(1, &met);
    let before = bench.metric(heard);
    neighbour.send(1, &sealed(CLCM, KEY, "5000", "nonce"));
    until("the neighbour is heard again", || {
        (bench.metric(heard) == before + 1).then_some(())
    });
    assert_eq!(bench.switch.status().unwrap().clcm.releases_total, 0);
    drop((neighbour, elsewhere));
    bench.end();
}

fn expect_dropped(bench: &Bench, from: &mut Scapy, port: &str, frame: &str, reason: &str) {
    let before = bench.drops(port, reason);
    from.send(COUNT as u32, frame);
    until(&format!("{frame} is counted as {reason}"), || {
        (bench.drops(port, reason) == before + COUNT).then_some(())
    });
}

const FLOOD: &str = "
import socket, sys
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0))
resume = bytes.fromhex('0180c2000001025700000001' '8808' '0101' '00ff') + bytes(44)
clcm = bytes.fromhex('0180c200000e025700000001' '88b5' '5743') + bytes(44)
while True:
    for number in range(64):
        out.send(resume)
        out.send(clcm)
";

/// A host that sends only control frames does not delay others' data, and is counted. It may crowd out its own answers,
/// which share a queue with its flood, so the test counts the requests that reach it.
#[test]
fn a_flood_of_control_frames_takes_nothing_from_data() {
    const REQUESTS: u64 = 50;
    let bench = Bench::new(&[PATIENT_DETECTION], |config| {
        config.forwarding.learning = true;
        config.routes.clear();
        config.control_frames.pause_rate = Some(1000);
        config.control_frames.message_rate = Some(1000);
    });
    bench.give_addresses();
    // Both know each other's address, and the switch has learned them.
    bench.output("h2", &["ping", "-c", "1", "-W", "60", "10.99.0.1"]);
    let device = bench.host_device().to_owned();
    let flood = bench.start("h1", &["python3", "-c", FLOOD, &device]);
    until(
        "more is dropped than a minute of the limit lets through",
        || (bench.drops("h1", "control_rate") > 60_000).then_some(()),
    );
    let before = requests_heard(&bench);
    let count = REQUESTS.to_string();
    bench.output(
        "h2",
        &["ping", "-c", &count, "-i", "0.02", "-W", "10", "10.99.0.1"],
    );
    until("every request reaches the host that floods", || {
        (requests_heard(&bench) == before + REQUESTS).then_some(())
    });
    // CLCM from a host is also ignored beyond the limit.
    let port = bench.port("h1");
    let taken = port.drops_total["clcm_from_edge"];
    assert!(taken < port.drops_total["control_rate"], "{port:?}");
    drop(flood);
    bench.end();
}

/// Returns the number of echo requests received by the kernel of `h1`.
fn requests_heard(bench: &Bench) -> u64 {
    let said = bench.output("h1", &["nstat", "-asz", "IcmpInEchos"]);
    let count = said
        .lines()
        .find_map(|line| line.strip_prefix("IcmpInEchos"));
    let count = count.and_then(|rest| rest.split_whitespace().next());
    count.unwrap_or_else(|| panic!("{said}")).parse().unwrap()
}
