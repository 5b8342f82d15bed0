//! The PFC storm watchdog with the API, LLDP's findings and a dataplane made of queues.

use std::sync::Arc;

use crate::support::{get, info, port, priority, put, request, settings, until};
use crate::support::{FakeDataplane, FakeXdp, Remote, LOSSLESS};
use weir_api::daemon::Error;
use weir_api::pfcwd::{Pfcwd, PfcwdSettings};
use weir_core::control::neighbours::AnnouncedPort;
use weir_core::event::EventKind;
use weir_core::wire::lldp::basic::{PortIdentifier, TimeToLive};
use weir_core::wire::lldp::Announcement;
use weir_core::{Bytes, Command, Duration, Neighbour, StormAction, WatchdogConfig};
use weir_switchd::api;
use weir_switchd::control::{self, Control, ControlSettings};
use weir_switchd::daemon::RunningDataplane;

struct Running {
    control: Control,
    remote: Remote,
    socket: std::path::PathBuf,
    _directory: tempfile::TempDir,
    _fake: FakeDataplane,
}

async fn start(fake: FakeDataplane, settings: &ControlSettings) -> Running {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("api.sock");
    let link = fake.link().unwrap();
    let control = control::start(info(), settings, link, Box::new(FakeXdp)).unwrap();
    let listener = api::listen(&socket, None).unwrap();
    tokio::spawn(api::serve(listener, Arc::clone(&control.shared)));
    Running {
        control,
        remote: fake.remote(),
        socket,
        _directory: directory,
        _fake: fake,
    }
}

impl Running {
    fn stall(&self, egress: usize) {
        self.remote.happen(EventKind::PauseStalled {
            egress: port(egress),
            priority: priority(LOSSLESS),
            idle: Duration::from_millis(200),
            queued: Bytes::new(4_500),
        });
    }

    fn called(&self) -> Vec<usize> {
        let commands = self.remote.commands();
        commands
            .iter()
            .filter_map(|command| match command {
                Command::CallStorm { egress, .. } => Some(egress.index()),
                _ => None,
            })
            .collect()
    }

    async fn until_event(&self, kind: &str) -> weir_api::daemon::Event {
        until(async || {
            let page: weir_api::daemon::EventPage =
                get(&self.socket, "/v1/events?after=0").await.json();
            page.events.into_iter().find(|event| event.kind == kind)
        })
        .await
    }
}

