//! Algorithm 2: window-based congestion control (III-D, appendix B).
//!
//! Interpretations of the printed text, besides those in [`origins`](super):
//!
//! - Line 4 convolves Â with S_W; A ⊗ S_W is meant, as in (5).
//! - Line 7 waits for D(t − ΔR) > W in the coordinates of the flight. At most W is admitted, so this never holds; III-D has
//!   ≥.
//! - Lines 7 and 8 are in shifted coordinates: line 7 in those of the flight, line 8 in those of the last timeout.
//! - α in (7) is printed a.
//! - The window after a timeout is one packet (III-D, end), W_o (line 13) or β·W (III-D, before (7)); [`AfterTimeout`] has
//!   all three; line 13 is the default.

use super::origins::Flow;
use super::{ControlError, Run, EVENTS_MAX};
use crate::algebra::{Curve, Scalar};

/// Window after a timeout.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AfterTimeout<S> {
    /// W_o, line 13.
    #[default]
    Initial,
    /// A packet of this length.
    OnePacket(S),
    /// β·W.
    Scaled,
}

/// Parameters, in µs and kbit.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowBased<S> {
    /// W_o.
    pub initial_window: S,
    /// w_th,o: below it the window doubles with each flight.
    pub slow_start_threshold: S,
    /// α, by which the window grows with each flight from the threshold on.
    pub increase: S,
    /// β; between 0 and 1.
    pub decrease: S,
    /// τ_o.
    pub timeout: S,
    /// ΔR.
    pub feedback_delay: S,
    /// Window after a timeout.
    pub after_timeout: AfterTimeout<S>,
}

/// An event of the algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowEvent<S> {
    /// Time of the event.
    pub time: S,
    /// True for a timeout, false if a flight was acknowledged.
    pub timeout: bool,
    /// W after the event.
    pub window: S,
    /// w_th after the event.
    pub slow_start_threshold: S,
}

