//! TOML to [`DaemonConfig`].

use std::path::PathBuf;

use weir_core::control::Policy;
use weir_core::{Bytes, ClassMode, MacAddress, PortId, PortRole, Priority, Quanta};

use super::{
    Class, DaemonConfig, DataplaneConfig, DeadlockConfig, Fallback, ForwardingConfig, LogConfig,
    LogFormat, Port, Route, Trust, XdpMode, ZeroCopy, DEFAULT_CLASS,
};
use crate::document;
use crate::reader::{line_of, FromItem, Names, Problem, Problems, Table};

/// Every key by table, for the reader and for the documentation's test.
pub const KEYS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "name",
            "run-dir",
            "log",
            "api",
            "metrics",
            "dataplane",
            "class",
            "port",
            "deadlock",
            "forwarding",
            "route",
        ],
    ),
    ("log", &["level", "format"]),
    ("api", &["socket"]),
    ("metrics", &["listen"]),
    (
        "dataplane",
        &[
            "cell",
            "chunk",
            "mtu",
            "rx-ring",
            "tx-ring",
            "spin",
            "cpu",
            "pause-time",
            "shaper-burst",
            "zero-copy",
            "xdp-mode",
            "history-interval",
            "history-length",
        ],
    ),
    (
        "class",
        &[
            "name",
            "priority",
            "priorities",
            "mode",
            "xoff",
            "xon",
            "headroom",
            "buffer",
            "weight",
        ],
    ),
    (
        "port",
        &[
            "name",
            "device",
            "queue",
            "role",
            "rate",
            "address",
            "default-priority",
            "trust",
            "pcp-map",
            "dscp-map",
            "fallback",
        ],
    ),
    (
        "deadlock",
        &[
            "policy",
            "detect",
            "clcm-interval",
            "release",
            "release-buffer",
        ],
    ),
    ("forwarding", &["learning", "capacity", "age"]),
    ("route", &["destination", "ports"]),
];

/// The legal keys of one table.
pub(crate) fn keys(table: &str) -> &'static [&'static str] {
    KEYS.iter()
        .find(|(name, _)| *name == table)
        .map_or(&[], |(_, keys)| keys)
}

pub(super) fn daemon(text: &str) -> Result<DaemonConfig, Vec<Problem>> {
    let root = document::parse(text)?;
    let problems = Problems::default();
    let config = Table::open(&root, "", keys(""), &problems).map(|table| read(&table));
    if config.is_some() && !problems.any() {
        if let Some(config) = &config {
            check_core(config, &problems);
        }
    }
    match config {
        Some(config) if !problems.any() => Ok(config),
        _ => Err(problems.into_sorted()),
    }
}

fn read(root: &Table<'_>) -> DaemonConfig {
    let name = root.require("name").unwrap_or_else(|| "weir".to_owned());
    let run_dir = root
        .get::<String>("run-dir")
        .map_or_else(|| PathBuf::from("/run/weir").join(&name), PathBuf::from);
    let api_socket = root
        .table("api", keys("api"))
        .and_then(|table| table.get::<String>("socket"))
        .map_or_else(|| run_dir.join("api.sock"), PathBuf::from);
    let ports = ports(root);
    DaemonConfig {
        log: log(root),
        metrics_listen: metrics(root),
        dataplane: dataplane(root),
        classes: classes(root),
        deadlock: deadlock(root),
        forwarding: forwarding(root),
        routes: routes(root, &ports),
        ports,
        name,
        run_dir,
        api_socket,
    }
}

fn log(root: &Table<'_>) -> LogConfig {
    let default = LogConfig::default();
    let Some(table) = root.table("log", keys("log")) else {
        return default;
    };
    LogConfig {
        level: table.get_or("level", default.level),
        format: table
            .choice(
                "format",
                &[("text", LogFormat::Text), ("json", LogFormat::Json)],
            )
            .unwrap_or(default.format),
    }
}

fn metrics(root: &Table<'_>) -> Option<std::net::SocketAddr> {
    let default = Some(std::net::SocketAddr::from(([127, 0, 0, 1], 9464)));
    let Some(table) = root.table("metrics", keys("metrics")) else {
        return default;
    };
    match table.get::<String>("listen") {
        None => default,
        Some(text) if text == "off" => None,
        Some(text) => match text.parse() {
            Ok(address) => Some(address),
            Err(_) => {
                let message = format!("`{text}` is no address; write \"ADDRESS:PORT\" or \"off\"");
                table.complain("listen", message);
                None
            }
        },
    }
}

