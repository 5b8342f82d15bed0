//! The result of a run.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{PyClass, PyClassInitializer};
use weir_api::run::{FlowResult, RunEvent, RunResult, Series, SlowdownBin};
use weir_config::scenario::Scenario;
use weir_sim::scenario::digest;

use crate::table::{Columns, Table};

/// The result of a run: what `weir-sim run --json` writes, under the same names. Lists of many entries are tables.
#[pyclass(frozen, name = "Result", module = "weir")]
pub struct RunOutcome {
    result: RunResult,
    /// By flow: names of its hosts and class.
    ends: Vec<[String; 3]>,
    digest: OnceLock<String>,
    tables: Tables,
}

/// Made when they are first asked for.
struct Tables {
    flows: PyOnceLock<Py<Table>>,
    slowdown: PyOnceLock<Py<Table>>,
    buffers: PyOnceLock<Py<Table>>,
    events: PyOnceLock<Py<Table>>,
    series: PyOnceLock<Py<Curves>>,
}

impl Tables {
    const fn new() -> Self {
        Self {
            flows: PyOnceLock::new(),
            slowdown: PyOnceLock::new(),
            buffers: PyOnceLock::new(),
            events: PyOnceLock::new(),
            series: PyOnceLock::new(),
        }
    }
}

/// Returns the object in `place`, which is made if it is not there.
fn kept<T>(
    py: Python<'_>,
    place: &PyOnceLock<Py<T>>,
    make: impl FnOnce() -> PyResult<T>,
) -> PyResult<Py<T>>
where
    T: PyClass + Into<PyClassInitializer<T>>,
{
    let object = place.get_or_try_init(py, || Py::new(py, make()?))?;
    Ok(object.clone_ref(py))
}

/// An expectation of the scenario.
#[derive(Debug, IntoPyObject)]
struct Expectation {
    what: String,
    held: bool,
    seen: String,
}

impl RunOutcome {
    pub fn new(result: RunResult, scenario: &Scenario) -> Self {
        let host = |host: usize| scenario.hosts[host].name.clone();
        let flows = scenario.flows.iter();
        let ends = flows.map(|flow| {
            let class = scenario.classes[flow.class].name.clone();
            [host(flow.from), host(flow.to), class]
        });
        Self {
            ends: ends.collect(),
            result,
            digest: OnceLock::new(),
            tables: Tables::new(),
        }
    }
}

#[pymethods]
impl RunOutcome {
    /// Version of the result's form.
    #[getter]
    fn format(&self) -> u32 {
        self.result.format
    }

    /// The scenario's name.
    #[getter]
    fn scenario(&self) -> &str {
        &self.result.scenario
    }

    /// Program that ran it: `sim`.
    #[getter]
    fn runner(&self) -> &str {
        self.result.runner.as_str()
    }

    /// Reaction to deadlocks.
    #[getter]
    fn policy(&self) -> &str {
        self.result.policy.as_str()
    }

    /// Mode of the class that the flows use.
    #[getter]
    fn mode(&self) -> &str {
        self.result.mode.as_str()
    }

