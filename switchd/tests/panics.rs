//! A dataplane thread panics while a neighbour is paused: the daemon ends, nothing stays attached, no neighbour stays paused
//! longer than the last pause, and the next start needs no help.
//!
//! The panic comes from a clock, which every dataplane thread reads in every round. A test passes it to the dataplane, which
//! is impossible from outside the process.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use crate::support::network::{
    config, frame, pause_of, Host, Network, CONFIG, FRAME_LENGTH, LIMIT,
};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weir_core::wire::mac_control::MacControl;
use weir_core::{Instant, Quanta};
use weir_dataplane::random;
use weir_dataplane::Dataplane;
use weir_switchd::control::SupervisorError;
use weir_switchd::daemon::setup;
use weir_switchd::daemon::{self, DaemonError, Ended, Plan, Signal};
use weir_switchd::model::clock;
use weir_switchd::os::run_dir::RunDir;

static CORE_FAILS: AtomicBool = AtomicBool::new(false);
static WORKER_FAILS: AtomicBool = AtomicBool::new(false);

fn core_clock() -> Instant {
    now_unless(&CORE_FAILS, "weir-dataplane")
}

fn worker_clock() -> Instant {
    now_unless(&WORKER_FAILS, "weir-worker-0")
}

fn now_unless(fails: &AtomicBool, thread: &str) -> Instant {
    let here = fails.load(Ordering::Relaxed) && std::thread::current().name() == Some(thread);
    assert!(!here, "the panic of this test");
    clock::now()
}

struct Daemon {
    stop: mpsc::Sender<Signal>,
    task: JoinHandle<Result<Ended, DaemonError>>,
}

impl Daemon {
    fn start(runtime: &Runtime, run_dir: &Path, workers: usize, clock: fn() -> Instant) -> Self {
        let text = CONFIG.replacen(
            "[dataplane]",
            &format!(
                "run-dir = \"{}\"\n[dataplane]\nworkers = {workers}",
                run_dir.display()
            ),
            1,
        );
        let config = config(&text);
        let plan = Plan {
            metrics: None,
            page: None,
            ..setup::plan(&config, random::seed().unwrap(), StdDuration::from_secs(1))
        };
        let start = move |run_dir: Arc<RunDir>| {
            run_dir.mount_bpf()?;
            Ok(Dataplane::start_by(clock, &config, &run_dir.bpf_path())?)
        };
        let (stop, stops) = mpsc::channel(1);
        let task = runtime.spawn(daemon::run(plan, start, stops));
        Self { stop, task }
    }
}

/// Returns true for PFC, false for LLDP.
fn is_control(frame: &[u8]) -> bool {
    MacControl::parse(frame).is_ok()
}

/// Waits until frames from `h0` come to `h1`.
fn wait_until_it_forwards(h0: &Host, h1: &Host, daemon: &Daemon) {
    let began = StdInstant::now();
    loop {
        h0.send(&frame(0, FRAME_LENGTH));
        let came = h1.receive_within(StdDuration::from_millis(10));
        if came.is_some_and(|came| came.len() == FRAME_LENGTH) {
            return;
        }
        assert!(!daemon.task.is_finished(), "it has ended");
        assert!(began.elapsed() < LIMIT, "nothing is forwarded");
    }
}

/// `h1` pauses the switch, which then pauses `h0`.
fn pause_all(h0: &Host, h1: &Host) {
    let began = StdInstant::now();
    loop {
        h1.pause(Quanta::MAX);
        h0.send(&frame(1, FRAME_LENGTH));
        let told = h0.receive_within(StdDuration::from_millis(1));
        if told.is_some_and(|told| is_control(&told) && pause_of(&told) == Quanta::MAX) {
            return;
        }
        assert!(began.elapsed() < LIMIT, "the sender is not paused");
    }
}

fn a_panic_ends_the_daemon(workers: usize, fails: &AtomicBool, clock: fn() -> Instant) {
    let network = Network::new();
    let parent = tempfile::tempdir().unwrap();
    let run_dir = parent.path().join("run");
    // Its threads are in this thread's network namespace.
    let runtime = Runtime::new().unwrap();
    let (h0, h1) = (Host::new("h0"), Host::new("h1"));
    for _ in 0..3 {
        let daemon = Daemon::start(&runtime, &run_dir, workers, clock);
        wait_until_it_forwards(&h0, &h1, &daemon);
        pause_all(&h0, &h1);
        fails.store(true, Ordering::Relaxed);
        let began = StdInstant::now();
        while !daemon.task.is_finished() {
            h0.send(&frame(2, FRAME_LENGTH));
            std::thread::sleep(StdDuration::from_millis(1));
            assert!(
                began.elapsed() < LIMIT,
                "the daemon goes on without a dataplane"
            );
        }
        let error = runtime.block_on(daemon.task).unwrap().unwrap_err();
        let is_gone = matches!(error, DaemonError::Control(SupervisorError::DataplaneGone));
        assert!(is_gone, "{error}");
        network.assert_nothing_attached();
        assert!(!run_dir.exists(), "cannot clean up the run directory");
        // The last pause was sent before the end and lasts at most 65,535 quanta; no process is left to send another.
        while h0.receive_within(StdDuration::ZERO).is_some() {}
        for _ in 0..100 {
            h0.send(&frame(3, FRAME_LENGTH));
        }
        assert_eq!(h0.receive_within(StdDuration::from_millis(100)), None);
        while h1.receive_within(StdDuration::ZERO).is_some() {}
        fails.store(false, Ordering::Relaxed);
    }
    let daemon = Daemon::start(&runtime, &run_dir, workers, clock);
    wait_until_it_forwards(&h0, &h1, &daemon);
    runtime
        .block_on(daemon.stop.send(Signal::Stop("test")))
        .unwrap();
    let ended = runtime.block_on(daemon.task).unwrap().unwrap();
    assert_eq!(ended, Ended::Cleanly);
    network.assert_nothing_attached();
}

#[test]
#[ignore = "needs root"]
fn of_the_thread_of_the_switch_core() {
    a_panic_ends_the_daemon(1, &CORE_FAILS, core_clock);
}

#[test]
#[ignore = "needs root"]
fn of_a_thread_that_serves_sockets() {
    a_panic_ends_the_daemon(2, &WORKER_FAILS, worker_clock);
}
