//! A scenario as a containerlab topology: each switch is a container of Weir's image with its lab configuration, each host
//! one with an ordinary kernel network.
//!
//! This relies on facts from containerlab's manual and its schema (schemas/clab.schema.json): a topology has `name` and
//! `topology` with `nodes` and `links`; a node of kind `linux` is any image; `binds` are relative to the topology's file;
//! `exec` runs in the node once all links exist; interfaces are `eth1` and so on, created after the start of the container;
//! `eth0` is the management network's; a link's MTU is 9500 by default.

mod monitoring;
mod topology;

use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use weir_config::daemon::{DaemonConfig, MetricsConfig, PageConfig};
use weir_config::scenario::Scenario;

use crate::lab::configuration::daemon_config;
use crate::lab::names::RUN;
use monitoring::Monitoring;

/// The image of `cargo xtask image`, of this version.
pub const IMAGE: &str = concat!("weir:", env!("CARGO_PKG_VERSION"));
/// An image with the hosts' tools, including iperf3.
pub const HOST_IMAGE: &str = "ghcr.io/srl-labs/network-multitool:latest";
/// Path of the configuration in the image.
const CONFIGURATION: &str = "/etc/weir/switchd.toml";
/// Containers reach each other over their management network.
const ANY: std::net::Ipv4Addr = std::net::Ipv4Addr::UNSPECIFIED;
const METRICS_PORT: u16 = 9464;
const PAGE_PORT: u16 = 9465;

/// Parts of the topology besides the scenario.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The image of switches.
    pub image: &'a str,
    /// The image of hosts; it needs ip(8) and ethtool(8).
    pub host_image: &'a str,
    /// A directory with `prometheus/` and `grafana/`, such as packaging/ or /usr/share/weir:
    /// Prometheus and Grafana become nodes as well.
    pub monitoring: Option<&'a Path>,
}

