//! Requests for addresses are sent to the station that has it, or to all.

use std::path::Path;

use weir_config::daemon::DaemonConfig;

use super::*;
use weir_config::frames::sight::Direction;

/// The ports are irrelevant: the bench has other ones.
const FILE: &str = r#"
name = "s1"
[[port]]
device = "eth0"
role = "edge"
rate = "1Gbit"
[multicast]
suppress = true
[[station]]
mac = "02:00:00:00:01:00"
addresses = ["10.0.0.1"]
[[station]]
mac = "02:00:00:00:01:01"
addresses = ["10.0.0.2", "fd00::2"]
[[station]]
mac = "02:00:00:00:02:07"
addresses = ["10.0.0.7"]
"#;

fn stations(text: &str) -> Request {
    let config = DaemonConfig::parse(text, Path::new("s1.toml")).unwrap();
    Request::Stations(Arc::new(Stations::new(&config)))
}

fn bench() -> Bench {
    let mut bench = Bench::new(&Setup {
        learning_capacity: 16,
        ..Setup::default()
    });
    bench.request(stations(FILE));
    bench.round();
    bench
}

/// An ARP request from host 0.
fn arp(sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
    let mut frame = frame_between(host(0), MacAddress::BROADCAST);
    frame[12..].copy_from_slice(&[8, 6]);
    frame.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend(host(0).0);
    frame.extend(sender);
    frame.extend([0; 6]);
    frame.extend(target);
    frame.resize(60, 0);
    frame
}

/// A neighbor solicitation for fd00::2 from host 0.
fn solicitation() -> Vec<u8> {
    let mut frame = frame_between(host(0), MacAddress([0x33, 0x33, 0xFF, 0, 0, 2]));
    frame[12..].copy_from_slice(&[0x86, 0xDD]);
    frame.extend([0x60, 0, 0, 0, 0, 24, 58, 255]);
    frame.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    frame.extend([0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0, 0, 2]);
    frame.extend([135, 0, 0, 0, 0, 0, 0, 0]);
    frame.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    frame
}

/// Returns the frames sent by each port when `frame` is received on port 0.
fn passed(bench: &mut Bench, frame: &[u8]) -> [Vec<Vec<u8>>; PORT_COUNT] {
    let before = bench.sent().len();
    bench.arrive(0, Some(meta(FrameClass::Data, LOSSY)), frame);
    bench.settle();
    bench.assert_conserved();
    let sent = bench.sent();
    std::array::from_fn(|port| sent_by(&sent[before..], port))
}

fn assert_flooded(bench: &mut Bench, frame: &[u8], why: &str) {
    let copy = vec![frame.to_vec()];
    let sent = passed(bench, frame);
    assert_eq!(sent, [vec![], copy.clone(), copy], "{why}");
}

/// Returns the counts of requests that were directed, for unknown stations, and unreachable.
fn counted(bench: &Bench) -> [u64; 3] {
    let counters = &bench.worker.stats.counters;
    [
        counters.address_requests_directed,
        counters.address_requests_unknown,
        counters.address_requests_without_way,
    ]
}

#[test]
fn a_request_for_a_station_goes_to_it_alone() {
    let mut bench = bench();
    for request in [arp([10, 0, 0, 1], [10, 0, 0, 2]), solicitation()] {
        let [back, to_station, to_others] = passed(&mut bench, &request);
        let mut directed = request.clone();
        directed[..6].copy_from_slice(&host(1).0);
        assert_eq!(to_station, [directed], "nothing else is changed");
        assert!(back.is_empty() && to_others.is_empty());
    }
    assert_eq!(counted(&bench), [2, 0, 0]);
}

#[test]
fn what_is_not_for_one_station_is_flooded() {
    let mut bench = bench();
    let own = [10, 0, 0, 1];
    assert_flooded(&mut bench, &arp(own, [10, 0, 0, 9]), "nobody has it");
    assert_eq!(counted(&bench), [0, 1, 0]);
    assert_flooded(&mut bench, &arp([10, 0, 0, 5], own), "the way it came");
    assert_eq!(counted(&bench), [0, 1, 1]);
    assert_flooded(&mut bench, &arp(own, [10, 0, 0, 7]), "never heard of");
    assert_eq!(counted(&bench), [0, 1, 2]);
    assert_flooded(
        &mut bench,
        &arp([10, 0, 0, 2], [10, 0, 0, 2]),
        "an announcement",
    );
    assert_flooded(&mut bench, &arp([0; 4], [10, 0, 0, 2]), "a probe");
    let mut other = arp(own, [10, 0, 0, 2]);
    other[13] = 7;
    assert_flooded(&mut bench, &other, "another protocol");
    assert_eq!(counted(&bench), [0, 1, 2]);
    bench.request(stations(&FILE.replace("suppress = true", "")));
    bench.round();
    let known = arp(own, [10, 0, 0, 2]);
    assert_flooded(&mut bench, &known, "no longer asked for");
    assert_eq!(counted(&bench), [0, 1, 2]);
}

#[test]
fn a_request_goes_where_the_station_was_heard() {
    let mut bench = bench();
    let heard = frame_between(MacAddress([2, 0, 0, 0, 2, 7]), host(1));
    bench.arrive(EDGE, Some(meta(FrameClass::Data, LOSSY)), &heard);
    bench.settle();
    let sent = passed(&mut bench, &arp([10, 0, 0, 1], [10, 0, 0, 7]));
    assert_eq!(sent.map(|frames| frames.len()), [0, 0, 1]);
}

#[test]
fn a_request_is_flooded_while_the_station_cannot_be_reached() {
    let mut bench = bench();
    let (port, up) = (id(1), false);
    bench.command(Command::SetLink { port, up });
    bench.round();
    let request = arp([10, 0, 0, 1], [10, 0, 0, 2]);
    let sent = passed(&mut bench, &request);
    assert_eq!(sent, [vec![], vec![], vec![request]]);
    assert_eq!(counted(&bench), [0, 0, 1]);
}

#[test]
fn a_tap_sees_the_request_as_it_came_and_as_it_goes() {
    let mut bench = bench();
    let tap = taps::tap(&mut bench);
    let request = arp([10, 0, 0, 1], [10, 0, 0, 2]);
    passed(&mut bench, &request);
    let seen: Vec<_> = std::iter::from_fn(|| tap.take()).collect();
    let destination = |at: usize| (seen[at].direction, seen[at].bytes()[..6].to_vec());
    assert_eq!(seen.len(), 2);
    assert_eq!(destination(0), (Direction::In, vec![0xFF; 6]));
    assert_eq!(destination(1), (Direction::Out, host(1).0.to_vec()));
}

/// A host may send anything: it is forwarded or dropped like any frame, and the loop continues.
#[test]
fn a_request_that_is_cut_short_is_flooded() {
    for request in [arp([10, 0, 0, 1], [10, 0, 0, 2]), solicitation()] {
        for length in 14..request.len().min(42) {
            let mut bench = bench();
            assert_flooded(&mut bench, &request[..length], &format!("{length} B"));
            assert_eq!(counted(&bench), [0; 3]);
        }
    }
}
