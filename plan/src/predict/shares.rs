//! How a line is divided.

/// Max-min fair shares of `capacity` by weight: nobody gets more than it asks for, and what is left over goes to
/// those who ask for more. Deficit round robin does so. O(n²).
pub fn weighted(capacity: f64, demands: &[(f64, f64)]) -> Vec<f64> {
    let mut shares = vec![0.0; demands.len()];
    let mut open: Vec<usize> = (0..demands.len()).collect();
    let mut left = capacity;
    while !open.is_empty() {
        let weight: f64 = open.iter().map(|index| demands[*index].1).sum();
        let level = left / weight;
        let (content, hungry): (Vec<usize>, Vec<usize>) = open
            .iter()
            .partition(|index| demands[**index].0 <= level * demands[**index].1);
        if content.is_empty() {
            for index in hungry {
                shares[index] = level * demands[index].1;
            }
            break;
        }
        for index in content {
            shares[index] = demands[index].0;
            left -= demands[index].0;
        }
        open = hungry;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_goes_by_weight_to_those_who_want_more() {
        assert_eq!(weighted(100.0, &[(80.0, 1.0), (80.0, 3.0)]), [25.0, 75.0]);
        assert_eq!(
            weighted(100.0, &[(10.0, 1.0), (80.0, 1.0), (60.0, 1.0)]),
            [10.0, 45.0, 45.0]
        );
        assert_eq!(weighted(100.0, &[(30.0, 1.0), (20.0, 7.0)]), [30.0, 20.0]);
        assert!(weighted(100.0, &[]).is_empty());
    }
}
