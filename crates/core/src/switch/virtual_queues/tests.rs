//! The choice of the next frame.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const P3: Priority = Priority::ALL[3];
const NO_LEVELS: [Level; PRIORITY_COUNT] = [Level::ZERO; PRIORITY_COUNT];
const ALL: Gate = Gate::FromLevel(Level::ZERO);

fn level(number: u8) -> Level {
    Level::new(number).unwrap()
}

fn from(number: u8) -> Gate {
    Gate::FromLevel(level(number))
}

/// Three Levels above zero.
fn with_levels() -> VirtualQueues {
    VirtualQueues::new(4, &[level(3); PRIORITY_COUNT], 256, 1500)
}

fn port(number: u8) -> PortId {
    PortId::new(number)
}

fn place(ingress: u8, destination: u64) -> Place {
    Place {
        egress: port(0),
        priority: P3,
        ingress: port(ingress),
        destination,
    }
}

fn push(queues: &mut VirtualQueues, ingress: u8, destination: u64, id: u32, length: u32) {
    push_at(queues, Level::ZERO, ingress, destination, id, length);
}

fn push_at(
    queues: &mut VirtualQueues,
    level: Level,
    ingress: u8,
    destination: u64,
    id: u32,
    length: u32,
) {
    assert!(queues.push(place(ingress, destination), level, FrameHandle(id), length));
}

fn drain(queues: &mut VirtualQueues, count: usize) -> Vec<(u8, u32)> {
    (0..count)
        .map(|_| queues.pop(port(0), P3, ALL).unwrap())
        .map(|departure| (departure.ingress.get(), departure.handle.0))
        .collect()
}

