//! Get, and refused requests.

use prost::Message;
use serde_json::{json, Value as Json};

use super::get::Asked;
use crate::path::Pattern;
use crate::refusal::Refusal;
use crate::samples::{path, state};
use crate::tree::{schema, Tree};
use crate::wire::{self, DataType, Encoding, GetRequest, GetResponse, Path, PathElem, Value};

fn get(paths: &[&str], encoding: Encoding, data: DataType) -> Result<GetResponse, Refusal> {
    let request = GetRequest {
        path: paths.iter().map(|text| path(text)).collect(),
        r#type: data.into(),
        encoding: encoding.into(),
        ..GetRequest::default()
    };
    Asked::new(request)?.answer(&Tree::new(&state()))
}

/// The paths of an answer's updates with their JSON.
fn told(response: &GetResponse) -> Vec<(String, Json)> {
    let updates = response.notification.iter().flat_map(|told| &told.update);
    let read = |update: &wire::Update| {
        let path = crate::path::written(update.path.as_ref().unwrap()).to_string();
        let json = match update.val.as_ref().unwrap().value.as_ref().unwrap() {
            Value::Json(bytes) | Value::JsonIetf(bytes) => serde_json::from_slice(bytes).unwrap(),
            Value::Uint(number) => json!(number),
            Value::String(text) => json!(text),
            Value::Bool(is) => json!(is),
            Value::Int(number) => json!(number),
        };
        (path, json)
    };
    updates.map(read).collect()
}

#[test]
fn a_container_is_one_object_and_a_leaf_is_its_value() {
    let state = "/interfaces/interface[name=p1]/state";
    let counters = json!({
        "in-pkts": 10, "in-octets": 1000, "out-pkts": 20, "out-octets": u64::MAX, "in-discards": 2, "in-errors": 7,
        "in-fcs-errors": 4, "out-discards": 8,
    });
    let response = get(&[state], Encoding::Json, DataType::All).unwrap();
    let object = json!({
        "name": "p1", "type": "iana-if-type:ethernetCsmacd", "mtu": 1522, "ifindex": 7, "admin-status": "UP",
        "oper-status": "UP", "counters": counters,
    });
    assert_eq!(told(&response), [(state.to_owned(), object)]);

    let leaf = format!("{state}/counters/out-octets");
    for (encoding, expected) in [
        (Encoding::Json, json!(u64::MAX)),
        (Encoding::JsonIetf, json!(u64::MAX.to_string())),
        (Encoding::Proto, json!(u64::MAX)),
    ] {
        let response = get(&[&leaf], encoding, DataType::All).unwrap();
        assert_eq!(told(&response), [(leaf.clone(), expected)]);
    }
}

#[test]
fn lists_are_arrays_and_modules_are_named_where_they_change() {
    let response = get(&["/"], Encoding::JsonIetf, DataType::State).unwrap();
    let [(root, all)] = &told(&response)[..] else {
        panic!("one update: {response:?}")
    };
    assert_eq!(root, "/");
    let interfaces = &all["openconfig-interfaces:interfaces"]["interface"];
    assert_eq!(interfaces[1]["name"], "p2");
    assert_eq!(interfaces.as_array().unwrap().len(), 2);
    let ethernet = &interfaces[0]["openconfig-if-ethernet:ethernet"]["state"];
    assert_eq!(ethernet["counters"]["in-mac-pause-frames"], "4");
    let queues = &all["weir-switch:weir"]["queues"]["queue"];
    assert_eq!(queues[0]["sent"]["state"]["paused-time"], "12000000345");
    assert!(interfaces[0].get("config").is_none(), "{interfaces}");
}

