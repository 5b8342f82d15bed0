//! The loop over rings in plain memory, in virtual time: frames, requests and events.

mod audit;
mod bench;
mod checksums;
mod cost;
mod ecn;
mod express;
mod fake_io;
mod impair;
mod mirrors;
mod random;
mod reports;
mod series;
mod slots;
mod stations;
mod tables;
mod taps;
mod time;
mod vlans;

use weir_core::event::EventKind;
use weir_core::wire::clcm::Clcm;
use weir_core::wire::ethernet::MAC_CONTROL_ADDRESS;
use weir_core::wire::ControlFrame;
use weir_core::{BitRate, Bytes, DropCounts, FrameHandle, Quanta};
use weir_ebpf::{FrameClass, Meta};

use super::housekeeping::{DRAIN_QUIET, SLEEP_MAX, SLEEP_MIN, STALL_MIN};
use super::*;
use crate::exchange::messages::LevelTableSnapshot;
use crate::rings::io::{BATCH, COMPLETION_WAIT, FEW, RECEIVE_BATCHES};
use bench::*;
use fake_io::{clock, Sent};

#[test]
fn a_frame_leaves_unchanged_and_in_the_chunk_that_it_came_in() {
    let mut bench = Bench::new(&Setup::default());
    let free = bench.worker.pool.free_count();
    let bytes = data(0, 1, 42, 1514);
    let chunk = bench.arrive(0, Some(meta(FrameClass::Data, LOSSY)), &bytes);
    assert!(bench.round());
    let port = 1;
    assert_eq!(bench.sent(), [Sent { port, chunk, bytes }]);
    assert_eq!(bench.worker.switch.held_frames(), 0);
    // One chunk is missing in a fill ring, which is too few for a refill.
    assert_eq!(bench.worker.pool.free_count(), free + 1);
    assert!(!bench.round(), "nothing is left to do");
    bench.assert_conserved();
}

#[test]
fn a_flooded_frame_comes_back_with_its_last_copy() {
    let mut bench = Bench::new(&Setup {
        learning_capacity: 16,
        ..Setup::default()
    });
    let bytes = [frame_between(host(0), MacAddress::BROADCAST), vec![7; 50]].concat();
    bench.worker.io.set_budget(2, 0);
    let chunk = bench.arrive(0, Some(meta(FrameClass::Data, LOSSY)), &bytes);
    bench.round();
    let copy = |port| Sent {
        port,
        chunk,
        bytes: bytes.clone(),
    };
    assert_eq!(bench.sent(), [copy(1)]);
    assert_eq!(bench.worker.switch.held_frames(), 1);
    bench.assert_conserved();
    bench.worker.io.set_budget(2, 1);
    bench.round();
    assert_eq!(bench.sent(), [copy(1), copy(2)]);
    assert_eq!(bench.worker.switch.held_frames(), 0);
    bench.assert_conserved();
}

#[test]
fn a_full_buffer_pauses_its_neighbour_and_lets_it_resume() {
    let mut bench = Bench::new(&Setup::default());
    bench.worker.io.set_budget(1, 0);
    // 512 B each in whole cells: the last one reaches xoff.
    for number in 0..16 {
        assert_eq!(bench.sent_by(0), Vec::<Vec<u8>>::new());
        bench.arrive_data(0, 1, LOSSLESS, number);
        bench.round();
    }
    let [pause] = bench.sent_by(0).try_into().unwrap();
    assert_eq!(pause_of(&pause), Some(Quanta::MAX));
    assert_eq!(pause[..6], MAC_CONTROL_ADDRESS.0);
    assert_eq!(pause[6..12], port_address(0).0);
    assert_eq!(pause.len(), 60);
    bench.assert_conserved();

    bench.worker.io.set_budget(1, usize::MAX);
    bench.settle();
    let told: Vec<_> = bench.sent_by(0).iter().map(|it| pause_of(it)).collect();
    assert_eq!(told, [Some(Quanta::MAX), Some(Quanta::ZERO)]);
    assert_eq!(bench.sent_by(1).len(), 16);
    assert_eq!(bench.sent_by(2), Vec::<Vec<u8>>::new());
    assert_eq!(bench.worker.accounts.control_chunks().count(), 0);
    bench.assert_conserved();
}

