//! Copies for mirrors.

use std::path::Path;

use weir_config::daemon::{DaemonConfig, VLAN_COPIES};
use weir_core::random::SplitMix64;
use weir_core::{VlanId, VlanPort, VlanSet};

use super::*;
use crate::exchange::mirrors::Mirrors;

/// The last port receives the copies.
const MONITOR: usize = PORT_COUNT - 1;

/// Configures mirrors; ports are named 0, 1, 2.
fn mirror(bench: &mut Bench, mirrors: &str) {
    let mut text = "name = \"s1\"\n".to_owned();
    for port in 0..PORT_COUNT {
        text += &format!(
            "[[port]]\nname = \"{port}\"\ndevice = \"eth{port}\"\nrole = \"edge\"\nrate = \"1Gbit\"\n"
        );
    }
    for mirror in mirrors.split(';').filter(|it| !it.is_empty()) {
        text += &format!("[[mirror]]\noutput-port = \"{MONITOR}\"\n{mirror}\n");
    }
    let config = DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap();
    bench.request(Request::Command(Command::Reserve {
        port: id(MONITOR),
        reserved: !config.mirrors.is_empty(),
    }));
    bench.request(Request::Mirrors(Arc::new(Mirrors::new(&config))));
    bench.round();
    assert_eq!(bench.worker.stats.counters.commands_refused, 0);
}

/// Returns a loop in which no route leads to the monitor.
fn bench() -> Bench {
    let mut bench = Bench::new(&Setup::default());
    bench.request(Request::Command(Command::RemoveRoute {
        destination: host(MONITOR),
    }));
    bench.round();
    bench
}

fn copies(bench: &Bench) -> Vec<Vec<u8>> {
    sent_by(&bench.sent(), MONITOR)
}

fn counted(bench: &Bench) -> [(u64, u64); 2] {
    let counters = &bench.worker.mirroring.counters;
    [0, 1].map(|place| (counters[place].sent, counters[place].lost))
}

#[test]
fn what_comes_in_is_copied_as_it_came_and_what_leaves_as_it_left() {
    let mut bench = bench();
    mirror(&mut bench, "name = \"in\"\nselect-src-port = [\"0\"]");
    bench.arrive_data(0, 1, LOSSLESS, 1);
    bench.arrive_data(1, 0, LOSSLESS, 2);
    // A frame without a route is copied nevertheless.
    let lost = frame_between(host(0), MacAddress([2, 9, 9, 9, 9, 9]));
    bench.arrive(0, Some(meta(FrameClass::Data, LOSSY)), &lost);
    bench.settle();
    assert_eq!(copies(&bench), [data(0, 1, 1, 500), lost]);
    assert_eq!(sent_by(&bench.sent(), 1), [data(0, 1, 1, 500)]);
    assert_eq!(counted(&bench)[0], (2, 0));
    bench.assert_conserved();

    // The second mirror sorts before the first; the first keeps its counters.
    let both = "name = \"out\"\nselect-dst-port = [\"0\"]\nsnaplen = 20;name = \"in\"\nselect-src-port = [\"0\"]";
    mirror(&mut bench, both);
    bench.arrive_data(1, 0, LOSSY, 3);
    bench.settle();
    let last = copies(&bench).pop().unwrap();
    assert_eq!(last, data(1, 0, 3, 500)[..20]);
    assert_eq!(counted(&bench), [(1, 0), (2, 0)]);
    mirror(&mut bench, "");
    bench.arrive_data(0, 1, LOSSY, 4);
    bench.settle();
    assert_eq!(copies(&bench).len(), 3);
    bench.assert_conserved();
}

#[test]
fn no_mirror_copies_a_frame_twice_nor_a_copy_nor_a_control_frame() {
    let mut bench = bench();
    mirror(
        &mut bench,
        "name = \"all\"\nselect-all = true\nselect-dst-port = [\"0\", \"1\"];name = \"out\"\nselect-dst-port = [\"1\"]",
    );
    bench.arrive_data(0, 1, LOSSLESS, 1);
    bench.arrive_pfc(1, LOSSLESS, Quanta::ZERO);
    bench.settle();
    assert_eq!(copies(&bench), vec![data(0, 1, 1, 500); 2]);
    assert_eq!(counted(&bench), [(1, 0), (1, 0)]);
    // Frames received on the output port are dropped.
    bench.arrive_data(MONITOR, 1, LOSSY, 2);
    bench.settle();
    assert_eq!(counted(&bench), [(1, 0), (1, 0)]);
    let drops = bench.worker.switch.counters(id(MONITOR)).drops;
    assert_eq!(drops[DropReason::MirrorPort.index()], 1);
    bench.assert_conserved();
}

