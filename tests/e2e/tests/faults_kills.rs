//! The daemon is killed at random moments, also while it starts.

use std::hash::{BuildHasher, RandomState};
use std::process::Command;

use weir_tests::faults::Scene;
use weir_tests::{switches, until, LOSSLESS, PATIENT_DETECTION};

const KILLS: usize = 10;

fn random(limit: u64) -> u64 {
    RandomState::new().hash_one(0) % limit
}

fn attached(scene: &Scene) -> bool {
    let namespace = scene.stage.names().namespace("s1");
    let output = Command::new("ip")
        .args(["-n", &namespace, "link", "show"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().contains("xdp")
}

/// No host is held for longer than the last pause states, the next start needs no help, and a normal end leaves nothing.
#[test]
fn the_daemon_is_killed_at_random_moments() {
    let mut scene = Scene::new("one-switch.toml", &[PATIENT_DETECTION], |_| ());
    for _ in 0..KILLS {
        // With full buffers half of the time: the hosts are paused when it dies.
        let with_pause = random(2) == 0;
        let tell = format!("pfc {LOSSLESS} {}", u16::MAX);
        let more = random(300);
        let wanted = scene.received(0) + more;
        until("the moment comes", || {
            if with_pause {
                scene.stage.hosts[1].tell(&tell).unwrap();
                let paused = scene.snapshot(0).paused.contains(&LOSSLESS);
                return paused.then_some(());
            }
            (scene.received(0) >= wanted).then_some(())
        });
        switches::kill(scene.switch(0));
        for host in 0..2 {
            until("no host is paused", || {
                scene.snapshot(host).paused.is_empty().then_some(())
            });
            let sent = scene.sent(host);
            until("it sends", || (scene.sent(host) > sent).then_some(()));
        }
        // Killed again during its start.
        scene.switch(0).start_process().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(random(60_000)));
        switches::kill(scene.switch(0));
        switches::start(scene.switch(0));
        scene.wait_for_all(20);
    }
    let balance = scene.balance();
    assert_eq!(balance.held, 0, "{balance:?}");
    scene.switch(0).end_process().unwrap();
    assert!(!attached(&scene), "a program stays attached");
    let run_dir = scene.stage.switches[0].config.run_dir.clone();
    weir_tests::assert_nothing_left(&run_dir);
    scene.end();
}
