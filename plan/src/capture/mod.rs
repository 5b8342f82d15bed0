//! `switchctl plan --from-capture`: arrivals as they were recorded, in the place of a scenario's flows.

mod frames;
mod line;
mod run;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::rc::Rc;

use anyhow::{bail, Context, Result};
use weir_config::scenario::Scenario;
use weir_core::Bytes;

/// What was recorded.
#[derive(Debug)]
pub struct Recorded {
    /// Each with at least one frame.
    pub flows: Vec<RecordedFlow>,
    /// From the beginning to the last arrival, in µs.
    pub span: f64,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// Frames from one host to another in one class.
#[derive(Debug)]
pub struct RecordedFlow {
    /// Sending host.
    pub from: usize,
    /// Receiving host.
    pub to: usize,
    /// Its class.
    pub class: usize,
    /// The switches that it takes, if that is known.
    pub via: Option<Vec<usize>>,
    /// The longest frame.
    pub longest: Bytes,
    /// The length of which most is charged for each byte on the line.
    pub wasteful: Bytes,
    /// What is charged for each byte on the line, of all frames together.
    pub charge: f64,
    /// How much has come by when: µs and kbit on the line, with straight lines between them. Ends with all that came.
    pub points: Rc<[(f64, f64)]>,
}

impl RecordedFlow {
    /// All that came, on the line, in kbit.
    pub fn total(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.1)
    }
}

/// Reads a capture (pcap or pcapng) or the result of a run, whichever the file is.
///
/// # Errors
///
/// When the file is neither, when it is of another scenario, or when nothing in it is of this one.
pub fn load(file: &Path, scenario: &Scenario) -> Result<Recorded> {
    let name = || file.display().to_string();
    let mut reader = BufReader::new(File::open(file).with_context(name)?);
    let first = reader.fill_buf().with_context(name)?.first().copied();
    let recorded = match first {
        Some(b'{') => run::read(reader, scenario),
        Some(_) => frames::read(reader, scenario),
        None => bail!("{} is empty", name()),
    };
    let recorded = recorded.with_context(name)?;
    if recorded.flows.is_empty() {
        bail!(
            "{}: no frames from one host of the scenario to another{}",
            name(),
            recorded
                .notes
                .iter()
                .map(|note| format!("; {note}"))
                .collect::<String>()
        );
    }
    Ok(recorded)
}
