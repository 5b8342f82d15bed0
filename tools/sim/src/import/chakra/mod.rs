//! Execution traces of chakra (github.com/mlcommons/chakra), as used by ASTRA-sim: one file for each rank, with a graph of
//! computations, sends, receives and collectives.
//!
//! Transfers become flows that wait for each other and for the computations between them.

mod collective;
mod resolve;
mod trace;
mod wire;
mod write;

use std::collections::BTreeMap;

use thiserror::Error;
use weir_config::scenario::Transport;
use weir_config::units::format_duration;
use weir_core::{Bytes, Duration};

/// Maximum number of ranks: that of a scenario's hosts.
pub const RANKS_MAX: usize = 200_000;

/// One rank's file.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// Its name, for messages.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Algorithm of all-reduce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllReduce {
    /// Around a ring in 2 (N − 1) steps, each with 1/N of the data.
    #[default]
    Ring,
    /// Up a binary tree, and down again.
    Tree,
}

/// Input of the import, with data that the files lack.
#[derive(Clone, Debug)]
pub struct Chakra<'a> {
    /// Files by rank.
    pub traces: &'a [TraceFile],
    /// Ranks of each process group by its name (`pg_name`). The groups without a name and named `0` contain all ranks.
    pub groups: &'a BTreeMap<String, Vec<usize>>,
    /// Host names by rank.
    pub hosts: &'a [String],
    /// Class of all flows.
    pub class: &'a str,
    /// Algorithm of all-reduce.
    pub all_reduce: AllReduce,
    /// Payload bytes in a frame. Above zero.
    pub payload: Bytes,
    /// Bytes of headers in a frame.
    pub header: Bytes,
    /// Transport of all flows.
    pub transport: Transport,
    /// Duration of the network's run.
    pub duration: Duration,
    /// Rate of a rank's operations (`num_ops`) without a time in the trace.
    pub operations_per_second: Option<u64>,
}

/// Reason for which traces cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ChakraError {
    /// The file.
    pub file: String,
    /// The node.
    pub node: Option<u64>,
    /// Error and advice.
    pub message: String,
}

impl std::fmt::Display for ChakraError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.node {
            Some(node) => write!(f, "{}: node {node}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl ChakraError {
    fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            node: None,
            message: message.into(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Flow {
    name: String,
    from: usize,
    to: usize,
    bytes: u64,
    start: Duration,
    /// Flows for which it waits, each with the computation in between.
    after: BTreeMap<usize, Duration>,
}

/// Returns `[[flow]]` tables of the ranks' transfers, to be appended to a scenario file's network.
///
/// # Errors
///
/// The first node that is wrong or cannot be imported, with advice.
pub fn chakra(input: &Chakra<'_>) -> Result<String, ChakraError> {
    let traces = input.traces.iter().enumerate();
    let traces = traces.map(|(rank, file)| trace::read(file, rank, input));
    let traces = traces.collect::<Result<Vec<_>, _>>()?;
    let exchanges = collective::exchanges(input, &traces)?;
    let flows = resolve::flows(input, &traces, exchanges)?;
    if let Some(late) = flows.iter().find(|flow| flow.start >= input.duration) {
        let message = format!(
            "{}, a transfer, starts after {} of computations, and the network's `duration` is {}: write a longer one there",
            late.name,
            format_duration(late.start),
            format_duration(input.duration),
        );
        return Err(ChakraError::of_file(&input.traces[late.from].name, message));
    }
    Ok(write::tables(input, &flows))
}
