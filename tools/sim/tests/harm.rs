//! Incidents at one host, port or link harm no other host, in fewer networks than in the book's search.

use std::collections::BTreeMap;

use weir_core::Duration;
use weir_sim::search::harm::{judge, Case, Kind};

const NETWORKS: u64 = 200;

fn replay(seed: u64) -> String {
    format!("replay with: weir-sim search --harm --first {seed} --networks 1")
}

#[test]
fn nobody_else_loses_a_lossless_frame_or_waits_longer_than_the_bound() {
    let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
    let (mut sent, mut lost_in_all) = (0, 0);
    for seed in 0..NETWORKS {
        let case = Case::new(seed);
        let answer = judge(&case).unwrap_or_else(|error| panic!("{error}; {}", replay(seed)));
        assert!(
            answer.is_good(),
            "{:?}: {answer:?}; {}",
            case.kind,
            replay(seed)
        );
        *kinds.entry(case.kind).or_default() += 1;
        sent += answer.sent;
        lost_in_all += answer.lost_in_all;
    }
    println!("{kinds:?}, {sent} frames of others");
    assert_eq!(
        kinds.len(),
        Kind::ALL.len(),
        "every kind is drawn: {kinds:?}"
    );
    assert!(lost_in_all > 0, "the unlucky lose nothing: nothing happens");
}

/// The transmitter stops with a flooded frame that is larger than its sender's xon.
#[test]
fn a_frame_in_a_stuck_transmitter_does_not_pause_its_sender() {
    const SEED: u64 = 4_833;
    let case = Case::new(SEED);
    assert_eq!(case.kind, Kind::Stuck);
    let answer = judge(&case).unwrap();
    assert!(answer.is_good(), "{answer:?}; {}", replay(SEED));
}

/// A switch that keeps frames forever, and one that never detects a storm or a stuck transmitter: the faults that the search
/// must find.
#[test]
fn without_a_bound_others_are_harmed() {
    for kind in [Kind::LinkDown, Kind::Storm, Kind::Stuck] {
        let harmed = (0..NETWORKS).find(|seed| {
            let mut case = Case::new(*seed);
            if case.kind != kind {
                return false;
            }
            for switch in &mut case.plan.switches {
                let config = &mut switch.config;
                config.link_down_hold = Duration::from_secs(100);
                for port in &mut config.ports {
                    port.watchdog = None;
                }
            }
            if kind == Kind::Stuck {
                use weir_sim::network::faults::actions::Action;
                let notices = |action: &Action| matches!(action, Action::Notice { .. });
                case.plan.actions.retain(|(_, action)| !notices(action));
            }
            !judge(&case).unwrap().is_good()
        });
        assert!(
            harmed.is_some(),
            "{kind:?} harms nobody: the search proves nothing"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [3, 71] {
        let [one, other] = [0; 2].map(|_| judge(&Case::new(seed)).unwrap());
        assert_eq!(one, other);
    }
}
