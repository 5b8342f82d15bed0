//! Traces for Perfetto, read from its own trace processor by SQL.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::json;
use url::{form_urlencoded, Url};
use weir_api::neighbors::Neighbor;
use weir_api::run::RunResult;
use weir_lab::lab::process::{inside, program, Process};
use weir_lab::lab::stage::Stage;
use weir_sim::scenario::{run, timeline, Options};
use weir_tests::browser::with_browser;
use weir_tests::namespace::Namespace;
use weir_tests::switches::events;
use weir_tests::{python, scenario, tear_down, until};

#[derive(Deserialize)]
struct Decoded {
    slices: Vec<Entry>,
    instants: Vec<Entry>,
    values: Vec<Value>,
}

#[derive(Deserialize)]
struct Entry {
    track: Vec<String>,
    name: String,
    at: u64,
    #[serde(default)]
    to: u64,
    details: BTreeMap<String, String>,
    out: Vec<u64>,
    into: Vec<u64>,
}

#[derive(Deserialize)]
struct Value {
    track: Vec<String>,
    at: u64,
    value: u64,
}

impl Entry {
    fn is_at(&self, place: &[&str]) -> bool {
        self.track == place
    }
}

fn decode(python: &Path, bytes: &[u8]) -> Decoded {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.pftrace");
    std::fs::write(&file, bytes).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/perfetto_trace.py");
    let output = Command::new(python)
        .arg(script)
        .arg(&file)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Converts the time of a recorded event from seconds.
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Returns a simulated run of `ring4` that locks and is released, and its trace.
fn recorded(duration: &str) -> (RunResult, Vec<u8>) {
    let scenario = scenario("ring4.toml", &[duration, "deadlock.policy=breaker"]);
    let mut trace = Vec::new();
    let mut record = |network: &_| trace = timeline(&scenario, network);
    let options = Options {
        record: Some(&mut record),
        ..Options::default()
    };
    let result = run(&scenario, options).unwrap();
    (result, trace)
}

#[test]
fn a_trace_of_ring4_has_the_times_of_the_record() {
    let Some(python) = python("perfetto") else {
        return;
    };
    let (result, trace) = recorded("duration=2s");
    let decoded = decode(&python, &trace);
    events_are_those_of_the_record(&decoded, &result);
    pauses_are_those_of_the_record(&decoded, &result);
    queues_are_those_of_the_record(&decoded, &result);
    arrows_lead_round_the_ring(&decoded);
}

/// The picture of the book, of the first lock and its release.
#[test]
fn perfetto_s_page_shows_the_lock_and_the_release() {
    let Some(python) = python("perfetto") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ring4.pftrace");
    std::fs::write(&file, recorded("duration=240ms").1).unwrap();
    let place = Namespace::with_loopback("perfetto");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/perfetto_page.py");
    let mut command = inside(place.name(), &python);
    command.arg(script).arg(&file);
    let log = directory.path().join("server.log");
    let mut server = Process::start("perfetto_page.py", command, &log).unwrap();
    // Of all switches, and all of the first one's ports in the ring.
    let commands = [
        ("dev.perfetto.PinTracksByRegex", "^(suspected|release)$"),
        (
            "dev.perfetto.ExpandTracksByRegex",
            "^(s1|s2|s4|priority 3)$",
        ),
    ];
    let commands = commands.map(|(id, tracks)| json!({"id": id, "args": [tracks]}));
    let commands = serde_json::to_string(&commands).unwrap();
    let mut url = Url::parse("http://127.0.0.1:8000/").unwrap();
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("url", "http://127.0.0.1:8000/run.pftrace")
        .append_pair("hideSidebar", "true")
        .append_pair("startupCommands", &commands)
        .finish();
    url.set_fragment(Some(&format!("!/?{query}")));
    with_browser(place.name(), directory.path(), async |page| {
        server.check().unwrap();
        page.shape(1280, 1000, "light").await;
        page.go(url.as_str()).await;
        for lane in ["suspected", "release", "pauses neighbour"] {
            page.until(&format!("document.body.innerText.includes({lane:?})"))
                .await;
        }
        page.picture("perfetto-ring4").await;
    });
}

/// A ring of four real switches, recorded by `weir-page`.
#[test]
fn a_trace_of_running_switches_has_their_events_and_arrows_between_them() {
    let Some(python) = python("perfetto") else {
        return;
    };
    let overrides = [
        "duration=900s",
        "deadlock.policy=breaker",
        "link-defaults.rate=25Mbit",
    ];
    let scenario = scenario("ring4.toml", &overrides);
    let mut stage = Stage::set_up(&scenario, false).unwrap_or_else(|error| panic!("{error:#}"));
    until("every switch knows both of its neighbours", || {
        let know = stage.switches.iter().all(|switch| {
            let neighbours: Vec<Neighbor> = switch.get("/v1/neighbors").unwrap();
            let named = neighbours.iter().filter(|it| it.system_name.is_some());
            named.count() >= 2
        });
        know.then_some(())
    });
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ring4.pftrace");
    let mut page = Command::new(program("weir-page").unwrap());
    page.args(["--for", "10min", "--every", "1ms", "--perfetto"]);
    page.arg(&file);
    for switch in &stage.switches {
        let place = format!("{}={}", switch.name, switch.config.api_socket.display());
        page.args(["--switch", &place]);
    }
    let mut page = page.stdout(Stdio::null()).spawn().unwrap();
    // It is created when all recordings have begun.
    until("the recording has begun", || file.exists().then_some(()));
    stage.start_hosts(&scenario).unwrap();
    until("the ring has locked and was released", || {
        let ended = stage.switches.iter();
        let ended = ended.flat_map(|switch| events(switch, "release_ended"));
        (ended.count() > 0).then_some(())
    });
    kill(Pid::from_raw(page.id() as i32), Signal::SIGINT).unwrap();
    assert!(page.wait().unwrap().success());
    let decoded = decode(&python, &std::fs::read(&file).unwrap());
    // Recordings end shortly after that event: later ones may be in the trace or not.
    let mut until_release = BTreeSet::new();
    let ended = stage.switches.iter();
    let ended = ended.flat_map(|switch| events(switch, "release_ended"));
    let end = ended.map(|event| event.monotonic_nanos).min().unwrap();
    for kind in [
        "suspected",
        "loop_found",
        "master_elected",
        "release_started",
    ] {
        let seen = decoded.instants.iter().filter(|it| it.name == kind);
        let seen: BTreeSet<(String, u64)> = seen
            .map(|it| (it.track[0].clone(), it.at))
            .filter(|(_, at)| *at < end)
            .collect();
        let told = stage.switches.iter().flat_map(|switch| {
            let events = events(switch, kind).into_iter();
            events.map(|event| (switch.name.clone(), event.monotonic_nanos))
        });
        let told: BTreeSet<_> = told.filter(|(_, at)| *at < end).collect();
        assert_eq!(seen, told, "{kind}");
        if !told.is_empty() {
            until_release.insert(kind);
        }
    }
    for kind in ["suspected", "release_started"] {
        assert!(until_release.contains(kind), "{until_release:?}");
    }
    let mut from: BTreeMap<u64, &Entry> = BTreeMap::new();
    for slice in &decoded.slices {
        from.extend(slice.out.iter().map(|arrow| (*arrow, slice)));
    }
    let mut between = BTreeSet::new();
    for slice in &decoded.slices {
        for arrow in &slice.into {
            let source = from[arrow];
            assert!(source.at <= slice.at);
            let lanes = (source.track[3].as_str(), slice.track[3].as_str());
            if source.track[0] == slice.track[0] {
                assert_eq!(lanes, ("paused by neighbour", "pauses neighbour"));
                assert!(source.to > slice.at);
            } else {
                assert_eq!(lanes, ("pauses neighbour", "paused by neighbour"));
                assert_eq!(source.track[1], slice.track[0]);
                assert_eq!(source.track[0], slice.track[1]);
                between.insert(source.track[0].clone());
            }
        }
    }
    assert_eq!(between.len(), 4, "{between:?}");
    tear_down(stage);
}

/// Including detection, election and release.
fn events_are_those_of_the_record(decoded: &Decoded, result: &RunResult) {
    let track = |switch: &str, port: &Option<String>, priority: Option<u8>| {
        let priority = priority.map(|priority| format!("priority {priority}"));
        let named = [Some(switch.to_owned()), port.clone(), priority];
        named.into_iter().flatten().collect::<Vec<String>>()
    };
    let mut expected: Vec<_> = result
        .events
        .iter()
        .map(|event| {
            let mut track = track(&event.switch, &event.port, event.priority);
            track.push("events".to_owned());
            let kind = event.kind.as_str().to_owned();
            (nanos(event.seconds), track, kind, event.details.clone())
        })
        .collect();
    let seen = decoded.instants.iter().map(|it| {
        let details = it.details.clone();
        (it.at, it.track.clone(), it.name.clone(), details)
    });
    let mut seen: Vec<_> = seen.collect();
    expected.sort();
    seen.sort();
    assert_eq!(seen, expected);
    let kinds: BTreeSet<&str> = seen.iter().map(|it| it.2.as_str()).collect();
    for kind in [
        "suspected",
        "spuid_assigned",
        "loop_found",
        "release_started",
    ] {
        assert!(kinds.contains(kind), "{kind} is not among {kinds:?}");
    }
    for (begins, ends, name) in [
        ("suspected", "suspicion_ended", "suspected"),
        ("release_started", "release_ended", "release"),
    ] {
        let of = |kind: &str| -> Vec<u64> {
            let events = result.events.iter().filter(|it| it.kind.as_str() == kind);
            events.map(|it| nanos(it.seconds)).collect()
        };
        let slices = || decoded.slices.iter().filter(|it| it.name == name);
        let mut began: Vec<u64> = slices().map(|it| it.at).collect();
        let mut ended: Vec<u64> = slices().map(|it| it.to).collect();
        began.sort_unstable();
        ended.sort_unstable();
        assert_eq!(began, of(begins), "{name}");
        // Unfinished spans end with the trace.
        let end = decoded.slices.iter().map(|it| it.to).max().unwrap_or(0);
        let mut expected = of(ends);
        expected.resize(began.len(), end);
        assert_eq!(ended, expected, "{name}");
    }
}

fn pauses_are_those_of_the_record(decoded: &Decoded, result: &RunResult) {
    let end = nanos(result.duration_seconds);
    assert!(!result.buffers.is_empty());
    for buffer in &result.buffers {
        let priority = format!("priority {}", buffer.priority);
        let place = [&buffer.switch, &buffer.port, &priority, "pauses neighbour"];
        let slices = decoded.slices.iter().filter(|it| it.is_at(&place));
        let length = |it: &Entry| it.to.min(end).saturating_sub(it.at.min(end));
        let total: u64 = slices.map(length).sum();
        assert_eq!(total, buffer.pause_nanos, "{place:?}");
    }
}

fn queues_are_those_of_the_record(decoded: &Decoded, result: &RunResult) {
    let interval = nanos(result.series.interval_seconds);
    for (name, curve) in &result.series.occupancy {
        let mut parts = name.split(':');
        let [switch, port, priority] = [(); 3].map(|()| parts.next().unwrap());
        let priority = format!("priority {priority}");
        let place = [switch, port, &priority, "ingress buffer"];
        let values = decoded.values.iter().filter(|it| it.track == place);
        let values: BTreeMap<u64, u64> = values.map(|it| (it.at, it.value)).collect();
        for (point, bytes) in (0..).zip(curve) {
            let last = values.range(..=point * interval).next_back();
            assert_eq!(last.map(|(_, value)| value), Some(bytes), "{place:?}");
        }
    }
}

/// Each arrow points forward in time, from a port to its neighbour or through a switch; and the pauses that lock the ring
/// form one chain.
fn arrows_lead_round_the_ring(decoded: &Decoded) {
    let mut from: BTreeMap<u64, &Entry> = BTreeMap::new();
    let mut before: BTreeMap<(&[String], u64), &Entry> = BTreeMap::new();
    for slice in &decoded.slices {
        from.extend(slice.out.iter().map(|arrow| (*arrow, slice)));
    }
    let mut crossed = 0;
    for slice in &decoded.slices {
        for arrow in &slice.into {
            let source = from[arrow];
            assert!(source.at <= slice.at);
            assert!(source.to > slice.at || source.track[0] != slice.track[0]);
            let lanes = (source.track[3].as_str(), slice.track[3].as_str());
            if source.track[0] == slice.track[0] {
                assert_eq!(lanes, ("paused by neighbour", "pauses neighbour"));
            } else {
                assert_eq!(lanes, ("pauses neighbour", "paused by neighbour"));
                assert_eq!(source.track[1], slice.track[0]);
                assert_eq!(source.track[0], slice.track[1]);
                // 10 µs of cable and 64 bytes at 100 Mbit/s, with preamble and gap.
                assert_eq!(slice.at - source.at, 10_000 + 84 * 80);
                crossed += 1;
            }
            before.insert((&slice.track, slice.at), source);
        }
    }
    let received = decoded.slices.iter();
    let received = received.filter(|it| it.track.ends_with(&["paused by neighbour".to_owned()]));
    // Hosts of this scenario send no pauses.
    assert_eq!(
        received.count(),
        crossed,
        "an arrow for each pause received"
    );
    let ring = ["s1", "s2", "s3", "s4"].map(str::to_owned);
    let goes_round = decoded.slices.iter().any(|last| {
        let chain = std::iter::successors(Some(last), |it| {
            before.get(&(it.track.as_slice(), it.at)).copied()
        });
        let switches: BTreeSet<&String> = chain.map(|it| &it.track[0]).collect();
        ring.iter().all(|switch| switches.contains(switch))
    });
    assert!(goes_round, "a chain of pauses through all switches");
}
