//! Switches restarted by their keepers under traffic: no frame of a lossless class is lost, reordered or changed.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;
use weir_api::audit::Audit;
use weir_api::daemon::Port;
use weir_api::reload::Configuration;
use weir_api::words::Trouble;
use weir_config::daemon::DaemonConfig;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::faults::Scene;
use weir_tests::switches::{events, switchctl};
use weir_tests::{keep_off_the_express_path, until, PATIENT_DETECTION};

const RESTARTS: usize = 2;

/// A scene in which every switch has a keeper.
fn kept(file: &str, overrides: &[&str]) -> Scene {
    kept_with(file, overrides, |_| ())
}

/// Like [`kept`], without the express path: its programs belong to one switch, others may stay.
fn kept_off_the_path() -> Scene {
    kept_with(
        "gateway.toml",
        &["class.lossless.mode=pfc"],
        keep_off_the_express_path,
    )
}

fn kept_with(file: &str, overrides: &[&str], change: impl FnMut(&mut DaemonConfig)) -> Scene {
    let mut all = vec![PATIENT_DETECTION];
    all.extend(overrides);
    let mut scene = Scene::new(file, &all, change);
    // Earlier frames are not part of the sum.
    let _ = scene.reports();
    for switch in &mut scene.stage.switches {
        switch
            .start_with_keeper()
            .unwrap_or_else(|error| panic!("{error:#}"));
    }
    scene.start_hosts();
    scene
}

/// Restarts all in turn, `rounds` times, while hosts send.
fn restart_all(scene: &mut Scene, rounds: usize) {
    let count = scene.stage.switches.len();
    for round in 0..rounds * count {
        scene.wait_for_all(50);
        let switch = scene.switch(round % count);
        let restart = switch.restart();
        let restart = restart.unwrap_or_else(|error| panic!("{error:#}"));
        eprintln!("{}: {restart:?}", switch.name);
        assert_eq!(restart.lost_frames, 0, "{}", switch.name);
    }
    scene.wait_for_all(50);
}

#[test]
fn a_line_loses_nothing() {
    let mut scene = kept("gateway.toml", &["class.lossless.mode=pfc"]);
    restart_all(&mut scene, RESTARTS);
    scene.assert_lossless();
    scene.end();
}

#[test]
fn a_ring_with_levels_loses_nothing() {
    let mut scene = kept("ring4.toml", &["class.lossless.mode=level"]);
    restart_all(&mut scene, 1);
    scene.assert_lossless();
    scene.end();
}

#[test]
fn a_ring_with_the_breaker_loses_nothing() {
    let mut scene = kept("ring4.toml", &["deadlock.policy=breaker"]);
    restart_all(&mut scene, 1);
    scene.assert_lossless();
    scene.end();
}

/// A file that would end the switch is refused; the new switch has a good one.
#[test]
fn the_new_switch_has_the_file_as_it_is_and_a_bad_file_restarts_nothing() {
    let mut scene = kept("gateway.toml", &["class.lossless.mode=pfc"]);
    scene.wait_for_all(50);
    let switch = scene.switch(1);
    let file = switch.config_file().to_owned();
    let good = std::fs::read_to_string(&file).unwrap();
    let before = switch.status().unwrap().pid;
    std::fs::write(&file, format!("{good}\n[nonsense]\n")).unwrap();
    let refused = format!("{:#}", switch.restart().unwrap_err());
    assert!(refused.contains("nonsense"), "{refused}");
    let moved = good.replace("run-dir = \"", "run-dir = \"/run/elsewhere");
    assert_ne!(moved, good);
    std::fs::write(&file, moved).unwrap();
    let refused = format!("{:#}", switch.restart().unwrap_err());
    assert!(refused.contains("run-dir"), "{refused}");
    assert_eq!(switch.status().unwrap().pid, before);

    let history = switch.config.dataplane.history_length;
    let other = format!("history-length = {history}");
    assert!(good.contains(&other), "{good}");
    std::fs::write(&file, good.replace(&other, "history-length = 17")).unwrap();
    switch.restart().unwrap_or_else(|error| panic!("{error:#}"));
    until("the history is as short as the file says", || {
        let samples = switch.history().unwrap();
        (samples.len() <= 17 && samples.last().is_some_and(|last| last.sequence > 17)).then_some(())
    });
    scene.wait_for_all(50);
    scene.assert_lossless();
    scene.end();
}

