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
    for row in 0..rows {
        for column in 0..columns {
            let at = row * columns + column;
            plan.link(at, row * columns + (column + 1) % columns);
            plan.link(at, (row + 1) % rows * columns + column);
        }
    }
    plan
}
