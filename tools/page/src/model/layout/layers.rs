//! Leaf and spine, fat trees: layers by the distance from a switch with hosts, each ordered to reduce crossings.

use std::collections::VecDeque;

use super::{Part, Place};

/// Maximum number of switches of a layer in one row; more use further rows.
const ROW_MAX: usize = 30;
/// Distance between rows of a layer.
const ROW_HEIGHT: f64 = 0.05;
/// Number of passes that improve the order of all layers.
const SWEEPS: usize = 12;

/// Returns `None` unless each switch has hosts or a distance to one with hosts, and all links connect adjacent layers.
pub(super) fn places(part: &Part) -> Option<Vec<Place>> {
    let layer = distances(part)?;
    let count = layer.iter().max()? + 1;
    let mut links = layer.iter().zip(&part.neighbours);
    let between = |own: usize, other: &usize| layer[*other].abs_diff(own) == 1;
    if count < 2 || !links.all(|(own, others)| others.iter().all(|other| between(*own, other))) {
        return None;
    }
    let mut rows = vec![Vec::new(); count];
    for (member, layer) in layer.iter().enumerate() {
        rows[*layer].push(member);
    }
    let mut x = vec![0.0; layer.len()];
    rows.iter().for_each(|row| spread(row, &mut x));
    for sweep in 0..SWEEPS {
        // Alternately upwards and downwards.
        let order: Vec<usize> = if sweep % 2 == 0 {
            (1..count).collect()
        } else {
            (0..count - 1).rev().collect()
        };
        for at in order {
            let towards = if sweep % 2 == 0 { at - 1 } else { at + 1 };
            let middle = |member: &usize| {
                let others = part.neighbours[*member]
                    .iter()
                    .filter(|other| layer[**other] == towards);
                let (sum, number) = others.fold((0.0, 0), |(sum, number), other| {
                    (sum + x[*other], number + 1)
                });
                if number == 0 {
                    x[*member]
                } else {
                    sum / f64::from(number)
                }
            };
            let mut wanted: Vec<(f64, usize)> = rows[at]
                .iter()
                .map(|member| (middle(member), *member))
                .collect();
            // Rounding must not decide between equal centres.
            wanted.sort_by(|a, b| {
                ((a.0 * 1e6).round(), a.1)
                    .partial_cmp(&((b.0 * 1e6).round(), b.1))
                    .unwrap_or(a.1.cmp(&b.1))
            });
            rows[at] = wanted.into_iter().map(|(_, member)| member).collect();
            spread(&rows[at], &mut x);
        }
    }
    // Hosts are at the bottom. A layer too wide for one row uses several, filled in turn.
    let height = |layer: usize| 0.88 - 0.76 * layer as f64 / (count - 1) as f64;
    let mut places = vec![(0.5, 0.5); layer.len()];
    for (layer, row) in rows.iter().enumerate() {
        let split = row.len().div_ceil(ROW_MAX);
        for (index, member) in row.iter().enumerate() {
            let down = (index % split) as f64 - (split - 1) as f64 / 2.0;
            places[*member] = (x[*member], height(layer) + down * ROW_HEIGHT);
        }
    }
    Some(places)
}

fn spread(row: &[usize], x: &mut [f64]) {
    for (index, member) in row.iter().enumerate() {
        x[*member] = (index as f64 + 0.5) / row.len() as f64;
    }
}

/// Returns the number of links to the nearest switch with hosts; `None` if there is none.
fn distances(part: &Part) -> Option<Vec<usize>> {
    let mut distance: Vec<Option<usize>> =
        part.has_hosts.iter().map(|has| has.then_some(0)).collect();
    let first = distance
        .iter()
        .enumerate()
        .filter(|(_, known)| known.is_some());
    let mut queue: VecDeque<usize> = first.map(|(member, _)| member).collect();
    while let Some(at) = queue.pop_front() {
        let next = distance[at]? + 1;
        for other in &part.neighbours[at] {
            if distance[*other].is_none() {
                distance[*other] = Some(next);
                queue.push_back(*other);
            }
        }
    }
    distance.into_iter().collect()
}