#[test]
fn ingress_ports_take_turns_however_many_destinations_they_have() {
    let mut queues = VirtualQueues::new(3, &NO_LEVELS, 64, 1500);
    for n in 0..8 {
        push(&mut queues, 1, u64::from(n), n, 1500);
    }
    for n in 100..104 {
        push(&mut queues, 2, 7, n, 1500);
    }
    let order: Vec<u8> = drain(&mut queues, 8)
        .iter()
        .map(|(from, _)| *from)
        .collect();
    assert_eq!(order, [1, 2, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn turns_are_fair_in_bytes() {
    let mut queues = VirtualQueues::new(3, &NO_LEVELS, 512, 1500);
    for n in 0..200 {
        push(&mut queues, 1, 1, n, 300);
        push(&mut queues, 2, 1, 1000 + n, 1500);
    }
    let mut bytes = [0u64; 3];
    for _ in 0..120 {
        let departure = queues.pop(port(0), P3, ALL).unwrap();
        bytes[departure.ingress.index()] += u64::from(departure.length_bytes);
    }
    assert!(bytes[1].abs_diff(bytes[2]) <= 2 * 1500, "{bytes:?}");
}

#[test]
fn a_release_rule_lets_one_ingress_out_and_keeps_the_rest() {
    let mut queues = VirtualQueues::new(4, &NO_LEVELS, 64, 1500);
    for n in 0..3 {
        push(&mut queues, 1, 1, n, 100);
        push(&mut queues, 2, 1, 10 + n, 100);
        push(&mut queues, 3, 1, 20 + n, 100);
    }
    let only = Gate::OnlyFrom(port(2), Level::ZERO);
    for n in 0..3 {
        assert_eq!(queues.next_length(port(0), P3, only), Some(100));
        let departure = queues.pop(port(0), P3, only).unwrap();
        assert_eq!(departure.handle, FrameHandle(10 + n));
    }
    assert_eq!(queues.pop(port(0), P3, only), None);
    assert!(!queues.has_frames_from(port(0), P3, port(2)));
    let mut left = drain(&mut queues, 6);
    left.sort_unstable();
    assert_eq!(left, [(1, 0), (1, 1), (1, 2), (3, 20), (3, 21), (3, 22)]);
    assert_eq!(queues.pop(port(0), P3, ALL), None);
    assert_eq!(queues.room(), 64);
}

#[test]
fn a_release_rule_obeys_the_feedback() {
    let mut queues = with_levels();
    for n in 0..2 {
        push_at(&mut queues, level(1), 1, 10, n, 100);
        push_at(&mut queues, level(3), 1, 11, 10 + n, 100);
        push_at(&mut queues, level(3), 2, 12, 20 + n, 100);
    }
    let pop = |queues: &mut VirtualQueues, gate: Gate| {
        let length = queues.next_length(port(0), P3, gate);
        assert_eq!(queues.may_leave(port(0), P3, gate), length.is_some());
        let popped = queues.pop(port(0), P3, gate);
        assert_eq!(popped.map(|departure| departure.length_bytes), length);
        popped.map(|departure| departure.handle.0)
    };
    let only = |from| Gate::OnlyFrom(port(1), level(from));
    assert_eq!(pop(&mut queues, only(2)), Some(10));
    assert_eq!(pop(&mut queues, only(2)), Some(11));
    assert_eq!(pop(&mut queues, only(2)), None, "its others are lower");
    let first = |from| Gate::FirstFrom(port(1), level(from));
    assert_eq!(
        pop(&mut queues, first(2)),
        Some(20),
        "none of them may leave"
    );
    assert_eq!(pop(&mut queues, first(1)), Some(0));
    assert_eq!(pop(&mut queues, only(1)), Some(1));
    assert_eq!(pop(&mut queues, only(0)), None);
    assert_eq!(pop(&mut queues, first(0)), Some(21));
    assert_eq!(queues.room(), 256);
}

#[test]
fn refuses_beyond_its_room_and_recovers() {
    let mut queues = VirtualQueues::new(2, &NO_LEVELS, 2, 1500);
    push(&mut queues, 1, 1, 0, 100);
    push(&mut queues, 1, 2, 1, 100);
    assert!(!queues.push(place(1, 3), Level::ZERO, FrameHandle(2), 100));
    assert!(!queues.push(place(1, 1), Level::ZERO, FrameHandle(2), 100));
    drain(&mut queues, 2);
    push(&mut queues, 1, 3, 2, 100);
    assert_eq!(drain(&mut queues, 1), [(1, 2)]);
}

#[test]
fn only_levels_from_the_gate_on_leave_and_all_of_them_take_turns() {
    let mut queues = with_levels();
    for n in 0..4 {
        push_at(&mut queues, level(0), 1, 10, n, 1500);
        push_at(&mut queues, level(1), 2, 11, 10 + n, 1500);
        push_at(&mut queues, level(3), 2, 13, 30 + n, 1500);
    }
    assert_eq!(queues.pop(port(0), P3, Gate::Shut), None);
    let mut take = |gate| queues.pop(port(0), P3, gate).map(|frame| frame.handle.0);
    let restricted: Vec<_> = (0..4).map(|_| take(from(1)).unwrap()).collect();
    assert_eq!(restricted, [10, 30, 11, 31]);
    assert_eq!(take(from(2)), Some(32));
    let all: Vec<_> = (0..6).map(|_| take(ALL).unwrap()).collect();
    // Levels 0 and 1 were blocked while others left: one frame of each goes first, then the turns.
    assert_eq!(all, [0, 12, 1, 13, 33, 2]);
    assert_eq!(take(from(1)), None);
    assert_eq!(take(ALL), Some(3));
    assert_eq!(take(ALL), None);
}

#[test]
fn a_level_with_more_ingress_ports_has_more_turns() {
    let mut queues = with_levels();
    for n in 0..8 {
        push_at(&mut queues, level(0), 1, 10, n, 1500);
        push_at(&mut queues, level(0), 2, 10, n, 1500);
        push_at(&mut queues, level(1), 3, 11, n, 1500);
    }
    let order: Vec<u8> = drain(&mut queues, 6)
        .iter()
        .map(|(from, _)| *from)
        .collect();
    assert_eq!(order, [3, 1, 2, 3, 1, 2]);
}

#[test]
fn a_lifted_queue_keeps_its_frames_and_their_order() {
    let mut queues = with_levels();
    for n in 0..3 {
        push_at(&mut queues, level(0), 1, 10, n, 700);
        push_at(&mut queues, level(0), 1, 12, 20 + n, 700);
    }
    push_at(&mut queues, level(1), 2, 11, 40, 700);
    queues.lift(&place(1, 10), level(2));
    queues.lift(&place(1, 99), level(2));
    push_at(&mut queues, level(2), 1, 10, 3, 700);
    assert!(queues.may_leave(port(0), P3, from(2)));
    assert!(!queues.may_leave(port(0), P3, from(3)));
    let lifted: Vec<_> = (0..4)
        .map(|_| queues.pop(port(0), P3, from(2)).unwrap().handle.0)
        .collect();
    assert_eq!(lifted, [0, 1, 2, 3]);
    assert_eq!(queues.next_length(port(0), P3, from(2)), None);
    assert!(queues.has_frames_from(port(0), P3, port(1)));
    let mut left = drain(&mut queues, 4);
    left.sort_unstable();
    assert_eq!(left, [(1, 20), (1, 21), (1, 22), (2, 40)]);
    assert_eq!(queues.room(), 256);
}

#[test]
fn bytes_that_wait_are_counted_by_level_and_move_with_a_lifted_queue() {
    let mut queues = with_levels();
    push_at(&mut queues, level(0), 1, 10, 0, 60);
    push_at(&mut queues, level(0), 1, 10, 1, 1500);
    push_at(&mut queues, level(0), 2, 12, 2, 100);
    push_at(&mut queues, level(1), 2, 11, 3, 700);
    let waiting = |queues: &VirtualQueues, gate| {
        let Waiting { eligible, held } = queues.waiting(port(0), P3, gate);
        [eligible, held].map(|sum| (sum.frames, sum.bytes.get()))
    };
    assert_eq!(waiting(&queues, ALL), [(4, 2360), (0, 0)]);
    assert_eq!(waiting(&queues, from(1)), [(1, 700), (3, 1660)]);
    assert_eq!(waiting(&queues, from(2)), [(0, 0), (4, 2360)]);
    assert_eq!(waiting(&queues, Gate::Shut), [(0, 0), (4, 2360)]);
    queues.lift(&place(1, 10), level(3));
    assert_eq!(waiting(&queues, from(1)), [(3, 2260), (1, 100)]);
    assert_eq!(waiting(&queues, from(2)), [(2, 1560), (2, 800)]);
    queues.pop(port(0), P3, from(2)).unwrap();
    assert_eq!(waiting(&queues, from(2)), [(1, 1500), (2, 800)]);
    let elsewhere = queues.waiting(port(1), P3, ALL);
    assert_eq!(elsewhere.eligible, Backlog::NONE, "another egress");
    drain(&mut queues, 3);
    assert_eq!(waiting(&queues, from(1)), [(0, 0), (0, 0)]);
}

#[test]
fn frames_wait_at_their_level_only() {
    let mut queues = with_levels();
    push_at(&mut queues, level(2), 1, 10, 0, 100);
    let waits: Vec<bool> = (0..4)
        .map(|at| queues.waits_at(port(0), P3, level(at)))
        .collect();
    assert_eq!(waits, [false, false, true, false]);
}

#[test]
fn a_release_owes_nothing_to_the_level_that_it_empties_alone() {
    let mut queues = with_levels();
    push_at(&mut queues, level(1), 1, 10, 0, 100);
    push_at(&mut queues, level(1), 1, 10, 1, 100);
    push_at(&mut queues, level(2), 2, 11, 2, 100);
    let only = Gate::OnlyFrom(port(1), Level::ZERO);
    assert_eq!(
        queues.pop(port(0), P3, only).unwrap().handle,
        FrameHandle(0)
    );
    // It has held only the frame of the other port.
    assert_eq!(drain(&mut queues, 2), [(2, 2), (1, 1)]);
}

#[test]
fn an_ingress_port_whose_turn_has_not_begun_keeps_it_when_it_loses_a_queue() {
    let mut queues = VirtualQueues::new(4, &NO_LEVELS, 64, 1500);
    push(&mut queues, 1, 1, 0, 700);
    push(&mut queues, 1, 1, 1, 700);
    push(&mut queues, 2, 1, 2, 1000);
    push(&mut queues, 2, 2, 3, 1000);
    push(&mut queues, 3, 1, 4, 1000);
    // The first port empties in the middle of its turn.
    assert_eq!(drain(&mut queues, 2), [(1, 0), (1, 1)]);
    let removed = queues.remove_front(&place(2, 1), FrameHandle(2));
    assert_eq!(removed, Some(1000));
    assert_eq!(drain(&mut queues, 2), [(2, 3), (3, 4)]);
}

#[test]
fn a_turn_that_ends_by_the_loss_of_a_queue_counts_as_one_of_its_level() {
    let mut queues = with_levels();
    push_at(&mut queues, level(0), 1, 10, 0, 700);
    push_at(&mut queues, level(0), 1, 10, 1, 700);
    push_at(&mut queues, level(0), 1, 11, 2, 1500);
    push_at(&mut queues, level(0), 2, 10, 3, 1500);
    push_at(&mut queues, level(1), 3, 12, 4, 1500);
    push_at(&mut queues, level(1), 3, 12, 5, 1500);
    assert_eq!(drain(&mut queues, 2), [(3, 4), (1, 0)]);
    // The rest of the port's turn is too short for its next frame.
    let removed = queues.remove_front(&place(1, 10), FrameHandle(1));
    assert_eq!(removed, Some(700));
    assert_eq!(drain(&mut queues, 3), [(2, 3), (3, 5), (1, 2)]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push(u8, u64, u32),
    Pop(Gate),
    Lift(u8, u64, u8),
    RemoveFront(u8, u64),
}

fn gates() -> impl Strategy<Value = Gate> {
    prop_oneof![
        4 => (0..4u8).prop_map(from),
        1 => (0..3u8, 0..4u8).prop_map(|(ingress, from)| Gate::OnlyFrom(port(ingress), level(from))),
        1 => (0..3u8, 0..4u8).prop_map(|(ingress, from)| Gate::FirstFrom(port(ingress), level(from))),
        1 => Just(Gate::Shut),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..3u8, 0..2u64, prop_oneof![Just(60u32), Just(1500), 60..1500u32])
            .prop_map(|(ingress, to, length)| Step::Push(ingress, to, length)),
        6 => gates().prop_map(Step::Pop),
        2 => (0..3u8, 0..2u64, 0..4u8).prop_map(|(ingress, to, level)| Step::Lift(ingress, to, level)),
        1 => (0..3u8, 0..2u64).prop_map(|(ingress, to)| Step::RemoveFront(ingress, to)),
    ];
    prop::collection::vec(step, 1..300)
}

proptest! {
    /// A frame that waits alone leaves the same state behind as one in a virtual queue: the same steps, with each frame
    /// queued at once, give the same frames, sums and turns.
    #[test]
    fn a_lone_frame_is_as_one_in_a_queue(steps in steps()) {
        let mut alone = VirtualQueues::new(4, &[level(3); PRIORITY_COUNT], 12, 1500);
        let mut queued = VirtualQueues::new(4, &[level(3); PRIORITY_COUNT], 12, 1500);
        // By ingress port and destination: the Level, and the frames, oldest first.
        let mut flows: [[(u8, VecDeque<u32>); 2]; 3] = Default::default();
        for (id, step) in (0..).zip(steps) {
            match step {
                Step::Push(ingress, to, length) => {
                    let flow = &mut flows[usize::from(ingress)][to as usize];
                    let push = |queues: &mut VirtualQueues| {
                        queues.push(place(ingress, to), level(flow.0), FrameHandle(id), length)
                    };
                    let pushed = push(&mut alone);
                    prop_assert_eq!(pushed, push(&mut queued));
                    if pushed {
                        flow.1.push_back(id);
                    }
                }
                Step::Pop(gate) => {
                    let length = alone.next_length(port(0), P3, gate);
                    prop_assert_eq!(length, queued.next_length(port(0), P3, gate));
                    prop_assert_eq!(alone.may_leave(port(0), P3, gate), length.is_some());
                    prop_assert_eq!(queued.may_leave(port(0), P3, gate), length.is_some());
                    let popped = alone.pop(port(0), P3, gate);
                    prop_assert_eq!(popped, queued.pop(port(0), P3, gate));
                    prop_assert_eq!(popped.map(|departure| departure.length_bytes), length);
                    for (_, frames) in flows.iter_mut().flatten() {
                        frames.retain(|frame| popped.is_none_or(|popped| popped.handle.0 != *frame));
                    }
                }
                Step::Lift(ingress, to, up) => {
                    let flow = &mut flows[usize::from(ingress)][to as usize];
                    flow.0 = up;
                    alone.lift(&place(ingress, to), level(up));
                    queued.lift(&place(ingress, to), level(up));
                }
                Step::RemoveFront(ingress, to) => {
                    let flow = &mut flows[usize::from(ingress)][to as usize];
                    let front = FrameHandle(flow.1.front().copied().unwrap_or(u32::MAX));
                    let length = alone.remove_front(&place(ingress, to), front);
                    prop_assert_eq!(length, queued.remove_front(&place(ingress, to), front));
                    prop_assert_eq!(length.is_some(), flow.1.pop_front().is_some());
                }
            }
            queued.queue_lone(port(0), P3);
            prop_assert_eq!(alone.room(), queued.room());
            for gate in (0..4).map(from).chain([Gate::Shut]) {
                prop_assert_eq!(alone.waiting(port(0), P3, gate), queued.waiting(port(0), P3, gate));
            }
            for ingress in (0..4).map(port) {
                let from = alone.has_frames_from(port(0), P3, ingress);
                prop_assert_eq!(from, queued.has_frames_from(port(0), P3, ingress));
                let count = alone.count_from(port(0), P3, ingress);
                prop_assert_eq!(count, queued.count_from(port(0), P3, ingress));
                prop_assert_eq!(count > 0, from);
                let destinations = |queues: &VirtualQueues| -> Vec<u64> {
                    queues.destinations_from(port(0), P3, ingress).collect()
                };
                prop_assert_eq!(destinations(&alone), destinations(&queued));
            }
        }
    }
}
