//! The mapping's numbers, and arbitrary JSON.

mod files;
mod pools;

use proptest::prelude::*;
use serde_json::{json, Value};
use weir_config::daemon::DaemonConfig;
use weir_core::{Algorithm, BitRate, Bytes, ClassMode, Priority, VlanId, VlanMode};

use super::notes::Kind;
use super::*;

const SAMPLE: &str = include_str!("../../../tests/data/config_db.json");

fn sample() -> Value {
    serde_json::from_str(SAMPLE).unwrap()
}

fn good(root: &Value) -> (Vec<Note>, DaemonConfig) {
    let (notes, text) = convert(root, "f", Report::default());
    let config = DaemonConfig::parse(&text.unwrap(), Path::new("f")).unwrap();
    (notes, config)
}

fn paths(problems: Vec<Problem>) -> Vec<String> {
    problems.into_iter().map(|problem| problem.path).collect()
}

fn thresholds(config: &DaemonConfig, priority: usize) -> (u64, u64, u64) {
    match config.class_of(Priority::ALL[priority]).unwrap().mode {
        ClassMode::Pfc(of) => (of.xoff().get(), of.xon().get(), of.headroom().get()),
        _ => panic!("priority {priority} is not lossless"),
    }
}

/// Returns two ports with priority 3 lossless, and these fields of the profile.
fn with_profile(profile: Value) -> Value {
    json!({
        "DEVICE_METADATA": {"localhost": {"hostname": "s"}},
        "PORT": {"Ethernet0": {"speed": "10000"}, "Ethernet4": {"speed": "10000"}},
        "PORT_QOS_MAP": {"Ethernet0,Ethernet4": {"pfc_enable": "3"}},
        "BUFFER_POOL": {"pool": {"size": "3000000"}},
        "BUFFER_PROFILE": {"p": profile},
        "BUFFER_PG": {"Ethernet0,Ethernet4|3": {"profile": "p"}},
    })
}

/// Returns the sample with its `PFC_WD` under the name of old releases.
fn old_sample() -> Value {
    let mut root = sample();
    let tables = root.as_object_mut().unwrap();
    let rows = tables.remove("PFC_WD").unwrap();
    tables.insert("PFC_WD_TABLE".to_owned(), rows);
    root
}

#[test]
fn the_watchdog_has_an_old_name() {
    let (notes, config) = good(&sample());
    let (old_notes, old_config) = good(&old_sample());
    assert_eq!(old_config, config);
    let is_ours = |note: &&Note| note.path.starts_with("PFC_WD");
    let told = |notes: &[Note]| -> Vec<String> {
        let ours = notes.iter().filter(is_ours);
        ours.map(|note| note.path.replace("PFC_WD_TABLE", "PFC_WD"))
            .collect()
    };
    assert!(!told(&notes).is_empty());
    assert_eq!(told(&old_notes), told(&notes));

    // If both exist, the new one counts.
    let mut both = old_sample();
    both["PFC_WD"] = json!({"Ethernet0": {"action": "drop", "detection_time": "300", "restoration_time": "200"}});
    let (_, config) = good(&both);
    let detection = |name: &str| {
        let port = config.ports.iter().find(|port| port.name == name).unwrap();
        config.watchdog(port).unwrap().detection
    };
    assert_eq!(detection("Ethernet0").as_nanos(), 300_000_000);
    assert_eq!(detection("Ethernet4").as_nanos(), 200_000_000);
}

#[test]
fn a_static_threshold_is_carried_over_as_it_is() {
    let (_, config) = good(&with_profile(json!({
        "pool": "pool", "size": "2000", "static_th": 50000, "xoff": "40000", "xon": "30000", "xon_offset": "4000",
    })));
    // 2000 B cannot contain the headroom, which is therefore separate.
    assert_eq!(thresholds(&config, 3), (52_000, 48_000, 40_000));
}

#[test]
fn a_size_with_the_headroom_in_it_reserves_the_rest() {
    let (_, config) = good(&with_profile(json!({
        "pool": "pool", "size": "45000", "static_th": "50000", "xoff": "40000", "xon": "30000",
    })));
    assert_eq!(thresholds(&config, 3), (55_000, 30_000, 40_000));
}

#[test]
fn the_largest_thresholds_count_where_ports_differ() {
    let mut root = with_profile(json!({"static_th": "90000", "xoff": "40000", "xon": "30000"}));
    root["BUFFER_PROFILE"]["q"] = json!({"static_th": "80000", "xoff": "60000", "xon": "20000"});
    root["BUFFER_PG"] =
        json!({"Ethernet0|3": {"profile": "p"}, "Ethernet4|3": {"profile": "[BUFFER_PROFILE|q]"}});
    let (notes, config) = good(&root);
    assert_eq!(thresholds(&config, 3), (90_000, 30_000, 60_000));
    assert!(notes
        .iter()
        .any(|n| n.path == "BUFFER_PG" && n.kind == Kind::Changed));
}

