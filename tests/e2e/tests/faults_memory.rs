//! Memory exhaustion: many tiny frames, held by a host that accepts none.

use weir_tests::faults::Scene;
use weir_tests::{until, LOSSLESS, PATIENT_DETECTION};

/// Sends frames of the minimum length that a lab's host can number into a switch that can send none, until it is full.
fn flood(overrides: &[&str], is_full: impl Fn(&mut Scene) -> bool) -> Scene {
    let mut all = vec![
        PATIENT_DETECTION,
        "link-defaults.rate=10Mbit",
        "flow.a.frame=80B",
        "flow.b.frame=80B",
        "class.lossless.xoff=128KiB",
        "class.lossless.xon=120KiB",
        "class.lossless.headroom=256KiB",
    ];
    all.extend(overrides);
    let mut scene = Scene::new("one-switch.toml", &all, |_| ());
    scene.wait_for_all(100);
    let tell = |scene: &mut Scene, quanta: u16| {
        let tell = format!("pfc {LOSSLESS} {quanta}");
        scene.stage.hosts[1].tell(&tell).unwrap();
    };
    until("the switch is full", || {
        tell(&mut scene, u16::MAX);
        is_full(&mut scene).then_some(())
    });
    let status = scene.switch(0).status().unwrap();
    assert!(status.umem_frames_free > 0, "{status:?}");
    assert_eq!(status.kernel_losses_total, 0, "{status:?}");
    tell(&mut scene, 0);
    scene.wait_for_all(500);
    scene
}

/// A host that obeys is paused before anything is lost.
#[test]
fn tiny_frames_pause_their_sender() {
    let mut scene = flood(&[], |scene| scene.snapshot(0).paused.contains(&LOSSLESS));
    scene.assert_lossless();
    scene.end();
}

/// A host that does not obey loses the frames above its headroom, for that reason, and costs no other host a frame.
#[test]
fn tiny_frames_of_a_host_that_does_not_obey_are_dropped_by_reason() {
    let mut scene = flood(&["host.h1.obeys-pfc=false"], |scene| {
        let drops = scene.switch(0).status().unwrap().drops_total;
        drops
            .get("headroom_exceeded")
            .is_some_and(|count| *count > 100)
    });
    let balance = scene.balance();
    let reasons: Vec<_> = balance.dropped.keys().collect();
    assert_eq!(reasons, ["headroom_exceeded"]);
    assert_eq!(balance.missing(), balance.accounted(), "{balance:?}");
    assert_eq!(balance.held, 0, "{balance:?}");
    scene.end();
}