/// Processes started with `file` as the next switch.
fn next_switches(file: &Path) -> Vec<Pid> {
    let is_next = |line: &[u8]| {
        let mut words = line.split(|byte| *byte == 0);
        let has_file = words.any(|word| word == file.as_os_str().as_bytes());
        has_file && line.ends_with(b"--kept\0next\0")
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let next = processes.filter(|process| {
        let line = std::fs::read(process.path().join("cmdline"));
        line.is_ok_and(|line| is_next(&line))
    });
    let pids = next.filter_map(|process| process.file_name().to_str()?.parse().ok());
    pids.map(Pid::from_raw).collect()
}

/// Parts that need no port are ready before neighbours are held.
#[test]
fn the_next_switch_is_ready_before_the_neighbours_wait() {
    let mut scene = kept("gateway.toml", &["class.lossless.mode=pfc"]);
    scene.wait_for_all(50);
    let switch = scene.switch(1);
    switch.restart().unwrap_or_else(|error| panic!("{error:#}"));
    let log = switch.process().unwrap().log_end();
    assert!(log.contains("the next one is ready"), "{log}");
    scene.wait_for_all(50);
    scene.assert_lossless();
    scene.end();
}

/// The next switch is killed while it prepares: the restart is refused, the switch continues, and another restart succeeds.
#[test]
fn a_next_switch_that_dies_refuses_the_restart() {
    let mut scene = kept("gateway.toml", &["class.lossless.mode=pfc"]);
    scene.wait_for_all(50);
    let switch = scene.switch(1);
    let file = switch.config_file().to_owned();
    let before = switch.status().unwrap().pid;
    let is_over = AtomicBool::new(false);
    let killed = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                if let Some(next) = next_switches(&file).first() {
                    return kill(*next, Signal::SIGKILL).is_ok();
                }
                std::thread::yield_now();
            }
            false
        });
        let restart = switch.restart();
        is_over.store(true, Ordering::Relaxed);
        let refused = format!("{:#}", restart.unwrap_err());
        assert!(
            refused.contains("this switch goes on as it was"),
            "{refused}"
        );
        killer.join().unwrap()
    });
    assert!(killed);
    assert!(next_switches(&file).is_empty());
    assert_eq!(switch.status().unwrap().pid, before);
    switch.restart().unwrap_or_else(|error| panic!("{error:#}"));
    scene.wait_for_all(50);
    scene.assert_lossless();
    scene.end();
}

/// Each of these would leave no switch: the restart is refused with the reason, and the switch continues forwarding.
#[test]
fn a_restart_whose_next_switch_cannot_start_is_refused() {
    let mut scene = kept("gateway.toml", &["class.lossless.mode=pfc"]);
    scene.wait_for_all(50);
    let switch = scene.switch(1);
    let file = switch.config_file().to_owned();
    let good = std::fs::read_to_string(&file).unwrap();
    let before = switch.status().unwrap().pid;
    let keyed = "[control-frames]\nkey-file = \"/nowhere/key\"\n";
    let keyed = match good.contains("[control-frames]\n") {
        true => good.replace("[control-frames]\n", keyed),
        false => format!("{good}\n{keyed}"),
    };
    let huge = "\n[[class]]\nname = \"huge\"\npriorities = [7]\nmode = \"pfc\"\nxoff = \"20GB\"\nxon = \"10GB\"\nheadroom = \"1GB\"\n";
    for (text, why) in [
        (keyed, "/nowhere/key"),
        (format!("{good}{huge}"), "packet memory is"),
    ] {
        std::fs::write(&file, text).unwrap();
        let refused = format!("{:#}", switch.restart().unwrap_err());
        assert!(refused.contains(why), "{why}: {refused}");
        assert_eq!(switch.status().unwrap().pid, before);
    }
    std::fs::write(&file, &good).unwrap();
    switch.restart().unwrap_or_else(|error| panic!("{error:#}"));
    scene.wait_for_all(50);
    scene.assert_lossless();

    // A device with too small an MTU only loses long frames. A restart would lose the whole port.
    let (_, rest) = good.split_once("device = \"").unwrap();
    let (device, _) = rest.split_once('"').unwrap();
    let node = scene.scenario().switches[1].clone();
    let before = scene.switch(1).status().unwrap().pid;
    scene.ip(&node, &format!("link set {device} mtu 1400"));
    let refused = format!("{:#}", scene.switch(1).restart().unwrap_err());
    assert!(
        refused.contains("MTU of 1400 B") && refused.contains(device),
        "{refused}"
    );
    assert_eq!(scene.switch(1).status().unwrap().pid, before);
    scene.ip(&node, &format!("link set {device} mtu 1500"));
    let restarted = scene.switch(1).restart();
    restarted.unwrap_or_else(|error| panic!("{error:#}"));
    scene.wait_for_all(50);
    scene.end();
}

