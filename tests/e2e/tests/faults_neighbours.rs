//! Faults of a neighbour: it is restarted, killed, frozen, or gone for good.

use nix::sys::signal::Signal;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::faults::Scene;
use weir_tests::switches::{self, pfc};
use weir_tests::until;

/// Two switches between two hosts, with plain PFC between them.
const RESTARTS: usize = 5;

/// Ends and restarts a switch several times while its neighbours continue.
fn a_peer_switch_ends_and_begins(end: fn(&mut SwitchProcess)) {
    let mut scene = Scene::line(|_| ());
    for _ in 0..RESTARTS {
        scene.wait_for_all(100);
        let peer = scene.switch(1);
        end(peer);
        switches::start(peer);
    }
    scene.wait_for_all(100);
    let balance = scene.balance();
    assert_eq!(balance.held, 0, "{balance:?}");
    let survivor = scene.switch(0).status().unwrap();
    assert_eq!(survivor.drops_total.get("headroom_exceeded"), None);
    scene.end();
}

/// A switch that ends on request sends all frames that it holds. Only frames sent by its neighbour during its absence are
/// lost: none is duplicated or reordered, and service resumes with the switch.
#[test]
fn a_peer_switch_is_restarted() {
    a_peer_switch_ends_and_begins(switches::end);
}

/// Frames in a killed switch are also lost.
#[test]
fn a_peer_switch_is_killed_and_started() {
    a_peer_switch_ends_and_begins(switches::kill);
}

/// A frozen switch only has its rings. Their losses are counted, and service resumes.
#[test]
fn a_peer_switch_is_frozen_for_a_while() {
    let mut scene = Scene::line(|_| ());
    for _ in 0..RESTARTS {
        scene.wait_for_all(100);
        scene.switch(1).process().unwrap().signal(Signal::SIGSTOP);
        // For as long as it takes to send a hundred frames into its ring.
        let wanted = scene.sent(0) + 100;
        until("its neighbour goes on", || {
            (scene.sent(0) >= wanted).then_some(())
        });
        scene.switch(1).process().unwrap().signal(Signal::SIGCONT);
    }
    scene.wait_for_all(100);
    scene.assert_lossless();
    scene.end();
}

/// A neighbour that paused us and is gone holds us for as long as its last pause states, and no longer.
#[test]
fn a_neighbour_pauses_and_is_gone() {
    let mut scene = Scene::line(|_| ());
    scene.wait_for_all(100);
    // The host at the end stops its switch, which stops the one before it, and dies.
    let tell = format!("pfc {} {}", weir_tests::LOSSLESS, u16::MAX);
    until("the pause has gone the whole way", || {
        scene.stage.hosts[1].tell(&tell).unwrap();
        let paused = pfc(scene.switch(0), "s2").paused;
        let first = scene.snapshot(0).paused.contains(&weir_tests::LOSSLESS);
        (paused && first).then_some(())
    });
    scene.switch(1).process().unwrap().signal(Signal::SIGKILL);
    let before = scene.sent(0);
    until("the first switch and its host send again", || {
        let free = !pfc(scene.switch(0), "s2").paused;
        (free && scene.sent(0) >= before + 100).then_some(())
    });
    switches::start(scene.switch(1));
    scene.wait_for_all(100);
    let balance = scene.balance();
    assert_eq!(balance.held, 0, "{balance:?}");
    scene.end();
}
