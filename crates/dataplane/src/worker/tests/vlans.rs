//! Frames whose tag is added or removed: in place, in two forms, and across a restart.

use weir_config::daemon::VLAN_COPIES;
use weir_core::{VlanId, VlanPort, VlanSet};

use super::*;
use crate::worker::vlans::Forms;

fn vlan(number: u16) -> VlanId {
    VlanId::new(number).unwrap()
}

/// An access port, a trunk, and another access port of the same VLAN.
fn setup() -> Setup {
    let access = VlanPort::access(vlan(7));
    Setup {
        learning_capacity: 16,
        vlans: vec![access, VlanPort::trunk(VlanSet::all()), access],
        spare: PORT_COUNT * (RING + RESERVE) + VLAN_COPIES,
        ..Setup::default()
    }
}

/// Returns a broadcast of `length` bytes from the host behind `from`, with or without a tag.
fn broadcast(from: usize, tag: Option<[u8; 2]>, length: usize) -> Vec<u8> {
    let mut bytes = frame_between(host(from), MacAddress::BROADCAST);
    if let Some([high, low]) = tag {
        bytes.splice(12..12, [0x81, 0, high, low]);
    }
    bytes.extend((bytes.len()..length).map(|at| at as u8));
    bytes
}

fn arrive(bench: &mut Bench, from: usize, priority: u8, bytes: &[u8]) {
    bench.arrive(from, Some(meta(FrameClass::Data, priority)), bytes);
}

/// Returns all frames sent, by port.
fn left(bench: &Bench) -> [Vec<Vec<u8>>; PORT_COUNT] {
    std::array::from_fn(|port| bench.sent_by(port))
}

#[test]
fn a_flood_leaves_in_two_forms_and_nothing_is_left_of_the_copy() {
    for part in [2048, 100] {
        let mut bench = Bench::new(&setup());
        bench.worker.io.part = part;
        let frame = broadcast(0, None, 400);
        arrive(&mut bench, 0, 5, &frame);
        bench.settle();
        // The priority is in the tag, so the next switch finds the same class.
        let tagged = broadcast(0, Some([5 << 5, 7]), 404);
        let tagged = [&tagged[..18], &frame[14..]].concat();
        assert_eq!(left(&bench), [vec![], vec![tagged], vec![frame]]);
        bench.assert_conserved();
        assert_eq!(bench.worker.forms, Forms::default());
        let audit = bench.audit();
        assert!(audit.differences().is_empty(), "{:?}", audit.differences());
    }
}

#[test]
fn copies_are_bounded_and_those_beyond_are_counted() {
    let mut bench = Bench::new(&setup());
    for port in [1, EDGE] {
        bench.worker.io.set_budget(port, 0);
    }
    // As many frames wait as the buffers hold: each lossy buffer has 32 cells.
    for priority in [0, 1, 2, 4, 5, 6, 7] {
        for _ in 0..32 {
            arrive(&mut bench, 0, priority, &broadcast(0, None, 60));
        }
        bench.round();
    }
    let frames = 7 * 32;
    let chunks = bench.worker.forms;
    assert!(chunks.has_copies());
    // Frames of another port are added.
    for priority in [0, 1, 2, 4, 5, 6, 7] {
        for _ in 0..32 {
            arrive(&mut bench, EDGE, priority, &broadcast(EDGE, None, 60));
        }
        bench.round();
    }
    let traffic = bench.worker.switch.vlan_traffic();
    let counted = traffic.iter().find(|row| row.vlan == Some(vlan(7)));
    let dropped = counted.unwrap().counters.copies_dropped as usize;
    assert_eq!(dropped, 2 * frames - VLAN_COPIES);
    let audit = bench.audit();
    assert!(audit.differences().is_empty(), "{:?}", audit.differences());
    for port in [0, 1, EDGE] {
        bench.worker.io.set_budget(port, usize::MAX);
    }
    bench.settle();
    bench.assert_conserved();
    assert_eq!(bench.sent_by(1).len(), VLAN_COPIES);
    assert_eq!(bench.worker.forms, Forms::default());
}

#[test]
fn what_a_port_does_not_carry_is_dropped_and_said() {
    let mut bench = Bench::new(&setup());
    arrive(&mut bench, 0, LOSSY, &broadcast(0, Some([0, 7]), 64));
    arrive(&mut bench, 1, LOSSY, &broadcast(1, Some([0x0f, 0xff]), 64));
    // No other port has VLAN 9.
    arrive(&mut bench, 1, LOSSY, &broadcast(1, Some([0, 9]), 64));
    bench.settle();
    assert_eq!(bench.counters(0).drops[DropReason::Vlan.index()], 1);
    assert_eq!(bench.counters(1).drops[DropReason::Vlan.index()], 1);
    assert_eq!(bench.counters(1).drops[DropReason::NoRoute.index()], 1);
    assert!(bench.sent().is_empty());
    bench.assert_conserved();
}

/// Frames that wait for a trunk reach the next loop in the form that their ingress port received, and leave in the right
/// form.
#[test]
fn a_restart_keeps_every_frame_in_its_vlan() {
    let mut bench = Bench::new(&setup());
    bench.command(Command::SetLink {
        port: id(1),
        up: false,
    });
    let known = [&frame_between(host(0), host(1))[..], &[9; 50]].concat();
    arrive(&mut bench, 0, 5, &known);
    bench.round();
    let left_frames = bench.worker.take_left(bench.now);
    assert_eq!(left_frames.len(), 1);
    assert_eq!(left_frames[0].bytes, known, "as an access port has it");
    let mut next = Bench::new(&setup());
    next.request(Request::Inject(left_frames));
    next.round();
    next.settle();
    let tag = [0x81, 0, 5 << 5, 7];
    assert_eq!(
        next.sent_by(1),
        [[&known[..12], &tag, &known[12..]].concat()]
    );
    next.assert_conserved();
}
