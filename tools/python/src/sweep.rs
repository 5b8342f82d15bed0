//! Sweeps.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::time::Duration;

use pyo3::prelude::*;
use weir_config::sweep::Sweep;
use weir_recording::table::Cell;
use weir_sim::sweep::{Campaign, Finished};

use crate::error::{wrong, Error};
use crate::signals::Signals;
use crate::source::Source;
use crate::table::{of_cells, Table};

/// Interval at which the calling thread looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// The results of a sweep: what `weir-sim sweep` writes, under the same names. The object itself is the table of runs for
/// `polars.DataFrame`, `pyarrow.table` and DuckDB.
#[pyclass(frozen, name = "Sweep", module = "weir", get_all)]
#[derive(Debug)]
pub struct Swept {
    /// A row for each run.
    runs: Py<Table>,
    /// A row for each flow of each run, if asked for.
    flows: Option<Py<Table>>,
    /// A row for each switch, port and priority of each run that held a frame, if asked for.
    ports: Option<Py<Table>>,
}

#[pymethods]
impl Swept {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.runs.bind(py).len()
    }

    /// Arrow's PyCapsule interface of the table of runs.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let runs = self.runs.bind(py);
        runs.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<weir.Sweep of {} runs>", self.__len__(py)?))
    }
}

/// Returns true if the source is a sweep and not a scenario.
#[pyfunction]
pub fn is_sweep(py: Python<'_>, source: Source) -> PyResult<bool> {
    Ok(Sweep::is_meant(&source.text(py)?))
}

/// Runs a sweep, `jobs` runs at a time; None: one for each core. `scenario` is the scenario's text, unless that is the file
/// which the sweep names.
#[pyfunction]
pub fn sweep(
    py: Python<'_>,
    source: Source,
    scenario: Option<String>,
    jobs: Option<NonZeroUsize>,
) -> PyResult<Swept> {
    let text = source.text(py)?;
    let sweep = Sweep::parse(&text, source.path()).map_err(|error| wrong(py, &error))?;
    let scenario = match scenario {
        Some(text) => text,
        None => named(&sweep.scenario, source.path())?,
    };
    let campaign = Campaign::new(sweep, scenario).map_err(|error| wrong(py, &error))?;
    let finished = py.detach(|| run_all(&campaign, jobs))?;
    tables(py, &campaign, finished)
}

fn named(scenario: &Path, sweep: &Path) -> PyResult<String> {
    std::fs::read_to_string(scenario).map_err(|error| {
        let (scenario, sweep) = (scenario.display(), sweep.display());
        Error::new_err(format!(
            "{sweep}: scenario: cannot read {scenario}: {error}"
        ))
    })
}

/// Returns the finished runs in their order; or the exception of a signal handler, after the runs in progress have ended.
fn run_all(campaign: &Campaign, jobs: Option<NonZeroUsize>) -> PyResult<Vec<Finished>> {
    let count = campaign.sweep().run_count();
    let jobs = jobs.or_else(|| std::thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get) as u64;
    let next = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let work = |done: Sender<(u64, Finished)>| loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= count || is_over.load(Ordering::Relaxed) {
            return;
        }
        let finished = campaign.run_interruptibly(index, &mut || is_over.load(Ordering::Relaxed));
        if done.send((index, finished)).is_err() {
            return;
        }
    };
    let mut signals = Signals::new();
    let mut runs: Vec<(u64, Finished)> = Vec::new();
    std::thread::scope(|scope| {
        let (done, results) = channel();
        for _ in 0..jobs.min(count) {
            let (done, work) = (done.clone(), &work);
            scope.spawn(move || work(done));
        }
        drop(done);
        loop {
            match results.recv_timeout(LOOK) {
                Ok(run) => runs.push(run),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if signals.raised() {
                is_over.store(true, Ordering::Relaxed);
            }
        }
    });
    if let Some(exception) = signals.into_raised() {
        return Err(exception);
    }
    runs.sort_by_key(|(index, _)| *index);
    Ok(runs.into_iter().map(|(_, finished)| finished).collect())
}

fn tables(py: Python<'_>, campaign: &Campaign, finished: Vec<Finished>) -> PyResult<Swept> {
    let wanted = campaign.sweep().tables;
    let mut further = [
        (wanted.flows, Campaign::flow_columns(), Vec::new()),
        (wanted.ports, Campaign::port_columns(), Vec::new()),
    ];
    let mut rows = Vec::with_capacity(finished.len());
    for (index, finished) in (0..).zip(finished) {
        let mut row = campaign.identity(index);
        row.extend(finished.outcome);
        rows.push(row);
        for ((_, _, table), rows) in further.iter_mut().zip([finished.flows, finished.ports]) {
            let numbered = rows.into_iter().map(|mut row| {
                row.insert(0, Cell::count(index));
                row
            });
            table.extend(numbered);
        }
    }
    let runs = of_cells(&campaign.run_columns(), rows.into_iter())?;
    let [flows, ports] = further.map(|(is_wanted, columns, rows)| {
        let table = || Py::new(py, of_cells(&columns, rows.into_iter())?);
        is_wanted.then(table).transpose()
    });
    Ok(Swept {
        runs: Py::new(py, runs)?,
        flows: flows?,
        ports: ports?,
    })
}
