//! Flows that Python makes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use weir_config::scenario::AddedFlow;
use weir_config::units::{parse_duration, parse_size};
use weir_core::{Bytes, Duration};

/// A flow as `python/weir/__init__.py` hands it over: sender, receiver, bytes, start in nanoseconds, and if they are given
/// name, class, transport and the bytes of a frame.
#[derive(Debug, FromPyObject)]
pub struct GivenFlow(
    String,
    String,
    u64,
    u64,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<u64>,
);

impl From<GivenFlow> for AddedFlow {
    fn from(given: GivenFlow) -> Self {
        let GivenFlow(from, to, size, start, name, class, transport, frame) = given;
        Self {
            name,
            from,
            to,
            size: Bytes::new(size),
            start: Duration::from_nanos(start),
            class,
            transport,
            frame: frame.map(Bytes::new),
        }
    }
}

/// Returns the number of bytes of a size such as "64KiB".
#[pyfunction]
pub fn size_bytes(text: &str) -> PyResult<u64> {
    let size = parse_size(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(size.get())
}

/// Returns the nanoseconds of a time such as "20us".
#[pyfunction]
pub fn duration_nanos(text: &str) -> PyResult<u64> {
    let span = parse_duration(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(span.as_nanos())
}
