//! The figures as numbers, computed exactly, and to the nanosecond where the paper states microseconds.

use super::{vegas_run, VEGAS_END_US};
use crate::algebra::{Crossing, Exact, Scalar};
use crate::case_study::dcqcn::{DcqcnParameters, HyperIncrease};
use crate::case_study::{CaseStudy, Configuration, Increase, SenderModel};
use crate::congestion::pfc::Resume;
use crate::congestion::rtt::Inverse;
use crate::control::rate_based::{IncreaseTimer, RateBased, RateEventKind};
use crate::multiflow::fairness::AimdFairness;
use crate::multiflow::prediction::{predict, Pause, Prediction, Signal};

fn int(value: i64) -> Exact {
    Exact::from(value)
}

fn ratio(numerator: i64, denominator: i64) -> Exact {
    Exact::new(numerator, denominator)
}

/// Rounds to nanoseconds, in units of microseconds.
fn rounded(time: &Exact) -> f64 {
    ((time.clone() * &int(1_000) + &ratio(1, 2)).floor()).to_f64() / 1e3
}

fn case(end: i64, configuration: Configuration, increase: Increase) -> Prediction<Exact> {
    let study = CaseStudy::new(int(end)).with_model(SenderModel::simplified(increase));
    predict(study.scenario(configuration)).unwrap()
}

fn megabytes(kbit: &Exact) -> f64 {
    kbit.to_f64() / 8_000.0
}

fn of_first_source(signals: &[Signal<Exact>]) -> Vec<&Signal<Exact>> {
    signals.iter().filter(|signal| signal.source == 0).collect()
}

/// Returns (3/4)^k of all sources' line rate.
fn after_cuts(count: u32) -> Exact {
    (0..count).fold(int(3_100), |rate, _| rate * &ratio(3, 4))
}

#[test]
fn figures_9_and_10_pfc_is_a_saw() {
    let prediction = case(10_000, Configuration::Pfc, Increase::AsPrinted);
    let xoff = int(235_600);
    let horizon = int(10_000);
    let crossing = prediction
        .backlog
        .first_crossing(&int(0), &horizon, Crossing::Above, &xoff);
    assert_eq!(
        crossing,
        Ok(Some(ratio(1_178, 15))),
        "29.45 MB at 78.533 µs"
    );
    // Seen 4 µs later, after another 4 µs at 3,000 kbit/µs.
    let first = ratio(1_178, 15) + &int(4);
    assert_eq!(rounded(&first), 82.533);
    let peak = prediction.peak_backlog().unwrap();
    assert_eq!(peak, (first.clone(), int(247_600)));
    assert_eq!(megabytes(&peak.1), 30.95, "just under 31 MB");
    // 2.275 MB down to X_on and 4 µs: 186 µs of pause. Then 6.2 µs at 3,100 Gbit/s: 1/31 of the period.
    let (period, paused) = (ratio(1_922, 10), int(186));
    assert_eq!(prediction.pauses.len(), 52);
    for (index, pause) in prediction.pauses.iter().enumerate() {
        let from = first.clone() + &(period.clone() * &int(index as i64));
        let to = Some(from.clone() + &paused).filter(|to| *to < horizon);
        assert_eq!(
            *pause,
            Pause {
                group: 0,
                from: from.clone(),
                to: to.clone()
            }
        );
        if let Some(to) = to {
            assert_eq!(prediction.backlog.finite_at(&from), Ok(int(247_600)));
            assert_eq!(
                megabytes(&prediction.backlog.finite_at(&to).unwrap()),
                28.625
            );
            assert_eq!(prediction.admitted_rate_after(&to), int(3_100));
        }
        assert!(prediction.admitted_rate_after(&from).is_zero());
    }
    assert_eq!((period - &paused) * &int(31), ratio(1_922, 10));
    assert!(prediction.timeouts.is_empty(), "30.95 MB are 2.476 ms");
}