#[test]
fn state_and_configuration_are_told_apart() {
    let names = |data| {
        let paths = ["/interfaces/interface[name=p1]/*/..."];
        let response = get(&paths, Encoding::Proto, data).unwrap();
        let told = told(&response).into_iter();
        let mut names: Vec<_> = told
            .map(|(path, _)| path.rsplit_once("[name=p1]/").unwrap().1.to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        names(DataType::Config),
        ["config/name", "config/type", "name"]
    );
    let state = names(DataType::State);
    assert!(state.contains(&"state/mtu".to_owned()) && !state.contains(&"config/name".to_owned()));
    let operational = names(DataType::Operational);
    assert!(operational.contains(&"state/oper-status".to_owned()));
    assert!(!operational.contains(&"state/mtu".to_owned()));
    assert!(names(DataType::All).len() > state.len());
}

#[test]
fn missing_paths_are_reported() {
    for (asked, code, word) in [
        ("/nix", tonic::Code::Unimplemented, "no module"),
        (
            "/network-instances",
            tonic::Code::Unimplemented,
            "no module",
        ),
        ("/interfaces/*/nix", tonic::Code::Unimplemented, "no module"),
        (
            "/interfaces/interface[nix=p1]",
            tonic::Code::Unimplemented,
            "no module",
        ),
        (
            "/interfaces/interface[name=p1]/state/description",
            tonic::Code::Unimplemented,
            "this switch does not serve it",
        ),
        (
            "/interfaces/interface[name=p9]",
            tonic::Code::NotFound,
            "no such entry",
        ),
        ("cli:/show", tonic::Code::InvalidArgument, "no origin `cli`"),
        ("openconfig:/weir", tonic::Code::Unimplemented, "no module"),
    ] {
        let refusal = get(&[asked], Encoding::Json, DataType::All).unwrap_err();
        assert_eq!(refusal.code(), code, "{asked}: {refusal}");
        assert!(refusal.to_string().contains(word), "{asked}: {refusal}");
    }
    // A list may be empty, and data of a kind may be absent.
    for (asked, data) in [
        (
            "/weir/queues/queue[interface=*][priority=*]/level",
            DataType::All,
        ),
        ("/weir/deadlocks", DataType::Config),
    ] {
        get(&[asked], Encoding::Json, data).unwrap();
    }
    for encoding in [Encoding::Ascii, Encoding::Bytes] {
        let refusal = get(&["/"], encoding, DataType::All).unwrap_err();
        assert_eq!(refusal.code(), tonic::Code::Unimplemented);
    }
}

#[test]
fn clients_name_modules_in_several_ways() {
    let whole = "/interfaces/interface[name=p1]/state/oper-status";
    for asked in [
        whole,
        "openconfig:/interfaces/interface[name=p1]/state/oper-status",
        "openconfig-interfaces:/interfaces/interface[name=p1]/state/oper-status",
        "/openconfig-interfaces:interfaces/interface[name=p1]/state/oper-status",
    ] {
        let response = get(&[asked], Encoding::Json, DataType::All).unwrap();
        assert_eq!(
            told(&response),
            [(whole.to_owned(), json!("UP"))],
            "{asked}"
        );
    }
    let of_another = "/openconfig-qos:interfaces/interface[name=p1]/state/oper-status";
    assert!(get(&[of_another], Encoding::Json, DataType::All).is_err());
}

#[test]
fn neighbours_system_and_components_are_served_as_openconfig_has_them() {
    let neighbour =
        "/lldp/interfaces/interface[name=p1]/neighbors/neighbor[id=02:00:00:00:00:09 swp1]";
    let chassis = json!({"name": "chassis", "type": "openconfig-platform-types:CHASSIS",
        "oper-status": "openconfig-platform-types:ACTIVE"});
    let began = 1_700_000_000_000_000_000_u64 - 1_500_000_000;
    for (asked, expected) in [
        (
            format!("{neighbour}/state"),
            json!({"id": "02:00:00:00:00:09 swp1", "system-name": "leaf2", "chassis-id": "02:00:00:00:00:09",
                "chassis-id-type": "MAC_ADDRESS", "port-id": "swp1", "port-id-type": "INTERFACE_NAME",
                "ttl": 120, "age": 61}),
        ),
        (
            format!("{neighbour}/capabilities/capability[name=openconfig-lldp-types:ROUTER]/state"),
            json!({"name": "openconfig-lldp-types:ROUTER", "enabled": true}),
        ),
        (
            "/system/state".to_owned(),
            json!({"hostname": "s1", "software-version": "0.1.0", "up-time": 1_500_000_000,
                "boot-time": began}),
        ),
        (
            "/system/processes/process[pid=1]/state".to_owned(),
            json!({"pid": 1, "name": "weir-switchd"}),
        ),
        (
            "/components/component[name=chassis]/state".to_owned(),
            chassis,
        ),
        (
            "/components/component[name=p1]/state/oper-status".to_owned(),
            json!("openconfig-platform-types:ACTIVE"),
        ),
        (
            "/components/component[name=weir-switchd]/state/software-version".to_owned(),
            json!("0.1.0"),
        ),
    ] {
        let response = get(&[&asked], Encoding::Json, DataType::All).unwrap();
        assert_eq!(told(&response), [(asked, expected)]);
    }
    let none = get(
        &["/lldp/interfaces/interface[name=p2]/neighbors"],
        Encoding::Json,
        DataType::All,
    );
    assert!(none.map_or(true, |response| told(&response).is_empty()));
}

/// Every leaf is in the list of all leaves, which is used to check paths and shown in the book.
#[test]
fn the_tree_has_no_leaf_that_the_modules_do_not_have() {
    let tree = Tree::new(&state());
    for node in tree.nodes() {
        for leaf in &node.leaves {
            let path = crate::path::to_wire(&node.path, Some(leaf.name));
            let pattern = Pattern::new(None, &path).unwrap();
            assert!(pattern.is_served(), "{}", crate::path::written(&path));
        }
    }
    // Weir's own module is not one of OpenConfig's.
    for (elems, leaf) in schema::WAYS
        .iter()
        .filter(|(elems, _)| elems[0].name != "weir")
    {
        let way = (elems.clone(), *leaf);
        assert!(schema::OPENCONFIG.contains(&way), "{way:?}");
    }
    let names: Vec<_> = schema::rows()
        .iter()
        .map(|row| (row.container, row.name))
        .collect();
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), names.len());
}

