//! Tables in Arrow's memory layout.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use pyo3::IntoPyObjectExt;
use weir_recording::table::{Cell, CellKind, Column};

use crate::error::Error;

/// A table of Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)` and DuckDB read it without a copy.
///
/// Without any of them `t["column"]` is a list, and `t.to_dicts()` a list of rows.
#[pyclass(frozen, module = "weir")]
#[derive(Debug)]
pub struct Table(RecordBatch);

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.0.schema();
        let fields = schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The column of this name, as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.0.column_by_name(name);
        let column = column.ok_or_else(|| {
            let known = self.column_names().join(", ");
            PyKeyError::new_err(format!("no column {name:?}; there are: {known}"))
        })?;
        let cells = (0..column.len()).map(|row| cell(py, column, row));
        PyList::new(py, cells.collect::<PyResult<Vec<_>>>()?)
    }

    /// The rows, each a dictionary.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let names = self.column_names();
        let row = |row| {
            let cells = PyDict::new(py);
            for (name, column) in names.iter().zip(self.0.columns()) {
                cells.set_item(name, cell(py, column, row)?)?;
            }
            Ok(cells)
        };
        (0..self.0.num_rows()).map(row).collect()
    }

    /// Arrow's PyCapsule interface: the table as a stream of one batch. The schema is the table's own, whatever is asked.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may leave the conversion to the consumer.
        drop(requested_schema);
        let batches = [Ok(self.0.clone())];
        let batches = RecordBatchIterator::new(batches, self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Arrow's PyCapsule interface: the types of the columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(of_arrow)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __repr__(&self) -> String {
        let columns = self.column_names().join(", ");
        format!("<weir.Table: {} rows of {columns}>", self.0.num_rows())
    }
}

fn cell<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Int64 => column
            .as_primitive::<Int64Type>()
            .value(row)
            .into_bound_py_any(py),
        DataType::Float64 => column
            .as_primitive::<Float64Type>()
            .value(row)
            .into_bound_py_any(py),
        DataType::Boolean => column.as_boolean().value(row).into_bound_py_any(py),
        // There is no other.
        _ => column.as_string::<i32>().value(row).into_bound_py_any(py),
    }
}

fn of_arrow(error: ArrowError) -> PyErr {
    Error::new_err(error.to_string())
}

/// Columns of a table that is being made.
#[derive(Debug, Default)]
pub struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn add(mut self, name: &str, array: ArrayRef, is_optional: bool) -> Self {
        let field = Field::new(name, array.data_type().clone(), is_optional);
        self.fields.push(field);
        self.arrays.push(array);
        self
    }

    /// A column of integers; those that are too large become the maximum.
    #[must_use]
    pub fn counts(self, name: &str, values: impl Iterator<Item = u64>) -> Self {
        let values = Int64Array::from_iter_values(values.map(integer));
        self.add(name, Arc::new(values), false)
    }

    /// The same, some of which can be missing.
    #[must_use]
    pub fn some_counts(self, name: &str, values: impl Iterator<Item = Option<u64>>) -> Self {
        let values: Int64Array = values.map(|value| value.map(integer)).collect();
        self.add(name, Arc::new(values), true)
    }

    /// A column of numbers.
    #[must_use]
    pub fn numbers(self, name: &str, values: impl Iterator<Item = f64>) -> Self {
        self.add(
            name,
            Arc::new(Float64Array::from_iter_values(values)),
            false,
        )
    }

    /// The same, some of which can be missing.
    #[must_use]
    pub fn some_numbers(self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        let values: Float64Array = values.collect();
        self.add(name, Arc::new(values), true)
    }

    /// A column of text.
    #[must_use]
    pub fn text<'a>(self, name: &str, values: impl Iterator<Item = &'a str>) -> Self {
        self.add(name, Arc::new(StringArray::from_iter_values(values)), false)
    }

    /// The same, some of which can be missing.
    #[must_use]
    pub fn some_text<'a>(self, name: &str, values: impl Iterator<Item = Option<&'a str>>) -> Self {
        let values: StringArray = values.collect();
        self.add(name, Arc::new(values), true)
    }

    /// The table.
    pub fn table(self) -> PyResult<Table> {
        let schema = Arc::new(Schema::new(self.fields));
        let batch = RecordBatch::try_new(schema, self.arrays);
        batch.map(Table).map_err(of_arrow)
    }
}

fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Values of a column of a sweep.
enum Builder {
    Flags(BooleanBuilder),
    Counts(Int64Builder),
    Numbers(Float64Builder),
    Text(StringBuilder),
}

impl Builder {
    fn new(kind: CellKind) -> Self {
        match kind {
            CellKind::Flag => Self::Flags(BooleanBuilder::new()),
            CellKind::Count => Self::Counts(Int64Builder::new()),
            CellKind::Number => Self::Numbers(Float64Builder::new()),
            CellKind::Text => Self::Text(StringBuilder::new()),
        }
    }

    /// Adds a cell; one of another type is missing.
    fn add(&mut self, cell: &Cell) {
        match (self, cell) {
            (Self::Flags(flags), Cell::Flag(flag)) => flags.append_value(*flag),
            (Self::Flags(flags), _) => flags.append_null(),
            (Self::Counts(counts), Cell::Count(count)) => counts.append_value(*count),
            (Self::Counts(counts), _) => counts.append_null(),
            (Self::Numbers(numbers), Cell::Number(number)) => numbers.append_value(*number),
            (Self::Numbers(numbers), _) => numbers.append_null(),
            (Self::Text(text), Cell::Text(value)) => text.append_value(value),
            (Self::Text(text), _) => text.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Flags(flags) => Arc::new(flags.finish()),
            Self::Counts(counts) => Arc::new(counts.finish()),
            Self::Numbers(numbers) => Arc::new(numbers.finish()),
            Self::Text(text) => Arc::new(text.finish()),
        }
    }
}

/// Returns a table of `rows`, each with a cell for each of `columns`.
pub fn of_cells(columns: &[Column], rows: impl Iterator<Item = Vec<Cell>>) -> PyResult<Table> {
    let mut builders: Vec<Builder> = columns.iter().map(|it| Builder::new(it.kind)).collect();
    for row in rows {
        for (builder, cell) in builders.iter_mut().zip(&row) {
            builder.add(cell);
        }
    }
    let filled = columns.iter().zip(&mut builders);
    let table = filled.fold(Columns::default(), |table, (column, builder)| {
        table.add(&column.name, builder.finish(), column.is_optional)
    });
    table.table()
}