/// Writes the topology into `file`, and the nodes' files into a directory of the same name next to it.
///
/// # Errors
///
/// When a file cannot be written, or containerlab does not support the topology.
pub fn export(scenario: &Scenario, wanted: &Wanted<'_>, file: &Path) -> Result<()> {
    for (path, text) in files(scenario, wanted, file)? {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        }
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Returns the topology's file, followed by the others, with their contents.
///
/// # Errors
///
/// When containerlab does not support the topology.
pub fn files(
    scenario: &Scenario,
    wanted: &Wanted<'_>,
    file: &Path,
) -> Result<Vec<(PathBuf, String)>> {
    let name = file.file_name().and_then(|name| name.to_str());
    let beside = name.and_then(|name| name.strip_suffix(".clab.yml"));
    let Some(beside) = beside.filter(|name| !name.is_empty()) else {
        bail!(
            "{}: the name of a topology file must end in .clab.yml",
            file.display()
        );
    };
    let directory = file.with_file_name(beside);
    let monitoring = wanted
        .monitoring
        .map(|from| Monitoring::new(scenario, beside, file, from))
        .transpose()?;
    let topology = topology::write(scenario, wanted, beside, monitoring.as_ref())?;
    let mut files = vec![(file.to_owned(), topology)];
    for index in 0..scenario.switches.len() {
        let config = config(scenario, index);
        let path = directory.join(format!("{}.toml", config.name));
        files.push((path, config.to_toml()));
    }
    for (name, text) in monitoring.iter().flat_map(Monitoring::files) {
        files.push((directory.join(name), text));
    }
    Ok(files)
}

/// Returns the device of a switch's port, by its index.
fn device(port: usize) -> String {
    format!("eth{}", port + 1)
}

/// Returns the name under which other containers find a node.
fn container(topology: &str, node: &str) -> String {
    format!("clab-{topology}-{node}")
}

/// Returns the configuration of switch `index`: that of the lab, with containerlab's devices, which
/// appear while the switch runs.
fn config(scenario: &Scenario, index: usize) -> DaemonConfig {
    let name = &scenario.switches[index];
    let mut config = daemon_config(scenario, index, Path::new(RUN).join(name));
    for (number, port) in config.ports.iter_mut().enumerate() {
        port.device = device(number);
        port.wait = true;
    }
    config.metrics = MetricsConfig {
        listen: Some((ANY, METRICS_PORT).into()),
        names: vec![container(&scenario.name, name)],
        unprotected: true,
        ..config.metrics
    };
    config.page = PageConfig {
        listen: Some((ANY, PAGE_PORT).into()),
        names: vec![container(&scenario.name, name)],
        unprotected: true,
    };
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLES: [(&str, &str, bool); 2] = [
        ("kernel/ring4-kernel.toml", "ring4", false),
        ("kernel/leaf-spine-kernel.toml", "leaf-spine", true),
    ];

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// WEIR_WRITE=1 rewrites the files.
    #[test]
    fn the_examples_are_up_to_date() {
        for (scenario, name, is_monitored) in EXAMPLES {
            let scenario = Scenario::load(&root().join("scenarios").join(scenario), &[]).unwrap();
            let packaging = root().join("packaging");
            let wanted = Wanted {
                image: IMAGE,
                host_image: HOST_IMAGE,
                monitoring: is_monitored.then_some(&*packaging),
            };
            let file = root()
                .join("packaging/examples/clab")
                .join(format!("{name}.clab.yml"));
            if std::env::var_os("WEIR_WRITE").is_some() {
                export(&scenario, &wanted, &file).unwrap();
            }
            for (path, text) in files(&scenario, &wanted, &file).unwrap() {
                let there = std::fs::read_to_string(&path).unwrap_or_default();
                assert!(
                    there == text,
                    "{}: WEIR_WRITE=1 writes it anew",
                    path.display()
                );
            }
        }
    }

    #[test]
    fn each_switch_waits_for_its_interfaces_and_has_a_valid_file() {
        let file = root().join("scenarios/fat-tree.toml");
        let scenario = Scenario::load(&file, &[]).unwrap();
        for index in 0..scenario.switches.len() {
            let config = config(&scenario, index);
            let again = DaemonConfig::parse(&config.to_toml(), Path::new("again.toml"));
            assert_eq!(again.as_ref(), Ok(&config));
            for (number, port) in config.ports.iter().enumerate() {
                assert_eq!((&*port.device, port.wait), (&*device(number), true));
            }
        }
    }

    /// A topology in the working directory, with and without `./`.
    #[test]
    fn a_bare_name_is_a_file_of_the_working_directory() {
        let scenario = root().join("scenarios/kernel/leaf-spine-kernel.toml");
        let scenario = Scenario::load(&scenario, &[]).unwrap();
        let packaging = root().join("packaging");
        let wanted = Wanted {
            image: IMAGE,
            host_image: HOST_IMAGE,
            monitoring: Some(&packaging),
        };
        let text = |name: &str| {
            let files = files(&scenario, &wanted, Path::new(name)).unwrap();
            files.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(text("leaf-spine.clab.yml"), text("./leaf-spine.clab.yml"));
    }

    #[test]
    fn a_file_of_another_name_is_refused() {
        let scenario = Scenario::load(&root().join("scenarios/ring4.toml"), &[]).unwrap();
        let wanted = Wanted {
            image: "weir",
            host_image: "host",
            monitoring: None,
        };
        for name in ["ring4.yml", ".clab.yml"] {
            let error = files(&scenario, &wanted, Path::new(name)).unwrap_err();
            assert!(error.to_string().contains(".clab.yml"), "{error}");
        }
    }

    /// Constraints of containerlab's schema for nodes: no empty lists, no duplicates, and no
    /// unknown keys.
    #[test]
    fn the_examples_are_as_the_schema_says() {
        const LISTS: [&str; 3] = ["binds", "ports", "exec"];
        for (_, name, _) in EXAMPLES {
            let file = root()
                .join("packaging/examples/clab")
                .join(format!("{name}.clab.yml"));
            let text = std::fs::read_to_string(&file).unwrap();
            let read: serde_json::Value = serde_yaml_ng::from_str(&text).unwrap();
            let keys = |value: &serde_json::Value| -> Vec<String> {
                value.as_object().unwrap().keys().cloned().collect()
            };
            assert_eq!(keys(&read), ["name", "topology"]);
            assert_eq!(keys(&read["topology"]), ["links", "nodes"]);
            for (node, settings) in read["topology"]["nodes"].as_object().unwrap() {
                assert_eq!(settings["kind"], "linux", "{node}");
                assert!(settings["image"].is_string(), "{node}");
                for (key, value) in settings.as_object().unwrap() {
                    if LISTS.contains(&&**key) {
                        let all = value.as_array().unwrap();
                        let texts = all.iter().map(|one| one.as_str().unwrap());
                        let distinct: std::collections::BTreeSet<&str> = texts.collect();
                        assert!(
                            !all.is_empty() && distinct.len() == all.len(),
                            "{node}: {key}"
                        );
                    } else {
                        assert!(["kind", "image", "env"].contains(&&**key), "{node}: {key}");
                    }
                }
                let sources = settings["binds"].as_array().into_iter().flatten();
                for source in sources.filter_map(|bind| bind.as_str()?.split(':').next()) {
                    assert!(file.with_file_name(source).exists(), "{node}: {source}");
                }
            }
        }
    }
}