#[test]
fn too_large_requests_are_refused_with_the_bound() {
    let elem = |name: &str| PathElem {
        name: name.to_owned(),
        ..PathElem::default()
    };
    let deep = Path {
        elem: vec![elem("..."); 33],
        ..Path::default()
    };
    let long = Path {
        elem: vec![elem(&"x".repeat(256))],
        ..Path::default()
    };
    let mut keys = elem("interfaces");
    keys.key = (0..9)
        .map(|key| (key.to_string(), "*".to_owned()))
        .collect();
    let keys = Path {
        elem: vec![keys],
        ..Path::default()
    };
    let mut huge = elem("interface");
    huge.key.insert("name".to_owned(), "y".repeat(60_000));
    let huge = Path {
        elem: vec![huge],
        ..Path::default()
    };
    for (path, bound) in [(deep, "32"), (long, "255"), (keys, "8"), (huge, "255")] {
        let refusal = Pattern::new(None, &path).unwrap_err();
        assert_eq!(refusal.code(), tonic::Code::InvalidArgument);
        let text = refusal.to_string();
        assert!(
            text.contains(&format!("at most {bound}")) && text.len() < 200,
            "{text}"
        );
    }
    let refusal = get(&["/"; 65], Encoding::Json, DataType::All).unwrap_err();
    assert!(refusal.to_string().contains("at most 64"), "{refusal}");
}

#[test]
fn invalid_utf_8_is_no_message() {
    let mut bytes = Path {
        elem: vec![PathElem {
            name: "interfaces".to_owned(),
            ..PathElem::default()
        }],
        ..Path::default()
    }
    .encode_to_vec();
    let place = bytes.iter().position(|byte| *byte == b'f').unwrap();
    bytes[place] = 0xff;
    assert!(Path::decode(bytes.as_slice()).is_err());
}
