//! TOML to [`Scenario`].

mod added;
mod application;
mod baseline;
mod expect;
mod fault;
mod flow;
mod homes;
mod keys;
mod line;
mod multicast;
mod nodes;
mod routing;
mod topology;
mod traffic;
mod transport;

use std::path::Path;

use weir_core::{BitRate, Duration, FeedbackCoding, Priority, SwitchConfig, PORT_COUNT_MAX};

use super::topology::Adjacency;
use super::{Additions, LinkProperties, Scenario, Transport};
use crate::document::{self, Override};
use crate::names::check_name;
use crate::reader::{unknown, Names, Problem, Problems, Table};
use crate::settings::{valid, Value};
use crate::switch::{
    check_steps, classes, complain_of_core, ecn_profiles, fit_release_buffer, pools, Class,
    ClassTable, DeadlockConfig, FlowsConfig, FrameConfig, LevelSizing, Lines, PfcwdConfig,
    Surroundings,
};
use baseline::check_priorities;
use expect::{check_credit_loop, expect, expected_case};
use fault::Places;
use flow::Nodes;
use homes::Homes;
use keys::keys;
pub use keys::KEYS;
use nodes::{check_levels, Network};
use routing::{check_ways, longest_way, next_hops, targets};

/// `directory` contains the files named by the text.
pub(super) fn scenario(
    text: &str,
    directory: &Path,
    overrides: &[Override],
    additions: &Additions,
) -> Result<Scenario, Vec<Problem>> {
    let mut root = document::parse(text)?;
    let problems = Problems::default();
    for change in overrides {
        if let Err(problem) = document::apply(&mut root, change) {
            problems.push(problem);
        }
    }
    let table = Table::open(&root, "", keys(""), &problems);
    let scenario = table
        .as_ref()
        .and_then(|table| read(table, directory, additions));
    if let (Some(table), Some(scenario), false) = (&table, &scenario, problems.any()) {
        check_core(table, scenario, &problems);
    }
    match scenario {
        Some(scenario) if !problems.any() => Ok(scenario),
        _ => Err(problems.into_sorted()),
    }
}

/// Checks the classes, which all switches share, with the switch core's rules: a buffer must hold a frame, for example.
fn check_core(root: &Table<'_>, scenario: &Scenario, problems: &Problems) {
    let all_ports = scenario.all_ports();
    let Some(switch) = all_ports.iter().position(|ports| !ports.is_empty()) else {
        return;
    };
    // Routes do not affect classes, and there may be many.
    let first = scenario.switch_towards(switch, &all_ports[switch], &[]);
    if let Err(error) = first.core().validate() {
        complain_of_core(root, &scenario.classes, &error, problems);
    }
}

/// Files named by the text, and their contents.
pub(super) fn files(text: &str, directory: &Path, overrides: &[Override]) -> Vec<(String, String)> {
    // Most name none, and are read for each run of a sweep.
    let is_named = |text: &str| text.contains(traffic::SIZES_SUFFIX);
    if !is_named(text) && !overrides.iter().any(|change| is_named(&change.to_string())) {
        return Vec::new();
    }
    let Ok(mut root) = document::parse(text) else {
        return Vec::new();
    };
    for change in overrides {
        // Problems are reported when the scenario is read.
        let _ = document::apply(&mut root, change);
    }
    let problems = Problems::default();
    let Some(table) = Table::open(&root, "", keys(""), &problems) else {
        return Vec::new();
    };
    let names = traffic::files(&table).into_iter();
    let read = |name: String| {
        let text = traffic::short_file(&directory.join(&name));
        (name, text.unwrap_or_default())
    };
    names.map(read).collect()
}

