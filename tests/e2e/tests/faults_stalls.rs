//! Time faults: threads of the daemon that stall or starve, and clients that occupy it.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use weir_api::words::Trouble;
use weir_config::daemon::DaemonConfig;
use weir_lab::lab::configuration::use_express_path;
use weir_lab::lab::process::Process;
use weir_tests::cpu::Quota;
use weir_tests::faults::{thread, Held, Scene};
use weir_tests::{keep_off_the_express_path, switches, until, PATIENT_DETECTION};

const STALLS: usize = 5;

fn pid(scene: &Scene) -> u32 {
    scene.stage.switches[0].pid().unwrap()
}

fn scene(overrides: &[&str]) -> Scene {
    let mut all = vec![PATIENT_DETECTION];
    all.extend(overrides);
    Scene::new("one-switch.toml", &all, |_| ())
}

/// Forwarding does not need the control plane.
#[test]
fn the_control_plane_stands_still() {
    let mut scene = scene(&[]);
    for _ in 0..STALLS {
        let held = Held::new(thread(pid(&scene), "weir-control"));
        scene.wait_for_all(300);
        held.let_go();
        until("it answers again", || {
            let status = scene.stage.switches[0].status().ok()?;
            (status.state == "running").then_some(())
        });
    }
    scene.assert_lossless();
    scene.end();
}

/// Clients that occupy every connection and read nothing cost no frame.
#[test]
fn clients_hold_every_connection() {
    let mut scene = scene(&[]);
    let socket = scene.stage.switches[0].config.api_socket.clone();
    let mut clients = Vec::new();
    for _ in 0..200 {
        let Ok(mut client) = UnixStream::connect(&socket) else {
            break;
        };
        client.set_nonblocking(true).unwrap();
        let _ = client.write_all(b"GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\nGET /v1");
        clients.push(client);
    }
    assert!(clients.len() > 50, "{} connections", clients.len());
    scene.wait_for_all(1_000);
    drop(clients);
    until("it answers again", || {
        scene.stage.switches[0].status().ok().map(|_| ())
    });
    scene.assert_lossless();
    scene.end();
}

/// A host's kernel polls its device only five times per second. The ring between both ends of a veth holds 256 frames, and
/// five times as many arrive meanwhile, on a line so fast that many more may be in the transmitter: frames without room wait
/// there. Returns how many of the host's frames took the express path.
fn the_kernel_of_a_host_takes_frames_late(change: impl FnMut(&mut DaemonConfig)) -> u64 {
    let overrides = [
        PATIENT_DETECTION,
        "link-defaults.rate=10Gbit",
        "flow.a.rate=10Mbit",
        "flow.a.frame=200B",
        "flow.b.rate=10Mbit",
        "class.lossless.xoff=256KiB",
        "class.lossless.xon=128KiB",
    ];
    let mut scene = Scene::new("one-switch.toml", &overrides, change);
    scene.wait_for_all(300);
    scene.take_late("h2", Duration::from_millis(200));
    scene.wait_for_more(1, 5_000);
    scene.take_late("h2", Duration::ZERO);
    scene.wait_for_all(1_000);
    scene.assert_lossless();
    let port = switches::port(&scene.stage.switches[0], "h2");
    scene.end();
    port.express_tx_frames_total
}

#[test]
fn the_kernel_of_a_host_takes_frames_of_the_core_late() {
    the_kernel_of_a_host_takes_frames_late(|_| ());
}

/// The ring holds frames of both paths.
#[test]
fn the_kernel_of_a_host_takes_frames_of_the_express_path_late() {
    let passed = the_kernel_of_a_host_takes_frames_late(use_express_path);
    assert!(passed > 0, "no frame took the path");
}

/// While the switch core's thread stalls, its rings hold the arriving frames; none is lost.
#[test]
fn the_dataplane_stands_still_for_less_than_its_rings() {
    let mut scene = scene(&[]);
    let ring = u64::from(scene.stage.switches[0].config.rx_ring());
    for _ in 0..STALLS {
        scene.wait_for_all(100);
        let held = Held::new(thread(pid(&scene), "weir-dataplane"));
        let wanted = scene.sent(0) + ring / 10;
        until("frames wait in the ring", || {
            (scene.sent(0) >= wanted).then_some(())
        });
        held.let_go();
    }
    scene.wait_for_all(100);
    scene.assert_lossless();
    scene.end();
}

