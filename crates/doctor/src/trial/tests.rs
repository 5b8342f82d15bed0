//! Both ends connected by memory: each change to frames is found.

use std::path::Path;

use weir_config::daemon::DaemonConfig;
use weir_core::{Duration, Instant, MacAddress};

use super::{judge, Ended, Fault, Reflector, Tester, Trial};
use crate::facts::Facts;
use crate::finding::{Check, Finding, Grade};
use crate::judge::Wanted;

const HERE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const THERE: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const LONGEST: usize = 1514;
const STEP: Duration = Duration::from_micros(10);

fn trial(fault: Option<Fault>) -> Trial {
    let mut now = Instant::ZERO;
    let mut tester = Tester::new(now, 7, HERE, LONGEST, Duration::from_millis(300_000));
    let mut reflector = Reflector::new(THERE, "far", LONGEST as u16, fault);
    let mut buffer = [0; 2048];
    while !tester.is_done() {
        let mut is_idle = true;
        while let Some(length) = tester.next_frame(now, &mut buffer) {
            reflector.receive(&buffer[..length]);
            is_idle = false;
        }
        while let Some(length) = reflector.next_frame(&mut buffer) {
            tester.receive(now, &buffer[..length]);
            is_idle = false;
        }
        now = match is_idle {
            true => tester.next_moment(now).max(now + STEP),
            false => now + STEP,
        };
    }
    assert_eq!(reflector.lost_replies(), 0);
    tester.finish(now)
}

fn findings(mut trial: Trial) -> Vec<Finding> {
    let wanted = Wanted::of_devices(&["lo"]).unwrap();
    trial.link.device = "lo".into();
    judge(&trial, &Facts::read(&["lo"], &|_| (None, None)), &wanted)
}

fn problems(trial: Trial) -> Vec<(Check, String)> {
    let problems = findings(trial).into_iter();
    problems
        .filter(|finding| finding.grade == Grade::Problem)
        .inspect(|finding| assert!(finding.remedy.is_some(), "{finding:?}"))
        .map(|finding| (finding.check, finding.found))
        .collect()
}

#[test]
fn a_perfect_neighbour_returns_all_sizes_tags_and_pauses() {
    let trial = trial(None);
    assert_eq!(trial.ended, Ended::Complete);
    let frames = trial.frames;
    assert_eq!(
        (frames.sent.shortest_bytes, frames.sent.longest_bytes),
        (60, 1518)
    );
    assert!(frames.sent.frames > 3 * (LONGEST as u64 - 60));
    assert_eq!(frames.returned, frames.sent.frames);
    assert_eq!(frames.arrived, Some(frames.sent.frames));
    assert_eq!(trial.pauses.came_here, [4; 8]);
    assert_eq!(trial.pauses.came_there, [4; 8]);
    let findings = findings(trial);
    assert!(
        findings.iter().all(|it| it.grade == Grade::Ok),
        "{findings:#?}"
    );
    assert_eq!(findings.len(), 4);
}

#[test]
fn every_fault_is_named_with_its_side() {
    let faults = [
        (
            Fault::Lose(50),
            Check::LoopFrames,
            "did not come to the neighbour",
        ),
        (
            Fault::LoseBack(50),
            Check::LoopFrames,
            "came to the neighbour and not back",
        ),
        (
            Fault::Cut(1024),
            Check::LoopFrames,
            "came cut at the neighbour",
        ),
        (Fault::CutBack(1024), Check::LoopFrames, "came cut here"),
        (
            Fault::Strip,
            Check::LoopTags,
            "lost their VLAN tag at the neighbour",
        ),
        (
            Fault::StripBack,
            Check::LoopTags,
            "lost their VLAN tag here",
        ),
        (
            Fault::Change(50),
            Check::LoopFrames,
            "came with other bytes at the neighbour",
        ),
        (Fault::SwapBack(50), Check::LoopOrder, "after a later one"),
        (
            Fault::Eat,
            Check::LoopPfc,
            "0 of 32 PFC frames came to the neighbour",
        ),
        (
            Fault::EatBack,
            Check::LoopPfc,
            "0 of 32 PFC frames of the neighbour came here",
        ),
    ];
    for (fault, check, words) in faults {
        let trial = trial(Some(fault));
        assert_eq!(trial.ended, Ended::Complete, "{fault:?}");
        let problems = problems(trial);
        let [(found_by, found)] = &problems[..] else {
            panic!("{fault:?}: {problems:#?}");
        };
        assert_eq!(*found_by, check, "{fault:?}");
        assert!(found.contains(words), "{fault:?}: {found}");
    }
}

