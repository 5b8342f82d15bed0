//! Retransmission as a shift of the origin (III-B c, III-C).
//!
//! After a timeout at t_TO, Go-Back-N resends all unacknowledged traffic, so neither Â nor D can continue as
//! non-decreasing functions. The origin moves to (t_TO, D(t_TO − ΔR)). There the source holds all unsent and
//! unacknowledged traffic, and the path server is empty. In the old coordinates D therefore steps back by up to C·ΔR,
//! and queued traffic vanishes. This is a property of the model; in a network those bytes would still leave the queue.

use crate::algebra::{Curve, CurveError, Scalar};

/// An origin in the coordinates of the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin<S> {
    /// Its time, t_TO or t_AI.
    pub time: S,
    /// Its height: the amount acknowledged by t_TO, or admitted by t_AI.
    pub height: S,
}

impl<S: Scalar> Origin<S> {
    /// Returns (0, 0).
    pub fn initial() -> Self {
        Self {
            time: S::zero(),
            height: S::zero(),
        }
    }

    /// A^rem(t) = A(t + t_0) − height for t > 0: the traffic still to be sent, with an initial burst.
    pub fn remaining(&self, arrivals: &Curve<S>) -> Result<Curve<S>, CurveError> {
        arrivals.from_origin(&self.time, &self.height)
    }

    /// Â(t) = Â^rem(t − t_0) + height for t > t_0, and the earlier function up to t_0.
    pub fn continued(
        &self,
        until_now: &Curve<S>,
        remaining: &Curve<S>,
    ) -> Result<Curve<S>, CurveError> {
        until_now.continued_with(&self.time, &self.height, remaining)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Exact, Extended};

    #[test]
    fn what_was_not_acknowledged_is_sent_again() {
        let int = Exact::from;
        let arrivals = Curve::token_bucket(int(50), int(10));
        // At t = 6, 110 have arrived, of which 30 are acknowledged.
        let origin = Origin {
            time: int(6),
            height: int(30),
        };
        let remaining = origin.remaining(&arrivals).unwrap();
        assert_eq!(remaining.at(&int(0)), Extended::Finite(int(0)));
        assert_eq!(remaining.after(&int(0)), Extended::Finite(int(80)));
        assert_eq!(remaining.at(&int(1)), Extended::Finite(int(90)));
        let admitted = Curve::rate_function(int(20));
        let again = remaining
            .convolution(&Curve::rate_function(int(5)))
            .unwrap();
        let admitted = origin.continued(&admitted, &again).unwrap();
        assert_eq!(admitted.at(&int(6)), Extended::Finite(int(120)));
        assert_eq!(admitted.after(&int(6)), Extended::Finite(int(30)));
        assert_eq!(admitted.at(&int(8)), Extended::Finite(int(40)));
    }
}
