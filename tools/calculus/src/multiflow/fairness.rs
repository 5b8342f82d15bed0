//! The AIMD fairness example of IV-B (Figure 6): two flows of 60 and 90 Gbit/s share a FIFO link of 100 Gbit/s.

use super::control::Aimd;
use super::scenario::{Scenario, Source};
use crate::algebra::{Curve, Scalar};
use crate::control::rate_based::IncreaseTimer;

/// Parameters, in µs and Gbit/s. The paper's are the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct AimdFairness<S> {
    /// r_o of each flow.
    pub initial_rates: Vec<S>,
    /// α.
    pub increase: S,
    /// β.
    pub decrease: S,
    /// Δτ_ai.
    pub increase_interval: S,
    /// τ_o.
    pub timeout: S,
    /// ΔR.
    pub feedback_delay: S,
    /// C.
    pub rate: S,
    /// Interpretation of line 6 of Algorithm 1.
    pub timer: IncreaseTimer,
    /// End of the run.
    pub end: S,
}

impl<S: Scalar> AimdFairness<S> {
    /// Creates the example with the paper's parameters, up to `end` µs.
    pub fn new(end: S) -> Self {
        Self {
            initial_rates: vec![S::integer(60), S::integer(90)],
            increase: S::ratio(1, 10),
            decrease: S::ratio(4, 5),
            increase_interval: S::integer(30),
            timeout: S::integer(100),
            feedback_delay: S::integer(20),
            rate: S::integer(100),
            timer: IncreaseTimer::default(),
            end,
        }
    }

    /// Returns the scenario; its sources always have traffic to send.
    pub fn scenario(&self) -> Scenario<S> {
        let source = |(port, rate): (usize, &S)| Source {
            // More than it can send by the end.
            arrivals: Curve::step(
                (rate.clone() + &self.rate) * &self.end * &S::integer(10),
                S::zero(),
            ),
            control: Box::new(
                Aimd::new(
                    rate.clone(),
                    self.increase.clone(),
                    self.decrease.clone(),
                    self.increase_interval.clone(),
                )
                .with_timer(self.timer),
            ),
            port,
            class: 0,
        };
        let sources = self.initial_rates.iter().enumerate().map(source).collect();
        let mut scenario = Scenario::new(
            self.rate.clone(),
            self.feedback_delay.clone(),
            sources,
            self.end.clone(),
        );
        scenario.timeout = Some(self.timeout.clone());
        scenario
    }
}
