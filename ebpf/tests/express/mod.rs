//! The express path over real devices: two veth pairs in the test's own network namespace. Needs root.

pub(crate) mod bench;
mod room;

use nix::net::if_::if_nametoindex;
use std::time::Duration;
use weir_ebpf::{grace_period, takes_redirected, ExpressWords, RedirectLosses, Verdict};

use bench::{
    assert_soon, frame, now_nanos, pause, run, Bench, Wire, EVERY, FAST, HOST, PRIORITY, SLOW,
    SOURCE,
};

#[test]
#[ignore = "needs root"]
fn frames_come_out_as_they_went_in_and_in_order() {
    let bench = Bench::new();
    let lengths = [60, 61, 64, 577, 1024, 1513, 1514].into_iter().cycle();
    for (number, length) in (0..500).zip(lengths) {
        let sent = frame(number, HOST, length);
        bench.h0.send(&sent);
        assert_eq!(bench.h1.receive(), sent, "frame {number}");
    }
    // Several at a time, so that bulk queues hold more than one.
    for batch in 0..50 {
        let numbers = batch * 20..(batch + 1) * 20;
        numbers
            .clone()
            .for_each(|number| bench.h0.send(&frame(number, HOST, 60)));
        for number in numbers {
            assert_eq!(bench.h1.receive(), frame(number, HOST, 60));
        }
    }
    assert_eq!(bench.express_frames(), 1_500);
    assert_eq!(bench.entered(), 0);
    let verdicts = bench.ports[0].verdict_counters().unwrap();
    assert_eq!(verdicts.get(Verdict::Express), 1_500);
    assert_eq!(verdicts.get(Verdict::Redirected), 0);
}

#[test]
#[ignore = "needs root"]
fn each_condition_alone_sends_frames_to_the_core() {
    let bench = Bench::new();
    let (words, maps) = (&bench.words, &bench.maps);
    let ordinary = frame(1, HOST, 60);
    bench.assert_passes("at first");

    assert!(words.close(1));
    bench.assert_is_for_the_core("the egress is shut", &ordinary);
    assert!(words.open(1, words.gate(1), EVERY & !(1 << PRIORITY)));
    bench.assert_is_for_the_core("it is open for others", &ordinary);
    words.close(1);
    assert!(words.open(1, words.gate(1), 1 << PRIORITY));
    bench.assert_passes("it is open");

    words.enter(0, PRIORITY);
    bench.assert_is_for_the_core("an earlier one is inside", &ordinary);
    words.finish(0, PRIORITY, 1);
    bench.assert_passes("it has left");
    words.enter(0, PRIORITY + 1);
    bench.assert_passes("one of another priority is inside");

    words.switch_off();
    bench.assert_is_for_the_core("there is no path", &ordinary);
    words.switch_on(999);
    bench.assert_is_for_the_core("it is too long", &frame(1, HOST, 1000));
    let mut group = frame(1, HOST, 60);
    group[6] |= 1;
    bench.assert_is_for_the_core("its source is a group", &group);
    bench.assert_is_for_the_core("it is for a group", &frame(1, [0xff; 6], 60));
    bench.assert_is_for_the_core("nobody knows the way", &frame(1, SOURCE, 60));

    maps.set_route(SOURCE, 0).unwrap();
    bench.assert_is_for_the_core("it came from there", &frame(1, SOURCE, 60));
    maps.clear_route(HOST).unwrap();
    bench.assert_is_for_the_core("its route is gone", &ordinary);
    maps.clear_route(HOST).unwrap();
    maps.set_route(HOST, 1).unwrap();
    maps.clear_device(1).unwrap();
    bench.assert_is_for_the_core("its device is gone", &ordinary);
    maps.clear_device(1).unwrap();
    maps.set_device(1, if_nametoindex("p1").unwrap()).unwrap();

    words.beat(now_nanos() - 60_000_000);
    bench.assert_is_for_the_core("the core stands still", &ordinary);
    words.beat(now_nanos() + 3_600_000_000_000);
    bench.assert_passes("all is as at first");
}

#[test]
#[ignore = "needs root"]
fn a_pause_shuts_the_egress_and_is_not_overlooked() {
    let bench = Bench::new();
    bench.assert_passes("at first");
    let before = bench.words.gate(1);
    bench.h1.send(&pause());
    let began = std::time::Instant::now();
    while ExpressWords::is_open(bench.words.gate(1)) {
        assert!(began.elapsed() < Duration::from_secs(10), "it stays open");
        std::thread::yield_now();
    }
    let gate = bench.words.gate(1);
    assert_eq!(ExpressWords::seen(gate), ExpressWords::seen(before) + 1);
    bench.assert_is_for_the_core("paused", &frame(1, HOST, 60));
    assert!(
        !bench.words.open(1, before, EVERY),
        "the core has not heard of the pause"
    );
    assert!(
        !ExpressWords::is_open(bench.words.gate(0)),
        "port 0 has not opened by it"
    );
    assert!(bench.words.open(1, gate, EVERY));
    bench.assert_passes("the core has");
}

#[test]
#[ignore = "needs root"]
fn the_line_of_the_egress_is_shared_with_the_core() {
    let bench = Bench::new();
    bench.words.set_line(1, SLOW);
    bench.assert_passes("the line is free");
    let free_at = bench.words.free_at(1);
    assert!(free_at > now_nanos() + 20_000_000, "84 B at 10 kbit/s");
    bench.assert_is_for_the_core("the line is busy", &frame(1, HOST, 60));
    assert_eq!(bench.words.free_at(1), free_at);
    // Frames sent by the core also count.
    bench.words.set_line(1, FAST);
    bench.words.occupy(1, now_nanos() + 3_600_000_000_000);
    bench.assert_is_for_the_core("the core has the line", &frame(1, HOST, 60));
}

#[test]
#[ignore = "needs root"]
fn what_the_kernel_loses_on_the_way_is_counted_and_shuts_the_egress() {
    let mut bench = Bench::new();
    let losses = RedirectLosses::new(&bench.maps).unwrap();
    let egress = if_nametoindex("p1").unwrap();
    losses.watch(egress, 1).unwrap();
    bench.assert_passes("before");
    assert_eq!(bench.words.lost(1), 0);
    assert_eq!(takes_redirected(egress), Some(true));
    let lose = |bench: &Bench, lost: u64| {
        let passed = bench.express_frames();
        assert!(bench.words.open(1, bench.words.gate(1), EVERY));
        bench.h0.send(&frame(9, HOST, 60));
        assert_soon("it is counted", || bench.words.lost(1) == lost);
        assert_eq!(bench.express_frames(), passed + 1);
        assert!(!ExpressWords::is_open(bench.words.gate(1)));
        assert_eq!(bench.words.lost(0), 0);
    };
    // The peer is down and has no NAPI: its device refuses bulk frames.
    run("link set h1 down");
    lose(&bench, 1);
    run("link set h1 up");
    bench.h1 = Wire::new("h1");
    assert!(bench.words.open(1, bench.words.gate(1), EVERY));
    bench.assert_passes("it is up again");
    // Without a program it has no NAPI either, and the kernel refuses a frame before queueing it.
    bench.host = None;
    assert_soon("the other end has no NAPI", || {
        takes_redirected(egress) == Some(false)
    });
    lose(&bench, 2);
    bench.assert_is_for_the_core("shut", &frame(1, HOST, 60));
}

#[test]
#[ignore = "needs root"]
fn a_grace_period_ends() {
    grace_period().unwrap();
}