fn dataplane(root: &Table<'_>) -> DataplaneConfig {
    let default = DataplaneConfig::default();
    let Some(table) = root.table("dataplane", keys("dataplane")) else {
        return default;
    };
    let config = DataplaneConfig {
        cell: table.get_or("cell", default.cell),
        chunk: table.get_or("chunk", default.chunk),
        mtu: table.get_or("mtu", default.mtu),
        rx_ring: ring(&table, "rx-ring", default.rx_ring),
        tx_ring: ring(&table, "tx-ring", default.tx_ring),
        spin: table.get_or("spin", default.spin),
        cpu: table.get::<u64>("cpu").map(|cpu| cpu as usize),
        pause_time: within(&table, "pause-time", 1, u64::from(u16::MAX))
            .map_or(default.pause_time, |quanta| Quanta(quanta as u16)),
        shaper_burst: table.get_or("shaper-burst", default.shaper_burst),
        zero_copy: table
            .choice(
                "zero-copy",
                &[
                    ("auto", ZeroCopy::Auto),
                    ("off", ZeroCopy::Off),
                    ("require", ZeroCopy::Require),
                ],
            )
            .unwrap_or(default.zero_copy),
        xdp_mode: table
            .choice(
                "xdp-mode",
                &[
                    ("auto", XdpMode::Auto),
                    ("native", XdpMode::Native),
                    ("generic", XdpMode::Generic),
                ],
            )
            .unwrap_or(default.xdp_mode),
        history_interval: table.get_or("history-interval", default.history_interval),
        history_length: within(&table, "history-length", 1, 1_000_000)
            .map_or(default.history_length, |length| length as usize),
    };
    check_chunk(&table, &config);
    config
}

/// XDP keeps 256 B of a chunk in front of the frame.
fn check_chunk(table: &Table<'_>, config: &DataplaneConfig) {
    const XDP_HEADROOM: u64 = 256;
    const OVERHEAD: u64 = 22;
    let chunk = config.chunk.get();
    if chunk != 2048 && chunk != 4096 {
        table.complain("chunk", "a UMEM chunk is \"2KiB\" or \"4KiB\"");
        return;
    }
    let longest = chunk - XDP_HEADROOM - OVERHEAD;
    if !(68..=longest).contains(&config.mtu.get()) {
        table.complain(
            "mtu",
            format!("must be between 68 B and {longest} B with chunks of {chunk} B"),
        );
    }
}

fn ring(table: &Table<'_>, key: &str, default: u32) -> u32 {
    match table.get::<u64>(key) {
        None => default,
        Some(entries) if entries.is_power_of_two() && (64..=32_768).contains(&entries) => {
            entries as u32
        }
        Some(entries) => {
            table.complain(
                key,
                format!("{entries} is not a power of two between 64 and 32768 entries"),
            );
            default
        }
    }
}

/// A whole number between `least` and `most`.
pub(crate) fn within(table: &Table<'_>, key: &str, least: u64, most: u64) -> Option<u64> {
    let value: u64 = table.get(key)?;
    if (least..=most).contains(&value) {
        return Some(value);
    }
    table.complain(key, format!("{value} is not between {least} and {most}"));
    None
}

fn priority_of(number: u64) -> Result<Priority, String> {
    u8::try_from(number)
        .ok()
        .and_then(Priority::new)
        .ok_or_else(|| format!("priority {number} does not exist; there are 0 to 7"))
}

impl FromItem for Priority {
    const EXAMPLE: &'static str = "a priority from 0 to 7";
    fn from_item(item: &document::Item) -> Result<Self, String> {
        priority_of(u64::from_item(item)?)
    }
}

fn classes(root: &Table<'_>) -> Vec<Class> {
    let names = Names::default();
    let mut owners: [Option<String>; 8] = Default::default();
    root.tables("class", keys("class"))
        .iter()
        .filter_map(|table| class(table, &names, &mut owners))
        .collect()
}

/// Reads one class; also used by scenarios.
pub(crate) fn class(
    table: &Table<'_>,
    names: &Names,
    owners: &mut [Option<String>; 8],
) -> Option<Class> {
    let name: String = table.require("name")?;
    names.note(table, "name", &name);
    if name == DEFAULT_CLASS {
        table.complain(
            "name",
            "`default` is the class of the priorities that no class names; choose another name",
        );
    }
    let priorities = priorities(table, &name, owners);
    let mode = class_mode(table)?;
    Some(Class {
        name,
        priorities: priorities?,
        mode,
        weight: within(table, "weight", 1, 1000).unwrap_or(1) as u16,
    })
}