#[test]
fn no_answer_ends_it() {
    let mut now = Instant::ZERO;
    let mut tester = Tester::new(now, 7, HERE, LONGEST, Duration::from_millis(60_000));
    let mut asked = 0;
    while !tester.is_done() {
        asked += u32::from(tester.next_frame(now, &mut [0; 2048]).is_some());
        now = tester.next_moment(now).max(now + STEP);
    }
    assert!((40..=60).contains(&asked), "{asked}");
    let trial = tester.finish(now);
    assert_eq!(trial.ended, Ended::NoNeighbour);
    assert_eq!(trial.frames.sent.frames, 0);
    assert_eq!(problems(trial).len(), 1);
}

#[test]
fn a_neighbour_that_goes_ends_it() {
    let mut now = Instant::ZERO;
    let mut tester = Tester::new(now, 7, HERE, LONGEST, Duration::from_millis(300_000));
    let mut reflector = Reflector::new(THERE, "far", LONGEST as u16, None);
    let mut buffer = [0; 2048];
    let mut sent = 0;
    while !tester.is_done() {
        while let Some(length) = tester.next_frame(now, &mut buffer) {
            sent += 1;
            if sent < 100 {
                reflector.receive(&buffer[..length]);
            }
        }
        while let Some(length) = reflector.next_frame(&mut buffer) {
            tester.receive(now, &buffer[..length]);
        }
        now = tester.next_moment(now).max(now + STEP);
    }
    let trial = tester.finish(now);
    assert_eq!(trial.ended, Ended::Silent);
    assert!(trial.frames.sent.frames < 1000, "{:?}", trial.frames.sent);
}

#[test]
fn frames_of_other_runs_and_reflectors_are_ignored() {
    let now = Instant::ZERO;
    let mut buffer = [0; 2048];
    let mut other = Tester::new(now, 8, HERE, LONGEST, Duration::from_millis(1000));
    let mut reflector = Reflector::new(THERE, "far", LONGEST as u16, None);
    let length = other.next_frame(now, &mut buffer).unwrap();
    reflector.receive(&buffer[..length]);
    let length = reflector.next_frame(&mut buffer).unwrap();
    let mut tester = Tester::new(now, 7, HERE, LONGEST, Duration::from_millis(1000));
    tester.receive(now, &buffer[..length]);
    assert_eq!(tester.progress(), (0, 0), "a welcome of another run");
    let mut second = Reflector::new(HERE, "near", LONGEST as u16, None);
    second.receive(&buffer[..length]);
    assert_eq!(
        second.next_frame(&mut buffer),
        None,
        "a welcome is not reflected"
    );
}

#[test]
fn the_configuration_is_named_where_a_setting_helps() {
    let text = "name = \"s\"\n[[port]]\ndevice = \"lo\"\nrole = \"edge\"\nrate = \"1Gbit\"\n";
    let wanted = Wanted {
        config: DaemonConfig::parse(text, Path::new("s.toml")).unwrap(),
        file: Some("s.toml".into()),
        running: None,
    };
    let mut trial = trial(Some(Fault::CutBack(1024)));
    trial.link.device = "lo".into();
    trial.link.zero_copy = true;
    let found = judge(&trial, &Facts::read(&["lo"], &|_| (None, None)), &wanted);
    let remedies: Vec<_> = found.iter().filter_map(|it| it.remedy.as_ref()).collect();
    assert_eq!(remedies.len(), 1, "{found:#?}");
    assert_eq!(
        remedies[0].to_string(),
        "in s.toml: dataplane.zero-copy = \"off\""
    );
}
