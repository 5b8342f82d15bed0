//! Files of real switches: chassis, dual uplinks, tables of new releases, and traces of text editors.

use serde_json::json;
use weir_config::daemon::DaemonConfig;
use weir_core::Priority;

use super::super::notes::{Kind, Note, Report};
use super::super::{convert, dropped, json};
use super::{good, sample, with_members, with_profile};

fn about<'a>(notes: &'a [Note], kind: Kind, path: &str) -> Vec<&'a str> {
    let ours = notes.iter().filter(|n| n.kind == kind && n.path == path);
    ours.map(|note| note.message.as_str()).collect()
}

#[test]
fn the_last_vlan_is_one() {
    let mut root = with_members(&[("Vlan4094|Ethernet0", "tagged")]);
    root["VLAN"]["Vlan4094"] = json!({"vlanid": "4094"});
    let (_, config) = good(&root);
    let trunks = config.ports[0].trunks.unwrap().ranges();
    assert_eq!(trunks.len(), 1);
    assert_eq!(trunks[0].0.get(), 4094);

    root["VLAN"]["Vlan4094"] = json!({"vlanid": "4095"});
    let (_, outcome) = convert(&root, "f", Report::default());
    assert_eq!(outcome.unwrap_err()[0].path, "VLAN|Vlan4094.vlanid");
}

/// Returns two ports that map DSCP 33 to traffic class 8, and 34 to 9, which has queue 9; priority 3 is lossless.
fn with_high_classes() -> serde_json::Value {
    let mut root = with_profile(json!({"static_th": "90000", "xoff": "40000", "xon": "30000"}));
    root["DSCP_TO_TC_MAP"] = json!({"M": {"33": "8", "34": "9", "26": "3"}});
    root["TC_TO_QUEUE_MAP"] = json!({"M": {"3": "3", "8": "1", "9": "9"}});
    root["TC_TO_PRIORITY_GROUP_MAP"] = json!({"M": {"3": "3", "8": "0", "15": "0"}});
    root["PORT_QOS_MAP"]["Ethernet0,Ethernet4"] = json!({
        "pfc_enable": "3", "dscp_to_tc_map": "M", "tc_to_queue_map": "M", "tc_to_pg_map": "M",
    });
    root
}

#[test]
fn traffic_classes_above_7_have_the_priority_of_their_queue() {
    let (notes, config) = good(&with_high_classes());
    let map = config.ports[0].dscp_map.map(Priority::get);
    assert_eq!((map[33], map[34], map[26]), (1, 0, 3));
    let told = about(&notes, Kind::Changed, "DSCP_TO_TC_MAP|M.34");
    assert_eq!(
        told,
        ["traffic class 9 has queue 9; there are queues 0 to 7, and priority 0 is written"]
    );
    assert!(about(&notes, Kind::Changed, "DSCP_TO_TC_MAP|M.33").is_empty());

    for (table, key, value) in [
        ("DSCP_TO_TC_MAP", "33", "16"),
        ("TC_TO_QUEUE_MAP", "16", "1"),
        ("TC_TO_PRIORITY_GROUP_MAP", "8", "8"),
    ] {
        let mut root = with_high_classes();
        root[table]["M"][key] = json!(value);
        let (_, outcome) = convert(&root, "f", Report::default());
        assert_eq!(
            outcome.unwrap_err()[0].path,
            format!("{table}|M.{key}"),
            "{value}"
        );
    }
}

#[test]
fn queues_of_a_chassis_are_those_of_its_own_line_card() {
    let mut root = sample();
    root["DEVICE_METADATA"]["localhost"] = json!({"hostname": "lc1", "asic_name": "asic0"});
    root["SCHEDULER"] =
        json!({"own": {"type": "DWRR", "weight": "14"}, "other": {"type": "STRICT"}});
    root["QUEUE"] = json!({
        "lc1|asic0|Ethernet0|6": {"scheduler": "own"},
        "lc1|asic1|Ethernet0|6": {"scheduler": "other"},
        "lc2|asic0|Ethernet300|6": {"scheduler": "other"},
        "CPU|0-47": {"scheduler": "other"},
    });
    let (notes, config) = good(&root);
    assert_eq!(config.class_of(Priority::ALL[6]).unwrap().weight, 14);
    for path in [
        "lc1|asic1|Ethernet0|6",
        "lc2|asic0|Ethernet300|6",
        "CPU|0-47",
    ] {
        let told = about(&notes, Kind::NotCarried, &format!("QUEUE|{path}"));
        assert_eq!(told.len(), 1, "{path}");
    }

    root["QUEUE"] = json!({"lc1|asic0|Ethernet301|6": {"scheduler": "own"}});
    let (_, outcome) = convert(&root, "f", Report::default());
    assert_eq!(
        outcome.unwrap_err()[0].message,
        "there is no PORT|Ethernet301"
    );
}

