//! Egresses that a frame passes to only if the device certainly has room for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::net::if_::if_nametoindex;
use weir_ebpf::{takes_redirected, ExpressWords, RedirectLosses, SPARE};

use super::bench::{assert_soon, frame, run, Bench, EVERY, HOST, PRIORITY};

/// `VETH_RING_SIZE`, and the number of entries that its consumer clears at a time.
const RING: u64 = 256;
const BATCH: u64 = 16;

fn watched(bench: &Bench) -> RedirectLosses {
    let losses = RedirectLosses::new(&bench.maps).unwrap();
    for port in [0, 1] {
        let device = if_nametoindex(format!("p{port}").as_str()).unwrap();
        losses.watch(device, port).unwrap();
    }
    losses
}

fn device(arguments: &str) {
    let mut words = arguments.split(' ');
    let status = std::process::Command::new(words.next().unwrap())
        .args(words)
        .status();
    assert!(status.unwrap().success(), "{arguments}");
}

#[test]
#[ignore = "needs root"]
fn places_are_booked_and_given_back() {
    let bench = Bench::with(Some(SPARE));
    let _losses = watched(&bench);
    for number in 0..1_000 {
        let sent = frame(number, HOST, 60);
        bench.h0.send(&sent);
        assert_eq!(bench.h1.receive(), sent, "frame {number}");
    }
    assert_eq!(bench.express_frames(), 1_000);
    assert_soon("all places are free", || bench.words.on_way(1) == 0);
    assert_eq!((bench.words.no_room(1), bench.words.lost(1)), (0, 0));
    bench.words.close(1);
    bench.assert_is_for_the_core("shut", &frame(1, HOST, 60));
    assert_eq!(bench.words.on_way(1), 0);
}

/// No completion is reported, so each frame stays in flight for the programs.
#[test]
#[ignore = "needs root"]
fn no_more_frames_are_on_their_way_than_the_ring_has_room_for() {
    let bench = Bench::with(Some(SPARE));
    let room = RING - BATCH - u64::from(SPARE) - 1;
    let sent = frame(1, HOST, 60);
    while bench.words.no_room(1) == 0 {
        let before = bench.express_frames();
        bench.h0.send(&sent);
        assert_soon("it goes one of two ways", || {
            bench.express_frames() + bench.words.no_room(1) > before
        });
    }
    let on_way = bench.words.on_way(1);
    assert_eq!(on_way, bench.express_frames());
    // Entries that the consumer has taken but not cleared count as full.
    let rooms = room - (BATCH - 1)..=room;
    assert!(rooms.contains(&on_way), "{on_way} of {rooms:?}");
    bench.words.finish(0, PRIORITY, 1);
    bench.assert_is_for_the_core("there is still none", &sent);
    assert_eq!(bench.words.on_way(1), on_way);
}

#[test]
#[ignore = "needs root"]
fn what_the_other_end_does_not_take_is_for_the_core() {
    let mut bench = Bench::with(Some(SPARE));
    let _losses = watched(&bench);
    bench.assert_passes("at first");
    // Tagged frames have four bytes more.
    run("link set h1 mtu 500");
    let (fits, too_long) = (frame(1, HOST, 518), frame(1, HOST, 519));
    bench.h0.send(&fits);
    assert_eq!(bench.h1.receive(), fits);
    bench.assert_is_for_the_core("it is too long", &too_long);
    run("link set h1 mtu 1500");
    bench.assert_passes("it is long enough again");
    let has_two = std::process::Command::new("ethtool")
        .args(["-L", "h1", "rx", "2"])
        .status();
    // A device has one queue per CPU.
    if has_two.is_ok_and(|status| status.success()) {
        bench.assert_is_for_the_core("frames take two ways", &frame(1, HOST, 60));
        device("ethtool -L h1 rx 1");
        bench.assert_passes("frames take one way again");
    }
    // GRO without a program.
    device("ethtool -K h1 gro on");
    bench.host = None;
    bench.assert_passes("it has NAPI");
    device("ethtool -K h1 gro off");
    let egress = if_nametoindex("p1").unwrap();
    assert_soon("no NAPI", || takes_redirected(egress) == Some(false));
    bench.assert_is_for_the_core("it has no NAPI", &frame(1, HOST, 60));
    assert_eq!(bench.words.lost(1), 0);
    assert_eq!(bench.words.on_way(1), 0);
}

/// Sends frames from several CPUs to a slower receiver; returns the kernel's losses and the frames that passed.
fn flood(spare: Option<u32>, count: u32) -> (u64, u64) {
    let mut bench = Bench::with(spare);
    let _losses = watched(&bench);
    device("ethtool -K h1 gro on");
    bench.host = None;
    let ingress = if_nametoindex("p0").unwrap();
    let sent = frame(1, HOST, 60);
    let is_over = AtomicBool::new(false);
    let (program, words) = (&bench.ports[0], &bench.words);
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| program.run_live(ingress, &sent, count).unwrap()))
            .collect();
        // As the core does: finishes the frames passed to it, and opens closed egresses again.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let finished = words.finished(0, PRIORITY);
                let missing = words.entered(0, PRIORITY) - finished;
                words.finish(0, PRIORITY, missing);
                let gate = words.gate(1);
                if !ExpressWords::is_open(gate) {
                    words.open(1, gate, EVERY);
                }
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        for sender in senders {
            sender.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_soon("all places are free", || words.on_way(1) == 0);
    (words.lost(1), bench.express_frames())
}

#[test]
#[ignore = "needs root"]
fn no_frame_is_lost_where_there_is_surely_room() {
    let (lost, passed) = flood(Some(SPARE), 200_000);
    eprintln!("{passed} passed, {lost} were lost");
    assert_eq!(lost, 0, "of {passed}");
    assert!(passed > 10_000, "{passed}");
}

/// Proves that the test above can fail.
#[test]
#[ignore = "needs root"]
fn frames_are_lost_where_nobody_looks_for_room() {
    let is_lossy = (0..20).any(|_| {
        let (lost, passed) = flood(None, 200_000);
        eprintln!("{passed} passed, {lost} were lost");
        lost > 0
    });
    assert!(is_lossy);
}
