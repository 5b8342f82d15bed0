//! Arrivals on one ingress port over time, for one queue.

use std::rc::Rc;

use anyhow::Result;
use weir_calculus::algebra::Curve;
use weir_calculus::multiflow::control::{FixedRate, RateControl, ScheduledRate};

/// Maximum number of a flow's silences in a plan; afterwards it sends continuously.
const SILENCES_MAX: usize = 10_000;

/// Traffic from one ingress port, on the line: kbit, µs and Gbit/s.
#[derive(Clone, Debug)]
pub struct Input {
    /// The ingress port.
    pub ingress: usize,
    /// Its flows.
    pub flows: Vec<Arrivals>,
    /// These flows' share of the ingress port's line.
    pub line: f64,
    /// Delay from crossing a threshold to its effect.
    pub feedback_delay: f64,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Beginning.
    pub start: f64,
    /// End.
    pub stop: Option<f64>,
    /// Rate; `None` for the line rate.
    pub rate: Option<f64>,
    /// Total volume, however long it takes. `None` for as much as possible in its time, without making up for the part
    /// delayed by pauses.
    pub volume: Option<f64>,
    /// Alternating durations of sending and silence.
    pub on_off: Option<[f64; 2]>,
    /// Recorded arrivals over time, delayed by `start`, which replace all other fields.
    pub recorded: Option<Rc<[(f64, f64)]>>,
}

impl Input {
    /// Returns the total rate of all its flows while they send, limited by the line.
    pub fn rate(&self) -> f64 {
        let rates = self.flows.iter().map(|flow| flow.rate.unwrap_or(self.line));
        rates.sum::<f64>().min(self.line)
    }

    /// Returns the traffic to send and its possible rate, up to `end`.
    ///
    /// Flows without volumes offer as much as possible at each time. If there is a flow with a volume, the others count as
    /// volumes too: their rate times their duration. O(flows²).
    pub fn offered(&self, end: f64) -> Result<(Curve<f64>, Box<dyn RateControl<f64>>)> {
        let has_volume = |flow: &Arrivals| flow.volume.is_some() || flow.recorded.is_some();
        if self.flows.iter().any(has_volume) {
            return Ok((self.volumes()?, Box::new(FixedRate(self.line))));
        }
        let always = Curve::rate_function(self.line);
        Ok((always, Box::new(ScheduledRate::new(self.schedule(end)))))
    }

    fn volumes(&self) -> Result<Curve<f64>> {
        let mut sum = Curve::zero();
        for flow in &self.flows {
            if let Some(points) = &flow.recorded {
                let shifted = points.iter().map(|(time, sum)| (time + flow.start, *sum));
                let points: Vec<(f64, f64)> = shifted.collect();
                sum = sum.plus(&Curve::through(&points, 0.0)?)?;
                continue;
            }
            let rate = flow.rate.unwrap_or(self.line);
            let mut curve = Curve::rate_latency(rate, flow.start);
            let most = [
                flow.volume,
                flow.stop.map(|stop| (stop - flow.start).max(0.0) * rate),
            ];
            if let Some(most) = most.into_iter().flatten().reduce(f64::min) {
                curve = curve.min(&Curve::constant(most))?;
            }
            sum = sum.plus(&curve)?;
        }
        Ok(sum)
    }

    /// Returns the total rate of all flows, from each time at which it changes.
    fn schedule(&self, end: f64) -> Vec<(f64, f64)> {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for flow in &self.flows {
            let rate = flow.rate.unwrap_or(self.line);
            for (from, to) in flow.spans(end) {
                steps.push((from, rate));
                steps.extend(to.map(|to| (to, -rate)));
            }
        }
        steps.sort_by(|left, right| left.0.total_cmp(&right.0));
        let mut sum = 0.0;
        let mut changes: Vec<(f64, f64)> = Vec::new();
        for (time, step) in steps {
            sum += step;
            // A rounding residue of a sum is not traffic.
            let rate = if sum > 1e-9 * self.line { sum } else { 0.0 };
            let rate = rate.min(self.line);
            match changes.last_mut() {
                Some(last) if last.0 == time => last.1 = rate,
                _ => changes.push((time, rate)),
            }
        }
        changes
    }
}

impl Arrivals {
    fn spans(&self, end: f64) -> Vec<(f64, Option<f64>)> {
        let Some([on, off]) = self.on_off else {
            return vec![(self.start, self.stop)];
        };
        let last = self.stop.unwrap_or(end);
        let mut spans = Vec::new();
        let mut from = self.start;
        while from < last {
            if spans.len() == SILENCES_MAX {
                spans.push((from, self.stop));
                break;
            }
            spans.push((from, Some((from + on).min(last))));
            from += on + off;
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(start: f64, stop: Option<f64>, rate: Option<f64>) -> Arrivals {
        Arrivals {
            start,
            stop,
            rate,
            volume: None,
            on_off: None,
            recorded: None,
        }
    }

    fn input(flows: Vec<Arrivals>) -> Input {
        Input {
            ingress: 0,
            flows,
            line: 10.0,
            feedback_delay: 0.0,
        }
    }

    #[test]
    fn flows_add_up_to_the_line_and_end() {
        let both = input(vec![
            flow(1.0, Some(5.0), Some(6.0)),
            flow(2.0, Some(4.0), None),
        ]);
        assert_eq!(
            both.schedule(100.0),
            [(1.0, 6.0), (2.0, 10.0), (4.0, 6.0), (5.0, 0.0)]
        );
        assert_eq!(both.rate(), 10.0);
    }

    #[test]
    fn silences_are_silent() {
        let mut pulse = flow(1.0, Some(6.0), None);
        pulse.on_off = Some([1.0, 2.0]);
        assert_eq!(
            input(vec![pulse.clone()]).schedule(100.0),
            [(1.0, 10.0), (2.0, 0.0), (4.0, 10.0), (5.0, 0.0)]
        );
        pulse.stop = None;
        assert_eq!(input(vec![pulse]).schedule(9.0).len(), 6);
    }

    #[test]
    fn what_has_a_volume_sends_it_all() {
        let mut burst = flow(1.0, None, None);
        burst.volume = Some(30.0);
        let (arrivals, control) = input(vec![burst]).offered(100.0).unwrap();
        assert_eq!(arrivals.finite_at(&50.0).unwrap(), 30.0);
        assert_eq!(*control.rate(), 10.0);
    }
}