    /// Seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.result.seed
    }

    /// Duration of the offered traffic.
    #[getter]
    fn duration_seconds(&self) -> f64 {
        self.result.duration_seconds
    }

    /// True if no flow of the loop made progress in the last third of the run while frames were held.
    #[getter]
    fn deadlocked(&self) -> bool {
        self.result.deadlocked
    }

    /// Peak number of (switch, egress, priority) suspected at the same time.
    #[getter]
    fn suspected_peak(&self) -> usize {
        self.result.suspected_peak
    }

    /// Time from the standstill to the moment when the last port of the loop became suspected, if one did.
    #[getter]
    fn detect_seconds(&self) -> Option<f64> {
        self.result.detect_seconds
    }

    /// Time from that moment to the first release, if there was one.
    #[getter]
    fn first_release_seconds(&self) -> Option<f64> {
        self.result.first_release_seconds
    }

    /// Time from that moment until a flow between switches arrived again, if one did.
    #[getter]
    fn recover_seconds(&self) -> Option<f64> {
        self.result.recover_seconds
    }

    /// Releases started, by all switches.
    #[getter]
    fn releases(&self) -> u64 {
        self.result.releases
    }

    /// Switches that were elected to break a loop, in the order of their first election.
    #[getter]
    fn masters(&self) -> Vec<String> {
        self.result.masters.clone()
    }

    /// Flows moved to another port, by all switches.
    #[getter]
    fn flows_moved(&self) -> u64 {
        self.result.flows_moved
    }

    /// PFC frames and CLCM sent by the switches.
    #[getter]
    fn control_frames(&self) -> u64 {
        self.result.control_frames
    }

    /// The work of the run: `frame_hops` and `events`.
    #[getter]
    fn simulated(&self) -> Option<BTreeMap<&'static str, u64>> {
        let work = self.result.simulated?;
        Some(BTreeMap::from([
            ("frame_hops", work.frame_hops),
            ("events", work.events),
        ]))
    }

    /// Frames dropped, by reason; only reasons with drops.
    #[getter]
    fn drops(&self) -> BTreeMap<String, u64> {
        self.result.drops.clone()
    }

    /// The scenario's expectations: a list of dictionaries with `what`, `held` and `seen`.
    #[getter]
    fn expectations(&self) -> Vec<Expectation> {
        let all = self.result.expectations.iter();
        let one = all.map(|it| Expectation {
            what: it.what.clone(),
            held: it.held,
            seen: it.seen.clone(),
        });
        one.collect()
    }

    /// True if all expectations held.
    #[getter]
    fn as_expected(&self) -> bool {
        self.result.expectations.iter().all(|it| it.held)
    }

    /// A row for each flow, with its hosts and its class.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        let make = || flows(&self.result.flows, &self.ends);
        kept(py, &self.tables.flows, make)
    }

    /// A row for each range of sizes: the slowdown of its flows.
    #[getter]
    fn slowdown(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        let make = || slowdown(&self.result.slowdown);
        kept(py, &self.tables.slowdown, make)
    }

    /// A row for each switch, port and priority that ever held a frame.
    #[getter]
    fn buffers(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        kept(py, &self.tables.buffers, || buffers(&self.result))
    }

    /// A row for each event of a switch, in the order of time. `details` is JSON.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        kept(py, &self.tables.events, || events(&self.result.events))
    }

    /// The curves over time.
    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Py<Curves>> {
        let make = || Curves::of(py, &self.result.series);
        kept(py, &self.tables.series, make)
    }

    /// SHA-256 of the file that `weir-sim run --json FILE` writes for the same run.
    #[getter]
    fn digest(&self, py: Python<'_>) -> &str {
        if self.digest.get().is_none() {
            let made = py.detach(|| digest(&self.result));
            self.digest.get_or_init(|| made);
        }
        self.digest.get().map_or("", String::as_str)
    }

    /// The text that `weir-sim run --json FILE` writes for the same run.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string_pretty(&self.result)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The same as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json()?,))
    }

    fn __repr__(&self) -> String {
        let RunResult {
            scenario,
            seed,
            mode,
            policy,
            deadlocked,
            flows,
            ..
        } = &self.result;
        let end = if *deadlocked { "deadlocked" } else { "moving" };
        format!(
            "<weir.Result of {scenario}: seed {seed}, mode {}, policy {}, {} flows, {end}>",
            mode.as_str(),
            policy.as_str(),
            flows.len()
        )
    }
}

/// Curves over time, all with one interval.
#[pyclass(frozen, name = "Series", module = "weir", get_all)]
#[derive(Debug)]
pub struct Curves {
    /// Interval between two values.
    interval_seconds: f64,
    /// A row for each flow and interval: `flow`, `seconds` (its beginning) and `bits_per_second` received in it. With many
    /// flows only two sums, as in JSON.
    throughput: Py<Table>,
    /// A row for each lossless ingress buffer and interval: `switch`, `port`, `priority`, `seconds` and `bytes` held.
    occupancy: Py<Table>,
}

impl Curves {
    fn of(py: Python<'_>, series: &Series) -> PyResult<Self> {
        let interval_seconds = series.interval_seconds;
        let at = move |point: usize| point as f64 * interval_seconds;
        let rates = || series.throughput.iter();
        let throughput = Columns::default()
            .text("flow", rates().flat_map(|(flow, it)| repeated(flow, it)))
            .numbers("seconds", rates().flat_map(|(_, it)| (0..it.len()).map(at)))
            .numbers(
                "bits_per_second",
                rates().flat_map(|(_, it)| it.iter().copied()),
            );
        let held = || series.occupancy.iter();
        let part = |index: usize| {
            held().flat_map(move |(buffer, it)| {
                repeated(buffer.split(':').nth(index).unwrap_or(""), it)
            })
        };
        let priority = |buffer: &str| buffer.rsplit(':').next().and_then(|it| it.parse().ok());
        let priorities = held().flat_map(|(buffer, it)| {
            let priority: u64 = priority(buffer).unwrap_or(0);
            std::iter::repeat_n(priority, it.len())
        });
        let occupancy = Columns::default()
            .text("switch", part(0))
            .text("port", part(1))
            .counts("priority", priorities)
            .numbers("seconds", held().flat_map(|(_, it)| (0..it.len()).map(at)))
            .counts("bytes", held().flat_map(|(_, it)| it.iter().copied()));
        Ok(Self {
            interval_seconds,
            throughput: Py::new(py, throughput.table()?)?,
            occupancy: Py::new(py, occupancy.table()?)?,
        })
    }
}

