//! A ring is a circle that starts at the top with the first name and continues to the right, towards the smaller of its
//! neighbours.

use std::f64::consts::{PI, TAU};

use super::{Part, Place};

/// Returns `None` unless the part is a ring.
pub(super) fn places(part: &Part) -> Option<Vec<Place>> {
    let count = part.members.len();
    if count < 3
        || part
            .neighbours
            .iter()
            .any(|neighbours| neighbours.len() != 2)
    {
        return None;
    }
    let mut places = vec![(0.0, 0.0); count];
    let (mut before, mut at) = (usize::MAX, 0);
    for step in 0..count {
        let angle = TAU * step as f64 / count as f64 - PI / 2.0;
        places[at] = (0.5 + 0.42 * angle.cos(), 0.5 + 0.42 * angle.sin());
        let next = part.neighbours[at].iter().find(|next| **next != before)?;
        (before, at) = (at, *next);
    }
    Some(places)
}