#[test]
fn a_lossless_priority_without_profile_gets_room_for_a_round_trip() {
    let mut root = with_profile(json!({}));
    root["BUFFER_PG"]["Ethernet0,Ethernet4|3"]["profile"] = json!("NULL");
    let (notes, config) = good(&root);
    let (xoff, xon, headroom) = thresholds(&config, 3);
    // 1 ms at 10 Gbit/s is 1.25 MB.
    assert!((1_253_044..1_260_000).contains(&headroom), "{headroom}");
    assert!(xoff == headroom && xon < xoff);
    assert!(notes
        .iter()
        .any(|n| n.path == "BUFFER_PG" && n.kind == Kind::Assumed));
}

#[test]
fn traffic_classes_become_the_priority_that_pauses_their_queue() {
    let mut root = with_profile(json!({"static_th": "90000", "xoff": "40000", "xon": "30000"}));
    root["DSCP_TO_TC_MAP"] = json!({"M": {"10": "1", "26": "5"}});
    root["TC_TO_QUEUE_MAP"] = json!({"M": {"1": "2", "5": "6"}});
    root["TC_TO_PRIORITY_GROUP_MAP"] = json!({"M": {"5": "4"}});
    root["MAP_PFC_PRIORITY_TO_QUEUE"] = json!({"M": {"3": "6"}});
    root["PORT_QOS_MAP"] = json!({"Ethernet0,Ethernet4": {
        "pfc_enable": "3", "dscp_to_tc_map": "M", "tc_to_queue_map": "[TC_TO_QUEUE_MAP|M]",
        "tc_to_pg_map": "M", "pfc_to_queue_map": "M",
    }});
    root["BUFFER_PG"] = json!({"Ethernet0,Ethernet4|4": {"profile": "p"}});
    root["SCHEDULER"] = json!({"s": {"type": "DWRR", "weight": "7"}});
    root["QUEUE"] = json!({"Ethernet0|6": {"scheduler": "s"}});
    let (notes, config) = good(&root);
    let map = config.ports[0].dscp_map.map(Priority::get);
    assert_eq!((map[10], map[26], map[63]), (2, 3, 0));
    assert_eq!(thresholds(&config, 3), (90_000, 30_000, 40_000));
    assert_eq!(config.class_of(Priority::ALL[3]).unwrap().weight, 7);
    let path = "PORT_QOS_MAP|Ethernet0,Ethernet4.pfc_to_queue_map";
    assert!(notes
        .iter()
        .any(|n| n.path == path && n.kind == Kind::Changed));
}

#[test]
fn strict_queues_and_their_rates_are_carried_over() {
    let mut root = sample();
    root["SCHEDULER"] = json!({
        "s": {"type": "STRICT", "weight": "25", "meter_type": "bytes", "cir": "1250000", "pir": "125000000", "pbs": "8192"},
        "p": {"type": "STRICT", "meter_type": "packets", "pir": "1000"},
    });
    root["QUEUE"] = json!({"Ethernet0|6": {"scheduler": "s"}, "Ethernet0|5": {"scheduler": "p"}});
    let (notes, config) = good(&root);
    let class = |priority: usize| config.class_of(Priority::ALL[priority]).unwrap().clone();
    assert_eq!(
        (class(6).weight, class(6).scheduler.algorithm),
        (1, Algorithm::Strict)
    );
    assert_eq!(class(6).scheduler.rate_min, Some(BitRate::from_mbit(10)));
    assert_eq!(class(6).scheduler.rate_max, Some(BitRate::from_mbit(1000)));
    assert_eq!(class(5).scheduler.rate_max, None);
    for path in ["SCHEDULER|s.pbs", "SCHEDULER|p.pir"] {
        assert!(notes
            .iter()
            .any(|note| note.path == path && note.kind == Kind::NotCarried));
    }
}

#[test]
fn only_green_marking_is_carried_over() {
    for (marks, is_marking) in [("ecn_green", true), ("ecn_all", true), ("ecn_red", false)] {
        let mut root = sample();
        root["WRED_PROFILE"]["AZURE_LOSSLESS"]["ecn"] = json!(marks);
        let (_, config) = good(&root);
        let ecn = config.class_of(Priority::ALL[3]).unwrap().ecn;
        assert_eq!(
            ecn.map(|ecn| ecn.kmin),
            is_marking.then_some(Bytes::new(250_000))
        );
    }
}

