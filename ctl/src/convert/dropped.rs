//! SONiC's tables without a counterpart, by reason.
//!
//! The names are those of SONiC's YANG models and of `schema.h` in sonic-swss-common.

pub const DEVICE: &str = "belongs to the device: set it with ip link or ethtool";
pub const HOST: &str = "belongs to the host";
pub const IDENTITY: &str = "describes the device; not used here";
pub const NO_ROUTER: &str = "frames are forwarded by MAC address; write [[route]]";

/// Returns the reason for which a SONiC table is not converted; `None` for an unknown table.
pub fn reason_to_drop(table: &str) -> Option<&'static str> {
    let has = |names: &str| names.split_whitespace().any(|name| name == table);
    let dropped = DROPPED.iter().find(|(_, names)| has(names));
    dropped.map(|(why, _)| *why)
}

const DROPPED: &[(&str, &str)] = &[
    (
        NO_ROUTER,
        "AS_PATH_SET BGP_AGGREGATE_ADDRESS BGP_ALLOWED_PREFIXES BGP_BBR BGP_DEVICE_GLOBAL \
         BGP_GLOBALS BGP_GLOBALS_AF BGP_GLOBALS_AF_AGGREGATE_ADDR BGP_GLOBALS_AF_NETWORK \
         BGP_GLOBALS_LISTEN_PREFIX BGP_INTERNAL_NEIGHBOR BGP_MONITORS BGP_NEIGHBOR BGP_NEIGHBOR_AF \
         BGP_PEER_GROUP BGP_PEER_GROUP_AF BGP_PEER_RANGE BGP_SENTINELS BGP_VOQ_CHASSIS_NEIGHBOR \
         COMMUNITY_SET EXTENDED_COMMUNITY_SET FG_NHG FG_NHG_MEMBER FG_NHG_PREFIX INTERFACE \
         LOOPBACK_INTERFACE NEIGH PASS_THROUGH_ROUTE_TABLE PORTCHANNEL_INTERFACE PREFIX PREFIX_LIST \
         PREFIX_SET ROUTE_MAP ROUTE_MAP_SET ROUTE_REDISTRIBUTE SAG SRV6_MY_LOCATORS SRV6_MY_SIDS \
         STATIC_ROUTE SUPPRESS_VLAN_NEIGH VLAN_INTERFACE VLAN_SUB_INTERFACE VOQ_INBAND_INTERFACE \
         VRF VRRP VRRP6",
    ),
    (
        "there are no link aggregates; list the members in the ports of a [[route]]",
        "EVPN_ETHERNET_SEGMENT EVPN_MH_GLOBAL MCLAG_DOMAIN MCLAG_INTERFACE MCLAG_UNIQUE_IP \
         PORTCHANNEL PORTCHANNEL_MEMBER",
    ),
    (
        "buffers are charged at the ingress; an egress queue has no separate limit",
        "BUFFER_PORT_EGRESS_PROFILE_LIST BUFFER_QUEUE",
    ),
    ("a port has no limit besides those of its priorities", "BUFFER_PORT_INGRESS_PROFILE_LIST"),
    (
        "thresholds are static; they are computed from the file's profiles",
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER LOSSLESS_TRAFFIC_PATTERN",
    ),
    (
        "there are no access lists",
        "ACL_RULE ACL_TABLE ACL_TABLE_TYPE PBH_HASH PBH_HASH_FIELD PBH_RULE PBH_TABLE",
    ),
    ("write [[mirror]], or use switchctl capture", "MIRROR_SESSION"),
    (
        "counters are always on, at /metrics",
        "DEBUG_COUNTER DEBUG_COUNTER_DROP_REASON DEBUG_DROP_MONITOR FLEX_COUNTER_TABLE \
         FLOW_COUNTER_ROUTE_PATTERN RATES WATERMARK_TABLE",
    ),
    ("see the capacities in [forwarding] and [flows]", "CRM"),
    ("frames keep their DSCP", "TC_TO_DSCP_MAP"),
    ("frames keep their PCP", "TC_TO_DOT1P_MAP"),
    (
        "frames are classified by DSCP and PCP only",
        "DSCP_TO_FC_MAP EXP_TO_FC_MAP MPLS_TC_TO_TC_MAP",
    ),
    ("write edge-rate and fabric-rate of [multicast]", "PORT_STORM_CONTROL"),
    ("there are no policers; see max-rate of a class, and edge-rate of [multicast]", "POLICER"),
    ("a frame without room is dropped whole", "SWITCH_TRIMMING"),
    ("flows are spread over ECMP groups by their own hash", "SWITCH_HASH"),
    (
        "there are no tunnels",
        "NVGRE_TUNNEL NVGRE_TUNNEL_MAP SUBNET_DECAP TUNNEL VNET VNET_ROUTE VNET_ROUTE_TUNNEL \
         VXLAN_EVPN_NVO VXLAN_TUNNEL VXLAN_TUNNEL_MAP",
    ),
    ("there are no mux cables", "MUX_CABLE MUX_LINKMGR PEER_SWITCH"),
    (
        "there is no spanning tree; write tree in [multicast]",
        "STP STP_MST STP_MST_INST STP_MST_PORT STP_PORT STP_VLAN STP_VLAN_PORT",
    ),
    ("addresses are not translated", "NAT_BINDINGS NAT_GLOBAL NAT_POOL STATIC_NAPT STATIC_NAT"),
    ("VLAN tags are not translated or stacked", "VLAN_STACKING VLAN_TRANSLATION"),
    ("learned addresses are not configured; write [[route]]", "FDB MAC_MOVE_GUARD SWITCH"),
    ("there are no flow samples; see switchctl flows and capture", "SFLOW SFLOW_COLLECTOR SFLOW_SESSION"),
    ("LLDP has its own settings: [lldp]", "LLDP LLDP_PORT"),
    ("use switchctl restart", "WARM_RESTART"),
    (
        DEVICE,
        "ASIC_SENSORS BREAKOUT_CFG GEARBOX MACSEC_PROFILE SUPPRESS_ASIC_SDK_HEALTH_EVENT \
         SWITCH_FAST_LINKUP XCVRD_LOG",
    ),
    (
        IDENTITY,
        "CHASSIS_MODULE DPU DPUS FABRIC_MONITOR FABRIC_PORT MID_PLANE_BRIDGE REMOTE_DPU SYSTEM_PORT \
         VDPU",
    ),
    (
        "there is no offload of virtual networks",
        "DASH_ACL_GROUP DASH_ACL_IN DASH_ACL_OUT DASH_ACL_RULE DASH_APPLIANCE DASH_ENI \
         DASH_HA_GLOBAL_CONFIG DASH_QOS DASH_ROUTE_TABLE DASH_ROUTING_TYPE DASH_VNET \
         DASH_VNET_MAPPING_TABLE",
    ),
    (
        HOST,
        "AAA ALARM ALARM_STATS AUTO_TECHSUPPORT AUTO_TECHSUPPORT_FEATURE BANNER_MESSAGE BMP \
         CONSOLE_PORT CONSOLE_SWITCH CONTAINER_FEATURE COPP_GROUP COPP_TRAP DHCPV4_RELAY DHCP_RELAY \
         DHCP_SERVER DHCP_SERVER_IPV4 DHCP_SERVER_IPV4_CUSTOMIZED_OPTIONS DHCP_SERVER_IPV4_PORT \
         DHCP_SERVER_IPV4_RANGE DNS_NAMESERVER DNS_OPTIONS DTEL DTEL_EVENT DTEL_INT_SESSION \
         DTEL_QUEUE_REPORT DTEL_REPORT_SESSION EVENT EVENT_STATS FEATURE FIPS GNMI GNMI_CLIENT_CERT \
         GRPCCLIENT HEARTBEAT HIGH_FREQUENCY_TELEMETRY_GROUP HIGH_FREQUENCY_TELEMETRY_PROFILE \
         HOSTAPD_GLOBAL_CONFIG_TABLE KDUMP KUBERNETES_MASTER LDAP LDAP_SERVER LEAK_CONTROL_POLICY \
         LEAK_PROFILE LOGGER LOGGING MEMORY_STATISTICS MGMT_INTERFACE MGMT_PORT MGMT_VRF_CONFIG NTP \
         NTP_KEY NTP_SERVER PAC_GLOBAL_CONFIG_TABLE PAC_PORT_CONFIG_TABLE PASSW_HARDENING RADIUS \
         RADIUS_SERVER RESTAPI SEND_TO_INGRESS_PORT SERIAL_CONSOLE SNMP SNMP_AGENT_ADDRESS_CONFIG \
         SNMP_COMMUNITY SNMP_USER SSH_SERVER STORMOND_CONFIG SYSLOG_CONFIG SYSLOG_CONFIG_FEATURE \
         SYSLOG_SERVER SYSTEM_DEFAULTS TACPLUS TACPLUS_SERVER TELEMETRY TELEMETRY_CLIENT \
         TWAMP_SESSION ZTP",
    ),
    ("the file's own version", "VERSIONS"),
];
