//! Â and D over several origins, for Algorithms 1 and 2.

use super::ControlError;
use crate::algebra::{Curve, Scalar};
use crate::congestion::retransmission::Origin;
use crate::congestion::timeout::first_timeout;

/// Admitted arrivals and departures, in total and since the last retransmission.
pub(super) struct Flow<'a, S> {
    arrivals: &'a Curve<S>,
    service: &'a Curve<S>,
    feedback_delay: &'a S,
    /// Total up to the last retransmission.
    admitted: Curve<S>,
    departures: Curve<S>,
    /// Beginning of the last retransmission.
    origin: Origin<S>,
    /// Since then, in the coordinates of that origin.
    admitted_rem: Curve<S>,
    departures_rem: Curve<S>,
}

impl<'a, S: Scalar> Flow<'a, S> {
    pub fn new(arrivals: &'a Curve<S>, service: &'a Curve<S>, feedback_delay: &'a S) -> Self {
        Self {
            arrivals,
            service,
            feedback_delay,
            admitted: Curve::zero(),
            departures: Curve::zero(),
            origin: Origin::initial(),
            admitted_rem: Curve::zero(),
            departures_rem: Curve::zero(),
        }
    }

    /// Changes the source's service curve at `time`, without a retransmission. Computes Â and D up to `horizon`.
    ///
    /// Line 19 of Algorithm 1 and similar lines print A where Â is meant: the remainder is the traffic not yet admitted.
    pub fn continue_at(
        &mut self,
        time: &S,
        source: &Curve<S>,
        horizon: &S,
    ) -> Result<(), ControlError> {
        let local = Origin {
            height: self.admitted_rem.finite_at(&self.since(time))?,
            time: self.since(time),
        };
        let whole = Origin {
            time: time.clone(),
            height: local.height.clone() + &self.origin.height,
        };
        let admitted = self.admit(&whole, source, horizon)?;
        self.admitted_rem = local.continued(&self.admitted_rem, &admitted)?;
        self.serve(horizon)
    }

    /// Handles a timeout at `time`: the origin moves to the amount acknowledged by then. Returns its height.
    pub fn retransmit_at(
        &mut self,
        time: &S,
        source: &Curve<S>,
        horizon: &S,
    ) -> Result<S, ControlError> {
        let height = self.acknowledged(time)?;
        self.admitted = self.origin.continued(&self.admitted, &self.admitted_rem)?;
        self.departures = self
            .origin
            .continued(&self.departures, &self.departures_rem)?;
        // Line 22 prints D(t_prev) for the height; D(t_prev − ΔR), as in lines 13 and 25, is meant.
        self.origin = Origin {
            time: time.clone(),
            height,
        };
        let origin = self.origin.clone();
        self.admitted_rem = self.admit(&origin, source, horizon)?;
        self.serve(horizon)?;
        Ok(origin.height)
    }

    fn admit(
        &self,
        origin: &Origin<S>,
        source: &Curve<S>,
        horizon: &S,
    ) -> Result<Curve<S>, ControlError> {
        let length = horizon.clone() - &origin.time;
        let remaining = origin.remaining(self.arrivals)?;
        Ok(remaining.convolution_until(source, &length)?)
    }

    fn serve(&mut self, horizon: &S) -> Result<(), ControlError> {
        let length = self.since(horizon);
        self.departures_rem = self.admitted_rem.convolution_until(self.service, &length)?;
        Ok(())
    }

    fn since(&self, time: &S) -> S {
        time.clone() - &self.origin.time
    }

    /// Returns D(t − ΔR) with D of the current origin; nothing before it counts.
    pub fn acknowledged(&self, time: &S) -> Result<S, ControlError> {
        let left = self.since(time) - self.feedback_delay;
        Ok(self.departures_rem.finite_at(&left)? + &self.origin.height)
    }

    /// Returns Â(t).
    pub fn admitted_at(&self, time: &S) -> Result<S, ControlError> {
        Ok(self.admitted_rem.finite_at(&self.since(time))? + &self.origin.height)
    }

    /// inf{t | D(t − ΔR) ≥ amount} up to the horizon, with D of the current origin.
    pub fn acknowledgement_of(
        &self,
        amount: &S,
        from: &S,
        horizon: &S,
    ) -> Result<Option<S>, ControlError> {
        use crate::algebra::Crossing;
        let level = amount.clone() - &self.origin.height;
        let found = self
            .departures_rem
            .delayed(self.feedback_delay)
            .first_crossing(
                &self.since(from),
                &self.since(horizon),
                Crossing::AtLeast,
                &level,
            )?;
        Ok(found.map(|time| time + &self.origin.time))
    }

    /// Returns the first timeout up to `horizon`, with the functions of the current origin. Line 7 of Algorithm 1 searches
    /// t > t_TO^next and prints the unshifted functions, which would find the same timeout again at once; t > t_TO^prev and
    /// the shifted ones are meant.
    pub fn timeout(&self, timeout: &S, horizon: &S) -> Result<Option<S>, ControlError> {
        let found = first_timeout(
            &self.admitted_rem,
            &self.departures_rem,
            self.feedback_delay,
            timeout,
            &S::zero(),
            &self.since(horizon),
        )?;
        Ok(found.map(|time| time + &self.origin.time))
    }

    /// Returns Â and D on [0, end].
    pub fn finish(self) -> Result<(Curve<S>, Curve<S>), ControlError> {
        Ok((
            self.origin.continued(&self.admitted, &self.admitted_rem)?,
            self.origin
                .continued(&self.departures, &self.departures_rem)?,
        ))
    }
}
