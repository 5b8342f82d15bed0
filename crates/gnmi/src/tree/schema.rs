//! All leaves that the switch may serve, and all leaves of the modules.

use std::sync::LazyLock;

use super::{components, interfaces, lldp, qos, system, weir, Row};
use crate::path::Elem;

/// Value of keys in [`WAYS`]: any.
pub(crate) const ANY: &str = "*";

type Way = (Vec<Elem>, &'static str);

/// Paths of all nodes with leaves that the switch may serve, with these leaves.
pub(crate) static WAYS: LazyLock<Vec<Way>> = LazyLock::new(|| {
    let mut ways = Vec::new();
    for row in rows() {
        let elems = elems(row.container);
        // Entries of lists have their keys as leaves.
        for depth in 1..=elems.len() {
            for (key, _) in &elems[depth - 1].keys {
                let way = (elems[..depth].to_vec(), *key);
                if !ways.contains(&way) {
                    ways.push(way);
                }
            }
        }
        ways.push((elems, row.name));
    }
    ways
});

/// Paths of all leaves of OpenConfig's modules, in the versions of [`models`](crate::models).
///
/// A line is a container and its leaves. pyang printed them from OpenConfig's repository.
pub(crate) static OPENCONFIG: LazyLock<Vec<Way>> = LazyLock::new(|| {
    let lines = include_str!("openconfig.txt").lines();
    let ways = lines.flat_map(|line| {
        let (container, leaves) = line.split_once(' ').unwrap_or((line, ""));
        let elems = elems(container);
        leaves.split(' ').map(move |leaf| (elems.clone(), leaf))
    });
    ways.collect()
});

/// Every leaf except keys of lists, in the order of the tree.
pub fn rows() -> Vec<Row> {
    [
        interfaces::rows(),
        qos::rows(),
        lldp::rows(),
        system::rows(),
        components::rows(),
        weir::rows(),
    ]
    .concat()
}

fn elems(container: &'static str) -> Vec<Elem> {
    let parts = container.split('/').filter(|part| !part.is_empty());
    let elem = |part: &'static str| {
        let mut pieces = part.split('[');
        let name = pieces.next().unwrap_or(part);
        let key = |piece: &'static str| (piece.trim_end_matches(']'), ANY.to_owned());
        Elem {
            name,
            keys: pieces.map(key).collect(),
        }
    };
    parts.map(elem).collect()
}
