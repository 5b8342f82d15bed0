//! Execution traces of chakra (github.com/mlcommons/chakra), which ASTRA-sim runs: one file for each rank, a graph of what it
//! computes, sends, receives and reduces.
//!
//! What the ranks send becomes flows that wait for each other and for what is computed in between.

mod collective;
mod resolve;
mod trace;
mod wire;
mod write;

use std::collections::BTreeMap;

use thiserror::Error;
use weir_config::scenario::Transport;
use weir_core::{Bytes, Duration};

/// Ranks at most: as many as a scenario has hosts.
pub const RANKS_MAX: usize = 200_000;

/// One rank's file.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// Its name, for messages.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// How ranks reduce together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllReduce {
    /// In 2 (N − 1) steps round a ring, each with 1/N of it.
    #[default]
    Ring,
    /// Up a binary tree, and down again.
    Tree,
}

/// What is imported, and what the files do not say.
#[derive(Clone, Debug)]
pub struct Chakra<'a> {
    /// By rank.
    pub traces: &'a [TraceFile],
    /// Ranks of each group of processes by its name (`pg_name`). All of them are in the groups without a name and with `0`.
    pub groups: &'a BTreeMap<String, Vec<usize>>,
    /// By rank: its host's name.
    pub hosts: &'a [String],
    /// The class of all flows.
    pub class: &'a str,
    /// How all-reduce goes.
    pub all_reduce: AllReduce,
    /// Bytes of a message in a frame. Above zero.
    pub payload: Bytes,
    /// What a frame has beside them.
    pub header: Bytes,
    /// Of all flows.
    pub transport: Transport,
    /// Rate at which a rank computes operations (`num_ops`) for which the trace has no time.
    pub operations_per_second: Option<u64>,
}

/// Why traces cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ChakraError {
    /// The file.
    pub file: String,
    /// The node.
    pub node: Option<u64>,
    /// What is wrong, and what to do.
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

/// One flow of the ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Flow {
    name: String,
    /// Ranks.
    from: usize,
    to: usize,
    /// Of the message.
    bytes: u64,
    start: Duration,
    /// Flows that it waits for, each with what is computed in between.
    after: BTreeMap<usize, Duration>,
}

/// `[[flow]]` tables of what the ranks send, to be put below a scenario file's network.
///
/// # Errors
///
/// The first node that is wrong, or that cannot be imported, with what to do about it.
pub fn chakra(input: &Chakra<'_>) -> Result<String, ChakraError> {
    let traces = input.traces.iter().enumerate();
    let traces = traces.map(|(rank, file)| trace::read(file, rank, input));
    let traces = traces.collect::<Result<Vec<_>, _>>()?;
    let exchanges = collective::exchanges(input, &traces)?;
    let flows = resolve::flows(input, &traces, exchanges)?;
    Ok(write::tables(input, &flows))
}
