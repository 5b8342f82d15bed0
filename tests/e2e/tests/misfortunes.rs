//! Restarts into random configurations during random misfortunes: a switch forwards afterwards, with one of the two
//! configurations.
//!
//! `WEIR_MISFORTUNES` sets their number, and `WEIR_SEED` the seed.

use std::fmt::Debug;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use weir_api::audit::Audit;
use weir_api::reload::Configuration;
use weir_api::words::Stage;
use weir_config::daemon::DaemonConfig;
use weir_lab::lab::process::program;
use weir_lab::lab::switches::SwitchProcess;
use weir_sim::random::Random;
use weir_tests::faults::Scene;
use weir_tests::namespace::Visit;
use weir_tests::switches::switchctl;
use weir_tests::{printed, until, variable, PATIENT_DETECTION};

/// Number in a normal run: each of them once.
const COUNT: u64 = Misfortune::ALL.len() as u64;
const SEED: u64 = 42;
/// Restarts until the hosts are started again: they send for ten minutes.
const HOSTS_LAST: u64 = 100;
/// Maximum delay from the trigger to a misfortune.
const DELAY_MAX: Duration = Duration::from_millis(400);
/// A device and its other end in the switch's namespace, without a host.
const SPARE: [&str; 2] = ["spare0", "spare1"];
const TOKEN: &str = "a-token-that-is-long-enough";
/// A host polls its device at this interval only, and keeps frames meanwhile.
const KEPT: Duration = Duration::from_secs(3);
const LISTEN: &str = "127.0.0.1:9701";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misfortune {
    Nothing,
    NextKilled,
    OldKilled,
    KeeperKilled,
    FileGone,
    FileGarbled,
    TokenGone,
    KeyMissing,
    ListenerTaken,
    ProgramGone,
    ProgramGarbled,
    ProgramExits,
    DeviceGone,
    MtuLowered,
    MemoryConfigured,
    MemoryShort,
}

impl Misfortune {
    const ALL: [Self; 16] = [
        Self::Nothing,
        Self::NextKilled,
        Self::OldKilled,
        Self::KeeperKilled,
        Self::FileGone,
        Self::FileGarbled,
        Self::TokenGone,
        Self::KeyMissing,
        Self::ListenerTaken,
        Self::ProgramGone,
        Self::ProgramGarbled,
        Self::ProgramExits,
        Self::DeviceGone,
        Self::MtuLowered,
        Self::MemoryConfigured,
        Self::MemoryShort,
    ];

    /// Returns true if it needs a next switch, because otherwise the process would simply have crashed.
    fn waits_for_the_next(self) -> bool {
        matches!(self, Self::NextKilled | Self::OldKilled)
    }

    /// Returns true if it is applied before the restart is requested.
    fn is_before(self) -> bool {
        matches!(
            self,
            Self::KeyMissing | Self::MemoryConfigured | Self::MemoryShort
        )
    }
}

struct Places {
    file: PathBuf,
    program: PathBuf,
    pristine: PathBuf,
    token: PathBuf,
    namespace: String,
    run_dir: PathBuf,
}