fn read(root: &Table<'_>, directory: &Path, additions: &Additions) -> Option<Scenario> {
    let name: Option<String> = root.require("name");
    if let Some(name) = &name {
        check_name(root, "name", name);
    }
    let duration: Option<Duration> = root.require("duration");
    let seed = root.get_or("seed", 1);
    let link_defaults = link_defaults(root);
    let mut deadlock = DeadlockConfig::read(root, DeadlockConfig::default(), check_steps);
    let Network {
        switches,
        has_levels,
        hosts,
        multihomed,
        links,
    } = nodes::network(root, &topology::plan(root, seed), link_defaults);
    let host_names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    let adjacency = Adjacency::new(switches.len(), &hosts, &links);
    check_ports(root, &switches, &adjacency);
    let duration = duration?;
    if duration.is_zero() {
        root.complain("duration", "must be above zero");
    }
    // Flows determine the targets of routes, routes the lengths of paths, and those the buffers of classes.
    let class_names = class_names(root);
    let host_kind = application::host_kind(root);
    application::check_addresses(root, host_kind, hosts.len());
    let transports: Vec<(&str, Transport)> = Transport::NAMED
        .into_iter()
        .chain(additions.named())
        .collect();
    let nodes = Nodes {
        transports: &transports,
        switches: &switches,
        hosts: &host_names,
        homes: &Homes::new(&hosts, &multihomed, &adjacency, seed),
        classes: &class_names,
        duration,
        directory,
    };
    let names = Names::default();
    let mut flows = flow::flows(root, &nodes, &names);
    traffic::extend_flows(&mut flows, root, &nodes, &names, seed);
    added::extend_flows(&mut flows, root, &nodes, &names, additions);
    let applications = application::applications(root, &nodes, &names);
    let is_target = targets(&flows, hosts.len());
    let next_hops = next_hops(root, &switches, &hosts, &host_names, &adjacency, is_target)?;
    let multicast = multicast::multicast(
        root,
        &switches,
        &links,
        &adjacency,
        (host_kind, hosts.len()),
    );
    let depth = longest_way(&adjacency, &next_hops, &hosts);
    let lines = links.iter().map(|link| &link.properties);
    let lines = lines.map(|line| (line.rate, line.round_trip, line.feedback));
    let longest = traffic::longest_frame(root).max(additions.longest_frame());
    let frames = FrameConfig::DEFAULT.with_frames(longest);
    let pools = pools(root);
    let sizing = LevelSizing::new(&frames, lines, Some(depth));
    let cables = line::cables(root, &frames, (&switches, &hosts), &links);
    let ecn = ecn_profiles(root);
    let around = Surroundings {
        pools: &pools,
        ecn: &ecn,
        sizing: &sizing,
        cables: &cables,
    };
    let classes = classes(root, &around);
    check_levels(root, &classes, &has_levels);
    fit_release_buffer(root, &classes, &cables, &mut deadlock);
    let rates = links.iter().map(|link| link.properties.rate);
    let slowest = rates.chain(hosts.iter().map(|host| host.line.rate)).min();
    let lines = Lines {
        slowest: slowest.map(|rate| ("the slowest link".to_owned(), rate)),
        strict_share: SwitchConfig::STRICT_SHARE,
        frame_length_max: frames.frame_length_max(),
        detect: deadlock.detect,
    };
    lines.check(root, &classes);
    if multicast.is_some() {
        multicast::check_untagged(root, &classes);
    }
    if classes.len() != class_names.len() {
        // Problems of a class are reported; flows refer to classes by index.
        return None;
    }
    let is_mixed = has_levels.contains(&false);
    let of_flows = flows.iter().map(|flow| flow.class);
    let of_applications = applications
        .iter()
        .filter_map(|application| application.class);
    let used = of_flows.chain(of_applications);
    let case = expected_case(&classes, used, is_mixed, deadlock.policy);
    let places = Places {
        switches: &switches,
        hosts: &host_names,
        links: &links,
        adjacency: &adjacency,
        lossless: lossless_priorities(&classes),
        duration,
    };
    let (faults, fault_lines) = fault::faults(root, &places);
    let scenario = Scenario {
        name: name?,
        description: root.get_or("description", String::new()),
        duration,
        seed,
        expect: expect(root, case),
        classes,
        pools,
        ecn,
        deadlock,
        pfcwd: PfcwdConfig::read(root, PfcwdConfig::default(), valid::together),
        flow_monitor: FlowsConfig::read_for(root, deadlock.policy),
        control: transport::control(root),
        dcqcn: transport::dcqcn(root),
        window: transport::window(root),
        transports: transport::transports(root, &flows),
        faults,
        fault_lines,
        baseline: baseline::baseline(root, &switches, &adjacency),
        switches,
        has_levels,
        host_kind,
        hosts,
        multihomed,
        links,
        link_defaults,
        multicast,
        next_hops,
        balancing: routing::balancing(root, &flows),
        flows,
        applications,
    };
    check_ways(root, &scenario, &adjacency);
    check_priorities(root, &scenario, &adjacency);
    if !root.problems().any() {
        check_credit_loop(root, &scenario, case);
    }
    Some(scenario)
}

fn lossless_priorities(classes: &[Class]) -> Vec<Priority> {
    let lossless = classes.iter().filter(|class| class.mode.is_lossless());
    lossless
        .flat_map(|class| class.priorities.iter().copied())
        .collect()
}

/// The classes' names, needed before anything else of them can be read.
fn class_names(root: &Table<'_>) -> Vec<String> {
    let tables = root.tables(ClassTable::TABLE, ClassTable::KEYS);
    let names = tables.iter().filter_map(|table| table.get("name"));
    names.collect()
}

fn check_ports(root: &Table<'_>, switches: &[String], adjacency: &Adjacency) {
    for (index, name) in switches.iter().enumerate() {
        let count = adjacency.ports(index).len();
        if count > PORT_COUNT_MAX {
            let message = format!(
                "has {count} ports with all its links and hosts; the maximum is {PORT_COUNT_MAX}"
            );
            root.problems().add(None, format!("switch.{name}"), message);
        }
    }
}

fn link_defaults(root: &Table<'_>) -> LinkProperties {
    let default = LinkProperties {
        rate: BitRate::from_mbit(100),
        delay: Duration::from_micros(10),
        cable: None,
        reaction: None,
        // Many switches and hosts share few cores, so their reaction takes long.
        round_trip: Duration::from_millis(80),
        feedback: FeedbackCoding::Pfc,
        known: true,
    };
    root.table("link-defaults", keys("link-defaults"))
        .map_or(default, |table| LinkProperties {
            feedback: FeedbackCoding::read(&table, "feedback").unwrap_or(default.feedback),
            known: default.known,
            ..line::line(&table, default)
        })
}

fn reference(table: &Table<'_>, key: &str, what: &str, names: &[String]) -> Option<usize> {
    let name: String = table.require(key)?;
    find(table, key, what, &name, names)
}

fn find(table: &Table<'_>, key: &str, what: &str, name: &str, names: &[String]) -> Option<usize> {
    let found = names.iter().position(|known| known == name);
    if found.is_none() {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        table.complain(key, unknown(what, name, &known));
    }
    found
}

/// Names of switches; `None` if one is invalid (which is reported).
fn switch_list(table: &Table<'_>, key: &str, switches: &[String]) -> Option<Vec<usize>> {
    let names: Vec<String> = table.require(key)?;
    let found = names
        .iter()
        .map(|name| find(table, key, "switch", name, switches));
    let found: Vec<Option<usize>> = found.collect();
    found.into_iter().collect()
}
