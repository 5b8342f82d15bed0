//! The dataplane on real devices: two veth pairs in a network namespace. Needs root, and fails without it.

use std::time::{Duration as StdDuration, Instant as StdInstant};

use crate::support::network::{
    config, frame, ip, pause_of, Host, Network, CONFIG, FRAME_LENGTH, LIMIT, LOSSLESS,
};
use nix::net::if_::if_nametoindex;
use weir_core::wire::mac_control::MacControl;
use weir_core::{DropCounts, MacAddress, Quanta};
use weir_dataplane::link::{Programs, RunningDataplane};
use weir_dataplane::messages::{Request, Snapshot};
use weir_dataplane::{Dataplane, DataplaneError};

fn snapshot(dataplane: &Dataplane) -> Box<Snapshot> {
    let link = dataplane.link().unwrap();
    link.requests
        .try_send(Request::Snapshot(Box::default()))
        .unwrap();
    link.snapshots.recv_timeout(LIMIT).unwrap()
}

/// Waits until the switch holds `count` frames.
fn wait_for_held(dataplane: &Dataplane, count: u64) {
    let began = StdInstant::now();
    while snapshot(dataplane).held_frames != count {
        assert!(began.elapsed() < LIMIT, "{:?}", snapshot(dataplane));
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "needs root"]
fn frames_come_out_as_they_went_in() {
    let network = Network::new();
    let dataplane = network.start().unwrap();
    let attached = dataplane.attached();
    assert_eq!(attached.len(), 2);
    assert_eq!(attached[0].address, MacAddress([2, 0, 0, 0, 0, 0xa0]));
    assert!(attached[1].ifindex == if_nametoindex("p1").unwrap());
    for port in &attached {
        assert_eq!((port.xdp_mode, port.zero_copy), ("native", false));
    }
    let (h0, h1) = (Host::new("h0"), Host::new("h1"));
    // More than all rings hold, so that every chunk is reused.
    let lengths = [60, 61, 64, 577, 1024, 1513, 1514].into_iter().cycle();
    for (number, length) in (0..2_000).zip(lengths) {
        let frame = frame(number, length);
        h0.send(&frame);
        assert_eq!(h1.receive(), frame, "frame {number}");
    }
    wait_for_held(&dataplane, 0);
    let seen = snapshot(&dataplane);
    assert_eq!(seen.ports[0].counters.priority[LOSSLESS].rx_frames, 2_000);
    assert_eq!(seen.ports[1].counters.priority[LOSSLESS].tx_frames, 2_000);
    assert_eq!(seen.ports[0].counters.drops_total(), 0);
    let frames = dataplane.xdp_frames(weir_core::PortId::new(0));
    assert!(frames.contains(&("data", 2_000)), "{frames:?}");

    let stopped = dataplane.stop(LIMIT, Programs::Detach).unwrap();
    assert_eq!(stopped.held_frames(), 0, "{stopped:?}");
    network.assert_nothing_attached();
}

/// A device with two queues gets two sockets, or is refused if the file omits one.
#[test]
#[ignore = "needs root"]
fn every_queue_of_a_device_has_a_socket() {
    let network = Network::new();
    ip("link del p0");
    ip("link add p0 numrxqueues 2 numtxqueues 2 type veth peer name h0 numrxqueues 2 numtxqueues 2");
    ip("link set p0 up");
    ip("link set h0 up");
    let dataplane = network.start().unwrap();
    let snapshot = snapshot(&dataplane);
    let rings = snapshot.ports.iter().map(|port| port.rings.rx.size);
    assert_eq!(rings.collect::<Vec<_>>(), [512, 256]);
    dataplane.stop(LIMIT, Programs::Detach).unwrap();

    let one = CONFIG.replacen("device = \"p0\"", "device = \"p0\"\nqueues = 1", 1);
    let refused = Dataplane::start(&config(&one), &network.pins).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("receives on 2 queues, and queue 1 has no socket"),
        "{text}"
    );
    network.assert_nothing_attached();
    let passed = one.replacen("queues = 1", "queues = 1\nfallback = \"pass\"", 1);
    let dataplane = Dataplane::start(&config(&passed), &network.pins).unwrap();
    dataplane.stop(LIMIT, Programs::Detach).unwrap();
}

/// The program's verdicts on frames are shown, except those from before the sockets were opened.
#[test]
#[ignore = "needs root"]
fn verdicts_are_counted_and_a_port_can_fall_back() {
    let network = Network::new();
    let mut dataplane = network.start().unwrap();
    let (h0, h1) = (Host::new("h0"), Host::new("h1"));
    let port = weir_core::PortId::new(0);
    for (mode, count) in [("native", 10), ("generic", 20)] {
        for number in 0..10 {
            h0.send(&frame(number, 100));
            assert_eq!(h1.receive(), frame(number, 100));
        }
        assert_eq!(dataplane.xdp_mode(port), Some(mode));
        let verdicts = dataplane.xdp_verdicts(port);
        assert!(verdicts.contains(&("redirected", count)), "{verdicts:?}");
        assert!(verdicts.contains(&("dropped", 0)), "{verdicts:?}");
        assert_eq!(dataplane.fall_back(port).unwrap(), mode == "native");
    }
    dataplane.stop(LIMIT, Programs::Detach).unwrap();
    network.assert_nothing_attached();
}

