//! Every command of the book and of the README runs, or has a reason for not running.
//!
//! A block of commands is fenced as `sh`, or as `console` if the book shows their output. The commands of a page run in
//! order in one shell: at an empty desk with a copy of the repository's files, or, with `on=ring` and `on=level-ring`, on
//! the machine of a switch in a ring with traffic. `tests/e2e/src/book/block.rs` lists all words permitted after the
//! language. Commands of cargo are only parsed, and so are those of blocks with `parsed`. Those, and the ones with `no-run`,
//! are listed in `tests/e2e/src/book/not-run.txt`, one per line.

use std::collections::BTreeSet;

use weir_api::daemon::Deadlocks;
use weir_lab::lab::stage::Stage;
use weir_tests::book::block::{Place, Use};
use weir_tests::book::{pages, session, Page};
use weir_tests::{keep_off_the_express_path, scenario, until};

const NOT_RUN: &str = include_str!("../src/book/not-run.txt");

/// These pages have a separate test.
fn is_of_the_guide(path: &str) -> bool {
    path.starts_with("docs/src/guide/")
}

#[test]
fn commands_at_the_desk_do_as_the_guide_says() {
    run_all(Place::Desk, None, is_of_the_guide);
}

#[test]
fn commands_at_the_desk_do_as_other_pages_say() {
    run_all(Place::Desk, None, |path| !is_of_the_guide(path));
}

#[test]
fn commands_on_a_ring_do_as_the_book_says() {
    let mut stage = ring("ring4-ecmp.toml", &["deadlock.policy=breaker"]);
    until("the ring has locked three times", || {
        let deadlocks: Deadlocks = stage.switches[0].get("/v1/deadlocks").unwrap();
        (deadlocks.past.len() >= 3).then_some(())
    });
    run_all(Place::Ring, Some(&stage), |_| true);
    stage.check().unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn commands_on_a_ring_with_levels_do_as_the_book_says() {
    let mut stage = ring("ring4.toml", &["class.lossless.mode=level"]);
    run_all(Place::LevelRing, Some(&stage), |_| true);
    stage.check().unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn commands_that_do_not_run_are_those_of_the_list() {
    let mut found = BTreeSet::new();
    for page in pages() {
        for block in &page.blocks {
            if let Use::Shown(Some(reason)) = &block.used {
                let commands = block.text.lines().filter(|line| !line.trim().is_empty());
                found.extend(commands.map(|command| listed(&page, reason, command)));
            }
        }
    }
    let parsed = format!(": {PARSED}: ");
    assert_listed(|line| !line.contains(&parsed), &found);
}

/// The sandbox empties the temporary directory: programs of a checkout there would find no script.
#[test]
fn a_checkout_below_the_temporary_directory_is_still_there() {
    for place in ["/tmp", "/run"] {
        let checkout = tempfile::tempdir_in(place).unwrap();
        std::fs::write(checkout.path().join("here"), "").unwrap();
        assert_eq!(
            session::finds_a_checkout(checkout.path(), "here"),
            Ok(true),
            "{place}"
        );
        let other = session::finds_a_checkout(checkout.path(), "elsewhere");
        assert_eq!(other, Ok(false), "{place}");
    }
}

const PARSED: &str = "parsed";

fn ring(file: &str, overrides: &[&str]) -> Stage {
    let mut all = vec!["duration=600s", "link-defaults.rate=25Mbit"];
    all.extend(overrides);
    let scenario = scenario(file, &all);
    // As shown in the book.
    let stage = Stage::set_up_with(&scenario, false, keep_off_the_express_path);
    let stage = stage.and_then(|mut stage| {
        stage.start_hosts(&scenario)?;
        Ok(stage)
    });
    stage.unwrap_or_else(|error| panic!("{error:#}"))
}

/// Runs every selected page, by path, so that one run reports all errors.
fn run_all(place: Place, stage: Option<&Stage>, is_meant: fn(&str) -> bool) {
    let mut problems = Vec::new();
    let mut parsed = BTreeSet::new();
    let is_page = |page: &Page| page.path.to_str().is_some_and(is_meant);
    for page in pages().into_iter().filter(is_page) {
        match session::run(&page, place, stage) {
            Ok(commands) => parsed.extend(
                commands
                    .iter()
                    .map(|command| listed(&page, PARSED, command)),
            ),
            Err(problem) => problems.push(problem),
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
    if place == Place::Desk {
        let of_parsed = format!(": {PARSED}: ");
        assert_listed(|line| line.contains(&of_parsed) && is_meant(line), &parsed);
    } else {
        assert!(parsed.is_empty(), "{parsed:?}");
    }
}

fn listed(page: &Page, reason: &str, command: &str) -> String {
    format!("{}: {reason}: {}", page.path.display(), command.trim())
}

fn assert_listed(is_meant: impl Fn(&str) -> bool, found: &BTreeSet<String>) {
    let expected: BTreeSet<String> = NOT_RUN
        .lines()
        .filter(|line| is_meant(line))
        .map(str::to_owned)
        .collect();
    let missing: Vec<_> = found.difference(&expected).cloned().collect();
    let spare: Vec<_> = expected.difference(found).cloned().collect();
    assert!(
        missing.is_empty() && spare.is_empty(),
        "tests/e2e/src/book/not-run.txt lacks\n{}\nand has no more use for\n{}",
        missing.join("\n"),
        spare.join("\n")
    );
}
