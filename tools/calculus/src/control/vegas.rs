//! Algorithm 3: TCP Vegas without timeouts (III-E, appendix C).
//!
//! Interpretations of the printed text:
//!
//! - Line 3 convolves Â; A ⊗ S_W is meant, and S_W needs a definition there: (0 at 0, then W).
//! - Lines 25 and 28 have A where Â is meant.
//! - The window of line 27 depends on D, which depends on Â, for t > ΔR after an event: the three are one system. It is
//!   solved causally: D up to t determines Â up to t + ΔR, and that in turn D up to t + ΔR.
//! - Line 22 has no floor. Here the window never falls below I_max, one packet, in congestion avoidance. With w_high
//!   below 2·I_max it could reach zero. Then no packet would be admitted, and no RTT could show that the path is idle.
//!   W·(1 − baseRTT/minRTT) > w_high implies W > w_high, so with w_high ≥ 2·I_max, as in Figures 3 and 4, the floor is
//!   never reached.
//! - Line 7 uses RTT as in (1); see [`rtt`](crate::congestion::rtt) for its pseudo-inverse.

use super::{ControlError, Run, EVENTS_MAX};
use crate::algebra::{Curve, CurveError, Scalar};
use crate::congestion::rtt::{round_trip_time, Inverse};

/// Parameters, in µs and kbit.
#[derive(Clone, Debug, PartialEq)]
pub struct Vegas<S> {
    /// W_o.
    pub initial_window: S,
    /// I_max, by which the window grows and shrinks.
    pub packet: S,
    /// w_low: below this difference the window grows. (α in Vegas' papers.)
    pub low: S,
    /// w_high: above it the window shrinks. (β.)
    pub high: S,
    /// γ: above it slow start ends.
    pub gamma: S,
    /// ΔR, which is also the base RTT.
    pub feedback_delay: S,
    /// Interpretation of (1).
    pub inverse: Inverse,
}

/// A new RTT and its effect on the window.
#[derive(Clone, Debug, PartialEq)]
pub struct VegasEvent<S> {
    /// Time of the event.
    pub time: S,
    /// Measured RTT.
    pub rtt: S,
    /// W after the event.
    pub window: S,
    /// True during slow start.
    pub slow_start: bool,
}

impl<S: Scalar> Vegas<S> {
    /// Runs the algorithm up to `end`, for arrivals A at a path server with service curve S.
    pub fn run(
        &self,
        arrivals: &Curve<S>,
        service: &Curve<S>,
        end: &S,
    ) -> Result<Run<S, VegasEvent<S>>, ControlError> {
        if !self.feedback_delay.is_positive() {
            return Err(ControlError::Parameter(
                "the feedback delay must be positive",
            ));
        }
        let mut state = State {
            window: self.initial_window.clone(),
            slow_start: true,
            skip: false,
        };
        let base = &self.feedback_delay;
        let first = base.clone().lesser(end.clone());
        let admitted =
            arrivals.convolution_until(&Curve::step(state.window.clone(), S::zero()), &first)?;
        let departures = admitted.convolution_until(service, &first)?;
        let mut run = Run {
            admitted,
            departures,
            events: Vec::new(),
        };
        let mut time = base.clone();
        while time < *end {
            let rtt = round_trip_time(&run.admitted, &run.departures, base, &time, self.inverse)?;
            self.update(&mut state, &rtt);
            run.events.push(VegasEvent {
                time: time.clone(),
                rtt: rtt.clone(),
                window: state.window.clone(),
                slow_start: state.slow_start,
            });
            if run.events.len() > EVENTS_MAX {
                return Err(ControlError::TooManyEvents);
            }
            let next = (time.clone() + &rtt).lesser(end.clone());
            self.admit(&mut run, arrivals, service, &state.window, &time, &next)?;
            time = next;
        }
        Ok(run)
    }

