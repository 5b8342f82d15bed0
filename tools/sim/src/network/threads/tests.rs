//! The same network on one thread and on several: its whole state is the same, at each stop and after draining.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use weir_config::scenario::Scenario;
use weir_core::{Duration, Instant};

use super::parts::Partition;
use super::{Member, Shared};
use crate::network::node::Payload;
use crate::network::{Event, Network};
use crate::scenario::plan;
use crate::search::wide::{self, Protocol};
use crate::search::{faults, Case, Mode};

/// Longer scenarios are cut to this.
const LONGEST: Duration = Duration::from_millis(20);

/// Describes the content, independent of its place in a pool.
fn carried(network: &Network, payload: Payload) -> String {
    match payload {
        Payload::Frame(frame) => format!("{:?}", network.frames.get(frame)),
        Payload::Control(message) => format!("{:?}", network.messages.get(message)),
    }
}

/// Describes the whole state.
fn everything(network: &mut Network) -> String {
    let mut text = format!(
        "{:?} {:?} {:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n",
        network.now,
        network.totals,
        network.counters(),
        network.log.entries(),
        network.log.overflow(),
        network.pauses,
        network.samples,
        network.waiting,
        network.impairing,
        network.inside_by_flow(),
    );
    for flow in network.flows.iter() {
        let _ = writeln!(text, "{flow:?}");
    }
    for nic in network.nics.iter() {
        let _ = writeln!(text, "{nic:?}");
    }
    for line in network.lines.iter() {
        let _ = writeln!(text, "{line:?}");
    }
    for node in network.nodes.iter() {
        let held = node.frames.iter().map(|frame| {
            let is_there = *frame != crate::network::node::NO_FRAME;
            is_there.then(|| carried(network, Payload::Frame(*frame)))
        });
        let held: Vec<Option<String>> = held.collect();
        let late = node.late.iter();
        let late = late.map(|late| (late.due, late.line, carried(network, late.payload)));
        let door = node.frozen.iter().flat_map(|frozen| &frozen.door);
        let door = door.map(|(line, payload)| (line, carried(network, *payload)));
        let waiting: Vec<String> = late
            .map(|late| format!("{late:?}"))
            .chain(door.map(|door| format!("{door:?}")))
            .collect();
        let frozen = node.frozen.as_ref();
        let frozen = frozen.map(|frozen| (&frozen.completions, frozen.is_stopped));
        let _ = writeln!(
            text,
            "{:?} {:?} {held:?} {waiting:?} {frozen:?} {:?} {:?} {:?}",
            node.switch, node.free, node.timer_at, node.control, node.epoch
        );
    }
    let mut waiting: Vec<Event> = Vec::new();
    network.queue.change_events(|event| waiting.push(*event));
    let waiting = waiting.into_iter().map(|event| match event {
        Event::Arrive {
            line,
            epoch,
            payload,
        } => format!("{line} {epoch} {}", carried(network, payload)),
        other => format!("{other:?}"),
    });
    let mut waiting: Vec<String> = waiting.collect();
    waiting.sort();
    text + &waiting.join("\n")
}

fn stops(end: Duration) -> Vec<Instant> {
    let parts = (1..=4).map(|part| end.as_nanos() * part / 4);
    parts.map(Instant::from_nanos).collect()
}

/// Ways of running the parts of a network.
#[derive(Clone, Copy, Debug)]
enum Way {
    Threads(usize),
    /// On one thread alternately, window by window, the last part first: the same exchange without the time that threads
    /// take to wait for each other.
    Turns(usize),
}

impl Way {
    fn run(self, network: &mut Network, stops: &[Instant]) {
        match self {
            Self::Threads(threads) => {
                let mut count = 0;
                network
                    .run_on_threads(threads, stops, &mut |standing| {
                        assert_eq!(standing.balance, Ok(()));
                        assert_eq!(standing.now, stops[count]);
                        count += 1;
                        ControlFlow::Continue(())
                    })
                    .expect("threads start");
                assert_eq!(count, stops.len());
            }
            Self::Turns(parts) => in_turns(network, parts.min(network.nodes.len()), stops),
        }
    }
}

fn in_turns(network: &mut Network, count: usize, stops: &[Instant]) {
    let partition = Partition::of(network, count);
    let shared = &Shared::new(count, stops);
    let parts = network.split(&partition).into_iter().enumerate();
    let mut members: Vec<Member<'_>> = parts
        .map(|(number, part)| Member::new(shared, number, part))
        .collect();
    for stop in stops {
        loop {
            members.iter_mut().rev().for_each(Member::give);
            let starts: Vec<u64> = members.iter_mut().rev().map(Member::take).collect();
            let ended = members.iter_mut().rev().zip(starts);
            let ended: Vec<bool> = ended
                .map(|(member, start)| member.proceed(start, *stop))
                .collect();
            if ended.contains(&true) {
                assert!(!ended.contains(&false), "members disagree");
                break;
            }
        }
    }
    let parts = members.into_iter().map(|member| member.part);
    network.join(parts.collect(), &partition);
}

/// Returns the state of a random network of `seed` at the end of arrivals, or after `longest`, and after draining.
fn after(seed: u64, with_faults: bool, longest: Duration, way: Way) -> [String; 2] {
    let mode = [Mode::Level, Mode::Pfc, Mode::Pool][seed as usize % 3];
    let case = Case::new(seed);
    let mut plan = case.plan(mode);
    plan.sample_interval = Some(Duration::from_micros(50));
    // Some logs overflow.
    plan.log_capacity = (seed % 40) as usize;
    if with_faults {
        plan.actions = faults::actions(seed, &plan, case.arrivals().min(longest));
        // Some faults begin at the same time.
        if seed.is_multiple_of(2) {
            let moment = plan.actions[0].0;
            let begins = plan.actions.iter_mut().step_by(2);
            begins.for_each(|(at, _)| *at = moment);
        }
    }
    let mut network = Network::new(plan).expect("the plan is sound");
    network.record_pauses();
    way.run(&mut network, &stops(case.arrivals().min(longest)));
    let ran = everything(&mut network);
    network.drain(case.standstill(), Duration::from_secs(1));
    [ran, everything(&mut network)]
}

