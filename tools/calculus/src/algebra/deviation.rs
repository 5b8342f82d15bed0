//! Deviations: the greatest backlog and delay between arrivals and service.

use super::{element, Curve, CurveError, Element, Extended, Scalar, Tail};

impl<S: Scalar> Curve<S> {
    /// v(f, g) = sup over t ≥ 0 of f(t) − g(t): the greatest backlog.
    pub fn vertical_deviation(&self, service: &Self) -> Result<Extended<S>, CurveError> {
        Ok(match self.deconvolution(service)?.at(&S::zero()) {
            Extended::Finite(value) => Extended::Finite(value),
            Extended::Infinite => Extended::Infinite,
        })
    }

    /// h(f, g) = sup over t ≥ 0 of inf{d ≥ 0 | f(t) ≤ g(t + d)}: the greatest delay in order of arrival.
    pub fn horizontal_deviation(&self, service: &Self) -> Result<Extended<S>, CurveError> {
        let inverse = service.lower_pseudo_inverse()?;
        if self.rate() == Extended::Infinite {
            // Infinite arrivals are served only by infinite service, at its own time.
            return self.deviation_of_bursts(service);
        }
        if !self.is_reached_by(service)? {
            return Ok(Extended::Infinite);
        }
        let served = inverse.composed_with(self)?;
        let identity = Curve::rate_function(S::one());
        let delay = served.minus(&identity)?;
        if delay.rate().finite().is_none_or(|rate| rate.is_positive()) {
            return Ok(Extended::Infinite);
        }
        let horizon = match delay.tail() {
            Tail::Plain => None,
            Tail::Periodic { from, period, .. } => Some(from.clone() + period),
        };
        Ok(greatest(&delay.unrolled(horizon.as_ref())?).into())
    }

    fn deviation_of_bursts(&self, service: &Self) -> Result<Extended<S>, CurveError> {
        let Some(end) = self.elements.last().and_then(|last| last.to().cloned()) else {
            return Ok(service
                .elements
                .last()
                .map_or(Some(S::zero()), |last| last.to().cloned())
                .into());
        };
        if service.rate() != Extended::Infinite {
            return Ok(Extended::Infinite);
        }
        let infinite_from = service.elements.last().and_then(|last| last.to().cloned());
        let last_wait = infinite_from.map_or(S::zero(), |from| from - &end);
        let finite = Curve::normalised(
            element::part(&self.elements, &S::zero(), Some(&end), true),
            Tail::Plain,
        );
        let inverse = service.lower_pseudo_inverse()?;
        let elements = finite.elements.iter().flat_map(|element| {
            let last = element.to().cloned().zip(element.end());
            [
                Some((element.from().clone(), element.start().clone())),
                last,
            ]
        });
        let mut worst = last_wait.greater(S::zero());
        for (at, value) in elements.flatten() {
            match inverse.at(&value) {
                Extended::Finite(served) => worst = worst.greater(served - &at),
                Extended::Infinite => return Ok(Extended::Infinite),
            }
        }
        Ok(Extended::Finite(worst))
    }

    fn is_reached_by(&self, service: &Self) -> Result<bool, CurveError> {
        let highest = |curve: &Self| -> Option<S> {
            match curve.rate() {
                Extended::Finite(rate) if !rate.is_positive() => {
                    curve.supremum().finite().map(|(_, value)| value)
                }
                _ => None,
            }
        };
        Ok(match (highest(self), highest(service)) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(most), Some(served)) => most <= served,
        })
    }
}

fn greatest<S: Scalar>(elements: &[Element<S>]) -> Option<S> {
    let mut worst = S::zero();
    let mut end = Some(S::zero());
    for element in elements {
        if end.as_ref() != Some(element.from()) {
            return None;
        }
        worst = worst.greater(element.start().clone());
        if let Some(value) = element.end() {
            worst = worst.greater(value);
        }
        end = element.to().cloned();
    }
    Some(worst)
}
