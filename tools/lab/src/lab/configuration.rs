//! Derives a daemon's configuration from a scenario's switch by adding devices, sockets and listeners.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use weir_config::daemon::{
    default_dscp_map, ApiConfig, ControlFramesConfig, DaemonConfig, DataplaneConfig, Express,
    Fallback, FlapDampingConfig, GnmiConfig, IpfixConfig, LldpConfig, LogConfig, MetricsConfig,
    PageConfig, PfcwdConfig, Port, RoundTrip, SflowConfig, Station, Trust, WatermarkConfig,
};
use weir_config::scenario::{HostKind, Scenario};
use weir_core::{Bytes, ModeKind, PauseRule, Priority};

use super::names::Names;
use super::topology::device;

/// Interval of the occupancy curves.
pub const HISTORY_INTERVAL: weir_core::Duration = weir_core::Duration::from_millis(10);
/// Short runs must contain whole intervals of peaks as well.
const WATERMARK_INTERVAL: weir_core::Duration = weir_core::Duration::from_secs(1);

/// Address of every switch's metrics, in its namespace.
pub const METRICS_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

/// Address of every switch's live page, in its namespace.
pub const PAGE_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9465);

/// Returns the configuration of switch `index` in a lab.
pub fn lab_config(scenario: &Scenario, index: usize, names: &Names) -> DaemonConfig {
    const SAMPLES_SPARE: u64 = 3_000;
    let samples = scenario.duration.as_nanos() / HISTORY_INTERVAL.as_nanos() + SAMPLES_SPARE;
    let config = daemon_config(scenario, index, names.run_dir(&scenario.switches[index]));
    DaemonConfig {
        metrics: MetricsConfig {
            listen: Some(METRICS_ADDRESS),
            ..MetricsConfig::default()
        },
        page: PageConfig {
            listen: Some(PAGE_ADDRESS),
            ..PageConfig::OFF
        },
        dataplane: DataplaneConfig {
            // Many switches share few cores, so an idle thread sleeps at once.
            spin: weir_core::Duration::ZERO,
            history_interval: HISTORY_INTERVAL,
            history_length: samples as usize,
            ..config.dataplane
        },
        ..config
    }
}

/// Environment variable (`WEIR_LAB_EXPRESS=1`) with which every switch of every lab uses the express path, so that all tests
/// of real switches can run with it.
pub const EXPRESS_VARIABLE: &str = "WEIR_LAB_EXPRESS";

/// Lets frames of every permitted class, including lossless ones, use the express path.
pub fn use_express_path(config: &mut DaemonConfig) {
    config.dataplane.express = Express::On;
    let with_levels = config.ports.iter().all(Port::lets_levels_pass);
    for class in &mut config.classes {
        let may_pass = with_levels || class.mode.kind() != ModeKind::Level;
        if may_pass && class.express_obstacle().is_none() {
            class.express = Express::On;
        }
    }
}

