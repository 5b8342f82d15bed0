//! Faults of the daemon's machine: full disks, and a wall clock that steps.

use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use weir_lab::lab::interrupt::wait_for;
use weir_lab::lab::process::{inside, program, Process};
use weir_tests::faults::Scene;
use weir_tests::switches::{self, events, switchctl};
use weir_tests::{until, PATIENCE, PATIENT_DETECTION};

fn scene() -> Scene {
    Scene::new("one-switch.toml", &[PATIENT_DETECTION], |_| ())
}

/// Runs the scene's switch in another process, which `wrap` starts.
fn start_instead(scene: &mut Scene, wrap: &[&str], log: &Path) -> Process {
    switches::end(scene.switch(0));
    let namespace = scene.stage.names().namespace("s1");
    let mut command = inside(&namespace, Path::new("env"));
    command
        .args(wrap)
        .arg(program("weir-switchd").unwrap())
        .args(["--log-level", "debug", "--config"])
        .arg(scene.switch(0).config_file());
    let process = Process::start("s1", command, log).unwrap();
    scene
        .switch(0)
        .ready()
        .unwrap_or_else(|error| panic!("{error:#}"));
    process
}

/// A log that cannot be written costs no frame and no answer.
#[test]
fn the_disk_is_full_for_the_log() {
    let mut scene = scene();
    // The earlier process ends with the switch.
    let process = start_instead(&mut scene, &[], Path::new("/dev/full"));
    scene.start_hosts();
    scene.wait_for_all(1_000);
    assert!(!events(&scene.stage.switches[0], "started").is_empty());
    scene.assert_lossless();
    process
        .end(PATIENCE)
        .unwrap_or_else(|error| panic!("{error:#}"));
    scene.end();
}

/// A capture whose disk is full ends and reports it; the daemon forgets it, and no frame is lost.
#[test]
fn the_disk_is_full_for_a_capture() {
    let mut scene = scene();
    scene.wait_for_all(100);
    let mut capture = switchctl(&scene.stage.switches[0].config.api_socket)
        .args(["capture", "h1", "--write", "/dev/full"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = wait_for(PATIENCE, || Ok(capture.try_wait()?)).unwrap();
    let _ = capture.kill();
    let said = std::io::read_to_string(capture.stderr.take().unwrap()).unwrap();
    assert!(status.is_some_and(|status| !status.success()), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    until("the daemon has ended the capture", || {
        let all: Vec<weir_api::capture::Capture> =
            scene.stage.switches[0].get("/v1/captures").unwrap();
        all.is_empty().then_some(())
    });
    scene.wait_for_all(100);
    scene.assert_lossless();
    scene.end();
}

/// Replaces the library's clock_gettime: the wall clock has an offset in seconds, read from a file.
const STEPPED_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
int clock_gettime(clockid_t id, struct timespec *now)
{
    int result = syscall(SYS_clock_gettime, id, now);
    const char *path = getenv("WALL_CLOCK_STEP");
    FILE *file = id == CLOCK_REALTIME && path ? fopen(path, "r") : NULL;
    long seconds = 0;
    if (file) {
        if (fscanf(file, "%ld", &seconds) == 1)
            now->tv_sec += seconds;
        fclose(file);
    }
    return result;
}
"#;

/// Only the time in events, logs and captures is from the wall clock.
#[test]
fn the_wall_clock_steps() {
    const DAYS: [i64; 4] = [400, -400, 0, 10_000];
    let mut scene = scene();
    let file = |name: &str| scene.stage.directory().join(name);
    let (source, library, step) = (file("clock.c"), file("clock.so"), file("step"));
    let log = file("stepped.log");
    std::fs::write(&source, STEPPED_CLOCK).unwrap();
    std::fs::write(&step, "0").unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(compiled.unwrap().success());
    let wrap = [
        format!("LD_PRELOAD={}", library.display()),
        format!("WALL_CLOCK_STEP={}", step.display()),
    ];
    let wrap: Vec<&str> = wrap.iter().map(String::as_str).collect();
    let daemon = start_instead(&mut scene, &wrap, &log);
    scene.start_hosts();
    let mut before = 0;
    for days in DAYS {
        std::fs::write(&step, (days * 86_400).to_string()).unwrap();
        scene.wait_for_all(500);
        // An event whose time shows the step, and whose order does not.
        daemon.signal(Signal::SIGHUP);
        let event = until("the reload is told", || {
            let reloads = events(&scene.stage.switches[0], "reloaded");
            reloads.into_iter().find(|event| event.sequence > before)
        });
        before = event.sequence;
        let year: i64 = event.time[..4].parse().unwrap();
        let wanted = today() + days;
        assert!((year - 1970) * 366 + 366 > wanted - 30, "{event:?}");
        assert!((year - 1970) * 365 <= wanted, "{event:?}");
    }
    let all = events(&scene.stage.switches[0], "reloaded");
    assert!(
        all.is_sorted_by_key(|event| event.monotonic_nanos),
        "{all:?}"
    );
    assert_eq!(events(&scene.stage.switches[0], "suspected"), []);
    scene.wait_for_all(500);
    scene.assert_lossless();
    daemon
        .end(PATIENCE)
        .unwrap_or_else(|error| panic!("{error:#}"));
    scene.end();
}

/// Returns days since 1970.
fn today() -> i64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    (since.as_secs() / 86_400) as i64
}
