//! The flight recorder in the API of a daemon whose dataplane is made of queues.

use crate::support::running::Running;
use crate::support::{get, port, priority, settings, until, FakeDataplane, LOSSLESS};
use weir_api::daemon::{Deadlock, Deadlocks, Error, FlightRecord, Master};
use weir_core::command::RerouteSelection;
use weir_core::event::EventKind;
use weir_core::wire::clcm::{Clcm, Hop};
use weir_core::{Bytes, Command, Duration, MacAddress, PortSet, Spuid};
use weir_switchd::control::flight_recorder::{FlightSettings, AFTER, RECORDS_MAX};
use weir_switchd::control::ControlSettings;
use weir_switchd::model::clock;

async fn start(control: ControlSettings) -> Running {
    let fake = FakeDataplane::start();
    {
        let mut state = fake.template.lock().unwrap();
        let gauges = &mut state.ports[0].gauges[usize::from(LOSSLESS)];
        gauges.ingress = Bytes::new(61_696);
        gauges.xoff = Bytes::new(61_440);
        gauges.pausing = true;
        state.ports[1].gauges[usize::from(LOSSLESS)].paused = true;
    }
    Running::start(fake, control).await
}

impl Running {
    async fn deadlocks(&self) -> Deadlocks {
        get(&self.socket, "/v1/deadlocks").await.json()
    }

    async fn record(&self, id: u64) -> Option<FlightRecord> {
        let answer = get(&self.socket, &format!("/v1/deadlocks/{id}")).await;
        (answer.status == 200).then(|| answer.json())
    }

    async fn refusal(&self, id: u64) -> String {
        let answer = get(&self.socket, &format!("/v1/deadlocks/{id}")).await;
        assert_eq!(answer.status, 404, "{answer:?}");
        answer.json::<Error>().error
    }

    fn end_suspicion(&self, egress: usize) {
        self.remote.happen(EventKind::SuspicionEnded {
            egress: port(egress),
            priority: priority(LOSSLESS),
            lasted: Duration::from_millis(1),
        });
    }
}

/// Returns a message of another switch, as sent in an election or a release.
fn clcm(message: Clcm) -> EventKind {
    let mut toward = PortSet::EMPTY;
    toward.insert(port(1));
    EventKind::ClcmReceived {
        ingress: port(0),
        message,
        toward,
    }
}