#[test]
fn a_pause_is_asked_for_again_before_it_expires() {
    let mut bench = Bench::new(&Setup::default());
    bench.worker.io.set_budget(1, 0);
    for number in 0..16 {
        bench.arrive_data(0, 1, LOSSLESS, number);
    }
    bench.settle();
    assert_eq!(bench.sent_by(0).len(), 1);
    let due = bench.worker.switch.next_timeout().unwrap();
    bench.round_after(due.saturating_since(bench.now));
    assert!(due < bench.now + Quanta::MAX.at(FAST));
    let told: Vec<_> = bench.sent_by(0).iter().map(|it| pause_of(it)).collect();
    assert_eq!(told, [Some(Quanta::MAX); 2]);
}

#[test]
fn a_pause_finds_a_chunk_when_receiving_has_all_others() {
    let mut bench = Bench::new(&Setup {
        buffer: Bytes::new(1536),
        spare: RESERVE,
        ..Setup::default()
    });
    bench.worker.io.set_budget(1, 0);
    assert_eq!(bench.worker.pool.free_count(), RESERVE);
    let mut number = 0;
    while bench.worker.io.is_receiving(0) {
        bench.arrive_data(0, 1, LOSSLESS, number);
        number += 1;
    }
    bench.round();
    assert_eq!(bench.sent_by(0).len(), 1);
    assert_eq!(pause_of(&bench.sent_by(0)[0]), Some(Quanta::MAX));
    bench.assert_conserved();
}

#[test]
fn a_pause_from_the_neighbour_holds_its_priority_alone() {
    let mut bench = Bench::new(&Setup::default());
    bench.arrive_pfc(1, LOSSLESS, Quanta::MAX);
    bench.settle();
    bench.arrive_data(0, 1, LOSSLESS, 1);
    bench.arrive_data(0, 1, LOSSY, 2);
    bench.settle();
    assert_eq!(bench.sent_by(1), [data(0, 1, 2, 500)]);
    assert_eq!(bench.worker.switch.held_frames(), 1);
    bench.arrive_pfc(1, LOSSLESS, Quanta::ZERO);
    bench.settle();
    assert_eq!(bench.sent_by(1).last(), Some(&data(0, 1, 1, 500)));
    assert_eq!(bench.worker.switch.held_frames(), 0);
    bench.assert_conserved();
}

#[test]
fn frames_of_control_protocols_are_taken_and_given() {
    let mut bench = Bench::new(&Setup::default());
    let message = clcm();
    let bytes = emit(&ControlFrame::Clcm(message));
    assert!(!bench.is_notified());
    bench.arrive(0, Some(meta(FrameClass::Clcm, LOSSY)), &bytes);
    bench.round();
    assert!(bench.is_notified());
    let event = bench.events.try_recv().unwrap();
    assert_eq!(event.at, bench.now);
    assert!(
        matches!(event.kind, EventKind::ClcmReceived { ingress, message: received, .. }
            if ingress == id(0) && received == message),
        "{event:?}"
    );

    bench.command(Command::SendClcm {
        port: id(1),
        message,
    });
    bench.settle();
    let [sent] = bench.sent_by(1).try_into().unwrap();
    assert_eq!(Clcm::parse(&sent), Ok(message));
    assert_eq!(sent[6..12], port_address(1).0);
    bench.assert_conserved();
}

#[test]
fn refused_frames_are_counted_once_and_their_chunks_come_back() {
    for (port, meta, bytes, reason) in frames_to_refuse() {
        let mut bench = Bench::new(&Setup::default());
        let free = bench.worker.pool.free_count();
        bench.arrive(port, meta, &bytes);
        bench.round();
        assert_eq!(bench.worker.pool.free_count(), free + 1, "{reason:?}");
        assert_eq!(bench.worker.switch.held_frames(), 0, "{reason:?}");
        assert_eq!(bench.sent(), [], "{reason:?}");
        let mut expected = DropCounts::default();
        if let Some(reason) = reason {
            expected[reason.index()] = 1;
        }
        assert_eq!(bench.counters(port).drops, expected, "{reason:?}");
        bench.assert_conserved();
    }
}

