//! A daemon answers every `GET` of its OpenAPI document as documented. `support::contract` also checks the answers in other
//! tests.

use crate::support::contract::complaints;
use crate::support::running::Running;
use crate::support::{begin, get, port, priority, settings, until, FakeDataplane, LOSSLESS};
use serde_json::{json, Value};
use tokio::net::UnixStream;
use weir_api::routes::{Endpoint, Method, Parameter, Place, Route, ROUTES};
use weir_core::switch::{CreditGauges, FlowRecord, LevelEntry, PinEntry, PinnedBy};
use weir_core::{
    Bytes, DropReason, Duration, Level, MacAddress, PortSet, StormAction, WatchdogConfig,
};
use weir_dataplane::tables::RouteRow;
use weir_switchd::model::clock;

/// Value in the parameters' example.
const DESTINATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);

/// A dataplane with non-empty values in every part of a snapshot.
fn busy() -> FakeDataplane {
    let fake = FakeDataplane::start();
    let mut state = fake.template.lock().unwrap();
    let lossless = usize::from(LOSSLESS);
    let of_port = &mut state.ports[0];
    of_port.counters.priority[lossless].rx_frames = 11;
    for reason in DropReason::ALL {
        of_port.counters.drop_frame(reason);
    }
    of_port.gauges[lossless].release_ingress = Some(port(1));
    of_port.gauges[lossless].storm = Some(StormAction::Drop);
    of_port.credits[lossless] = Some(CreditGauges::default());
    of_port.watchdog = Some(WatchdogConfig {
        action: StormAction::Forward,
        detection: Duration::from_millis(200),
        restoration: Duration::from_millis(400),
    });
    state.routes.buckets = vec![port(0), port(1)];
    // For all VLANs, and for one.
    let row = |vlan| RouteRow {
        destination: DESTINATION,
        vlan,
        members: PortSet::from_iter([port(0), port(1)]),
        first_bucket: 0,
        bucket_count: 2,
        pins: 1,
    };
    state.routes.rows = vec![row(None), row(weir_core::VlanId::new(20))];
    state.routes.route_total = 2;
    state.routes.pins = vec![PinEntry {
        destination: DESTINATION,
        flow_hash: 0x2a,
        port: port(1),
        by: PinnedBy::Operator,
    }];
    state.routes.pin_total = 1;
    let now = clock::now();
    state.flows.rows = vec![FlowRecord {
        ingress: port(2),
        egress: port(1),
        priority: priority(LOSSLESS),
        destination: DESTINATION,
        flow_hash: 0x2a,
        bytes: Bytes::new(3_000),
        frames: 2,
        first_seen: now,
        last_seen: now,
    }];
    state.level_table.entries = vec![LevelEntry {
        priority: priority(LOSSLESS),
        destination: DESTINATION,
        level: Level::new(1).unwrap(),
        buffered: Bytes::new(512),
    }];
    state.accounts.ports = vec![Default::default(); 3];
    drop(state);
    fake
}

/// Returns the path with the parameters' examples and all query parameters.
fn example(route: &Route) -> String {
    let mut path = route.path.to_owned();
    let mut query = Vec::new();
    for Parameter {
        name,
        place,
        example,
        ..
    } in route.parameters
    {
        match place {
            Place::Path => path = path.replace(&format!("{{{name}}}"), example),
            Place::Query => query.push(format!("{name}={example}")),
        }
    }
    match query.is_empty() {
        true => path,
        false => format!("{path}?{}", query.join("&")),
    }
}

/// Begins a capture, which lasts as long as the returned stream.
async fn capture(daemon: &Running) -> UnixStream {
    begin(&daemon.socket, "/v1/captures", "{}").await
}

#[tokio::test]
async fn every_get_is_answered_as_documented() {
    let daemon = Running::start(busy(), settings()).await;
    daemon.remote.suspect(1);
    until(async || {
        let answer = get(&daemon.socket, "/v1/deadlocks/1").await;
        let has_samples = answer.body.contains("\"held_frames\"");
        (answer.status == 200 && has_samples).then_some(())
    })
    .await;
    let capture = capture(&daemon).await;
    let mut asked = 0;
    for route in ROUTES.iter().filter(|route| route.method == Method::Get) {
        let path = example(route);
        let answer = get(&daemon.socket, &path).await;
        let of_files = [
            Endpoint::Configuration,
            Endpoint::ConfigurationHistory,
            Endpoint::PastConfiguration,
        ];
        if of_files.contains(&route.endpoint) {
            // This daemon was started without a file; tests/reload.rs covers daemons with one.
            assert_eq!(answer.status, 409, "{path}: {}", answer.body);
            continue;
        }
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        // No neighbour announces itself here, and nothing is impaired; tests/lldp.rs covers neighbours.
        let is_empty = answer.json::<Value>() == json!([]);
        let may_be = ["/v1/neighbors", "/v1/impairments"];
        assert_eq!(is_empty, may_be.contains(&&*path), "{path}");
        asked += 1;
    }
    assert!(asked > 20, "{asked}");
    drop(capture);
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn the_daemon_serves_the_committed_document() {
    let daemon = Running::start(FakeDataplane::start(), settings()).await;
    let answer = get(&daemon.socket, "/v1/openapi.json").await;
    assert!(answer.head.contains("content-type: application/json"));
    assert_eq!(answer.body, weir_api::routes::openapi::json());
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn what_the_document_does_not_have_is_found() {
    let daemon = Running::start(busy(), settings()).await;
    let find = |path: &str, answer: &Value| complaints("GET", path, 200, answer).unwrap();
    let status: Value = get(&daemon.socket, "/v1/status").await.json();
    assert_eq!(find("/v1/status", &status), [""; 0]);
    let changed = |change: fn(&mut Value)| {
        let mut status = status.clone();
        change(&mut status);
        find("/v1/status", &status).len()
    };
    assert_eq!(changed(|it| it["surprise"] = json!(1)), 1);
    assert_eq!(changed(|it| it["dataplane"]["surprise"] = json!(1)), 1);
    assert_eq!(changed(|it| it["state"] = json!("resting")), 1);
    assert_eq!(changed(|it| it["drops_total"]["surprise"] = json!(1)), 1);
    assert_eq!(changed(|it| it["pid"] = json!("one")), 1);
    let without = |it: &mut Value| drop(it.as_object_mut().unwrap().remove("pid"));
    assert_eq!(changed(without), 1);
    // One object with two schemas.
    let path = format!("/v1/routes/{DESTINATION}");
    let mut route: Value = get(&daemon.socket, &path).await.json();
    assert_eq!(find(&path, &route), [""; 0]);
    route["surprise"] = json!(1);
    assert_eq!(find(&path, &route).len(), 1);
    assert_eq!(complaints("GET", "/v1/nowhere", 200, &route), None);
    daemon.end().await.unwrap();
}
