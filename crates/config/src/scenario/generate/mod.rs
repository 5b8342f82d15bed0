//! Topologies by kind: the same network for the same kind and seed, on every machine.

mod dragonfly;
mod grid;
mod regular;
mod tree;
mod wiring;

use thiserror::Error;
use weir_core::PORT_COUNT_MAX;

use super::random::Random;

/// Maximum number of switches of a generated network.
pub const SWITCH_COUNT_MAX: usize = 120_000;
/// Maximum number of hosts of a generated network.
pub const HOST_COUNT_MAX: usize = 200_000;
/// Maximum number of links between switches of a generated network.
pub const LINK_COUNT_MAX: usize = 1_000_000;

/// A kind of topology, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyKind {
    /// Each switch linked to the next, the last to the first.
    Ring {
        /// At least 3.
        switches: usize,
    },
    /// Each switch linked to the next; a single switch is a line as well.
    Line {
        /// At least 1.
        switches: usize,
    },
    /// A grid: each switch is linked to its neighbours to the side and above.
    Mesh {
        /// At least 1.
        rows: usize,
        /// At least 1.
        columns: usize,
    },
    /// A mesh whose rows and columns are rings.
    Torus {
        /// At least 3.
        rows: usize,
        /// At least 3.
        columns: usize,
    },
    /// Tori stacked in layers, whose columns across layers are rings as well.
    Torus3d {
        /// At least 3.
        layers: usize,
        /// At least 3.
        rows: usize,
        /// At least 3.
        columns: usize,
    },
    /// Groups in which every switch is linked to every other, with one link between every two groups, assigned to the
    /// switches of each in turn (Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA
    /// 2008).
    Dragonfly {
        /// At least 2.
        groups: usize,
        /// In each group; at least 1.
        switches: usize,
    },
    /// Every leaf linked to every spine.
    LeafSpine {
        /// At least 1; they have the hosts.
        leaves: usize,
        /// At least 1.
        spines: usize,
    },
    /// Three levels of switches with k ports (Al-Fares, Loukissas, Vahdat: A Scalable, Commodity Data Center
    /// Network Architecture, SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores.
    FatTree {
        /// Even, at least 2.
        k: usize,
    },
    /// The AB fat tree of F10 (Liu, Halperin, Krishnamurthy, Anderson, NSDI 2013): odd pods reach the cores by rows,
    /// even ones by columns.
    F10 {
        /// Even, at least 2.
        k: usize,
    },
    /// A random network in which every switch has the same number of links.
    RandomRegular {
        /// Above `degree`; switches × degree is even.
        switches: usize,
        /// At least 2.
        degree: usize,
    },
}

/// `[topology]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopologyConfig {
    /// The network to build.
    pub kind: TopologyKind,
    /// Number of hosts on each switch; in trees, on each edge switch.
    pub hosts: usize,
    /// Number of wiring mistakes: two links exchange one end each.
    pub miswired: usize,
    /// Number of links that are broken from the start.
    pub failed: usize,
}

/// A generated network. Switches are identified by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Names.
    pub switches: Vec<String>,
    /// Names, each with its switch.
    pub hosts: Vec<(String, usize)>,
    /// Links between switches, without duplicates.
    pub links: Vec<PlannedLink>,
    /// By switch, in trees: 0 at the top.
    pub tiers: Option<Vec<u8>>,
}

/// A link of a [`Plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedLink {
    /// The two switches.
    pub ends: [usize; 2],
    /// True for a link that is broken from the start.
    pub failed: bool,
}

/// Error: the network cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct GenerateError {
    /// The key of `[topology]` that is invalid.
    pub key: &'static str,
    /// The problem, and the legal values.
    pub message: String,
}

impl GenerateError {
    fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self {
            key,
            message: message.into(),
        }
    }
}

impl TopologyKind {
    /// Default number of hosts on each switch; in trees, on each edge switch.
    pub const fn default_hosts(self) -> usize {
        match self {
            Self::FatTree { k } | Self::F10 { k } => k / 2,
            _ => 1,
        }
    }