#[test]
fn a_port_whose_link_is_down_takes_and_gives_nothing() {
    let mut bench = Bench::new(&Setup::default());
    let set_link = |up| Command::SetLink { port: id(1), up };
    bench.command(set_link(false));
    bench.round();
    bench.arrive_data(0, 1, LOSSLESS, 1);
    bench.arrive_data(1, 0, LOSSLESS, 2);
    bench.settle();
    assert_eq!(bench.sent(), []);
    assert_eq!(bench.counters(1).drops[DropReason::PortDown.index()], 1);
    bench.command(set_link(true));
    bench.settle();
    let sent = bench.sent_by(1);
    assert_eq!(
        pause_of(&sent[0]),
        Some(Quanta::ZERO),
        "what was told before may be lost"
    );
    assert_eq!(sent[1..], [data(0, 1, 1, 500)]);
    bench.assert_conserved();
}

#[test]
fn a_port_whose_device_is_gone_holds_nobody() {
    let mut bench = Bench::new(&Setup {
        outstanding_max: 4,
        ..Setup::default()
    });
    bench.worker.io.set_budget(1, 0);
    // The transmitter holds some, and so many wait that the sender is paused.
    let count = bench.send_until_paused();
    let outstanding = bench.worker.io.tx_waiting(1);
    assert!(outstanding > 0 && outstanding < count as usize);
    bench.worker.io.lose_device(1);
    bench.command(Command::DeviceGone { port: id(1) });
    bench.settle();
    let last = bench.sent_by(0).pop().unwrap();
    assert_eq!(pause_of(&last), Some(Quanta::ZERO), "the sender may go on");
    assert_eq!(bench.worker.switch.held_frames(), 0);
    let port_down = |bench: &Bench| bench.counters(0).drops[DropReason::PortDown.index()];
    assert_eq!(port_down(&bench), u64::from(count) - outstanding as u64);
    let kernel = bench.snapshot().ports[1].kernel;
    assert_eq!(kernel.tx_device_drops_total, outstanding as u64);
    // Frames for it are dropped, whatever the state of its link, and other ports are not affected.
    bench.command(Command::SetLink {
        port: id(1),
        up: true,
    });
    let before = port_down(&bench);
    bench.arrive_data(0, 1, LOSSLESS, 1_000);
    bench.arrive_data(0, 2, LOSSLESS, 1_001);
    bench.settle();
    assert_eq!(port_down(&bench), before + 1);
    assert_eq!(bench.sent_by(2), [data(0, 2, 1_001, 500)]);
    assert_eq!(bench.audit().differences(), []);
    bench.assert_conserved();
}

