//! Generated networks: their closed forms, the effects of chance, and reading large ones.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use weir_config::scenario::generate::{generate, Plan, TopologyConfig, TopologyKind};
use weir_config::scenario::{PortPeer, Scenario};

fn config(kind: TopologyKind) -> TopologyConfig {
    TopologyConfig {
        kind,
        hosts: kind.default_hosts(),
        miswired: 0,
        failed: 0,
    }
}

fn kinds() -> impl Strategy<Value = TopologyKind> {
    prop_oneof![
        (3usize..20).prop_map(|switches| TopologyKind::Ring { switches }),
        (1usize..20).prop_map(|switches| TopologyKind::Line { switches }),
        (1usize..6, 1usize..6).prop_map(|(rows, columns)| TopologyKind::Mesh { rows, columns }),
        (3usize..6, 3usize..6).prop_map(|(rows, columns)| TopologyKind::Torus { rows, columns }),
        (3usize..5, 3usize..5, 3usize..5).prop_map(|(layers, rows, columns)| {
            TopologyKind::Torus3d {
                layers,
                rows,
                columns,
            }
        }),
        (2usize..9, 1usize..6)
            .prop_map(|(groups, switches)| TopologyKind::Dragonfly { groups, switches }),
        (1usize..8, 1usize..6)
            .prop_map(|(leaves, spines)| TopologyKind::LeafSpine { leaves, spines }),
        (1usize..5).prop_map(|half| TopologyKind::FatTree { k: 2 * half }),
        (1usize..5).prop_map(|half| TopologyKind::F10 { k: 2 * half }),
        (2usize..8)
            .prop_flat_map(|degree| (Just(degree), degree + 1..24))
            .prop_map(|(degree, switches)| TopologyKind::RandomRegular {
                switches: switches + switches * degree % 2,
                degree,
            }),
    ]
}

/// Numbers of switches, links and hosts, and of switches by number of links, by formula.
fn closed_form(kind: TopologyKind) -> (usize, usize, usize, Vec<(usize, usize)>) {
    match kind {
        TopologyKind::Ring { switches } => (switches, switches, switches, vec![(switches, 2)]),
        TopologyKind::Line { switches: 1 } => (1, 0, 1, vec![(1, 0)]),
        TopologyKind::Line { switches } => (
            switches,
            switches - 1,
            switches,
            vec![(2, 1), (switches - 2, 2)],
        ),
        TopologyKind::Mesh { rows, columns } => {
            let switches = rows * columns;
            let links = rows * (columns - 1) + columns * (rows - 1);
            // A side of one has no two ends, one of two has no inside.
            let side = |length: usize| match length {
                1 => vec![(1, 0)],
                _ => vec![(2, 1), (length - 2, 2)],
            };
            let mut degrees = Vec::new();
            for (high, up) in side(rows) {
                for (wide, across) in side(columns) {
                    degrees.push((high * wide, up + across));
                }
            }
            (switches, links, switches, degrees)
        }
        TopologyKind::Torus { rows, columns } => {
            let switches = rows * columns;
            (switches, 2 * switches, switches, vec![(switches, 4)])
        }
        TopologyKind::Torus3d {
            layers,
            rows,
            columns,
        } => {
            let switches = layers * rows * columns;
            (switches, 3 * switches, switches, vec![(switches, 6)])
        }
        TopologyKind::Dragonfly { groups, switches } => {
            let inside = groups * switches * (switches - 1) / 2;
            // Links to other groups, assigned in turn: some switches of a group have one more than others.
            let [each, more] = [(groups - 1) / switches, (groups - 1) % switches];
            let by_degree = vec![
                (groups * more, switches + each),
                (groups * (switches - more), switches - 1 + each),
            ];
            let links = inside + groups * (groups - 1) / 2;
            (groups * switches, links, groups * switches, by_degree)
        }
        TopologyKind::LeafSpine { leaves, spines } => (
            leaves + spines,
            leaves * spines,
            leaves,
            vec![(leaves, spines), (spines, leaves)],
        ),
        TopologyKind::FatTree { k } | TopologyKind::F10 { k } => (
            5 * k * k / 4,
            k * k * k / 2,
            k * k * k / 4,
            vec![(k * k / 4 + k * k / 2, k), (k * k / 2, k / 2)],
        ),
        TopologyKind::RandomRegular { switches, degree } => (
            switches,
            switches * degree / 2,
            switches,
            vec![(switches, degree)],
        ),
    }
}

