//! TOML to [`DaemonConfig`].

mod access;
mod dataplane;
mod port;
mod route;

use std::path::PathBuf;

use weir_core::{MacAddress, PortRole};

use super::access::ApiTable;
use super::credits;
use super::damping::check_damping;
use super::export::{check_ipfix, check_sflow};
use super::mirror::{mirrors, MirrorTable};
use super::station::stations;
use super::{
    ControlFramesConfig, DaemonConfig, DataplaneConfig, DeadlockConfig, FlapDampingConfig,
    FlowsConfig, ForwardingConfig, GnmiConfig, IpfixConfig, LldpConfig, LogConfig, MetricsConfig,
    MulticastConfig, PageConfig, PfcwdConfig, Port, SflowConfig, Station, WatermarkConfig,
};
use crate::document;
use crate::names::check_name;
use crate::reader::{Problem, Problems, Table};
use crate::settings::{valid, Setting};
use crate::switch::{
    check_steps, classes, complain_of_core, ecn_profiles, fit_release_buffer, pools, ClassTable,
    EcnProfile, LevelSizing, Lines, Pool, RouteTable, Surroundings,
};

use dataplane::dataplane;
use port::{cables, check_express, check_hardware_time, check_pool_thresholds, ports};
use route::{multicast, routes};

/// All keys by table, for the reader and for the documentation's test.
pub const KEYS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "name",
            "run-dir",
            "log",
            "api",
            "metrics",
            "gnmi",
            "page",
            "dataplane",
            "class",
            "pool",
            "ecn",
            "port",
            "deadlock",
            "pfcwd",
            "forwarding",
            "multicast",
            "route",
            "station",
            "mirror",
            "flows",
            "lldp",
            "control-frames",
            "watermark",
            "flap-damping",
            "sflow",
            "ipfix",
        ],
    ),
    (LogConfig::TABLE, LogConfig::KEYS),
    (ApiTable::TABLE, ApiTable::KEYS),
    (MetricsConfig::TABLE, MetricsConfig::KEYS),
    (GnmiConfig::TABLE, GnmiConfig::KEYS),
    (PageConfig::TABLE, PageConfig::KEYS),
    (ControlFramesConfig::TABLE, ControlFramesConfig::KEYS),
    (DataplaneConfig::TABLE, DataplaneConfig::KEYS),
    (ClassTable::TABLE, ClassTable::KEYS),
    (Pool::TABLE, Pool::KEYS),
    (EcnProfile::TABLE, EcnProfile::KEYS),
    (Port::TABLE, Port::KEYS),
    (DeadlockConfig::TABLE, DeadlockConfig::KEYS),
    (PfcwdConfig::TABLE, PfcwdConfig::KEYS),
    (ForwardingConfig::TABLE, ForwardingConfig::KEYS),
    (MulticastConfig::TABLE, MulticastConfig::KEYS),
    (RouteTable::TABLE, RouteTable::KEYS),
    (Station::TABLE, Station::KEYS),
    (MirrorTable::TABLE, MirrorTable::KEYS),
    (FlowsConfig::TABLE, FlowsConfig::KEYS),
    (LldpConfig::TABLE, LldpConfig::KEYS),
    (WatermarkConfig::TABLE, WatermarkConfig::KEYS),
    (FlapDampingConfig::TABLE, FlapDampingConfig::KEYS),
    (SflowConfig::TABLE, SflowConfig::KEYS),
    (IpfixConfig::TABLE, IpfixConfig::KEYS),
];

/// The declared settings of each table, in the order of the reference page.
pub fn settings() -> Vec<(&'static str, Vec<Setting>)> {
    macro_rules! tables {
        ($($table:ident),* $(,)?) => { vec![$(($table::TABLE, $table::settings())),*] };
    }
    tables![
        LogConfig,
        ApiTable,
        MetricsConfig,
        GnmiConfig,
        PageConfig,
        DataplaneConfig,
        ClassTable,
        Pool,
        EcnProfile,
        Port,
        DeadlockConfig,
        PfcwdConfig,
        ForwardingConfig,
        MulticastConfig,
        RouteTable,
        Station,
        MirrorTable,
        FlowsConfig,
        LldpConfig,
        ControlFramesConfig,
        WatermarkConfig,
        FlapDampingConfig,
        SflowConfig,
        IpfixConfig,
    ]
}