#[tokio::test]
async fn the_watchdog_is_started_and_stopped_while_the_switch_runs() {
    let daemon = start(FakeDataplane::start(), &settings()).await;
    let all: Pfcwd = get(&daemon.socket, "/v1/pfcwd").await.json();
    assert!(all.ports.iter().all(|port| port.watchdog.is_none()));
    assert_eq!(all.queues.len(), 3, "{all:?}");
    assert_eq!(all.queues[2].status, "operational");

    let body = r#"{"ports": ["p2"], "watchdog": {"action": "forward",
        "detection_milliseconds": 400, "restoration_milliseconds": 800}}"#;
    let answer = put(&daemon.socket, "/v1/pfcwd", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let set: Pfcwd = answer.json();
    let expected = PfcwdSettings {
        action: "forward".into(),
        detection_milliseconds: 400,
        restoration_milliseconds: 800,
    };
    assert_eq!(set.ports[2].watchdog, Some(expected));
    assert_eq!(set.ports[0].watchdog, None);
    let command = Command::SetWatchdog {
        port: port(2),
        watchdog: Some(WatchdogConfig {
            action: StormAction::Forward,
            detection: Duration::from_millis(400),
            restoration: Duration::from_millis(800),
        }),
    };
    assert_eq!(daemon.remote.commands(), [command]);

    let answer = put(&daemon.socket, "/v1/pfcwd", r#"{"watchdog": null}"#).await;
    let stopped: Pfcwd = answer.json();
    assert!(stopped.ports.iter().all(|port| port.watchdog.is_none()));
    assert_eq!(daemon.remote.commands().len(), 1 + 3, "all ports");
    daemon.control.stop();
}

#[tokio::test]
async fn what_is_not_legal_is_refused_and_changes_nothing() {
    let daemon = start(FakeDataplane::start(), &settings()).await;
    let with = |action: &str, detection: u64, restoration: u64| {
        format!(
            r#"{{"watchdog": {{"action": "{action}", "detection_milliseconds": {detection}, "restoration_milliseconds": {restoration}}}}}"#
        )
    };
    for (body, complaint) in [
        (with("shut", 200, 200), "write drop, forward or alert"),
        (
            with("drop", 99, 200),
            "detection_milliseconds must be 100 to 5000",
        ),
        (
            with("drop", 200, 60_001),
            "restoration_milliseconds must be 100 to 60000",
        ),
        (
            r#"{"ports": ["p9"], "watchdog": null}"#.to_owned(),
            "ports: p0, p1, p2",
        ),
        (
            r#"{"port": ["p1"], "watchdog": null}"#.to_owned(),
            "unknown field",
        ),
        ("{".to_owned(), "EOF"),
    ] {
        let answer = put(&daemon.socket, "/v1/pfcwd", &body).await;
        assert!((400..500).contains(&answer.status), "{body}: {answer:?}");
        let error: Error = answer.json();
        assert!(error.error.contains(complaint), "{}", error.error);
    }
    assert_eq!(daemon.remote.commands(), []);
    let answer = request(&daemon.socket, "POST", "/v1/pfcwd").await;
    assert_eq!(answer.status, 405);
    assert!(answer.body.contains("supports GET and PUT"));
    daemon.control.stop();
}

#[tokio::test]
async fn a_host_that_stalls_its_port_is_a_storm_and_an_unknown_switch_is_not() {
    let daemon = start(FakeDataplane::start(), &settings()).await;
    daemon.stall(0);
    let event = daemon.until_event("no_storm").await;
    assert_eq!(event.port.as_deref(), Some("p0"));
    assert_eq!(event.details["reason"], "unknown_neighbour");
    daemon.stall(2);
    until(async || (daemon.called() == [2]).then_some(())).await;
    daemon.remote.happen(EventKind::StormDetected {
        egress: port(2),
        priority: priority(LOSSLESS),
        action: StormAction::Drop,
    });
    let event = daemon.until_event("storm_detected").await;
    assert_eq!(
        (event.port.as_deref(), event.priority),
        (Some("p2"), Some(3))
    );
    assert_eq!(event.details["action"], "drop");
    daemon.remote.happen(EventKind::StormRestored {
        egress: port(2),
        priority: priority(LOSSLESS),
        lasted: Duration::from_millis(700),
        dropped: 12,
        forwarded: 0,
    });
    let event = daemon.until_event("storm_restored").await;
    assert_eq!(
        (event.port.as_deref(), event.priority),
        (Some("p2"), Some(3))
    );
    assert_eq!(event.details["dropped"], "12");
    daemon.control.stop();
}

/// If LLDP does not hear a neighbour, its configuration decides.
#[tokio::test]
async fn a_regular_switch_by_configuration_is_a_storm_when_no_clcm_came_back() {
    let mut settings = settings();
    settings.lldp.ports = [Neighbour::Regular, Neighbour::Enhanced, Neighbour::Unknown]
        .into_iter()
        .map(|configured| AnnouncedPort {
            identifier: PortIdentifier::interface_name("p").unwrap(),
            announcement: Announcement::new(TimeToLive::STANDARD),
            configured,
            is_fabric: true,
        })
        .collect();
    let daemon = start(FakeDataplane::start(), &settings).await;
    daemon.stall(1);
    daemon.stall(0);
    daemon.remote.suspect(0);
    until(async || (daemon.called() == [0]).then_some(())).await;
    let event = daemon.until_event("no_storm").await;
    assert_eq!(event.port.as_deref(), Some("p1"));
    assert_eq!(event.details["reason"], "neighbour_judges");
    daemon.control.stop();
}

#[tokio::test]
async fn lost_events_neither_hide_a_storm_nor_keep_one() {
    let fake = FakeDataplane::start();
    let template = Arc::clone(&fake.template);
    let daemon = start(fake, &settings()).await;
    let set = |stalled: bool, events_lost: u64| {
        let mut state = template.lock().unwrap();
        state.ports[2].gauges[usize::from(LOSSLESS)].stalled = stalled;
        state.rounds.counters.events_lost = events_lost;
    };
    set(true, 1);
    until(async || (daemon.called() == [2]).then_some(())).await;
    set(false, 2);
    daemon.until_event("pause_stall_ended").await;
    set(true, 3);
    until(async || (daemon.called() == [2, 2]).then_some(())).await;
    daemon.control.stop();
}