#[test]
fn a_monitor_that_is_too_slow_loses_copies_and_nothing_else() {
    let mut bench = bench();
    mirror(&mut bench, "name = \"m\"\nselect-all = true");
    // The monitor's transmitter is stuck.
    bench.worker.io.set_budget(MONITOR, 0);
    let mut delivered = 0;
    for number in 0..2_000 {
        bench.arrive_data(0, 1, LOSSLESS, number);
        bench.settle();
        delivered += 1;
        assert!(
            !bench
                .worker
                .switch
                .gauges(bench.now, id(0), Priority::from_low_bits(LOSSLESS))
                .pausing
        );
    }
    assert_eq!(sent_by(&bench.sent(), 1).len(), delivered);
    let (sent, lost) = counted(&bench)[0];
    assert_eq!(sent + lost, 2_000);
    assert!(lost > 0 && sent > 0, "{sent} sent, {lost} lost");
    bench.assert_conserved();
    bench.worker.io.set_budget(MONITOR, usize::MAX);
    bench.settle();
    assert_eq!(copies(&bench).len() as u64, sent);
    assert_eq!(bench.worker.switch.held_frames(), 0);
    bench.assert_conserved();
}

/// Returns a loop with an access port of VLAN 7, a trunk, and a third port for copies.
fn in_vlans() -> Bench {
    let vlan = |number| VlanId::new(number).unwrap();
    let mut bench = Bench::new(&Setup {
        vlans: vec![
            VlanPort::access(vlan(7)),
            VlanPort::trunk(VlanSet::all()),
            VlanPort::trunk(VlanSet::all()),
        ],
        spare: PORT_COUNT * (RING + RESERVE) + VLAN_COPIES,
        ..Setup::default()
    });
    bench.request(Request::Command(Command::RemoveRoute {
        destination: host(MONITOR),
    }));
    bench.round();
    bench
}

/// Computes the VLAN of a frame with these tags received on port 0 or 1, from 802.1Q alone; 0 for none.
fn vlan_by_hand(port: usize, tags: &[u16]) -> Option<u16> {
    let named = tags.first().map_or(0, |tag| tag & 0xfff);
    match (port, named) {
        (_, 4095) => None,
        (0, 0) => Some(7),
        (0, _) => None,
        (_, named) => Some(named),
    }
}

#[test]
fn random_frames_are_copied_by_vlan_as_a_slow_model_says() {
    const NUMBERS: [u16; 6] = [0, 7, 8, 20, 4094, 4095];
    let mut random = SplitMix64::new(0x0188);
    let mut below = move |limit: usize| (random.next_u64() % limit as u64) as usize;
    for round in 0..40 {
        let mut bench = in_vlans();
        let chosen: Vec<u16> = NUMBERS[..5]
            .iter()
            .copied()
            .filter(|_| below(2) == 0)
            .collect();
        // As with Open vSwitch, an empty list counts as none.
        let selects = |vlan: Option<u16>| {
            chosen.is_empty() || vlan.is_some_and(|vlan| chosen.contains(&vlan))
        };
        let arrives = round % 2 == 0;
        let key = if arrives {
            "select-src-port"
        } else {
            "select-dst-port"
        };
        mirror(
            &mut bench,
            &format!("name = \"m\"\n{key} = [\"0\", \"1\"]\nselect-vlan = {chosen:?}"),
        );
        let mut expected = Vec::new();
        for number in 0..60u8 {
            let from = below(2);
            let tags: Vec<u16> = (0..below(3)).map(|_| NUMBERS[below(6)]).collect();
            let mut bytes = frame_between(host(from), host(1 - from));
            let payload = bytes.split_off(12);
            for tag in &tags {
                bytes.extend([0x81, 0]);
                bytes.extend(tag.to_be_bytes());
            }
            bytes.extend([payload, vec![number; 40]].concat());
            let vlan = vlan_by_hand(from, &tags);
            // The trunk carries all VLANs, the access port its own.
            let leaves = vlan.is_some_and(|vlan| from == 0 || vlan == 7)
                // A tag behind a priority tag does not select another VLAN.
                && !(tags.len() > 1 && tags[0] & 0xfff == 0);
            if selects(vlan) && (arrives || leaves) {
                expected.push(number);
            }
            bench.arrive(from, Some(meta(FrameClass::Data, LOSSY)), &bytes);
            bench.settle();
        }
        let copied: Vec<u8> = copies(&bench)
            .iter()
            .map(|copy| copy[copy.len() - 1])
            .collect();
        assert_eq!(copied, expected, "{key} {chosen:?}");
        bench.assert_conserved();
    }
}
