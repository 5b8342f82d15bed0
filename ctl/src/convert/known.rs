//! What SONiC's tables and fields are to Weir: carried over, or not and why.

use super::database::Database;
use super::notes::Kind;

/// A table that is read.
struct Carried {
    name: &'static str,
    /// Fields that are carried over; `None` for a map, whose keys are numbers or ports.
    fields: Option<&'static [&'static str]>,
    /// Fields that are not, and why.
    dropped: &'static [(&'static str, &'static str)],
}

/// The PFC storm watchdog, and what old releases of SONiC call it.
pub const PFC_WD: &str = "PFC_WD";
pub const PFC_WD_OLD: &str = "PFC_WD_TABLE";

const DEVICE: &str = "belongs to the device: set it with ip link or ethtool";
const NO_BURST: &str =
    "a rate lets a queue catch up as far as its port's shaper does (dataplane.shaper-burst)";
const NO_COLOUR: &str = "frames have no colours; all are treated as SONiC's green ones";
const NO_EARLY_DROP: &str = "frames are marked, never dropped early";
const IDENTITY: &str = "describes the device; not used here";

const CARRIED: &[Carried] = &[
    Carried {
        name: "DEVICE_METADATA",
        fields: Some(&["hostname"]),
        dropped: &[
            ("mac", "control frames are sent from each device's own address; set port.address for another"),
            ("default_pfcwd_status", "only ports in PFC_WD are watched; set pfcwd.enabled for all"),
            ("type", IDENTITY),
            ("hwsku", IDENTITY),
            ("platform", IDENTITY),
            ("cloudtype", IDENTITY),
            ("region", IDENTITY),
            ("deployment_id", IDENTITY),
            ("bgp_asn", "there is no routing protocol here; write [[route]]"),
            ("docker_routing_config_mode", "there is no routing protocol here; write [[route]]"),
            ("buffer_model", "thresholds are static; they are computed from the file's profiles"),
            ("default_bgp_status", "there is no routing protocol here; write [[route]]"),
            ("synchronous_mode", IDENTITY),
        ],
    },
    Carried {
        name: "PORT",
        fields: Some(&["speed", "mtu", "alias"]),
        dropped: &[
            ("lanes", DEVICE),
            ("index", DEVICE),
            ("admin_status", DEVICE),
            ("fec", DEVICE),
            ("autoneg", DEVICE),
            ("adv_speeds", DEVICE),
            ("interface_type", DEVICE),
            ("adv_interface_types", DEVICE),
            ("link_training", DEVICE),
            ("description", "ports have names only"),
            ("tpid", "VLAN tags are always 802.1Q and 802.1ad"),
            ("pfc_asym", "PFC always works in both directions"),
            ("role", "SONiC's port role has another meaning; fabric and edge come from DEVICE_NEIGHBOR"),
        ],
    },
    Carried {
        name: "PORT_QOS_MAP",
        fields: Some(&[
            "pfc_enable", "dscp_to_tc_map", "dot1p_to_tc_map", "tc_to_queue_map", "tc_to_pg_map",
            "pfc_to_queue_map", "pfc_to_pg_map", "pfcwd_sw_enable",
        ]),
        dropped: &[
            ("scheduler", "a port sends at its rate; set port.rate for less"),
            ("tc_to_dscp_map", "frames keep their DSCP"),
            ("tc_to_dot1p_map", "frames keep their PCP"),
        ],
    },
    Carried { name: "DSCP_TO_TC_MAP", fields: None, dropped: &[] },
    Carried { name: "DOT1P_TO_TC_MAP", fields: None, dropped: &[] },
    Carried { name: "TC_TO_QUEUE_MAP", fields: None, dropped: &[] },
    Carried { name: "TC_TO_PRIORITY_GROUP_MAP", fields: None, dropped: &[] },
    Carried { name: "MAP_PFC_PRIORITY_TO_QUEUE", fields: None, dropped: &[] },
    Carried { name: "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", fields: None, dropped: &[] },
    Carried { name: "CABLE_LENGTH", fields: None, dropped: &[] },
    Carried {
        name: "WRED_PROFILE",
        fields: Some(&["green_min_threshold", "green_max_threshold", "green_drop_probability", "ecn"]),
        dropped: &[
            ("wred_green_enable", NO_EARLY_DROP),
            ("wred_yellow_enable", NO_EARLY_DROP),
            ("wred_red_enable", NO_EARLY_DROP),
            ("yellow_min_threshold", NO_COLOUR),
            ("yellow_max_threshold", NO_COLOUR),
            ("yellow_drop_probability", NO_COLOUR),
            ("red_min_threshold", NO_COLOUR),
            ("red_max_threshold", NO_COLOUR),
            ("red_drop_probability", NO_COLOUR),
        ],
    },
    Carried { name: "QUEUE", fields: Some(&["scheduler", "wred_profile"]), dropped: &[] },
    Carried {
        name: "SCHEDULER",
        fields: Some(&["type", "weight", "meter_type", "cir", "pir"]),
        dropped: &[
            ("cbs", NO_BURST), ("pbs", NO_BURST),
            ("priority", "of strict classes the highest priority goes first"),
        ],
    },
    Carried {
        name: "BUFFER_POOL",
        fields: Some(&["size", "type", "mode", "xoff"]),
        dropped: &[("percentage", "the pool's size is used")],
    },
    Carried {
        name: "BUFFER_PROFILE",
        fields: Some(&["pool", "size", "xoff", "xon", "xon_offset", "dynamic_th", "static_th"]),
        dropped: &[
            ("headroom_type", "the profile's headroom is used"),
            ("packet_discard_action", "a frame without room is dropped"),
        ],
    },
    Carried { name: "BUFFER_PG", fields: Some(&["profile"]), dropped: &[] },
    Carried {
        name: "VLAN",
        fields: Some(&["vlanid"]),
        dropped: &[
            ("members", "VLAN_MEMBER says which ports are members, and how"),
            ("admin_status", "a VLAN is there for as long as ports have it"),
            ("mtu", "all VLANs share dataplane.mtu"),
            ("mac", NO_ROUTER),
            ("dhcp_servers", HOST),
            ("dhcpv6_servers", HOST),
            ("description", "VLANs have numbers only"),
            ("alias", "VLANs have numbers only"),
            ("host_ifname", IDENTITY),
        ],
    },
    Carried { name: "VLAN_MEMBER", fields: Some(&["tagging_mode"]), dropped: &[] },
    Carried {
        name: PFC_WD,
        fields: Some(&["action", "detection_time", "restoration_time"]),
        dropped: &[
            ("POLL_INTERVAL", "storms are detected by events, without polling"),
            ("BIG_RED_SWITCH", "has no counterpart"),
            ("pfc_stat_history", "see switchctl pfcwd show stats, and /metrics"),
        ],
    },
    Carried { name: "DEVICE_NEIGHBOR", fields: Some(&["name"]), dropped: &[("port", IDENTITY)] },
    Carried {
        name: "DEVICE_NEIGHBOR_METADATA",
        fields: Some(&["type"]),
        dropped: &[
            ("hwsku", IDENTITY), ("mgmt_addr", IDENTITY), ("lo_addr", IDENTITY),
            ("local_port", IDENTITY), ("cluster", IDENTITY), ("deployment_id", IDENTITY),
        ],
    },
];

