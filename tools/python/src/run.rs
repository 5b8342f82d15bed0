//! One run.

use std::num::NonZeroUsize;
use std::sync::Arc;

use pyo3::prelude::*;
use weir_api::run::RunResult;
use weir_config::scenario::{Additions, Scenario, Transport};
use weir_sim::scenario::{run as simulate, Options, RunError};
use weir_sim::transport::custom::CustomControls;

use crate::control::{Controls, Failure};
use crate::error::failed;
use crate::result::RunOutcome;
use crate::signals::Signals;
use crate::source::{overrides, Source};
use crate::workload::GivenFlow;

/// Runs a scenario. `transports` are names and factories of controls; `control` is the factory for every flow.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    source: Source,
    settings: Vec<String>,
    threads: NonZeroUsize,
    flows: Vec<GivenFlow>,
    transports: Vec<(String, Py<PyAny>)>,
    control: Option<Py<PyAny>>,
) -> PyResult<RunOutcome> {
    let (names, mut factories): (Vec<String>, Vec<Py<PyAny>>) = transports.into_iter().unzip();
    let every_flow = control.map(|control| {
        factories.push(control);
        Transport::Custom((factories.len() - 1) as u16)
    });
    let additions = Additions {
        transports: names,
        every_flow,
        flows: flows.into_iter().map(Into::into).collect(),
    };
    let scenario = source.scenario(py, &overrides(&settings)?, &additions)?;
    let result = match factories.is_empty() {
        true => py.detach(|| without_calls(&scenario, threads.get())),
        false => with_calls(&scenario, factories),
    };
    Ok(RunOutcome::new(result?, &scenario))
}

/// Runs without the interpreter, except for signals.
fn without_calls(scenario: &Scenario, threads: usize) -> PyResult<RunResult> {
    let mut signals = Signals::new();
    let mut interrupt = || signals.raised();
    let options = Options {
        threads,
        interrupt: Some(&mut interrupt),
        ..Options::default()
    };
    let ran = simulate(scenario, options);
    ran.map_err(|error| reason(signals, error))
}

/// Runs with calls of Python, attached all the time: a call then costs least.
fn with_calls(scenario: &Scenario, factories: Vec<Py<PyAny>>) -> PyResult<RunResult> {
    let failure = Failure::default();
    let controls: Arc<dyn CustomControls> =
        Arc::new(Controls::new(factories, scenario, failure.clone()));
    let mut signals = Signals::new();
    let mut interrupt = || failure.is_there() || signals.raised();
    let options = Options {
        interrupt: Some(&mut interrupt),
        custom: Some(controls),
        ..Options::default()
    };
    let ran = simulate(scenario, options);
    match failure.take() {
        Some(exception) => Err(exception),
        None => ran.map_err(|error| reason(signals, error)),
    }
}

/// The exception of a signal handler, or that of the error.
fn reason(signals: Signals, error: RunError) -> PyErr {
    let raised = signals.into_raised();
    raised.unwrap_or_else(|| failed(&error))
}

/// Returns what a workload may want to know: the hosts, the duration in seconds, the seed, and the rate of `[link-defaults]`
/// in bits per second.
#[pyfunction]
pub fn network(
    py: Python<'_>,
    source: Source,
    settings: Vec<String>,
    transports: Vec<String>,
) -> PyResult<(Vec<String>, f64, u64, u64)> {
    let additions = Additions {
        transports,
        ..Additions::default()
    };
    let scenario = source.scenario(py, &overrides(&settings)?, &additions)?;
    let hosts = scenario.hosts.iter().map(|host| host.name.clone());
    Ok((
        hosts.collect(),
        scenario.duration.as_secs_f64(),
        scenario.seed,
        scenario.link_defaults.rate.get(),
    ))
}