impl<S: Scalar> WindowBased<S> {
    /// Runs the algorithm up to `end`, for arrivals A at a path server with service curve S.
    pub fn run(
        &self,
        arrivals: &Curve<S>,
        service: &Curve<S>,
        end: &S,
    ) -> Result<Run<S, WindowEvent<S>>, ControlError> {
        if !self.feedback_delay.is_positive() || self.timeout <= self.feedback_delay {
            return Err(ControlError::Parameter(
                "the feedback delay must be positive and the timeout longer",
            ));
        }
        if !self.initial_window.is_positive() {
            return Err(ControlError::Parameter(
                "the initial window must be positive",
            ));
        }
        let mut window = self.initial_window.clone();
        let mut threshold = self.slow_start_threshold.clone();
        let mut flow = Flow::new(arrivals, service, &self.feedback_delay);
        // S_W is 0 at 0 and W after it.
        let source = |window: &S| Curve::step(window.clone(), S::zero());
        flow.continue_at(&S::zero(), &source(&window), end)?;
        let (mut flight, mut begun) = (S::zero(), S::zero());
        let mut events = Vec::new();
        loop {
            let whole = begun.clone() + &window;
            let acknowledged = flow.acknowledgement_of(&whole, &flight, end)?;
            let timeout = flow.timeout(&self.timeout, end)?;
            let (time, timed_out) = match (acknowledged, timeout) {
                (Some(acknowledged), Some(timeout)) if acknowledged < timeout => {
                    (acknowledged, false)
                }
                (_, Some(timeout)) => (timeout, true),
                (Some(acknowledged), None) => (acknowledged, false),
                (None, None) => break,
            };
            if time >= *end {
                break;
            }
            if timed_out {
                threshold = window.clone() * &self.decrease;
                window = match &self.after_timeout {
                    AfterTimeout::Initial => self.initial_window.clone(),
                    AfterTimeout::OnePacket(packet) => packet.clone(),
                    AfterTimeout::Scaled => threshold.clone(),
                };
                begun = flow.retransmit_at(&time, &source(&window), end)?;
            } else {
                window = if window < threshold {
                    window.clone() + &window
                } else {
                    window + &self.increase
                };
                begun = flow.admitted_at(&time)?;
                flow.continue_at(&time, &source(&window), end)?;
            }
            flight = time.clone();
            events.push(WindowEvent {
                time,
                timeout: timed_out,
                window: window.clone(),
                slow_start_threshold: threshold.clone(),
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
    use proptest::prelude::*;

    use super::*;
    use crate::algebra::{Exact, Extended};

    fn int(value: i64) -> Exact {
        Exact::from(value)
    }

    fn parameters() -> WindowBased<Exact> {
        WindowBased {
            initial_window: int(100),
            slow_start_threshold: int(800),
            increase: int(100),
            decrease: Exact::new(1, 2),
            timeout: int(60),
            feedback_delay: int(20),
            after_timeout: AfterTimeout::default(),
        }
    }

    fn windows(run: &Run<Exact, WindowEvent<Exact>>) -> Vec<(Exact, Exact, bool)> {
        run.events
            .iter()
            .map(|event| (event.time.clone(), event.window.clone(), event.timeout))
            .collect()
    }

    #[test]
    fn the_window_doubles_and_then_grows_steadily() {
        let arrivals = Curve::step(int(1_000_000), int(0));
        // 10 kbit/µs: a flight of W takes W/10 + 20.
        let run = parameters()
            .run(&arrivals, &Curve::rate_function(int(10)), &int(190))
            .unwrap();
        let expected = [(30, 200), (70, 400)].map(|(t, w)| (int(t), int(w), false));
        assert_eq!(windows(&run)[..2], expected);
        // 400 takes 60: its last byte is acknowledged at 130, exactly when it is due.
        assert_eq!(windows(&run)[2], (int(130), int(800), false));
    }

    #[test]
    fn a_window_that_waits_too_long_times_out() {
        let arrivals = Curve::step(int(1_000_000), int(0));
        let service = Curve::rate_function(int(10));
        for (after, window) in [
            (AfterTimeout::Initial, int(100)),
            (AfterTimeout::OnePacket(int(12)), int(12)),
            (AfterTimeout::Scaled, int(400)),
        ] {
            let run = WindowBased {
                after_timeout: after,
                ..parameters()
            }
            .run(&arrivals, &service, &int(260))
            .unwrap();
            // 800 from 130 on: 400 of it would be acknowledged at 190, when the rest is due.
            let timeout = run.events.iter().find(|event| event.timeout).unwrap();
            assert_eq!(timeout.time, int(190));
            assert_eq!(timeout.window, window);
            assert_eq!(timeout.slow_start_threshold, int(400));
            assert_eq!(run.admitted.at(&int(190)), Extended::Finite(int(1500)));
            assert_eq!(
                run.admitted.after(&int(190)),
                Extended::Finite(int(1100) + &window)
            );
        }
    }

    #[test]
    fn a_short_window_never_fills_a_source_with_nothing_to_send() {
        let arrivals = Curve::step(int(70), int(0));
        let run = parameters()
            .run(&arrivals, &Curve::rate_function(int(10)), &int(1000))
            .unwrap();
        assert!(run.events.is_empty());
        assert_eq!(run.departures.at(&int(1000)), Extended::Finite(int(70)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// Invariants at any time, for bursts of random size at random times.
        #[test]
        fn no_flight_exceeds_its_window(
            bursts in prop::collection::vec((1i64..90, 1i64..900), 1..6),
            rate in 3i64..40,
            scaled in any::<bool>(),
        ) {
            let mut arrivals = Curve::zero();
            let mut at = 0;
            for (wait, size) in bursts {
                at += wait;
                arrivals = arrivals.plus(&Curve::step(int(size), int(at))).unwrap();
            }
            let after_timeout = if scaled { AfterTimeout::Scaled } else { AfterTimeout::Initial };
            let parameters = WindowBased { after_timeout, ..parameters() };
            let end = int(400);
            let service = Curve::rate_function(int(rate));
            let run = parameters.run(&arrivals, &service, &end).unwrap();
            // Between two events, counted from the amount admitted at the first one.
            let mut from = (int(0), parameters.initial_window.clone(), int(0));
            for event in &run.events {
                let admitted = run.admitted.finite_at(&event.time).unwrap();
                prop_assert!(admitted.clone() - &from.2 <= from.1, "at {}", event.time);
                prop_assert!(admitted <= arrivals.finite_at(&event.time).unwrap());
                let acknowledged = run.departures.at(&(event.time.clone() - &parameters.feedback_delay));
                if !event.timeout {
                    // A whole window arrived and is acknowledged.
                    prop_assert_eq!(admitted.clone() - &from.2, from.1);
                }
                let begun = if event.timeout {
                    // At least since the last retransmission: acknowledged traffic is not resent.
                    let Extended::Finite(acknowledged) = acknowledged else { unreachable!("known by then") };
                    prop_assert!(acknowledged <= admitted);
                    let due = event.time.clone() - &parameters.timeout;
                    prop_assert!(acknowledged <= run.admitted.after(&due).finite().unwrap());
                    acknowledged
                } else {
                    admitted
                };
                from = (event.time.clone(), event.window.clone(), begun);
            }
        }
    }
}
