//! Routes and recent flows in the API, and changes to routes.

use std::path::PathBuf;
use std::sync::Arc;

use crate::support::{
    get, info, port, priority, request, request_with, settings, FakeDataplane, FakeXdp, Remote,
    LOSSLESS,
};
use weir_api::daemon::{
    Changed, Error, EventPage, Flow, Flows, Pin, Route, RouteDetail, RouteMember, Routes,
};
use weir_core::switch::{FlowRecord, PinEntry, PinnedBy};
use weir_core::{Bytes, Command, CommandError, Duration, MacAddress, PortSet};
use weir_dataplane::tables::RouteRow;
use weir_switchd::control::Control;
use weir_switchd::daemon::RunningDataplane;
use weir_switchd::model::clock;
use weir_switchd::{api, control};

const X: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const Y: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

struct Daemon {
    fake: FakeDataplane,
    remote: Remote,
    control: Control,
    server: tokio::task::JoinHandle<std::io::Result<()>>,
    socket: PathBuf,
    _directory: tempfile::TempDir,
}

impl Daemon {
    fn start(fake: FakeDataplane) -> Self {
        let link = fake.link().unwrap();
        let control = control::start(info(), &settings(), link, Box::new(FakeXdp)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("api.sock");
        let listener = api::listen(&socket, None).unwrap();
        let server = tokio::spawn(api::serve(listener, Arc::clone(&control.shared)));
        Self {
            remote: fake.remote(),
            fake,
            control,
            server,
            socket,
            _directory: directory,
        }
    }

    fn refuse(&self, error: CommandError) {
        *self.fake.outcome.lock().unwrap() = Err(error);
    }

    async fn stop(self) {
        self.control.stop();
        self.server.await.unwrap().unwrap();
    }
}

fn route(destination: MacAddress, members: &[(&str, u64)], buckets: u64, pins: u64) -> Route {
    let member = |(port, buckets): &(&str, u64)| RouteMember {
        port: (*port).to_owned(),
        buckets: *buckets,
    };
    Route {
        destination: destination.to_string(),
        vlan: None,
        members: members.iter().map(member).collect(),
        buckets,
        pins,
    }
}

/// Returns a dataplane with two of three routes, one of them with four buckets and a pin.
fn with_routes() -> FakeDataplane {
    let fake = FakeDataplane::start();
    let mut state = fake.template.lock().unwrap();
    state.routes.buckets = vec![port(0), port(1), port(0), port(0)];
    state.routes.rows = vec![
        RouteRow {
            destination: X,
            vlan: None,
            members: PortSet::from_iter([port(0), port(1)]),
            first_bucket: 0,
            bucket_count: 4,
            pins: 1,
        },
        RouteRow {
            destination: Y,
            vlan: None,
            members: PortSet::from_iter([port(2)]),
            first_bucket: 4,
            bucket_count: 0,
            pins: 0,
        },
    ];
    state.routes.route_total = 3;
    state.routes.pins = vec![PinEntry {
        destination: X,
        flow_hash: 0xbeef,
        port: port(1),
        by: PinnedBy::Reroute,
    }];
    state.routes.pin_total = 1;
    drop(state);
    fake
}

#[tokio::test]
async fn routes_with_their_members_buckets_and_pins() {
    let daemon = Daemon::start(with_routes());
    let pin = Pin {
        destination: X.to_string(),
        flow_hash: "0000beef".to_owned(),
        port: "p1".to_owned(),
        by: "reroute".into(),
    };
    let x = route(X, &[("p0", 3), ("p1", 1)], 4, 1);
    let answer: Routes = get(&daemon.socket, "/v1/routes").await.json();
    assert_eq!(
        answer,
        Routes {
            routes: vec![x.clone(), route(Y, &[("p2", 0)], 0, 0)],
            routes_left_out: 1,
            pins: vec![pin.clone()],
            pins_left_out: 0,
            stations: Vec::new(),
            suppress: false,
        }
    );
    let path = format!("/v1/routes/{X}");
    let answer: RouteDetail = get(&daemon.socket, &path).await.json();
    assert_eq!(
        answer,
        RouteDetail {
            route: x,
            bucket_ports: ["p0", "p1", "p0", "p0"].map(str::to_owned).to_vec(),
            flow_pins: vec![pin],
        }
    );
    let unknown = get(&daemon.socket, "/v1/routes/02:00:00:00:00:09").await;
    assert_eq!(unknown.status, 404);
    let said = "the route to 02:00:00:00:00:09 does not fit into a snapshot";
    assert_eq!(unknown.json::<Error>().error, said);
    daemon.stop().await;
}

#[tokio::test]
async fn recent_flows_have_a_rate() {
    let fake = FakeDataplane::start();
    {
        let mut state = fake.template.lock().unwrap();
        let now = clock::now();
        state.flows.rows = vec![FlowRecord {
            ingress: port(2),
            egress: port(1),
            priority: priority(LOSSLESS),
            destination: X,
            flow_hash: 0x1234_abcd,
            bytes: Bytes::new(3_000),
            frames: 2,
            first_seen: now,
            last_seen: now + Duration::from_nanos(1),
        }];
        state.flows.total = 5;
        state.flows.evictions = 8;
    }
    let daemon = Daemon::start(fake);
    let mut answer: Flows = get(&daemon.socket, "/v1/flows").await.json();
    let flow = &mut answer.flows[0];
    assert!(flow.age_seconds > 0.0 && flow.idle_seconds < flow.age_seconds);
    let rate = 24_000.0 / flow.age_seconds;
    assert!((flow.bits_per_second / rate - 1.0).abs() < 1e-6);
    (flow.age_seconds, flow.idle_seconds, flow.bits_per_second) = (0.0, 0.0, 0.0);
    let expected = Flow {
        ingress: "p2".to_owned(),
        egress: "p1".to_owned(),
        priority: LOSSLESS,
        destination: X.to_string(),
        flow_hash: "1234abcd".to_owned(),
        bytes: 3_000,
        frames: 2,
        age_seconds: 0.0,
        idle_seconds: 0.0,
        bits_per_second: 0.0,
    };
    assert_eq!(
        answer,
        Flows {
            flows: vec![expected],
            left_out: 4,
            evictions_total: 8
        }
    );
    daemon.stop().await;
}

#[tokio::test]
async fn every_change_is_passed_on_and_recorded() {
    let daemon = Daemon::start(FakeDataplane::start());
    let path = format!("/v1/routes/{X}");
    let members = PortSet::from_iter([port(0), port(1)]);
    let cases = [
        (
            "PUT",
            path.clone(),
            r#"{"ports": ["p1", "p0"], "buckets": 8}"#,
            Command::SetRoute {
                destination: X,
                members,
                buckets: 8,
            },
            "02:00:00:00:00:01 is forwarded by p1, p0, 8 buckets",
        ),
        (
            "PUT",
            path.clone(),
            r#"{"ports": ["p2"]}"#,
            Command::SetRoute {
                destination: X,
                members: PortSet::from_iter([port(2)]),
                buckets: 64,
            },
            "02:00:00:00:00:01 is forwarded by p2",
        ),
        (
            "PUT",
            format!("{path}/buckets/7"),
            r#"{"port": "p1"}"#,
            Command::MoveBucket {
                destination: X,
                bucket: 7,
                to: port(1),
            },
            "bucket 7 of 02:00:00:00:00:01 is assigned to p1",
        ),
        (
            "PUT",
            format!("{path}/pins/beef"),
            r#"{"port": "p0"}"#,
            Command::PinFlow {
                destination: X,
                flow_hash: 0xbeef,
                port: port(0),
            },
            "flow 0000beef to 02:00:00:00:00:01 pinned to p0",
        ),
        (
            "DELETE",
            format!("{path}/pins/0000beef"),
            "",
            Command::UnpinFlow {
                destination: X,
                flow_hash: 0xbeef,
            },
            "flow 0000beef to 02:00:00:00:00:01 unpinned; it follows its bucket",
        ),
        (
            "DELETE",
            path,
            "",
            Command::RemoveRoute { destination: X },
            "route to 02:00:00:00:00:01 removed",
        ),
    ];
    for (method, path, body, command, said) in cases {
        let answer = request_with(&daemon.socket, method, &path, body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.json::<Changed>().changed, said);
        assert_eq!(daemon.remote.commands().last(), Some(&command));
        let events: EventPage = get(&daemon.socket, "/v1/events").await.json();
        let last = events.events.last().unwrap();
        assert_eq!(last.kind, "route_changed");
        assert_eq!(last.details["changed"], said);
    }
    daemon.stop().await;
}

#[tokio::test]
async fn refusals_of_the_dataplane_are_reported_unchanged() {
    let daemon = Daemon::start(FakeDataplane::start());
    let bucket = format!("/v1/routes/{X}/buckets/1");
    let (destination, body) = (X, r#"{"port": "p1"}"#);
    let member = port(1);
    for (error, status, said) in [
        (
            CommandError::NotAMember {
                destination,
                port: member,
            },
            409,
            "port p1 is not in the group of 02:00:00:00:00:01",
        ),
        (
            CommandError::NoSuchRoute(X),
            404,
            "no route to 02:00:00:00:00:01",
        ),
        (
            CommandError::NoSuchBucket {
                destination,
                bucket: 1,
                buckets: 1,
            },
            409,
            "bucket 1 does not exist: the group of 02:00:00:00:00:01 has buckets 0 to 0",
        ),
    ] {
        daemon.refuse(error);
        let answer = request_with(&daemon.socket, "PUT", &bucket, body).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.json::<Error>().error, said);
    }
    let changes: EventPage = get(&daemon.socket, "/v1/events").await.json();
    assert!(changes
        .events
        .iter()
        .all(|event| event.kind != "route_changed"));
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_no_request_never_reaches_the_dataplane() {
    let daemon = Daemon::start(FakeDataplane::start());
    let x = format!("/v1/routes/{X}");
    for (method, path, body, status, said) in [
        (
            "PUT",
            "/v1/routes/nonsense",
            r#"{"ports": ["p0"]}"#,
            400,
            "`nonsense` is not a MAC",
        ),
        (
            "PUT",
            &x,
            r#"{"ports": ["p9"]}"#,
            400,
            "no such port: `p9`; ports: p0, p1, p2",
        ),
        (
            "PUT",
            &x,
            r#"{"ports": ["p0", "p0"]}"#,
            400,
            "duplicate port",
        ),
        (
            "PUT",
            &x,
            r#"{"ports": ["p0"], "bucket": 3}"#,
            400,
            "unknown field `bucket`",
        ),
        ("PUT", &x, "{", 400, "JSON"),
        (
            "PUT",
            &format!("{x}/buckets/-1"),
            r#"{"port": "p0"}"#,
            400,
            "invalid bucket `-1`",
        ),
        (
            "PUT",
            &format!("{x}/pins/xyz"),
            r#"{"port": "p0"}"#,
            400,
            "invalid flow hash `xyz`",
        ),
        (
            "PUT",
            &format!("{x}/pins/+1"),
            r#"{"port": "p0"}"#,
            400,
            "invalid flow hash `+1`",
        ),
        (
            "DELETE",
            &format!("{x}/pins/123456789"),
            "",
            400,
            "invalid flow hash",
        ),
    ] {
        let answer = request_with(&daemon.socket, method, path, body).await;
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.body);
        let error = answer.json::<Error>().error;
        assert!(error.contains(said), "{error}");
    }
    for (method, path, said) in [
        ("POST", x.clone(), "supports GET, PUT and DELETE, not POST"),
        ("GET", format!("{x}/buckets/1"), "supports PUT, not GET"),
        (
            "GET",
            format!("{x}/pins/1"),
            "supports PUT and DELETE, not GET",
        ),
        (
            "DELETE",
            "/v1/routes".to_owned(),
            "supports GET, not DELETE",
        ),
    ] {
        let answer = request(&daemon.socket, method, &path).await;
        assert_eq!(answer.status, 405);
        let error = answer.json::<Error>().error;
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(daemon.remote.commands(), []);
    daemon.stop().await;
}

/// Tables are requested while samples, which have none, are taken continually.
#[tokio::test]
async fn many_ask_at_once_and_each_is_answered() {
    let daemon = Daemon::start(with_routes());
    let asking: Vec<_> = (0..32)
        .map(|index| {
            let socket = daemon.socket.clone();
            tokio::spawn(async move {
                let path = ["/v1/routes", "/v1/flows"][index % 2];
                get(&socket, path).await.status
            })
        })
        .collect();
    for answer in asking {
        assert_eq!(answer.await.unwrap(), 200);
    }
    daemon.stop().await;
}
