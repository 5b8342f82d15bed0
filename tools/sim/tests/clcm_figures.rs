//! Shapes of the CLCM paper's figures, and the dependence of times on parameters.

use std::sync::OnceLock;

use weir_core::Duration;
use weir_sim::reproduce::clcm_fig5::{self, Figure5};
use weir_sim::reproduce::clcm_fig7::{self, Figure7, Seen, TreeRun, LOOP_FLOWS};
use weir_sim::reproduce::{baselines, Reproduction};

fn figure5() -> &'static Figure5 {
    static FIGURE: OnceLock<Figure5> = OnceLock::new();
    FIGURE.get_or_init(|| Figure5::run().unwrap())
}

fn figure7() -> &'static Figure7 {
    static FIGURE: OnceLock<Figure7> = OnceLock::new();
    FIGURE.get_or_init(|| Figure7::run().unwrap())
}

#[test]
fn figure_5_locks_elects_one_master_reroutes_and_moves_again() {
    let Figure5 { plain, breaker, .. } = figure5();
    assert!(plain.seen.result.deadlocked);
    assert_eq!(plain.seen.standstills.len(), 1);
    assert_eq!(plain.seen.standstills[0].to, None, "it never moves again");
    assert_eq!(plain.moments().locked, breaker.moments().locked);

    let moments = breaker.moments();
    let order = [
        moments.locked,
        moments.first_suspected,
        moments.all_suspected,
        moments.elected.map(|(_, at)| at),
        moments.rerouted,
        moments.moved_again,
    ]
    .map(Option::unwrap);
    assert!(order.is_sorted(), "{order:?}");
    let result = &breaker.seen.result;
    assert_eq!(result.masters.len(), 1, "{:?}", result.masters);
    assert!(result.flows_moved > 0 && breaker.seen.forced_frames > 0);
    assert!(!result.deadlocked);
    assert_eq!(breaker.seen.standstills.len(), 1);
    for flow in &result.flows {
        assert_eq!(flow.lost, 0, "{flow:?}");
        // Five flows on four links of 40 Gbit/s and the reverse path: each gets at least a quarter of a link.
        assert!(flow.bits_per_second_last_third > 10e9, "{flow:?}");
    }
    // The paper's timeline, with parameters that it does not state.
    let micros = |time: Option<Duration>| time.unwrap().as_nanos() / 1000;
    assert!((70..90).contains(&micros(breaker.time_to_lock())));
    assert!((35..50).contains(&micros(breaker.time_to_reroute())));
}

#[test]
fn buffers_fill_to_the_threshold_and_the_masters_empty_again() {
    let breaker = &figure5().breaker;
    let xoff = breaker.setting.xoff.get();
    let locked = breaker.time_to_lock().unwrap().as_nanos() / breaker.seen.interval.as_nanos();
    for series in &breaker.seen.occupancy {
        let held = series.values[locked as usize + 1];
        // Between X_on and what arrives beyond X_off until a pause takes effect.
        assert!(
            held >= xoff / 8 * 7 && held <= xoff + 8 * 1536,
            "{}: {held}",
            series.name
        );
    }
    let master = breaker.master().unwrap();
    let of_master = breaker
        .seen
        .occupancy
        .iter()
        .find(|series| series.name.starts_with(&format!("{master} from")));
    let last = *of_master.unwrap().values.last().unwrap();
    assert!(
        last < xoff / 4,
        "{last} bytes at {master}: it has two ways out now"
    );
}

#[test]
fn any_switch_may_be_elected_and_each_gets_the_ring_to_move() {
    let figure = figure5();
    let mut masters = Vec::new();
    for run in &figure.seeds {
        let result = &run.seen.result;
        assert_eq!(result.masters.len(), 1, "seed {}", run.seed);
        masters.extend(result.masters.clone());
        assert!(
            !result.deadlocked && result.flows_moved > 0,
            "seed {}",
            run.seed
        );
        assert!(result.flows.iter().all(|flow| flow.lost == 0));
    }
    masters.sort();
    masters.dedup();
    assert!(masters.len() >= 3, "{masters:?}");
}

#[test]
fn the_time_to_lock_is_fourteen_times_xoff_by_rate() {
    let figure = figure5();
    let in_range: Vec<_> = figure
        .locks
        .iter()
        .filter(|point| point.is_in_range())
        .collect();
    assert!(in_range.len() >= 14);
    for point in in_range {
        assert!((12.0..16.5).contains(&point.factor()), "{point:?}");
    }
    assert!((13.5..14.5).contains(&figure.lock_law.factor));
}

