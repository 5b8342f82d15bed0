//! Suspicions and their records as the API shows them.

use weir_api::daemon::{Deadlocks, FlightRecord};

use crate::control::flight_recorder::RECORDS_MAX;
use crate::control::Shared;

/// Reason for which a suspicion has no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// No suspicion has this number, or it was too long ago.
    #[error("no such suspicion: {0}; GET /v1/deadlocks lists the known ones")]
    Suspicion(u64),
    /// The flight recorder is off.
    #[error("no record of suspicion {0}: the flight recorder is off; set deadlock.record")]
    Off(u64),
    /// Newer records have replaced it, or there was no room when it began.
    #[error("no record of suspicion {0}: only the newest {RECORDS_MAX} are kept")]
    Record(u64),
}

/// `GET /v1/deadlocks`.
pub fn deadlocks(shared: &Shared) -> Deadlocks {
    let mut deadlocks = shared.records.deadlocks().to_api();
    let flights = shared.records.flights();
    for deadlock in deadlocks.current.iter_mut().chain(&mut deadlocks.past) {
        deadlock.recorded = flights.has(deadlock.id);
    }
    deadlocks.unrecorded_total = flights.unrecorded();
    deadlocks
}

/// `GET /v1/deadlocks/ID`.
///
/// # Errors
///
/// When there is no such record.
pub fn record(shared: &Shared, id: u64) -> Result<FlightRecord, Missing> {
    let mut deadlock = shared
        .records
        .deadlocks()
        .get(id)
        .ok_or(Missing::Suspicion(id))?;
    // Copied first, so that nothing waits while it is written out.
    let (record, settings) = {
        let flights = shared.records.flights();
        (flights.get(id), flights.settings())
    };
    let record = match record {
        Some(record) => record,
        None if !settings.is_enabled() => return Err(Missing::Off(id)),
        None => return Err(Missing::Record(id)),
    };
    deadlock.recorded = true;
    Ok(record.to_api(&shared.info, settings, deadlock))
}
