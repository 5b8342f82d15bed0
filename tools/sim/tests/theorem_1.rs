//! Empirical test of Theorem 1, with fewer seeds than in `cargo xtask soak`.

use weir_sim::search::{ask, Answer, Mode, Question};

const NETWORKS: u64 = 200;

fn answer(seed: u64, mode: Mode, with_faults: bool) -> Answer {
    ask(seed, mode, Question { with_faults }).unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

fn replay(seed: u64, more: &str) -> String {
    format!("replay with: weir-sim search --first {seed} --networks 1{more}")
}

#[test]
fn random_networks_under_levels_lose_reorder_and_hold_nothing() {
    let (mut frames, mut deadlocks) = (0, 0);
    for seed in 0..NETWORKS {
        let level = answer(seed, Mode::Level, false);
        assert!(level.keeps_the_promise(), "{level:?}; {}", replay(seed, ""));
        frames += level.received;
        let pfc = answer(seed, Mode::Pfc, false);
        assert_eq!(
            (pfc.lost, pfc.reordered),
            (0, 0),
            "{pfc:?}; {}",
            replay(seed, "")
        );
        deadlocks += u64::from(pfc.stuck > 0);
    }
    println!("{NETWORKS} networks, {frames} frames, {deadlocks} deadlocks under PFC");
    assert!(
        deadlocks > 0,
        "plain PFC never locked: the search proves nothing"
    );
}

/// For any thresholds of a pool, headroom by the closed form suffices.
#[test]
fn random_networks_with_shared_buffers_lose_nothing() {
    let (mut frames, mut deadlocks) = (0, 0);
    for seed in 0..NETWORKS {
        let pool = answer(seed, Mode::Pool, false);
        assert!(pool.loses_nothing(), "{pool:?}; {}", replay(seed, ""));
        frames += pool.received;
        deadlocks += u64::from(pool.stuck > 0);
    }
    println!("{NETWORKS} networks, {frames} frames, {deadlocks} deadlocks with shared buffers");
    assert!(
        deadlocks > 0,
        "pauses never locked: the search proves nothing"
    );
}

#[test]
fn faults_break_no_rule_and_when_they_are_over_everything_drains() {
    let (mut frames, mut lost) = (0, 0);
    for seed in 0..NETWORKS {
        let answer = answer(seed, Mode::Level, true);
        assert!(
            answer.keeps_the_promise(),
            "{answer:?}; {}",
            replay(seed, " --faults")
        );
        frames += answer.received;
        lost += answer.lost;
    }
    println!("{NETWORKS} networks, {frames} frames, {lost} lost to faults");
    assert!(lost > 0, "no fault took a frame: the faults do nothing");
}

/// A switch that is stopped while it is frozen: frames that had left before were once returned twice.
#[test]
fn a_frozen_switch_that_is_stopped_takes_nothing_that_has_left() {
    for seed in [732, 2875, 3177, 4967, 6776, 7330, 8257, 9442] {
        let answer = answer(seed, Mode::Level, true);
        assert!(
            answer.keeps_the_promise(),
            "{answer:?}; {}",
            replay(seed, " --faults")
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [3, 71] {
        for with_faults in [false, true] {
            let [one, other] = [0; 2].map(|_| answer(seed, Mode::Level, with_faults));
            assert_eq!(one, other);
        }
    }
}
