//! Rings in which switches with Levels meet unaware regular ones: frames flow, none is lost, and both sides understand each
//! other. Freedom from deadlock is not promised there: most of these tests have traffic under which no ring locks.

use weir_config::scenario::Scenario;
use weir_lab::lab::interrupt::wait_for;
use weir_lab::lab::stage::Stage;
use weir_tests::metrics::Metrics;
use weir_tests::{run_as_expected_and, scenario, PATIENCE, PATIENT_DETECTION};

/// Regular switches must react within the room of the buffers, and a busy machine keeps one off its core for 100 ms: slow
/// links give them the time.
const RATE: &str = "link-defaults.rate=25Mbit";

#[test]
fn one_regular_switch_among_enhanced_ones() {
    check(&["s3"]);
}

#[test]
fn one_enhanced_switch_among_regular_ones() {
    check(&["s1", "s3", "s4"]);
}

#[test]
fn regular_and_enhanced_switches_in_turns() {
    check(&["s2", "s4"]);
}

/// Three regular switches lock with the second host like four; the Deadlock Breaker of any one of them moves the whole loop.
#[test]
fn the_deadlock_breaker_releases_a_mixed_ring() {
    let overrides = [
        "class.lossless.mode=level",
        "switch.s1.levels=false",
        "switch.s3.levels=false",
        "switch.s4.levels=false",
        "deadlock.policy=breaker",
        "duration=6s",
        RATE,
    ];
    let scenario = scenario("ring4.toml", &overrides);
    let mut told = 0;
    let result = run_as_expected_and(&scenario, |stage| told = understood(&scenario, stage));
    assert!(told > 0, "no regular switch was sent any Feedback");
    assert!(!result.deadlocked);
    assert_eq!(result.suspected_peak, 4, "it never locked");
    assert!(result.releases > 0);
    for flow in &result.flows {
        assert_eq!(flow.sent, flow.received, "all has drained: {flow:?}");
        assert!(flow.bits_per_second_last_third > 0.0, "{flow:?}");
    }
    assert!(result.drops.is_empty(), "{:?}", result.drops);
}

fn check(regular: &[&str]) {
    let changes = regular
        .iter()
        .map(|name| format!("switch.{name}.levels=false"));
    let changes: Vec<String> = changes.collect();
    let mut overrides = vec![
        "class.lossless.mode=level",
        "duration=3s",
        RATE,
        PATIENT_DETECTION,
    ];
    overrides.extend(changes.iter().map(String::as_str));
    let scenario = scenario("ring4-symmetric.toml", &overrides);
    let result = run_as_expected_and(&scenario, |stage| {
        understood(&scenario, stage);
    });
    assert!(!result.deadlocked);
    for flow in &result.flows {
        assert_eq!(flow.sent, flow.received, "all has drained: {flow:?}");
        assert!(flow.bits_per_second_last_third > 0.0, "{flow:?}");
    }
    assert!(result.drops.is_empty(), "{:?}", result.drops);
}

/// Checks that the counts of frames sent at one side of each mixed link match those received at the other. Returns the
/// pauses of regular switches, including Feedback.
fn understood(scenario: &Scenario, stage: &Stage) -> u64 {
    let name = |index: usize| scenario.switches[index].as_str();
    let mixed = scenario.links.iter().filter_map(|link| {
        let [a, b] = link.ends;
        match (scenario.has_levels[a], scenario.has_levels[b]) {
            (true, false) => Some((name(a), name(b))),
            (false, true) => Some((name(b), name(a))),
            _ => None,
        }
    });
    let (mut count, mut told) = (0, 0);
    for (enhanced, regular) in mixed {
        count += 1;
        // The two are not read simultaneously.
        let mut seen = None;
        let agreed = wait_for(PATIENCE, || {
            let one = Side::of(stage, enhanced, regular);
            let other = Side::of(stage, regular, enhanced);
            let (one, other) = seen.insert((one, other));
            Ok(agree(one, other).then_some(other.xoff_received))
        });
        told += agreed
            .unwrap_or_else(|error| panic!("{error:#}"))
            .unwrap_or_else(|| panic!("{enhanced} and {regular} do not agree: {seen:#?}"));
    }
    assert!(count > 0, "no link is mixed");
    told
}

/// Counts of one switch at its port towards the other.
#[derive(Debug)]
struct Side {
    xoff_sent: u64,
    xon_sent: u64,
    /// `None` without Levels.
    feedback_sent: Option<u64>,
    xoff_received: u64,
    xon_received: u64,
    feedback_received: Option<u64>,
}

impl Side {
    fn of(stage: &Stage, switch: &str, port: &str) -> Self {
        let metrics = Metrics::of(stage, switch);
        let pfc = |kind, direction| {
            let labels = [("kind", kind), ("direction", direction)];
            let frames = metrics.lossless("weir_pfc_frames_total", port, &labels);
            frames.expect("every port of a lossless class has it")
        };
        let feedback = |direction| {
            let labels = [("direction", direction)];
            metrics.lossless("weir_level_feedback_frames_total", port, &labels)
        };
        Self {
            xoff_sent: pfc("xoff", "tx"),
            xon_sent: pfc("xon", "tx"),
            feedback_sent: feedback("tx"),
            xoff_received: pfc("xoff", "rx"),
            xon_received: pfc("xon", "rx"),
            feedback_received: feedback("rx"),
        }
    }
}

/// A regular switch sees a Feedback as a short pause followed at once by a resume; every other pause is a real one. No pause
/// of a regular switch is mistaken for Feedback.
///
/// Frames sent before the neighbour's daemon listened are lost, and of a pair perhaps only the first: there was no traffic,
/// so those were Feedback. A switch without traffic from its neighbour has sent no others, so these may be all.
fn agree(enhanced: &Side, regular: &Side) -> bool {
    const BEFORE_IT_LISTENED: u64 = 100;
    assert_eq!(enhanced.feedback_received, Some(0));
    assert_eq!(regular.feedback_sent, None);
    let feedback = enhanced.feedback_sent.expect("it has Levels");
    let missed_pauses = (enhanced.xoff_sent + feedback).checked_sub(regular.xoff_received);
    let missed_resumes = (enhanced.xon_sent + feedback).checked_sub(regular.xon_received);
    let (Some(pauses), Some(resumes)) = (missed_pauses, missed_resumes) else {
        return false;
    };
    pauses <= BEFORE_IT_LISTENED.min(feedback)
        && (pauses == resumes || pauses == resumes + 1)
        && enhanced.xoff_received == regular.xoff_sent
        && enhanced.xon_received == regular.xon_sent
}
