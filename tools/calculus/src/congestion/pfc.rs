//! Priority Flow Control (III-B e).
//!
//! The paper prints t_R(t) = t_P(t) + (X_off − X_on)/C. At that time B(t − ΔR) is still above X_off, because the backlog
//! kept growing for ΔR after it had crossed it. Taken literally, the formula pauses again at once until the backlog is back
//! at X_off. The preceding sentence states that transmissions stay paused until the backlog reaches X_on, of which the
//! sender learns ΔR later. Switches do this, and it is the default here; [`Resume::AfterFormula`] is the formula.

use crate::algebra::{Crossing, Curve, CurveError, Scalar};

/// Thresholds in kbit.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds<S> {
    /// X_off: above it the sender is paused.
    pub xoff: S,
    /// X_on: at or below it the sender may resume. Less than X_off.
    pub xon: S,
}

/// Time at which a paused sender resumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// ΔR after the backlog has fallen to X_on, as in the prose and in switches.
    #[default]
    AtXon,
    /// (X_off − X_on)/C after the pause began, and paused again at once while B(t − ΔR) > X_off: the formula.
    AfterFormula,
}

impl<S: Scalar> Thresholds<S> {
    /// t_P(t) = inf{s ≥ t | B(s − ΔR) > X_off}, up to the horizon.
    pub fn next_pause(
        &self,
        backlog: &Curve<S>,
        feedback_delay: &S,
        from: &S,
        horizon: &S,
    ) -> Result<Option<S>, CurveError> {
        self.delayed(backlog, feedback_delay, from, horizon, Crossing::Above)
    }

    /// inf{s ≥ t | B(s − ΔR) ≤ X_on}, up to the horizon: the prose's end of a pause.
    pub fn next_resume(
        &self,
        backlog: &Curve<S>,
        feedback_delay: &S,
        from: &S,
        horizon: &S,
    ) -> Result<Option<S>, CurveError> {
        self.delayed(backlog, feedback_delay, from, horizon, Crossing::AtMost)
    }

    /// t_P + (X_off − X_on)/C: the formula's end of a pause.
    pub fn resume_by_formula(&self, pause: &S, rate: &S) -> S {
        pause.clone() + self.formula_duration(rate)
    }

    /// (X_off − X_on)/C.
    pub fn formula_duration(&self, rate: &S) -> S {
        (self.xoff.clone() - &self.xon) / rate
    }

    fn delayed(
        &self,
        backlog: &Curve<S>,
        feedback_delay: &S,
        from: &S,
        horizon: &S,
        side: Crossing,
    ) -> Result<Option<S>, CurveError> {
        let level = match side {
            Crossing::Above => &self.xoff,
            _ => &self.xon,
        };
        let from = (from.clone() - feedback_delay).greater(S::zero());
        let horizon = horizon.clone() - feedback_delay;
        let found = backlog.first_crossing(&from, &horizon, side, level)?;
        Ok(found.map(|time| time + feedback_delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Exact;

    #[test]
    fn pause_and_resume_are_seen_a_feedback_delay_late() {
        let int = Exact::from;
        let thresholds = Thresholds {
            xoff: int(60),
            xon: int(50),
        };
        // +30 per unit until 5, then −10.
        let backlog = Curve::through(&[(int(5), int(150))], int(-10)).unwrap();
        let delay = int(4);
        let pause = thresholds
            .next_pause(&backlog, &delay, &int(0), &int(99))
            .unwrap();
        assert_eq!(pause, Some(int(6)), "60 at t = 2");
        let resume = thresholds
            .next_resume(&backlog, &delay, &int(6), &int(99))
            .unwrap();
        assert_eq!(resume, Some(int(19)), "50 at t = 15");
        let formula = thresholds.resume_by_formula(&int(6), &int(10));
        assert_eq!(formula, int(7));
        let again = thresholds
            .next_pause(&backlog, &delay, &formula, &int(99))
            .unwrap();
        assert_eq!(
            again,
            Some(int(7)),
            "taken literally it pauses again at once"
        );
    }
}
