//! `[[mirror]]`: copies of frames for monitoring.

use weir_core::{PortId, PortSet, Priority, VlanSet};

use super::vlan::VlanList;
use super::{Port, Route};
use crate::entries::entries;
use crate::reader::{unknown, Names, Table};
use crate::settings::valid;
use crate::switch::Class;

/// Maximum number of mirrors of a switch.
pub const MIRRORS_MAX: usize = 4;
/// Bounds for the length of a copy, as in Open vSwitch.
const SNAPLEN: (u64, u64) = (14, 65_535);

entries! {
    /// A mirror as in a file. Names and meaning are Open vSwitch's.
    #[derive(Clone, Debug, PartialEq, Eq)]
    MirrorTable in "mirror" {
        "name" name: String, "", Live, valid::anything;
            "The mirror's name in metrics and commands. At most 4 mirrors."
        "output-port" output: String, "", Live, valid::anything;
            "Port for the copies. It does nothing else: frames received on it are dropped (`mirror_port`), and no route leads to it."
        "select-all" all: bool = false, "", Live, valid::anything;
            "Copy every received data frame."
        "select-src-port" sources: Vec<String> = Vec::new() => "none", "", Live, valid::anything;
            "Copy data frames received on these ports, as they arrive, including those that are dropped."
        "select-dst-port" destinations: Vec<String> = Vec::new() => "none", "", Live, valid::anything;
            "Copy data frames sent through these ports, as they leave. One that the mirror copied on arrival is not copied again."
        "select-vlan" vlans: Option<VlanSet> as VlanList = None => "all", "", Live, valid::anything;
            "Of the selected frames, copy only those of these VLANs: numbers, and ranges such as `\"20-29\"`; 0 for frames in no VLAN. Frames that are not accepted because of their tag are in none of them."
        "snaplen" snaplen: Option<u64> = None => "whole frames", "", Live, valid::given(valid::within(SNAPLEN.0, SNAPLEN.1));
            "Maximum number of bytes copied of a frame, 14 to 65535."
        "priority" priority: Option<Priority> = None => "the lowest lossy one", "", Live, valid::anything;
            "The priority of the copies at the output port, of a lossy class: its `buffer` bounds the copies that wait there. Copies beyond it are lost and counted. By default the lowest one outside pools, else the lowest one."
    }
}

/// `[[mirror]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// Its name.
    pub name: String,
    /// Port that sends the copies.
    pub output: PortId,
    /// True if all received frames are copied.
    pub all: bool,
    /// Frames received on these ports are copied.
    pub sources: PortSet,
    /// Frames sent by these ports are copied.
    pub destinations: PortSet,
    /// Copies only frames in these VLANs; `None` for all.
    pub vlans: Option<VlanSet>,
    /// Maximum number of bytes copied of a frame; `None` for all.
    pub snaplen: Option<u64>,
    /// Priority of the copies.
    pub priority: Priority,
    /// True if the file sets it.
    priority_is_given: bool,
}

impl Mirror {
    /// The ports at which received frames are copied.
    pub fn arriving(&self, port_count: usize) -> PortSet {
        if !self.all {
            return self.sources;
        }
        let ports = (0..port_count).filter_map(PortId::from_index);
        ports.filter(|port| *port != self.output).collect()
    }

    /// The mirror as in a file.
    pub(super) fn table(&self, ports: &[Port]) -> MirrorTable {
        let name = |port: PortId| Some(ports.get(port.index())?.name.clone());
        let names = |set: PortSet| set.iter().filter_map(name).collect();
        MirrorTable {
            name: self.name.clone(),
            output: name(self.output).unwrap_or_default(),
            all: self.all,
            sources: names(self.sources),
            destinations: names(self.destinations),
            vlans: self.vlans,
            snaplen: self.snaplen,
            priority: self.priority_is_given.then_some(self.priority),
        }
    }
}

