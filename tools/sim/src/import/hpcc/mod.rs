//! The files of HPCC's simulator: topology, flows and trace (github.com/alibaba-edu/High-Precision-Congestion-Control).
//!
//! They are read as that reads them: words one after the other, and what follows the last one that was announced says nothing.

mod flows;
mod topology;
mod write;

use weir_config::scenario::Transport;
use weir_core::{Bytes, Duration};

use super::words::{ImportError, Words};
use topology::Topology;

/// A file that was read.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// What stands in it.
    pub text: &'a str,
}

/// What is imported, and what the files do not say.
#[derive(Clone, Debug)]
pub struct Hpcc<'a> {
    /// The scenario's name.
    pub name: &'a str,
    /// `TOPOLOGY_FILE`.
    pub topology: Text<'a>,
    /// `FLOW_FILE`.
    pub flows: Text<'a>,
    /// `TRACE_FILE`.
    pub trace: Option<Text<'a>>,
    /// `PACKET_PAYLOAD_SIZE`: bytes of a flow in one frame. Above zero.
    pub payload: Bytes,
    /// What a frame has beside them.
    pub header: Bytes,
    /// Of all flows.
    pub transport: Transport,
    /// How long traffic is offered; `None`: so long that twice what the busiest host's line has to carry fits.
    pub duration: Option<Duration>,
}

/// The scenario file that does what the files say.
///
/// # Errors
///
/// The first place that is wrong, or that a scenario file cannot say, with what to do about it.
pub fn hpcc(files: &Hpcc<'_>) -> Result<String, ImportError> {
    let mut topology = Topology::read(files.topology)?;
    let flows = flows::read(files, &mut topology)?;
    let traced = match files.trace {
        Some(trace) => traced(trace, &topology)?,
        None => Vec::new(),
    };
    Ok(write::scenario(files, &topology, &flows, &traced))
}

/// An error about a flow, by its number from 0, at its place in the file.
pub fn about_flow(flows: Text<'_>, index: usize, message: String) -> ImportError {
    let mut words = Words::new(flows.name, flows.text);
    let before = 1 + index * flows::WORDS;
    let skipped = (0..before).try_for_each(|_| words.next("a flow").map(|_| ()));
    match skipped.and_then(|()| words.next("a flow")) {
        Ok(word) => word.wrong(message),
        Err(error) => ImportError { message, ..error },
    }
}

/// The nodes whose frames HPCC's simulator writes down. As there, nodes that the topology lacks are skipped: the trace
/// file that HPCC ships serves topologies of several sizes.
fn traced(trace: Text<'_>, topology: &Topology) -> Result<Vec<String>, ImportError> {
    let mut words = Words::new(trace.name, trace.text);
    let nodes = topology.node_count();
    let count = words.number("how many nodes are traced", u64::from(u32::MAX))?;
    let mut names = Vec::new();
    for _ in 0..count {
        let word = words.next("a node that is traced")?;
        let node = word.number("a node that is traced", u64::from(u32::MAX))?;
        if node < nodes {
            names.push(topology.name(node));
        }
    }
    Ok(names)
}