/// The keeper is killed: the switch continues and reports it, a restart is refused with the remedy, and SIGTERM ends the
/// switch normally.
#[test]
fn a_switch_without_its_keeper_goes_on_and_says_so() {
    let mut scene = kept("gateway.toml", &["class.lossless.mode=pfc"]);
    let switch = scene.switch(1);
    let worker = switch.status().unwrap().pid;
    assert_ne!(switch.pid(), Some(worker));
    switch.process().unwrap().signal(Signal::SIGKILL);
    until("the switch reports it", || {
        let events = events(switch, "keeper_gone");
        (!events.is_empty()).then_some(())
    });
    let reason = until("health has it", || {
        let health = switch.status().unwrap().health?;
        let mut reasons = health.reasons.into_iter();
        reasons.find(|reason| reason.kind == Trouble::KeeperGone)
    });
    assert!(reason.text.contains("systemctl restart"), "{reason:?}");
    let output = switchctl(&switch.config.api_socket)
        .arg("restart")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("the keeper has ended") && told.contains(&worker.to_string()),
        "{told}"
    );
    scene.wait_for_all(50);
    let switch = scene.switch(1);
    assert_eq!(switch.status().unwrap().pid, worker);
    kill(Pid::from_raw(worker as i32), Signal::SIGTERM).unwrap();
    until("the switch has ended", || {
        let is_gone = !std::path::Path::new(&format!("/proc/{worker}")).exists();
        is_gone.then_some(())
    });
    // The keeper would have unmounted the BPF file system, which a running switch may not: the next start finds it.
    let _ = switch.end_process();
    switch.start_process().unwrap();
    switch.ready().unwrap_or_else(|error| panic!("{error:#}"));
    scene.wait_for_all(50);
    scene.end();
}

/// The switch's process is killed: its keeper reports it, and ends.
#[test]
fn a_keeper_whose_switch_is_killed_says_so() {
    let mut scene = kept("gateway.toml", &["class.lossless.mode=pfc"]);
    let switch = scene.switch(1);
    let worker = switch.status().unwrap().pid;
    kill(Pid::from_raw(worker as i32), Signal::SIGKILL).unwrap();
    let told = until("the keeper has ended", || {
        let ended = switch.process()?.check().err()?;
        Some(ended.to_string())
    });
    assert!(told.contains("the switch was killed"), "{told}");
    let _ = switch.end_process();
    switch.start_process().unwrap();
    switch.ready().unwrap_or_else(|error| panic!("{error:#}"));
    scene.wait_for_all(50);
    scene.end();
}

/// Without a keeper a restart is refused, with the remedy.
#[test]
fn a_switch_that_has_no_keeper_refuses() {
    let mut scene = Scene::line(|_| ());
    let refused = format!("{:#}", scene.switch(0).restart().unwrap_err());
    assert!(refused.contains("--keeper"), "{refused}");
    scene.wait_for_all(50);
    scene.assert_lossless();
    scene.end();
}

