//! `switchctl route` and `switchctl flows`.

use crate::support::{lines, run, Answer, FakeDaemon};
use serde_json::{json, Value};

const X: &str = "02:00:00:00:00:01";

fn shown(arguments: &[&str], path: &str, body: &Value) -> String {
    let daemon = FakeDaemon::good(path, &body.to_string());
    let run = daemon.run(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    run.stdout
}

fn x() -> Value {
    json!({"destination": X, "members": [{"port": "s2", "buckets": 3}, {"port": "s4", "buckets": 1}],
           "buckets": 4, "pins": 1})
}

fn pin() -> Value {
    json!({"destination": X, "flow_hash": "5be3f2c9", "port": "s4", "by": "reroute"})
}

#[test]
fn routes_and_pins_are_tables() {
    let single = json!({"destination": "02:00:00:00:00:02", "buckets": 0, "pins": 0,
                        "members": [{"port": "h1", "buckets": 0}]});
    let body =
        json!({"routes": [x(), single], "routes_left_out": 3, "pins": [pin()], "pins_left_out": 0});
    assert_eq!(
        shown(&["route", "list"], "/v1/routes", &body),
        lines(
            "
|destination        ports           buckets  pins
|02:00:00:00:00:01  s2 (3), s4 (1)        4     1
|02:00:00:00:00:02  h1                    –     0
|3 more routes are not shown
|
|destination        flow hash  pinned to  by
|02:00:00:00:00:01  5be3f2c9   s4         reroute"
        )
    );
    let printed = shown(&["--json", "route", "list"], "/v1/routes", &body);
    let mut printed: Value = serde_json::from_str(&printed).unwrap();
    // An older daemon does not report it.
    assert_eq!(printed["suppress"], false);
    printed.as_object_mut().unwrap().remove("suppress");
    assert_eq!(printed, body);
}

#[test]
fn one_route_has_its_buckets() {
    let mut body = x();
    body["bucket_ports"] = json!(["s2", "s4", "s2", "s2"]);
    body["flow_pins"] = json!([pin()]);
    assert_eq!(
        shown(&["route", "list", X], "/v1/routes/02:00:00:00:00:01", &body),
        lines(
            "
|destination        ports           buckets  pins
|02:00:00:00:00:01  s2 (3), s4 (1)        4     1
|
|port  buckets
|s2    0 2 3
|s4    1
|
|destination        flow hash  pinned to  by
|02:00:00:00:00:01  5be3f2c9   s4         reroute"
        )
    );
}

#[test]
fn a_change_is_sent_and_its_outcome_printed() {
    let route = "/v1/routes/02:00:00:00:00:01";
    for (arguments, method, path, body) in [
        (
            &["set", X, "s2,s4", "--buckets", "256"][..],
            "PUT",
            route.to_owned(),
            Some(json!({"ports": ["s2", "s4"], "buckets": 256})),
        ),
        (
            &["set", X, "s2"],
            "PUT",
            route.to_owned(),
            Some(json!({"ports": ["s2"]})),
        ),
        (
            &["move-bucket", X, "17", "s4"],
            "PUT",
            format!("{route}/buckets/17"),
            Some(json!({"port": "s4"})),
        ),
        (
            &["pin", X, "BEEF", "s4"],
            "PUT",
            format!("{route}/pins/0000beef"),
            Some(json!({"port": "s4"})),
        ),
        (
            &["unpin", X, "beef"],
            "DELETE",
            format!("{route}/pins/0000beef"),
            None,
        ),
        (&["remove", X], "DELETE", route.to_owned(), None),
    ] {
        let daemon = FakeDaemon::good(&path, "{\"changed\": \"it is done\"}");
        let mut all = vec!["route"];
        all.extend(arguments);
        let run = daemon.run(&all);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), "it is done\n"),
            "{}",
            run.stderr
        );
        let (sent_method, sent_body) = daemon.sent().pop().unwrap();
        assert_eq!(sent_method, method);
        let sent_body = (!sent_body.is_empty()).then(|| serde_json::from_str(&sent_body).unwrap());
        assert_eq!(sent_body, body);
    }
}

#[test]
fn a_refusal_is_printed_and_exits_with_1() {
    let refusal = "{\"error\": \"port s9 is no member\"}".to_owned();
    let path = "/v1/routes/02:00:00:00:00:01/buckets/1";
    let daemon = FakeDaemon::new(&[(path, vec![Answer::Http(409, refusal)])]);
    let run = daemon.run(&["route", "move-bucket", X, "1", "s9"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert_eq!(run.stderr, "switchctl: port s9 is no member\n");
}

#[test]
fn what_is_no_address_bucket_or_hash_is_refused_at_once() {
    for arguments in [
        &["route", "set", "nonsense", "s2"][..],
        &["route", "set", X],
        &["route", "move-bucket", X, "70000", "s2"],
        &["route", "pin", X, "xyz", "s2"],
        &["route", "pin", X, "+1", "s2"],
        &["route", "unpin", X, "123456789"],
    ] {
        assert_eq!(run(arguments).code, Some(2), "{arguments:?}");
    }
}

fn flow(ingress: &str, egress: &str, hash: &str, rate: f64) -> Value {
    json!({"ingress": ingress, "egress": egress, "priority": 3, "destination": X, "flow_hash": hash,
           "bytes": 61_440, "frames": 41, "age_seconds": 12.25, "idle_seconds": 0.0015,
           "bits_per_second": rate})
}

#[test]
fn the_fastest_flow_comes_first() {
    let body = json!({"left_out": 2, "evictions_total": 5, "flows": [
        flow("s4", "s2", "0000beef", 40_122.4), flow("h1", "s2", "5be3f2c9", 97_512_345.6),
        flow("h1", "s4", "00000001", 0.0)
    ]});
    assert_eq!(
        shown(&["flows"], "/v1/flows", &body),
        lines(
            "
|ingress  egress  priority  destination        flow hash         rate     bytes  frames     age    idle
|h1       s2             3  02:00:00:00:00:01  5be3f2c9   97.5 Mbit/s  60.0 KiB      41  12.2 s  1.5 ms
|s4       s2             3  02:00:00:00:00:01  0000beef   40.1 kbit/s  60.0 KiB      41  12.2 s  1.5 ms
|h1       s4             3  02:00:00:00:00:01  00000001     0.0 bit/s  60.0 KiB      41  12.2 s  1.5 ms
|2 more flows are not shown
|5 flows were evicted: the table was full; raise flows.capacity"
        )
    );
    let only = |arguments: &[&str]| {
        let mut all = vec!["--json", "flows"];
        all.extend(arguments);
        let printed: Value = serde_json::from_str(&shown(&all, "/v1/flows", &body)).unwrap();
        let flows = printed["flows"].as_array().unwrap().clone();
        flows
            .iter()
            .map(|flow| flow["flow_hash"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(only(&["--ingress", "h1"]), ["5be3f2c9", "00000001"]);
    assert_eq!(only(&["--ingress", "h1", "--egress", "s4"]), ["00000001"]);
    assert_eq!(only(&["--egress", "s3"]), [""; 0]);
}
