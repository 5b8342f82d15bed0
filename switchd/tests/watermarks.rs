//! Peaks for their readers, and pauses, in the API and the metrics.

use std::sync::{Arc, Mutex};

use crate::support::running::Running;
use crate::support::{
    self, get, port, priority, request_with, settings, until, FakeDataplane, LOSSLESS,
};
use serde_json::json;
use weir_api::daemon::{Error, PauseCounters, Pfc, ReaderWatermarks, Watermarks};
use weir_api::words::Reader;
use weir_core::switch::{PauseGauges, PriorityGauges};
use weir_core::{Bytes, Duration, Instant};
use weir_dataplane::messages::Snapshot;
use weir_switchd::control::ControlSettings;

type Template = Arc<Mutex<Snapshot>>;

async fn start(settings: ControlSettings) -> (Running, Template) {
    let fake = FakeDataplane::start();
    let template = Arc::clone(&fake.template);
    (Running::start(fake, settings).await, template)
}

const CLEAR: &str = "/v1/watermarks/clear";

/// Sets the dataplane's values of the lossless priority at the first port.
fn say(template: &Template, held_max: u64, change: impl FnOnce(&mut PriorityGauges)) {
    let mut state = template.lock().unwrap();
    state.held_frames = 5;
    state.held_frames_max = held_max;
    let lossless = priority(LOSSLESS).index();
    change(&mut state.ports[port(0).index()].gauges[lossless]);
}

fn of(all: &Watermarks, reader: Reader) -> Option<&ReaderWatermarks> {
    all.readers.iter().find(|marks| marks.reader == reader)
}

/// Returns the frames, and ingress, headroom and egress of the first port.
fn peaks(marks: &ReaderWatermarks) -> [u64; 4] {
    let mut queues = marks.queues.iter();
    let queue = queues.find(|queue| queue.port == "p0" && queue.priority == LOSSLESS);
    let queue = queue.unwrap();
    [
        marks.held_frames_max,
        queue.ingress_bytes_max,
        queue.headroom_used_bytes_max.unwrap(),
        queue.egress_bytes_max,
    ]
}

async fn clear(daemon: &Running, body: serde_json::Value) -> support::Answer {
    request_with(&daemon.socket, "POST", CLEAR, &body.to_string()).await
}

