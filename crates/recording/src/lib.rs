//! Recordings as files for other tools: the behaviour of a switch as a trace for [Perfetto](https://perfetto.dev), and
//! tables as [Parquet](https://parquet.apache.org). No I/O: the caller writes the bytes.

pub mod fabric;
pub mod lines;
pub mod perfetto;
pub mod spans;
pub mod table;
pub mod timeline;
