//! gNMI, queried by pygnmi: during a deadlock it agrees with `switchctl`, by Get, by samples and on change.

mod client;

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::certificate;
use client::{take, Client};
use serde_json::{json, Value};
use weir_config::daemon::GnmiConfig;
use weir_lab::lab::process::inside;
use weir_lab::lab::stage::Stage;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::switches::switchctl;
use weir_tests::{printed, python, scenario, tear_down, until, Bench};

/// Address of all switches, each in a separate namespace.
const ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), client::PORT);
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Returns the output of `switchctl --json`; `status` fails for a switch in a deadlock.
fn said(switch: &SwitchProcess, words: &[&str]) -> Value {
    let mut command = switchctl(&switch.config.api_socket);
    let output = command.arg("--json").args(words).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

/// Converts seconds to gNMI's form.
fn nanos(seconds: &Value) -> Value {
    match seconds.as_f64() {
        Some(seconds) => json!((seconds * 1e9).round() as u64),
        None => Value::Null,
    }
}

/// Returns the leaves derived from `switchctl`'s output, by path.
fn expected(switch: &SwitchProcess) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let counters = said(switch, &["counters", "--all"]);
    let counter = |port: &Value, priority: &Value, key: &str| -> Value {
        let rows = counters.as_array().unwrap().iter();
        let mut rows = rows.filter(|row| row["port"] == *port && row["priority"] == *priority);
        rows.next()
            .map_or(Value::Null, |row| row["counters"][key].clone())
    };
    for port in said(switch, &["ports"]).as_array().unwrap() {
        let name = &port["name"];
        let state = format!("interfaces/interface[name={}]", name.as_str().unwrap());
        let up = if port["link_up"] == true {
            "UP"
        } else {
            "DOWN"
        };
        let losses = &port["kernel_losses"];
        let lost = |key: &str| losses[key].as_u64().unwrap();
        for (leaf, value) in [
            ("state/name", name.clone()),
            ("state/oper-status", json!(up)),
            ("state/admin-status", json!("UP")),
            ("state/counters/in-pkts", port["rx_frames_total"].clone()),
            ("state/counters/in-octets", port["rx_bytes_total"].clone()),
            ("state/counters/out-pkts", port["tx_frames_total"].clone()),
            ("state/counters/out-octets", port["tx_bytes_total"].clone()),
            (
                "state/counters/out-discards",
                json!(lost("tx_device_drops_total") + lost("tx_redirect_total")),
            ),
            ("ethernet/state/mac-address", port["address"].clone()),
            (
                "ethernet/state/counters/in-mac-control-frames",
                port["xdp_frames_total"]["mac_control"].clone(),
            ),
            (
                "ethernet/state/counters/out-mac-control-frames",
                counter(name, &Value::Null, "pfc_sent_total"),
            ),
        ] {
            all.insert(format!("{state}/{leaf}"), value);
        }
    }
    for queue in said(switch, &["queues"]).as_array().unwrap() {
        let port = queue["port"].as_str().unwrap();
        let state = format!("qos/interfaces/interface[interface-id={port}]");
        let name = &queue["priority"];
        for (leaf, value) in [
            (
                format!("output/queues/queue[name={name}]/state/transmit-pkts"),
                &queue["tx_frames_total"],
            ),
            (
                format!("output/queues/queue[name={name}]/state/transmit-octets"),
                &queue["tx_bytes_total"],
            ),
            (
                format!("output/queues/queue[name={name}]/state/max-queue-len"),
                &queue["egress_bytes_max"],
            ),
            (
                format!("input/queues/queue[name={name}]/state/max-queue-len"),
                &queue["ingress_bytes_max"],
            ),
        ] {
            all.insert(format!("{state}/{leaf}"), value.clone());
        }
    }
    for pfc in said(switch, &["pfc"]).as_array().unwrap() {
        let state = queue_of(pfc) + "/state";
        for (leaf, key) in [
            ("pausing", "pausing"),
            ("paused", "paused"),
            ("suspected", "suspected"),
            ("ingress-bytes", "ingress_bytes"),
            ("xoff-bytes", "xoff_bytes"),
            ("xon-bytes", "xon_bytes"),
            ("headroom-bytes", "headroom_bytes"),
            ("headroom-used-max-bytes", "headroom_used_bytes_max"),
        ] {
            all.insert(format!("{state}/{leaf}"), pfc[key].clone());
        }
        let suspicions = counter(&pfc["port"], &pfc["priority"], "suspicions_total");
        all.insert(format!("{state}/suspicions"), suspicions);
    }
    for row in said(switch, &["pfc", "counters"]).as_array().unwrap() {
        for side in ["sent", "received"] {
            let state = format!("{}/{side}/state", queue_of(row));
            for (leaf, value) in [
                ("paused", row[side]["paused"].clone()),
                ("transitions", row[side]["transitions_total"].clone()),
                ("xoff-frames", row[side]["xoff_frames_total"].clone()),
                ("xon-frames", row[side]["xon_frames_total"].clone()),
                ("paused-time", nanos(&row[side]["paused_seconds_total"])),
            ] {
                all.insert(format!("{state}/{leaf}"), value);
            }
        }
    }
    let status = said(switch, &["status"]);
    all.insert(
        "weir/deadlocks/state/suspected".to_owned(),
        status["suspected_count"].clone(),
    );
    all.insert(
        "weir/state/held-frames".to_owned(),
        status["held_frames"].clone(),
    );
    for deadlock in said(switch, &["deadlock"])["current"].as_array().unwrap() {
        let state = format!("weir/deadlocks/deadlock[id={}]/state", deadlock["id"]);
        for (leaf, value) in [
            ("interface", deadlock["port"].clone()),
            ("priority", deadlock["priority"].clone()),
            ("lasting", json!(true)),
            ("reason", deadlock["reason"].clone()),
            ("queued-bytes", deadlock["queued_bytes"].clone()),
            ("idle-time", nanos(&deadlock["idle_seconds"])),
        ] {
            all.insert(format!("{state}/{leaf}"), value);
        }
    }
    all
}

