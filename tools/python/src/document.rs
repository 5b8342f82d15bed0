//! Python's dictionaries as TOML, the language of files and settings.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::{Table, Value};

/// Returns the file with these keys. Keys whose value is None are left out.
#[pyfunction]
pub fn document(table: &Bound<'_, PyDict>) -> PyResult<String> {
    toml::to_string(&keys(table, "")?).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Returns a value as it is written behind `PATH=`.
#[pyfunction]
pub fn inline(value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(convert(value, "the value")?.to_string())
}

fn keys(table: &Bound<'_, PyDict>, place: &str) -> PyResult<Table> {
    let mut keys = Table::new();
    for (key, value) in table.iter() {
        let key: String = key.extract().map_err(|_| {
            PyTypeError::new_err(format!("{place}: keys are text, not {}", kind(&key)))
        })?;
        if !value.is_none() {
            let place = match place {
                "" => key.clone(),
                _ => format!("{place}.{key}"),
            };
            keys.insert(key, convert(&value, &place)?);
        }
    }
    Ok(keys)
}

fn convert(value: &Bound<'_, PyAny>, place: &str) -> PyResult<Value> {
    // In Python, True is also an integer.
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Value::Integer(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        return Ok(Value::Table(keys(table, place)?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let elements = value.try_iter()?.enumerate().map(|(index, element)| {
            let place = format!("{place}.{index}");
            convert(&element?, &place)
        });
        return Ok(Value::Array(elements.collect::<PyResult<_>>()?));
    }
    Err(PyTypeError::new_err(format!(
        "{place}: TOML has no {}; use text, numbers, booleans, lists and dictionaries",
        kind(value)
    )))
}

fn kind(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(|_| "such value".to_owned(), |name| name.to_string())
}
