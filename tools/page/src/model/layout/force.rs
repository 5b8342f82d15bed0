//! Fruchterman and Reingold's forces: all nodes repel each other, links attract, and the steps shrink.

use std::f64::consts::TAU;

use super::{fit, Part, Place};

const STEPS: usize = 400;

pub(super) fn places(part: &Part) -> Vec<Place> {
    let count = part.members.len();
    let angle = |member: usize| TAU * member as f64 / count as f64;
    let mut places: Vec<Place> = (0..count)
        // Not exactly a circle, since forces along a line never leave it.
        .map(|member| {
            (
                angle(member).cos(),
                (1.0 + 0.01 * (member % 7) as f64) * angle(member).sin(),
            )
        })
        .collect();
    let wanted = (4.0 / count as f64).sqrt();
    for step in 0..STEPS {
        let longest = 0.2 * (1.0 - step as f64 / STEPS as f64) + 0.001;
        let moves = forces(part, &places, wanted);
        for (place, (x, y)) in places.iter_mut().zip(moves) {
            let length = x.hypot(y).max(1e-9);
            let part = length.min(longest) / length;
            *place = (place.0 + x * part, place.1 + y * part);
        }
    }
    fit(&mut places);
    places
}

fn forces(part: &Part, places: &[Place], wanted: f64) -> Vec<Place> {
    let mut moves = vec![(0.0, 0.0); places.len()];
    for a in 0..places.len() {
        for b in a + 1..places.len() {
            let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
            let square = (x * x + y * y).max(1e-6);
            let push = wanted * wanted / square;
            moves[a].0 += x * push;
            moves[a].1 += y * push;
            moves[b].0 -= x * push;
            moves[b].1 -= y * push;
        }
        for b in part.neighbours[a].iter().filter(|b| **b > a) {
            let (x, y) = (places[a].0 - places[*b].0, places[a].1 - places[*b].1);
            let pull = x.hypot(y) / wanted;
            moves[a].0 -= x * pull;
            moves[a].1 -= y * pull;
            moves[*b].0 += x * pull;
            moves[*b].1 += y * pull;
        }
    }
    moves
}
