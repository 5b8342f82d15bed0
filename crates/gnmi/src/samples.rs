//! A switch for tests: two ports, one lossless priority, one suspicion.

use serde_json::{from_value, json, Value as Json};

use crate::tree::{Device, State};
use crate::wire::{Path, PathElem};

pub(crate) fn state() -> State {
    let ports = ["p1", "p2"];
    State {
        taken_unix_nanos: 1_700_000_000_000_000_000,
        status: from_value(status()).unwrap(),
        ports: ports
            .map(|port| from_value(self::port(port)).unwrap())
            .into(),
        devices: vec![
            Device {
                index: Some(7),
                removed: false,
            },
            Device::default(),
        ],
        queues: ports.map(|port| from_value(queue(port)).unwrap()).into(),
        pfc: ports.map(|port| from_value(pfc(port)).unwrap()).into(),
        pauses: ports.map(|port| from_value(pauses(port)).unwrap()).into(),
        levels: Default::default(),
        deadlocks: from_value(json!({"current": [deadlock(1)], "past": []})).unwrap(),
        neighbours: vec![from_value(neighbour("p1")).unwrap()],
        counters: from_value(json!([
            {"port": "p1", "counters": {"pause_received_total": 4, "pfc_sent_total": 5}},
            {"port": "p1", "priority": 3, "counters": {
                "storm_dropped_total": 1, "lifetime_dropped_total": 2, "headroom_dropped_total": 3,
                "suspicions_total": 6, "releases_total": 7,
            }},
        ]))
        .unwrap(),
        frame_bytes_max: 1522,
    }
}

pub(crate) fn with_link(mut state: State, port: usize, up: bool) -> State {
    state.ports[port].link_up = up;
    state
}

/// Parses a path in clients' notation, without escapes.
pub(crate) fn path(text: &str) -> Path {
    let (origin, text) = match text.split_once(":/") {
        Some((origin, text)) => (origin, text),
        None => ("", text),
    };
    let elem = |part: &str| {
        let (name, keys) = part.split_once('[').unwrap_or((part, ""));
        let keys = keys.split(['[', ']']).filter(|key| !key.is_empty());
        let key = |text: &str| {
            let (key, value) = text.split_once('=').unwrap();
            (key.to_owned(), value.to_owned())
        };
        PathElem {
            name: name.to_owned(),
            key: keys.map(key).collect(),
        }
    };
    let parts = text.split('/').filter(|part| !part.is_empty());
    Path {
        origin: origin.to_owned(),
        elem: parts.map(elem).collect(),
        target: String::new(),
    }
}

fn status() -> Json {
    json!({
        "name": "s1", "version": "0.1.0", "pid": 1, "state": "running", "uptime_seconds": 1.5,
        "deadlock_policy": "breaker", "port_count": 2, "suspected_count": 1, "held_frames": 9,
        "admitted_frames_total": 0, "transmitted_frames_total": 0, "drops_total": {}, "kernel_losses_total": 0,
        "umem_frames": 1, "umem_frames_free": 1,
        "dataplane": {"rounds_total": 0, "busy_rounds_total": 0, "sleeps_total": 0, "round_seconds_max": 0.0,
            "events_lost_total": 0},
        "clcm": {"sent_total": 0, "received_total": 0, "loops_found_total": 0, "releases_total": 0},
    })
}

fn port(name: &str) -> Json {
    json!({
        "name": name, "device": name, "role": "edge", "address": "02:00:00:00:00:01",
        "rate_bits_per_second": 1_000_000_000_u64, "link_up": true, "xdp_mode": "native", "zero_copy": false,
        "rx_frames_total": 10, "rx_bytes_total": 1000, "tx_frames_total": 20, "tx_bytes_total": u64::MAX,
        "drops_total": {"bad_length": 3, "no_route": 2}, "kernel_losses": {"tx_device_drops_total": 8},
        "device_losses": {"rx_crc_total": 4}, "xdp_frames_total": {"mac_control": 11}, "clcm_sent_total": 0,
        "clcm_received_total": 0,
    })
}

fn queue(port: &str) -> Json {
    json!({
        "port": port, "priority": 3, "class": "lossless", "mode": "pfc", "ingress_bytes": 1, "ingress_bytes_max": 2,
        "egress_bytes": 3, "egress_bytes_max": 4, "egress_frames": 5, "rx_frames_total": 6, "tx_frames_total": 7,
        "rx_bytes_total": 8, "tx_bytes_total": 9,
    })
}

fn pfc(port: &str) -> Json {
    json!({
        "port": port, "priority": 3, "ingress_bytes": 1, "xoff_bytes": 2, "xon_bytes": 3, "headroom_bytes": 4,
        "headroom_used_bytes_max": 5, "pausing": false, "paused": true, "xoff_sent_total": 6, "xon_sent_total": 7,
        "pause_received_total": 8, "resume_received_total": 9, "paused_seconds_total": 1.0, "suspected": true,
        "release_ingress": null,
    })
}

fn pauses(port: &str) -> Json {
    let side = json!({
        "xoff_frames_total": 1, "xon_frames_total": 2, "transitions_total": 3, "paused": true, "last_began": null,
        "last_began_monotonic_nanos": null, "last_ended": null, "last_ended_monotonic_nanos": null,
        "paused_seconds_total": 12.000_000_345, "longest_seconds": 0.5,
    });
    json!({"port": port, "priority": 3, "sent": side, "received": side})
}

fn neighbour(port: &str) -> Json {
    json!({
        "port": port, "chassis_id": "02:00:00:00:00:09", "chassis_id_subtype": 4, "port_id": "swp1", "port_id_subtype": 5,
        "port_description": null, "system_name": "leaf2", "system_description": null,
        "capabilities": ["bridge", "router"], "known_seconds": 61.9, "ttl_seconds": 120, "ttl_left_seconds": 100.5,
        "kind": "regular", "pfc": null, "ets": null, "applications": [], "weir": null, "mismatches": [],
    })
}

fn deadlock(id: u64) -> Json {
    json!({
        "id": id, "port": "p1", "priority": 3, "reason": "paused", "began_monotonic_nanos": 1, "idle_seconds": 0.1,
        "queued_bytes": 100, "spuid": null, "loops_found": 1, "releases": 0, "first_release_seconds": null,
        "lasted_seconds": null,
    })
}