#[tokio::test]
async fn a_record_tells_all_from_before_to_after() {
    let daemon = start(settings()).await;
    // Gives the record some time before the suspicion.
    until(async || {
        let history: weir_api::daemon::History = get(&daemon.socket, "/v1/history").await.json();
        (history.next > 40).then_some(())
    })
    .await;
    let began = daemon.remote.suspect(1);
    let own = until(async || daemon.deadlocks().await.current.first()?.spuid.clone()).await;
    let own = Spuid(u32::from_str_radix(&own, 16).unwrap());
    let hop = |spuid| Hop {
        spuid,
        egress: port(1),
    };
    let mut back = Clcm::begin(priority(LOSSLESS), hop(own));
    back.push(hop(Spuid(77))).unwrap();
    daemon.remote.happen(clcm(back));
    until(async || {
        let commands = daemon.remote.commands();
        commands
            .iter()
            .any(|command| matches!(command, Command::Release { .. }))
            .then_some(())
    })
    .await;
    daemon.remote.happen(EventKind::ReleaseStarted {
        ingress: port(0),
        egress: port(1),
        priority: priority(LOSSLESS),
    });
    daemon.remote.happen(EventKind::FlowMoved {
        ingress: port(0),
        from: port(1),
        to: port(2),
        priority: priority(LOSSLESS),
        destination: MacAddress([2, 0, 0, 0, 0, 9]),
        flow_hash: 0xabcd,
    });
    daemon.remote.happen(EventKind::Rerouted {
        selection: RerouteSelection::From(port(0)),
        egress: port(1),
        priority: priority(LOSSLESS),
        moved: 1,
        stuck: 0,
    });
    daemon.end_suspicion(1);
    daemon.remote.happen(EventKind::ReleaseEnded {
        ingress: port(0),
        egress: port(1),
        priority: priority(LOSSLESS),
        released: Bytes::new(3_000),
    });
    daemon.remote.happen(EventKind::TrafficReleaseEnded {
        ingress: port(0),
        egress: port(1),
        priority: priority(LOSSLESS),
        released: Bytes::new(1_500),
    });
    let record = until(async || daemon.record(1).await.filter(|record| record.complete)).await;

    let deadlock: &Deadlock = &record.deadlock;
    assert_eq!(deadlock.master, Some(Master::ThisSwitch));
    assert_eq!(
        (deadlock.flows_moved, deadlock.reroutes, deadlock.releases),
        (1, 1, 1)
    );
    assert_eq!(
        (deadlock.released_bytes, deadlock.forced_bytes),
        (3_000, 1_500)
    );
    assert!(deadlock.recorded && daemon.deadlocks().await.past[0].recorded);

    let nanos = |index: usize| record.samples[index].monotonic_nanos;
    let ended = began.as_nanos() + (deadlock.lasted_seconds.unwrap() * 1e9) as u64;
    assert!(nanos(0) < began.as_nanos(), "it begins before");
    assert!(
        nanos(record.samples.len() - 1) >= ended + AFTER.as_nanos() - 1_000,
        "it ends after"
    );
    assert!(record
        .samples
        .is_sorted_by_key(|sample| sample.monotonic_nanos));
    assert_eq!(record.interval_seconds, 0.005);
    let names: Vec<&str> = record.ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["p0", "p1"]);
    let last = record.samples.last().unwrap();
    assert_eq!(
        (last.ports[0].ingress_bytes, last.ports[0].xoff_bytes),
        (61_696, 61_440)
    );
    assert!(last.ports[0].pausing && last.ports[1].paused);

    let kinds: Vec<&str> = record
        .events
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    for kind in [
        "started",
        "suspected",
        "spuid_assigned",
        "clcm_sent",
        "clcm_received",
        "loop_found",
        "release_ordered",
        "release_started",
        "flow_moved",
        "rerouted",
        "suspicion_ended",
        "release_ended",
        "traffic_release_ended",
    ] {
        assert!(kinds.contains(&kind), "{kind} is not in {kinds:?}");
    }
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn the_master_is_who_an_election_shows_to_be_lowest() {
    let mut control = settings();
    control.plane.policy = weir_core::control::Policy::LoopBreaker;
    control.plane.loop_breaker.no_alternative = weir_core::control::NoAlternative::RerouteEntering;
    let daemon = start(control).await;
    daemon.remote.suspect(1);
    let own = until(async || daemon.deadlocks().await.current.first()?.spuid.clone()).await;
    let own = u32::from_str_radix(&own, 16).unwrap();
    let of = |spuid| {
        let hop = Hop {
            spuid: Spuid(spuid),
            egress: port(0),
        };
        clcm(Clcm::begin_election(priority(LOSSLESS), hop))
    };
    for spuid in [own / 2, u32::MAX, own / 4, own / 3] {
        daemon.remote.happen(of(spuid));
    }
    let lowest = Some(Master::Other {
        spuid: Spuid(own / 4).to_string(),
    });
    until(async || {
        let deadlocks = daemon.deadlocks().await;
        (deadlocks.current[0].master == lowest).then_some(())
    })
    .await;
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn a_missing_record_has_a_reason() {
    let daemon = start(settings()).await;
    let count = RECORDS_MAX as u64 + 1;
    // Each suspicion ends the one before, and none is complete until long after, so that the last finds no room.
    let later = clock::now() + Duration::from_secs(3_600);
    for _ in 0..count {
        daemon.remote.suspect_at(later, 1);
    }
    until(async || {
        let deadlocks = daemon.deadlocks().await;
        (deadlocks.past.len() as u64 == count - 1).then_some(())
    })
    .await;
    assert!(daemon.record(count - 1).await.is_some());
    assert_eq!(daemon.deadlocks().await.unrecorded_total, 1);
    let said = daemon.refusal(count).await;
    assert!(
        said.contains("no record of suspicion 33") && said.contains("32 are kept"),
        "{said}"
    );
    assert!(daemon
        .refusal(count + 1)
        .await
        .contains("no such suspicion: 34"));
    daemon.end().await.unwrap();

    let mut off = settings();
    off.flights = FlightSettings::OFF;
    let daemon = start(off).await;
    daemon.remote.suspect(1);
    until(async || daemon.deadlocks().await.current.first().cloned()).await;
    assert!(daemon.refusal(1).await.contains("deadlock.record"));
    daemon.end().await.unwrap();
}