/// Reads all mirrors; their output ports must not be used by `routes` or the flooding tree.
pub(super) fn mirrors(
    root: &Table<'_>,
    ports: &[Port],
    classes: &[Class],
    routes: &[Route],
) -> Vec<Mirror> {
    let names = Names::default();
    let tables = root.tables(MirrorTable::TABLE, MirrorTable::KEYS);
    if let Some(first) = tables.get(MIRRORS_MAX) {
        first.complain("name", format!("more than {MIRRORS_MAX} mirrors"));
    }
    let lossless = |priority: &Priority| {
        classes
            .iter()
            .find(|class| class.mode.is_lossless() && class.priorities.contains(priority))
    };
    let mut mirrors: Vec<(Mirror, &Table<'_>)> = Vec::new();
    for table in &tables {
        let Some(entry) = MirrorTable::read(table) else {
            continue;
        };
        names.note(table, "name", &entry.name);
        let number = |key: &str, name: &String| {
            let index = ports.iter().position(|port| port.name == *name);
            if index.is_none() {
                let known: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
                table.complain(key, unknown("port", name, &known));
            }
            index.and_then(PortId::from_index)
        };
        let set = |key: &'static str, names: &[String]| -> PortSet {
            names.iter().filter_map(|name| number(key, name)).collect()
        };
        let sources = set("select-src-port", &entry.sources);
        let destinations = set("select-dst-port", &entry.destinations);
        if !entry.all && sources.is_empty() && destinations.is_empty() {
            table.complain(
                "select-all",
                "the mirror selects nothing: write `select-all = true`, `select-src-port` or `select-dst-port`",
            );
        }
        // A class in a pool would take memory from others.
        let is_pooled = |priority: &Priority| {
            let class = classes.iter().find(|it| it.priorities.contains(priority));
            class.is_some_and(|class| class.pool.is_some())
        };
        let lossy = || {
            Priority::ALL
                .into_iter()
                .filter(|it| lossless(it).is_none())
        };
        let first_lossy = lossy().find(|it| !is_pooled(it)).or(lossy().next());
        let Some(priority) = entry.priority.or(first_lossy) else {
            table.complain(
                "priority",
                "all priorities are lossless, but copies need a lossy one: remove one from the lossless classes",
            );
            continue;
        };
        if let Some(class) = lossless(&priority) {
            table.complain(
                "priority",
                format!(
                    "priority {priority} is lossless (class `{}`), and copies are lossy",
                    class.name
                ),
            );
        }
        let Some(output) = number("output-port", &entry.output) else {
            continue;
        };
        mirrors.push((
            Mirror {
                name: entry.name,
                output,
                all: entry.all,
                sources,
                destinations,
                vlans: entry.vlans,
                snaplen: entry.snaplen,
                priority,
                priority_is_given: entry.priority.is_some(),
            },
            table,
        ));
    }
    check_outputs(&mirrors, ports, routes);
    mirrors.into_iter().map(|(mirror, _)| mirror).collect()
}