#[test]
fn the_formula_for_the_end_of_a_pause_pauses_twice() {
    let mut study = CaseStudy::<Exact>::new(int(1_000));
    study.resume = Resume::AfterFormula;
    let prediction = predict(study.scenario(Configuration::Pfc)).unwrap();
    let found: Vec<_> = prediction
        .pauses
        .iter()
        .take(4)
        .map(|pause| (rounded(&pause.from), pause.to.as_ref().map(rounded)))
        .collect();
    // 62 µs each. After the first the backlog is still above X_off; after the second it is at X_off, and B > X_off is 4.133
    // µs away.
    let expected = [
        (82.533, Some(144.533)),
        (144.533, Some(206.533)),
        (210.667, Some(272.667)),
        (272.667, Some(334.667)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn figure_10_dcqcn_cuts_every_50_microseconds_and_pfc_comes_third() {
    let prediction = case(400, Configuration::Dcqcn, Increase::AsPrinted);
    let notified = of_first_source(&prediction.notifications);
    // 200 kB at 0.533 µs and 4 µs of feedback.
    let first = ratio(68, 15);
    assert_eq!(rounded(&first), 4.533);
    assert_eq!(notified.len(), 8, "eight reductions by 0.4 ms");
    for (index, signal) in notified.iter().enumerate() {
        assert_eq!(signal.time, first.clone() + &int(50 * index as i64));
        let expected = after_cuts(index as u32 + 1) / &int(31);
        assert_eq!(signal.rate, expected);
    }
    assert_eq!(
        prediction.notifications.len(),
        8 * 31,
        "all sources at once"
    );
    // By hand: after k cuts the backlog grows by 3,100·(3/4)^k − 100 per microsecond.
    let growth = |cuts: u32| after_cuts(cuts) - &int(100);
    let after_two = first.clone() * &growth(0) + (growth(1) + &growth(2)) * &int(50);
    let crossing = first + &int(100) + (int(235_600) - &after_two) / &growth(3);
    assert_eq!(rounded(&crossing), 128.181);
    let pause = &prediction.pauses[0];
    assert_eq!(pause.from, crossing + &int(4));
    assert_eq!(rounded(&pause.from), 132.181, "about 0.13 ms");
    assert_eq!(pause.to.as_ref().map(rounded), Some(246.494));
    let (time, peak) = prediction.peak_backlog().unwrap();
    assert_eq!(
        (rounded(&time), (megabytes(&peak) * 1e3).round() / 1e3),
        (132.181, 30.054)
    );
    let (time, peak) = (rounded(&prediction.pauses[1].from), prediction.pauses.len());
    assert_eq!(
        (time, peak),
        (261.831, 3),
        "less and less of a saw: the third and last at 377 µs"
    );
}

#[test]
fn figure_9_without_pfc_the_peak_is_above_50_megabytes() {
    let prediction = case(3_500, Configuration::DcqcnWithoutPfc, Increase::AsPrinted);
    let (time, peak) = prediction.peak_backlog().unwrap();
    // After the 12th cut 98.2 Gbit/s arrive, before the simulation's 0.8 ms, whose sources cut less often.
    assert_eq!(time, ratio(68, 15) + &int(550));
    assert_eq!(rounded(&time), 554.533);
    let first = ratio(68, 15) * &int(3_000);
    let expected = (1..12).fold(first, |sum, cuts| {
        sum + (after_cuts(cuts) - &int(100)) * &int(50)
    });
    assert_eq!(peak, expected);
    assert!((megabytes(&peak) - 50.495).abs() < 5e-4);
    // Traffic that arrived when the backlog passed 37.45 MB waits more than 3 ms − 4 µs: all sources time out at once, and
    // the queued traffic vanishes, since the origin shifts.
    assert_eq!(prediction.timeouts.len(), 31);
    assert!(prediction
        .timeouts
        .iter()
        .all(|timeout| rounded(&timeout.time) == 3_191.057));
    let timeout = &prediction.timeouts[0].time;
    let before = prediction.backlog.finite_at(timeout).unwrap();
    // By hand: Σ 3,100·(3/4)^k·50 for all k ≥ 1 is 465,000 kbit, and 100 have left per microsecond.
    let by_hand = 3_100.0 * 68.0 / 15.0 + 465_000.0 - 100.0 * timeout.to_f64();
    assert!((before.to_f64() - by_hand).abs() < 1.0);
    assert!((megabytes(&before) - 19.993).abs() < 5e-4);
    let after = timeout.clone() + &int(1);
    assert!(prediction.backlog.finite_at(&after).unwrap().is_zero());
}

#[test]
fn figure_9_the_printed_increase_does_not_give_the_printed_picture() {
    let printed = case(10_000, Configuration::Dcqcn, Increase::AsPrinted);
    let late = int(9_999);
    assert!(
        (printed.admitted_rate_after(&late).to_f64() - 19.375).abs() < 5e-4,
        "of 100 Gbit/s at 10 ms"
    );
    let empty = printed
        .backlog
        .first_crossing(&int(100), &late, Crossing::AtMost, &int(0));
    let empty = empty.unwrap().unwrap();
    assert_eq!(rounded(&empty), 3_097.777);
    let rest = printed
        .backlog
        .first_crossing(&empty, &late, Crossing::Above, &int(0));
    assert_eq!(rest, Ok(None), "no second rise");
    assert!((printed.paused_time(0).to_f64() - 272.796).abs() < 5e-4);
}

#[test]
fn figure_9_ten_times_the_printed_increase_does() {
    let pictured = case(8_000, Configuration::Dcqcn, Increase::AsPictured);
    let fast =
        |(time, rate): &&(Exact, Exact)| *time > int(3_200) && rate.clone() * &int(31) >= int(100);
    let (time, _) = pictured.rates[0].iter().find(fast).unwrap();
    assert_eq!(rounded(time), 6_679.533);
    let second = of_first_source(&pictured.notifications)
        .into_iter()
        .find(|signal| signal.time > int(3_200))
        .unwrap();
    assert_eq!(
        rounded(&second.time),
        7_020.87,
        "the backlog is back at K_max"
    );
    let backlog = pictured.backlog.finite_at(&second.time).unwrap();
    assert!((megabytes(&backlog) - 0.205).abs() < 5e-4);
}

#[test]
fn the_whole_of_dcqcn_moves_the_second_rise_to_three_milliseconds() {
    let run = |initial_alpha: f64, clamp| {
        let mut parameters = DcqcnParameters::table_2(initial_alpha);
        parameters.hyper = HyperIncrease::TimerAlone;
        parameters.clamp_target_rate = clamp;
        let study = CaseStudy::new(6_000.0).with_model(SenderModel::Full(parameters));
        predict(study.scenario(Configuration::Dcqcn)).unwrap()
    };
    // An initial α of 1 halves the rate at each notification, so X_off is never reached.
    let textbook = run(1.0, true);
    assert!(textbook.pauses.is_empty());
    let (time, peak) = textbook.peak_backlog().unwrap();
    assert!((time - 204.533).abs() < 1e-3 && (peak / 8e3 - 17.364).abs() < 1e-3);
    // α = 1/2 reproduces the 0.75 of the paper's experiments and the same first pause.
    let half = run(0.5, true);
    assert!((half.pauses[0].from - 132.376).abs() < 1e-3);
    let at_link_rate = |prediction: &Prediction<f64>| {
        let mut rates = prediction.rates[0].iter();
        rates
            .find(|(time, rate)| *time > 1_500.0 && rate * 31.0 > 100.0)
            .map(|(time, _)| *time)
    };
    assert!(
        (at_link_rate(&half).unwrap() - 3_989.533).abs() < 1e-3,
        "not at 7 ms"
    );
    // Without clamping, fast recovery returns to an old target: the jump at 3 ms.
    let unclamped = run(0.5, false);
    assert!((at_link_rate(&unclamped).unwrap() - 3_109.533).abs() < 1e-3);
    let late = unclamped
        .backlog
        .elements()
        .iter()
        .filter(|element| *element.from() > 3_100.0);
    let spike = late.map(|element| *element.start()).fold(0.0, f64::max);
    assert!((spike / 8e3 - 16.994).abs() < 1e-3, "{spike}");
}

/// Times of Figure 6's timeouts, in µs.
const TIMEOUTS_US: [f64; 17] = [
    258.627, 716.208, 2466.838, 5808.186, 9150.11, 12492.495, 15835.248, 19178.297, 22521.582,
    25865.056, 29208.682, 32552.428, 35896.271, 39240.192, 42584.175, 45928.207, 49272.279,
];
/// Like [`TIMEOUTS_US`], with line 6 of Algorithm 1 as printed.
const TIMEOUTS_AS_PRINTED_US: [f64; 17] = [
    258.627, 717.274, 2494.56, 5856.501, 9218.057, 12579.304, 15940.298, 19301.083, 22661.711,
    26022.215, 29382.617, 32742.94, 36103.198, 39463.404, 42823.57, 46183.702, 49543.808,
];

#[test]
fn figure_6_two_flows_become_equal() {
    let end = int(50_000);
    for (timer, expected) in [
        (IncreaseTimer::RestartsAtCongestion, TIMEOUTS_US),
        (IncreaseTimer::Advances, TIMEOUTS_AS_PRINTED_US),
    ] {
        let mut example = AimdFairness::new(end.clone());
        example.timer = timer;
        let prediction = predict(example.scenario()).unwrap();
        let found = of_first_source(&prediction.timeouts);
        let times: Vec<f64> = found.iter().map(|timeout| rounded(&timeout.time)).collect();
        assert_eq!(times, expected);
        // In a FIFO both wait equally long, so both time out together and their difference shrinks by β each time.
        let mut difference = int(30);
        for pair in prediction.timeouts.chunks(2) {
            difference = difference * &ratio(4, 5);
            assert_eq!(pair[0].time, pair[1].time);
            assert_eq!(pair[1].rate.clone() - &pair[0].rate, difference);
        }
        assert!(
            (difference.to_f64() - 0.675_540).abs() < 1e-6,
            "of 30 Gbit/s"
        );
        // Each timeout occurs at about 110 Gbit/s and leaves 88: shares around 50.
        for pair in prediction.timeouts.chunks(2).skip(3) {
            let sum = (pair[0].rate.clone() + &pair[1].rate).to_f64();
            assert!((87.0..90.0).contains(&sum), "{sum}");
        }
        // Together they are one flow of twice the increase, by Algorithm 1 itself.
        let together = RateBased {
            initial_rate: int(150),
            increase: ratio(1, 5),
            decrease: ratio(4, 5),
            increase_interval: int(30),
            timeout: int(100),
            feedback_delay: int(20),
            timer,
        };
        let part = int(10_000);
        let arrivals = crate::algebra::Curve::step(int(10_000_000), int(0));
        let service = crate::algebra::Curve::rate_function(int(100));
        let run = together.run(&arrivals, &service, &part).unwrap();
        let alone = run
            .events
            .iter()
            .filter(|event| event.kind != RateEventKind::Increase);
        let alone: Vec<Exact> = alone.map(|event| event.time.clone()).collect();
        let both: Vec<Exact> = found.iter().map(|timeout| timeout.time.clone()).collect();
        assert_eq!(alone, both[..alone.len()]);
        assert_eq!(alone.len(), 5);
    }
}

#[test]
fn figures_3_and_4_vegas_keeps_the_backlog_small() {
    let run = vegas_run::<Exact>(Inverse::Upper).unwrap();
    let packets = |kbit: &Exact| kbit.clone() / &int(12);
    // Slow start doubles at every other RTT of 20 µs, from 10 packets to 320.
    for (index, event) in run.events.iter().take(10).enumerate() {
        assert_eq!(event.time, int(20 * (index as i64 + 1)));
        assert_eq!(event.rtt, int(20));
        assert_eq!(packets(&event.window), int(20 << (index / 2)));
        assert!(event.slow_start);
    }
    // Twice the 250 kB in flight is too much: an RTT of 39.2 µs at 220 µs, and back to 320·20/39.2 packets.
    let left = &run.events[10];
    assert_eq!(
        (left.time.clone(), left.rtt.clone()),
        (int(220), ratio(196, 5))
    );
    assert_eq!(packets(&left.window), ratio(8_000, 49));
    assert!(!left.slow_start);
    let later = &run.events[11..];
    assert!(later
        .iter()
        .all(|event| event.window >= left.window && packets(&event.window) < int(189)));
    // A window's worth of backlog in slow start; later each burst of 1.5 MB contributes what fits into the window.
    let end = int(VEGAS_END_US);
    let backlog = run.admitted.minus_until(&run.departures, &end).unwrap();
    let kilobytes = |time: i64| backlog.after(&int(time)).finite().unwrap() / &int(8);
    assert_eq!(kilobytes(180), int(240));
    let peak = backlog.supremum_until(&end).unwrap().finite().unwrap();
    assert_eq!(peak, (int(180), int(1_920)));
    let bursts =
        [1_000, 1_500, 2_000, 2_500].map(|time| (kilobytes(time).to_f64() * 1e3).round() / 1e3);
    assert_eq!(bursts, [139.398, 148.398, 151.398, 154.398]);
    // Between bursts 2 to 4 packets wait.
    assert!(kilobytes(700) <= int(6) && kilobytes(700) >= int(3));
}

#[test]
fn figures_3_and_4_the_printed_rtt_leaves_slow_start_at_once() {
    let mut parameters = super::vegas_parameters(Inverse::Lower);
    parameters.initial_window = int(120);
    let arrivals = super::vegas_arrivals().unwrap();
    let service = crate::algebra::Curve::rate_function(int(100));
    let run = parameters.run(&arrivals, &service, &int(400)).unwrap();
    // The idle time after the first window counts as waiting.
    let second = &run.events[1];
    assert_eq!(
        (second.time.clone(), second.rtt.clone()),
        (int(40), int(40))
    );
    assert!(!second.slow_start);
    assert_eq!(second.window, int(120));
}
