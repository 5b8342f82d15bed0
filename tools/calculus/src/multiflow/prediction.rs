//! Result of a scenario.

use thiserror::Error;

use super::engine::Engine;
use super::scenario::Scenario;
use crate::algebra::{Curve, CurveError, Element, Extended, Scalar};

/// Maximum number of steps of a prediction.
pub const STEPS_MAX: usize = 20_000_000;

/// Reason for which there is no prediction.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PredictionError {
    /// Error of the algebra.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A parameter is invalid.
    #[error("{0}")]
    Parameter(&'static str),
    /// [`STEPS_MAX`] was reached.
    #[error("more than {STEPS_MAX} steps")]
    TooManySteps,
    /// Rounding stalls the computation at one instant. Impossible with exact scalars.
    #[error("no progress at t = {0} µs")]
    Stalled(String),
}

/// A pause of a group of sources (one ingress port, or all).
#[derive(Clone, Debug, PartialEq)]
pub struct Pause<S> {
    /// The port, or 0 if all are paused together.
    pub group: usize,
    /// Beginning of the sources' pause.
    pub from: S,
    /// End of the pause; `None` if after the end of the prediction.
    pub to: Option<S>,
}

/// A congestion notification or a timeout at a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal<S> {
    /// Time at which the source receives it.
    pub time: S,
    /// Index of the source.
    pub source: usize,
    /// Rate of the source afterwards.
    pub rate: S,
}

/// Admitted arrivals, departures, backlog and events on [0, end].
#[derive(Clone, Debug)]
pub struct Prediction<S> {
    /// Â_i of each source.
    pub admitted: Vec<Curve<S>>,
    /// D_i of each source. They step back at timeouts.
    pub departures: Vec<Curve<S>>,
    /// B of the path server, in kbit.
    pub backlog: Curve<S>,
    /// B of each PFC group: of each ingress port in order, or in total.
    pub group_backlogs: Vec<Curve<S>>,
    /// Rate limits of each source, each with its start time.
    pub rates: Vec<Vec<(S, S)>>,
    /// Pauses in order of time.
    pub pauses: Vec<Pause<S>>,
    /// Notifications in order of time.
    pub notifications: Vec<Signal<S>>,
    /// Timeouts in order of time.
    pub timeouts: Vec<Signal<S>>,
    /// Number of steps.
    pub steps: usize,
    /// End of the prediction.
    pub end: S,
}

/// Predicts a scenario by a causal, event-driven computation, exact for exact scalars.
///
/// Each step costs O(sources). There is one step for each change of a rate, of a proportion at the head of a queue, of the
/// side of a threshold, and for each feedback.
pub fn predict<S: Scalar>(scenario: Scenario<S>) -> Result<Prediction<S>, PredictionError> {
    Engine::new(scenario)?.run()
}

impl<S: Scalar> Prediction<S> {
    /// Returns the greatest backlog and the first time at which it is reached, as (time, value).
    pub fn peak_backlog(&self) -> Result<(S, S), CurveError> {
        match self.backlog.supremum_until(&self.end)? {
            Extended::Finite(peak) => Ok(peak),
            Extended::Infinite => Err(CurveError::Infinite),
        }
    }

    /// Returns the longest time that traffic of a source waited, in order of arrival, until its departure or the end. Fails
    /// if the source had a timeout, since its functions then decrease.
    pub fn worst_delay(&self, source: usize) -> Result<S, CurveError> {
        let departures = self.departures[source].held(&self.end)?;
        let inverse = self.admitted[source].upper_pseudo_inverse()?;
        // The departures D_i(t) had arrived by Â_i↑(D_i(t)), which is t or later if nothing waits.
        let entered = inverse
            .min(&Curve::constant(self.end.clone()))?
            .composed_with(&departures)?;
        let now = Curve::rate_function(S::one());
        let waited = now.minus_until(&entered, &self.end)?;
        match waited.supremum_until(&self.end)? {
            Extended::Finite((_, longest)) => Ok(longest.greater(S::zero())),
            Extended::Infinite => Err(CurveError::Infinite),
        }
    }

    /// Returns how long a group is paused in total.
    pub fn paused_time(&self, group: usize) -> S {
        let pauses = self.pauses.iter().filter(|pause| pause.group == group);
        pauses.fold(S::zero(), |sum, pause| {
            let to = pause.to.clone().unwrap_or_else(|| self.end.clone());
            sum + &(to - &pause.from)
        })
    }

    /// Returns the total rate of all sources just after `time`, in Gbit/s.
    pub fn admitted_rate_after(&self, time: &S) -> S {
        let slopes = self.admitted.iter().filter_map(|curve| {
            let mut segments = curve.elements().iter().rev();
            segments.find_map(|element| match element {
                Element::Segment { from, slope, .. } if from <= time => Some(slope.clone()),
                _ => None,
            })
        });
        slopes.fold(S::zero(), |sum, slope| sum + &slope)
    }

    /// Returns the total sending rate of all sources, averaged over consecutive bins: (middle of the bin, Gbit/s). Steps
    /// back at timeouts do not count.
    pub fn average_rates(&self, bin: f64) -> Vec<(f64, f64)> {
        let count = (self.end.to_f64() / bin).round() as usize;
        let mut sent = vec![0.0; count];
        for curve in &self.admitted {
            for element in curve.elements() {
                let Element::Segment {
                    from,
                    to: Some(to),
                    slope,
                    ..
                } = element
                else {
                    continue;
                };
                let (from, to, slope) = (from.to_f64(), to.to_f64(), slope.to_f64());
                if slope == 0.0 {
                    continue;
                }
                let last = ((to / bin) as usize).min(count.saturating_sub(1));
                for (index, sent) in sent
                    .iter_mut()
                    .enumerate()
                    .take(last + 1)
                    .skip((from / bin) as usize)
                {
                    let (begin, end) = (index as f64 * bin, (index + 1) as f64 * bin);
                    *sent += slope * (to.min(end) - from.max(begin)).max(0.0);
                }
            }
        }
        let middle = |index: usize| (index as f64 + 0.5) * bin;
        sent.iter()
            .enumerate()
            .map(|(index, sent)| (middle(index), sent / bin))
            .collect()
    }
}
