//! The dataplane's modules form floors: each uses only lower floors, so there is no cycle.

use crate::support::rooms::all_arrows_up;

/// From bottom to top. Modules of one floor do not use each other.
const FLOORS: [&[&str]; 11] = [
    &[
        "clock",
        "closing",
        "histogram",
        "holder",
        "placement",
        "random",
    ],
    &["error"],
    &["memory"],
    &["exchange"],
    &["rings"],
    &["threads"],
    &["kernel", "worker"],
    &["ways"],
    &["start"],
    &["slot"],
    &["late", "trial"],
];

#[test]
fn nothing_is_taken_from_above() {
    let mut wrong = all_arrows_up(env!("CARGO_MANIFEST_DIR"), &FLOORS);
    // It has a part of the methods of the root's own type.
    wrong
        .retain(|arrow| !(arrow.starts_with("late: ") && arrow.ends_with(" takes from Dataplane")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