impl Places {
    fn replace(&self, path: &Path, text: &str, mode: u32) {
        let new = path.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(mode)).unwrap();
        std::fs::rename(new, path).unwrap();
    }

    fn ip(&self, words: &str) -> bool {
        let mut ip = Command::new("ip");
        ip.args(["-n", &self.namespace])
            .args(words.split_whitespace());
        ip.output().unwrap().status.success()
    }

    /// Restores the spare device, the program, and the readable token.
    fn mend(&self) {
        let [here, there] = SPARE;
        if !self.ip(&format!("link show {here}")) {
            assert!(self.ip(&format!("link add {here} type veth peer name {there}")));
        }
        assert!(self.ip(&format!("link set {here} up mtu 1500")));
        assert!(self.ip(&format!("link set {there} up mtu 1500")));
        let new = self.program.with_extension("link");
        let _ = std::fs::remove_file(&new);
        std::fs::hard_link(&self.pristine, &new).unwrap();
        // If both are the same file, nothing happens.
        std::fs::rename(&new, &self.program).unwrap();
        let _ = std::fs::remove_file(&new);
        self.replace(&self.token, TOKEN, 0o600);
    }

    /// Applies the misfortune; the returned value is kept until the switch is judged.
    fn strike(&self, misfortune: Misfortune, [keeper, old]: [u32; 2]) -> Option<TcpListener> {
        let dies = |pid: u32| {
            // Fails harmlessly if it has already ended.
            let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
        };
        match misfortune {
            Misfortune::Nothing | Misfortune::KeyMissing | Misfortune::MemoryConfigured => {}
            Misfortune::NextKilled => {
                next(&self.file, old).map(|next| kill(next, Signal::SIGKILL));
            }
            Misfortune::OldKilled => dies(old),
            Misfortune::KeeperKilled => dies(keeper),
            Misfortune::FileGone => drop(std::fs::remove_file(&self.file)),
            Misfortune::FileGarbled => self.replace(&self.file, "name = [", 0o644),
            Misfortune::TokenGone => drop(std::fs::remove_file(&self.token)),
            Misfortune::ListenerTaken => {
                let _there = Visit::to(&self.namespace).unwrap();
                let address: SocketAddr = LISTEN.parse().unwrap();
                return TcpListener::bind(address).ok();
            }
            Misfortune::ProgramGone => drop(std::fs::remove_file(&self.program)),
            Misfortune::ProgramGarbled => self.replace(&self.program, "no program", 0o755),
            Misfortune::ProgramExits => self.replace(&self.program, "#!/bin/sh\nexit 127\n", 0o755),
            Misfortune::DeviceGone => drop(self.ip(&format!("link del {}", SPARE[0]))),
            Misfortune::MtuLowered => drop(self.ip(&format!("link set {} mtu 600", SPARE[0]))),
            Misfortune::MemoryShort => {
                let status = Command::new("prlimit")
                    .args(["--pid", &keeper.to_string(), "--as=100000000:unlimited"])
                    .status();
                assert!(status.unwrap().success());
            }
        }
        None
    }
}

/// Returns the process that is to be the next switch of this file. The present one, `old`, may have
/// been so before.
fn next(file: &Path, old: u32) -> Option<Pid> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let next = processes.filter(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.any(|word| word == file.as_os_str().as_bytes()) && line.ends_with(b"--kept\0next\0")
    });
    let pids = next.filter_map(|it| it.file_name().to_str()?.parse().ok());
    let mut pids = pids.filter(|pid: &u32| *pid != old);
    pids.next().map(|pid| Pid::from_raw(pid as i32))
}

fn another(base: &DaemonConfig, places: &Places, random: &mut Random) -> DaemonConfig {
    let mut next = base.clone();
    next.dataplane.history_length = 10 + random.below(50) as usize;
    next.dataplane.rx_ring = Some([1024, 2048][random.below(2) as usize]);
    if random.below(2) == 0 {
        next.metrics.listen = Some(LISTEN.parse().unwrap());
        next.metrics.token_file = Some(places.token.clone());
    }
    next
}

fn with(text: &str, misfortune: Misfortune) -> String {
    match misfortune {
        Misfortune::KeyMissing => {
            let table = "[control-frames]\n";
            let keyed = format!("{table}key-file = \"/nowhere/key\"\n");
            match text.contains(table) {
                true => text.replace(table, &keyed),
                false => format!("{text}\n{keyed}"),
            }
        }
        Misfortune::MemoryConfigured => format!("{text}\n[[class]]\nname = \"huge\"\npriorities = [7]\nmode = \"pfc\"\nxoff = \"200GB\"\nxon = \"100GB\"\nheadroom = \"1GB\"\n"),
        _ => text.to_owned(),
    }
}

/// Restarts once with one misfortune; returns `switchctl`'s output.
fn restart(
    switch: &SwitchProcess,
    places: &Places,
    misfortune: Misfortune,
    delay: Duration,
    processes: [u32; 2],
) -> (Output, Option<TcpListener>) {
    if misfortune.is_before() {
        places.strike(misfortune, processes);
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let fate = scope.spawn(|| {
            while misfortune.waits_for_the_next() && next(&places.file, processes[1]).is_none() {
                if is_over.load(Ordering::Relaxed) {
                    return None;
                }
                std::thread::yield_now();
            }
            // The delay is the test's input, not a wait for a condition.
            std::thread::sleep(delay);
            places.strike(misfortune, processes)
        });
        let output = switchctl(&switch.config.api_socket)
            .args(["restart", "--timeout", "60"])
            .output()
            .unwrap();
        is_over.store(true, Ordering::Relaxed);
        (output, fate.join().unwrap())
    })
}