    /// Lines 8 to 25.
    fn update(&self, state: &mut State<S>, rtt: &S) {
        // baseRTT·(W/baseRTT − W/minRTT): the part of the window that waits in queues.
        let useful = state.window.clone() * &(self.feedback_delay.clone() / rtt);
        let waiting = state.window.clone() - &useful;
        if state.slow_start {
            if waiting > self.gamma {
                state.window = useful;
                state.slow_start = false;
            } else {
                if !state.skip {
                    state.window = state.window.clone() + &state.window;
                }
                state.skip = !state.skip;
            }
        } else if waiting < self.low {
            state.window = state.window.clone() + &self.packet;
        } else if waiting > self.high {
            // Never below one packet: see the interpretations above.
            state.window = (state.window.clone() - &self.packet).greater(self.packet.clone());
        }
    }

    /// Executes lines 25 to 29 from an event at `time` up to `until`, in steps of a feedback delay.
    ///
    /// With the origin moved back, line 27 is Â(t) = min{A(t), max{Â(t_event), W + D(t − ΔR)}}.
    fn admit(
        &self,
        run: &mut Run<S, VegasEvent<S>>,
        arrivals: &Curve<S>,
        service: &Curve<S>,
        window: &S,
        time: &S,
        until: &S,
    ) -> Result<(), CurveError> {
        let already = Curve::constant(run.admitted.finite_at(time)?);
        let window = Curve::constant(window.clone());
        let mut known = time.clone();
        while known < *until {
            let next = (known + &self.feedback_delay).lesser(until.clone());
            let acknowledged = run.departures.delayed(&self.feedback_delay).until(&next)?;
            let allowed = acknowledged.plus(&window)?.max(&already)?;
            let admitted = arrivals.until(&next)?.min(&allowed)?;
            run.admitted = run.admitted.then(time, &admitted)?;
            run.departures = run.admitted.convolution_until(service, &next)?;
            known = next;
        }
        Ok(())
    }
}

struct State<S> {
    window: S,
    slow_start: bool,
    /// The window doubles at every other RTT.
    skip: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Crossing, Exact, Extended};

    fn int(value: i64) -> Exact {
        Exact::from(value)
    }

    fn parameters(inverse: Inverse) -> Vegas<Exact> {
        Vegas {
            initial_window: int(40),
            packet: int(10),
            low: int(20),
            high: int(40),
            gamma: int(10),
            feedback_delay: int(20),
            inverse,
        }
    }

    #[test]
    fn a_greedy_source_leaves_little_waiting() {
        let arrivals = Curve::step(int(10_000_000), int(0));
        let service = Curve::rate_function(int(10));
        let run = parameters(Inverse::Upper)
            .run(&arrivals, &service, &int(3_000))
            .unwrap();
        let windows: Vec<_> = run
            .events
            .iter()
            .take(4)
            .map(|event| (event.time.clone(), event.window.clone()))
            .collect();
        assert_eq!(windows[0], (int(20), int(80)), "doubled");
        assert_eq!(windows[1].1, int(80), "every other round trip");
        // 10 kbit/µs for 20 µs are 200 in flight, with 20 to 40 waiting.
        let last = run.events.last().unwrap();
        assert!(!last.slow_start);
        assert!(
            last.window >= int(210) && last.window <= int(250),
            "{}",
            last.window
        );
        // At no time is more in flight than the greatest window permits.
        let greatest = run
            .events
            .iter()
            .map(|event| event.window.clone())
            .max()
            .unwrap();
        let acknowledged = run.departures.delayed(&int(20));
        let outstanding = run
            .admitted
            .minus_until(&acknowledged, &int(3_000))
            .unwrap();
        assert_eq!(
            outstanding.first_crossing(&int(0), &int(3_000), Crossing::Above, &greatest),
            Ok(None)
        );
    }

    #[test]
    fn a_slow_source_stays_in_slow_start_with_the_upper_inverse_only() {
        let arrivals = Curve::periodic_bursts(int(20), int(0), int(50)).unwrap();
        let service = Curve::rate_function(int(10));
        let [upper, lower] = [Inverse::Upper, Inverse::Lower].map(|inverse| {
            parameters(inverse)
                .run(&arrivals, &service, &int(500))
                .unwrap()
        });
        assert!(upper.events.iter().all(|event| event.slow_start));
        assert_eq!(upper.admitted.at(&int(500)), Extended::Finite(int(200)));
        assert!(
            lower.events.iter().any(|event| !event.slow_start),
            "idle time counts"
        );
    }
}