/// Returns the daemon's configuration of switch `index`, with an API and no other listener.
pub fn daemon_config(scenario: &Scenario, index: usize, run_dir: PathBuf) -> DaemonConfig {
    let peers = scenario.ports(index);
    let switch = scenario.switch(index, &peers);
    let ports = peers.iter().zip(&switch.ports);
    let ports = ports.map(|(peer, port)| Port {
        name: scenario.peer_name(peer.peer).to_owned(),
        device: device(scenario, peer.peer),
        queue: 0,
        queue_count: None,
        role: port.role,
        rate: port.rate,
        round_trip: RoundTrip::Fixed(port.round_trip),
        cable: peer.properties.cable,
        reaction: peer.properties.cable_line().map(|line| line.reaction),
        neighbour: port.neighbour,
        feedback: port.feedback,
        police: port.police,
        pause: Some(port.pause).filter(|rule| *rule != PauseRule::of_role(port.role)),
        overshoot: Bytes::ZERO,
        alpha: Default::default(),
        static_threshold: Default::default(),
        pfcwd: None,
        tag: None,
        trunks: None,
        vlan_mode: None,
        express: None,
        hardware_time: false,
        credit_slots: None,
        wait: false,
        address: None,
        default_priority: Priority::ALL[0],
        trust: match scenario.host_kind {
            HostKind::Endpoint => Trust::Pcp,
            HostKind::Kernel => Trust::PcpDscp,
        },
        pcp_map: Priority::ALL,
        dscp_map: default_dscp_map(),
        priorities: None,
        address_limit: None,
        fallback: Fallback::Drop,
    });
    DaemonConfig {
        name: scenario.switches[index].clone(),
        api_socket: run_dir.join("api.sock"),
        run_dir,
        log: LogConfig::default(),
        api: ApiConfig::default(),
        metrics: MetricsConfig {
            listen: None,
            ..MetricsConfig::default()
        },
        gnmi: GnmiConfig::default(),
        page: PageConfig::OFF,
        dataplane: DataplaneConfig {
            // Labs are for testing transports.
            impair: true,
            ..DataplaneConfig::of(switch.frames)
        },
        ports: ports.collect(),
        classes: switch.classes,
        pools: switch.pools,
        ecn: switch.ecn,
        deadlock: switch.deadlock,
        pfcwd: PfcwdConfig {
            // A scenario's hosts pause as long as it specifies.
            enabled: Some(scenario.pfcwd.enabled.unwrap_or(false)),
            ..scenario.pfcwd
        },
        forwarding: switch.forwarding,
        multicast: scenario.multicast_of(index, &peers),
        routes: switch.routes,
        stations: stations(scenario),
        mirrors: Vec::new(),
        flows: switch.flows,
        lldp: LldpConfig::default(),
        control_frames: ControlFramesConfig {
            key_file: None,
            pause_rate: switch.control_limits.pause_rate,
            message_rate: switch.control_limits.message_rate,
        },
        watermark: WatermarkConfig {
            interval: WATERMARK_INTERVAL,
        },
        flap_damping: FlapDampingConfig::default(),
        sflow: SflowConfig::default(),
        ipfix: IpfixConfig::default(),
    }
}

/// Returns hosts with a kernel and their lab addresses, if their switches must know them.
fn stations(scenario: &Scenario) -> Vec<Station> {
    let multicast = scenario.multicast.as_ref();
    if !multicast.is_some_and(|multicast| multicast.suppress) {
        return Vec::new();
    }
    let hosts = scenario.hosts.iter().enumerate();
    hosts
        .map(|(index, host)| Station {
            mac: host.address,
            addresses: vec![scenario.host_ip(index).into()],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A daemon's and the simulator's core configurations are the same, except for the needs of rings and late threads and
    /// for values derived from a daemon's name. The daemon's file contains all of it.
    #[test]
    fn a_daemon_of_the_lab_is_the_switch_of_the_scenario() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ring4.toml");
        for policy in ["breaker", "watchdog", "lifetime"] {
            let overrides = [format!("deadlock.policy={policy}").parse().unwrap()];
            let scenario = Scenario::load(&file, &overrides).unwrap();
            for (index, peers) in scenario.all_ports().iter().enumerate() {
                let config = daemon_config(&scenario, index, "/run/weir/x".into());
                let again = DaemonConfig::parse(&config.to_toml(), Path::new("again.toml"));
                assert_eq!(again.as_ref(), Ok(&config));
                let switch = scenario.switch(index, peers);
                assert_eq!(config.control(), switch.control());
                let mut core = config.core(&[]);
                let simulated = switch.core();
                assert!(core.frame_count > simulated.frame_count);
                core.frame_count = simulated.frame_count;
                core.shaper_burst = simulated.shaper_burst;
                core.shaper_burst_time = simulated.shaper_burst_time;
                core.seed = simulated.seed;
                // A daemon limits the addresses behind a host's port; scenarios have few.
                core.ports
                    .iter_mut()
                    .for_each(|port| port.address_limit = None);
                assert_eq!(core, simulated);
            }
        }
    }
}