fn priorities(
    table: &Table<'_>,
    name: &str,
    owners: &mut [Option<String>; 8],
) -> Option<Vec<Priority>> {
    let (key, priorities) = match (table.has("priority"), table.has("priorities")) {
        (true, true) => {
            table.complain("priorities", "write priority or priorities, not both");
            return None;
        }
        (false, true) => ("priorities", table.get::<Vec<Priority>>("priorities")?),
        _ => ("priority", vec![table.require::<Priority>("priority")?]),
    };
    if priorities.is_empty() {
        table.complain(key, "a class has at least one priority");
        return None;
    }
    for priority in &priorities {
        let owner = &mut owners[priority.index()];
        if let Some(other) = owner {
            table.complain(
                key,
                format!("priority {priority} belongs to class `{other}` already"),
            );
        }
        *owner = Some(name.to_owned());
    }
    Some(priorities)
}

#[derive(Clone, Copy)]
enum ModeWord {
    Lossy,
    Pfc,
}

fn class_mode(table: &Table<'_>) -> Option<ClassMode> {
    table.require::<String>("mode")?;
    let mode = table.choice(
        "mode",
        &[("lossy", ModeWord::Lossy), ("pfc", ModeWord::Pfc)],
    )?;
    let (needed, foreign): (&[&str], &[&str]) = match mode {
        ModeWord::Lossy => (&[], &["xoff", "xon", "headroom"]),
        ModeWord::Pfc => (&["xoff", "xon", "headroom"], &["buffer"]),
    };
    for key in foreign {
        if table.has(key) {
            let legal = if needed.is_empty() {
                "buffer".to_owned()
            } else {
                needed.join(", ")
            };
            table.complain(
                key,
                format!("has no meaning in this mode, which has {legal}"),
            );
        }
    }
    match mode {
        ModeWord::Lossy => Some(ClassMode::Lossy {
            buffer: table.get_or("buffer", Bytes::new(256 * 1024)),
        }),
        ModeWord::Pfc => {
            let (xoff, xon, headroom) = (
                table.require::<Bytes>("xoff"),
                table.require::<Bytes>("xon"),
                table.require::<Bytes>("headroom"),
            );
            let (xoff, xon, headroom) = (xoff?, xon?, headroom?);
            if xon >= xoff {
                table.complain("xon", format!("xon ({xon}) must be below xoff ({xoff})"));
            }
            Some(ClassMode::Pfc {
                xoff,
                xon,
                headroom,
            })
        }
    }
}

fn ports(root: &Table<'_>) -> Vec<Port> {
    let (names, devices) = (Names::default(), Names::default());
    let ports: Vec<Port> = root
        .tables("port", keys("port"))
        .iter()
        .filter_map(|table| port(table, &names, &devices))
        .collect();
    if ports.is_empty() && !root.problems().any() {
        root.complain("port", "a switch needs at least one [[port]]");
    }
    if ports.len() > weir_core::units::PORT_COUNT_MAX {
        root.complain("port", format!("{} ports are more than 256", ports.len()));
    }
    ports
}

fn port(table: &Table<'_>, names: &Names, devices: &Names) -> Option<Port> {
    let device: Option<String> = table.require("device");
    let name: Option<String> = table.get("name").or_else(|| device.clone());
    if let Some(name) = &name {
        names.note(
            table,
            if table.has("name") { "name" } else { "device" },
            name,
        );
        if name.contains('/') || name.starts_with('.') {
            table.complain(
                "name",
                "a port's name is also a file name: no `/`, no leading dot",
            );
        }
    }
    let queue = within(table, "queue", 0, 63).unwrap_or(0) as u32;
    if let Some(device) = &device {
        devices.note(table, "device", &format!("{device} queue {queue}"));
    }
    let role = {
        table.require::<String>("role");
        table.choice(
            "role",
            &[("fabric", PortRole::Fabric), ("edge", PortRole::Edge)],
        )
    };
    let rate = table.require("rate");
    let trust = table
        .choice(
            "trust",
            &[
                ("pcp", Trust::Pcp),
                ("dscp", Trust::Dscp),
                ("pcp-dscp", Trust::PcpDscp),
                ("port", Trust::Port),
            ],
        )
        .unwrap_or(Trust::PcpDscp);
    let fallback = table
        .choice(
            "fallback",
            &[("pass", Fallback::Pass), ("drop", Fallback::Drop)],
        )
        .unwrap_or(Fallback::Drop);
    Some(Port {
        address: table.get::<MacAddress>("address"),
        default_priority: table.get_or("default-priority", Priority::ALL[0]),
        pcp_map: pcp_map(table),
        dscp_map: dscp_map(table),
        name: name?,
        device: device?,
        queue,
        role: role?,
        rate: rate?,
        trust,
        fallback,
    })
}

