//! Reads arrivals from the series of a run.

use std::io::Read;

use anyhow::Result;
use weir_config::scenario::Scenario;
use weir_core::units::LINE_OVERHEAD;

use super::line::Thinned;
use crate::compare::read_run;
use crate::network::recorded::{Recorded, RecordedFlow};
use crate::network::{kilobits, scenario_charging};

/// Reads the flows of the run whose names occur in the scenario.
pub fn read(file: impl Read, scenario: &Scenario) -> Result<Recorded> {
    let run = read_run(file, scenario)?;
    let charging = scenario_charging(scenario);
    let interval = run.series.interval_seconds;
    let mut flows = Vec::new();
    let mut span: f64 = 0.0;
    for flow in &scenario.flows {
        let Some(rates) = run.series.throughput.get(&flow.name) else {
            continue;
        };
        let on_line = (flow.frame + LINE_OVERHEAD).get() as f64 / flow.frame.get().max(1) as f64;
        // Half a frame, which is the resolution of the series.
        let mut thinned = Thinned::new(kilobits(flow.frame.get() as f64) / 2.0);
        let mut sum = 0.0;
        for (index, rate) in rates.iter().enumerate() {
            sum += rate * interval * on_line / 1e3;
            let time = (index + 1) as f64 * interval * 1e6;
            thinned.push(time, sum)?;
            if *rate > 0.0 {
                span = span.max(time);
            }
        }
        if sum > 0.0 {
            flows.push(RecordedFlow {
                from: flow.from,
                to: flow.to,
                class: flow.class,
                via: flow.via.clone(),
                longest: flow.frame,
                wasteful: flow.frame,
                charge: charging.factor(flow.frame),
                points: thinned.finish()?.into(),
            });
        }
    }
    Ok(Recorded {
        flows,
        span,
        notes: vec![format!(
            "arrivals are the data received in a run, every {:.0} µs: paused data count when they arrived",
            interval * 1e6
        )],
    })
}
