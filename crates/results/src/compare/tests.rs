//! Runs that agree, and each kind of difference.

use super::*;
use crate::fixtures::{empty_result, event};

fn flow(name: &str, received: u64, mean: f64, last_third: f64) -> FlowResult {
    FlowResult {
        name: name.into(),
        received,
        bits_per_second: mean,
        bits_per_second_last_third: last_third,
        ..FlowResult::default()
    }
}

fn moving() -> RunResult {
    RunResult {
        flows: vec![flow("a", 90_000, 40e6, 50e6), flow("b", 90_000, 40e6, 20e6)],
        ..empty_result()
    }
}

/// Two of the runs of `ring4.toml` in the module's documentation.
fn locked(frames: [u64; 2]) -> RunResult {
    RunResult {
        deadlocked: true,
        suspected_peak: 4,
        detect_seconds: Some(0.1),
        flows: vec![
            flow("a", frames[0], 1.2e6, 0.0),
            flow("b", frames[1], 1.1e6, 0.0),
        ],
        events: vec![event(0.17, "s1", "suspected")],
        ..empty_result()
    }
}

fn sim(mut result: RunResult) -> RunResult {
    result.runner = "sim".into();
    result
}

fn differing(comparison: &Comparison) -> Vec<&str> {
    let facts = comparison
        .facts
        .iter()
        .filter(|fact| fact.judgement == Judgement::Differs)
        .map(|fact| fact.what);
    let flows = comparison.flows.iter().filter(|flow| !flow.is_within);
    facts.chain(flows.map(|flow| flow.name.as_str())).collect()
}

fn compared(a: &RunResult, b: &RunResult) -> Comparison {
    let comparison = compare(a, b, Tolerance::default());
    let turned = compare(b, a, Tolerance::default());
    assert_eq!(
        comparison.agrees(),
        turned.agrees(),
        "whichever comes first"
    );
    comparison
}

#[test]
fn a_run_agrees_with_itself() {
    for run in [moving(), locked([203, 164])] {
        let comparison = compared(&run, &sim(run.clone()));
        assert!(comparison.agrees(), "{}", comparison.table());
    }
}

#[test]
fn rates_may_differ_by_the_tolerance_and_no_more() {
    for (last_third, agrees) in [
        (54.9e6, true),
        (55.1e6, false),
        (45.5e6, true),
        (45.4e6, false),
    ] {
        let mut other = moving();
        other.flows[0].bits_per_second_last_third = last_third;
        let comparison = compared(&moving(), &other);
        assert_eq!(comparison.agrees(), agrees, "{}", comparison.table());
        let flow = &comparison.flows[0];
        assert_eq!(flow.figure, Figure::LastThird);
        assert!((flow.ratio.unwrap() - last_third / 50e6).abs() < 1e-12);
        let wide = Tolerance {
            rate: 0.2,
            ..Tolerance::default()
        };
        assert!(compare(&moving(), &other, wide).agrees());
    }
}

#[test]
fn locked_flows_are_compared_by_what_they_delivered() {
    let comparison = compared(&locked([203, 164]), &locked([144, 123]));
    assert!(comparison.agrees(), "{}", comparison.table());
    assert_eq!(comparison.flows[0].figure, Figure::FramesBeforeLock);
    let comparison = compared(&locked([203, 164]), &locked([130, 123]));
    assert_eq!(differing(&comparison), ["a"]);
}

#[test]
fn a_flow_that_stands_still_in_one_run_alone_differs() {
    let mut other = moving();
    other.flows[1].bits_per_second_last_third = 0.0;
    let comparison = compared(&moving(), &other);
    assert_eq!(differing(&comparison), ["b"]);
    assert_eq!(comparison.flows[1].ratio, Some(0.0));
    assert_eq!(compared(&other, &moving()).flows[1].ratio, None);
    let both = compared(&other, &other);
    assert_eq!(
        both.flows[1].figure,
        Figure::WholeRun,
        "it stopped by itself"
    );
    assert!(both.agrees());
}

#[test]
fn verdicts_peaks_and_counts_have_their_own_tolerances() {
    let mut other = locked([203, 164]);
    other.suspected_peak = 3;
    let comparison = compared(&locked([203, 164]), &other);
    assert_eq!(differing(&comparison), ["suspected peak"]);

    let releasing = |releases: u64, peak: usize| RunResult {
        releases,
        suspected_peak: peak,
        ..moving()
    };
    assert!(compared(&releasing(28, 4), &releasing(32, 3)).agrees());
    let comparison = compared(&releasing(28, 4), &releasing(0, 4));
    assert_eq!(differing(&comparison), ["releases"]);

    let mut lossy = moving();
    lossy.flows[0].lost = 3;
    lossy.flows[1].reordered = 1;
    lossy.flows[1].duplicated = 1;
    let comparison = compared(&moving(), &lossy);
    assert_eq!(differing(&comparison), ["lost", "reordered", "corrupted"]);

    let mut undetected = locked([203, 164]);
    undetected.detect_seconds = None;
    let comparison = compared(&locked([203, 164]), &undetected);
    assert_eq!(differing(&comparison), ["time to detect"]);
    let mut slow = locked([203, 164]);
    slow.detect_seconds = Some(0.15);
    let comparison = compared(&locked([203, 164]), &slow);
    assert!(comparison.agrees(), "how long it took is only told");
}

#[test]
fn runs_of_different_things_do_not_agree() {
    let mut other = moving();
    other.scenario = "ring5".into();
    other.mode = "level".into();
    other.flows.pop();
    let comparison = compared(&moving(), &other);
    assert_eq!(differing(&comparison), ["scenario", "run", "flows"]);
}

#[test]
fn the_table_has_both_runs_and_their_ratio() {
    let comparison = compared(&locked([200, 164]), &sim(locked([250, 64])));
    let text = comparison.table();
    let line = |begins: &str| {
        text.lines()
            .find(|line| line.starts_with(begins))
            .unwrap_or_else(|| panic!("{begins}: {text}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(line("    ").contains("lab sim sim / lab"), "{text}");
    assert_eq!(line("verdict"), "verdict deadlocked deadlocked agrees");
    assert_eq!(
        line("time to detect"),
        "time to detect 100.0 ms 100.0 ms 1 agrees"
    );
    assert_eq!(
        line("flow a"),
        "flow a, before the lock 200 frames 250 frames 1.25 agrees"
    );
    assert!(line("flow b").ends_with("0.39 DIFFERS"), "{text}");
}
