//! Result of a scenario.

use thiserror::Error;

use super::engine::Engine;
use super::scenario::Scenario;
use crate::algebra::{Curve, CurveError, Element, Extended, Scalar};

/// A prediction of more steps than this is refused.
pub const STEPS_MAX: usize = 20_000_000;

/// Why there is no prediction.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PredictionError {
    /// The algebra cannot.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A parameter that makes no sense.
    #[error("{0}")]
    Parameter(&'static str),
    /// [`STEPS_MAX`] is reached.
    #[error("more than {STEPS_MAX} steps")]
    TooManySteps,
    /// Rounding keeps the computation at one instant. Exact scalars cannot.
    #[error("no progress at t = {0} µs")]
    Stalled(String),
}

/// Sources of a group (one ingress port, or all) are paused.
#[derive(Clone, Debug, PartialEq)]
pub struct Pause<S> {
    /// The port, or 0 if all are paused together.
    pub group: usize,
    /// When the sources' pause begins.
    pub from: S,
    /// When it ends; `None` if not before the end of the prediction.
    pub to: Option<S>,
}

/// A congestion notification or a timeout at a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal<S> {
    /// When the source has it.
    pub time: S,
    /// Its index.
    pub source: usize,
    /// Its rate from then on.
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
    /// B of each PFC group: of each ingress port in order, or of all.
    pub group_backlogs: Vec<Curve<S>>,
    /// Rate limits of each source, each with the time from which it holds.
    pub rates: Vec<Vec<(S, S)>>,
    /// Pauses in order of time.
    pub pauses: Vec<Pause<S>>,
    /// Notifications in order of time.
    pub notifications: Vec<Signal<S>>,
    /// Timeouts in order of time.
    pub timeouts: Vec<Signal<S>>,
    /// Steps it took.
    pub steps: usize,
    /// The end.
    pub end: S,
}

/// Predicts what happens in a scenario: a causal computation from event to event, exact for exact scalars.
///
/// Each step costs O(sources); there is one for each change of a rate, of a proportion at the head of a queue, of the side of a
/// threshold, and for each feedback.
pub fn predict<S: Scalar>(scenario: Scenario<S>) -> Result<Prediction<S>, PredictionError> {
    Engine::new(scenario)?.run()
}

impl<S: Scalar> Prediction<S> {
    /// The greatest backlog and the first time it is reached, as (time, value).
    pub fn peak_backlog(&self) -> Result<(S, S), CurveError> {
        match self.backlog.supremum_until(&self.end)? {
            Extended::Finite(peak) => Ok(peak),
            Extended::Infinite => Err(CurveError::Infinite),
        }
    }

    /// The longest that traffic of a source has waited for its turn, in order of arrival, up to its departure or the end. Fails if the
    /// source had a timeout, for then its functions decrease.
    pub fn worst_delay(&self, source: usize) -> Result<S, CurveError> {
        let departures = self.departures[source].held(&self.end)?;
        let inverse = self.admitted[source].upper_pseudo_inverse()?;
        // D_i(t) is what had come by Â_i↑(D_i(t)); where nothing waits that is t or later.
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

    /// The rate of all sources together at the time (as of just after it), in Gbit/s.
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

    /// The rate of all sources together, averaged over consecutive bins: (middle of the bin, Gbit/s). Steps back at timeouts do not
    /// count: it is the rate at which traffic is sent.
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