#[test]
fn all_problems_are_reported_at_once_with_their_paths() {
    let mut root = sample();
    root["PORT"]["Ethernet0"]["speed"] = json!(["40000"]);
    root["BUFFER_PROFILE"]["ingress_lossy_profile"]["dynamic_th"] = json!("9");
    root["PORT_QOS_MAP"]["Ethernet4"]["dscp_to_tc_map"] = json!("[DSCP_TO_TC_MAP|NOWHERE]");
    root["QUEUE"]["Ethernet99|3"] = json!({});
    root["SCHEDULER"] = json!([]);
    let (_, outcome) = convert(&root, "f", Report::default());
    let paths = paths(outcome.unwrap_err());
    for path in [
        "PORT|Ethernet0.speed",
        "BUFFER_PROFILE|ingress_lossy_profile.dynamic_th",
        "PORT_QOS_MAP|Ethernet4.dscp_to_tc_map",
        "QUEUE|Ethernet99|3",
        "QUEUE|Ethernet0|3-4.scheduler",
        "SCHEDULER",
    ] {
        assert!(paths.contains(&path.to_owned()), "{path} in {paths:?}");
    }
}

/// Returns the sample with these VLAN members, each `Vlan10|Ethernet0` and its tagging mode.
fn with_members(members: &[(&str, &str)]) -> Value {
    let mut root = sample();
    root["VLAN"] = json!({"Vlan10": {"vlanid": "10"}, "Vlan11": {}, "Vlan12": {"vlanid": "12"}});
    let row = |(key, mode): &(&str, &str)| ((*key).to_owned(), json!({ "tagging_mode": mode }));
    root["VLAN_MEMBER"] = Value::Object(members.iter().map(row).collect());
    root
}

#[test]
fn members_of_vlans_are_ports_with_tags_and_trunks() {
    let (notes, outcome) = convert(
        &with_members(&[
            ("Vlan10|Ethernet0", "untagged"),
            ("Vlan10|Ethernet4", "tagged"),
            ("Vlan11|Ethernet4", "tagged"),
            ("Vlan10|Ethernet8", "priority_tagged"),
            ("Vlan11|Ethernet8", "tagged"),
            ("Vlan12|Ethernet8", "tagged"),
        ]),
        "f",
        Report::default(),
    );
    let text = outcome.unwrap();
    let config = DaemonConfig::parse(&text, Path::new("f")).unwrap();
    let port = |name: &str| config.ports.iter().find(|port| port.name == name).unwrap();
    let trunks = |name| {
        let set = port(name).trunks.unwrap();
        set.ranges()
            .iter()
            .map(|(a, b)| (a.get(), b.get()))
            .collect::<Vec<_>>()
    };
    let tag = |name| port(name).tag.map(VlanId::get);
    assert_eq!(
        (tag("Ethernet0"), port("Ethernet0").trunks),
        (Some(10), None)
    );
    assert_eq!(port("Ethernet0").vlan_mode(), VlanMode::Access);
    assert_eq!(
        (tag("Ethernet4"), trunks("Ethernet4")),
        (None, vec![(10, 11)])
    );
    assert_eq!(
        (tag("Ethernet8"), trunks("Ethernet8")),
        (Some(10), vec![(11, 12)])
    );
    assert_eq!(port("Ethernet8").vlan_mode(), VlanMode::NativeUntagged);
    // Ports without a VLAN are not trunks for all VLANs.
    assert_eq!(
        (tag("Ethernet12"), trunks("Ethernet12")),
        (None, vec![(0, 0)])
    );
    let about: Vec<&str> = notes.iter().map(|note| note.path.as_str()).collect();
    assert!(about.contains(&"PORT|Ethernet12"));
    assert!(about.contains(&"VLAN_MEMBER|Vlan10|Ethernet8.tagging_mode"));
    assert!(!about.contains(&"VLAN|Vlan10"));
}

#[test]
fn what_no_vlan_can_be_is_refused_and_aggregates_are_told() {
    let mut root = with_members(&[
        ("Vlan10|Ethernet0", "untagged"),
        ("Vlan11|Ethernet0", "untagged"),
        ("Vlan12|Ethernet99", "tagged"),
        ("Vlan13|Ethernet4", "tagged"),
        ("Vlan12|Ethernet8", "striped"),
        ("Vlan12", "tagged"),
        ("Office|Ethernet4", "tagged"),
        ("Vlan5000|Ethernet4", "tagged"),
    ]);
    root["VLAN"]["Office"] = json!({});
    root["VLAN"]["Vlan5000"] = json!({"vlanid": "5000"});
    let (_, outcome) = convert(&root, "f", Report::default());
    let paths = paths(outcome.unwrap_err());
    for path in [
        "VLAN_MEMBER|Vlan11|Ethernet0.tagging_mode",
        "VLAN_MEMBER|Vlan12|Ethernet99",
        "VLAN_MEMBER|Vlan13|Ethernet4",
        "VLAN_MEMBER|Vlan12|Ethernet8.tagging_mode",
        "VLAN_MEMBER|Vlan12",
        "VLAN|Office.vlanid",
        "VLAN|Vlan5000.vlanid",
    ] {
        assert!(paths.contains(&path.to_owned()), "{path} in {paths:?}");
    }
    let mut root = with_members(&[
        ("Vlan10|PortChannel1", "tagged"),
        ("Vlan10|Ethernet0", "untagged"),
    ]);
    root["PORTCHANNEL"] = json!({"PortChannel1": {}});
    let (notes, outcome) = convert(&root, "f", Report::default());
    assert!(outcome.is_ok());
    let of_aggregate = notes
        .iter()
        .find(|note| note.path == "VLAN_MEMBER|Vlan10|PortChannel1");
    assert_eq!(of_aggregate.unwrap().kind, Kind::NotCarried);
}

