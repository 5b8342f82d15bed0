//! Medians over the rounds, and ratios to the bare forwarder within each round.

use std::collections::BTreeMap;

use crate::measure::{Measurement, Sample};
use crate::rounds::Measured;
use crate::system::System;

const REFERENCE: System = System::Bare;

/// A median with minimum and maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Median; for an even number of values the mean of the two middle ones.
    pub median: f64,
    /// Minimum.
    pub low: f64,
    /// Maximum.
    pub high: f64,
}

impl Spread {
    /// Returns `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            0.5 * (values[middle - 1] + values[middle])
        };
        Some(Self { median, low, high })
    }
}

/// All rounds of one system with one kind of traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary<'a> {
    /// See [`System::name`].
    pub system: &'a str,
    /// Frame length with FCS.
    pub frame_bytes: usize,
    /// Number of flows.
    pub flows: u32,
    rounds: Vec<&'a Measurement>,
    reference: BTreeMap<u32, &'a Measurement>,
}

impl<'a> Summary<'a> {
    /// Returns one for each system and traffic: by traffic in the order of measurement, then by system.
    pub fn all(measured: &'a Measured) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for one in &measured.measurements {
            let known = found.iter_mut().find(|summary| {
                summary.system == one.system && summary.is_with(one.frame_bytes, one.flows)
            });
            match known {
                Some(summary) => summary.rounds.push(one),
                None => found.push(Self {
                    system: &one.system,
                    frame_bytes: one.frame_bytes,
                    flows: one.flows,
                    rounds: vec![one],
                    reference: BTreeMap::new(),
                }),
            }
        }
        for summary in &mut found {
            summary.reference = measured
                .measurements
                .iter()
                .filter(|one| {
                    one.system == REFERENCE.name() && summary.is_with(one.frame_bytes, one.flows)
                })
                .map(|one| (one.round, one))
                .collect();
        }
        let place = |name: &str| System::ALL.iter().position(|system| system.name() == name);
        found.sort_by_key(|summary| (summary.flows, summary.frame_bytes, place(summary.system)));
        found
    }

    /// True for this traffic.
    pub fn is_with(&self, frame_bytes: usize, flows: u32) -> bool {
        self.frame_bytes == frame_bytes && self.flows == flows
    }

    /// Values of every round that has one.
    pub fn of(&self, value: impl Fn(&Measurement) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.rounds.iter().filter_map(|round| value(round)))
    }

    /// Like [`of`](Self::of), as a ratio to the reference of the same round.
    pub fn ratio(&self, value: impl Fn(&Measurement) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.rounds.iter().filter_map(|round| {
            let reference = value(self.reference.get(&round.round)?)?;
            (reference > 0.0).then_some(value(round)? / reference)
        }))
    }

    /// True if the sender was the limit in every round.
    pub fn is_sender_bound(&self) -> bool {
        self.rounds
            .iter()
            .all(|round| round.lossless.is_sender_bound)
    }
}

/// Returns the trial at `percent` of the rate without loss.
pub(super) fn at(samples: &[Sample], percent: u32) -> Option<&Sample> {
    samples
        .iter()
        .find(|sample| sample.percent == Some(percent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn half_of_all_is_on_either_side(values in prop::collection::vec(-1e9..1e9f64, 1..50)) {
            let spread = Spread::of(values.clone()).unwrap();
            let below = values.iter().filter(|value| **value < spread.median).count();
            let above = values.iter().filter(|value| **value > spread.median).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
            prop_assert!(values.iter().all(|value| (spread.low..=spread.high).contains(value)));
        }
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(Spread::of([]), None);
    }
}
