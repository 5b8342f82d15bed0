//! SONiC's tables and fields: which are converted, and reasons against the others.

use super::database::Database;
use super::dropped::{reason_to_drop, DEVICE, HOST, IDENTITY, NO_ROUTER};
use super::notes::Kind;

struct Carried {
    name: &'static str,
    /// Converted fields; `None` for a map, whose keys are numbers or ports.
    fields: Option<&'static [&'static str]>,
    /// Fields that are not converted, with the reason.
    dropped: &'static [(&'static str, &'static str)],
}

/// The PFC storm watchdog, and its name in old releases of SONiC.
pub const PFC_WD: &str = "PFC_WD";
pub const PFC_WD_OLD: &str = "PFC_WD_TABLE";

const NO_ROUTING: &str = "there is no routing protocol here; write [[route]]";
const NO_BURST: &str =
    "a rate lets a queue catch up as far as its port's shaper does (dataplane.shaper-burst)";
const NO_COLOUR: &str = "frames have no colours; all are treated as SONiC's green ones";
const NO_EARLY_DROP: &str = "frames are marked, never dropped early";

const CARRIED: &[Carried] = &[
    Carried {
        name: "DEVICE_METADATA",
        fields: Some(&["hostname"]),
        dropped: &[
            ("mac", "control frames are sent from each device's own address; set port.address for another"),
            ("default_pfcwd_status", "ports in PFC_WD and edge ports are watched; set pfcwd.enabled for all"),
            ("type", IDENTITY),
            ("hwsku", IDENTITY),
            ("platform", IDENTITY),
            ("cloudtype", IDENTITY),
            ("region", IDENTITY),
            ("deployment_id", IDENTITY),
            ("bgp_asn", NO_ROUTING),
            ("bgp_router_id", NO_ROUTING),
            ("bgp_adv_lo_prefix_as_128", NO_ROUTING),
            ("docker_routing_config_mode", NO_ROUTING),
            ("frr_mgmt_framework_config", NO_ROUTING),
            ("suppress-fib-pending", NO_ROUTING),
            ("nexthop_group", NO_ROUTING),
            ("zebra_nexthop", NO_ROUTING),
            ("anchor_route_source", NO_ROUTING),
            ("t2_group_asns", NO_ROUTING),
            ("buffer_model", "thresholds are static; they are computed from the file's profiles"),
            ("default_bgp_status", NO_ROUTING),
            ("create_only_config_db_buffers", "thresholds are static; they are computed from the file's profiles"),
            ("peer_switch", "there are no tunnels; the other switch is reached by a [[route]]"),
            ("subtype", IDENTITY),
            ("sub_role", IDENTITY),
            ("downstream_subrole", IDENTITY),
            ("location_type", IDENTITY),
            ("resource_type", IDENTITY),
            ("slice_type", IDENTITY),
            ("mgmt_type", IDENTITY),
            ("rack_mgmt_map", IDENTITY),
            ("storage_device", IDENTITY),
            ("asic_id", IDENTITY),
            ("asic_name", IDENTITY),
            ("switch_id", IDENTITY),
            ("switch_type", IDENTITY),
            ("chassis_hostname", IDENTITY),
            ("max_cores", IDENTITY),
            ("bmc_addr", IDENTITY),
            ("bmc_if_addr", IDENTITY),
            ("bmc_if_name", IDENTITY),
            ("bmc_net_mask", IDENTITY),
            ("synchronous_mode", HOST),
            ("dhcp_server", HOST),
            ("has_sonic_dhcpv4_relay", HOST),
            ("dpu_auto_recovery", HOST),
            ("orch_northbond_dash_zmq_enabled", HOST),
            ("ring_thread_enabled", HOST),
            ("supporting_bulk_counter_groups", HOST),
            ("syslog_counter", HOST),
            ("syslog_with_osversion", HOST),
            ("timezone", HOST),
            ("use_template_render_for_restore", HOST),
            ("yang_config_validation", HOST),
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
            ("asic_port_name", DEVICE),
            ("core_id", DEVICE),
            ("core_port_id", DEVICE),
            ("dom_polling", DEVICE),
            ("fast_linkup", DEVICE),
            ("laser_freq", DEVICE),
            ("macsec", DEVICE),
            ("num_voq", DEVICE),
            ("subport", DEVICE),
            ("tx_power", DEVICE),
            ("mux_cable", "there are no mux cables"),
            ("dhcp_rate_limit", "limit it at the host"),
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
            ("members", "VLAN_MEMBER lists the member ports and their tagging"),
            ("admin_status", "a VLAN exists while ports carry it"),
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
            ("hwsku", IDENTITY), ("mgmt_addr", IDENTITY), ("mgmt_addr_v6", IDENTITY),
            ("lo_addr", IDENTITY), ("lo_addr_v6", IDENTITY), ("resource_type", IDENTITY),
            ("slice_type", IDENTITY), ("local_port", IDENTITY), ("cluster", IDENTITY),
            ("deployment_id", IDENTITY),
        ],
    },
];

/// Returns true if a dropped entry does not affect the switch.
pub fn is_beside(message: &str) -> bool {
    [DEVICE, IDENTITY, HOST].contains(&message)
}

/// Notes everything that is not converted, and refuses tables of the wrong shape.
pub fn survey(database: Database<'_>) {
    let report = database.report();
    for (name, table) in database.tables() {
        let current = if name == PFC_WD_OLD { PFC_WD } else { name };
        let Some(carried) = CARRIED.iter().find(|carried| carried.name == current) else {
            match reason_to_drop(name) {
                Some(why) => report.note(Kind::NotCarried, name, why),
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

/// Tables whose rows count only if another row names them.
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

/// Notes the rows that no other row names, after all conversions.
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