const NO_ROUTER: &str = "frames are forwarded by MAC address; write [[route]]";
const NO_EGRESS_LIMIT: &str =
    "buffers are charged at the ingress; an egress queue has no limit of its own";
const HOST: &str = "belongs to the host";

/// Whether what is not carried over says nothing of the switch.
pub fn is_beside(message: &str) -> bool {
    [DEVICE, IDENTITY, HOST].contains(&message)
}

/// Tables that are known and have no counterpart.
const DROPPED: &[(&str, &str)] = &[
    ("BGP_NEIGHBOR", NO_ROUTER),
    ("BGP_PEER_RANGE", NO_ROUTER),
    ("INTERFACE", NO_ROUTER),
    ("LOOPBACK_INTERFACE", NO_ROUTER),
    ("PORTCHANNEL_INTERFACE", NO_ROUTER),
    ("VLAN_INTERFACE", NO_ROUTER),
    ("STATIC_ROUTE", NO_ROUTER),
    ("VLAN_SUB_INTERFACE", NO_ROUTER),
    (
        "PORTCHANNEL",
        "there are no link aggregates; list the members in the ports of a [[route]]",
    ),
    (
        "PORTCHANNEL_MEMBER",
        "there are no link aggregates; list the members in the ports of a [[route]]",
    ),
    ("BUFFER_QUEUE", NO_EGRESS_LIMIT),
    ("BUFFER_PORT_EGRESS_PROFILE_LIST", NO_EGRESS_LIMIT),
    (
        "BUFFER_PORT_INGRESS_PROFILE_LIST",
        "a port has no limit besides those of its priorities",
    ),
    (
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
        "thresholds are static; they are computed from the file's profiles",
    ),
    (
        "LOSSLESS_TRAFFIC_PATTERN",
        "thresholds are static; they are computed from the file's profiles",
    ),
    ("ACL_TABLE", "there are no access lists"),
    ("ACL_RULE", "there are no access lists"),
    ("MIRROR_SESSION", "use switchctl capture"),
    ("FLEX_COUNTER_TABLE", "counters are always on, at /metrics"),
    ("CRM", "see the capacities in [forwarding] and [flows]"),
    ("TC_TO_DSCP_MAP", "frames keep their DSCP"),
    ("TC_TO_DOT1P_MAP", "frames keep their PCP"),
    ("MGMT_INTERFACE", HOST),
    ("MGMT_PORT", HOST),
    ("NTP_SERVER", HOST),
    ("SYSLOG_SERVER", HOST),
    ("TACPLUS_SERVER", HOST),
    ("TACPLUS", HOST),
    ("FEATURE", HOST),
    ("CONTAINER_FEATURE", HOST),
    ("AUTO_TECHSUPPORT", HOST),
    ("AUTO_TECHSUPPORT_FEATURE", HOST),
    ("SNMP", HOST),
    ("SNMP_COMMUNITY", HOST),
    ("DHCP_SERVER", HOST),
    ("KDUMP", HOST),
    ("CONSOLE_SWITCH", HOST),
    ("RESTAPI", HOST),
    ("TELEMETRY", HOST),
    ("GNMI", HOST),
    ("VERSIONS", "the file's own version"),
];

