//! `switchctl plan --from-capture`: recorded arrivals instead of a scenario's flows.

mod frames;
mod line;
mod run;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{bail, Context, Result};
use weir_config::scenario::Scenario;

use crate::network::recorded::Recorded;

/// Reads a capture (pcap or pcapng) or the result of a run.
///
/// # Errors
///
/// When the file is neither, or contains no traffic of this scenario.
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