/// Its rings are closed with their contents, and every chunk is returned exactly once.
#[test]
fn a_port_whose_device_comes_back_forwards_again() {
    let mut bench = Bench::new(&Setup::default());
    bench.worker.io.set_budget(1, 0);
    for round in 0..10 {
        // Frames that wait for it, that its transmitter holds, and that it received but the loop has not taken.
        for number in 0..20 {
            bench.arrive_data(0, 1, LOSSLESS, round * 100 + number);
            bench.round();
            bench.arrive_data(1, 2, LOSSLESS, round * 100 + number);
        }
        bench.request(Request::Part { port: id(1) });
        bench.round();
        bench.command(Command::DeviceGone { port: id(1) });
        bench.settle();
        assert_eq!(bench.worker.switch.held_frames(), 0);
        assert_eq!(bench.snapshot().ports[1].rings.fill.used, 0);
        assert_eq!(bench.audit().differences(), []);
        bench.assert_conserved();

        let address = MacAddress([2, 0, 0, 0, 9, round as u8]);
        bench.request(Request::Join {
            port: id(1),
            address,
            finishes: false,
        });
        bench.round();
        assert!(bench.worker.io.is_receiving(1));
        bench.worker.io.set_budget(1, usize::MAX);
        let before = bench.sent_by(1).len();
        bench.arrive_data(0, 1, LOSSLESS, 1_000);
        bench.settle();
        assert_eq!(bench.sent_by(1).len(), before, "its link is not up yet");
        bench.command(Command::SetLink {
            port: id(1),
            up: true,
        });
        bench.settle();
        let sent = bench.sent_by(1).split_off(before);
        assert!(sent.contains(&data(0, 1, 1_000, 500)));
        let told = sent.iter().find(|frame| pause_of(frame).is_some());
        assert_eq!(told.map(|frame| &frame[6..12]), Some(&address.0[..]));
        assert_eq!(bench.audit().differences(), []);
        bench.worker.io.set_budget(1, 0);
    }
    let arrived = bench.sent_by(2).len();
    assert_eq!(arrived, 200, "what had come by it is not lost");
    assert!(
        bench.snapshot().ports[1].kernel.rx_ring_full_total > 1_000,
        "losses add up"
    );
}

/// A pause acts after the same time for any frame length.
#[test]
fn a_transmitter_has_bytes_not_frames() {
    for length in [60, 500, 1_500] {
        let mut bench = Bench::new(&Setup {
            outstanding_max: 1_000,
            outstanding_bytes: Bytes::new(10_000),
            buffer: Bytes::new(512 * 1024),
            ..Setup::default()
        });
        bench.worker.io.set_budget(1, 0);
        for number in 0..200 {
            let meta = meta(FrameClass::Data, LOSSY);
            bench.arrive(0, Some(meta), &data(0, 1, number, length));
        }
        for _ in 0..10 {
            bench.round();
        }
        let on_line = bench.worker.io.tx_waiting(1) * (length + 24);
        assert!(
            (10_000..10_000 + length + 24).contains(&on_line),
            "{length}: {on_line}"
        );
        bench.worker.io.set_budget(1, usize::MAX);
        bench.settle();
        bench.assert_conserved();
    }
}

#[test]
fn no_ring_gets_more_than_its_share_of_a_round() {
    const SHARE: usize = FEW + (RECEIVE_BATCHES - 1) * BATCH;
    let mut bench = Bench::new(&Setup {
        outstanding_max: 4,
        ring: 2 * SHARE,
        spare: PORT_COUNT * (2 * SHARE + RESERVE),
        ..Setup::default()
    });
    bench.worker.io.set_budget(1, 0);
    for number in 0..SHARE as u32 + 100 {
        bench.arrive_data(0, 1, LOSSY, number);
        bench.arrive_data(1, 0, LOSSY, number);
    }
    bench.arrive_data(2, 0, LOSSLESS, 777);
    for _ in 0..100 {
        bench.command(Command::SetLink {
            port: id(0),
            up: true,
        });
    }
    bench.round();
    assert_eq!(bench.requests.len(), 100 - REQUESTS_PER_ROUND);
    let waiting: Vec<_> = (0..3)
        .map(|port| bench.worker.io.rx_waiting(port))
        .collect();
    assert_eq!(waiting, [100, 100, 0]);
    assert_eq!(bench.worker.stats.counters.rx_frames, 2 * SHARE as u64 + 1);
    assert_eq!(bench.worker.io.tx_waiting(1), 4, "the transmitter is stuck");
    assert_eq!(bench.sent_by(0).len(), 4, "in the same round");
    bench.round();
    assert_eq!(bench.worker.io.tx_waiting(1), 4);
    assert!(
        bench.sent_by(0).contains(&data(2, 0, 777, 500)),
        "the other priority and port has had its turn"
    );
    bench.assert_conserved();
}