fn queue_of(row: &Value) -> String {
    let port = row["port"].as_str().unwrap();
    format!(
        "weir/queues/queue[interface={port}][priority={}]",
        row["priority"]
    )
}

/// Returns true for values that change with time while nothing moves: refreshed pauses, and their durations.
fn goes_on(path: &str) -> bool {
    ["xoff-frames", "paused-time", "mac-control-frames"]
        .iter()
        .any(|end| path.ends_with(end))
}

#[test]
fn values_during_a_deadlock_are_those_of_switchctl() {
    let Some(python) = python("pygnmi") else {
        return;
    };
    let scenario = scenario(
        "ring4.toml",
        &["duration=600s", "link-defaults.rate=25Mbit"],
    );
    let mut stage = Stage::set_up_with(&scenario, false, |config| {
        config.gnmi.listen = Some(ADDRESS);
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
    let mut client = Client::plain(&python, &stage.names().namespace("s1"));
    // From before the first frame on.
    let changes = client.subscribe(
        "stream",
        &json!([
            {"path": "/weir/queues/queue[interface=*][priority=*]/state/suspected", "mode": "on_change"},
            {"path": "/weir/deadlocks/deadlock[id=*]/state/lasting", "mode": "on_change"},
            {"path": "/interfaces/interface[name=*]/state/oper-status", "mode": "on_change"},
        ]),
    );
    let mut known = BTreeMap::new();
    let first = client.next(changes);
    assert_eq!(first["sync_response"], true, "{first}");
    take(&mut known, &first["update"]);
    assert!(known.values().all(|value| *value != true), "{known:?}");
    stage
        .start_hosts(&scenario)
        .unwrap_or_else(|error| panic!("{error:#}"));

    // It locks, and the subscriber is notified.
    while !known.values().any(|value| *value == true) {
        take(&mut known, &client.next(changes)["update"]);
    }
    let switch = &stage.switches[0];
    let mut before = expected(switch);
    until("nothing moves any more", || {
        let after = std::mem::replace(&mut before, expected(switch));
        let moves = |path: &String| !goes_on(path) && before.get(path) != after.get(path);
        let locked = before["weir/deadlocks/state/suspected"] != 0;
        (locked && !before.keys().any(moves)).then_some(())
    });
    check_values(&mut client, switch);
    check_samples(&mut client, switch);

    // The link to a host goes down, and its frames are dropped.
    let host = stage.names().namespace("h1");
    let device = stage.switches[0]
        .config
        .ports
        .iter()
        .find(|port| port.role.name() == "edge");
    let port = device.unwrap().name.clone();
    let oper = format!("interfaces/interface[name={port}]/state/oper-status");
    assert_eq!(known[&oper], "UP");
    let mut down = inside(&host, Path::new("ip"));
    printed(down.args(["link", "set", stage.names().host_device(), "down"]));
    while known[&oper] != "DOWN" {
        take(&mut known, &client.next(changes)["update"]);
    }
    assert_eq!(expected(&stage.switches[0])[&oper], "DOWN");
    drop(client);
    tear_down(stage);
}

/// Checks Get, in each encoding.
fn check_values(client: &mut Client, switch: &SwitchProcess) {
    let before = expected(switch);
    let mut leaves = client.leaves("/interfaces");
    leaves.append(&mut client.leaves("/qos"));
    leaves.append(&mut client.leaves("/weir"));
    let after = expected(switch);
    assert!(before.len() > 60, "{}", before.len());
    for (path, value) in &before {
        let told = leaves
            .get(path)
            .unwrap_or_else(|| panic!("{path} is not told"));
        if goes_on(path) {
            let [before, told, after] = [value, told, &after[path]]
                .map(|value| value.as_u64().unwrap_or_else(|| panic!("{path}: {value}")));
            // Nanoseconds derived from seconds may be off by one.
            assert!(
                before <= told + 1 && told <= after + 1,
                "{path}: {before} {told} {after}"
            );
        } else {
            assert_eq!(told, value, "{path}");
        }
    }
    assert!(before
        .iter()
        .any(|(path, value)| path.ends_with("/suspected") && *value == true));
    for encoding in ["json", "json_ietf"] {
        let path = "/interfaces/interface[name=*]/state/counters/in-octets";
        let answer = client.ask(&json!({"do": "get", "path": [path], "encoding": encoding}));
        for update in answer["notification"][0]["update"].as_array().unwrap() {
            let expected = &before[update["path"].as_str().unwrap()];
            let value = &update["val"];
            let number = value
                .as_str()
                .map_or(value.clone(), |text| json!(text.parse::<u64>().unwrap()));
            assert_eq!(number, *expected, "{encoding}: {update}");
        }
    }
    println!("{} leaves are as switchctl has them", before.len());
}

/// Checks samples: all values once per second.
fn check_samples(client: &mut Client, switch: &SwitchProcess) {
    let samples = client.subscribe(
        "stream",
        &json!([{
            "path": "/qos/interfaces/interface[interface-id=*]/output/queues/queue[name=3]/state",
            "mode": "sample",
            "sample_interval": 1_000_000_000_u64,
        }]),
    );
    let all = expected(switch);
    let mut times = Vec::new();
    for _ in 0..3 {
        let told = client.next(samples);
        let mut known = BTreeMap::new();
        take(&mut known, &told["update"]);
        times.push(told["update"]["timestamp"].as_i64().unwrap());
        for (path, value) in all
            .iter()
            .filter(|(path, _)| path.contains("/output/queues/queue[name=3]"))
        {
            assert_eq!(known.get(path), Some(value), "{path}");
        }
    }
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] > 500_000_000, "{times:?}");
    }
    client.ask(&json!({"do": "close", "stream": samples}));
}

