//! Division of a line.

use std::collections::BTreeMap;

use weir_config::daemon::Class;
use weir_core::units::BitRate;
use weir_core::{Algorithm, ModeKind, PartsPerMillion, SwitchConfig};

use crate::network::gigabits;

/// Demand of a class on a line.
#[derive(Clone, Debug)]
pub struct Demand {
    class: usize,
    /// Rate of its flows, limited by its highest rate.
    rate: f64,
    /// Rate of its flows by ingress port, if it shares by port.
    by_port: Option<Vec<(usize, f64)>>,
    weight: f64,
    /// Its highest priority; `None` if it is not strict.
    strict: Option<u8>,
    /// Guaranteed rate, served first.
    least: f64,
    most: f64,
}

impl Demand {
    /// Creates the demand of `class`, number `number`, whose flows send at these rates by ingress port.
    pub fn new(number: usize, by_port: Vec<(usize, f64)>, class: &Class) -> Self {
        let scheduler = class.scheduler;
        let rate: f64 = by_port.iter().map(|(_, rate)| rate).sum();
        let each = |rate: BitRate| gigabits(rate) * class.priorities.len() as f64;
        let most = scheduler.rate_max.map_or(f64::INFINITY, each);
        let priorities = class.priorities.iter().map(|priority| priority.get());
        Self {
            class: number,
            rate: rate.min(most),
            by_port: Some(by_port).filter(|_| {
                scheduler.algorithm == Algorithm::Ports && class.kind() != ModeKind::Level
            }),
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
            let by_weight = |other: &&Demand| takes_turns(other) && other.by_port.is_none();
            let others = others().filter(by_weight);
            let mut asked: Vec<_> = others.map(|other| (other.rate, other.weight)).collect();
            let joint = demands.iter().filter(|other| other.by_port.is_some());
            if own.by_port.is_none() {
                // Together they are one class of weight 1.
                asked.push((joint.map(|other| other.rate).sum(), 1.0));
            }
            // The class itself, or those with which it shares, may take everything.
            asked.push((f64::INFINITY, own.weight));
            let shares = weighted(left, &asked);
            let share = shares.last().copied().unwrap_or(line);
            match &own.by_port {
                Some(ports) => share_by_port(share, class, ports, demands),
                None => share,
            }
        }
    };
    rate.max(own.least).min(own.most)
}

/// Returns the rest for `class`, with flows from `ports`, of the share of all classes that share by port: ports take
/// turns, and then the classes of each.
fn share_by_port(share: f64, class: usize, ports: &[(usize, f64)], demands: &[Demand]) -> f64 {
    let mut others: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    for other in demands.iter().filter(|other| other.class != class) {
        for (port, rate) in other.by_port.iter().flatten() {
            others.entry(*port).or_default().push((*rate, 1.0));
        }
    }
    let own: Vec<usize> = ports.iter().map(|(port, _)| *port).collect();
    let foreign = others.iter().filter(|(port, _)| !own.contains(port));
    let foreign = foreign.map(|(_, rates)| (rates.iter().map(|(rate, _)| rate).sum(), 1.0));
    let mut asked: Vec<(f64, f64)> = own.iter().map(|_| (f64::INFINITY, 1.0)).collect();
    asked.extend(foreign);
    let of_ports = weighted(share, &asked);
    let of_class = own.iter().zip(of_ports).map(|(port, share)| {
        let mut asked = others.get(port).cloned().unwrap_or_default();
        asked.push((f64::INFINITY, 1.0));
        let shares = weighted(share, &asked);
        shares.last().copied().unwrap_or(share)
    });
    of_class.sum()
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
            by_port: None,
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
    fn ports_take_turns_before_their_classes() {
        let by_port = |class, ports: &[(usize, f64)]| Demand {
            by_port: Some(ports.to_vec()),
            ..demand(class, ports.iter().map(|(_, rate)| rate).sum(), None)
        };
        // Port 1 uses two classes, ports 2 and 3 one.
        let mut all = vec![
            by_port(0, &[(1, 80.0), (2, 80.0)]),
            by_port(1, &[(1, 80.0), (3, 10.0)]),
        ];
        // 10 for port 3, 45 for ports 1 and 2, of which port 1 gives half to each class.
        assert_eq!(class_rate(100.0, 0, &all), 67.5);
        // A third for each port; all of it from port 3.
        let third = 100.0 / 3.0;
        assert!((class_rate(100.0, 1, &all) - third * 1.5).abs() < 1e-9);
        all.push(Demand {
            weight: 3.0,
            ..demand(2, 90.0, None)
        });
        assert_eq!(class_rate(100.0, 2, &all), 75.0);
        // A quarter is left, a third of it for each port.
        assert!((class_rate(100.0, 0, &all) - 12.5).abs() < 1e-9);
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
