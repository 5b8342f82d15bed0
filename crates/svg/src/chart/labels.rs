//! Names at the ends of their curves.

/// Distance between the centres of two names.
pub const LINE: f64 = 16.0;

/// Returns positions of names whose preferred ones are `wanted`: in that order from top to bottom, at least [`LINE`]
/// apart, between `top` and `bottom` if they fit, and otherwise as near to their preferred positions as possible. The
/// result has the order of `wanted`.
pub fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    // Groups of names that touch: the sum of the positions preferred for their first one, and their number.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    let place = |(sum, count): (f64, usize)| {
        let last = bottom - LINE * (count - 1) as f64;
        (sum / count as f64).min(last).max(top)
    };
    for index in &order {
        let mut group = (wanted[*index], 1);
        while let Some(before) = groups.last() {
            if place(*before) + LINE * before.1 as f64 <= place(group) {
                break;
            }
            // The names of the later group follow those of the earlier one.
            let behind = LINE * before.1 as f64 * group.1 as f64;
            group = (before.0 + group.0 - behind, before.1 + group.1);
            groups.pop();
        }
        groups.push(group);
    }
    let mut places = vec![0.0; wanted.len()];
    let mut next = order.into_iter();
    for group in groups {
        for (behind, index) in next.by_ref().take(group.1).enumerate() {
            places[index] = place(group) + LINE * behind as f64;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_touch_and_stay_near_their_curves() {
        assert_eq!(spread(&[], 0.0, 100.0), []);
        assert_eq!(spread(&[50.0, 10.0], 0.0, 100.0), [50.0, 10.0]);
        assert_eq!(spread(&[50.0, 50.0], 0.0, 100.0), [42.0, 58.0]);
        // Four at the bottom are stacked.
        assert_eq!(spread(&[100.0; 4], 0.0, 100.0), [52.0, 68.0, 84.0, 100.0]);
        for count in 0..30 {
            let wanted: Vec<f64> = (0..count).map(|it| f64::from(it * 37 % 100)).collect();
            let mut places = spread(&wanted, 0.0, 500.0);
            places.sort_by(f64::total_cmp);
            assert!(
                places
                    .windows(2)
                    .all(|pair| pair[1] - pair[0] >= LINE - 1e-9),
                "{places:?}"
            );
            assert!(places
                .iter()
                .all(|place| (-1e-9..=500.0 + 1e-9).contains(place)));
        }
    }
}