#[test]
#[ignore = "needs root"]
fn a_blocked_egress_pauses_the_sender_and_loses_nothing() {
    let network = Network::new();
    let dataplane = network.start().unwrap();
    let (h0, h1) = (Host::new("h0"), Host::new("h1"));
    let mut sent = 0;
    let told = loop {
        // Often enough that it never expires: 335 ms at this rate.
        h1.pause(Quanta::MAX);
        h0.send(&frame(sent, FRAME_LENGTH));
        sent += 1;
        if let Some(told) = h0.receive_within(StdDuration::from_millis(1)) {
            break told;
        }
        assert!(sent < 80, "there is no more headroom");
    };
    assert_eq!(pause_of(&told), Quanta::MAX);
    assert_eq!(told[6..12], dataplane.attached()[0].address.0);
    assert_eq!(told.len(), 60);
    // 1 KiB each in whole cells.
    assert!(sent >= 16, "xoff is 16 KiB: {sent}");

    h1.pause(Quanta::ZERO);
    for number in 0..sent {
        assert_eq!(h1.receive(), frame(number, FRAME_LENGTH), "frame {number}");
    }
    while pause_of(&h0.receive()) != Quanta::ZERO {}
    wait_for_held(&dataplane, 0);
    let counters = snapshot(&dataplane).ports[0].counters;
    assert_eq!(counters.drops, DropCounts::default());
    dataplane.stop(LIMIT, Programs::Detach).unwrap();
    network.assert_nothing_attached();
}

#[test]
#[ignore = "needs root"]
fn stopping_waits_for_what_is_buffered() {
    let network = Network::new();
    let dataplane = network.start().unwrap();
    let (h0, h1) = (Host::new("h0"), Host::new("h1"));
    // Expires by itself while the switch drains or, on a slow machine, before.
    h1.pause(Quanta(20_000));
    for number in 0..10 {
        h0.send(&frame(number, FRAME_LENGTH));
    }
    let began = StdInstant::now();
    while snapshot(&dataplane).ports[0].counters.priority[LOSSLESS].rx_frames < 10 {
        assert!(began.elapsed() < LIMIT);
        std::thread::yield_now();
    }
    let stopped = dataplane.stop(LIMIT, Programs::Detach).unwrap();
    assert_eq!(stopped.held_frames(), 0);
    let frames: Vec<_> = std::iter::from_fn(|| h1.receive_within(StdDuration::ZERO))
        .filter(|frame| MacControl::parse(frame).is_err())
        .collect();
    let expected: Vec<_> = (0..10).map(|number| frame(number, FRAME_LENGTH)).collect();
    assert_eq!(frames, expected);
    assert_eq!(pause_of(&h0.receive()), Quanta::MAX, "the sender is held");
    network.assert_nothing_attached();
}

#[test]
#[ignore = "needs root"]
fn a_failed_start_has_a_reason_and_leaves_nothing() {
    let network = Network::new();
    let missing = config(&CONFIG.replacen("\"p1\"\nrole", "\"p9\"\nname = \"p1\"\nrole", 1));
    let error = Dataplane::start(&missing, &network.pins).unwrap_err();
    assert!(
        matches!(&error, DataplaneError::NoDevice { device, .. } if device == "p9"),
        "{error}"
    );
    network.assert_nothing_attached();

    let long = CONFIG.replacen("[dataplane]\n", "[dataplane]\nmtu = \"9000B\"\n", 1);
    let error = Dataplane::start(&config(&long), &network.pins).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("`p0` has an MTU of 1500 B") && text.contains("ip link set dev p0 mtu 9000"),
        "{text}"
    );
    network.assert_nothing_attached();

    let no_queue = config(&CONFIG.replacen("\"p1\"\nrole", "\"p1\"\nqueue = 7\nrole", 1));
    let error = Dataplane::start(&no_queue, &network.pins).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("p1 queue 7"), "{text}");
    network.assert_nothing_attached();

    let first = network.start().unwrap();
    let error = network.start().unwrap_err();
    assert!(
        matches!(&error, DataplaneError::Socket { device, queue: 0, .. } if device == "p0"),
        "{error}"
    );
    // The first one is not affected.
    let (h0, h1) = (Host::new("h0"), Host::new("h1"));
    h0.send(&frame(1, FRAME_LENGTH));
    assert_eq!(h1.receive(), frame(1, FRAME_LENGTH));
    first.stop(LIMIT, Programs::Detach).unwrap();
    network.assert_nothing_attached();
}

#[test]
#[ignore = "needs root"]
fn a_device_that_is_gone_does_not_end_the_thread() {
    let network = Network::new();
    let dataplane = network.start().unwrap();
    let h0 = Host::new("h0");
    ip("link del p1");
    for number in 0..10 {
        h0.send(&frame(number, FRAME_LENGTH));
    }
    let began = StdInstant::now();
    while snapshot(&dataplane).ports[0].counters.priority[LOSSLESS].rx_frames < 10 {
        assert!(began.elapsed() < LIMIT, "{:?}", snapshot(&dataplane));
        std::thread::yield_now();
    }
    // Nothing can be sent, and the switch reports it.
    let stopped = dataplane
        .stop(StdDuration::from_millis(50), Programs::Detach)
        .unwrap();
    assert_eq!(stopped.held_frames(), 10);
}
