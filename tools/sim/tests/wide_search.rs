//! Wide networks, with fewer seeds than in `cargo xtask soak --search`, and shrinking of findings.

use std::path::Path;

use weir_config::scenario::Scenario;
use weir_sim::scenario::{run, Options};
use weir_sim::search::wide::{judge, network, shrink, Answer, Broken, Patience, Protocol, Told};

const NETWORKS: u64 = 200;

fn answer(seed: u64, protocol: Protocol) -> Answer {
    judge(&network(seed), protocol, Patience::Longer)
}

fn answers(protocol: Protocol) -> Vec<(u64, Answer)> {
    let (even, odd) = std::thread::scope(|scope| {
        let half = |rest: u64| {
            let seeds = (0..NETWORKS).filter(move |seed| seed % 2 == rest);
            seeds
                .map(|seed| (seed, answer(seed, protocol)))
                .collect::<Vec<_>>()
        };
        let even = scope.spawn(move || half(0));
        (even.join().expect("answers"), half(1))
    });
    let mut all: Vec<_> = even.into_iter().chain(odd).collect();
    all.sort_by_key(|(seed, _)| *seed);
    all
}

fn broken(answers: &[(u64, Answer)], mode: &str) -> Vec<String> {
    let failing = answers
        .iter()
        .filter(|(_, answer)| !answer.broken.is_empty());
    failing
        .map(|(seed, answer)| {
            format!(
                "{}; replay with: weir-sim search --wide --mode {mode} --first {seed} --networks 1",
                answer.words
            )
        })
        .collect()
}

#[test]
fn wide_networks_under_levels_keep_what_is_promised() {
    let answers = answers(Protocol::Level);
    let found = broken(&answers, "level");
    assert_eq!(found, [""; 0]);
    let lost = answers.iter().filter(|(_, answer)| answer.lost > 0);
    assert!(
        lost.count() > 0,
        "no network lost what it may: links that go down do nothing"
    );
    let bounded = answers.iter().map(|(_, answer)| answer.told == Told::Bound);
    let bounded = bounded.filter(|bounded| *bounded).count();
    assert!(
        bounded * 2 > answers.len(),
        "waits of {bounded} alone are judged by a bound"
    );
}

#[test]
fn wide_networks_under_pfc_with_the_breaker_keep_what_is_promised() {
    let answers = answers(Protocol::PfcBreaker);
    assert_eq!(broken(&answers, "pfc-breaker"), [""; 0]);
}

#[test]
fn the_same_seed_gives_the_same_answer() {
    for seed in [3, 41] {
        for protocol in [Protocol::Level, Protocol::PfcBreaker] {
            assert_eq!(network(seed), network(seed));
            assert_eq!(answer(seed, protocol), answer(seed, protocol));
        }
    }
}

/// Plain PFC locks. A locking network is shrunk to a small scenario file that also locks.
#[test]
fn a_lock_is_found_and_shrunk_to_a_file_that_locks() {
    let found = (0..60).find_map(|seed| {
        let answer = judge(&network(seed), Protocol::Pfc, Patience::AsItIs);
        (answer.broken == [Broken::Stuck] || answer.broken == [Broken::Stuck, Broken::Starved])
            .then_some((seed, answer))
    });
    let (seed, answer) = found.expect("plain PFC never locked: the search proves nothing");
    let (small, told) = shrink(&network(seed), Protocol::Pfc, &answer);
    assert_eq!(told.broken[0], Broken::Stuck);
    let texts = [network(seed), small].map(|case| case.to_toml(Protocol::Pfc, "shrunk"));
    let [before, after] = texts
        .each_ref()
        .map(|text| Scenario::parse(text, Path::new("found.toml"), &[]).expect("a scenario"));
    assert!(after.flows.len() < before.flows.len(), "{}", texts[1]);
    assert!(
        after.switches.len() <= before.switches.len(),
        "{}",
        texts[1]
    );
    let result = run(&after, Options::default()).expect("a result");
    let held: u64 = result.flows.iter().map(|flow| flow.in_flight).sum();
    assert!(held > 0, "{}\n{:?}", texts[1], result.expectations);
}
