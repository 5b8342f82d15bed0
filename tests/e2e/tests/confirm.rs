//! `reload --confirm` between random configurations: it loses no frame, and a switch killed in the middle of it starts with
//! one of the two.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration as StdDuration;

use serde_json::Value;
use weir_api::client::{self, Method};
use weir_api::daemon::EventPage;
use weir_api::reload::Configuration;
use weir_config::daemon::DaemonConfig;
use weir_core::config::{Algorithm, StormAction};
use weir_core::control::Policy;
use weir_core::{Bytes, ClassMode, Duration, PfcThresholds};
use weir_lab::lab::switches::SwitchProcess;
use weir_sim::random::Random;
use weir_tests::faults::Scene;
use weir_tests::scapy::Scapy;
use weir_tests::{go_on_for, switches, until, Bench, PATIENT_DETECTION};

/// Number for each of the two switches.
const PAIRS: u64 = 20;
const KILLS: u64 = 2 * STEPS.len() as u64;
const ANSWER_LIMIT: StdDuration = StdDuration::from_secs(60);
/// Time after which an unconfirmed change is reverted.
const SOON_SECONDS: f64 = 0.05;
const LATE_SECONDS: f64 = 3600.0;

/// Different each time; `SEED` repeats that of a failure.
fn random() -> Random {
    let given = std::env::var("SEED").ok();
    let seed = given.map_or_else(
        || RandomState::new().hash_one(0),
        |seed| seed.parse().unwrap(),
    );
    eprintln!("SEED={seed}");
    Random::new(seed)
}

/// Draws other values of reloadable settings.
fn drawn(config: &DaemonConfig, random: &mut Random) -> DaemonConfig {
    let mut config = config.clone();
    let millis = |random: &mut Random, low, high| Duration::from_millis(random.between(low, high));
    for class in &mut config.classes {
        class.weight = random.between(1, 9) as u16;
        class.scheduler.algorithm = Algorithm::Ets;
        if let ClassMode::Pfc(thresholds) = &mut class.mode {
            let xoff = random.between(30 * 1024, 60 * 1024);
            let xon = xoff - random.between(4 * 1024, 16 * 1024);
            *thresholds =
                PfcThresholds::new(Bytes::new(xoff), Bytes::new(xon), thresholds.headroom())
                    .unwrap();
        }
    }
    config.deadlock.policy = [Policy::Off, Policy::Breaker, Policy::Auto][random.below(3) as usize];
    // No queue is suspected because this machine stalls.
    config.deadlock.detect = millis(random, 20_000, 30_000);
    config.deadlock.clcm_interval = millis(random, 15, 40);
    config.deadlock.release = millis(random, 30, 60);
    config.pfcwd.enabled = Some(random.happens(500_000));
    config.pfcwd.detection = millis(random, 4_000, 5_000);
    config.pfcwd.restoration = millis(random, 100, 60_000);
    config.pfcwd.action = [StormAction::Alert, StormAction::Forward][random.below(2) as usize];
    random.shuffle(&mut config.routes);
    config
}

/// Reserves room for the highest thresholds, whatever the switch starts with.
fn spare(config: &mut DaemonConfig) {
    config.dataplane.spare_buffers = Bytes::new(1 << 20);
}

fn in_force(switch: &SwitchProcess) -> DaemonConfig {
    let configuration: Configuration = switch.get("/v1/config").unwrap();
    DaemonConfig::parse(&configuration.text, Path::new("in force")).unwrap()
}

fn write(switch: &SwitchProcess, config: &DaemonConfig) {
    std::fs::write(switch.config_file(), config.to_toml()).unwrap();
}

fn post(socket: &Path, path: &str) -> Result<Value, String> {
    client::send(socket, Method::POST, path, None::<&()>, ANSWER_LIMIT)
        .map_err(|error| error.to_string())
}

