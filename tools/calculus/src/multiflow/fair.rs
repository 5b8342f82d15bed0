//! Departures of flows under fair queuing, in its fluid form: generalised processor sharing (Parekh and Gallager 1993).
//!
//! At every instant the server's rate is shared among the flows with backlog by their weights; flows that need less than
//! their share leave the remainder to the others.

use crate::algebra::Scalar;

/// Returns the rate at which each flow is served, if flows with backlog take all they can get and others at most their
/// arrival rate. O(n²) at worst, for flows that drop out of the sharing one by one.
pub fn service_rates<S: Scalar>(
    rate: &S,
    weights: &[S],
    backlogged: &[bool],
    arriving: &[S],
) -> Vec<S> {
    let mut served = vec![S::zero(); weights.len()];
    let mut sharing: Vec<usize> = (0..weights.len())
        .filter(|index| backlogged[*index] || arriving[*index].is_positive())
        .collect();
    let mut left = rate.clone();
    loop {
        let total = sharing
            .iter()
            .fold(S::zero(), |sum, index| sum + &weights[*index]);
        if !total.is_positive() {
            return served;
        }
        let share = left.clone() / &total;
        let content = |index: &usize| {
            !backlogged[*index] && arriving[*index] <= share.clone() * &weights[*index]
        };
        let (satisfied, hungry): (Vec<usize>, Vec<usize>) =
            sharing.iter().copied().partition(content);
        if satisfied.is_empty() {
            for index in hungry {
                served[index] = share.clone() * &weights[index];
            }
            return served;
        }
        for index in satisfied {
            left = left - &arriving[index];
            served[index] = arriving[index].clone();
        }
        sharing = hungry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Exact;

    #[test]
    fn what_one_does_not_need_the_others_share() {
        let rates = |weights: [i64; 3], backlogged: [bool; 3], arriving: [i64; 3]| {
            let weights: Vec<_> = weights.iter().copied().map(Exact::from).collect();
            let arriving: Vec<_> = arriving.iter().copied().map(Exact::from).collect();
            let served = service_rates(&Exact::from(12), &weights, &backlogged, &arriving);
            served.iter().map(|rate| rate.to_f64()).collect::<Vec<_>>()
        };
        assert_eq!(rates([1, 1, 1], [true; 3], [0, 9, 100]), [4.0, 4.0, 4.0]);
        assert_eq!(
            rates([1, 1, 1], [false, true, true], [2, 0, 0]),
            [2.0, 5.0, 5.0]
        );
        assert_eq!(rates([1, 2, 3], [true; 3], [0; 3]), [2.0, 4.0, 6.0]);
        assert_eq!(rates([1, 1, 1], [false; 3], [1, 2, 3]), [1.0, 2.0, 3.0]);
        assert_eq!(rates([1, 1, 1], [false; 3], [1, 5, 100]), [1.0, 5.0, 6.0]);
        assert_eq!(rates([1, 1, 1], [false; 3], [0; 3]), [0.0; 3]);
    }
}