fn degrees(plan: &Plan) -> Vec<usize> {
    let mut degrees = vec![0; plan.switches.len()];
    for end in plan.links.iter().flat_map(|link| link.ends) {
        degrees[end] += 1;
    }
    degrees
}

fn is_connected(plan: &Plan) -> bool {
    let mut group: Vec<usize> = (0..plan.switches.len()).collect();
    for link in plan.links.iter().filter(|link| !link.failed) {
        let [a, b] = link.ends.map(|end| group[end]);
        for member in &mut group {
            if *member == a {
                *member = b;
            }
        }
    }
    group.windows(2).all(|pair| pair[0] == pair[1])
}

fn pairs(plan: &Plan) -> BTreeSet<[usize; 2]> {
    let sorted = |[a, b]: [usize; 2]| [a.min(b), a.max(b)];
    plan.links.iter().map(|link| sorted(link.ends)).collect()
}

fn text(config: &TopologyConfig) -> String {
    let kind = match config.kind {
        TopologyKind::Ring { switches } => format!("kind = \"ring\"\nswitches = {switches}"),
        TopologyKind::Line { switches } => format!("kind = \"line\"\nswitches = {switches}"),
        TopologyKind::Mesh { rows, columns } => {
            format!("kind = \"mesh\"\nrows = {rows}\ncolumns = {columns}")
        }
        TopologyKind::Torus { rows, columns } => {
            format!("kind = \"torus\"\nrows = {rows}\ncolumns = {columns}")
        }
        TopologyKind::Torus3d {
            layers,
            rows,
            columns,
        } => {
            format!("kind = \"torus-3d\"\nlayers = {layers}\nrows = {rows}\ncolumns = {columns}")
        }
        TopologyKind::Dragonfly { groups, switches } => {
            format!("kind = \"dragonfly\"\ngroups = {groups}\nswitches = {switches}")
        }
        TopologyKind::LeafSpine { leaves, spines } => {
            format!("kind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}")
        }
        TopologyKind::FatTree { k } => format!("kind = \"fat-tree\"\nk = {k}"),
        TopologyKind::F10 { k } => format!("kind = \"f10\"\nk = {k}"),
        TopologyKind::RandomRegular { switches, degree } => {
            format!("kind = \"random-regular\"\nswitches = {switches}\ndegree = {degree}")
        }
    };
    format!(
        "[topology]\n{kind}\nhosts = {}\nmiswired = {}\nfailed = {}\n",
        config.hosts, config.miswired, config.failed
    )
}

fn scenario(config: &TopologyConfig, seed: u64, rest: &str) -> Result<Scenario, String> {
    let head = format!("name = \"generated\"\nduration = \"1ms\"\nseed = {seed}\n");
    let class = "[[class]]\nname = \"lossless\"\npriority = 3\nmode = \"pfc\"\nxoff = \"30KiB\"\nxon = \"20KiB\"\nheadroom = \"30KiB\"\n";
    let text = head + &text(config) + class + rest;
    Scenario::parse(&text, Path::new("generated.toml"), &[]).map_err(|error| error.to_string())
}

const ALL_TO_ALL: &str = "[[traffic]]\nkind = \"all-to-all\"\nclass = \"lossless\"\n";