/// Notes all that is not carried over, and refuses tables of the wrong shape.
pub fn survey(database: Database<'_>) {
    let report = database.report();
    for (name, table) in database.tables() {
        let current = if name == PFC_WD_OLD { PFC_WD } else { name };
        let Some(carried) = CARRIED.iter().find(|carried| carried.name == current) else {
            match DROPPED.iter().find(|(dropped, _)| *dropped == name) {
                Some((_, why)) => report.note(Kind::NotCarried, name, *why),
                None => report.note(
                    Kind::Unknown,
                    name,
                    "unknown table; check whether it matters",
                ),
            }
            continue;
        };
        database.check_shape(name, table);
        let Some(fields) = carried.fields else {
            continue;
        };
        for row in database.rows(name) {
            for field in row.fields().filter(|f| *f != "NULL" && !fields.contains(f)) {
                match carried
                    .dropped
                    .iter()
                    .find(|(dropped, _)| *dropped == field)
                {
                    Some((_, why)) => report.note(Kind::NotCarried, row.path_of(field), *why),
                    None => report.note(
                        Kind::Unknown,
                        row.path_of(field),
                        "unknown field; check whether it matters",
                    ),
                }
            }
        }
    }
}

/// Tables whose rows count only where another names them.
const NAMED: &[&str] = &[
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "DOT1P_TO_TC_MAP",
    "DSCP_TO_TC_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "SCHEDULER",
    "TC_TO_PRIORITY_GROUP_MAP",
    "TC_TO_QUEUE_MAP",
    "VLAN",
    "WRED_PROFILE",
];

/// Notes the rows that nothing names, after all that is carried over has been read.
pub fn left_over(database: Database<'_>) {
    let report = database.report();
    for table in NAMED {
        for row in database.rows(table) {
            if !report.is_named(&row.path()) {
                let message = "nothing that is converted refers to it";
                report.note(Kind::NotCarried, row.path(), message);
            }
        }
    }
}