#[test]
fn refused_commands_are_counted() {
    let mut bench = Bench::new(&Setup::default());
    for ingress in [0, 1] {
        bench.command(Command::Release {
            ingress: id(ingress),
            egress: id(2),
            priority: Priority::from_low_bits(LOSSLESS),
            period: Duration::from_millis(5),
            preference: Duration::ZERO,
            extra: Bytes::new(3_072),
        });
    }
    assert_eq!(
        bench.snapshot().rounds.counters.commands_refused,
        1,
        "the second"
    );
}

#[test]
fn events_beyond_the_queue_are_counted() {
    let mut bench = Bench::new(&Setup {
        event_capacity: 2,
        ..Setup::default()
    });
    let bytes = emit(&ControlFrame::Clcm(clcm()));
    for _ in 0..5 {
        bench.arrive(0, Some(meta(FrameClass::Clcm, LOSSY)), &bytes);
    }
    bench.round();
    assert_eq!(bench.events.len(), 2);
    assert_eq!(bench.snapshot().rounds.counters.events_lost, 3);
    assert_eq!(bench.counters(0).clcm_received, 5);
}

#[test]
fn a_snapshot_contains_all_ports() {
    let mut bench = Bench::new(&Setup::default());
    bench.worker.io.set_budget(1, 0);
    bench.arrive_data(0, 1, LOSSLESS, 1);
    bench.round();
    let first = bench.snapshot();
    assert!(bench.is_notified());
    assert_eq!(first.at, bench.now);
    assert_eq!(first.held_frames, 1);
    assert_eq!(first.umem_frames, bench.worker.pool.count() as u64);
    assert_eq!(
        first.umem_frames_free,
        bench.worker.pool.free_count() as u64
    );
    let priority = usize::from(LOSSLESS);
    assert_eq!(first.ports[0].gauges[priority].ingress, Bytes::new(512));
    assert_eq!(first.ports[0].counters.priority[priority].rx_frames, 1);
    assert_eq!(first.ports[1].counters.priority[priority].tx_frames, 1);
    let losses: Vec<_> = first
        .ports
        .iter()
        .map(|it| it.kernel.rx_ring_full_total)
        .collect();
    assert_eq!(losses, [100, 101, 102]);
    assert_eq!(
        (
            first.rounds.counters.rx_frames,
            first.rounds.counters.tx_frames
        ),
        (1, 1)
    );

    let place = std::ptr::from_ref(first.as_ref());
    let ports = first.ports.as_ptr();
    bench.request(Request::Snapshot(first));
    bench.round();
    let second = bench.snapshots.try_recv().unwrap();
    assert_eq!(std::ptr::from_ref(second.as_ref()), place);
    assert_eq!(second.ports.as_ptr(), ports, "filled in place");
}

#[test]
fn a_snapshot_has_of_the_level_table_what_it_has_room_for() {
    let mut bench = Bench::new(&Setup {
        has_levels: true,
        ..Setup::default()
    });
    for (port, number) in [(0, 1), (1, 2)] {
        bench.worker.io.set_budget(port, 0);
        bench.arrive_data(EDGE, port, LOSSLESS, number);
        bench.settle();
    }
    let mut snapshot = Box::<Snapshot>::default();
    snapshot.level_table = LevelTableSnapshot::with_room(1);
    let place = snapshot.level_table.entries.as_ptr();
    for _ in 0..2 {
        bench.request(Request::Snapshot(snapshot));
        bench.round();
        snapshot = bench.snapshots.try_recv().unwrap();
        let table = &snapshot.level_table;
        let destinations: Vec<_> = table.entries.iter().map(|it| it.destination).collect();
        assert_eq!(destinations, [host(0)], "the older one");
        assert_eq!(table.entries[0].buffered, Bytes::new(512));
        assert_eq!((table.total, table.left_out()), (2, 1));
        assert_eq!(table.entries.as_ptr(), place, "filled in place");
    }
    let levels = |port: usize| snapshot.ports[port].gauges[usize::from(LOSSLESS)].levels;
    assert_eq!(
        [0, 1, EDGE].map(|port| levels(port).is_some()),
        [true, true, false]
    );
    bench.assert_conserved();
}