fn reload(switch: &SwitchProcess, seconds: f64) {
    let path = format!("/v1/reload?confirm_seconds={seconds}");
    let report = post(&switch.config.api_socket, &path).unwrap();
    assert_eq!(report["kept"], serde_json::json!([]), "{report}");
}

fn reverted(switch: &SwitchProcess) -> usize {
    let page: EventPage = switch.get("/v1/events?after=0").unwrap();
    let events = page.events.iter();
    events
        .filter(|event| event.kind == "reload_reverted")
        .count()
}

fn until_reverted(switch: &SwitchProcess, before: usize) {
    until("what was before is back", || {
        (reverted(switch) > before).then_some(())
    });
}

#[test]
fn changes_that_wait_for_a_word_lose_no_frame() {
    let mut random = random();
    // No ring: one locks when a processor stalls, and a buffer that cannot drain keeps its thresholds.
    let mut scene = Scene::line(spare);
    let mut confirmed = 0;
    for _ in 0..PAIRS {
        for switch in &scene.stage.switches {
            let before = in_force(switch);
            let next = drawn(&before, &mut random);
            write(switch, &next);
            if random.happens(333_333) {
                reload(switch, LATE_SECONDS);
                post(&switch.config.api_socket, "/v1/reload/confirm").unwrap();
                assert_eq!(in_force(switch), next);
                confirmed += 1;
            } else {
                let count = reverted(switch);
                reload(switch, SOON_SECONDS);
                until_reverted(switch, count);
                assert_eq!(in_force(switch), before);
            }
        }
    }
    eprintln!("{confirmed} of {} confirmed", 2 * PAIRS);
    scene.wait_for_all(20);
    scene.assert_lossless();
    scene.end();
}

/// A host that pauses keeps a buffer above the new threshold for longer than a reload waits.
#[test]
fn settings_come_back_once_a_full_buffer_has_drained() {
    let pfc = |quanta: &str| {
        format!("bytes.fromhex('0180c20000010257000000028808' '0101' '0008' '000000000000{quanta}') + bytes(40)")
    };
    // At this rate the pause of 65535 quanta lasts 3.4 s.
    let bench = Bench::of(
        "one-switch.toml",
        &["link-defaults.rate=10Mbit"],
        |config| {
            spare(config);
            config.pfcwd.enabled = Some(false);
        },
    );
    let switch = &bench.switch;
    let mut h1 = Scapy::start(&bench, "h1");
    let mut h2 = Scapy::start(&bench, "h2");
    h2.send(1, &pfc("ffff"));
    let is_paused = "weir_pause_frames_total{port=\"h2\",protocol=\"pfc\",direction=\"rx\"}";
    until("the pause has come in", || {
        (bench.metric(is_paused) > 0).then_some(())
    });
    // 50 KiB, of which the lower threshold has 30.
    h1.send(50, "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Dot1Q(vlan=0, prio=3) / Raw(bytes(1000))");
    until("they wait", || {
        (bench.port("h1").rx_frames_total >= 50).then_some(())
    });
    let before = in_force(switch);
    let mut next = before.clone();
    for class in &mut next.classes {
        let thresholds = PfcThresholds::new(
            Bytes::new(30 << 10),
            Bytes::new(20 << 10),
            Bytes::new(3 << 20),
        );
        class.mode = ClassMode::Pfc(thresholds.unwrap());
    }
    write(switch, &next);
    reload(switch, SOON_SECONDS);
    go_on_for(StdDuration::from_secs(2), || h2.send(1, &pfc("ffff")));
    assert_eq!(reverted(switch), 0, "it has given up");
    until("what was before is back", || {
        h2.send(1, &pfc("0000"));
        (reverted(switch) > 0).then_some(())
    });
    assert_eq!(in_force(switch), before);
    drop((h1, h2));
    bench.end();
}

