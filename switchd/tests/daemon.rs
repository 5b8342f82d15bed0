//! The daemon's life cycle with a dataplane made of queues: start, API, events, shutdown order.

use std::sync::mpsc as std_mpsc;
use std::time::Duration as StdDuration;

use crate::support::running::Running;
use crate::support::{answer, ask, get, info, port, priority, request, settings, until};
use crate::support::{FakeDataplane, LIMIT, LOSSLESS};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use weir_api::counters::Counters;
use weir_api::daemon::{Deadlocks, Error, EventPage, History, Levels, Pfc, Port, Queue, Status};
use weir_core::event::EventKind;
use weir_core::wire::clcm::{Clcm, Hop};
use weir_core::{Bytes, Command, Duration, PortSet, Spuid};
use weir_switchd::daemon::{run, DaemonError, Ended, Plan, Signal};

async fn start() -> Running {
    start_with(FakeDataplane::start()).await
}

async fn start_with(fake: FakeDataplane) -> Running {
    Running::start(fake, settings()).await
}

impl Running {
    async fn events(&self, after: u64) -> EventPage {
        get(&self.socket, &format!("/v1/events?after={after}"))
            .await
            .json()
    }

    async fn until_event(&self, kind: &str) -> weir_api::daemon::Event {
        until(async || {
            let page = self.events(0).await;
            page.events.into_iter().find(|event| event.kind == kind)
        })
        .await
    }
}

