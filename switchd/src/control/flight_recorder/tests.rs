use weir_core::control::Policy;
use weir_core::{BitRate, Bytes, ClassMode, MacAddress, PfcThresholds, PortRole};
use weir_dataplane::link::AttachedPort;

use super::*;
use crate::control::info::{ClassInfo, PortInfo, Stations};
use crate::model::classify::Trusted;

const DETECT: Duration = Duration::from_millis(100);
const CLCM: Duration = Duration::from_millis(20);
const LOSSLESS: u8 = 3;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn port(index: usize) -> PortId {
    PortId::from_index(index).unwrap()
}

fn priority(value: u8) -> Priority {
    Priority::new(value).unwrap()
}

/// Three ports; priority 3 is lossless.
fn info() -> SwitchInfo {
    let ports = (0..3u8).map(|index| PortInfo {
        name: format!("p{index}"),
        device: format!("dev{index}"),
        role: PortRole::Fabric,
        rate: BitRate::from_mbit(100),
        cable: None,
        trusted: Trusted::default().into(),
        attached: AttachedPort::absent(MacAddress::default()).into(),
    });
    let classes = std::array::from_fn(|index| ClassInfo {
        name: "class".to_owned(),
        mode: if index == usize::from(LOSSLESS) {
            ClassMode::Pfc(
                PfcThresholds::new(Bytes::new(61_440), Bytes::new(53_248), Bytes::new(65_536))
                    .unwrap(),
            )
        } else {
            ClassMode::Lossy {
                buffer: Bytes::new(65_536),
            }
        }
        .into(),
        headroom_by_cable: false,
        configured: true,
    });
    SwitchInfo {
        mtu: Bytes::new(1500),
        pools: Vec::new(),
        name: "s1".to_owned(),
        deadlock_policy: Policy::Breaker.into(),
        ports: ports.collect(),
        classes,
        stations: Stations::default().into(),
        mirrors: Vec::new().into(),
        marking: Vec::new().into(),
        impair: true,
    }
}

/// Port 0 holds as many bytes as milliseconds have passed.
fn snapshot(millis: u64) -> Snapshot {
    let mut snapshot = Snapshot {
        at: at(millis),
        ports: vec![Default::default(); 3],
        held_frames: millis,
        ..Snapshot::default()
    };
    let gauges = &mut snapshot.ports[0].gauges[usize::from(LOSSLESS)];
    gauges.ingress = Bytes::new(millis);
    gauges.release_ingress = Some(port(2));
    snapshot
}

fn event(millis: u64, priority: Option<u8>) -> Arc<Event> {
    Arc::new(Event {
        sequence: millis,
        monotonic_nanos: at(millis).as_nanos(),
        time: String::new(),
        kind: "clcm_sent".into(),
        port: None,
        priority,
        details: Default::default(),
    })
}

fn recorder() -> FlightRecorder {
    FlightRecorder::new(FlightSettings::new(DETECT, CLCM))
}

fn deadlock(id: u64) -> weir_api::daemon::Deadlock {
    weir_api::daemon::Deadlock {
        id,
        ..Default::default()
    }
}

fn told(recorder: &FlightRecorder, id: u64) -> weir_api::daemon::FlightRecord {
    let record = recorder.get(id).unwrap();
    record.to_api(&info(), recorder.settings(), deadlock(id))
}

fn millis(record: &weir_api::daemon::FlightRecord) -> Vec<u64> {
    let moments = record.samples.iter();
    moments
        .map(|sample| sample.monotonic_nanos / 1_000_000)
        .collect()
}

#[test]
fn a_record_begins_before_its_suspicion_and_ends_after_it() {
    let mut recorder = recorder();
    for now in (0..5_000).step_by(31) {
        recorder.push(&info(), &snapshot(now));
        recorder.note(&event(now, Some(LOSSLESS)));
        recorder.note(&event(now, Some(1)));
    }
    recorder.note(&event(4_999, None));
    recorder.begin(1, port(1), priority(LOSSLESS), at(5_000));
    for now in (5_000..5_200).step_by(20) {
        recorder.push(&info(), &snapshot(now));
    }
    recorder.end(port(1), priority(LOSSLESS), at(5_200));
    recorder.note(&event(5_250, Some(LOSSLESS)));
    for now in (5_200..9_000).step_by(20) {
        recorder.push(&info(), &snapshot(now));
    }
    recorder.note(&event(9_000, Some(LOSSLESS)));

    let record = told(&recorder, 1);
    let moments = millis(&record);
    let before = moments.iter().filter(|moment| **moment < 5_000).count();
    assert_eq!(before, SAMPLES_BEFORE);
    assert_eq!(moments.last(), Some(&6_200), "a second after the end");
    assert!(moments.is_sorted());
    assert!(record.complete);
    assert_eq!((record.samples_left_out, record.events_left_out), (0, 0));

    let names: Vec<&str> = record.ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(
        names,
        ["p0", "p1"],
        "the suspected port and those with something in them"
    );
    let last = record.samples.last().unwrap();
    assert_eq!(last.ports[0].ingress_bytes, 6_200);
    assert_eq!(last.ports[0].release_ingress.as_deref(), Some("p2"));

    let events: Vec<u64> = record.events.iter().map(|event| event.sequence).collect();
    assert!(events.is_sorted() && events[0] >= 3_000, "{events:?}");
    assert_eq!(events[events.len() - 2..], [4_999, 5_250]);
    assert!(record.events.iter().all(|event| event.priority != Some(1)));
}

