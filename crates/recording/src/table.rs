//! Tables as Parquet files.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use serde::{Deserialize, Serialize};

const GROUP_ROWS: usize = 100_000;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Type of its values.
    pub kind: CellKind,
    /// True if values can be missing.
    pub is_optional: bool,
}

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Booleans.
    Flag,
    /// Integers.
    Count,
    /// Numbers.
    Number,
    /// Text.
    Text,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Cell {
    /// None.
    Null,
    /// A boolean.
    Flag(bool),
    /// An integer.
    Count(i64),
    /// A number; stored as its bits, so that it is unchanged after writing and reading.
    Number(#[serde(with = "bits")] f64),
    /// Text.
    Text(String),
}

impl Column {
    /// Creates a column `name` of this kind.
    pub fn of(name: impl Into<String>, kind: CellKind, is_optional: bool) -> Self {
        Self {
            name: name.into(),
            kind,
            is_optional,
        }
    }
}

impl Cell {
    /// Creates an integer cell; values that are too large become the maximum.
    pub fn count(count: u64) -> Self {
        Self::Count(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Creates a text cell.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a number cell, or an empty one.
    pub fn number(number: Option<f64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }
}

/// Returns a Parquet file of `program` with `rows`, each with a cell for each of `columns`, and with `notes` in its
/// footer. The same input yields the same bytes.
///
/// # Errors
///
/// A row does not fit the columns.
pub fn parquet(
    program: &str,
    columns: &[Column],
    rows: &[Vec<Cell>],
    notes: &[(&str, String)],
) -> Result<Vec<u8>, ParquetError> {
    let fields: Result<Vec<TypePtr>, ParquetError> = columns.iter().map(field).collect();
    let schema = Type::group_type_builder("weir")
        .with_fields(fields?)
        .build()?;
    let notes = notes
        .iter()
        .map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
    let properties = WriterProperties::builder()
        .set_created_by(format!("{program} version {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(notes.collect()))
        .build();
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::new(properties))?;
    for group in rows.chunks(GROUP_ROWS) {
        let mut written = writer.next_row_group()?;
        for (place, column) in columns.iter().enumerate() {
            let mut next = written
                .next_column()?
                .ok_or_else(|| ParquetError::General(format!("no column {}", column.name)))?;
            let cells = group.iter().map(|row| row.get(place));
            write(next.untyped(), column, cells)?;
            next.close()?;
        }
        written.close()?;
    }
    writer.close()?;
    Ok(file)
}

/// Returns the value of `key` in the footer of `file`.
///
/// # Errors
///
/// The file is not a complete Parquet file.
pub fn note(file: impl ChunkReader + 'static, key: &str) -> Result<Option<String>, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let notes = reader.metadata().file_metadata().key_value_metadata();
    let note = notes.and_then(|notes| notes.iter().find(|note| note.key == key));
    Ok(note.and_then(|note| note.value.clone()))
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.kind {
        CellKind::Flag => (Physical::BOOLEAN, None),
        CellKind::Count => (Physical::INT64, None),
        CellKind::Number => (Physical::DOUBLE, None),
        CellKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = match column.is_optional {
        true => Repetition::OPTIONAL,
        false => Repetition::REQUIRED,
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
        .map(Arc::new)
}

fn write<'a>(
    writer: &mut ColumnWriter<'_>,
    column: &Column,
    cells: impl Iterator<Item = Option<&'a Cell>> + Clone,
) -> Result<(), ParquetError> {
    let is_there = |cell: &Option<&Cell>| !matches!(cell, Some(Cell::Null));
    let levels: Vec<i16> = cells
        .clone()
        .map(|cell| i16::from(is_there(&cell)))
        .collect();
    let levels = column.is_optional.then_some(levels.as_slice());
    let there = cells.filter(|cell| !column.is_optional || is_there(cell));
    let wrong = |cell: Option<&Cell>| {
        let message = format!("{cell:?} in column {} of {:?}", column.name, column.kind);
        ParquetError::General(message)
    };
    macro_rules! batch {
        ($writer:expr, $pattern:pat => $value:expr) => {{
            let values = there.map(|cell| match cell {
                Some($pattern) => Ok($value),
                other => Err(wrong(other)),
            });
            let values = values.collect::<Result<Vec<_>, ParquetError>>()?;
            $writer.write_batch(&values, levels, None)?;
        }};
    }
    match writer {
        ColumnWriter::BoolColumnWriter(writer) => batch!(writer, Cell::Flag(flag) => *flag),
        ColumnWriter::Int64ColumnWriter(writer) => batch!(writer, Cell::Count(count) => *count),
        ColumnWriter::DoubleColumnWriter(writer) => batch!(writer, Cell::Number(number) => *number),
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            batch!(writer, Cell::Text(text) => ByteArray::from(text.as_str()));
        }
        _ => return Err(wrong(None)),
    }
    Ok(())
}

mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(number.to_bits())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}
