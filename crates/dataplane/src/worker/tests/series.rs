//! Series: readings at their times, and lost readings.

use super::*;
use crate::exchange::series::{Reading, Series};

const INTERVAL: Duration = Duration::from_millis(1);

fn series(bench: &mut Bench, place: usize) -> Arc<Series> {
    let series = Arc::new(Series::new(INTERVAL, bench.worker.ports.len()));
    bench.request(Request::Series {
        place,
        series: Some(Arc::clone(&series)),
    });
    bench.round();
    series
}

fn taken(series: &Series) -> Vec<Reading> {
    let readings = std::iter::from_fn(|| series.take());
    let readings = readings.map(|reading| {
        let copy = (*reading).clone();
        series.recycle(reading);
        copy
    });
    readings.collect()
}

#[test]
fn readings_come_at_their_times_and_add_up_to_the_counters() {
    let mut bench = Bench::new(&Setup::default());
    let series = series(&mut bench, 1);
    let began = bench.now;
    for round in 0..400 {
        // A pause that is prolonged, ended and begun again, with frames that wait for it and frames without a route.
        if round % 30 < 20 {
            bench.arrive_pfc(1, LOSSLESS, Quanta(0xffff));
        } else {
            bench.arrive_pfc(1, LOSSLESS, Quanta::ZERO);
        }
        if round % 9 == 0 {
            bench.arrive_data(0, 1, LOSSLESS, round);
            bench.arrive(
                0,
                Some(meta(FrameClass::Data, LOSSY)),
                &data(0, 9, round, 100),
            );
        }
        bench.round_after(Duration::from_micros(90));
    }
    bench.arrive_pfc(1, LOSSLESS, Quanta::ZERO);
    bench.settle();
    bench.round_after(INTERVAL);
    let readings = taken(&series);
    assert!(readings.len() >= 36, "{}", readings.len());
    assert_eq!(series.lost(), 0);
    for (number, reading) in (0..).zip(&readings) {
        let due = began + INTERVAL.saturating_mul(number);
        let late = reading.at.saturating_since(due);
        assert!(reading.at >= due && late < Duration::from_micros(90) + INTERVAL);
    }
    let snapshot = bench.snapshot();
    let last = readings.last().unwrap();
    for (reading, port) in last.ports.iter().zip(&snapshot.ports) {
        assert_eq!(reading.drops, port.counters.drops);
        let by_priority = reading.priorities.map(|reading| reading.dropped);
        assert_eq!(by_priority, port.counters.data_drops);
        for (reading, gauges) in reading.priorities.iter().zip(&port.gauges) {
            assert_eq!(
                (reading.ingress, reading.egress),
                (gauges.ingress, gauges.egress)
            );
            assert_eq!(reading.received, gauges.pauses_received);
            assert_eq!(reading.sent, gauges.pauses_sent);
        }
    }
    let received = |reading: &Reading| reading.ports[1].priorities[usize::from(LOSSLESS)].received;
    assert!(received(last).begun > 5 && last.ports[0].drops.iter().sum::<u64>() > 5);
    // All were data frames of this priority.
    let lossy = last.ports[0].priorities[usize::from(LOSSY)].dropped;
    assert_eq!(lossy, last.ports[0].drops.iter().sum::<u64>());
    let queued = |reading: &Reading| reading.ports[1].priorities[usize::from(LOSSLESS)].egress;
    assert!(readings.iter().any(|reading| queued(reading) > Bytes::ZERO));
}

#[test]
fn readings_without_room_or_past_their_time_are_counted() {
    let mut bench = Bench::new(&Setup::default());
    let (slow, quick) = (series(&mut bench, 0), series(&mut bench, 3));
    let mut quick_taken = taken(&quick).len() as u64;
    for _ in 0..2_000 {
        bench.round_after(INTERVAL);
        quick_taken += taken(&quick).len() as u64;
    }
    let slow_taken = taken(&slow).len() as u64;
    assert!((16..=1_024).contains(&slow_taken), "{slow_taken}");
    assert_eq!(slow_taken + slow.lost(), 2_001, "one at the beginning");
    assert_eq!((slow.late(), slow.crowded()), (0, slow.lost()));
    assert_eq!((quick_taken, quick.lost()), (2_001, 0));
    // The thread is delayed.
    bench.round_after(INTERVAL.saturating_mul(10));
    assert_eq!(
        (taken(&quick).len(), quick.late(), quick.crowded()),
        (1, 9, 0)
    );
    for place in [0, 3] {
        let series = None;
        bench.request(Request::Series { place, series });
    }
    bench.round_after(INTERVAL.saturating_mul(10));
    assert_eq!((taken(&quick).len(), quick.lost()), (0, 9), "ended");
}

#[test]
fn an_idle_loop_wakes_for_readings_alone() {
    let mut bench = Bench::new(&Setup::default());
    bench.settle();
    let series = series(&mut bench, 0);
    bench.settle();
    let due = taken(&series)[0].at + INTERVAL;
    bench.worker.sleep(bench.now);
    let expected = due.saturating_since(bench.now);
    assert_eq!(bench.worker.io.waits.last(), Some(&Some(expected)));
}
