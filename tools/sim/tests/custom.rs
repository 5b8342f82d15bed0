//! Congestion control of the caller, and runs that are interrupted.

use std::path::Path;
use std::sync::{Arc, Mutex};

use weir_config::scenario::{Additions, Scenario, Transport};
use weir_core::{BitRate, Bytes, Duration, Instant};
use weir_sim::scenario::{digest, run, Options, RunError};
use weir_sim::transport::custom::{CustomControl, CustomControls, Limits, Signal, Start};

/// Two switches; three hosts of the first send to hosts of the second over one link.
const DUMBBELL: &str = r#"
name = "dumbbell"
duration = "5ms"
[link-defaults]
rate = "10Gbit"
delay = "2us"
[[class]]
name = "data"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
ecn-kmin = "5kB"
ecn-kmax = "50kB"
[[class]]
name = "lossy"
priority = 1
mode = "lossy"
buffer = "20kB"
[topology]
kind = "line"
switches = 2
hosts = 3
"#;

const FRAME: u64 = 1000;

fn dumbbell(keys: &str) -> Scenario {
    let mut text = DUMBBELL.to_owned();
    for host in 1..=3 {
        let to = host + 3;
        text += &format!(
            "[[flow]]\nname = \"f{host}\"\nfrom = \"h{host}\"\nto = \"h{to}\"\nframe = \"{FRAME}B\"\n{keys}\n"
        );
    }
    let additions = Additions {
        transports: vec!["mine".to_owned()],
        ..Additions::default()
    };
    let scenario = Scenario::parse_with(&text, Path::new("x.toml"), &[], &additions);
    scenario.expect("a scenario")
}

/// What the controls of a run have seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    acknowledged: u64,
    bytes: u64,
    marked: u64,
    in_flight_max: u64,
    notified: u64,
    lost: u64,
    timed_out: u64,
    timers: Vec<Instant>,
    round_trip_min: Option<Duration>,
    hops_max: usize,
}

/// Limits that never change.
#[derive(Clone, Debug)]
struct Fixed {
    limits: Limits,
    notifies: bool,
    tick: Option<Duration>,
    seen: Arc<Mutex<Seen>>,
}

impl CustomControl for Fixed {
    fn begin(&self) -> Limits {
        Limits {
            timer: self.tick.map(|tick| Instant::ZERO + tick),
            ..self.limits
        }
    }

    fn wants_notifications(&self) -> bool {
        self.notifies
    }

    fn handle(&mut self, now: Instant, signal: Signal<'_>) -> Limits {
        let mut seen = self.seen.lock().unwrap();
        match signal {
            Signal::Acknowledged(it) => {
                seen.acknowledged += 1;
                seen.bytes += it.bytes.get();
                seen.marked += u64::from(it.is_marked);
                seen.in_flight_max = seen.in_flight_max.max(it.in_flight.get());
                let before = seen.round_trip_min.unwrap_or(it.round_trip);
                seen.round_trip_min = Some(before.min(it.round_trip));
                seen.hops_max = seen.hops_max.max(it.hops.len());
            }
            Signal::Notified => seen.notified += 1,
            Signal::Lost => seen.lost += 1,
            Signal::TimedOut => seen.timed_out += 1,
            Signal::Timer => seen.timers.push(now),
        }
        Limits {
            // A time that is past must not stop the clock.
            timer: self.tick.map(|_| Instant::ZERO),
            ..self.limits
        }
    }

    fn copy(&self) -> Box<dyn CustomControl> {
        Box::new(self.clone())
    }
}

impl CustomControls for Fixed {
    fn control(&self, start: &Start) -> Box<dyn CustomControl> {
        assert_eq!(start.transport, 0);
        assert_eq!(start.frame, Bytes::new(FRAME));
        assert_eq!(start.line, BitRate::from_mbit(10_000));
        // Three lines there and back, 2 µs each, and the time of the frames.
        let base = start.base_round_trip;
        assert!((12_000..16_000).contains(&base.as_nanos()), "{base:?}");
        Box::new(self.clone())
    }
}

fn with(keys: &str, limits: Limits, notifies: bool) -> (weir_api::run::RunResult, Seen) {
    let seen = Arc::<Mutex<Seen>>::default();
    let control = Fixed {
        limits,
        notifies,
        tick: None,
        seen: Arc::clone(&seen),
    };
    let options = Options {
        custom: Some(Arc::new(control)),
        ..Options::default()
    };
    let result = run(&dumbbell(keys), options).expect("a run");
    let seen = seen.lock().unwrap().clone();
    (result, seen)
}

const MINE: &str = "class = \"data\"\ntransport = \"mine\"";

#[test]
fn a_window_of_the_caller_bounds_what_is_in_flight() {
    let limits = Limits {
        window_bytes: Some(4.0 * FRAME as f64),
        ..Limits::default()
    };
    let (result, seen) = with(MINE, limits, false);
    // The acknowledged frame is no longer in flight.
    assert_eq!(seen.in_flight_max, 3 * FRAME);
    let received: u64 = result.flows.iter().map(|flow| flow.received).sum();
    // The last ones arrive after the end of traffic, and are acknowledged then.
    assert_eq!(seen.acknowledged, received);
    assert_eq!(seen.bytes, received * FRAME);
    assert_eq!((seen.notified, seen.lost, seen.timed_out), (0, 0, 0));
    assert_eq!(seen.hops_max, 2, "two switches");
    assert!(result.buffers.iter().all(|buffer| buffer.pauses == 0));
}