/// Returns `text` once for each of `values`.
fn repeated<'a, T>(text: &'a str, values: &[T]) -> impl Iterator<Item = &'a str> + use<'a, T> {
    std::iter::repeat_n(text, values.len())
}

fn flows(flows: &[FlowResult], ends: &[[String; 3]]) -> PyResult<Table> {
    let end = |index: usize| ends.iter().map(move |names| names[index].as_str());
    let counts = |of: fn(&FlowResult) -> u64| flows.iter().map(of);
    let numbers = |of: fn(&FlowResult) -> f64| flows.iter().map(of);
    let some = |of: fn(&FlowResult) -> Option<f64>| flows.iter().map(of);
    Columns::default()
        .text("name", flows.iter().map(|it| it.name.as_str()))
        .text("from", end(0))
        .text("to", end(1))
        .text("class", end(2))
        .counts("sent", counts(|it| it.sent))
        .counts("received", counts(|it| it.received))
        .counts("in_flight", counts(|it| it.in_flight))
        .counts("lost", counts(|it| it.lost))
        .counts("reordered", counts(|it| it.reordered))
        .counts("corrupted", counts(|it| it.corrupted))
        .counts("duplicated", counts(|it| it.duplicated))
        .numbers("bits_per_second", numbers(|it| it.bits_per_second))
        .numbers(
            "bits_per_second_last_third",
            numbers(|it| it.bits_per_second_last_third),
        )
        .numbers(
            "longest_stall_seconds",
            numbers(|it| it.longest_stall_seconds),
        )
        .some_counts("size_bytes", flows.iter().map(|it| it.size_bytes))
        .some_numbers("completion_seconds", some(|it| it.completion_seconds))
        .some_numbers("ideal_seconds", some(|it| it.ideal_seconds))
        .some_numbers("slowdown", some(|it| it.slowdown))
        .some_numbers("began_seconds", some(|it| it.began_seconds))
        .table()
}

fn slowdown(bins: &[SlowdownBin]) -> PyResult<Table> {
    let numbers = |of: fn(&SlowdownBin) -> f64| bins.iter().map(of);
    Columns::default()
        .counts("above_bytes", bins.iter().map(|it| it.above_bytes))
        .some_counts("to_bytes", bins.iter().map(|it| it.to_bytes))
        .counts("flows", bins.iter().map(|it| it.flows))
        .numbers("p50", numbers(|it| it.p50))
        .numbers("p95", numbers(|it| it.p95))
        .numbers("p99", numbers(|it| it.p99))
        .numbers("max", numbers(|it| it.max))
        .table()
}

fn buffers(result: &RunResult) -> PyResult<Table> {
    let buffers = &result.buffers;
    Columns::default()
        .text("switch", buffers.iter().map(|it| it.switch.as_str()))
        .text("port", buffers.iter().map(|it| it.port.as_str()))
        .counts("priority", buffers.iter().map(|it| u64::from(it.priority)))
        .counts(
            "ingress_bytes_max",
            buffers.iter().map(|it| it.ingress_bytes_max),
        )
        .counts(
            "egress_bytes_max",
            buffers.iter().map(|it| it.egress_bytes_max),
        )
        .counts("pauses", buffers.iter().map(|it| it.pauses))
        .counts("xoff_sent", buffers.iter().map(|it| it.xoff_sent))
        .counts("pauses_lost", buffers.iter().map(|it| it.pauses_lost))
        .counts("pause_nanos", buffers.iter().map(|it| it.pause_nanos))
        .table()
}

fn events(events: &[RunEvent]) -> PyResult<Table> {
    // Names and values of text have a form in JSON.
    let details: Vec<String> = events
        .iter()
        .map(|it| serde_json::to_string(&it.details).unwrap_or_default())
        .collect();
    Columns::default()
        .numbers("seconds", events.iter().map(|it| it.seconds))
        .text("switch", events.iter().map(|it| it.switch.as_str()))
        .text("kind", events.iter().map(|it| it.kind.as_str()))
        .some_text("port", events.iter().map(|it| it.port.as_deref()))
        .some_counts(
            "priority",
            events.iter().map(|it| it.priority.map(u64::from)),
        )
        .text("details", details.iter().map(String::as_str))
        .table()
}
