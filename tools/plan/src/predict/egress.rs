//! Backlog of one egress port in one class: fluid prediction with and without PFC.

use anyhow::Result;
use weir_calculus::algebra::{Crossing, Curve, Extended};
use weir_calculus::congestion::pfc::{Resume, Thresholds};
use weir_calculus::multiflow::prediction::{predict, Prediction};
use weir_calculus::multiflow::scenario::{Discipline, PauseScope, Pfc, Scenario, Source};

use super::arrivals::Input;
use super::shares;

/// Periods of PFC covered by a plan without an end.
const PERIODS: f64 = 8.0;
/// Maximum ratio of the fill times of the slowest and the fastest buffer in a plan without an end.
const FILLING_SPAN: f64 = 100.0;
/// Maximum number of pauses and resumptions of all ports in a plan.
const PAUSES_MAX: f64 = 20_000.0;

/// Thresholds of a class for an ingress port's contents, as bytes on the line (kbit).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// X_off.
    pub xoff: f64,
    /// X_on.
    pub xon: f64,
}

/// An egress port in one class.
#[derive(Clone, Debug)]
pub struct Egress {
    /// C: minimum rate of the class on the line, in Gbit/s.
    pub rate: f64,
    /// Sources of traffic.
    pub inputs: Vec<Input>,
    /// End of traffic, if any.
    pub end: Option<f64>,
}

/// Result at an egress.
#[derive(Debug)]
pub struct Outcome {
    /// Prediction without PFC: the backlog until the end, or until thresholds are long crossed.
    pub free: Prediction<f64>,
    /// Prediction with PFC, for lossless classes.
    pub paused: Option<Prediction<f64>>,
}

impl Egress {
    /// Returns the total rate of all inputs while they send.
    pub fn offered(&self) -> f64 {
        self.inputs.iter().map(Input::rate).sum()
    }

    /// Computes the result. The latest flow determines the duration of a plan without an end.
    pub fn outcome(&self, limits: Option<Limits>, full: f64) -> Result<Outcome> {
        let latest = self.inputs.iter().flat_map(|input| &input.flows);
        let latest = latest.map(|flow| flow.start).fold(0.0, f64::max);
        let filled = latest + 1.0 + 1.1 * self.longest_filling(full);
        let free = predict(self.scenario(None, self.end.unwrap_or(filled).max(1.0))?)?;
        let paused = match limits {
            None => None,
            Some(limits) => {
                let period = self.period_estimate(limits);
                let pauses = PAUSES_MAX / self.inputs.len().max(1) as f64;
                let longest = filled + pauses * period;
                let end = match self.end {
                    Some(end) => end.min(longest),
                    None => filled + PERIODS * period,
                };
                Some(predict(self.scenario(Some(limits), end.max(1.0))?)?)
            }
        };
        Ok(Outcome { free, paused })
    }

    /// Returns the time that the last of the growing buffers takes to fill if all begin together without pauses, limited to
    /// [`FILLING_SPAN`] times that of the first.
    fn longest_filling(&self, full: f64) -> f64 {
        let demands: Vec<(f64, f64)> = self
            .inputs
            .iter()
            .map(|input| (input.rate(), 1.0))
            .collect();
        let served = shares::weighted(self.rate, &demands);
        let growth = demands
            .iter()
            .zip(served)
            .map(|(demand, served)| demand.0 - served);
        let times: Vec<f64> = growth
            .filter(|growth| *growth > 1e-9)
            .map(|growth| full / growth)
            .collect();
        let first = times.iter().copied().fold(f64::INFINITY, f64::min);
        let last = times.into_iter().fold(0.0, f64::max);
        last.min(first * FILLING_SPAN)
    }

    /// Estimates a period: n ports drain from their peak to X_on through C, and fill again.
    fn period_estimate(&self, limits: Limits) -> f64 {
        let over = |input: &Input| input.rate() * input.feedback_delay;
        let drained: f64 = self
            .inputs
            .iter()
            .map(|input| limits.xoff - limits.xon + over(input))
            .sum();
        drained / self.rate + 2.0 * self.longest_feedback()
    }

    fn longest_feedback(&self) -> f64 {
        let delays = self.inputs.iter().map(|input| input.feedback_delay);
        delays.fold(0.0, f64::max)
    }