pub(super) fn daemon(text: &str) -> Result<DaemonConfig, Vec<Problem>> {
    let root = document::parse(text)?;
    let problems = Problems::default();
    let table = Table::open(&root, "", KEYS[0].1, &problems);
    let config = table.as_ref().map(read);
    if let (Some(table), Some(config)) = (&table, &config) {
        credits::check(table, config);
    }
    if let (Some(table), Some(config), false) = (&table, &config, problems.any()) {
        check_core(table, config, &problems);
    }
    match config {
        Some(config) if !problems.any() => Ok(config),
        _ => Err(problems.into_sorted()),
    }
}

fn read(root: &Table<'_>) -> DaemonConfig {
    let name = root.require("name").unwrap_or_else(|| "weir".to_owned());
    check_name(root, "name", &name);
    let run_dir = root
        .get::<String>("run-dir")
        .map_or_else(|| PathBuf::from("/run/weir").join(&name), PathBuf::from);
    let (api_socket, api) = access::api(root, &run_dir);
    let pfcwd = PfcwdConfig::read(root, PfcwdConfig::default(), valid::together);
    let ports = ports(root, pfcwd);
    let fastest = ports.iter().map(|port| port.rate).max();
    let dataplane = dataplane(root);
    check_hardware_time(root, &dataplane);
    let fabric = ports.iter().filter(|port| port.role == PortRole::Fabric);
    let links = fabric.map(|port| (port.rate, port.round_trip.assumed(), port.feedback));
    let sizing = LevelSizing::new(&dataplane.frames(), links, None);
    let mut deadlock = DeadlockConfig::read(root, DeadlockConfig::default(), check_steps);
    let pools = pools(root);
    let cables = cables(root, &ports, dataplane.frames().charging());
    let ecn = ecn_profiles(root);
    let around = Surroundings {
        pools: &pools,
        ecn: &ecn,
        sizing: &sizing,
        cables: &cables,
    };
    let classes = classes(root, &around);
    check_pool_thresholds(root, &ports, &classes, &pools);
    fit_release_buffer(root, &classes, &cables, &mut deadlock);
    let slowest = ports.iter().min_by_key(|port| port.rate);
    let lines = Lines {
        slowest: slowest.map(|port| (format!("port `{}`", port.name), port.rate)),
        strict_share: dataplane.strict_share,
        frame_length_max: dataplane.frame_length_max(),
        detect: deadlock.detect,
    };
    lines.check(root, &classes);
    check_express(root, &classes, &ports);
    let stations = stations(root);
    let multicast = multicast(root, &ports, &classes, &stations);
    let forwarding = ForwardingConfig::read(root, ForwardingConfig::default(), valid::together);
    let routes = routes(root, &ports, forwarding.pins);
    let mirrors = mirrors(root, &ports, &classes, &routes);
    DaemonConfig {
        log: LogConfig::read(root, LogConfig::default(), valid::together),
        metrics: access::metrics(root),
        gnmi: access::gnmi(root),
        page: access::page(root),
        control_frames: ControlFramesConfig::read(
            root,
            ControlFramesConfig::for_fabric(deadlock.clcm_interval, fastest),
            valid::together,
        ),
        classes,
        pools,
        ecn,
        dataplane,
        deadlock,
        pfcwd,
        forwarding,
        multicast,
        mirrors,
        routes,
        stations,
        flows: FlowsConfig::read_for(root, deadlock.policy),
        lldp: LldpConfig::read(root, LldpConfig::default(), valid::together),
        watermark: WatermarkConfig::read(root, WatermarkConfig::default(), valid::together),
        flap_damping: FlapDampingConfig::read(root, FlapDampingConfig::default(), check_damping),
        sflow: SflowConfig::read(root, SflowConfig::default(), check_sflow),
        ipfix: IpfixConfig::read(root, IpfixConfig::default(), check_ipfix),
        ports,
        name,
        run_dir,
        api_socket,
        api,
    }
}

/// Checks that need the core, such as buffers against frames.
fn check_core(root: &Table<'_>, config: &DaemonConfig, problems: &Problems) {
    let core = config.core(&vec![MacAddress::default(); config.ports.len()]);
    if let Err(error) = core.validate() {
        complain_of_core(root, &config.classes, &error, problems);
    }
    if config.umem_frames() > u32::MAX as usize / 4 {
        problems.add(
            None,
            "",
            format!(
                "buffers need {} UMEM frames, which is too many: lower thresholds, or use fewer ports",
                config.umem_frames()
            ),
        );
    }
}
