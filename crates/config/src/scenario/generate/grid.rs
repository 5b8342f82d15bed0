//! Rings, lines, meshes and tori.

use super::Plan;

pub(super) fn ring(switches: usize) -> Plan {
    let mut plan = line(switches);
    plan.link(switches - 1, 0);
    plan
}

pub(super) fn line(switches: usize) -> Plan {
    mesh(1, switches)
}

/// Row by row.
pub(super) fn mesh(rows: usize, columns: usize) -> Plan {
    let mut plan = Plan::numbered(rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            let at = row * columns + column;
            if column + 1 < columns {
                plan.link(at, at + 1);
            }
            if row + 1 < rows {
                plan.link(at, at + columns);
            }
        }
    }
    plan
}

pub(super) fn torus(rows: usize, columns: usize) -> Plan {
    let mut plan = Plan::numbered(rows * columns);
    link_torus(&mut plan, 0, rows, columns);
    plan
}

/// Layer by layer, each row by row.
pub(super) fn torus_3d(layers: usize, rows: usize, columns: usize) -> Plan {
    let each = rows * columns;
    let mut plan = Plan::numbered(layers * each);
    for layer in 0..layers {
        link_torus(&mut plan, layer * each, rows, columns);
        let above = (layer + 1) % layers * each;
        for place in 0..each {
            plan.link(layer * each + place, above + place);
        }
    }
    plan
}

/// The links of a torus whose first switch is `first`.
fn link_torus(plan: &mut Plan, first: usize, rows: usize, columns: usize) {
    for row in 0..rows {
        for column in 0..columns {
            let at = first + row * columns + column;
            plan.link(at, first + row * columns + (column + 1) % columns);
            plan.link(at, first + (row + 1) % rows * columns + column);
        }
    }
}
