//! `switchctl plan compare`: compares a prediction with measurements.

mod counted;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{bail, Context, Result};
use serde::Serialize;
use weir_api::run::{RunResult, RUN_FORMAT};
use weir_config::scenario::Scenario;
use weir_config::Override;

use crate::network::{LinkOptions, Network};
use crate::predict::buffers::{self, Buffer};
use counted::{percent, Counted};
use weir_output::{bytes, seconds, table, Output, NONE};

/// Counts and recordings of a run, and the plan of its scenario.
#[derive(Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The scenario.
    pub scenario: String,
    /// `lab` or `sim`.
    pub runner: String,
    /// Time between two samples.
    pub interval_us: f64,
    /// Buffers that were recorded over time and planned; runs record those of links between switches.
    pub buffers: Vec<BufferComparison>,
    /// Peaks and pauses counted by the switches.
    pub counted: Counted,
}

/// One buffer. Errors are predicted − measured.
#[derive(Debug, PartialEq, Serialize)]
pub struct BufferComparison {
    /// `switch:ingress-port:priority`.
    pub buffer: String,
    /// Number of samples with a prediction.
    pub samples: usize,
    /// Largest sample.
    pub measured_peak_bytes: u64,
    /// Largest predicted value at the samples' times.
    pub predicted_peak_bytes: f64,
    /// Error of the peak, relative to the measurement; absent if that is zero.
    pub peak_error: Option<f64>,
    /// Time of the first sample at xoff or above.
    pub measured_xoff_us: Option<f64>,
    /// Time at which the prediction reaches xoff.
    pub predicted_xoff_us: Option<f64>,
    /// Largest error of a sample until both have reached xoff, relative to the measured peak.
    pub greatest_error_until_xoff: Option<f64>,
    /// Mean absolute error of all samples, relative to the measured peak.
    pub mean_error: Option<f64>,
}

/// Compares the prediction for a scenario with a run of it.
pub fn run(
    run: &Path,
    scenario: &Path,
    overrides: &[Override],
    links: &LinkOptions,
    output: &Output,
) -> Result<()> {
    let name = || run.display().to_string();
    let scenario = Scenario::load(scenario, overrides)?;
    let file = File::open(run).with_context(name)?;
    let result = read_run(BufReader::new(file), &scenario).with_context(name)?;
    output.print(&compare(&result, &scenario, links)?, text)
}

/// Reads the result of a run of this scenario.
pub fn read_run(file: impl Read, scenario: &Scenario) -> Result<RunResult> {
    let run: RunResult = serde_json::from_reader(file)
        .context("not the result of a run: write one with `weir-sim run --json`")?;
    if run.format != RUN_FORMAT {
        bail!(
            "the run has format {}, but this version reads {RUN_FORMAT}",
            run.format
        );
    }
    if run.scenario != scenario.name {
        bail!(
            "the run is one of the scenario `{}`, not of `{}`",
            run.scenario,
            scenario.name
        );
    }
    Ok(run)
}

fn compare(run: &RunResult, scenario: &Scenario, links: &LinkOptions) -> Result<Comparison> {
    let network = Network::from_scenario(scenario, links)?;
    let mut buffers = Vec::new();
    for switch in &network.switches {
        for buffer in buffers::buffers(&network, switch, false)? {
            let key = format!("{}:{}:{}", switch.name, buffer.port, buffer.priority);
            if let Some(samples) = run.series.occupancy.get(&key) {
                let interval = run.series.interval_seconds * 1e6;
                buffers.push(of_buffer(key, &buffer, samples, interval));
            }
        }
    }
    let counted = Counted::new(&network, &run.buffers)?;
    if buffers.is_empty() && counted.buffers.is_empty() {
        bail!("the run has no buffer of the plan");
    }
    Ok(Comparison {
        scenario: run.scenario.clone(),
        runner: run.runner.to_string(),
        interval_us: run.series.interval_seconds * 1e6,
        buffers,
        counted,
    })
}

