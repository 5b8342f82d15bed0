//! The inner part of the Python package `weir`, which `python/weir/__init__.py` wraps: `weir-sim`'s library for Python.
//!
//! A run gives exactly what `weir-sim run` gives for the same file and settings. Results leave as Arrow tables by the
//! [PyCapsule interface](https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html).
//!
//! Design: docs/src/simulator/python.md.

mod control;
mod document;
mod error;
mod result;
mod run;
mod signals;
mod source;
mod sweep;
mod table;
mod workload;

use pyo3::prelude::*;

/// Module `weir._weir`.
#[pymodule(name = "_weir")]
fn extension(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", py.get_type::<error::Error>())?;
    module.add("ScenarioError", py.get_type::<error::ScenarioError>())?;
    module.add("RunError", py.get_type::<error::RunError>())?;
    module.add_class::<table::Table>()?;
    module.add_class::<result::RunOutcome>()?;
    module.add_class::<result::Curves>()?;
    module.add_class::<sweep::Swept>()?;
    module.add_class::<control::Ack>()?;
    module.add_class::<control::Hop>()?;
    module.add_class::<control::FlowStart>()?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::network, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::is_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(document::document, module)?)?;
    module.add_function(wrap_pyfunction!(document::inline, module)?)?;
    module.add_function(wrap_pyfunction!(workload::size_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(workload::duration_nanos, module)?)?;
    Ok(())
}
