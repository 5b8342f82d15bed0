//! `GET /v1/overview`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use weir_api::daemon::Event;
use weir_api::overview::{Overview, CLOCK_HEADER};
use weir_api::words::EventName;
use weir_dataplane::messages::Snapshot;
use weir_http::guard::refuse;
use weir_http::Cached;

use super::{flights, levels, neighbors, views};
use crate::control::Shared;
use crate::model::clock;

/// Maximum number of past suspicions shown.
pub const PAST_MAX: usize = 16;
/// Maximum number of events shown.
pub const EVENTS_MAX: usize = 64;
/// Maximum number of lines of the Level Table shown.
pub const DESTINATIONS_MAX: usize = 64;

/// Minimum age difference of two overviews, however many clients ask.
pub const INTERVAL: Duration = Duration::from_millis(250);

/// Overviews for clients over TCP; one per listener.
pub struct Overviews {
    shared: Arc<Shared>,
    body: Cached,
}

impl Overviews {
    /// Overviews of this switch.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            body: Cached::new(INTERVAL),
        }
    }

    /// Returns the newest overview, with the machine's time of sending.
    pub async fn answer(&self) -> Response {
        let make = async || {
            let snapshot = self.shared.dataplane.fresh_snapshot().await;
            serde_json::to_vec(&overview(&self.shared, &snapshot))
        };
        match self.body.get(make).await {
            Ok(body) => {
                let clock = clock::now().as_nanos().to_string();
                let kind = "application/json".to_owned();
                let headers = [(CONTENT_TYPE.as_str(), kind), (CLOCK_HEADER, clock)];
                (headers, body).into_response()
            }
            Err(error) => {
                tracing::error!(%error, "cannot write JSON for the page");
                refuse(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
            }
        }
    }
}

/// Builds the overview of the whole switch from `snapshot`.
pub fn overview(shared: &Shared, snapshot: &Snapshot) -> Overview {
    let mut deadlocks = flights::deadlocks(shared);
    deadlocks.past.truncate(PAST_MAX);
    let mut levels = levels::levels(&shared.info, snapshot);
    let left_out = levels.destinations.len().saturating_sub(DESTINATIONS_MAX);
    levels.destinations.truncate(DESTINATIONS_MAX);
    levels.left_out += left_out as u64;
    let is_shown = |event: &Event| {
        let kind = event.kind.known();
        !kind.is_some_and(EventName::is_of_a_message)
    };
    let (events, last_event) = shared.records.events.newest(EVENTS_MAX, is_shown);
    Overview {
        time: clock::wall_time(snapshot.at),
        monotonic_nanos: snapshot.at.as_nanos(),
        status: views::status(shared, snapshot),
        ports: views::ports(shared, snapshot),
        neighbors: neighbours_by_port(shared),
        pfc: views::pfc(shared, snapshot),
        levels,
        deadlocks,
        events,
        last_event,
    }
}

/// A neighbour that announces no name is listed by its chassis ID.
fn neighbours_by_port(shared: &Shared) -> BTreeMap<String, String> {
    neighbors::neighbors(shared)
        .into_iter()
        .map(|neighbor| {
            let name = neighbor.system_name.filter(|name| !name.is_empty());
            (neighbor.port, name.unwrap_or(neighbor.chassis_id))
        })
        .collect()
}
