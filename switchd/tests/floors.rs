//! The daemon's modules form floors: each uses only lower floors, so there is no cycle.

use crate::support::rooms::{all_arrows_up, arrows_up};

/// From bottom to top. Modules of one floor do not use each other.
const FLOORS: [&[&str]; 7] = [
    &["cli", "logging", "model"],
    &["os"],
    &["control"],
    &["capture", "export", "keeper"],
    &["api"],
    &["metrics", "page"],
    &["daemon"],
];

#[test]
fn nothing_is_taken_from_above() {
    let wrong = all_arrows_up(env!("CARGO_MANIFEST_DIR"), &FLOORS);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_arrow_back_up_is_seen() {
    for (text, expected) in [
        ("use crate::daemon::Plan;", &["daemon"][..]),
        ("use crate::{api, os};", &["api"]),
        ("fn f() { crate::page::listen() }", &["page"]),
        ("use crate::control::info;\nuse crate::model::clock;", &[]),
        ("// use crate::daemon::Plan;", &[]),
        ("use super::info;", &[]),
        ("use super::super::daemon;", &["the root"]),
        ("#[cfg(test)]\nuse crate::daemon::Plan;", &[]),
    ] {
        assert_eq!(arrows_up(&FLOORS, "control", 2, text), expected, "{text}");
    }
}