    fn scenario(&self, limits: Option<Limits>, end: f64) -> Result<Scenario<f64>> {
        let sources = self
            .inputs
            .iter()
            .enumerate()
            .map(|(port, input)| {
                let (arrivals, control) = input.offered(end)?;
                Ok(Source {
                    arrivals,
                    control,
                    port,
                    class: 0,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let mut scenario = Scenario::new(self.rate, self.longest_feedback(), sources, end);
        scenario.discipline = Discipline::FairPorts;
        scenario.pfc = limits.map(|limits| Pfc {
            thresholds: Thresholds {
                xoff: limits.xoff,
                xon: limits.xon,
            },
            resume: Resume::AtXon,
            scope: PauseScope::EachPort,
            delay: self.longest_feedback(),
        });
        Ok(scenario)
    }
}

impl Outcome {
    /// Returns the backlog of one input without PFC.
    pub fn free_backlog(&self, input: usize) -> Result<Curve<f64>> {
        let free = &self.free;
        Ok(free.admitted[input].minus_until(&free.departures[input], &free.end)?)
    }

    /// Returns the greatest backlog of one input, with PFC if used.
    pub fn peak_of(&self, input: usize) -> Result<f64> {
        match &self.paused {
            Some(paused) => peak(&paused.group_backlogs[input], paused.end),
            None => peak(&self.free_backlog(input)?, self.free.end),
        }
    }

    /// Returns the greatest total backlog, with PFC if used.
    pub fn peak(&self) -> Result<f64> {
        let prediction = self.paused.as_ref().unwrap_or(&self.free);
        Ok(prediction.peak_backlog()?.1)
    }
}

/// Returns the greatest value on [0, end].
pub fn peak(curve: &Curve<f64>, end: f64) -> Result<f64> {
    Ok(match curve.supremum_until(&end)? {
        Extended::Finite((_, value)) => value,
        Extended::Infinite => f64::INFINITY,
    })
}

/// Returns the first time before `end` at which the curve is at `level` or above.
pub fn reaches(curve: &Curve<f64>, end: f64, level: f64) -> Result<Option<f64>> {
    Ok(curve.first_crossing(&0.0, &end, Crossing::AtLeast, &level)?)
}

#[cfg(test)]
mod tests {
    use super::super::arrivals::Arrivals;
    use super::*;

    const XOFF: f64 = 800.0;
    const XON: f64 = 600.0;

    /// Returns `count` ports at `line` Gbit/s into one of 100 Gbit/s, without end.
    fn incast(count: usize, line: f64, feedback_delay: f64) -> Egress {
        let flow = Arrivals {
            start: 0.0,
            stop: None,
            rate: None,
            volume: None,
            on_off: None,
            recorded: None,
        };
        Egress {
            rate: 100.0,
            inputs: (0..count)
                .map(|ingress| Input {
                    ingress,
                    flows: vec![flow.clone()],
                    line,
                    feedback_delay,
                })
                .collect(),
            end: None,
        }
    }

    fn assert_near(left: f64, right: f64) {
        assert!(
            (left - right).abs() <= 1e-6 * right.abs(),
            "{left} for {right}"
        );
    }

    const LIMITS: Limits = Limits {
        xoff: XOFF,
        xon: XON,
    };

    #[test]
    fn an_incast_has_its_closed_forms() {
        for (count, line, delay) in [(2, 100.0, 2.0), (5, 100.0, 3.0), (31, 40.0, 1.0)] {
            let outcome = incast(count, line, delay)
                .outcome(Some(LIMITS), XOFF)
                .unwrap();
            let share = 100.0 / count as f64;
            // Each port fills at r − C/n.
            let backlog = outcome.free_backlog(0).unwrap();
            let xoff_at = reaches(&backlog, outcome.free.end, XOFF).unwrap();
            assert_near(xoff_at.unwrap(), XOFF / (line - share));
            // It continues for the feedback delay, drains at C/n down to X_on, and for another feedback delay.
            let peak = XOFF + delay * (line - share);
            assert_near(outcome.peak_of(0).unwrap(), peak);
            assert_near(outcome.peak().unwrap(), peak * count as f64);
            let lowest = XON - delay * share;
            let period = (peak - lowest) / share + (peak - lowest) / (line - share);
            let paused = outcome.paused.unwrap();
            let begins: Vec<f64> = paused
                .pauses
                .iter()
                .filter(|pause| pause.group == 0)
                .map(|pause| pause.from)
                .collect();
            assert!(begins.len() > 4, "{begins:?}");
            for pair in begins.windows(2) {
                assert_near(pair[1] - pair[0], period);
            }
        }
    }

    #[test]
    fn what_the_port_can_take_does_not_wait() {
        let outcome = incast(2, 50.0, 2.0).outcome(Some(LIMITS), XOFF).unwrap();
        assert_eq!(outcome.peak().unwrap(), 0.0);
        assert!(outcome.paused.unwrap().pauses.is_empty());
    }

    #[test]
    fn a_flow_sends_its_volume_and_stops() {
        let mut egress = incast(2, 100.0, 2.0);
        for (input, volume) in egress.inputs.iter_mut().zip([300.0, 1_000.0]) {
            input.flows[0].volume = Some(volume);
        }
        egress.end = Some(50.0);
        let outcome = egress.outcome(None, XOFF).unwrap();
        // Both arrive for 3 µs at twice C; then one at C.
        assert_near(outcome.peak().unwrap(), 300.0);
        let last = outcome.free.backlog.finite_at(&12.9).unwrap();
        assert_near(last, 1_300.0 - 1_290.0);
    }
}
