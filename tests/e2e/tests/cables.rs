//! Headroom by cable length with real frames: its use at a port, and the report of a longer round trip.

use std::process::Output;

use weir_api::daemon::Cable;
use weir_config::units::parse_duration;
use weir_core::Bytes;
use weir_lab::lab::process::program;
use weir_tests::scapy::Scapy;
use weir_tests::switches::{events, switchctl};
use weir_tests::{until, Bench};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/cables.toml");
/// Charge of a frame: 1018 B in cells.
const FRAME: u64 = 1024;
const XOFF: u64 = 16 * 1024;

/// Returns a PFC of the lossless priority from h4.
fn pause() -> String {
    "bytes.fromhex('0180c2000001025700000004' '8808' '0101' '0008' '000000000000' 'ffff') + bytes(34)".to_owned()
}

fn frame(from: u8) -> String {
    format!("Ether(src='02:57:00:00:00:0{from}', dst='02:57:00:00:00:04') / Dot1Q(vlan=0, prio=3) / Raw(bytes(1000))")
}

fn cable(bench: &Bench, port: &str) -> Cable {
    bench.port(port).cable.unwrap()
}

fn told(bench: &Bench, words: &[&str]) -> Output {
    let mut command = switchctl(&bench.switch.config.api_socket);
    command.args(words).output().unwrap()
}

#[test]
fn a_port_takes_what_follows_from_its_cable_and_not_a_frame_more() {
    let bench = Bench::of(SCENARIO, &[], |config| {
        let mut ports = config.ports.iter_mut();
        if let Some(port) = ports.find(|port| port.name == "h3") {
            port.reaction = parse_duration("50ms").ok();
        }
    });
    let mut h4 = Scapy::start(&bench, "h4");
    until("h4 pauses", || {
        h4.send(1, &pause());
        bench.pfc("h4").paused.then_some(())
    });
    let mut headrooms = Vec::new();
    for (name, number) in [("h1", 1), ("h3", 3)] {
        let headroom = cable(&bench, name).headroom_bytes;
        assert_eq!(bench.pfc(name).headroom_bytes, headroom);
        let config = &bench.switch.config;
        let port = config.ports.iter().find(|port| port.name == name).unwrap();
        let room = port.cable_line().unwrap();
        let room = room.room(config.dataplane.frames().charging());
        assert_eq!(room.headroom, Bytes::new(headroom));
        // Scapy ignores pauses.
        let fit = (XOFF + headroom) / FRAME;
        const TOO_MANY: u64 = 20;
        let mut host = Scapy::start(&bench, name);
        host.send((fit + TOO_MANY) as u32, &frame(number));
        until("all are taken or dropped", || {
            h4.send(1, &pause());
            (bench.drops(name, "headroom_exceeded") == TOO_MANY).then_some(())
        });
        let pfc = bench.pfc(name);
        assert_eq!(pfc.ingress_bytes, fit * FRAME);
        assert!(pfc.pausing);
        headrooms.push(headroom);
    }
    // 150 ms of 10 Mbit/s, in frames that waste the most.
    let [long, short] = headrooms[..] else {
        panic!()
    };
    assert_eq!((long - short) / 256, 187_500 / 84);
    let shown = String::from_utf8(told(&bench, &["ports"]).stdout).unwrap();
    assert!(shown.contains("40m: "), "{shown}");
    bench.end();
}

#[test]
fn a_round_trip_that_needs_more_is_reported_while_it_does() {
    let bench = Bench::of(SCENARIO, &[], |_| ());
    let measured = until("the neighbor answers", || {
        cable(&bench, "s2").round_trip_nanos
    });
    let at_first = cable(&bench, "s2");
    assert!(measured > 0 && at_first.headroom_needed_bytes.is_some());
    assert_eq!(
        cable(&bench, "h1").round_trip_nanos,
        None,
        "hosts answer no echo"
    );

    // Like a cable of tens of thousands of kilometres. The answer must arrive before the next request, a second later.
    let delay = ["impair", "delay", "s2", "600ms", "--for", "10min"];
    assert!(told(&bench, &delay).status.success());
    let exceeded = until("it needs too much", || {
        Some(cable(&bench, "s2")).filter(|cable| cable.exceeded)
    });
    let needed = exceeded.headroom_needed_bytes.unwrap();
    assert!(needed > exceeded.headroom_bytes && exceeded.round_trip_nanos.unwrap() >= 600_000_000);
    let told_of = &events(&bench.switch, "cable_exceeded")[0];
    assert_eq!(told_of.port.as_deref(), Some("s2"));
    assert!(
        told_of.details["measured"].starts_with("0.") && told_of.details.contains_key("enough_for")
    );
    assert_eq!(bench.metric("weir_cable_exceeded{port=\"s2\"}"), 1);
    assert_eq!(bench.metric("weir_cable_exceeded{port=\"h1\"}"), 0);
    assert!(bench.metric("weir_cable_round_trips_exceeded_total{port=\"s2\"}") >= 1);
    assert_eq!(
        bench.metric("weir_cable_headroom_bytes{port=\"s2\"}"),
        exceeded.headroom_bytes
    );
    let shown = String::from_utf8(told(&bench, &["ports"]).stdout).unwrap();
    assert!(shown.contains("NEEDS"), "{shown}");
    let mut doctor = bench.command("s1", program("switchctl").unwrap().to_str().unwrap());
    let doctor = doctor
        .args(["doctor", "--config"])
        .arg(bench.switch.config_file());
    let doctor = String::from_utf8(doctor.output().unwrap().stdout).unwrap();
    for part in [
        "the cable of 40m gives",
        "were measured, which need",
        "port.s2.reaction",
    ] {
        assert!(doctor.contains(part), "{part} in {doctor}");
    }

    assert!(told(&bench, &["impair", "stop"]).status.success());
    until("ten in a row fit", || {
        (!cable(&bench, "s2").exceeded).then_some(())
    });
    assert_eq!(events(&bench.switch, "cable_fits").len(), 1);
    assert_eq!(bench.metric("weir_cable_exceeded{port=\"s2\"}"), 0);
    bench.end();
}