#[tokio::test]
async fn each_reader_has_its_own_peaks() {
    let (daemon, template) = start(settings()).await;
    say(&template, 40, |gauges| {
        (gauges.ingress, gauges.ingress_max) = (Bytes::new(512), Bytes::new(70_000));
        gauges.headroom_used_max = Bytes::new(8_560);
        (gauges.egress, gauges.egress_max) = (Bytes::new(60), Bytes::new(6_000));
    });
    let all: Watermarks = get(&daemon.socket, "/v1/watermarks").await.json();
    for reader in [Reader::User, Reader::Persistent] {
        let marks = of(&all, reader).unwrap();
        assert_eq!(peaks(marks), [40, 70_000, 8_560, 6_000]);
        assert_eq!(marks.until, None);
    }
    assert!(of(&all, Reader::Telemetry).is_none(), "2 min are not over");
    assert_eq!(all.telemetry_interval_seconds, 120.0);

    say(&template, 5, |gauges| {
        gauges.ingress_max = gauges.ingress;
        gauges.headroom_used_max = Bytes::ZERO;
        gauges.egress_max = gauges.egress;
    });
    let other = clear(&daemon, json!({"reader": "user", "ports": ["p1"]})).await;
    let other: Watermarks = other.json();
    assert_eq!(
        peaks(of(&other, Reader::User).unwrap()),
        [40, 70_000, 8_560, 6_000]
    );
    let all: Watermarks = clear(&daemon, json!({"reader": "user"})).await.json();
    assert_eq!(peaks(of(&all, Reader::User).unwrap()), [5, 512, 0, 60]);
    let persistent = of(&all, Reader::Persistent).unwrap();
    assert_eq!(peaks(persistent), [40, 70_000, 8_560, 6_000]);
    let pfc: Vec<Pfc> = get(&daemon.socket, "/v1/pfc").await.json();
    assert_eq!(pfc[0].headroom_used_bytes_max, 8_560);
    assert_eq!(pfc[0].telemetry_headroom_used_bytes_max, None);
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn an_interval_is_shown_when_it_is_over() {
    let mut settings = settings();
    settings.watermark_interval = Duration::from_millis(200);
    let (daemon, template) = start(settings).await;
    say(&template, 40, |gauges| {
        gauges.ingress_max = Bytes::new(70_000)
    });
    let telemetry = async || -> Option<ReaderWatermarks> {
        let all: Watermarks = get(&daemon.socket, "/v1/watermarks").await.json();
        of(&all, Reader::Telemetry).cloned()
    };
    until(async || {
        let marks = telemetry().await?;
        assert!(marks.until.is_some());
        (peaks(&marks)[..2] == [40, 70_000]).then_some(())
    })
    .await;
    say(&template, 5, |gauges| gauges.ingress_max = Bytes::ZERO);
    until(async || (peaks(&telemetry().await?)[..2] == [5, 0]).then_some(())).await;
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_cleared_is_reported() {
    let (daemon, _) = start(settings()).await;
    for (body, status, hint) in [
        (json!({"reader": "telemetry"}), 400, "[watermark] interval"),
        (json!({"reader": "all"}), 400, "no reader `all`"),
        (json!({}), 400, "reader"),
        (
            json!({"reader": "user", "ports": ["p9"]}),
            404,
            "no such port: `p9`",
        ),
    ] {
        let answer = clear(&daemon, body).await;
        assert_eq!(answer.status, status);
        let error: Error = answer.json();
        assert!(error.error.contains(hint), "{}", error.error);
    }
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn pauses_are_reported_with_their_times() {
    let (daemon, template) = start(settings()).await;
    say(&template, 5, |gauges| {
        gauges.pauses_received = PauseGauges {
            begun: 3,
            active: true,
            last_began: Some(Instant::from_nanos(900)),
            last_ended: Some(Instant::from_nanos(800)),
            total: Duration::from_micros(2),
            longest: Duration::from_micros(1),
        };
        gauges.pauses_sent.begun = 7;
    });
    {
        // A host has also paused a lossy priority.
        let mut state = template.lock().unwrap();
        let priorities = &mut state.ports[2].counters.priority;
        priorities[5].pause_received = 4;
        priorities[5].resume_received = 1;
    }
    let all: Vec<PauseCounters> = get(&daemon.socket, "/v1/pfc/counters").await.json();
    let places: Vec<_> = all
        .iter()
        .map(|it| (it.port.as_str(), it.priority))
        .collect();
    let expected = [
        ("p0", LOSSLESS),
        ("p1", LOSSLESS),
        ("p2", LOSSLESS),
        ("p2", 5),
    ];
    assert_eq!(places, expected);
    let (received, sent) = (&all[0].received, &all[0].sent);
    assert_eq!((received.transitions_total, received.paused), (3, true));
    assert_eq!(received.last_began_monotonic_nanos, Some(900));
    assert_eq!(received.last_ended_monotonic_nanos, Some(800));
    assert!(received.last_began.is_some() && received.last_ended.is_some());
    assert!((received.paused_seconds_total - 2e-6).abs() < 1e-12);
    assert!((received.longest_seconds - 1e-6).abs() < 1e-12);
    assert_eq!(
        (sent.transitions_total, sent.last_began.as_ref()),
        (7, None)
    );
    let lossy = &all[3].received;
    assert_eq!((lossy.xoff_frames_total, lossy.xon_frames_total), (4, 1));
    assert_eq!(lossy.transitions_total, 0);
    daemon.end().await.unwrap();
}