#[test]
fn a_rate_of_the_caller_paces_the_flow() {
    let limits = Limits {
        rate: Some(BitRate::from_mbit(1000)),
        ..Limits::default()
    };
    let (result, seen) = with(MINE, limits, true);
    for flow in &result.flows {
        let gbit = flow.bits_per_second / 1e9;
        assert!((0.99..1.01).contains(&gbit), "{gbit}");
    }
    assert_eq!((seen.marked, seen.notified), (0, 0), "no queue");
}

#[test]
fn marks_are_echoed_and_notified_only_on_request() {
    let (_, without) = with(MINE, Limits::default(), false);
    let (_, with) = with(MINE, Limits::default(), true);
    assert!(without.marked > 100 && with.marked > 100, "{without:?}");
    assert_eq!(without.notified, 0);
    assert!(with.notified > 10, "{with:?}");
}

#[test]
fn losses_are_told_and_repeated() {
    let keys = "class = \"lossy\"\ntransport = \"mine\"\nsize = \"1MB\"";
    let limits = Limits {
        rate: Some(BitRate::from_mbit(4000)),
        ..Limits::default()
    };
    let (result, seen) = with(keys, limits, false);
    assert!(seen.lost > 0, "{seen:?}");
    assert!(result.flows.iter().any(|flow| flow.lost > 0));
    assert!(seen.bytes > 0);
}

#[test]
fn a_timer_that_is_always_due_does_not_stop_time() {
    let seen = Arc::<Mutex<Seen>>::default();
    let control = Fixed {
        limits: Limits::default(),
        notifies: false,
        tick: Some(Duration::from_micros(7)),
        seen: Arc::clone(&seen),
    };
    let mut scenario = dumbbell(&format!("{MINE}\nsize = \"{FRAME}B\""));
    scenario.duration = Duration::from_micros(20);
    let options = Options {
        custom: Some(Arc::new(control)),
        ..Options::default()
    };
    run(&scenario, options).expect("a run");
    let seen = seen.lock().unwrap();
    let first = Instant::ZERO + Duration::from_micros(7);
    assert_eq!(seen.timers.first(), Some(&first));
    let nanosecond = Duration::from_nanos(1);
    assert!(seen.timers.contains(&(first + nanosecond)));
    // Three flows, one after the other: each has its own clock.
    assert!(seen.timers.len() > 3);
}

#[test]
fn a_run_with_calls_is_the_same_again_on_any_number_of_threads() {
    let limits = Limits {
        window_bytes: Some(40_000.0),
        ..Limits::default()
    };
    let once = |threads| {
        let seen = Arc::<Mutex<Seen>>::default();
        let control = Fixed {
            limits,
            notifies: true,
            tick: None,
            seen: Arc::clone(&seen),
        };
        let options = Options {
            threads,
            custom: Some(Arc::new(control)),
            ..Options::default()
        };
        let result = run(&dumbbell(MINE), options).expect("a run");
        let seen = seen.lock().unwrap().clone();
        (digest(&result), seen)
    };
    let first = once(1);
    assert!(first.1.acknowledged > 1000);
    assert_eq!(first, once(1));
    assert_eq!(first, once(2));
}

#[test]
fn names_of_the_caller_are_checked_like_ours() {
    let parse = |transports: &[&str], every_flow| {
        let text = format!(
            "{DUMBBELL}[[flow]]\nname = \"f\"\nfrom = \"h1\"\nto = \"h4\"\nclass = \"data\"\ntransport = \"mien\"\n[recovery]\nmode = \"none\"\n"
        );
        let additions = Additions {
            transports: transports.iter().map(|name| (*name).to_owned()).collect(),
            every_flow,
            flows: Vec::new(),
        };
        let parsed = Scenario::parse_with(&text, Path::new("x.toml"), &[], &additions);
        parsed.expect_err("it is wrong").to_string()
    };
    let told = parse(&["mine"], None);
    assert!(told.contains("did you mean `mine`?"), "{told}");
    let told = parse(&["mien", "hpcc"], None);
    assert!(
        told.contains("`hpcc` is the name of another transport"),
        "{told}"
    );
    assert!(told.contains("`custom` needs acknowledgements"), "{told}");
    let told = parse(&["mien"], Some(Transport::Custom(0)));
    assert!(told.contains("`custom` needs acknowledgements"), "{told}");
}

#[test]
fn an_interrupted_run_ends_soon_without_a_result() {
    for threads in [1, 2] {
        let mut asked = 0;
        let mut interrupt = || {
            asked += 1;
            asked == 3
        };
        let options = Options {
            threads,
            interrupt: Some(&mut interrupt),
            ..Options::default()
        };
        let error = run(&dumbbell("class = \"data\""), options).expect_err("it is interrupted");
        assert!(matches!(error, RunError::Interrupted { .. }), "{error}");
        assert_eq!(asked, 3, "on {threads} threads");
    }
}

#[test]
fn asking_changes_nothing() {
    let scenario = dumbbell("class = \"data\"");
    let plain = digest(&run(&scenario, Options::default()).expect("a run"));
    for threads in [1, 2] {
        let mut asked = 0;
        let mut interrupt = || {
            asked += 1;
            false
        };
        let options = Options {
            threads,
            interrupt: Some(&mut interrupt),
            ..Options::default()
        };
        assert_eq!(digest(&run(&scenario, options).expect("a run")), plain);
        assert!(asked > 3, "{asked} questions");
    }
}