fn in_force(switch: &SwitchProcess, case: &impl Debug) -> String {
    until(&format!("{case:?}: the switch answers"), || {
        let status = switch.status().ok()?;
        let running: Configuration = switch.get("/v1/config").ok()?;
        (status.state == Stage::Running).then_some(running.text)
    })
}

fn begin_again(switch: &mut SwitchProcess, places: &Places, file: &str) {
    let pid = switch.status().unwrap().pid;
    let _ = kill(Pid::from_raw(pid as i32), Signal::SIGTERM);
    until("the switch has ended", || {
        let is_gone = !Path::new(&format!("/proc/{pid}")).exists();
        is_gone.then_some(())
    });
    let _ = switch.end_process();
    std::fs::write(&places.file, file).unwrap();
    switch.start_process().unwrap();
    switch.ready().unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn a_switch_forwards_after_every_misfortune_with_one_of_two_configurations() {
    let mut scene = Scene::line(|_| ());
    let _ = scene.reports();
    let directory = scene.stage.directory().to_owned();
    let namespace = scene.stage.names().namespace("s2");
    let switch = scene.switch(1);
    let places = Places {
        file: switch.config_file().to_owned(),
        program: directory.join("weir-switchd"),
        pristine: directory.join("pristine"),
        token: directory.join("token"),
        namespace,
        run_dir: switch.config.run_dir.clone(),
    };
    std::fs::copy(program("weir-switchd").unwrap(), &places.pristine).unwrap();
    places.mend();
    let base = std::fs::read_to_string(&places.file).unwrap();
    let spare = format!(
        "{base}\n[[port]]\nname = \"spare\"\ndevice = \"{}\"\nrole = \"edge\"\nrate = \"25Mbit\"\nwait = true\n",
        SPARE[0]
    );
    let base = DaemonConfig::parse(&spare, &places.file).unwrap();
    std::fs::write(&places.file, base.to_toml()).unwrap();
    switch.set_program(places.program.clone());
    switch
        .start_with_keeper()
        .unwrap_or_else(|error| panic!("{error:#}"));
    scene.start_hosts();
    scene.wait_for_all(20);

    let (count, seed) = (
        variable("WEIR_MISFORTUNES", COUNT),
        variable("WEIR_SEED", SEED),
    );
    let mut random = Random::for_purpose(seed, 0);
    let mut before = base.to_toml();
    let [mut kept, mut changed] = [0u64; 2];
    for number in 0..count {
        if number % HOSTS_LAST == HOSTS_LAST - 1 {
            let _ = scene.reports();
            scene.start_hosts();
        }
        // All of them in turn, each with different configurations and delays.
        let misfortune = Misfortune::ALL[number as usize % Misfortune::ALL.len()];
        let next = another(&base, &places, &mut random);
        let delay = DELAY_MAX.mul_f64(random.below(1_000) as f64 / 1_000.0);
        let case = (seed, number, misfortune, delay);
        let switch = scene.switch(1);
        std::fs::write(&places.file, with(&next.to_toml(), misfortune)).unwrap();
        let processes = [switch.pid().unwrap(), switch.status().unwrap().pid];
        let (output, listener) = restart(switch, &places, misfortune, delay, processes);
        let text = in_force(switch, &(case, &output));
        assert!(
            text == before || text == next.to_toml(),
            "{case:?}: {output:?}\n{text}\nis neither\n{before}\nnor\n{}",
            next.to_toml()
        );
        scene.wait_for_all(20);
        let switch = scene.switch(1);
        let is_alone = misfortune == Misfortune::KeeperKilled;
        match is_alone {
            true => until("the keeper has ended", || {
                switch.check().is_err().then_some(())
            }),
            false => switch
                .check()
                .unwrap_or_else(|error| panic!("{case:?}: {error:#}")),
        }
        drop(listener);
        places.mend();
        match is_alone {
            true => begin_again(switch, &places, &text),
            false => {
                let keeper = processes[0].to_string();
                let mut lift = Command::new("prlimit");
                printed(lift.args(["--pid", &keeper, "--as=unlimited:unlimited"]));
            }
        }
        match text == before {
            true => kept += 1,
            false => changed += 1,
        }
        eprintln!(
            "{case:?}: {} {}",
            output.status,
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .next()
                .unwrap_or_default()
        );
        before = text;
    }
    eprintln!("{count} misfortunes of seed {seed}: {kept} with the configuration before, {changed} with the next");
    let switch = scene.switch(1);
    assert!(places.run_dir.exists());
    assert!(next(&places.file, switch.status().unwrap().pid).is_none());
    std::fs::write(&places.file, &before).unwrap();
    switch.restart().unwrap_or_else(|error| panic!("{error:#}"));
    scene.wait_for_all(20);
    scene.end();
}

/// `--check` reports if the next switch could start, and leaves neither a process nor a change.
#[test]
fn a_restart_can_be_tried() {
    let mut scene = Scene::line(|_| ());
    let _ = scene.reports();
    let switch = scene.switch(1);
    switch
        .start_with_keeper()
        .unwrap_or_else(|error| panic!("{error:#}"));
    let file = switch.config_file().to_owned();
    let good = std::fs::read_to_string(&file).unwrap();
    let before = switch.status().unwrap().pid;
    let socket = switch.config.api_socket.clone();
    let check = || {
        let output = switchctl(&socket).args(["restart", "--check"]).output();
        output.unwrap()
    };
    scene.start_hosts();
    scene.wait_for_all(20);
    for _ in 0..2 {
        let output = check();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    std::fs::write(&file, with(&good, Misfortune::KeyMissing)).unwrap();
    let output = check();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("/nowhere/key"), "{told}");
    assert_eq!(scene.switch(1).status().unwrap().pid, before);
    std::fs::write(&file, good).unwrap();
    let restart = scene.switch(1).restart();
    restart.unwrap_or_else(|error| panic!("{error:#}"));
    scene.wait_for_all(20);
    scene.assert_lossless();
    scene.end();
}

/// The kernel gives a device to no other switch while somebody keeps a frame that this one has sent. A restart is refused if a
/// frame is kept before, and undone if one is kept once neighbours are paused.
#[test]
fn a_restart_waits_for_hosts_that_keep_frames() {
    let slow = [
        "flow.a.frame=200B",
        "flow.a.rate=200kbit",
        "flow.b.rate=1Mbit",
    ];
    let mut overrides = vec![PATIENT_DETECTION];
    overrides.extend(slow);
    let mut scene = Scene::new("one-switch.toml", &overrides, |_| ());
    let _ = scene.reports();
    let started = scene.switch(0).start_with_keeper();
    started.unwrap_or_else(|error| panic!("{error:#}"));
    let file = scene.switch(0).config_file().to_owned();
    let socket = scene.switch(0).config.api_socket.clone();
    let pid = scene.switch(0).status().unwrap().pid;
    let restart = || {
        let output = switchctl(&socket).arg("restart").output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), told)
    };
    scene.start_hosts();
    scene.wait_for_all(20);

    let keep = |scene: &Scene| {
        scene.take_late("h2", KEPT);
        until("a frame is with the transmitter", || {
            let audit: Audit = scene.stage.switches[0].get("/v1/audit").unwrap();
            let port = audit.ports.iter().find(|port| port.port == "h2").unwrap();
            (port.with_transmitter > 0).then_some(())
        });
    };
    keep(&scene);
    let (code, told) = restart();
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("port h2") && told.contains("kept"), "{told}");
    scene.take_late("h2", Duration::ZERO);
    scene.wait_for_all(20);

    let (code, told) = std::thread::scope(|scope| {
        let restarting = scope.spawn(restart);
        let next = until("the next switch is prepared", || next(&file, pid));
        kill(next, Signal::SIGSTOP).unwrap();
        keep(&scene);
        kill(next, Signal::SIGCONT).unwrap();
        restarting.join().unwrap()
    });
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("port h2") && told.contains("kept"), "{told}");
    assert_eq!(scene.switch(0).status().unwrap().pid, pid);
    assert_eq!(next(&file, pid), None);
    scene.take_late("h2", Duration::ZERO);
    scene.wait_for_all(20);

    let restarted = scene.switch(0).restart();
    restarted.unwrap_or_else(|error| panic!("{error:#}"));
    scene.wait_for_all(20);
    scene.settle();
    let reports = scene.reports();
    // Frames for a host that keeps them for more than a second are dropped; those that it sends are not.
    let (sent, received) = (&reports[1].sent[0], &reports[0].received[0]);
    assert_eq!(received.frames, sent.frames);
    scene.end();
}
