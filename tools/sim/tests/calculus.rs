//! Section V of the calculus paper, packet by packet: the shape of Figures 7 and 8, and their numbers within bounds.

use weir_config::Fraction;
use weir_core::{Duration, MarkAt};
use weir_sim::reproduce::calculus::{figure, trace, Configuration, Figure, Setting, Trace};

/// Converts `bytes` to MB.
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[track_caller]
fn assert_between(low: f64, value: f64, high: f64) {
    assert!(low <= value && value <= high, "{value} in {low} to {high}");
}

fn traces(setting: Setting, duration: Duration) -> [Trace; 3] {
    Configuration::of_figure(setting).map(|configuration| trace(configuration, duration).unwrap())
}

#[test]
fn ten_milliseconds_have_the_shape_of_figure_7() {
    let [pfc, both, without] = traces(Setting::NEAREST, Figure::Seven.duration());
    for trace in [&pfc, &both, &without] {
        assert_eq!((trace.dropped, trace.reordered), (0, 0));
        assert_eq!(trace.backlog.len(), 10_000);
    }
    // PFC: a plateau of around 30 MB, and arrivals that rise and fall together.
    let plateau = &pfc.backlog[1000..];
    assert_between(28.0, megabytes(*plateau.iter().min().unwrap()), 30.0);
    assert_between(29.0, megabytes(*plateau.iter().max().unwrap()), 31.0);
    let silent = pfc.arrival_bps[1000..].iter().filter(|rate| **rate == 0.0);
    assert_between(0.5, silent.count() as f64 / 9000.0, 1.0);
    // Without PFC: above 50 MB; the paper's peak is at about 0.8 ms, this one earlier.
    let (peak, at) = without.peak();
    assert_between(50.0, megabytes(peak), 56.0);
    assert_between(550.0, at as f64, 850.0);
    // With both: like PFC until about 0.8 ms, then down at link rate until after 3 ms.
    let until = both.at_plateau_until().unwrap();
    assert_between(700.0, until as f64, 900.0);
    let cleared = both.cleared().unwrap();
    assert_between(3000.0, cleared as f64, 3500.0);
    let (from, to) = (until + 100, cleared - 500);
    let bits = (both.backlog[from] - both.backlog[to]) as f64 * 8.0;
    let rate = bits / ((to - from) as f64 * 1e-6);
    assert_between(0.93, rate / both.capacity_bps, 1.0);
    // Then the rates jump.
    let (rate, at) = both.second_rate().unwrap();
    assert!(rate > 3.0 * both.capacity_bps);
    assert_between(3000.0, at as f64, 3500.0);
}

#[test]
fn the_first_microseconds_have_the_shape_of_figure_8() {
    let [pfc, both, without] = traces(Setting::NEAREST, Figure::Eight.duration());
    // All lines without preambles and gaps.
    let all = 31.0 * pfc.capacity_bps;
    assert_between(
        0.99,
        pfc.arrival_bps[10..70].iter().sum::<f64>() / 60.0 / all,
        1.0,
    );
    // The first cuts within 10 µs, by a quarter; then every 50 µs.
    let [first, last] = without.first_cut.unwrap();
    assert!(first < Duration::from_micros(10) && last < Duration::from_micros(10));
    assert_between(0.749, without.first_factor.unwrap(), 0.751);
    let interval = without.cut_interval.unwrap();
    assert_between(50.0, interval.as_nanos() as f64 / 1e3, 53.0);
    assert_eq!(*without.cuts.last().unwrap(), [8, 8]);
    // Steps proportional to the rate.
    let step = |from: usize| without.arrival_bps[from..from + 30].iter().sum::<f64>() / 30.0;
    for (before, after) in [(20, 75), (75, 125)] {
        assert_between(0.72, step(after) / step(before), 0.78);
    }
    // After eight cuts arrivals still exceed the link rate: the backlog grows.
    let load = without.arrival_bps[350..].iter().sum::<f64>() / 50.0 / without.capacity_bps;
    assert_between(2.0, load, 5.0);
    assert!(without
        .backlog
        .windows(50)
        .step_by(50)
        .skip(1)
        .all(|part| part[49] > part[0]));
    // Like without PFC until it takes effect, at about 0.13 ms.
    let pause = both.first_pause.unwrap().as_nanos() as usize / 1000;
    assert_between(110.0, pause as f64, 140.0);
    assert_eq!(both.backlog[..pause - 1], without.backlog[..pause - 1]);
    assert!(both.arrival_bps[pause + 15..pause + 60]
        .iter()
        .all(|rate| *rate == 0.0));
}

#[test]
fn the_textbook_alpha_never_needs_pfc_and_marks_on_arrival_come_late() {
    let textbook = Setting {
        initial_alpha: Fraction::ONE,
        ..Setting::NEAREST
    };
    let [_, both, without] = traces(textbook, Duration::from_millis(1));
    assert_eq!(both.first_pause, None);
    assert_eq!(both.backlog, without.backlog);
    assert_between(0.499, without.first_factor.unwrap(), 0.501);
    let on_arrival = Setting {
        mark_at: MarkAt::Arrival,
        ..Setting::NEAREST
    };
    let [_, _, without] = traces(on_arrival, Duration::from_micros(100));
    // 200 kB are queued before the first frame that is certainly marked.
    let [first, last] = without.first_cut.unwrap();
    assert!(first > Duration::from_micros(10) && last < Duration::from_micros(30));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let run = || {
        let made = figure(Figure::Eight, Setting::NEAREST).unwrap();
        (made.svg(), made.table(), made.json().to_string())
    };
    assert_eq!(run(), run());
}
