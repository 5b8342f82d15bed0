//! Files of HPCC's simulator: topology, flows and trace (github.com/alibaba-edu/High-Precision-Congestion-Control).
//!
//! They are read like there: as a sequence of words, and anything after the last announced one is ignored.

mod flows;
mod topology;
mod write;

use weir_config::scenario::Transport;
use weir_core::{Bytes, Duration};

use super::words::{ImportError, Words};
use topology::Topology;

/// A file and its name.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// Its content.
    pub text: &'a str,
}

/// Input of the import, with data that the files lack.
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
    /// `PACKET_PAYLOAD_SIZE`: payload bytes in a frame. Above zero.
    pub payload: Bytes,
    /// Bytes of headers in a frame.
    pub header: Bytes,
    /// Transport of all flows.
    pub transport: Transport,
    /// Duration of traffic; `None`: enough for twice the load of the busiest host's line.
    pub duration: Option<Duration>,
}

/// Returns the equivalent scenario file.
///
/// # Errors
///
/// The first place that is wrong or that a scenario file cannot express, with advice.
pub fn hpcc(files: &Hpcc<'_>) -> Result<String, ImportError> {
    let mut topology = Topology::read(files.topology)?;
    let flows = flows::read(files, &mut topology)?;
    let traced = match files.trace {
        Some(trace) => traced(trace, &topology)?,
        None => Vec::new(),
    };
    Ok(write::scenario(files, &topology, &flows, &traced))
}

/// Returns an error at a flow's place in the file, by its number from 0.
pub fn about_flow(flows: Text<'_>, index: usize, message: String) -> ImportError {
    let mut words = Words::new(flows.name, flows.text);
    let before = 1 + index * flows::WORDS;
    let skipped = (0..before).try_for_each(|_| words.next("a flow").map(|_| ()));
    match skipped.and_then(|()| words.next("a flow")) {
        Ok(word) => word.wrong(message),
        Err(error) => ImportError { message, ..error },
    }
}

/// Returns the nodes whose frames HPCC's simulator logs. As there, nodes missing in the topology are skipped: the trace file
/// shipped with HPCC serves topologies of several sizes.
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
