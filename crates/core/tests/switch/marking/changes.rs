//! Marking that changes while the switch runs: the curve in force applies, and nothing else changes.

use proptest::prelude::*;
use weir_core::{
    Bytes, ClassConfig, Command, CommandError, MarkAt, PartsPerMillion, PortId, RedConfig, RedError,
};

use super::{config, host, modes, Node, LENGTH, P3, PORTS, RED};

#[test]
fn marking_begins_and_ends_while_the_switch_runs() {
    for mode in modes() {
        let mut node = Node::new(config(mode, None, 1));
        let mut marks = |red: Option<RedConfig>| {
            node.set_marking(P3, red).unwrap();
            (node.receive(0, host(1), P3), node.send_one(1))
        };
        let always = |at| {
            Some(RedConfig {
                kmin: Bytes::ZERO,
                kmax: Bytes::ZERO,
                at,
                ..RED
            })
        };
        assert_eq!(marks(None), (false, false));
        assert_eq!(marks(always(MarkAt::Arrival)), (true, false));
        assert_eq!(marks(always(MarkAt::Departure)), (false, true));
        assert_eq!(marks(always(MarkAt::Never)), (false, false));
        assert_eq!(marks(always(MarkAt::Arrival)), (true, false));
        assert_eq!(marks(None), (false, false));
    }
}

/// Neither command undoes the other: a reload of thresholds keeps marking set by command.
#[test]
fn other_settings_of_the_class_leave_its_marking() {
    for mode in modes() {
        let mut node = Node::new(config(mode, Some(RED), 1));
        let step = RedConfig {
            kmin: Bytes::ZERO,
            kmax: Bytes::ZERO,
            ..RED
        };
        node.set_marking(P3, Some(step)).unwrap();
        let class = ClassConfig {
            weight: 7,
            ecn: None,
            ..ClassConfig::new(mode)
        };
        let priority = P3;
        let command = Command::SetClass { priority, class };
        node.switch.apply(node.now, command).unwrap();
        let class = node.switch.config().classes[P3.index()];
        assert_eq!((class.weight, class.ecn), (7, Some(step)));
        assert!(node.receive(0, host(1), P3));
    }
}

#[test]
fn an_impossible_change_is_refused_as_a_whole() {
    let mut node = Node::new(config(modes()[1], Some(RED), 1));
    let (kmin, kmax) = (RED.kmax, RED.kmin);
    let priority = P3;
    let turned = RedConfig { kmin, kmax, ..RED };
    let error = RedError::KminAboveKmax { kmin, kmax };
    let refused = node.set_marking(P3, Some(turned));
    assert_eq!(refused, Err(CommandError::BadMarking { priority, error }));
    let pmax = PartsPerMillion::ZERO;
    let error = RedError::ZeroPmax;
    let refused = node.set_marking(P3, Some(RedConfig { pmax, ..RED }));
    assert_eq!(refused, Err(CommandError::BadMarking { priority, error }));
    assert_eq!(node.switch.config().classes[P3.index()].ecn, Some(RED));
    node.switch.apply(node.now, Command::Drain).unwrap();
    let refused = node.set_marking(P3, None);
    assert_eq!(refused, Err(CommandError::Draining));
}

/// Waiting frames are neither lost, overtaken nor delayed by a change, and the curve in force applies to each frame:
/// the same traffic departs at the same times whether the marking changes or not.
#[test]
fn a_change_moves_no_frame_in_order_or_time() {
    let run = |changes: bool| {
        let mut node = Node::new(config(modes()[1], None, 3));
        let (mut marks, mut departures) = (Vec::new(), Vec::new());
        for round in 0..60u64 {
            if changes && round % 10 == 0 {
                // Marks from 5, 15, 25, … frames on.
                let kmax = Bytes::new((round + 5) * LENGTH);
                let step = RedConfig {
                    kmin: kmax,
                    kmax,
                    ..RED
                };
                node.set_marking(P3, Some(step)).unwrap();
            }
            // Two arrive for one that leaves: the first finds a backlog of `round` frames.
            marks.push(node.receive(0, host(1), P3));
            node.receive(2, host(1), P3);
            departures.push(node.send_handle(1));
        }
        while node.switch.held_frames() > 0 {
            departures.push(node.send_handle(1));
        }
        let dropped: u64 = (0..PORTS)
            .map(|port| {
                let counters = node.switch.counters(PortId::new(port));
                counters.drops.iter().sum::<u64>()
            })
            .sum();
        assert_eq!((departures.len(), dropped), (120, 0));
        (marks, departures)
    };
    let (unmarked, without) = run(false);
    let (marks, with) = run(true);
    assert_eq!(with, without, "handles and times of departure");
    assert!(!unmarked.contains(&true));
    let expected: Vec<bool> = (0..60).map(|round| round % 10 >= 5).collect();
    assert_eq!(marks, expected, "by the curve in force");
}

