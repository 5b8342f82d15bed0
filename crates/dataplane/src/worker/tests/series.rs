//! Series: readings at their times, and lost readings.

use super::*;
use crate::exchange::series::{Reading, Series};

const INTERVAL: Duration = Duration::from_millis(1);

pub(super) fn series(bench: &mut Bench, place: usize) -> Arc<Series> {
    let series = Arc::new(Series::new(INTERVAL, bench.worker.ports.len()));
    bench.request(Request::Series {
        place,
        series: Some(Arc::clone(&series)),
    });
    bench.round();
    series
}

/// A pause lasts for seconds at this rate.
fn slow() -> Setup {
    Setup {
        rate: SLOW,
        ..Setup::default()
    }
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

fn count(series: &Series) -> u64 {
    let readings = taken(series);
    readings.iter().map(|reading| reading.repeats + 1).sum()
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
        assert_eq!(reading.at, began + INTERVAL.saturating_mul(number));
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
fn readings_that_are_late_show_the_switch_at_their_times() {
    let mut bench = Bench::new(&slow());
    let series = series(&mut bench, 1);
    let began = bench.now;
    let quanta = Quanta(0xffff);
    bench.arrive_pfc(1, LOSSLESS, quanta);
    bench.round_after(Duration::from_micros(1_500));
    let paused_at = bench.now;
    bench.arrive_pfc(1, LOSSLESS, Quanta::ZERO);
    bench.round_after(INTERVAL.saturating_mul(3));
    let resumed_at = bench.now;
    bench.round_after(INTERVAL.saturating_mul(5));
    let readings = taken(&series);
    let shown = readings.iter().flat_map(|reading| {
        let received = reading.ports[1].priorities[usize::from(LOSSLESS)].received;
        (0..=reading.repeats)
            .map(move |number| (reading.at + INTERVAL.saturating_mul(number), received))
    });
    let shown: Vec<_> = shown.collect();
    assert_eq!((shown.len(), series.lost()), (10, 0));
    for (number, (at, received)) in (0..).zip(shown) {
        assert_eq!(at, began + INTERVAL.saturating_mul(number));
        let until = at.min(resumed_at);
        assert_eq!(
            received.total,
            until.saturating_since(paused_at),
            "{number}"
        );
        assert_eq!(
            received.active,
            at > paused_at && at <= resumed_at,
            "{number}"
        );
    }
    // The pause was over, so that one reading was enough for the last five.
    assert_eq!(readings.last().unwrap().repeats, 4);
}

#[test]
fn readings_without_room_or_past_their_time_are_counted() {
    let mut bench = Bench::new(&slow());
    let (slow, quick) = (series(&mut bench, 0), series(&mut bench, 3));
    let mut quick_taken = count(&quick);
    for _ in 0..2_000 {
        bench.round_after(INTERVAL);
        quick_taken += count(&quick);
    }
    let slow_taken = count(&slow);
    assert!((16..=1_024).contains(&slow_taken), "{slow_taken}");
    assert_eq!(slow_taken + slow.lost(), 2_001, "one at the beginning");
    assert_eq!((slow.late(), slow.crowded()), (0, slow.lost()));
    assert_eq!((quick_taken, quick.lost()), (2_001, 0));
    // The thread is delayed, and an idle switch did not change meanwhile.
    bench.round_after(INTERVAL.saturating_mul(1_000));
    assert_eq!((count(&quick), quick.lost()), (1_000, 0));
    // A pause in progress takes a reading each, and the thread does not catch up on all of them.
    bench.arrive_pfc(1, LOSSLESS, Quanta(0xffff));
    bench.round_after(INTERVAL);
    count(&quick);
    bench.round_after(INTERVAL.saturating_mul(100));
    let (quick_taken, late) = (count(&quick), quick.late());
    assert_eq!((quick_taken + late, quick.crowded()), (100, 0));
    assert!((1..100).contains(&quick_taken), "{quick_taken}");
    for place in [0, 3] {
        let series = None;
        bench.request(Request::Series { place, series });
    }
    bench.round_after(INTERVAL.saturating_mul(10));
    assert_eq!((count(&quick), quick.lost()), (10, late), "ended");
    bench.round_after(INTERVAL.saturating_mul(10));
    assert_eq!((count(&quick), quick.lost()), (0, late), "ended");
}

#[test]
fn an_idle_loop_wakes_for_several_readings_at_a_time() {
    let mut bench = Bench::new(&Setup::default());
    bench.settle();
    let series = series(&mut bench, 0);
    bench.settle();
    count(&series);
    bench.worker.sleep(bench.now);
    let span = bench.worker.io.waits.last().unwrap().unwrap();
    assert!(span > INTERVAL.saturating_mul(10), "{span:?}");
    bench.round_after(span);
    assert!(count(&series) >= 10);
    assert_eq!(series.lost(), 0);
}