#[tokio::test]
async fn every_route_answers() {
    let fake = FakeDataplane::start();
    {
        let mut state = fake.template.lock().unwrap();
        state.held_frames = 5;
        state.umem_frames = 1_000;
        state.umem_frames_free = 900;
        let lossless = usize::from(LOSSLESS);
        let counters = &mut state.ports[0].counters;
        counters.priority[lossless].rx_frames = 11;
        counters.priority[lossless].pause_received = 1;
        counters.priority[5].rx_frames = 2;
        counters.drop_frame(weir_core::DropReason::Hairpin);
        let gauges = &mut state.ports[0].gauges[lossless];
        gauges.ingress = Bytes::new(512);
        gauges.paused = true;
        gauges.pauses_received.total = Duration::from_millis(1_500);
        gauges.release_ingress = Some(port(1));
    }
    let daemon = start_with(fake).await;
    let socket = &daemon.socket;

    let status: Status = get(socket, "/v1/status").await.json();
    assert_eq!((status.name.as_str(), status.port_count), ("s1", 3));
    assert_eq!((status.held_frames, status.admitted_frames_total), (5, 13));
    assert_eq!(status.drops_total, [("hairpin".into(), 1)].into());
    assert_eq!(status.state, "running");

    let ports: Vec<Port> = get(socket, "/v1/ports").await.json();
    assert_eq!(ports.len(), 3);
    assert_eq!(ports[1].address, "02:00:00:00:00:01");
    assert_eq!(ports[1].xdp_frames_total["data"], 101);
    assert_eq!(
        (ports[0].role.as_str(), ports[2].role.as_str()),
        ("fabric", "edge")
    );
    assert_eq!(ports[0].xdp_mode, "generic");

    let queues: Vec<Queue> = get(socket, "/v1/queues").await.json();
    let shown: Vec<_> = queues
        .iter()
        .map(|q| (q.port.as_str(), q.priority))
        .collect();
    assert_eq!(shown, [("p0", 3), ("p0", 5), ("p1", 3), ("p2", 3)]);
    assert_eq!(
        (queues[0].class.as_str(), queues[0].mode.as_str()),
        ("lossless", "pfc")
    );

    let pfc: Vec<Pfc> = get(socket, "/v1/pfc").await.json();
    assert_eq!(pfc.len(), 3);
    assert!((pfc[0].paused_seconds_total - 1.5).abs() < 1e-9 && pfc[0].paused);
    assert_eq!(pfc[0].release_ingress.as_deref(), Some("p1"));
    assert_eq!(pfc[0].headroom_bytes, 65_536);

    let counters: Vec<Counters> = get(socket, "/v1/counters").await.json();
    let places: Vec<_> = counters
        .iter()
        .map(|place| (place.port.as_deref(), place.priority))
        .collect();
    let whole = [None, Some("p0"), Some("p1"), Some("p2")].map(|port| (port, None));
    let priorities = shown
        .iter()
        .map(|(port, priority)| (Some(*port), Some(*priority)));
    let mut expected: Vec<_> = whole.into_iter().chain(priorities).collect();
    expected.sort();
    assert_eq!(places, expected);
    let of = |port, priority| {
        let is_there =
            |place: &&Counters| (place.port.as_deref(), place.priority) == (Some(port), priority);
        &counters.iter().find(is_there).unwrap().counters
    };
    assert!(of("p0", None).contains_key("kernel_rx_dropped_total"));
    assert!(of("p0", Some(3)).contains_key("xoff_sent_total"));
    assert!(
        !of("p0", Some(3)).contains_key("lifts_total"),
        "no Levels there"
    );

    let levels: Levels = get(socket, "/v1/levels").await.json();
    assert_eq!(levels, Levels::default());

    let deadlocks: Deadlocks = get(socket, "/v1/deadlocks").await.json();
    assert_eq!(deadlocks, Deadlocks::default());
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn wrong_requests_are_answered_with_the_valid_form() {
    let daemon = start().await;
    let socket = &daemon.socket;
    for (method, path, status, hint) in [
        ("GET", "/v1/portz", 404, "/v1/ports"),
        ("POST", "/v1/status", 405, "supports GET"),
        ("GET", "/v1/events?after=x", 400, "after"),
        ("GET", "/v1/events?since=1", 400, "since"),
        ("GET", "/v1/events?wait_seconds=-1", 400, "0 to 60"),
        ("GET", "/v1/events?wait_seconds=NaN", 400, "0 to 60"),
        ("GET", "/v1/history?after=-1", 400, "after"),
        (
            "GET",
            "/v1/deadlocks/1",
            404,
            "no such suspicion: 1; GET /v1/deadlocks",
        ),
        ("GET", "/v1/deadlocks/first", 400, "first"),
    ] {
        let answer = request(socket, method, path).await;
        assert_eq!(answer.status, status, "{method} {path}");
        let error: Error = answer.json();
        assert!(error.error.contains(hint), "{path}: {}", error.error);
    }
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn a_long_poll_ends_with_the_event_it_waits_for() {
    let daemon = start().await;
    daemon.until_event("started").await;
    let next = until(async || {
        // Link events of missing devices may follow the start.
        let page = daemon.events(0).await;
        (!page.events.is_empty()).then_some(page.next)
    })
    .await;
    let path = format!("/v1/events?after={next}&wait_seconds=50");
    let socket = daemon.socket.clone();
    let poll = tokio::spawn(async move { get(&socket, &path).await });
    let at = daemon.remote.suspect(0);
    let page: EventPage = poll.await.unwrap().json();
    let event = &page.events[0];
    assert_eq!(
        (event.kind.as_str(), event.port.as_deref()),
        ("suspected", Some("p0"))
    );
    assert_eq!(
        (event.priority, event.monotonic_nanos),
        (Some(3), at.as_nanos())
    );
    assert_eq!(event.details["queued"], "4500 B");
    assert_eq!(event.sequence, next + 1);
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn a_suspicion_makes_clcm_until_it_ends() {
    let daemon = start().await;
    daemon.remote.suspect(1);
    let sent = until(async || {
        let sent: Vec<Clcm> = daemon
            .remote
            .commands()
            .into_iter()
            .filter_map(|command| match command {
                Command::SendClcm {
                    port: egress,
                    message,
                } if egress == port(1) => Some(message),
                _ => None,
            })
            .collect();
        // The first one answers the event; the others are caused by the timeout.
        (sent.len() >= 3).then_some(sent)
    })
    .await;
    let own = sent[0].origin();
    let deadlocks: Deadlocks = get(&daemon.socket, "/v1/deadlocks").await.json();
    assert_eq!(deadlocks.current[0].spuid, Some(own.to_string()));

    // Its own identifier returns on port 0: a loop of two switches.
    let mut message = Clcm::begin(
        priority(LOSSLESS),
        Hop {
            spuid: own,
            egress: port(1),
        },
    );
    let other = Hop {
        spuid: Spuid(77),
        egress: port(0),
    };
    message.push(other).unwrap();
    let mut toward = PortSet::EMPTY;
    toward.insert(port(1));
    daemon.remote.happen(EventKind::ClcmReceived {
        ingress: port(0),
        message,
        toward,
    });
    let released = until(async || {
        daemon
            .remote
            .commands()
            .into_iter()
            .find_map(|command| match command {
                Command::Release {
                    ingress,
                    egress,
                    extra,
                    ..
                } => Some((ingress, egress, extra)),
                _ => None,
            })
    })
    .await;
    assert_eq!(released, (port(0), port(1), Bytes::new(3_072)));
    let place = (port(0), port(1), priority(LOSSLESS));
    let (ingress, egress, priority) = place;
    daemon.remote.happen(EventKind::ReleaseStarted {
        ingress,
        egress,
        priority,
    });
    let lasted = Duration::from_millis(40);
    daemon.remote.happen(EventKind::SuspicionEnded {
        egress,
        priority,
        lasted,
    });
    let past = until(async || {
        let deadlocks: Deadlocks = get(&daemon.socket, "/v1/deadlocks").await.json();
        deadlocks.past.first().cloned()
    })
    .await;
    assert_eq!(
        (past.id, past.port.as_str(), past.reason.as_str()),
        (1, "p1", "paused")
    );
    assert_eq!(
        (past.loops_found, past.releases, past.queued_bytes),
        (1, 1, 4_500)
    );
    assert!(past.first_release_seconds.unwrap() <= past.lasted_seconds.unwrap());
    let status: Status = get(&daemon.socket, "/v1/status").await.json();
    assert_eq!(
        (status.clcm.loops_found_total, status.clcm.releases_total),
        (1, 1)
    );
    daemon.until_event("loop_found").await;
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn history_keeps_the_newest_samples() {
    let daemon = start().await;
    let history: History = until(async || {
        let history: History = get(&daemon.socket, "/v1/history").await.json();
        (history.next > 6).then_some(history)
    })
    .await;
    let numbers: Vec<u64> = history.samples.iter().map(|s| s.sequence).collect();
    assert_eq!(numbers.len(), 4);
    assert_eq!(numbers[3], history.next);
    assert!(history
        .samples
        .is_sorted_by(|a, b| a.monotonic_nanos < b.monotonic_nanos));
    assert_eq!(history.samples[0].queues.len(), 3);
    assert_eq!(history.samples[0].ports.len(), 3);
    let path = format!("/v1/history?after={}", history.next);
    let later: History = get(&daemon.socket, &path).await.json();
    assert!(later.samples.iter().all(|s| s.sequence > history.next));
    daemon.end().await.unwrap();
}

/// Events lost in a full queue are recovered from the snapshot.
#[tokio::test]
async fn lost_events_are_reconciled() {
    let fake = FakeDataplane::start();
    let template = fake.template.clone();
    let daemon = start_with(fake).await;
    daemon.until_event("started").await;
    {
        let mut state = template.lock().unwrap();
        state.rounds.counters.events_lost = 1;
        state.ports[0].gauges[usize::from(LOSSLESS)].suspected = true;
    }
    daemon.until_event("suspected").await;
    {
        let mut state = template.lock().unwrap();
        state.rounds.counters.events_lost = 2;
        state.ports[0].gauges[usize::from(LOSSLESS)].suspected = false;
    }
    daemon.until_event("suspicion_ended").await;
    let lost = daemon.until_event("events_lost").await;
    assert_eq!(lost.details["events"], "1");
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn draining_is_seen_before_the_end_and_nobody_is_left_waiting() {
    let (reached, at_stop) = std_mpsc::channel();
    let (go_on, held) = std_mpsc::channel::<()>();
    let mut fake = FakeDataplane::start();
    fake.at_stop = Some(Box::new(move || {
        reached.send(()).unwrap();
        held.recv().unwrap();
    }));
    let daemon = start_with(fake).await;
    daemon.until_event("started").await;
    daemon.stop.send(Signal::Stop("test")).await.unwrap();
    tokio::task::spawn_blocking(move || at_stop.recv_timeout(LIMIT).unwrap())
        .await
        .unwrap();
    // While the dataplane drains, the API still answers and events still arrive.
    let status: Status = get(&daemon.socket, "/v1/status").await.json();
    assert_eq!(status.state, "draining");
    daemon.remote.happen(EventKind::HeadroomExceeded {
        ingress: port(2),
        priority: priority(LOSSLESS),
    });
    daemon.until_event("headroom_exceeded").await;
    let last = daemon.events(0).await;
    assert!(last.events.iter().any(|event| event.kind == "draining"));
    let mut poll = UnixStream::connect(&daemon.socket).await.unwrap();
    let path = format!("/v1/events?after={}&wait_seconds=60", last.next);
    ask(&mut poll, "GET", &path).await;
    // Connections are taken in order: once this one is answered, the poll waits.
    get(&daemon.socket, "/v1/status").await;
    go_on.send(()).unwrap();
    let ended = tokio::time::timeout(LIMIT, daemon.task)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ended.unwrap(), Ended::Cleanly);
    assert_eq!(answer(poll).await.status, 200);
    assert!(!daemon.directory.path().join("run").exists());
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let (go_on, held) = std_mpsc::channel::<()>();
    let mut fake = FakeDataplane::start();
    fake.at_stop = Some(Box::new(move || {
        let _ = held.recv();
    }));
    let daemon = start_with(fake).await;
    daemon.until_event("started").await;
    daemon.stop.send(Signal::Stop("first")).await.unwrap();
    daemon.until_event("draining").await;
    daemon.stop.send(Signal::Stop("second")).await.unwrap();
    let ended = tokio::time::timeout(LIMIT, daemon.task)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ended.unwrap(), Ended::CutShort);
    drop(go_on);
}

#[tokio::test]
async fn a_dataplane_that_ends_by_itself_ends_the_daemon() {
    let mut fake = FakeDataplane::start();
    fake.die();
    let directory = tempfile::tempdir().unwrap();
    let plan = Plan {
        run_dir: directory.path().join("run"),
        api_socket: directory.path().join("run/api.sock"),
        api: Default::default(),
        metrics_protection: Default::default(),
        gnmi: None,
        metrics: None,
        page: None,
        info: info(),
        control: settings(),
        drain: StdDuration::ZERO,
        reloader: None,
        watchdog: None,
        protections: None,
        keeping: None,
    };
    let (_stop, stops) = mpsc::channel(1);
    let ended = tokio::time::timeout(LIMIT, run(plan, move |_| Ok(fake), stops))
        .await
        .unwrap();
    assert!(matches!(ended, Err(DaemonError::Control(_))), "{ended:?}");
    assert!(!directory.path().join("run").exists());
}

#[tokio::test]
async fn a_start_that_fails_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let plan = Plan {
        run_dir: directory.path().join("run"),
        api_socket: directory.path().join("run/api.sock"),
        api: Default::default(),
        metrics_protection: Default::default(),
        gnmi: None,
        metrics: None,
        page: None,
        info: info(),
        control: settings(),
        drain: StdDuration::ZERO,
        reloader: None,
        watchdog: None,
        protections: None,
        keeping: None,
    };
    let (_stop, stops) = mpsc::channel(1);
    let ended = run::<FakeDataplane>(plan, |_| anyhow::bail!("no such device"), stops).await;
    let message = ended.unwrap_err().to_string();
    assert!(message.contains("no such device"), "{message}");
    assert!(!directory.path().join("run").exists());
}
