//! Division of a line.

use weir_config::daemon::Class;
use weir_core::units::BitRate;
use weir_core::{Algorithm, PartsPerMillion, SwitchConfig};

use crate::network::gigabits;

/// Demand of a class on a line.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    class: usize,
    /// Rate of its flows, limited by its highest rate.
    rate: f64,
    weight: f64,
    /// Its highest priority; `None` if it is not strict.
    strict: Option<u8>,
    /// Guaranteed rate, served first.
    least: f64,
    most: f64,
}

impl Demand {
    /// Creates the demand of `class`, number `number`, whose flows send at `rate`.
    pub fn new(number: usize, rate: f64, class: &Class) -> Self {
        let scheduler = class.scheduler;
        let each = |rate: BitRate| gigabits(rate) * class.priorities.len() as f64;
        let most = scheduler.rate_max.map_or(f64::INFINITY, each);
        let priorities = class.priorities.iter().map(|priority| priority.get());
        Self {
            class: number,
            rate: rate.min(most),
            weight: f64::from(class.weight),
            strict: (scheduler.algorithm == Algorithm::Strict)
                .then(|| priorities.max())
                .flatten(),
            least: scheduler.rate_min.map_or(0.0, each),
            most,
        }
    }

    fn guaranteed(&self) -> f64 {
        self.rate.min(self.least)
    }
}

/// Returns the remainder for `class` when the others take as much as they can: strict ones first, the others at most their
/// share by weight.
pub fn class_rate(line: f64, class: usize, demands: &[Demand]) -> f64 {
    let Some(own) = demands.iter().find(|demand| demand.class == class) else {
        return line;
    };
    let share = f64::from(SwitchConfig::STRICT_SHARE.get()) / f64::from(PartsPerMillion::ONE.get());
    let others = || demands.iter().filter(|other| other.class != class);
    let takes_turns = |other: &&Demand| other.strict.is_none();
    let rate = match own.strict {
        Some(priority) => {
            let before: f64 = others()
                .map(|other| match other.strict {
                    Some(theirs) if theirs > priority => other.rate,
                    _ => other.guaranteed(),
                })
                .sum();
            let turns: f64 = others().filter(takes_turns).map(|other| other.rate).sum();
            line - before - turns.min(line * (1.0 - share))
        }
        None => {
            let strict: f64 = others()
                .filter_map(|other| other.strict.map(|_| other.rate))
                .sum();
            let left = line - strict.min(line * share);
            let asked: Vec<(f64, f64)> = demands
                .iter()
                .filter(takes_turns)
                // The class itself may take everything.
                .map(|other| {
                    let wants = if other.class == class {
                        f64::INFINITY
                    } else {
                        other.rate
                    };
                    (wants, other.weight)
                })
                .collect();
            let shares = weighted(left, &asked);
            let own = demands
                .iter()
                .filter(takes_turns)
                .position(|other| other.class == class);
            own.map_or(line, |index| shares[index])
        }
    };
    rate.max(own.least).min(own.most)
}

/// Computes max-min fair shares of `capacity` by weight: none exceeds its demand, and the remainder goes to larger demands,
/// as with deficit round robin. O(n²).
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

    fn demand(class: usize, rate: f64, strict: Option<u8>) -> Demand {
        Demand {
            class,
            rate,
            weight: 1.0,
            strict,
            least: 0.0,
            most: f64::INFINITY,
        }
    }

    #[test]
    fn strict_classes_come_first_and_leave_a_part() {
        let others = [
            demand(0, 90.0, None),
            demand(1, 40.0, Some(5)),
            demand(2, 30.0, Some(6)),
        ];
        assert_eq!(class_rate(100.0, 0, &others), 30.0);
        assert_eq!(class_rate(100.0, 1, &others), 65.0);
        assert_eq!(class_rate(100.0, 2, &others), 95.0);
        let flood = [demand(0, 90.0, None), demand(1, 200.0, Some(5))];
        assert!((class_rate(100.0, 0, &flood) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn rates_bound_what_a_class_gets() {
        let mut all = [demand(0, 90.0, None), demand(1, 200.0, Some(5))];
        all[0].least = 20.0;
        assert_eq!(class_rate(100.0, 0, &all), 20.0);
        assert_eq!(class_rate(100.0, 1, &all), 75.0);
        all[1].most = 10.0;
        all[1].rate = 10.0;
        assert_eq!(class_rate(100.0, 0, &all), 90.0);
        assert_eq!(class_rate(100.0, 1, &all), 10.0);
    }

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
