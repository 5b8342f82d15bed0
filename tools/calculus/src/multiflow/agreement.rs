//! Compares the event-driven computation with the algebra: two independent computations of the same functions, which share
//! only the scalars.

use proptest::prelude::*;

use super::control::{Aimd, FixedRate, RateControl};
use super::fifo;
use super::prediction::{predict, Prediction};
use super::scenario::{Between, Discipline, Ecn, PauseScope, Pfc, Scenario, Source};
use crate::algebra::{Crossing, Curve, Element, Exact, Scalar};
use crate::congestion::ecn::{notifications, Red};
use crate::congestion::pfc::{Resume, Thresholds};
use crate::control::rate_based::{IncreaseTimer, RateBased, RateEventKind};
use crate::multiflow::{priority, scenario};

type Function = Curve<Exact>;

fn int(value: i64) -> Exact {
    Exact::from(value)
}

/// Bursts and lines for some time, followed by a slope.
fn arrivals() -> impl Strategy<Value = Function> {
    let part = (
        1i64..80,
        prop_oneof![2 => Just(0i64), 1 => 1i64..4_000],
        0i64..120,
    );
    (prop::collection::vec(part, 1..5), 0i64..60).prop_map(|(parts, last)| {
        let (mut at, mut value) = (0, 0);
        let mut points = Vec::new();
        for (length, burst, slope) in parts {
            value += burst;
            points.push((int(at), int(value)));
            at += length;
            value += slope * length;
            points.push((int(at), int(value)));
        }
        Curve::through(&points, int(last)).unwrap()
    })
}

fn source(
    arrivals: Function,
    control: impl RateControl<Exact> + 'static,
    port: usize,
) -> Source<Exact> {
    Source {
        arrivals,
        control: Box::new(control),
        port,
        class: port,
    }
}

fn fixed(flows: &[(Function, i64)], rate: i64, end: i64) -> Scenario<Exact> {
    let source = |(port, (arrivals, rate)): (usize, &(Function, i64))| {
        source(arrivals.clone(), FixedRate(int(*rate)), port)
    };
    let sources = flows.iter().enumerate().map(source).collect();
    Scenario::new(int(rate), int(5), sources, int(end))
}

fn same(a: &Function, b: &Function) -> bool {
    a.equals(b).unwrap()
}

fn total(prediction: &Prediction<Exact>, end: i64) -> (Function, Function) {
    let sum = |flows: &[Function]| fifo::aggregate(flows, &int(end)).unwrap();
    (sum(&prediction.admitted), sum(&prediction.departures))
}