fn pins(switch: &SwitchProcess) -> BTreeMap<String, Value> {
    let output = switchctl(&switch.config.api_socket)
        .args(["--json", "xdp", "status"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let ports: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let name = |port: &Value| port["name"].as_str().unwrap().to_owned();
    ports.into_iter().map(|port| (name(&port), port)).collect()
}

fn programs(switch: &SwitchProcess) -> BTreeMap<String, u64> {
    let ports = pins(switch).into_iter();
    ports
        .map(|(name, port)| (name, port["program"]["id"].as_u64().unwrap()))
        .collect()
}

/// Checks that every frame counted by the program for this switch has arrived.
fn expect_balanced(switch: &SwitchProcess) {
    let audit: Audit = switch.get("/v1/audit").unwrap();
    assert_eq!(audit.differences(), [], "{audit:#?}");
}

/// Restarts it with another file, and returns its programs after that.
fn restart_with(scene: &mut Scene, text: &str) -> BTreeMap<String, u64> {
    let switch = scene.switch(1);
    std::fs::write(switch.config_file(), text).unwrap();
    let restart = switch.restart();
    let restart = restart.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(restart.lost_frames, 0);
    scene.wait_for_all(50);
    expect_balanced(scene.switch(1));
    programs(scene.switch(1))
}

/// Replacing it would take the kernel a grace period for each port. It uses the current file, and its earlier counts are not
/// this switch's.
#[test]
fn a_program_that_is_the_same_stays() {
    let mut scene = kept_off_the_path();
    scene.wait_for_all(50);
    let switch = scene.switch(1);
    let before = programs(switch);
    assert!(!before.is_empty());
    let good = std::fs::read_to_string(switch.config_file()).unwrap();
    assert_eq!(restart_with(&mut scene, &good), before);
    let switch = scene.switch(1);
    let since_attached = pins(switch).into_values();
    let since_attached = since_attached.map(|port| port["verdicts"]["redirected"].as_u64());
    let ports: Vec<Port> = switch.get("/v1/ports").unwrap();
    let own = ports
        .iter()
        .map(|port| port.xdp_verdicts_total["redirected"]);
    let (own, since_attached): (u64, u64) = (own.sum(), since_attached.flatten().sum());
    assert!(own < since_attached, "{own} of {since_attached}");

    let passing = good.replace("fallback = \"drop\"", "fallback = \"pass\"");
    assert_ne!(passing, good, "{good}");
    assert_eq!(restart_with(&mut scene, &passing), before);
    for (name, port) in pins(scene.switch(1)) {
        assert_eq!(port["fallback"], "pass", "{name}");
    }
    scene.assert_lossless();
    scene.end();
}

/// The express path has another program, whose maps belong to one switch.
#[test]
fn a_program_that_differs_is_replaced() {
    let mut scene = kept_off_the_path();
    scene.wait_for_all(50);
    let switch = scene.switch(1);
    let mut before = vec![programs(switch)];
    let plain = std::fs::read_to_string(switch.config_file()).unwrap();
    let express = plain.replace("express = \"off\"", "express = \"on\"");
    assert_ne!(express, plain, "{plain}");
    for text in [&express, &express, &plain] {
        let now = restart_with(&mut scene, text);
        let same = |other: &BTreeMap<String, u64>| now.iter().any(|(port, id)| other[port] == *id);
        assert!(!before.iter().any(same), "{now:?} after {before:?}");
        before.push(now);
    }
    scene.assert_lossless();
    scene.end();
}

/// Returns true if a process has a link to a device open: it has attached a program, or taken over an attached one.
fn has_link(pid: Pid) -> bool {
    let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fdinfo")) else {
        return false;
    };
    files.flatten().any(|file| {
        let text = std::fs::read_to_string(file.path());
        text.is_ok_and(|text| text.contains("link_type:\txdp"))
    })
}

/// Kills a process as soon as the next switch has a program: the next one itself, or another.
fn kill_once_attached(file: &Path, whom: Option<Pid>, is_over: &AtomicBool) -> bool {
    while !is_over.load(Ordering::Relaxed) {
        let next = next_switches(file).into_iter().find(|next| has_link(*next));
        if let Some(next) = next {
            return kill(whom.unwrap_or(next), Signal::SIGKILL).is_ok();
        }
    }
    false
}

/// The next switch is killed after the old one has ended: the keeper starts the previous program with its file, and
/// `switchctl restart`, an event and the health report it.
#[test]
fn a_next_switch_that_is_killed_in_its_place_is_followed_by_what_ran_before() {
    // On a busy machine one may have been reported as ready before the killer has its turn.
    let (mut scene, before, running, told) = until("a next switch is killed in time", || {
        let mut scene = kept_off_the_path();
        scene.wait_for_all(50);
        let switch = scene.switch(1);
        let before = programs(switch);
        let file = switch.config_file().to_owned();
        let running: Configuration = switch.get("/v1/config").unwrap();
        let good = std::fs::read_to_string(&file).unwrap();
        let history = switch.config.dataplane.history_length;
        let other = good.replace(
            &format!("history-length = {history}"),
            "history-length = 17",
        );
        assert_ne!(other, good);
        std::fs::write(&file, other).unwrap();
        let is_over = AtomicBool::new(false);
        let output = std::thread::scope(|scope| {
            let killer = scope.spawn(|| kill_once_attached(&file, None, &is_over));
            let output = switchctl(&switch.config.api_socket).arg("restart").output();
            is_over.store(true, Ordering::Relaxed);
            let output = output.unwrap();
            assert!(killer.join().unwrap(), "{output:?}");
            output
        });
        let told = String::from_utf8(output.stdout).unwrap();
        match output.status.code() {
            Some(0) => None,
            code => {
                assert_eq!(code, Some(1), "{told}");
                Some((scene, before, running, told))
            }
        }
    });
    let switch = scene.switch(1);
    for part in [
        "the restart failed: it was killed",
        "the previous program runs again",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let event = events(switch, "restart_failed").pop().unwrap();
    assert_eq!(event.details["why"], "it was killed");
    until("health has it", || {
        let health = switch.status().unwrap().health?;
        let mut kinds = health.reasons.iter().map(|reason| &reason.kind);
        kinds
            .any(|kind| *kind == Trouble::RestartFailed)
            .then_some(())
    });
    let again: Configuration = switch.get("/v1/config").unwrap();
    assert_eq!(again.text, running.text);
    assert_eq!(programs(switch), before);
    scene.wait_for_all(50);
    expect_balanced(scene.switch(1));
    // The cause is gone: the next one uses the file.
    let switch = scene.switch(1);
    let restart = switch.restart().unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(restart.failed, None);
    let next: Configuration = switch.get("/v1/config").unwrap();
    assert!(next.text.contains("history-length = 17"), "{}", next.text);
    scene.wait_for_all(50);
    scene.end();
}

/// It has been replaced, and only closes objects, for which the kernel takes time.
#[test]
fn a_switch_that_is_killed_when_it_has_given_its_place_is_not_missed() {
    let mut scene = kept_off_the_path();
    scene.wait_for_all(50);
    let switch = scene.switch(1);
    let before = programs(switch);
    let file = switch.config_file().to_owned();
    // On a busy machine one may end before the killer has its turn.
    until("an old switch is killed before it ends", || {
        let old = Pid::from_raw(switch.status().unwrap().pid as i32);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let killer = scope.spawn(|| kill_once_attached(&file, Some(old), &is_over));
            let restart = switch.restart();
            is_over.store(true, Ordering::Relaxed);
            let restart = restart.unwrap_or_else(|error| panic!("{error:#}"));
            assert_eq!(restart.lost_frames, 0);
            killer.join().unwrap().then_some(())
        })
    });
    scene.wait_for_all(50);
    assert_eq!(programs(scene.switch(1)), before);
    expect_balanced(scene.switch(1));
    scene.assert_lossless();
    scene.end();
}