#[test]
fn cables_give_the_headroom_where_that_of_an_asic_is_less() {
    let of = |config: &DaemonConfig| {
        let class = config.classes.iter().find(|class| class.name == "lossless");
        class.unwrap().clone()
    };
    let (notes, config) = good(&sample());
    assert!(of(&config).headroom_by_cable);
    let length = |port: usize| config.ports[port].cable.unwrap().to_string();
    assert_eq!((length(0), length(6)), ("5m".to_owned(), "300m".to_owned()));
    let told = |notes: &[Note], part: &str| notes.iter().any(|note| note.message.contains(part));
    assert!(told(&notes, "the ports' cables give it here"));

    // A port without a cable length gets the headroom of the longest cable.
    let mut root = sample();
    root["CABLE_LENGTH"]["AZURE"]
        .as_object_mut()
        .unwrap()
        .remove("Ethernet0");
    let (notes, config) = good(&root);
    assert!(!of(&config).headroom_by_cable && config.ports[0].cable.is_none());
    assert!(told(&notes, "not all ports have a CABLE_LENGTH"));

    // Enough for a software switch.
    let mut root = sample();
    for profile in [
        "pg_lossless_100000_300m_profile",
        "pg_lossless_40000_5m_profile",
    ] {
        root["BUFFER_PROFILE"][profile]["xoff"] = json!("67108864");
    }
    let (notes, config) = good(&root);
    assert!(!of(&config).headroom_by_cable);
    assert!(!told(&notes, "cables ask for"));
    let headroom = of(&config).mode.thresholds().unwrap().headroom();
    assert_eq!(headroom, Bytes::new(64 << 20));
}

/// Names and values that a database may have, including hostile ones.
fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "0",
            "1",
            "3,4",
            "-3",
            "8",
            "18446744073709551615",
            "1099511627776",
            "99999999999999999999",
            "AZURE",
            "[DSCP_TO_TC_MAP|AZURE]",
            "[x",
            "NULL",
            "Ethernet0",
            "STRICT",
            "ecn_none",
            "0m",
            "1e9",
            "a\u{0}\n\"b",
        ])
        .prop_map(Value::from),
        ".*".prop_map(Value::from),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        prop::sample::select(vec![
            "PORT",
            "PORT_QOS_MAP",
            "BUFFER_PG",
            "BUFFER_PROFILE",
            "BUFFER_POOL",
            "QUEUE",
            "PFC_WD",
            "CABLE_LENGTH",
            "VLAN",
            "VLAN_MEMBER",
            "Ethernet0",
            "Ethernet0|3-4",
            "speed",
            "pfc_enable",
            "profile",
            "AZURE",
        ])
        .prop_map(str::to_owned),
        ".*",
    ];
    scalar().prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Stores `value` at the place chosen by the numbers.
fn put(root: &mut Value, way: &[usize], value: Value) {
    let Some((first, rest)) = way.split_first() else {
        *root = value;
        return;
    };
    match root {
        Value::Object(map) if !map.is_empty() => {
            let place = first % map.len();
            put(map.values_mut().nth(place).unwrap(), rest, value);
        }
        _ => *root = value,
    }
}

fn is_sound(root: &Value) {
    let (_, outcome) = convert(root, "f\n", Report::default());
    match outcome {
        Ok(text) => assert!(DaemonConfig::parse(&text, Path::new("f")).is_ok(), "{text}"),
        Err(problems) => assert!(!problems.is_empty()),
    }
}

proptest! {
    #[test]
    fn any_json_is_converted_or_refused(root in any_json()) {
        is_sound(&root);
    }

    #[test]
    fn a_sample_with_anything_in_it_is_converted_or_refused(
        changes in prop::collection::vec((prop::collection::vec(any::<usize>(), 1..4), any_json()), 1..4),
        leaf in prop::collection::vec((prop::collection::vec(any::<usize>(), 3), scalar()), 0..6),
    ) {
        let mut root = sample();
        for (way, value) in changes.into_iter().skip(leaf.len() % 4).chain(leaf) {
            put(&mut root, &way, value);
        }
        is_sound(&root);
    }
}