#[test]
fn what_an_object_has_twice_is_noted_and_the_last_one_counts() {
    let text = r#"{"PORT": {"Ethernet0": {"speed": "1000"}},
        "PORT": {"Ethernet4": {"speed": "1000", "speed": "10000"}, "Ethernet8": {}, "Ethernet8": {"speed": "1000"}}}"#;
    let report = Report::default();
    let root = json::parse(text.as_bytes(), &report).unwrap();
    let (notes, outcome) = convert(&root, "f", report);
    let config = DaemonConfig::parse(&outcome.unwrap(), std::path::Path::new("f")).unwrap();
    let names: Vec<&str> = config.ports.iter().map(|port| &*port.name).collect();
    assert_eq!(names, ["Ethernet4", "Ethernet8"]);
    for path in ["PORT", "PORT|Ethernet4.speed", "PORT|Ethernet8"] {
        let told = about(&notes, Kind::Changed, path);
        assert_eq!(
            told,
            ["appears several times; only the last one is used, as in SONiC"],
            "{path}"
        );
    }
    assert!(about(&notes, Kind::Changed, "PORT|Ethernet8.speed").is_empty());
}

#[test]
fn a_byte_order_mark_is_read_over() {
    let report = Report::default();
    assert_eq!(
        json::parse("\u{feff}{\"PORT\": {}}".as_bytes(), &report),
        Ok(json!({"PORT": {}}))
    );
    let utf_16: Vec<u8> = "\u{feff}{}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(
        json::parse(&utf_16, &report),
        Err("is UTF-16; save it as UTF-8".to_owned())
    );
    assert!(report.into_parts().0.is_empty());
}

/// SONiC tables without a counterpart in Weir, from its models of 2018 to 2026.
const TABLES: &str = "AAA BGP_DEVICE_GLOBAL BGP_INTERNAL_NEIGHBOR BGP_MONITORS BREAKOUT_CFG CHASSIS_MODULE CONSOLE_PORT COPP_GROUP \
    COPP_TRAP DEBUG_COUNTER DHCP_RELAY DNS_NAMESERVER DSCP_TO_FC_MAP FABRIC_MONITOR FG_NHG GNMI_CLIENT_CERT KUBERNETES_MASTER \
    LLDP LOGGER MACSEC_PROFILE MCLAG_DOMAIN MGMT_VRF_CONFIG MPLS_TC_TO_TC_MAP MUX_CABLE MUX_LINKMGR NAT_GLOBAL NEIGH NTP \
    PASSW_HARDENING PBH_TABLE PEER_SWITCH POLICER PORT_STORM_CONTROL RADIUS SFLOW SNMP_USER SSH_SERVER STP SWITCH_HASH \
    SYSLOG_CONFIG SYSTEM_DEFAULTS SYSTEM_PORT TUNNEL VNET VOQ_INBAND_INTERFACE VRF VXLAN_TUNNEL WARM_RESTART ZTP";

#[test]
fn sonics_own_tables_and_fields_are_known_by_name() {
    let mut root = sample();
    for table in TABLES.split_whitespace() {
        assert!(dropped::reason_to_drop(table).is_some(), "{table}");
        root[table] = json!({"x": {"y": "z"}});
    }
    for field in [
        "subtype",
        "peer_switch",
        "switch_type",
        "asic_name",
        "timezone",
    ] {
        root["DEVICE_METADATA"]["localhost"][field] = json!("x");
    }
    for field in ["core_id", "num_voq", "subport", "mux_cable"] {
        root["PORT"]["Ethernet0"][field] = json!("1");
    }
    let (notes, _) = good(&root);
    let unknown: Vec<&str> = notes
        .iter()
        .filter(|note| note.kind == Kind::Unknown)
        .map(|note| note.path.as_str())
        .collect();
    assert_eq!(unknown, ["FLUX_CAPACITOR"]);
}