/// If it stalls for longer, it loses the excess, and reports the amount.
#[test]
fn the_dataplane_stands_still_for_longer_than_its_rings() {
    const RING: u32 = 64;
    let mut scene = Scene::new("one-switch.toml", &[PATIENT_DETECTION], |config| {
        config.dataplane.rx_ring = Some(RING);
    });
    scene.wait_for_all(100);
    let held = Held::new(thread(pid(&scene), "weir-dataplane"));
    let wanted = scene.sent(0) + 10 * u64::from(RING);
    until("the ring is full many times over", || {
        (scene.sent(0) >= wanted).then_some(())
    });
    held.let_go();
    scene.wait_for_all(200);
    let balance = scene.balance();
    assert!(balance.lost_by_kernel > u64::from(RING), "{balance:?}");
    assert_eq!(balance.missing(), balance.accounted(), "{balance:?}");
    assert_eq!(balance.held, 0, "{balance:?}");
    scene.end();
}

/// A process that was stopped reports it with the duration when it continues.
#[test]
fn a_stopped_process_reports_for_how_long() {
    const STOP: Duration = Duration::from_secs(2);
    let mut scene = scene(&[]);
    scene.wait_for_all(100);
    scene.switch(0).freeze(true);
    std::thread::sleep(STOP);
    scene.switch(0).freeze(false);
    let told = until("it says so", || {
        switches::events(&scene.stage.switches[0], "dataplane_stalled").pop()
    });
    let lasted = told.details["lasted"].trim_end_matches(" s");
    let lasted: f64 = lasted.parse().unwrap();
    assert!(lasted >= 1.5, "{lasted} s of 2 s");
    until("health says so", || {
        let health = scene.stage.switches[0].status().ok()?.health?;
        let is_it =
            |reason: &weir_api::daemon::HealthReason| reason.kind == Trouble::DataplaneStalled;
        health.reasons.iter().any(is_it).then_some(())
    });
    scene.end();
}

/// Other processes with a much higher priority use the dataplane's CPU. The losses are counted, and service resumes.
#[test]
fn others_want_the_dataplanes_cpu() {
    const HOGS: usize = 4;
    let mut scene = Scene::new("one-switch.toml", &[PATIENT_DETECTION], |config| {
        config.dataplane.cpu = Some(0);
    });
    scene.wait_for_all(100);
    let log = scene.stage.directory().join("hogs.log");
    let hogs: Vec<Process> = (0..HOGS)
        .map(|_| {
            let mut hog = Command::new("setpriv");
            hog.args(["--pdeathsig", "KILL", "nice", "-n", "-20"])
                .args(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"]);
            Process::start("hog", hog, &log).unwrap()
        })
        .collect();
    scene.wait_for_all(100);
    drop(hogs);
    scene.wait_for_all(100);
    let balance = scene.balance();
    assert_eq!(balance.missing(), balance.accounted(), "{balance:?}");
    assert_eq!(balance.held, 0, "{balance:?}");
    scene.end();
}

/// Number of times that a quota throttles the daemon.
const HOLDUPS: u64 = 5;

/// Waits until the quota has throttled the daemon.
fn wait_for_holdups(quota: &Quota) {
    let wanted = quota.holdups() + HOLDUPS;
    until("the daemon is held up", || {
        (quota.holdups() >= wanted).then_some(())
    });
}

/// A control group throttles the whole daemon for tens of milliseconds at a time, less than its rings hold.
#[test]
fn a_quota_holds_the_daemon_up_for_less_than_its_rings() {
    let mut scene = Scene::new("one-switch.toml", &[PATIENT_DETECTION], |config| {
        // It then wants all CPU time, and is throttled in every period.
        keep_off_the_express_path(config);
        config.dataplane.spin = weir_core::Duration::from_millis(10);
    });
    for _ in 0..STALLS {
        scene.wait_for_all(100);
        let quota = Quota::new(
            pid(&scene),
            Duration::from_millis(30),
            Duration::from_millis(100),
        );
        wait_for_holdups(&quota);
        drop(quota);
    }
    scene.wait_for_all(100);
    scene.assert_lossless();
    scene.end();
}

/// If throttled for longer, it loses the excess, and reports the amount.
#[test]
fn a_quota_holds_the_daemon_up_for_longer_than_its_rings() {
    const RING: u32 = 64;
    let mut scene = Scene::new("one-switch.toml", &[PATIENT_DETECTION], |config| {
        keep_off_the_express_path(config);
        config.dataplane.rx_ring = Some(RING);
        config.dataplane.spin = weir_core::Duration::from_millis(10);
    });
    scene.wait_for_all(100);
    let quota = Quota::new(
        pid(&scene),
        Duration::from_millis(100),
        Duration::from_secs(1),
    );
    wait_for_holdups(&quota);
    drop(quota);
    scene.wait_for_all(200);
    let balance = scene.balance();
    assert!(balance.lost_by_kernel > u64::from(RING), "{balance:?}");
    assert_eq!(balance.missing(), balance.accounted(), "{balance:?}");
    assert_eq!(balance.held, 0, "{balance:?}");
    scene.end();
}