/// Checks that an output port has no other use.
fn check_outputs(mirrors: &[(Mirror, &Table<'_>)], ports: &[Port], routes: &[Route]) {
    for (mirror, table) in mirrors {
        let output = mirror.output;
        let name = ports.get(output.index()).map_or("", |port| &port.name);
        let selects = |other: &&(Mirror, &Table<'_>)| {
            other.0.sources.contains(output) || other.0.destinations.contains(output)
        };
        if let Some((other, _)) = mirrors.iter().find(selects) {
            table.complain(
                "output-port",
                format!(
                    "mirror `{}` selects port `{name}`, which sends copies only",
                    other.name
                ),
            );
        }
        if let Some(route) = routes.iter().find(|route| route.ports.contains(&output)) {
            table.complain(
                "output-port",
                format!(
                    "the route to {} leads to port `{name}`, which sends copies only",
                    route.destination
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::daemon::DaemonConfig;
    use std::path::Path;

    const PORTS: &str = r#"name = "s1"
[[port]]
device = "a"
role = "edge"
rate = "1Gbit"
[[port]]
device = "b"
role = "edge"
rate = "1Gbit"
[[port]]
device = "mon"
role = "edge"
rate = "1Gbit"
[[class]]
name = "lossless"
priorities = [0, 3]
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
[[route]]
destination = "02:00:00:00:00:01"
ports = ["a"]
"#;

    fn parse(mirrors: &str) -> Result<DaemonConfig, String> {
        let text = format!("{PORTS}{mirrors}");
        DaemonConfig::parse(&text, Path::new("f")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_mirror_is_read_and_written() {
        let text = "[[mirror]]\nname = \"m\"\noutput-port = \"mon\"\nselect-src-port = [\"a\"]\nselect-dst-port = [\"a\", \"b\"]\nselect-vlan = [0, 10, \"20-29\"]\nsnaplen = 64\n[[mirror]]\nname = \"all\"\noutput-port = \"mon\"\nselect-all = true\npriority = 5\n";
        let config = parse(text).unwrap();
        let again = DaemonConfig::parse(&config.to_toml(), Path::new("g")).unwrap();
        assert_eq!(again, config);
        let numbers = |index: usize| {
            let ports = config.mirrors[index].arriving(3);
            ports.iter().map(|port| port.get()).collect::<Vec<u8>>()
        };
        assert_eq!((numbers(0), numbers(1)), (vec![0], vec![0, 1]));
        let priorities: Vec<u8> = config.mirrors.iter().map(|it| it.priority.get()).collect();
        assert_eq!(priorities, [1, 5], "0 is lossless");
        let vlans = config.mirrors[0].vlans.map(|vlans| vlans.ranges().len());
        assert_eq!((vlans, config.mirrors[1].vlans), (Some(3), None));
        let other =
            parse("[[mirror]]\nname = \"m\"\noutput-port = \"mon\"\nselect-all = true\n").unwrap();
        assert_eq!(config.with_live_settings_of(&other).mirrors, other.mirrors);
    }

    #[test]
    fn copies_avoid_shared_pools_where_possible() {
        let pool = "[[pool]]\nname = \"p\"\nsize = \"1MiB\"\n[[class]]\nname = \"pooled\"\npriorities = [1, 2]\nmode = \"lossy\"\npool = \"p\"\nalpha = 1\n";
        let mirror = "[[mirror]]\nname = \"m\"\noutput-port = \"mon\"\nselect-all = true\n";
        let priority = |text: &str| parse(text).unwrap().mirrors[0].priority.get();
        assert_eq!(priority(&format!("{pool}{mirror}")), 4);
        assert_eq!(priority(&format!("{pool}{mirror}priority = 2\n")), 2);
        let all = pool.replace("[1, 2]", "[1, 2, 4, 5, 6, 7]");
        assert_eq!(priority(&format!("{all}{mirror}")), 1);
    }

    #[test]
    fn contradictory_mirrors_are_refused_by_name() {
        let mirror = |rest: &str| format!("[[mirror]]\nname = \"m\"\n{rest}\n");
        for (mirrors, expected) in [
            (mirror("output-port = \"mon\""), "selects nothing"),
            (
                mirror("output-port = \"mom\"\nselect-all = true"),
                "did you mean `mon`?",
            ),
            (
                mirror("output-port = \"a\"\nselect-all = true"),
                "the route to 02:00:00:00:00:01 leads to port `a`",
            ),
            (
                mirror("output-port = \"mon\"\nselect-dst-port = [\"mon\"]"),
                "mirror `m` selects port `mon`",
            ),
            (
                mirror("output-port = \"mon\"\nselect-all = true\npriority = 3"),
                "priority 3 is lossless (class `lossless`)",
            ),
            (
                mirror("output-port = \"mon\"\nselect-all = true\nselect-vlan = [4095]"),
                "4095 is not a VLAN",
            ),
            (
                mirror("output-port = \"mon\"\nselect-vlan = [10]"),
                "selects nothing",
            ),
            (
                mirror("output-port = \"mon\"\nselect-all = true\nsnaplen = 13"),
                "mirror.m.snaplen: 13 is not between 14 and 65535",
            ),
            (
                mirror("output-port = \"mon\"\nselect-all = true").repeat(2),
                "`m` is already",
            ),
        ] {
            let told = parse(&mirrors).unwrap_err();
            assert!(told.contains(expected), "{expected}: {told}");
        }
        let many: String = (0..5)
            .map(|index| {
                format!(
                    "[[mirror]]\nname = \"{index}\"\noutput-port = \"mon\"\nselect-all = true\n"
                )
            })
            .collect();
        let told = parse(&many).unwrap_err();
        assert!(told.contains("more than 4 mirrors"), "{told}");
    }
}