proptest! {
    #[test]
    fn every_kind_has_its_closed_form(kind in kinds(), seed: u64) {
        let plan = generate(&config(kind), seed).unwrap();
        let (switches, links, hosts, by_degree) = closed_form(kind);
        prop_assert_eq!(plan.switches.len(), switches);
        prop_assert_eq!(plan.links.len(), links);
        prop_assert_eq!(plan.hosts.len(), hosts);
        prop_assert_eq!(pairs(&plan).len(), links, "no two links between the same switches");
        prop_assert!(plan.links.iter().all(|link| link.ends[0] != link.ends[1] && !link.failed));
        prop_assert!(is_connected(&plan));
        let mut expected: Vec<usize> = by_degree
            .into_iter()
            .flat_map(|(count, degree)| std::iter::repeat_n(degree, count))
            .collect();
        let mut found = degrees(&plan);
        expected.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
        let names: BTreeSet<&str> = plan.switches.iter()
            .chain(plan.hosts.iter().map(|(name, _)| name))
            .map(String::as_str)
            .collect();
        prop_assert_eq!(names.len(), switches + hosts, "names differ");
        prop_assert!(names.iter().all(|name| name.len() <= 11));
        if let Some(tiers) = &plan.tiers {
            let differ = |link: [usize; 2]| tiers[link[0]].abs_diff(tiers[link[1]]) == 1;
            prop_assert!(plan.links.iter().all(|link| differ(link.ends)));
            let lowest = tiers.iter().max().unwrap();
            prop_assert!(plan.hosts.iter().all(|(_, switch)| tiers[*switch] == *lowest));
        }
    }

    #[test]
    fn mistakes_and_failures_keep_what_they_must(
        kind in kinds(), seed: u64, miswired in 0usize..4, failed in 0usize..4
    ) {
        let right = generate(&config(kind), seed).unwrap();
        let wrong = TopologyConfig { miswired, failed, ..config(kind) };
        let Ok(plan) = generate(&wrong, seed) else {
            // Small networks and trees have no room for them.
            return Ok(());
        };
        prop_assert_eq!(generate(&wrong, seed).unwrap(), plan.clone(), "the same seed");
        prop_assert!(is_connected(&plan));
        prop_assert_eq!(degrees(&plan), degrees(&right));
        prop_assert_eq!(pairs(&plan).len(), plan.links.len());
        prop_assert!(plan.links.iter().all(|link| link.ends[0] != link.ends[1]));
        prop_assert_eq!(plan.links.iter().filter(|link| link.failed).count(), failed);
        let changed = plan.links.iter().zip(&right.links).filter(|(a, b)| a.ends != b.ends);
        prop_assert_eq!(changed.count(), 2 * miswired, "two links each");
        // A later mistake may restore a pair that an earlier one separated, but not by the same link.
        prop_assert_eq!(pairs(&plan) == pairs(&right), miswired == 0);
    }

    #[test]
    fn up_down_routes_close_no_loop(
        kind in kinds(), seed in 0u64..1_000_000, miswired in 0usize..3, failed in 0usize..3
    ) {
        let mut wrong = TopologyConfig { miswired, failed, ..config(kind) };
        wrong.hosts = wrong.hosts.min(2);
        if generate(&wrong, seed).is_err() || closed_form(kind).2 < 2 {
            return Ok(());
        }
        let rest = format!("[routing]\nmode = \"up-down\"\n{ALL_TO_ALL}");
        let network = scenario(&wrong, seed, &rest).unwrap();
        prop_assert_eq!(network.credit_loops(), []);
        prop_assert_eq!(network.first_credit_loop(), None);
    }

    #[test]
    fn correctly_wired_trees_close_no_loop_on_shortest_paths(half in 1usize..4, is_f10: bool) {
        let k = 2 * half;
        let kind = if is_f10 { TopologyKind::F10 { k } } else { TopologyKind::FatTree { k } };
        let rest = format!("[routing]\nmode = \"ecmp\"\n{ALL_TO_ALL}");
        let network = scenario(&config(kind), 1, &rest).unwrap();
        prop_assert_eq!(network.first_credit_loop(), None);
    }
}

#[test]
fn miswired_trees_close_loops() {
    let kind = TopologyKind::FatTree { k: 4 };
    let rest = format!("[routing]\nmode = \"ecmp\"\n{ALL_TO_ALL}");
    let with_loop = (0..40).filter(|seed| {
        let config = TopologyConfig {
            miswired: 2,
            ..config(kind)
        };
        let network = scenario(&config, *seed, &rest).unwrap();
        let loops = network.credit_loops();
        assert_eq!(network.first_credit_loop().is_some(), !loops.is_empty());
        !loops.is_empty()
    });
    assert!(with_loop.count() > 0);
}