/// Progress of a change when the switch is killed.
#[derive(Clone, Copy, Debug)]
enum Step {
    Written,
    Reloading,
    Unconfirmed,
    Confirming,
    Confirmed,
    GoingBack,
    WentBack,
    RollingBack,
    RolledBack,
}

const STEPS: [Step; 9] = [
    Step::Written,
    Step::Reloading,
    Step::Unconfirmed,
    Step::Confirming,
    Step::Confirmed,
    Step::GoingBack,
    Step::WentBack,
    Step::RollingBack,
    Step::RolledBack,
];

/// Sends a request without waiting for the answer, which may never arrive: the switch is killed during it.
fn ask_and_kill(
    switch: &mut SwitchProcess,
    random: &mut Random,
    ask: impl FnOnce(&Path) + Send + 'static,
) {
    let socket = switch.config.api_socket.clone();
    let asking = std::thread::spawn(move || ask(&socket));
    // Not for a condition: any moment will do, and each run has others.
    std::thread::sleep(StdDuration::from_micros(random.below(8_000)));
    switches::kill(switch);
    asking.join().unwrap();
}

/// Rolls back to the previous configuration; fails if the switch is killed meanwhile.
fn roll_back(socket: &Path) {
    let mut command = switches::switchctl(socket);
    let _ = command.args(["config", "rollback"]).output().unwrap();
}

fn change_until_killed(
    switch: &mut SwitchProcess,
    next: &DaemonConfig,
    step: Step,
    random: &mut Random,
) {
    write(switch, next);
    let asked = format!("/v1/reload?confirm_seconds={LATE_SECONDS}");
    match step {
        Step::Written => switches::kill(switch),
        Step::Reloading => ask_and_kill(switch, random, move |socket| _ = post(socket, &asked)),
        Step::Unconfirmed => {
            reload(switch, LATE_SECONDS);
            switches::kill(switch);
        }
        Step::Confirming => {
            reload(switch, LATE_SECONDS);
            ask_and_kill(switch, random, |socket| {
                _ = post(socket, "/v1/reload/confirm");
            });
        }
        Step::GoingBack => {
            reload(switch, SOON_SECONDS);
            std::thread::sleep(StdDuration::from_micros(random.between(40_000, 60_000)));
            switches::kill(switch);
        }
        Step::WentBack => {
            let before = reverted(switch);
            reload(switch, SOON_SECONDS);
            until_reverted(switch, before);
            switches::kill(switch);
        }
        Step::Confirmed | Step::RollingBack | Step::RolledBack => {
            reload(switch, LATE_SECONDS);
            let socket = switch.config.api_socket.clone();
            post(&socket, "/v1/reload/confirm").unwrap();
            match step {
                Step::RollingBack => return ask_and_kill(switch, random, roll_back),
                Step::RolledBack => roll_back(&socket),
                _ => {}
            }
            switches::kill(switch);
        }
    }
}

#[test]
fn a_switch_that_is_killed_in_a_change_has_one_of_the_two() {
    let mut random = random();
    let mut scene = Scene::new("one-switch.toml", &[PATIENT_DETECTION], spare);
    let switch = scene.switch(0);
    let first = in_force(switch);
    write(switch, &first);
    for (_, step) in (0..KILLS).zip(STEPS.into_iter().cycle()) {
        let before = in_force(switch);
        let next = drawn(&before, &mut random);
        change_until_killed(switch, &next, step, &mut random);
        let file = std::fs::read_to_string(switch.config_file()).unwrap();
        let is_one = file == before.to_toml() || file == next.to_toml();
        assert!(is_one, "{step:?}: the file is neither of the two:\n{file}");
        switches::start(switch);
        let now = in_force(switch);
        assert!(
            now == before || now == next,
            "{step:?}: in force is neither of the two:\n{}",
            now.to_toml()
        );
        // The active state matches the file, and the next change finds nothing half done.
        assert_eq!(now.to_toml(), file, "{step:?}");
    }
    scene.wait_for_all(20);
    scene.end();
}