#[test]
fn the_time_to_reroute_is_within_what_detection_and_latency_make() {
    for point in &figure5().reroutes {
        let [earliest, latest] = point.bounds();
        assert!((earliest..=latest).contains(&point.rerouted), "{point:?}");
        assert!(point.suspected >= point.setting.detect, "{point:?}");
        assert!(
            point.suspected
                <= point.setting.detect
                    + point.setting.detect.divided_by(8)
                    + Duration::from_micros(1),
            "{point:?}"
        );
    }
}

fn tree_run(name: &str) -> &'static TreeRun {
    let figure = figure7();
    let runs = figure.runs.iter().chain(&figure.controls);
    runs.into_iter().find(|run| run.name == name).unwrap()
}

#[test]
fn figure_7_stands_still_without_and_makes_progress_with_the_deadlock_breaker() {
    let plain = tree_run("plain PFC");
    assert!(plain.result().deadlocked && plain.standstills() == 1);
    let breaker = tree_run("Deadlock Breaker");
    assert!(breaker.standstills() > 1, "progress is temporary");
    assert!(breaker.result().releases > 0);
    for (plain, breaker) in plain.flows(&LOOP_FLOWS).zip(breaker.flows(&LOOP_FLOWS)) {
        assert_eq!(plain.bits_per_second_last_third, 0.0);
        assert!(breaker.bits_per_second_last_third > 2e9, "{breaker:?}");
    }
    for flow in plain.result().flows.iter().chain(&breaker.result().flows) {
        assert_eq!((flow.lost, flow.reordered), (0, 0), "{flow:?}");
    }
    for name in ["Loop Breaker", "auto", "Levels"] {
        let run = tree_run(name);
        assert!(!run.result().deadlocked, "{name}");
        for flow in run.flows(&LOOP_FLOWS) {
            assert!(
                flow.lost == 0 && flow.bits_per_second_last_third > 2e9,
                "{name}: {flow:?}"
            );
        }
    }
}

#[test]
fn figure_7_needs_its_wiring_mistakes_and_its_pressing_flows() {
    let alone = tree_run("loop flows alone");
    assert!(alone.has_loop && matches!(alone.seen, Seen::Loop(_)));
    let right = tree_run("wired right");
    assert!(!right.has_loop);
    for run in [alone, right] {
        assert!(!run.result().deadlocked && run.standstills() == 0);
        assert_eq!(run.result().suspected_peak, 0);
    }
}

#[test]
fn reproductions_are_the_same_byte_for_byte() {
    let same = |first: Reproduction, again: Reproduction| {
        assert!(first == again);
        assert!(first.files.iter().any(|file| file.name.ends_with(".svg")));
        for file in &first.files {
            assert!(!file.text.contains("NaN"), "{}", file.name);
        }
    };
    same(figure5().reproduction(), clcm_fig5::reproduce().unwrap());
    same(figure7().reproduction(), clcm_fig7::reproduce().unwrap());
}

/// Short runs: the watchdog acts after the traffic.
#[test]
fn each_baseline_does_what_it_is_known_for() {
    let lines = baselines::lines(Duration::from_millis(30)).unwrap();
    assert_eq!(lines.len(), 10 + 10 + 9);
    for line in &lines {
        let what = format!("{}: {}", line.network, line.way);
        let wired_right = line.network.ends_with("wired right");
        let avoids_loops = [
            "up*/down* routes",
            "buffer pools by hops",
            "virtual channels",
        ];
        assert_eq!(
            line.loops == 0,
            wired_right || avoids_loops.contains(&line.way),
            "{what}"
        );
        let lost: u64 = line.result.flows.iter().map(|flow| flow.lost).sum();
        let drops = ["lifetime limit", "storm watchdog"].contains(&line.way);
        assert_eq!(lost > 0, drops && line.loops > 0, "{what}: {lost} lost");
        let locks = line.way == "plain PFC" && line.loops > 0;
        assert_eq!(line.result.deadlocked, locks, "{what}");
        let priorities = match line.way {
            "buffer pools by hops" if line.network.starts_with("the ring") => 3,
            "buffer pools by hops" => 5,
            "virtual channels" => 2,
            _ => 1,
        };
        assert_eq!(line.priorities, priorities, "{what}");
    }
}

#[test]
fn the_committed_table_of_figure_7_is_what_comes_out() {
    let made = clcm_fig7::reproduce().unwrap();
    let committed = include_str!("../../../docs/src/experiments/clcm-figures/clcm-fig7.txt");
    assert_eq!(made.report, committed);
    let page = include_str!("../../../docs/src/experiments/clcm-figures.md");
    let rows = committed.lines().filter(|line| line.contains("Gbit/s  "));
    let missing: Vec<&str> = rows.filter(|row| !page.contains(row)).collect();
    assert_eq!(missing, [] as [&str; 0], "the page has other rows");
}
