//! The hand-over between the express path and the switch core, as a model: all interleavings of the accesses to shared words
//! by XDP programs on several CPUs, the kernel's flushes, the core and the control plane.
//!
//! `docs/src/internals/express.md` has the argument. Each step is one access to one shared word, or one flush. Steps
//! interleave with sequential consistency, which the required acquire and release orders provide for these words; weaker
//! orders are not modelled.

mod room;
mod world;

use std::collections::HashSet;

use world::{Broken, Setup, World};

/// Maximum number of states of a search; a model that exceeds it has changed.
const STATES_MAX: usize = 4_000_000;

/// Returns the first error in any interleaving, and the number of states.
fn search(setup: &Setup) -> (Option<String>, usize) {
    let first = World::new(setup);
    let mut seen = HashSet::from([first.clone()]);
    let mut open = vec![first];
    while let Some(world) = open.pop() {
        let next = world.steps(setup);
        if next.is_empty() {
            if let Err(wrong) = world.check_end(setup) {
                return (Some(wrong), seen.len());
            }
        }
        for world in next {
            if let Err(wrong) = world.check(setup) {
                return (Some(wrong), seen.len());
            }
            if seen.insert(world.clone()) {
                assert!(seen.len() < STATES_MAX, "too many states");
                open.push(world);
            }
        }
    }
    (None, seen.len())
}

const TWO_QUEUES: Setup = Setup {
    frames: [3, 2],
    budget: 2,
    bulk: 1,
    ring: 8,
    pauses: 0,
    resyncs: 0,
    careless: false,
    broken: None,
};

/// One queue, polls of one frame, and a neighbour that sends pause and resume.
const PAUSED: Setup = Setup {
    frames: [4, 0],
    budget: 1,
    bulk: 1,
    ring: 8,
    pauses: 2,
    resyncs: 0,
    careless: false,
    broken: None,
};

/// An RX ring that overflows, and a control plane that finds the losses.
const LOSSY_RING: Setup = Setup {
    frames: [4, 0],
    budget: 2,
    bulk: 1,
    ring: 1,
    pauses: 0,
    resyncs: 2,
    careless: false,
    broken: None,
};

fn assert_holds(setup: &Setup) {
    let (wrong, states) = search(setup);
    eprintln!("{states} states");
    assert_eq!(wrong, None);
    assert!(
        states > 1_000,
        "the model does next to nothing: {states} states"
    );
}

fn assert_found(setup: Setup, broken: Broken, what: &str) {
    let setup = Setup {
        broken: Some(broken),
        ..setup
    };
    let (wrong, states) = search(&setup);
    eprintln!("{broken:?}: {wrong:?} after {states} states");
    assert!(
        wrong.as_ref().is_some_and(|wrong| wrong.contains(what)),
        "{broken:?} has to be found: {wrong:?}"
    );
}

#[test]
fn no_frame_overtakes_another_of_its_flow_and_each_arrives_once() {
    assert_holds(&TWO_QUEUES);
}

#[test]
fn order_does_not_depend_on_when_an_egress_is_open() {
    assert_holds(&Setup {
        careless: true,
        ..TWO_QUEUES
    });
}

#[test]
fn a_pause_stops_all_but_one_budget_of_frames_and_is_never_forgotten() {
    assert_holds(&PAUSED);
    assert_holds(&Setup {
        frames: [2, 2],
        budget: 2,
        pauses: 1,
        ..PAUSED
    });
}

#[test]
fn what_the_kernel_lost_opens_the_path_again_and_no_sooner() {
    assert_holds(&LOSSY_RING);
}

/// Without this test, a model in which one path is never taken would pass as well.
#[test]
fn both_paths_are_taken() {
    for setup in [TWO_QUEUES, PAUSED, LOSSY_RING] {
        assert_found(setup, Broken::SaysWhenBothWereTaken, "both paths");
    }
}

#[test]
fn a_frame_that_is_counted_by_its_receiver_is_overtaken() {
    assert_found(TWO_QUEUES, Broken::CountsOnReceipt, "overtook");
}

#[test]
fn a_frame_that_is_finished_before_it_has_left_is_overtaken() {
    let careless = Setup {
        careless: true,
        ..TWO_QUEUES
    };
    assert_found(careless, Broken::FinishesEarly, "overtook");
}

#[test]
fn sockets_that_are_flushed_before_devices_let_frames_overtake() {
    assert_found(TWO_QUEUES, Broken::SocketsFirst, "overtook");
}

#[test]
fn a_path_that_is_opened_by_a_store_forgets_a_pause() {
    assert_found(PAUSED, Broken::OpensByStore, "pause");
}

#[test]
fn a_pause_that_is_not_counted_is_forgotten() {
    assert_found(PAUSED, Broken::PauseNotCounted, "pause");
}

#[test]
fn a_loss_that_is_taken_for_granted_without_a_grace_period_lets_frames_overtake() {
    assert_found(LOSSY_RING, Broken::NoGrace, "overtook");
}