#[test]
fn a_long_suspicion_keeps_its_beginning_and_its_end() {
    let mut recorder = recorder();
    for now in 0..100 {
        recorder.push(&info(), &snapshot(now));
    }
    recorder.begin(1, port(1), priority(LOSSLESS), at(100));
    const END: u64 = 100_000;
    const FROM: u64 = 100 - SAMPLES_BEFORE as u64;
    const FIRST: usize = SAMPLES_BEFORE + 128;
    for now in 100..END {
        recorder.push(&info(), &snapshot(now));
        recorder.note(&event(now, Some(LOSSLESS)));
        let (samples, events) = recorder.get(1).unwrap().len();
        assert!(samples <= SAMPLES_MAX && events <= EVENTS_MAX, "{now}");
    }
    let record = told(&recorder, 1);
    let moments = millis(&record);
    assert!(!record.complete);
    assert!(moments.len() > SAMPLES_MAX / 2);
    assert!(moments.is_sorted());
    let first: Vec<u64> = (FROM..FROM + FIRST as u64).collect();
    assert_eq!(
        moments[..FIRST],
        first,
        "the samples from before and 128 after them"
    );
    let last: Vec<u64> = (END - 128..END).collect();
    assert_eq!(moments[moments.len() - 128..], last);
    let middle = &moments[FIRST..moments.len() - 128];
    let steps: Vec<u64> = middle.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|step| *step == steps[0]), "{steps:?}");
    let offered = END - FROM;
    assert_eq!(
        moments.len() as u64 + record.samples_left_out,
        offered,
        "what is not there is counted"
    );
    assert_eq!(record.events.len(), EVENTS_MAX);
    assert_eq!(
        record.events.len() as u64 + record.events_left_out,
        END - 100
    );
}

#[test]
fn the_oldest_complete_record_makes_room_and_no_other_does() {
    let mut recorder = recorder();
    let lasting = 1;
    recorder.begin(lasting, port(2), priority(LOSSLESS), at(0));
    for id in 2..=RECORDS_MAX as u64 + 3 {
        let now = id * 10_000;
        recorder.begin(id, port(1), priority(LOSSLESS), at(now));
        recorder.end(port(1), priority(LOSSLESS), at(now + 1));
        recorder.push(&info(), &snapshot(now + 1_001));
    }
    assert!(recorder.has(lasting));
    for gone in 2..=4 {
        assert!(!recorder.has(gone), "{gone}");
    }
    assert!(recorder.has(5) && recorder.has(RECORDS_MAX as u64 + 3));
    assert_eq!(recorder.unrecorded(), 0);

    let mut recorder = self::recorder();
    for id in 1..=RECORDS_MAX as u64 + 1 {
        recorder.begin(id, port(1), priority(LOSSLESS), at(id));
    }
    assert!(recorder.has(1) && !recorder.has(RECORDS_MAX as u64 + 1));
    assert_eq!(recorder.unrecorded(), 1);
}

#[test]
fn samples_are_finer_while_a_suspicion_is_new_and_after_it() {
    let settings = FlightSettings::new(DETECT, CLCM);
    assert_eq!(
        settings.before().as_nanos() * SAMPLES_BEFORE as u64,
        2_000_000_000
    );
    assert_eq!(settings.during(), CLCM);
    let mut recorder = recorder();
    assert_eq!(recorder.interval(at(0)), Some(settings.before()));
    recorder.begin(1, port(1), priority(LOSSLESS), at(0));
    assert_eq!(recorder.interval(at(10_000)), Some(CLCM));
    assert_eq!(recorder.interval(at(10_001)), Some(settings.before()));
    recorder.end(port(1), priority(LOSSLESS), at(20_000));
    assert_eq!(recorder.interval(at(20_500)), Some(CLCM));
    recorder.push(&info(), &snapshot(21_000));
    assert_eq!(recorder.interval(at(21_000)), Some(settings.before()));
}

#[test]
fn intervals_stay_in_bounds() {
    let slow = FlightSettings::new(Duration::from_secs(60), Duration::from_secs(3_600));
    assert_eq!(
        slow.before(),
        Duration::from_millis(3_750),
        "twice a minute of detection"
    );
    assert_eq!(slow.during(), slow.before());
    let fast = FlightSettings::new(DETECT, Duration::from_nanos(1));
    assert_eq!(fast.during(), INTERVAL_LEAST);
}

#[test]
fn a_recorder_that_is_off_keeps_nothing() {
    let mut recorder = FlightRecorder::new(FlightSettings::OFF);
    recorder.push(&info(), &snapshot(1));
    recorder.note(&event(1, None));
    recorder.begin(1, port(1), priority(LOSSLESS), at(2));
    assert!(!recorder.has(1) && recorder.samples.is_empty() && recorder.events.is_empty());
    assert_eq!(recorder.interval(at(2)), None);
}