#[test]
fn two_switches_of_an_f10_pod_share_one_core() {
    const HALF: usize = 3;
    let cores_of = |plan: &Plan, pod: usize, number: usize| -> BTreeSet<usize> {
        let name = format!("a{pod}-{number}");
        let at = plan.switches.iter().position(|known| *known == name);
        let links = plan.links.iter().map(|link| link.ends);
        links
            .filter(|ends| Some(ends[1]) == at)
            .map(|ends| ends[0])
            .collect()
    };
    let f10 = generate(&config(TopologyKind::F10 { k: 2 * HALF }), 1).unwrap();
    let fat_tree = generate(&config(TopologyKind::FatTree { k: 2 * HALF }), 1).unwrap();
    for first in 1..=HALF {
        for second in 1..=HALF {
            let shared = |plan: &Plan, pods: [usize; 2]| {
                let cores = cores_of(plan, pods[0], first);
                cores.intersection(&cores_of(plan, pods[1], second)).count()
            };
            let same = if first == second { HALF } else { 0 };
            assert_eq!(shared(&f10, [1, 2]), 1, "type A and type B");
            assert_eq!(shared(&f10, [1, 3]), same, "both of type A");
            assert_eq!(shared(&fat_tree, [1, 2]), same, "all alike");
        }
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    for (kind, said) in [
        (
            TopologyKind::Ring { switches: 2 },
            "switches: 2 is too few; the minimum is 3",
        ),
        (TopologyKind::FatTree { k: 5 }, "k: 5 is odd"),
        (TopologyKind::FatTree { k: 0 }, "k: 0 is too few"),
        (
            TopologyKind::FatTree { k: 1_000_000 },
            "more than 120000 switches",
        ),
        (
            TopologyKind::RandomRegular {
                switches: 7,
                degree: 3,
            },
            "switches × degree must be even",
        ),
        (
            TopologyKind::RandomRegular {
                switches: 3,
                degree: 3,
            },
            "switches: 3 is too few; the minimum is 4",
        ),
        (
            TopologyKind::LeafSpine {
                leaves: 300,
                spines: 2,
            },
            "`spine1` would have 300 ports; the maximum is 256",
        ),
        (
            TopologyKind::LeafSpine {
                leaves: 9000,
                spines: 9000,
            },
            "more than 1000000 links",
        ),
        (
            TopologyKind::Mesh {
                rows: usize::MAX,
                columns: 2,
            },
            "more than 120000 switches",
        ),
    ] {
        let error = generate(&config(kind), 1).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let line = TopologyKind::Line { switches: 4 };
    for (config, said) in [
        (
            TopologyConfig {
                failed: 1,
                ..config(line)
            },
            "at most 0 failed links, not 1",
        ),
        (
            TopologyConfig {
                miswired: 9,
                ..config(line)
            },
            "wiring mistakes, not 9",
        ),
        (
            TopologyConfig {
                hosts: 1_000_000,
                ..config(line)
            },
            "more than 200000 hosts",
        ),
    ] {
        let error = generate(&config, 1).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_fat_tree_of_320_switches_is_read() {
    let kind = TopologyKind::FatTree { k: 16 };
    let rest = "[routing]\nmode = \"ecmp\"\n[[traffic]]\nkind = \"permutation\"\nclass = \"lossless\"\n[expect]\ncredit-loop = false\n";
    let network = scenario(&config(kind), 1, rest).unwrap();
    assert_eq!(network.switches.len(), 320);
    assert_eq!(network.hosts.len(), 1024);
    assert_eq!(network.flows.len(), 1024);
    assert_eq!(network.links.len(), 2048);
    let edge = network.hosts[0].switch;
    assert_eq!(network.next_hops[edge][1023].len(), 8, "every way up");
    let core_ports = &network.all_ports()[0];
    assert_eq!(core_ports.len(), 16);
    assert!(core_ports
        .iter()
        .all(|port| matches!(port.peer, PortPeer::Switch(_))));
}

#[test]
fn written_parts_add_to_the_generated_topology() {
    let ring = config(TopologyKind::Ring { switches: 3 });
    let rest = "[[switch]]\nname = \"extra\"\n[[link]]\nends = [\"s2\", \"extra\"]\n[[host]]\nname = \"hx\"\nswitch = \"extra\"\n[[flow]]\nname = \"a\"\nfrom = \"h1\"\nto = \"hx\"\nclass = \"lossless\"\n";
    let network = scenario(&ring, 1, rest).unwrap();
    assert_eq!(network.switches, ["s1", "s2", "s3", "extra"]);
    assert_eq!(network.way(0), Some(vec![0, 1, 3]));
    let addresses: BTreeSet<_> = network.hosts.iter().map(|host| host.address).collect();
    assert_eq!(addresses.len(), 4);
    for (rest, said) in [
        ("[[switch]]\nname = \"s2\"\n", "`s2` is already used"),
        (
            "[[host]]\nname = \"h1\"\nswitch = \"s1\"\n",
            "`h1` is already used",
        ),
        ("[[link]]\nends = [\"s2\", \"s1\"]\n", "already used"),
    ] {
        let error = scenario(&ring, 1, rest).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
