//! `[[switch]]`, `[[host]]` and `[[link]]`.

use weir_core::{ClassMode, FeedbackCoding, MacAddress, PauseRule, Police, PortRole};

use super::{find, homes, keys, line, reference};
use crate::reader::{Names, Table};
use crate::scenario::generate::Plan;
use crate::scenario::{Host, Link, LinkProperties, Multihomed};
use crate::settings::Value;
use crate::switch::Class;

/// Switches, hosts and links.
pub(super) struct Network {
    pub(super) switches: Vec<String>,
    pub(super) has_levels: Vec<bool>,
    pub(super) hosts: Vec<Host>,
    pub(super) multihomed: Vec<Multihomed>,
    pub(super) links: Vec<Link>,
}

/// The contents of `plan`, followed by those of the file.
pub(super) fn network(root: &Table<'_>, plan: &Plan, defaults: LinkProperties) -> Network {
    let nodes = Names::default();
    for name in plan
        .switches
        .iter()
        .chain(plan.hosts.iter().map(|(name, _)| name))
    {
        nodes.take(name);
    }
    let (switches, has_levels) = switches(root, &nodes, plan);
    let hosts = hosts(root, &nodes, &switches, defaults, plan);
    Network {
        multihomed: homes::multihomed(root, &nodes, &hosts),
        hosts,
        links: links(root, &switches, defaults, plan),
        switches,
        has_levels,
    }
}

/// Names, and whether each supports Levels.
fn switches(root: &Table<'_>, nodes: &Names, plan: &Plan) -> (Vec<String>, Vec<bool>) {
    let planned = plan.switches.iter().map(|name| (name.clone(), true));
    let tables = root.tables("switch", keys("switch"));
    let written = tables
        .iter()
        .filter_map(|table| Some((node_name(table, nodes)?, table.get_or("levels", true))));
    let switches: (Vec<String>, Vec<bool>) = planned.chain(written).unzip();
    if switches.0.is_empty() {
        root.complain(
            "switch",
            "a scenario needs at least one [[switch]], or a [topology]",
        );
    }
    switches
}

/// A switch without Levels is meaningful only in a network with one that has them.
pub(super) fn check_levels(root: &Table<'_>, classes: &[Class], has_levels: &[bool]) {
    let is_level = |class: &Class| matches!(class.mode, ClassMode::Level { .. });
    let message = if !classes.iter().any(is_level) {
        "no class has mode = \"level\", so every switch uses plain PFC: remove this"
    } else if !has_levels.contains(&true) {
        "no switch with Levels remains: set mode = \"pfc\" in the class instead"
    } else {
        return;
    };
    for table in root.tables("switch", keys("switch")) {
        if table.get("levels") == Some(false) {
            table.complain("levels", message);
        }
    }
}

/// Names are used for namespaces, devices and directories.
pub(super) fn node_name(table: &Table<'_>, nodes: &Names) -> Option<String> {
    const LENGTH_MAX: usize = 11;
    let name: String = table.require("name")?;
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > LENGTH_MAX || !name.chars().all(legal) {
        table.complain(
            "name",
            format!(
                "invalid name `{name}`, which is part of a device's name: use 1 to {LENGTH_MAX} of a-z, 0-9 and -"
            ),
        );
    }
    nodes.note(table, "name", &name);
    Some(name)
}

fn hosts(
    root: &Table<'_>,
    nodes: &Names,
    switches: &[String],
    defaults: LinkProperties,
    plan: &Plan,
) -> Vec<Host> {
    let mut hosts: Vec<Host> = plan
        .hosts
        .iter()
        .enumerate()
        .map(|(index, (name, switch))| Host {
            name: name.clone(),
            switch: *switch,
            obeys_pfc: true,
            obeys_credits: true,
            police: Default::default(),
            pause: PauseRule::of_role(PortRole::Edge),
            address: address(index),
            line: defaults,
        })
        .collect();
    let tables = root.tables("host", keys("host")).into_iter();
    for table in tables.filter(|table| !table.has("lines")) {
        let name = node_name(&table, nodes);
        let switch = reference(&table, "switch", "switch", switches);
        let obeys_pfc = table.get_or("obeys-pfc", true);
        let obeys_credits = table.get_or("obeys-credits", true);
        let police = Police::read(&table, "police").unwrap_or_default();
        let pause = PauseRule::read(&table, "pause");
        let line = line::line(&table, defaults);
        if let (Some(name), Some(switch)) = (name, switch) {
            let address = address(hosts.len());
            hosts.push(Host {
                name,
                switch,
                obeys_pfc,
                obeys_credits,
                police,
                pause: pause.unwrap_or(PauseRule::of_role(PortRole::Edge)),
                address,
                line,
            });
        }
    }
    hosts
}

/// Counted from one, in a locally administered address.
fn address(index: usize) -> MacAddress {
    let [.., high, middle, low] = (index as u64 + 1).to_be_bytes();
    MacAddress([0x02, 0x57, 0, high, middle, low])
}

fn links(
    root: &Table<'_>,
    switches: &[String],
    defaults: LinkProperties,
    plan: &Plan,
) -> Vec<Link> {
    let pairs = Names::default();
    let note = |ends: [usize; 2]| {
        let mut names = ends.map(|switch| switches[switch].as_str());
        names.sort_unstable();
        names.join("-")
    };
    let planned = plan.links.iter().map(|link| {
        pairs.take(&note(link.ends));
        Link {
            ends: link.ends,
            failed: link.failed,
            properties: defaults,
        }
    });
    let mut links: Vec<Link> = planned.collect();
    for table in root.tables("link", keys("link")) {
        let Some(ends) = ends(&table, switches) else {
            continue;
        };
        pairs.note(&table, "ends", &note(ends));
        let feedback = FeedbackCoding::read(&table, "feedback").unwrap_or(defaults.feedback);
        let known = table.get_or("known", defaults.known);
        if !known && feedback == FeedbackCoding::Grants {
            table.complain("known", "grants need known = true");
        }
        links.push(Link {
            ends,
            failed: table.get_or("failed", false),
            properties: LinkProperties {
                feedback,
                known,
                ..line::line(&table, defaults)
            },
        });
    }
    links
}

fn ends(table: &Table<'_>, switches: &[String]) -> Option<[usize; 2]> {
    let names: Vec<String> = table.require("ends")?;
    let [a, b] = names.as_slice() else {
        table.complain("ends", "a link has two ends: ends = [\"s1\", \"s2\"]");
        return None;
    };
    let ends = [
        find(table, "ends", "switch", a, switches)?,
        find(table, "ends", "switch", b, switches)?,
    ];
    if ends[0] == ends[1] {
        table.complain("ends", format!("`{a}` cannot be linked to itself"));
        return None;
    }
    Some(ends)
}