fn assert_same(one: &str, other: &str, words: std::fmt::Arguments<'_>) {
    if one == other {
        return;
    }
    let lines = one.lines().zip(other.lines());
    let first = lines.into_iter().find(|(one, other)| one != other);
    let around = first.map(|(one, other)| {
        let at = one
            .bytes()
            .zip(other.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let part = |text: &str| {
            let from = at.saturating_sub(200);
            String::from_utf8_lossy(&text.as_bytes()[from..(at + 200).min(text.len())]).into_owned()
        };
        (part(one), part(other))
    });
    panic!("{words}: {around:#?}");
}

fn assert_as_on_one(seed: u64, longest: Duration, ways: &[Way]) {
    for with_faults in [false, true] {
        let one = after(seed, with_faults, longest, Way::Threads(1));
        for way in ways {
            let several = after(seed, with_faults, longest, *way);
            for (one, several) in one.iter().zip(&several) {
                let words = format_args!("seed {seed}, faults {with_faults}, {way:?}");
                assert_same(one, several, words);
            }
        }
    }
}

#[test]
fn random_networks_are_the_same_in_any_number_of_parts() {
    for seed in 0..40 {
        let ways = [2, 3, 7].map(Way::Turns);
        assert_as_on_one(seed, Duration::from_secs(1), &ways);
    }
    let most = (0..40).map(|seed| Case::new(seed).plan(Mode::Pfc).switches.len());
    assert!(most.max() >= Some(7), "no network has 7 parts");
}

#[test]
fn random_networks_are_the_same_on_any_number_of_threads() {
    for seed in 0..6 {
        let ways = [2, 3, 7].map(Way::Threads);
        assert_as_on_one(seed, Duration::from_micros(100), &ways);
    }
}

/// Control planes, releases, impairments, collectives, transports, pools: everything in the files.
#[test]
fn every_scenario_file_gives_the_same_network_in_any_number_of_parts() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = std::fs::read_dir(directory).expect("the scenarios");
    let files = entries.map(|entry| entry.expect("a directory entry").path());
    let files = files.filter(|path| path.extension().is_some_and(|kind| kind == "toml"));
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    assert!(files.len() >= 15);
    for file in files {
        let scenario = Scenario::load(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_scenario_as_on_one(&scenario);
    }
}

/// Levels and PFC, all codings of Feedback, releases, changing routes.
#[test]
fn wide_networks_are_the_same_in_any_number_of_parts() {
    for seed in 0..12 {
        let protocols = [Protocol::Level, Protocol::PfcBreaker, Protocol::Pfc];
        let text = wide::network(seed).to_toml(protocols[seed as usize % 3], "");
        let scenario = Scenario::parse(&text, Path::new("wide.toml"), &[]);
        assert_scenario_as_on_one(&scenario.unwrap_or_else(|error| panic!("{error}")));
    }
}

fn assert_scenario_as_on_one(scenario: &Scenario) {
    let end = scenario.duration.min(LONGEST);
    let [one, several @ ..] = [Way::Threads(1), Way::Turns(2), Way::Turns(3)].map(|way| {
        let plan = plan(scenario).unwrap_or_else(|error| panic!("{error}"));
        let mut network = Network::new(plan).expect("the plan is sound");
        way.run(&mut network, &stops(end));
        let ran = everything(&mut network);
        network.drain(Duration::from_millis(1), Duration::from_millis(5));
        ran + &everything(&mut network)
    });
    for several in several {
        assert_same(&one, &several, format_args!("{}", scenario.name));
    }
}

fn network() -> Network {
    let case = Case::new(1);
    Network::new(case.plan(Mode::Pfc)).expect("the plan is sound")
}

#[test]
fn a_run_that_is_broken_off_stands_where_it_would_on_one_thread() {
    let [one, two] = [1, 2].map(|threads| {
        let mut network = network();
        let mut looks = 0;
        network
            .run_on_threads(threads, &stops(Duration::from_micros(400)), &mut |_| {
                looks += 1;
                match looks {
                    2 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            })
            .expect("threads start");
        assert_eq!(looks, 2);
        assert_eq!(network.now(), Instant::from_nanos(200_000));
        everything(&mut network)
    });
    assert_same(&one, &two, format_args!("broken off"));
}

#[test]
fn when_one_thread_panics_all_end_and_the_caller_hears_of_it() {
    let mut network = network();
    let switches = network.nodes.len();
    assert!(switches >= 2);
    // A flow that does not exist, at the last place, which belongs to another thread than the caller's.
    let place = (switches - 1) as u32;
    let at = Instant::from_nanos(100_000);
    network
        .queue
        .push(place, at, Event::FlowTimer { flow: u32::MAX });
    let end = stops(Duration::from_micros(400));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        network.run_on_threads(2, &end, &mut |_| ControlFlow::Continue(()))
    }));
    assert!(outcome.is_err());
}

#[test]
fn when_the_caller_panics_all_threads_end() {
    let mut network = network();
    let end = stops(Duration::from_micros(400));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        network.run_on_threads(2, &end, &mut |_| panic!("on purpose"))
    }));
    let told = outcome.expect_err("a panic");
    assert_eq!(told.downcast_ref(), Some(&"on purpose"));
}