    /// Checks the parameters.
    fn check(self) -> Result<(), GenerateError> {
        let least = |key, value: usize, least: usize| match value >= least {
            true => Ok(()),
            false => Err(GenerateError::new(
                key,
                format!("{value} is too few; the minimum is {least}"),
            )),
        };
        match self {
            Self::Ring { switches } => least("switches", switches, 3),
            Self::Line { switches } => least("switches", switches, 1),
            Self::Mesh { rows, columns } => {
                least("rows", rows, 1)?;
                least("columns", columns, 1)
            }
            Self::Torus { rows, columns } => {
                least("rows", rows, 3)?;
                least("columns", columns, 3)
            }
            Self::Torus3d {
                layers,
                rows,
                columns,
            } => {
                least("layers", layers, 3)?;
                least("rows", rows, 3)?;
                least("columns", columns, 3)
            }
            Self::Dragonfly { groups, switches } => {
                least("groups", groups, 2)?;
                least("switches", switches, 1)
            }
            Self::LeafSpine { leaves, spines } => {
                least("leaves", leaves, 1)?;
                least("spines", spines, 1)
            }
            Self::FatTree { k } | Self::F10 { k } => {
                least("k", k, 2)?;
                match k % 2 {
                    0 => Ok(()),
                    _ => Err(GenerateError::new(
                        "k",
                        format!("{k} is odd; k must be even"),
                    )),
                }
            }
            Self::RandomRegular { switches, degree } => {
                least("degree", degree, 2)?;
                least("switches", switches, degree + 1)?;
                match switches.checked_mul(degree).map(|ends| ends % 2) {
                    Some(1) => Err(GenerateError::new(
                        "degree",
                        "switches × degree must be even: a link has two ends",
                    )),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Number of switches, links between them, and switches with hosts; `None` if one exceeds 64 bits.
    fn size(self) -> Option<[usize; 3]> {
        Some(match self {
            Self::Ring { switches } => [switches, switches, switches],
            Self::Line { switches } => [switches, switches - 1, switches],
            Self::Mesh { rows, columns } => {
                let switches = rows.checked_mul(columns)?;
                [switches, switches.checked_mul(2)?, switches]
            }
            Self::Torus { rows, columns } => {
                let switches = rows.checked_mul(columns)?;
                [switches, switches.checked_mul(2)?, switches]
            }
            Self::Torus3d {
                layers,
                rows,
                columns,
            } => {
                let switches = layers.checked_mul(rows)?.checked_mul(columns)?;
                [switches, switches.checked_mul(3)?, switches]
            }
            Self::Dragonfly { groups, switches } => {
                let pairs = |count: usize| Some(count.checked_mul(count - 1)? / 2);
                let inside = groups.checked_mul(pairs(switches)?)?;
                let all = groups.checked_mul(switches)?;
                [all, inside.checked_add(pairs(groups)?)?, all]
            }
            Self::LeafSpine { leaves, spines } => [
                leaves.checked_add(spines)?,
                leaves.checked_mul(spines)?,
                leaves,
            ],
            Self::FatTree { k } | Self::F10 { k } => {
                let square = k.checked_mul(k)?;
                [
                    square.checked_mul(5)? / 4,
                    square.checked_mul(k)? / 2,
                    square / 2,
                ]
            }
            Self::RandomRegular { switches, degree } => {
                [switches, switches.checked_mul(degree)? / 2, switches]
            }
        })
    }
}

/// Builds a network. `seed` determines everything random: a random network's links, wiring mistakes and failed links.
/// The working links connect all switches.
///
/// # Errors
///
/// A parameter is out of range, the network exceeds the bounds above, a switch would have more than [`PORT_COUNT_MAX`]
/// ports, or so many mistakes or failures are impossible.
pub fn generate(config: &TopologyConfig, seed: u64) -> Result<Plan, GenerateError> {
    config.kind.check()?;
    check_size(config)?;
    let [wires, mistakes, failures] = [0, 1, 2].map(|stream| Random::new(seed, stream));
    let mut plan = match config.kind {
        TopologyKind::Ring { switches } => grid::ring(switches),
        TopologyKind::Line { switches } => grid::line(switches),
        TopologyKind::Mesh { rows, columns } => grid::mesh(rows, columns),
        TopologyKind::Torus { rows, columns } => grid::torus(rows, columns),
        TopologyKind::Torus3d {
            layers,
            rows,
            columns,
        } => grid::torus_3d(layers, rows, columns),
        TopologyKind::Dragonfly { groups, switches } => dragonfly::dragonfly(groups, switches),
        TopologyKind::LeafSpine { leaves, spines } => tree::leaf_spine(leaves, spines),
        TopologyKind::FatTree { k } => tree::fat_tree(k, tree::Striping::Alike),
        TopologyKind::F10 { k } => tree::fat_tree(k, tree::Striping::Alternating),
        TopologyKind::RandomRegular { switches, degree } => {
            regular::random_regular(switches, degree, wires)
        }
    };
    wiring::miswire(&mut plan, config.miswired, mistakes)?;
    wiring::fail(&mut plan, config.failed, failures)?;
    add_hosts(&mut plan, config.hosts);
    check_ports(&plan)?;
    Ok(plan)
}

fn check_size(config: &TopologyConfig) -> Result<(), GenerateError> {
    let too_many = |what, most| {
        Err(GenerateError::new(
            "kind",
            format!("makes more than {most} {what}, which is too many"),
        ))
    };
    let Some([switches, links, edges]) = config.kind.size() else {
        return too_many("switches", SWITCH_COUNT_MAX);
    };
    if switches > SWITCH_COUNT_MAX {
        return too_many("switches", SWITCH_COUNT_MAX);
    }
    if links > LINK_COUNT_MAX {
        return too_many("links", LINK_COUNT_MAX);
    }
    match edges.checked_mul(config.hosts) {
        Some(hosts) if hosts <= HOST_COUNT_MAX => Ok(()),
        _ => Err(GenerateError::new(
            "hosts",
            format!("makes more than {HOST_COUNT_MAX} hosts, which is too many"),
        )),
    }
}

/// Adds hosts to the lowest tier, or to every switch.
fn add_hosts(plan: &mut Plan, each: usize) {
    let lowest = plan.tiers.as_ref().and_then(|tiers| tiers.iter().max());
    let has_hosts = |switch: &usize| match (&plan.tiers, lowest) {
        (Some(tiers), Some(lowest)) => tiers[*switch] == *lowest,
        _ => true,
    };
    let switches = (0..plan.switches.len()).filter(has_hosts);
    let places = switches.flat_map(|switch| std::iter::repeat_n(switch, each));
    plan.hosts = (1..)
        .zip(places)
        .map(|(number, switch)| (format!("h{number}"), switch))
        .collect();
}

fn check_ports(plan: &Plan) -> Result<(), GenerateError> {
    let mut ports = vec![0; plan.switches.len()];
    for switch in plan.links.iter().flat_map(|link| link.ends) {
        ports[switch] += 1;
    }
    for (_, switch) in &plan.hosts {
        ports[*switch] += 1;
    }
    let Some(switch) = (0..ports.len()).find(|switch| ports[*switch] > PORT_COUNT_MAX) else {
        return Ok(());
    };
    Err(GenerateError::new(
        "kind",
        format!(
            "switch `{}` would have {} ports; the maximum is {PORT_COUNT_MAX}",
            plan.switches[switch], ports[switch]
        ),
    ))
}

impl Plan {
    fn with_switches(switches: Vec<String>) -> Self {
        Self {
            switches,
            ..Self::default()
        }
    }

    fn numbered(count: usize) -> Self {
        Self::with_switches((1..=count).map(|number| format!("s{number}")).collect())
    }

    fn link(&mut self, a: usize, b: usize) {
        self.links.push(PlannedLink {
            ends: [a, b],
            failed: false,
        });
    }
}