fn of_buffer(key: String, buffer: &Buffer, samples: &[u64], interval: f64) -> BufferComparison {
    let times = (0..).map(|index| f64::from(index) * interval);
    let pairs: Vec<(f64, f64, f64)> = times
        .zip(samples)
        .take_while(|(time, _)| *time <= buffer.end)
        .filter_map(|(time, measured)| Some((time, *measured as f64, buffer.bytes_at(time)?)))
        .collect();
    let measured_peak = pairs.iter().map(|pair| pair.1).fold(0.0, f64::max);
    let predicted_peak = pairs.iter().map(|pair| pair.2).fold(0.0, f64::max);
    let part = |error: f64| (measured_peak > 0.0).then(|| error / measured_peak);
    let measured_xoff = buffer.full_bytes.and_then(|full| {
        let first = pairs.iter().find(|pair| pair.1 >= full)?;
        Some(first.0)
    });
    let until = [measured_xoff, buffer.xoff_at]
        .into_iter()
        .flatten()
        .fold(f64::INFINITY, f64::min);
    let error = |pair: &(f64, f64, f64)| (pair.2 - pair.1).abs();
    let before = pairs.iter().filter(|pair| pair.0 < until).map(error);
    let sum: f64 = pairs.iter().map(error).sum();
    BufferComparison {
        buffer: key,
        samples: pairs.len(),
        measured_peak_bytes: measured_peak as u64,
        predicted_peak_bytes: predicted_peak,
        peak_error: part(predicted_peak - measured_peak),
        measured_xoff_us: measured_xoff,
        predicted_xoff_us: buffer.xoff_at,
        greatest_error_until_xoff: part(before.fold(0.0, f64::max)),
        mean_error: part(sum / pairs.len().max(1) as f64),
    }
}

fn text(comparison: &Comparison) -> String {
    let time = |micros: Option<f64>| {
        micros.map_or_else(|| NONE.to_owned(), |micros| seconds(micros / 1e6))
    };
    let rows = comparison.buffers.iter().map(|row| {
        vec![
            row.buffer.clone(),
            row.samples.to_string(),
            bytes(row.measured_peak_bytes),
            bytes(row.predicted_peak_bytes.round() as u64),
            percent(row.peak_error),
            time(row.measured_xoff_us),
            time(row.predicted_xoff_us),
            percent(row.greatest_error_until_xoff),
            percent(row.mean_error),
        ]
    });
    let samples = table(
        &[
            "buffer",
            ">samples",
            ">peak",
            ">predicted",
            ">error",
            ">xoff after",
            ">predicted",
            ">worst until then",
            ">mean error",
        ],
        rows,
    );
    let parts = [
        (!comparison.counted.buffers.is_empty()).then(|| comparison.counted.text()),
        (!comparison.buffers.is_empty()).then_some(samples),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_calculus::algebra::Curve;

    /// Returns a buffer with 8 kbit, or 1000 bytes, per microsecond.
    fn buffer() -> Buffer {
        Buffer {
            port: "p".into(),
            class: "lossless".into(),
            priority: 3,
            curve: Curve::rate_function(8.0),
            end: 4.0,
            full_bytes: Some(3_000.0),
            xoff_at: Some(3.0),
            pauses: Vec::new(),
        }
    }

    #[test]
    fn errors_are_parts_of_what_was_measured() {
        // One sample is after the end of the prediction.
        let row = of_buffer(
            "s:p:3".into(),
            &buffer(),
            &[0, 1_000, 1_500, 3_200, 3_200, 9_000],
            1.0,
        );
        assert_eq!((row.samples, row.measured_peak_bytes), (5, 3_200));
        assert_eq!(row.predicted_peak_bytes, 4_000.0);
        assert_eq!(row.peak_error, Some(0.25));
        assert_eq!(row.measured_xoff_us, Some(3.0));
        assert_eq!(row.greatest_error_until_xoff, Some(500.0 / 3_200.0));
        let sum = 500.0 + 200.0 + 800.0;
        assert_eq!(row.mean_error, Some(sum / 5.0 / 3_200.0));
    }

    #[test]
    fn where_nothing_was_measured_there_is_no_part_of_it() {
        let row = of_buffer("s:p:3".into(), &buffer(), &[0, 0], 1.0);
        assert_eq!((row.peak_error, row.mean_error), (None, None));
        assert_eq!(row.measured_xoff_us, None);
    }
}
