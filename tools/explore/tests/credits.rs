//! One link with credits: no order of events loses a frame or a credit, and deliberate faults are found.

use weir_core::testing::CreditFaults;
use weir_explore::credits::{Budget, Exploration, Outcome};

const NONE: Budget = Budget {
    frames: 3,
    data_losses: 0,
    losses: 0,
    repeats: 0,
    restarts: 0,
};

fn explore([limit, messages]: [u8; 2], budget: Budget, faults: CreditFaults) -> Outcome {
    let exploration = Exploration {
        limit,
        messages: messages.into(),
        budget,
        faults,
        most: 800_000,
    };
    let outcome = exploration.run().expect("fewer states");
    println!("{limit}, {messages}, {budget:?}: {} states", outcome.states);
    outcome
}

#[test]
fn no_order_of_events_loses_a_frame_or_a_credit() {
    let budgets = [
        ([2, 2], NONE),
        (
            [1, 2],
            Budget {
                frames: 2,
                data_losses: 1,
                ..NONE
            },
        ),
        (
            [1, 2],
            Budget {
                frames: 2,
                losses: 1,
                repeats: 1,
                ..NONE
            },
        ),
        (
            [1, 1],
            Budget {
                frames: 2,
                restarts: 1,
                ..NONE
            },
        ),
    ];
    for (size, budget) in budgets {
        let outcome = explore(size, budget, CreditFaults::default());
        assert!(outcome.states > 1_000, "{}", outcome.states);
        let Outcome {
            drop, leak, doubt, ..
        } = outcome;
        assert_eq!((drop, leak, doubt), (None, None, None), "{budget:?}");
    }
}

#[test]
fn credits_returned_on_arrival_are_found() {
    let faults = CreditFaults {
        early_return: true,
        ..CreditFaults::default()
    };
    assert!(explore([2, 2], NONE, faults).drop.is_some());
}

#[test]
fn a_deficit_returned_at_once_is_found() {
    let faults = CreditFaults {
        deficit_at_once: true,
        ..CreditFaults::default()
    };
    assert!(explore([2, 2], NONE, faults).drop.is_some());
}

#[test]
fn an_ignored_epoch_is_found() {
    let faults = CreditFaults {
        epoch_ignored: true,
        ..CreditFaults::default()
    };
    let budget = Budget {
        frames: 2,
        restarts: 1,
        ..NONE
    };
    let outcome = explore([1, 1], budget, faults);
    println!("{:?}", outcome.drop);
    assert!(outcome.drop.is_some());
}