/// Step of a switch and of a slow model of it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive(u8),
    Leave,
    Mark(Option<(u64, u64, MarkAt)>),
}

fn step() -> impl Strategy<Value = Step> {
    let at = prop_oneof![
        Just(MarkAt::Arrival),
        Just(MarkAt::Departure),
        Just(MarkAt::Never)
    ];
    let curve = (0..40u64, 0..40u64, at);
    prop_oneof![
        6 => prop_oneof![Just(0u8), Just(2), Just(3)].prop_map(Step::Arrive),
        5 => Just(Step::Leave),
        1 => proptest::option::of(curve).prop_map(|curve| {
            Step::Mark(curve.map(|(one, other, at)| (one.min(other), one.max(other), at)))
        }),
    ]
}

/// Returns the paper's decision, or `None` if it is random.
fn by_the_paper(marking: Option<(u64, u64, MarkAt)>, at: MarkAt, waiting: u64) -> Option<bool> {
    let Some((kmin, kmax, _)) = marking.filter(|(.., when)| *when == at) else {
        return Some(false);
    };
    match waiting {
        _ if waiting >= kmax => Some(true),
        _ if waiting <= kmin => Some(false),
        _ => None,
    }
}

proptest! {
    /// The model has one list of waiting frames for the egress, and examines all of it each time.
    #[test]
    fn any_order_of_frames_and_changes_equals_the_slow_model(
        steps in proptest::collection::vec(step(), 1..300),
        mode in 0..3usize,
    ) {
        let mut node = Node::new(config(modes()[mode], None, 5));
        let mut model: Vec<(u8, u64)> = Vec::new();
        let mut sent: [u64; PORTS as usize] = [0; PORTS as usize];
        let (mut marking, mut arrived) = (None, [0u64; PORTS as usize]);
        for step in steps {
            match step {
                Step::Arrive(ingress) if model.len() < 100 => {
                    let marked = node.receive(ingress, host(1), P3);
                    let expected = by_the_paper(marking, MarkAt::Arrival, model.len() as u64);
                    prop_assert!(expected.is_none_or(|it| it == marked), "{marking:?} {}", model.len());
                    model.push((ingress, arrived[usize::from(ingress)]));
                    arrived[usize::from(ingress)] += 1;
                }
                Step::Leave if !model.is_empty() => {
                    let (ingress, number, marked) = node.send_numbered(1);
                    let at = model.iter().position(|frame| *frame == (ingress, number));
                    prop_assert!(at.is_some(), "never came, or left before: {ingress} {number}");
                    model.remove(at.unwrap());
                    prop_assert_eq!(number, sent[usize::from(ingress)], "in order");
                    sent[usize::from(ingress)] += 1;
                    let expected = by_the_paper(marking, MarkAt::Departure, model.len() as u64);
                    prop_assert!(expected.is_none_or(|it| it == marked), "{marking:?} {}", model.len());
                }
                Step::Mark(new) => {
                    marking = new;
                    let red = marking.map(|(kmin, kmax, at)| RedConfig {
                        kmin: Bytes::new(kmin * LENGTH),
                        kmax: Bytes::new(kmax * LENGTH),
                        at,
                        ..RED
                    });
                    node.set_marking(P3, red).unwrap();
                }
                Step::Arrive(_) | Step::Leave => {}
            }
            prop_assert_eq!(node.switch.held_frames(), model.len());
        }
    }
}