/// The token works as a bearer token or as a password; other clients get no answer, and none can change anything.
#[test]
fn a_protected_switch_answers_whoever_has_the_token() {
    let Some(python) = python("pygnmi") else {
        return;
    };
    let secrets = tempfile::tempdir().unwrap();
    let files = certificate::make(secrets.path(), "s1");
    let token_file: PathBuf = secrets.path().join("token");
    std::fs::write(&token_file, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&token_file, Permissions::from_mode(0o600)).unwrap();
    let bench = Bench::new(&[], |config| {
        config.gnmi = GnmiConfig {
            listen: Some(ADDRESS),
            tls_certificate: Some(files.certificate.clone()),
            tls_key: Some(files.key.clone()),
            token_file: Some(token_file.clone()),
            ..GnmiConfig::default()
        };
    });
    let namespace = bench.namespace("s1");
    let connect = |mut options: Value| {
        options["path_cert"] = json!(files.certificate);
        Client::connect(&python, &namespace, &options)
    };
    let mut by_token = connect(json!({"token": TOKEN})).unwrap();
    let mut by_password = connect(json!({"username": "any", "password": TOKEN})).unwrap();
    for client in [&mut by_token, &mut by_password] {
        let capabilities = client.ask(&json!({"do": "capabilities"}));
        assert_eq!(
            capabilities["supported_models"].as_array().unwrap().len(),
            7
        );
        assert_eq!(
            capabilities["supported_encodings"],
            json!(["json", "json_ietf", "proto"])
        );
        let name = client.leaves("/weir/state/name");
        assert_eq!(name["weir/state/name"], bench.switch.config.name);
    }
    for wrong in [
        json!({}),
        json!({"token": "0123456789abcdef0123456789abcdee"}),
        json!({"username": TOKEN, "password": "wrong"}),
    ] {
        let error = connect(wrong.clone()).err().unwrap();
        assert!(error.contains("gnmi.token-file"), "{wrong}: {error}");
    }
    assert!(
        Client::connect(&python, &namespace, &json!({"insecure": true})).is_err(),
        "TLS alone"
    );

    let refused = by_token.ask(&json!({"do": "set"}));
    assert!(
        refused["error"].as_str().unwrap().contains("switchctl"),
        "{refused}"
    );

    // As many subscribers as permitted, and one more.
    let one = json!([{"path": "/weir/state/name", "mode": "on_change"}]);
    for _ in 0..16 {
        let stream = by_token.subscribe("stream", &one);
        assert_eq!(by_token.next(stream)["sync_response"], true);
    }
    let metrics = || {
        let url = format!(
            "http://{}/metrics",
            bench.switch.config.metrics.listen.unwrap()
        );
        bench.output("s1", &["curl", "-s", &url])
    };
    assert!(metrics().contains("weir_gnmi_streams 16"));
    by_password.subscribe("stream", &one);
    until("the seventeenth is refused and counted", || {
        metrics()
            .contains("weir_gnmi_refused_total{reason=\"streams\"} 1")
            .then_some(())
    });
    // A client that leaves makes room.
    drop(by_token);
    until("the places are free", || {
        metrics().contains("weir_gnmi_streams 0").then_some(())
    });
    let stream = by_password.subscribe("stream", &one);
    assert_eq!(by_password.next(stream)["sync_response"], true);
    let text = metrics();
    assert!(
        text.contains("weir_gnmi_refused_total{reason=\"unauthenticated\"} 3"),
        "{text}"
    );
    drop(by_password);
    bench.end();
}
