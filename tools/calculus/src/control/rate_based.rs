//! Algorithm 1: rate-based congestion control with additive increase and multiplicative decrease (III-C, appendix A).
//!
//! Interpretations of the printed text, besides those in [`origins`](super):
//!
//! - Line 11 is missing: r ← β·r, by equation (3). (The text of III-C refers to (2).)
//! - The interval without congestion before an increase is [t − Δτ_ai, t]; it prints [t, t − Δτ_ai].
//! - Line 6 advances the increase timer by Δτ_ai from its old value even if the timeout came first; III-C permits an
//!   increase only Δτ_ai after the last congestion. [`IncreaseTimer`] has both; the text of III-C is the default.

use super::origins::Flow;
use super::{ControlError, Run, EVENTS_MAX};
use crate::algebra::{Curve, Scalar};

/// Time of the next increase after a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncreaseTimer {
    /// Δτ_ai after the timeout (III-C).
    #[default]
    RestartsAtCongestion,
    /// Δτ_ai after its old due time (line 6).
    Advances,
}

/// Parameters, in µs, kbit and Gbit/s.
#[derive(Clone, Debug, PartialEq)]
pub struct RateBased<S> {
    /// r_o.
    pub initial_rate: S,
    /// α, by which the rate grows.
    pub increase: S,
    /// β, by which it is multiplied after a timeout; between 0 and 1.
    pub decrease: S,
    /// Δτ_ai.
    pub increase_interval: S,
    /// τ_o.
    pub timeout: S,
    /// ΔR.
    pub feedback_delay: S,
    /// Interpretation of line 6.
    pub timer: IncreaseTimer,
}

/// An event of the algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct RateEvent<S> {
    /// Time of the event.
    pub time: S,
    /// Kind.
    pub kind: RateEventKind<S>,
    /// Rate after the event.
    pub rate: S,
}

/// Kinds of events.
#[derive(Clone, Debug, PartialEq)]
pub enum RateEventKind<S> {
    /// Additive increase.
    Increase,
    /// Timeout; the source resumes from the acknowledged data.
    Timeout {
        /// D(t_TO − ΔR).
        resumed_from: S,
    },
}

