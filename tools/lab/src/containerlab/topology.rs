//! Writes the topology's file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use weir_config::scenario::{PortPeer, Scenario, PREFIX_LENGTH};

use super::monitoring::Monitoring;
use super::{device, Wanted, CONFIGURATION};

/// Kind for any image.
const KIND: &str = "linux";
/// A host's only interface besides the management network's.
const HOST_DEVICE: &str = "eth1";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    topology: Topology,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Topology {
    nodes: BTreeMap<String, Node>,
    links: Vec<Link>,
}

/// One container.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    kind: String,
    image: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    binds: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ports: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exec: Vec<String>,
}

impl Node {
    /// Creates a node with these `binds`, published `ports`, and environment.
    pub fn new(image: &str, binds: Vec<String>, ports: &[&str], env: &[(&str, &str)]) -> Self {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self {
            kind: KIND.to_owned(),
            image: image.to_owned(),
            binds,
            ports: ports.iter().map(|port| (*port).to_owned()).collect(),
            env: env.collect(),
            exec: Vec::new(),
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    endpoints: [String; 2],
    mtu: u64,
}

/// Formats YAML; the nodes' files are in the directory `beside`.
pub fn write(
    scenario: &Scenario,
    wanted: &Wanted<'_>,
    beside: &str,
    monitoring: Option<&Monitoring>,
) -> Result<String> {
    let mut nodes = BTreeMap::new();
    for name in &scenario.switches {
        let bind = format!("{beside}/{name}.toml:{CONFIGURATION}:ro");
        nodes.insert(name.clone(), Node::new(wanted.image, vec![bind], &[], &[]));
    }
    for (index, host) in scenario.hosts.iter().enumerate() {
        let mut node = Node::new(wanted.host_image, Vec::new(), &[], &[]);
        node.exec = commands(scenario, index);
        nodes.insert(host.name.clone(), node);
    }
    for (name, node) in monitoring.into_iter().flat_map(Monitoring::nodes) {
        let taken = nodes.insert(name.to_owned(), node);
        anyhow::ensure!(
            taken.is_none(),
            "a switch or a host is called {name}, as the node of its monitoring would be"
        );
    }
    let topology = Topology {
        nodes,
        links: links(scenario)?,
    };
    let file = File {
        name: scenario.name.clone(),
        topology,
    };
    Ok(head(scenario) + &serde_yaml_ng::to_string(&file)?)
}

/// Returns comments that explain the file.
fn head(scenario: &Scenario) -> String {
    let mut out = format!(
        "# {}: {}\n# Made by `weir-lab export`; containerlab deploys it: containerlab deploy --topo FILE\n",
        scenario.name, scenario.description
    );
    for flow in &scenario.flows {
        let [from, to] = [flow.from, flow.to].map(|host| &scenario.hosts[host].name);
        let _ = writeln!(
            out,
            "# flow {}: {from} to {to}, {}",
            flow.name,
            scenario.host_ip(flow.to)
        );
    }
    for application in &scenario.applications {
        let [from, to] = [application.from, application.to].map(|host| &scenario.hosts[host].name);
        let _ = writeln!(
            out,
            "# application {}: {from} to {to}, {}",
            application.name,
            scenario.host_ip(application.to)
        );
    }
    out
}

/// Returns a host's commands after its link is up: its addresses, and static neighbours for all its peers, since switches
/// with configured routes do not forward requests for them.
fn commands(scenario: &Scenario, index: usize) -> Vec<String> {
    let host = &scenario.hosts[index];
    let ip = scenario.host_ip(index);
    let mut commands = vec![
        // A frame that XDP redirects at the peer would carry an unfinished checksum.
        format!("ethtool --offload {HOST_DEVICE} tx off"),
        format!("ip link set dev {HOST_DEVICE} address {}", host.address),
        format!("ip address add {ip}/{PREFIX_LENGTH} dev {HOST_DEVICE}"),
    ];
    if scenario.multicast.is_none() {
        let flows = scenario.flows.iter().map(|flow| [flow.from, flow.to]);
        let applications = scenario.applications.iter().map(|it| [it.from, it.to]);
        let mut others: Vec<usize> = flows
            .chain(applications)
            .filter(|ends| ends.contains(&index))
            .flatten()
            .filter(|other| *other != index)
            .collect();
        others.sort_unstable();
        others.dedup();
        commands.extend(others.into_iter().map(|other| {
            let address = scenario.hosts[other].address;
            let ip = scenario.host_ip(other);
            format!("ip neighbor replace {ip} lladdr {address} dev {HOST_DEVICE}")
        }));
    }
    commands
}

fn links(scenario: &Scenario) -> Result<Vec<Link>> {
    let ports = scenario.all_ports();
    let mtu = scenario.frames().mtu.get();
    let end = |switch: usize, peer: PortPeer| {
        let name = &scenario.switches[switch];
        let position = ports[switch].iter().position(|port| port.peer == peer);
        let position = position
            .with_context(|| format!("{name} has no port to {}", scenario.peer_name(peer)))?;
        anyhow::Ok(format!("{name}:{}", device(position)))
    };
    let whole = scenario.links.iter().filter(|link| !link.failed);
    let between = whole.map(|link| {
        let [a, b] = link.ends;
        anyhow::Ok([end(a, PortPeer::Switch(b))?, end(b, PortPeer::Switch(a))?])
    });
    let hosts = scenario.hosts.iter().enumerate().map(|(index, host)| {
        let other = end(host.switch, PortPeer::Host(index))?;
        anyhow::Ok([other, format!("{}:{HOST_DEVICE}", host.name)])
    });
    between
        .chain(hosts)
        .map(|endpoints| {
            Ok(Link {
                endpoints: endpoints?,
                mtu,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Every interface belongs to one link, every link connects two existing nodes, and written files parse to the same.
    #[test]
    fn links_lead_from_node_to_node() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        for name in [
            "ring4.toml",
            "fat-tree.toml",
            "kernel/leaf-spine-kernel.toml",
        ] {
            let scenario = Scenario::load(&scenarios.join(name), &[]).unwrap();
            let wanted = Wanted {
                image: "weir",
                host_image: "host",
                monitoring: None,
            };
            let text = write(&scenario, &wanted, "x", None).unwrap();
            let file: File = serde_yaml_ng::from_str(&text).unwrap();
            assert_eq!(file.name, scenario.name);
            let nodes = scenario.switches.len() + scenario.hosts.len();
            assert_eq!(file.topology.nodes.len(), nodes, "{name}");
            let mut seen = BTreeSet::new();
            for link in &file.topology.links {
                assert_eq!(link.mtu, 1_500);
                for end in &link.endpoints {
                    let (node, device) = end.split_once(':').unwrap();
                    assert!(file.topology.nodes.contains_key(node), "{end}");
                    let number: usize = device.strip_prefix("eth").unwrap().parse().unwrap();
                    assert!(number > 0, "{end} is the management network's");
                    assert!(seen.insert(end.clone()), "{end} is at two links");
                }
            }
            let ports: usize = scenario.all_ports().iter().map(Vec::len).sum();
            assert_eq!(seen.len(), ports + scenario.hosts.len(), "{name}");
        }
    }

    /// Switches with configured routes drop broadcasts, so each end of a flow must know the other.
    #[test]
    fn hosts_know_whom_they_speak_with() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let scenario = Scenario::load(&scenarios.join("ring4.toml"), &[]).unwrap();
        assert!(scenario.multicast.is_none());
        for flow in &scenario.flows {
            for (host, other) in [(flow.from, flow.to), (flow.to, flow.from)] {
                let address = scenario.hosts[other].address.to_string();
                let all = commands(&scenario, host);
                let knows = all.iter().any(|command| command.contains(&address));
                assert!(knows, "{}: {all:?}", flow.name);
            }
        }
    }
}
