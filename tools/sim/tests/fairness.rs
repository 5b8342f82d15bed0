//! Levels compared with PFC and Deadlock Breaker, in fewer networks than in the book's tables.

use weir_core::{Duration, FeedbackCoding};
use weir_sim::fairness::{compare, json, markdown, Comparison, Lines, Question};

fn comparisons(topology: &str, seed: u64, lines: Lines, round_trip: Duration) -> Vec<Comparison> {
    let question = Question {
        round_trips: vec![round_trip],
        codings: vec![FeedbackCoding::Pfc, FeedbackCoding::Grants],
        lines,
        duration: Duration::from_millis(30),
    };
    let topology = topology.parse().expect("a topology");
    compare(topology, seed, &question, &|| ()).expect("comparisons")
}

fn assert_kept(comparisons: &[Comparison]) {
    for one in comparisons {
        assert_eq!(
            one.broken(),
            [""; 0],
            "{}, seed {}, {:?}",
            one.topology,
            one.seed,
            one.coding
        );
    }
}

#[test]
fn trees_keep_the_bounds() {
    for seed in 0..2 {
        let short = comparisons("fat-tree-4", seed, Lines::Short, Duration::from_micros(100));
        assert_eq!(short.len(), 2, "one for each coding");
        assert_kept(&short);
        let table = markdown(&short);
        assert_eq!(
            table.lines().count(),
            4,
            "a head of two lines, and a line for each coding"
        );
        assert!(
            table.contains("| fat-tree-4 | 100 µs | pfc | 1 |"),
            "{table}"
        );
        assert_eq!(json(&short)["comparisons"][1]["coding"], "grants");
    }
}

#[test]
fn on_long_lines_nothing_is_lost() {
    for one in comparisons("ring-5", 1, Lines::Long, Duration::from_millis(1)) {
        assert_eq!((one.level.lost, one.pfc.lost), (0, 0), "{:?}", one.coding);
        assert!(one.level.bytes() > 0 && one.pfc.bytes() > 0);
    }
}

#[test]
fn tori_keep_the_bounds() {
    for seed in 0..2 {
        assert_kept(&comparisons(
            "torus-5x5",
            seed,
            Lines::Short,
            Duration::from_micros(100),
        ));
    }
}

#[test]
fn the_same_question_has_the_same_answer() {
    let ask = || comparisons("ring-6", 3, Lines::Short, Duration::from_millis(1));
    assert_eq!(json(&ask()), json(&ask()));
}