impl<S: Scalar> RateBased<S> {
    /// Runs the algorithm up to `end`, for arrivals A at a path server with service curve S.
    ///
    /// Each event costs O(elements of Â since the last timeout).
    pub fn run(
        &self,
        arrivals: &Curve<S>,
        service: &Curve<S>,
        end: &S,
    ) -> Result<Run<S, RateEvent<S>>, ControlError> {
        if !self.increase_interval.is_positive() {
            return Err(ControlError::Parameter(
                "the increase interval must be positive",
            ));
        }
        if self.timeout <= self.feedback_delay {
            return Err(ControlError::Parameter(
                "the timeout must be longer than the feedback delay",
            ));
        }
        let mut rate = self.initial_rate.clone();
        let mut flow = Flow::new(arrivals, service, &self.feedback_delay);
        let mut next_increase = self.increase_interval.clone();
        let mut events = Vec::new();
        let horizon = |due: &S| due.clone().lesser(end.clone());
        flow.continue_at(
            &S::zero(),
            &Curve::rate_function(rate.clone()),
            &horizon(&next_increase),
        )?;
        loop {
            let until = horizon(&next_increase);
            let timeout = flow.timeout(&self.timeout, &until)?;
            let (time, kind) = match timeout {
                Some(time) => {
                    rate = rate * &self.decrease;
                    next_increase = match self.timer {
                        IncreaseTimer::RestartsAtCongestion => {
                            time.clone() + &self.increase_interval
                        }
                        IncreaseTimer::Advances => next_increase + &self.increase_interval,
                    };
                    let source = Curve::rate_function(rate.clone());
                    let resumed_from =
                        flow.retransmit_at(&time, &source, &horizon(&next_increase))?;
                    (time, RateEventKind::Timeout { resumed_from })
                }
                None if next_increase < *end => {
                    let time = next_increase;
                    rate = rate + &self.increase;
                    next_increase = time.clone() + &self.increase_interval;
                    let source = Curve::rate_function(rate.clone());
                    flow.continue_at(&time, &source, &horizon(&next_increase))?;
                    (time, RateEventKind::Increase)
                }
                None => break,
            };
            events.push(RateEvent {
                time,
                kind,
                rate: rate.clone(),
            });
            if events.len() > EVENTS_MAX {
                return Err(ControlError::TooManyEvents);
            }
        }
        let (admitted, departures) = flow.finish()?;
        Ok(Run {
            admitted,
            departures,
            events,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Exact, Extended};

    fn int(value: i64) -> Exact {
        Exact::from(value)
    }

    fn parameters(timer: IncreaseTimer) -> RateBased<Exact> {
        RateBased {
            initial_rate: int(150),
            increase: Exact::new(1, 10),
            decrease: Exact::new(4, 5),
            increase_interval: int(30),
            timeout: int(100),
            feedback_delay: int(20),
            timer,
        }
    }

    fn timeouts(run: &Run<Exact, RateEvent<Exact>>) -> Vec<&RateEvent<Exact>> {
        let is_timeout = |event: &&RateEvent<Exact>| event.kind != RateEventKind::Increase;
        run.events.iter().filter(is_timeout).collect()
    }

    #[test]
    fn a_rate_above_the_link_times_out_and_falls_to_what_fits() {
        let arrivals = Curve::step(int(1_000_000), int(0));
        let service = Curve::rate_function(int(100));
        let run = parameters(IncreaseTimer::default())
            .run(&arrivals, &service, &int(2_000))
            .unwrap();
        let found = timeouts(&run);
        // The first by hand: traffic that enters at s in [150, 180) is due at s + 100, when 100·(s + 80) is acknowledged. Â
        // has grown by 0.1 at each of five steps: Â(s) = 150·150 + Σ 0.1·30·k (k < 5) + 150.5·(s − 150).
        let before_last_step: Exact =
            (0..5).fold(int(0), |sum, step| sum + &Exact::new(30 * step, 10));
        let rate_at_s = Exact::new(1505, 10);
        let s = (int(8_000) - &before_last_step - &(int(150) * &int(150))
            + rate_at_s.clone() * &int(150))
            / &(rate_at_s - &int(100));
        let expected = s + &int(100);
        assert_eq!(found[0].time, expected);
        assert!((expected.to_f64() - 259.307).abs() < 1e-3);
        let RateEventKind::Timeout { resumed_from } = &found[0].kind else {
            unreachable!("only timeouts are left")
        };
        assert_eq!(*resumed_from, (expected.clone() - &int(20)) * &int(100));
        // 8 increases before it: (150 + 0.8)·0.8.
        assert_eq!(found[0].rate, Exact::new(1508, 10) * &Exact::new(4, 5));
        assert_eq!(
            run.departures.at(&expected),
            Extended::Finite(expected.clone() * &int(100))
        );
        assert_eq!(
            run.departures.after(&expected),
            Extended::Finite(resumed_from.clone()),
            "D steps back by C·ΔR"
        );
        assert_eq!(
            run.admitted.after(&expected),
            Extended::Finite(resumed_from.clone())
        );
        let next = &run.events[run
            .events
            .iter()
            .position(|event| event == found[0])
            .unwrap()
            + 1];
        assert_eq!(next.time, expected + &int(30), "the timer restarts");
    }

    #[test]
    fn the_printed_timer_goes_on_from_where_it_was() {
        let arrivals = Curve::step(int(1_000_000), int(0));
        let run = parameters(IncreaseTimer::Advances)
            .run(&arrivals, &Curve::rate_function(int(100)), &int(400))
            .unwrap();
        let after: Vec<_> = run
            .events
            .iter()
            .skip_while(|event| event.kind == RateEventKind::Increase)
            .collect();
        assert_eq!(
            after[1].time,
            int(300),
            "due at 270, advanced once more by the timeout at 259"
        );
    }

    #[test]
    fn a_source_with_little_to_send_is_not_slowed() {
        let arrivals = Curve::periodic_bursts(int(600), int(5), int(40)).unwrap();
        let service = Curve::rate_latency(int(100), int(2));
        let run = parameters(IncreaseTimer::default())
            .run(&arrivals, &service, &int(500))
            .unwrap();
        assert!(timeouts(&run).is_empty());
        let direct = arrivals
            .convolution(&Curve::rate_function(int(150)))
            .unwrap();
        assert_eq!(run.admitted.at(&int(20)), direct.at(&int(20)));
        assert_eq!(run.admitted.at(&int(500)), Extended::Finite(int(600 * 13)));
    }

    #[test]
    fn floating_point_finds_the_same_timeouts() {
        let arrivals = Curve::step(int(1_000_000), int(0));
        let exact = parameters(IncreaseTimer::default())
            .run(&arrivals, &Curve::rate_function(int(100)), &int(6_000))
            .unwrap();
        let fast = RateBased {
            initial_rate: 150.0,
            increase: 0.1,
            decrease: 0.8,
            increase_interval: 30.0,
            timeout: 100.0,
            feedback_delay: 20.0,
            timer: IncreaseTimer::default(),
        }
        .run(
            &Curve::step(1e6, 0.0),
            &Curve::rate_function(100.0),
            &6_000.0,
        )
        .unwrap();
        assert_eq!(exact.events.len(), fast.events.len());
        assert!(timeouts(&exact).len() >= 3);
        for (exact, fast) in exact.events.iter().zip(&fast.events) {
            assert!((exact.time.to_f64() - fast.time).abs() < 1e-6);
            assert!((exact.rate.to_f64() - fast.rate).abs() < 1e-9);
        }
    }
}
