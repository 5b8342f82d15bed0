//! `[topology]`.

use super::keys;
use crate::reader::{within, Table};
use crate::scenario::generate::{generate, Plan, TopologyConfig, TopologyKind};

/// The network of `[topology]`; empty without that table.
pub(super) fn plan(root: &Table<'_>, seed: u64) -> Plan {
    let Some(table) = root.table("topology", keys("topology")) else {
        return Plan::default();
    };
    let Some(config) = config(&table) else {
        return Plan::default();
    };
    match generate(&config, seed) {
        Ok(plan) => plan,
        Err(error) => {
            table.complain(error.key, error.message);
            Plan::default()
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Ring,
    Line,
    Mesh,
    Torus,
    Torus3d,
    Dragonfly,
    LeafSpine,
    FatTree,
    F10,
    RandomRegular,
}

impl Kind {
    const NAMED: [(&'static str, Self); 10] = [
        ("ring", Self::Ring),
        ("line", Self::Line),
        ("mesh", Self::Mesh),
        ("torus", Self::Torus),
        ("torus-3d", Self::Torus3d),
        ("dragonfly", Self::Dragonfly),
        ("leaf-spine", Self::LeafSpine),
        ("fat-tree", Self::FatTree),
        ("f10", Self::F10),
        ("random-regular", Self::RandomRegular),
    ];

    /// Its required keys.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Ring | Self::Line => &["switches"],
            Self::Mesh | Self::Torus => &["rows", "columns"],
            Self::Torus3d => &["layers", "rows", "columns"],
            Self::Dragonfly => &["groups", "switches"],
            Self::LeafSpine => &["leaves", "spines"],
            Self::FatTree | Self::F10 => &["k"],
            Self::RandomRegular => &["switches", "degree"],
        }
    }
}

fn config(table: &Table<'_>) -> Option<TopologyConfig> {
    /// For any single number; the generator bounds the network as a whole.
    const COUNT_MAX: u64 = 1_000_000;
    const COMMON: [&str; 4] = ["kind", "hosts", "miswired", "failed"];
    table.require::<String>("kind")?;
    let kind = table.choice("kind", &Kind::NAMED)?;
    for key in keys("topology") {
        if table.has(key) && !COMMON.contains(key) && !kind.keys().contains(key) {
            let message = format!(
                "does not apply to this kind; keys of this kind: {}",
                kind.keys().join(", ")
            );
            table.complain(key, message);
        }
    }
    let optional = |key: &str| within(table, key, 0, COUNT_MAX).map(|count| count as usize);
    let needed = |key: &str| {
        if !table.has(key) {
            table.require::<u64>(key);
        }
        optional(key)
    };
    let kind = match kind {
        Kind::Ring => TopologyKind::Ring {
            switches: needed("switches")?,
        },
        Kind::Line => TopologyKind::Line {
            switches: needed("switches")?,
        },
        Kind::Mesh => TopologyKind::Mesh {
            rows: needed("rows")?,
            columns: needed("columns")?,
        },
        Kind::Torus => TopologyKind::Torus {
            rows: needed("rows")?,
            columns: needed("columns")?,
        },
        Kind::Torus3d => TopologyKind::Torus3d {
            layers: needed("layers")?,
            rows: needed("rows")?,
            columns: needed("columns")?,
        },
        Kind::Dragonfly => TopologyKind::Dragonfly {
            groups: needed("groups")?,
            switches: needed("switches")?,
        },
        Kind::LeafSpine => TopologyKind::LeafSpine {
            leaves: needed("leaves")?,
            spines: needed("spines")?,
        },
        Kind::FatTree => TopologyKind::FatTree { k: needed("k")? },
        Kind::F10 => TopologyKind::F10 { k: needed("k")? },
        Kind::RandomRegular => TopologyKind::RandomRegular {
            switches: needed("switches")?,
            degree: needed("degree")?,
        },
    };
    Some(TopologyConfig {
        kind,
        hosts: optional("hosts").unwrap_or_else(|| kind.default_hosts()),
        miswired: optional("miswired").unwrap_or(0),
        failed: optional("failed").unwrap_or(0),
    })
}
