//! Cost of an idle switch.

use std::time::{Duration, Instant};

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use weir_config::daemon::{DaemonConfig, DataplaneConfig};
use weir_lab::lab::stage::Stage;
use weir_tests::{tear_down, until};

/// Long enough for periodic work of a daemon, once per second.
const SPAN: Duration = Duration::from_secs(5);
/// Maximum use of one CPU in percent. It is 0.7 to 0.9 on the machine of the book's figures; a busy or slower one may use
/// more, and a polling thread would use 100.
const MOST: f64 = 3.0;

fn cpu_time(pid: u32) -> Duration {
    let clock = clock_getcpuclockid(Pid::from_raw(pid as i32)).unwrap();
    clock_gettime(clock).unwrap().into()
}

#[test]
fn an_idle_ring_sleeps() {
    let scenario = weir_tests::scenario("ring4.toml", &[]);
    // A lab's daemons poll more often than others.
    let as_usual = |config: &mut DaemonConfig| {
        config.dataplane = DataplaneConfig::default();
    };
    let stage =
        Stage::set_up_with(&scenario, false, as_usual).unwrap_or_else(|error| panic!("{error:#}"));
    let pids: Vec<u32> = stage.switches.iter().filter_map(|it| it.pid()).collect();
    assert_eq!(pids.len(), 4);
    // Neighbours discover each other at the start.
    let settled = Instant::now();
    until("the start is over", || {
        (settled.elapsed() >= Duration::from_secs(3)).then_some(())
    });
    let before: Vec<Duration> = pids.iter().map(|pid| cpu_time(*pid)).collect();
    let began = Instant::now();
    until("the span is over", || {
        (began.elapsed() >= SPAN).then_some(())
    });
    let span = began.elapsed();
    for (pid, before) in pids.iter().zip(before) {
        let used = cpu_time(*pid).saturating_sub(before);
        let percent = 100.0 * used.as_secs_f64() / span.as_secs_f64();
        eprintln!("switch {pid}: {percent:.2} % of a CPU");
        assert!(percent < MOST, "{percent:.2} % of a CPU");
    }
    tear_down(stage);
}