fn flows() -> impl Strategy<Value = Vec<(Function, i64)>> {
    prop::collection::vec((arrivals(), 1i64..150), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn one_flow_is_algorithm_1(
        arrivals in arrivals(),
        rate in 20i64..200,
        increase in 1i64..9,
        latest in any::<bool>(),
    ) {
        let timer = if latest { IncreaseTimer::Advances } else { IncreaseTimer::RestartsAtCongestion };
        let (decrease, interval, end) = (Exact::new(4, 5), int(30), int(900));
        let algorithm = RateBased {
            initial_rate: int(rate),
            increase: int(increase),
            decrease: decrease.clone(),
            increase_interval: interval.clone(),
            timeout: int(60),
            feedback_delay: int(20),
            timer,
        };
        let run = algorithm.run(&arrivals, &Curve::rate_function(int(60)), &end).unwrap();
        let control = Aimd::new(int(rate), int(increase), decrease, interval).with_timer(timer);
        let mut scenario = Scenario::new(int(60), int(20), vec![source(arrivals, control, 0)], end);
        scenario.timeout = Some(int(60));
        let prediction = predict(scenario).unwrap();
        let timeouts: Vec<_> = run.events.iter().filter(|event| event.kind != RateEventKind::Increase).collect();
        prop_assert_eq!(timeouts.len(), prediction.timeouts.len());
        for (expected, found) in timeouts.iter().zip(&prediction.timeouts) {
            prop_assert_eq!(&expected.time, &found.time);
            prop_assert_eq!(&expected.rate, &found.rate);
        }
        prop_assert!(same(&run.admitted, &prediction.admitted[0]));
        prop_assert!(same(&run.departures, &prediction.departures[0]));
    }

    #[test]
    fn sources_and_server_are_convolutions(flows in flows(), rate in 1i64..150) {
        let end = 200;
        let prediction = predict(fixed(&flows, rate, end)).unwrap();
        for ((arrivals, limit), admitted) in flows.iter().zip(&prediction.admitted) {
            let expected = arrivals.convolution_until(&Curve::rate_function(int(*limit)), &int(end)).unwrap();
            prop_assert!(same(&expected, admitted));
        }
        let (admitted, departures) = total(&prediction, end);
        let service = Curve::rate_function(int(rate));
        prop_assert!(same(&admitted.convolution_until(&service, &int(end)).unwrap(), &departures));
        prop_assert!(same(&admitted.minus_until(&departures, &int(end)).unwrap(), &prediction.backlog));
        for (index, own) in prediction.departures.iter().enumerate() {
            let bounds = fifo::departures_of(&prediction.admitted, &departures, index, &int(end)).unwrap();
            prop_assert!(same(&bounds.lower, own), "flow {}", index);
        }
    }

    #[test]
    fn the_worst_delay_is_the_horizontal_distance(flows in flows(), rate in 1i64..150) {
        let end = int(200);
        let prediction = predict(fixed(&flows, rate, 200)).unwrap();
        for index in 0..flows.len() {
            let (admitted, departures) = (&prediction.admitted[index], &prediction.departures[index]);
            let worst = prediction.worst_delay(index).unwrap();
            // While traffic leaves: its first part arrived when Â rose above the earlier departures, its last when Â reached
            // the present ones.
            let (rose, got) = (admitted.upper_pseudo_inverse().unwrap(), admitted.lower_pseudo_inverse().unwrap());
            let mut sampled = int(0);
            for element in departures.elements() {
                let Element::Segment { from, to: Some(to), start, slope } = element else { continue };
                if slope.is_positive() {
                    let first = rose.at(start).finite().unwrap();
                    let last = got.at(&element.end().unwrap()).finite().unwrap();
                    sampled = sampled.greater(from.clone() - &first).greater(to.clone() - &last);
                }
            }
            // Traffic that arrived at a corner of Â, if it has left.
            let left = departures.lower_pseudo_inverse().unwrap();
            for element in admitted.elements() {
                if let Some(time) = left.at(element.start()).finite() {
                    sampled = sampled.greater(time - element.from());
                }
            }
            // Traffic that waits at the end.
            let last = departures.finite_at(&end).unwrap();
            if last < admitted.finite_at(&end).unwrap() {
                sampled = sampled.greater(end.clone() - &rose.at(&last).finite().unwrap());
            }
            prop_assert_eq!(&worst, &sampled);
            // FIFO: no traffic waits longer than the service time of the greatest backlog.
            let (_, backlog) = prediction.peak_backlog().unwrap();
            prop_assert!(worst <= backlog / &int(rate));
        }
    }

    #[test]
    fn priority_is_the_difference_of_aggregates(flows in flows(), rate in 1i64..150) {
        let end = 200;
        let mut scenario = fixed(&flows, rate, end);
        scenario.discipline = Discipline::Priority;
        let prediction = predict(scenario).unwrap();
        let service = Curve::rate_function(int(rate));
        let expected = priority::departures(&prediction.admitted, &service, &int(end)).unwrap();
        for (expected, found) in expected.iter().zip(&prediction.departures) {
            prop_assert!(same(expected, found));
        }
    }

    #[test]
    fn fair_ports_get_their_share_while_they_wait(flows in flows(), rate in 1i64..150) {
        let end = 200;
        let mut scenario = fixed(&flows, rate, end);
        scenario.discipline = Discipline::FairPorts;
        let prediction = predict(scenario).unwrap();
        let (admitted, departures) = total(&prediction, end);
        let service = Curve::rate_function(int(rate));
        prop_assert!(same(&admitted.convolution_until(&service, &int(end)).unwrap(), &departures), "all of the server");
        let share = Exact::new(rate, flows.len() as i64);
        for (admitted, departures) in prediction.admitted.iter().zip(&prediction.departures) {
            // At least the fair share as a service curve.
            let least = admitted.convolution_until(&Curve::rate_function(share.clone()), &int(end)).unwrap();
            let margin = departures.minus_until(&least, &int(end)).unwrap();
            prop_assert_eq!(margin.first_crossing(&int(0), &int(end), Crossing::Below, &int(0)), Ok(None));
        }
    }

    #[test]
    fn pauses_and_notifications_are_those_of_the_backlog(flows in flows(), rate in 1i64..60, formula in any::<bool>()) {
        let end = int(200);
        let mut scenario = fixed(&flows, rate, 200);
        let thresholds = Thresholds { xoff: int(900), xon: int(700) };
        scenario.pfc = Some(Pfc {
            thresholds: thresholds.clone(),
            resume: if formula { Resume::AfterFormula } else { Resume::AtXon },
            scope: PauseScope::AllPorts,
            delay: int(5),
        });
        let red = Red { kmin: int(100), kmax: int(400), pmax: Exact::new(1, 100) };
        scenario.ecn = Some(Ecn { red, gap: int(17), marking: Default::default(), between: Default::default() });
        let prediction = predict(scenario).unwrap();
        let mut from = int(0);
        for pause in &prediction.pauses {
            let expected = thresholds.next_pause(&prediction.backlog, &int(5), &from, &end).unwrap();
            // One that begins exactly at the end may be on either side.
            if expected.is_some() || pause.from != end {
                prop_assert_eq!(expected, Some(pause.from.clone()));
            }
            let Some(to) = &pause.to else { break };
            let expected = if formula {
                thresholds.resume_by_formula(&pause.from, &int(rate))
            } else {
                thresholds.next_resume(&prediction.backlog, &int(5), &pause.from, &end).unwrap().unwrap()
            };
            prop_assert_eq!(to, &expected);
            // Nothing is admitted in the meantime.
            let (admitted, _) = total(&prediction, 200);
            prop_assert_eq!(admitted.at(&pause.from), admitted.at(to));
            from = to.clone();
        }
        if prediction.pauses.last().is_none_or(|pause| pause.to.is_some()) {
            let next = thresholds.next_pause(&prediction.backlog, &int(5), &from, &end).unwrap();
            prop_assert!(next.is_none_or(|next| next >= end), "no pause is missed");
        }
        let sent = notifications(&prediction.backlog, &int(400), &int(17), &int(195)).unwrap();
        let first = prediction.notifications.iter().filter(|signal| signal.source == 0);
        let found: Vec<Exact> = first.map(|signal| signal.time.clone() - &int(5)).collect();
        prop_assert_eq!(&sent[..found.len()], &found[..]);
        prop_assert!(sent[found.len()..].iter().all(|time| *time >= int(195)));
    }

    #[test]
    fn floating_point_tells_the_same_story(flows in flows(), rate in 1i64..60) {
        let sources = flows.iter().map(|(arrivals, limit)| Source {
            arrivals: in_floating_point(arrivals),
            control: Box::new(FixedRate(*limit as f64)) as Box<dyn RateControl<f64>>,
            port: 0,
            class: 0,
        }).collect();
        let pfc = |xoff, xon, delay| Pfc {
            thresholds: Thresholds { xoff, xon },
            resume: Resume::AtXon,
            scope: PauseScope::AllPorts,
            delay,
        };
        let mut fast = scenario::Scenario::new(rate as f64, 5.0, sources, 200.0);
        fast.pfc = Some(pfc(901.3, 701.7, 5.0));
        let fast = predict(fast).unwrap();
        let mut exact = fixed(&flows, rate, 200);
        exact.pfc = Some(Pfc {
            thresholds: Thresholds { xoff: Exact::new(9013, 10), xon: Exact::new(7017, 10) },
            resume: Resume::AtXon,
            scope: PauseScope::AllPorts,
            delay: int(5),
        });
        let exact = predict(exact).unwrap();
        prop_assert_eq!(fast.pauses.len(), exact.pauses.len());
        let (fast_peak, exact_peak) = (fast.peak_backlog().unwrap(), exact.peak_backlog().unwrap());
        prop_assert!((fast_peak.1 - exact_peak.1.to_f64()).abs() < 1e-6);
    }
}

/// Mixed scenarios, in floating point with arbitrary numbers.
fn anything() -> impl Strategy<Value = Scenario<f64>> {
    let flow = (arrivals(), 1i64..150, 0usize..3, any::<bool>());
    let flows = prop::collection::vec(flow, 1..6);
    let numbers = (0.9f64..60.0, 0.7f64..9.0, 50.0f64..2_000.0, 0.1f64..0.99);
    let switches = (0usize..3, 0usize..3, 0usize..4, any::<bool>());
    (flows, numbers, switches).prop_map(
        |(flows, (rate, delay, level, part), (discipline, pfc, ecn, timeouts))| {
            let sources = flows.into_iter().map(|(arrivals, limit, port, aimd)| {
                let limit = limit as f64 * 1.000_3;
                let control: Box<dyn RateControl<f64>> = if aimd {
                    Box::new(Aimd::new(limit, 0.31, 0.83, 7.3))
                } else {
                    Box::new(FixedRate(limit))
                };
                Source {
                    arrivals: in_floating_point(&arrivals),
                    control,
                    port,
                    class: port,
                }
            });
            let mut scenario = Scenario::new(rate, delay, sources.collect(), 300.0);
            scenario.discipline = [
                Discipline::Fifo,
                Discipline::FairPorts,
                Discipline::Priority,
            ][discipline];
            scenario.pfc = (pfc > 0).then_some(Pfc {
                thresholds: Thresholds {
                    xoff: level,
                    xon: level * part,
                },
                resume: if ecn == 1 {
                    Resume::AfterFormula
                } else {
                    Resume::AtXon
                },
                scope: if pfc == 1 {
                    PauseScope::AllPorts
                } else {
                    PauseScope::EachPort
                },
                delay: delay * 1.1,
            });
            scenario.ecn = (ecn > 0).then_some(Ecn {
                red: Red {
                    kmin: level * 0.1,
                    kmax: level * 0.7,
                    pmax: 0.3,
                },
                gap: delay * 2.3,
                marking: if ecn == 2 {
                    scenario::Marking::ByArrivals
                } else {
                    Default::default()
                },
                between: if ecn == 3 {
                    Between::Expected {
                        packet: 12.0,
                        quantum: 1e-6,
                    }
                } else {
                    Between::Nothing
                },
            });
            scenario.timeout = timeouts.then_some(delay * 6.7);
            scenario
        },
    )
}

fn in_floating_point(curve: &Function) -> Curve<f64> {
    let graph = curve.graph(&int(400)).unwrap();
    let corners: Vec<(f64, f64)> = graph
        .iter()
        .map(|element| (element.from().to_f64(), element.start().to_f64()))
        .collect();
    Curve::through(&corners, 0.0).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn rounding_neither_stops_a_prediction_nor_loses_traffic(scenario in anything()) {
        let offered: Vec<Curve<f64>> = scenario.sources.iter().map(|source| source.arrivals.clone()).collect();
        let prediction = predict(scenario).unwrap();
        for sample in 0..=100 {
            let time = 3.0 * f64::from(sample);
            let mut queued = 0.0;
            for (index, offered) in offered.iter().enumerate() {
                let admitted = prediction.admitted[index].finite_at(&time).unwrap();
                let departed = prediction.departures[index].finite_at(&time).unwrap();
                prop_assert!(admitted <= offered.finite_at(&time).unwrap() + 1e-6, "at {}", time);
                prop_assert!(departed <= admitted + 1e-6, "at {}", time);
                queued += admitted - departed;
            }
            let backlog = prediction.backlog.finite_at(&time).unwrap();
            prop_assert!((queued - backlog).abs() < 1e-5, "{} and {} at {}", queued, backlog, time);
        }
        for pause in &prediction.pauses {
            prop_assert!(pause.to.is_none_or(|to| to >= pause.from));
        }
    }
}

#[test]
fn expected_marks_are_the_integral_of_the_marking_probability() {
    // 30 in and 20 out: B = 10·t passes K_min = 100 at 10 and would reach K_max = 900 at 90. A source of 30 kbit/µs with packets of 10
    // has ∫ (10·s − 100)/800·½·3 ds expected marks from 10 on: 15·u²/1600 after u more. One at u = √(1600/15) = 10.328.
    let mut scenario = fixed(&[(Curve::rate_function(int(30)), 90)], 20, 60);
    let quantum = Exact::new(1, 1_000_000);
    scenario.ecn = Some(Ecn {
        red: Red {
            kmin: int(100),
            kmax: int(900),
            pmax: Exact::new(1, 2),
        },
        gap: int(1),
        marking: Default::default(),
        between: Between::Expected {
            packet: int(10),
            quantum: quantum.clone(),
        },
    });
    let prediction = predict(scenario).unwrap();
    let found: Vec<Exact> = prediction
        .notifications
        .iter()
        .map(|signal| signal.time.clone() - &int(5))
        .collect();
    // The count restarts after each mark: at 10 + √(n·1600/15).
    for (index, time) in found.iter().enumerate() {
        let square = Exact::new(1_600 * (index as i64 + 1), 15);
        let since = time.clone() - &int(10);
        assert!(since.clone() * &since >= square, "not before its time");
        let early = since - &(quantum.clone() * &int(index as i64 + 2));
        assert!(
            early.clone() * &early < square,
            "and not later than rounding"
        );
    }
    assert_eq!(
        found.len(),
        18,
        "15·45²/1600 whole ones up to 55, whose notifications come by 60"
    );
}

#[test]
fn each_port_pauses_by_its_own_backlog() {
    let flows = [
        (Curve::step(int(5_000), int(0)), 90),
        (Curve::rate_function(int(5)), 90),
    ];
    let mut scenario = fixed(&flows, 40, 100);
    scenario.discipline = Discipline::FairPorts;
    scenario.pfc = Some(Pfc {
        thresholds: Thresholds {
            xoff: int(500),
            xon: int(300),
        },
        resume: Resume::AtXon,
        scope: PauseScope::EachPort,
        delay: int(2),
    });
    let prediction = predict(scenario).unwrap();
    // 90 in and 35 out: 500 at 100/11, and 2 later the first port pauses.
    assert_eq!(prediction.pauses[0].group, 0);
    assert_eq!(prediction.pauses[0].from, Exact::new(100, 11) + int(2));
    assert!(prediction.pauses.iter().all(|pause| pause.group == 0));
    assert!(same(
        &prediction.admitted[1],
        &Curve::rate_function(int(5)).until(&int(100)).unwrap()
    ));
    assert_eq!(prediction.group_backlogs.len(), 2);
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let flows = [(Curve::step(int(10), int(0)), 9)];
    let mut scenario = fixed(&flows, 40, 100);
    scenario.timeout = Some(int(5));
    assert!(predict(scenario).is_err());
    let scenario: Scenario<Exact> = Scenario::new(int(1), int(1), Vec::new(), int(1));
    assert!(predict(scenario).is_err());
}
