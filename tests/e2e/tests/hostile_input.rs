//! Invalid frames are counted by reason, and the switch continues forwarding.

use weir_tests::scapy::Scapy;
use weir_tests::{until, Bench};

const GOOD: &str = "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Raw(bytes(100))";
/// Repetitions of each frame.
const COUNT: u32 = 10;

/// A frame, and the reason for which it must be counted.
const CASES: &[(&str, &str)] = &[
    // Longer than the MTU with two tags, shorter than a chunk of the UMEM.
    (
        "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Raw(bytes(1700))",
        "bad_length",
    ),
    (
        "Ether(src='03:57:00:00:00:01', dst='02:57:00:00:00:02') / Raw(bytes(50))",
        "bad_source",
    ),
    (
        "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:99') / Raw(bytes(50))",
        "no_route",
    ),
    (
        "Ether(src='02:57:00:00:00:02', dst='02:57:00:00:00:01') / Raw(bytes(50))",
        "hairpin",
    ),
    (
        "Ether(src='02:57:00:00:00:01', dst='01:80:c2:00:00:00') / Raw(bytes(50))",
        "reserved_destination",
    ),
    // MAC control: truncated after the EtherType, within the opcode, and within PFC's times; an undefined opcode.
    (
        "bytes.fromhex('0180c2000001025700000001' '8808')",
        "bad_mac_control",
    ),
    (
        "bytes.fromhex('0180c2000001025700000001' '8808' '01')",
        "bad_mac_control",
    ),
    (
        "bytes.fromhex('0180c2000001025700000001' '8808' '0101' '00ff' 'ffff')",
        "bad_mac_control",
    ),
    (
        "bytes.fromhex('0180c2000001025700000001' '8808' 'beef') + bytes(44)",
        "bad_mac_control",
    ),
    // CLCM from a host, readable or not.
    (
        "bytes.fromhex('0180c200000e025700000001' '88b5') + bytes(46)",
        "clcm_from_edge",
    ),
    (
        "bytes.fromhex('0180c200000e025700000001' '88b5')",
        "clcm_from_edge",
    ),
];

#[test]
fn bad_frames_are_counted_by_reason_and_good_ones_pass() {
    let bench = Bench::new(&[], |_| {});
    // Frames longer than the switch's MTU must first pass the kernel.
    let device = bench.host_device().to_owned();
    bench.output("h1", &["ip", "link", "set", "dev", &device, "mtu", "3000"]);
    bench.output("s1", &["ip", "link", "set", "dev", "h1", "mtu", "3000"]);
    let mut h1 = Scapy::start(&bench, "h1");
    for (number, (frame, reason)) in CASES.iter().enumerate() {
        let before = bench.drops("h1", reason);
        h1.send(COUNT, frame);
        until(&format!("{frame} is counted as {reason}"), || {
            (bench.drops("h1", reason) - before == u64::from(COUNT)).then_some(())
        });
        h1.send(1, GOOD);
        until("a good frame passes after it", || {
            (bench.port("h2").tx_frames_total == number as u64 + 1).then_some(())
        });
    }
    let status = bench.switch.status().unwrap();
    assert_eq!(status.held_frames, 0);
    let dropped: u64 = status.drops_total.values().sum();
    assert_eq!(
        dropped,
        u64::from(COUNT) * CASES.len() as u64,
        "each once: {status:?}"
    );
    drop(h1);
    bench.end();
}

#[test]
fn frames_cut_off_anywhere_do_no_harm() {
    let bench = Bench::new(&[], |_| {});
    let mut h1 = Scapy::start(&bench, "h1");
    // A tagged IP frame, truncated to each length from a bare Ethernet header on: the classifier must not read past its end,
    // and all are Ethernet frames that can be forwarded.
    let whole = "bytes(Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Dot1Q(prio=3) \
        / Dot1Q(prio=3) / IP(src='10.99.0.1', dst='10.99.0.2') / UDP() / Raw(bytes(20)))";
    for length in 14..64 {
        h1.send(1, &format!("{whole}[:{length}]"));
    }
    until("every one is forwarded or counted", || {
        let status = bench.switch.status().unwrap();
        let seen = status.admitted_frames_total + status.drops_total.values().sum::<u64>();
        (seen == 50 && status.held_frames == 0).then_some(())
    });
    // Noise of every kind and length.
    h1.send(
        1,
        "bytes(Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Raw(b'x'))",
    );
    for seed in 0..200 {
        h1.send(
            1,
            &format!("random.Random({seed}).randbytes(14 + {seed} * 7 % 1400)"),
        );
    }
    until("every one is forwarded, counted or control", || {
        let port = bench.port("h1");
        let seen: u64 = port.xdp_frames_total.values().sum();
        (seen == 50 + 201).then_some(())
    });
    let before = bench.port("h2").tx_frames_total;
    h1.send(1, GOOD);
    until("a good frame passes after it", || {
        (bench.port("h2").tx_frames_total > before).then_some(())
    });
    drop(h1);
    bench.end();
}

#[test]
fn a_flood_of_lldp_is_cut_off_and_counted() {
    const FLOOD: u32 = 3_000;
    let bench = Bench::new(&[], |_| {});
    let discarded = |reason: &str| {
        bench.metric(&format!(
            "weir_lldp_discarded_total{{port=\"h1\",reason=\"{reason}\"}}"
        ))
    };
    let mut h1 = Scapy::start(&bench, "h1");
    // It contains no LLDPDU.
    let noise =
        "Ether(src='02:57:00:00:00:01', dst='01:80:c2:00:00:0e', type=0x88cc) / Raw(bytes(60))";
    h1.send(FLOOD, noise);
    until("what came too fast is counted", || {
        (discarded("too_fast") > u64::from(FLOOD) / 2).then_some(())
    });
    let looked_at = discarded("malformed");
    assert!((1..500).contains(&looked_at), "{looked_at}");
    let seen = bench.port("h1").xdp_frames_total["lldp"];
    assert!(seen >= u64::from(FLOOD), "{seen}");
    // The switch is not slower, and forwards none of the flood's frames as its own.
    h1.send(1, GOOD);
    until("a good frame passes after it", || {
        (bench.port("h2").tx_frames_total == 1).then_some(())
    });
    let dropped: u64 = bench.switch.status().unwrap().drops_total.values().sum();
    assert_eq!(dropped, 0);
    drop(h1);
    bench.end();
}
