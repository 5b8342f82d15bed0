//! `switchctl deadlock show`: the flight recorder's record of one suspicion, as text and as a picture.

mod chart;
mod svg;
mod text;
mod view;

use std::path::Path;

use anyhow::{Context, Result};
use weir_api::daemon::FlightRecord;

use crate::target::Target;
use view::View;
use weir_output::Output;

/// Prints the record of suspicion `id`, and draws it into `svg` if given.
pub fn flight(target: &Target, output: &Output, id: u64, svg: Option<&Path>) -> Result<()> {
    let record: FlightRecord = target.get(&format!("/v1/deadlocks/{id}"))?;
    if let Some(path) = svg {
        std::fs::write(path, svg::picture(&View::new(&record)))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    output.print(&record, |record| {
        flight_text(record, weir_output::columns())
    })
}

/// Formats a record as text; its curves fit into `columns`, if given.
pub fn flight_text(record: &FlightRecord, columns: Option<usize>) -> String {
    text::text(&View::new(record), columns)
}