fn pcp_map(table: &Table<'_>) -> [Priority; 8] {
    let Some(map) = table.get::<Vec<Priority>>("pcp-map") else {
        return Priority::ALL;
    };
    map.try_into().unwrap_or_else(|map: Vec<Priority>| {
        let message = format!(
            "eight priorities are needed, one for each PCP, not {}",
            map.len()
        );
        table.complain("pcp-map", message);
        Priority::ALL
    })
}

fn dscp_map(table: &Table<'_>) -> [Priority; 64] {
    let mut map = super::default_dscp_map();
    for (key, item) in table.free_table("dscp-map") {
        let complain = |message: String| {
            table.problems().add(
                line_of(item),
                table.key_path(&format!("dscp-map.{key}")),
                message,
            );
        };
        let place = key.parse::<usize>().ok().and_then(|dscp| map.get_mut(dscp));
        match (place, Priority::from_item(item)) {
            (Some(place), Ok(priority)) => *place = priority,
            (None, _) => complain(format!("`{key}` is no DSCP; there are 0 to 63")),
            (_, Err(message)) => complain(message),
        }
    }
    map
}

fn deadlock(root: &Table<'_>) -> DeadlockConfig {
    root.table("deadlock", keys("deadlock"))
        .map_or_else(DeadlockConfig::default, |table| deadlock_table(&table))
}

/// Reads `[deadlock]`; also used by scenarios.
pub(crate) fn deadlock_table(table: &Table<'_>) -> DeadlockConfig {
    let default = DeadlockConfig::default();
    let config = DeadlockConfig {
        policy: table
            .choice(
                "policy",
                &[("off", Policy::Off), ("breaker", Policy::Breaker)],
            )
            .unwrap_or(default.policy),
        detect: table.get_or("detect", default.detect),
        clcm_interval: table.get_or("clcm-interval", default.clcm_interval),
        release: table.get_or("release", default.release),
        release_buffer: table.get_or("release-buffer", default.release_buffer),
    };
    for (key, duration) in [
        ("detect", config.detect),
        ("clcm-interval", config.clcm_interval),
        ("release", config.release),
    ] {
        if duration.is_zero() {
            table.complain(key, "must be above zero");
        }
    }
    config
}

fn forwarding(root: &Table<'_>) -> ForwardingConfig {
    let default = ForwardingConfig::default();
    let Some(table) = root.table("forwarding", keys("forwarding")) else {
        return default;
    };
    ForwardingConfig {
        learning: table.get_or("learning", default.learning),
        capacity: within(&table, "capacity", 1, 1 << 20)
            .map_or(default.capacity, |capacity| capacity as usize),
        age: table.get_or("age", default.age),
    }
}

fn routes(root: &Table<'_>, ports: &[Port]) -> Vec<Route> {
    let destinations = Names::default();
    root.tables("route", keys("route"))
        .iter()
        .filter_map(|table| {
            let destination: Option<MacAddress> = table.require("destination");
            let names: Vec<String> = table.require("ports")?;
            let destination = destination?;
            destinations.note(table, "destination", &destination.to_string());
            let mut group = Vec::new();
            for name in &names {
                let index = ports.iter().position(|port| port.name == *name);
                match index.and_then(PortId::from_index) {
                    Some(port) => group.push(port),
                    None => {
                        let known: Vec<&str> = ports.iter().map(|p| p.name.as_str()).collect();
                        table.complain("ports", crate::reader::unknown("port", name, &known));
                    }
                }
            }
            if names.is_empty() {
                table.complain("ports", "a route leads to at least one port");
            }
            Some(Route {
                destination,
                ports: group,
            })
        })
        .collect()
}

/// What only the core can say: buffers against frames, and the like.
fn check_core(config: &DaemonConfig, problems: &Problems) {
    let core = config.core(&vec![MacAddress::default(); config.ports.len()]);
    if let Err(error) = core.validate() {
        problems.add(None, "", error.to_string());
    }
    if config.umem_frames() > u32::MAX as usize / 4 {
        problems.add(
            None,
            "",
            format!(
                "buffers need {} UMEM frames, which is too many",
                config.umem_frames()
            ),
        );
    }
}
