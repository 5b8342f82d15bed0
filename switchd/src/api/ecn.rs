//! `/v1/ecn`: ECN marking by profile, and thresholds that can be changed at run time.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::Json;
use weir_api::daemon::{EcnChange, EcnProfile};
use weir_api::describe::Described;
use weir_api::words::EventName;
use weir_core::{Bytes, Command, MarkAt, PartsPerMillion, RedConfig};
use weir_dataplane::messages::Snapshot;

use super::ApiError;
use crate::control::info::MarkingInfo;
use crate::control::Shared;
use crate::model::clock;

pub(super) async fn list(State(shared): State<Arc<Shared>>) -> Json<Vec<EcnProfile>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    let all = shared.info.marking.get();
    Json(all.iter().map(|one| state(one, &snapshot)).collect())
}

/// Answers once the dataplane marks by the new values.
pub(super) async fn set(
    State(shared): State<Arc<Shared>>,
    name: Result<Path<String>, PathRejection>,
    change: Result<Json<EcnChange>, JsonRejection>,
) -> Result<Json<EcnProfile>, ApiError> {
    let Path(name) = name?;
    let Json(change) = change?;
    let all = shared.info.marking.get();
    let mut profiles = all.iter();
    let known = profiles.find(|one| one.profile.as_ref() == Some(&name));
    let known = known.ok_or_else(|| no_such_profile(&name, &all))?;
    if known.classes.is_empty() {
        return Err(ApiError {
            status: StatusCode::CONFLICT,
            error: format!("no class has the profile `{name}`: write `ecn = \"{name}\"` into a [[class]] and reload, or change the profile in the file"),
        });
    }
    let snapshot = shared.dataplane.fresh_snapshot().await;
    let before = in_force(known, &snapshot);
    let wanted = changed(before, &change)?;
    for priority in known.priorities() {
        let marking = Some(wanted);
        let command = Command::SetMarking { priority, marking };
        match shared.dataplane.ask(command).await {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                return Err(ApiError {
                    status: StatusCode::CONFLICT,
                    error: error.to_string(),
                })
            }
            None => return Err(ApiError::silence()),
        }
    }
    if wanted != before {
        let described = Described::new(clock::now(), EventName::EcnChanged)
            .detail("profile", &name)
            .detail("kmin_bytes", wanted.kmin.get())
            .detail("kmax_bytes", wanted.kmax.get())
            .detail("pmax_parts_per_million", wanted.pmax.get())
            .detail("mark_at", wanted.at.name());
        shared.records.record(described);
    }
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Ok(Json(state(known, &snapshot)))
}

fn no_such_profile(name: &str, all: &[MarkingInfo]) -> ApiError {
    let names = all.iter().filter_map(|one| one.profile.as_deref());
    let names: Vec<&str> = names.collect();
    let known = match names.is_empty() {
        true => "the configuration has no [[ecn]]".to_owned(),
        false => format!("profiles: {}", names.join(", ")),
    };
    ApiError {
        status: StatusCode::NOT_FOUND,
        error: format!("no such ecn profile: `{name}`; {known}"),
    }
}

/// Returns the thresholds in force; for a profile without classes, those of the file.
fn in_force(one: &MarkingInfo, snapshot: &Snapshot) -> RedConfig {
    let first = one.priorities().next();
    let marking = first.and_then(|priority| snapshot.markings[priority.index()]);
    marking.unwrap_or(one.configured)
}

fn changed(before: RedConfig, change: &EcnChange) -> Result<RedConfig, ApiError> {
    let pmax = match change.pmax_parts_per_million {
        None => before.pmax,
        Some(parts) => PartsPerMillion::new(parts).ok_or_else(|| {
            ApiError::bad_request(format!(
                "pmax_parts_per_million must be 1 to {}, not {parts}",
                PartsPerMillion::ONE.get()
            ))
        })?,
    };
    let at = match &change.mark_at {
        None => before.at,
        Some(word) => word.known().ok_or_else(|| {
            let words = MarkAt::ALL.map(MarkAt::name).join(", ");
            ApiError::bad_request(format!("unknown mark_at `{word}`; write one of {words}"))
        })?,
    };
    let wanted = RedConfig {
        kmin: change.kmin_bytes.map_or(before.kmin, Bytes::new),
        kmax: change.kmax_bytes.map_or(before.kmax, Bytes::new),
        pmax,
        at,
    };
    let checked = wanted.check();
    checked.map_err(|error| ApiError::bad_request(error.to_string()))?;
    Ok(wanted)
}

fn state(one: &MarkingInfo, snapshot: &Snapshot) -> EcnProfile {
    let marking = in_force(one, snapshot);
    let at_port = |port: &weir_dataplane::messages::PortSnapshot| -> u64 {
        let counters = &port.counters.priority;
        let marked = one
            .priorities()
            .map(|priority| counters[priority.index()].marks);
        marked.sum()
    };
    EcnProfile {
        profile: one.profile.clone(),
        kmin_bytes: marking.kmin.get(),
        kmax_bytes: marking.kmax.get(),
        pmax_parts_per_million: marking.pmax.get(),
        mark_at: marking.at.into(),
        classes: one.classes.iter().map(|(name, _)| name.clone()).collect(),
        marked_frames_total: snapshot.ports.iter().map(at_port).sum(),
    }
}
