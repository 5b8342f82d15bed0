//! `/v1/impairments`.

use std::sync::Arc;
use std::time::Duration as StdDuration;

use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::Json;
use weir_api::daemon::{
    Impair, ImpairRequest, Impairment, DELAY_SECONDS_MAX, DUTY_SECONDS_MIN, IMPAIR_SECONDS_MAX,
};
use weir_config::frames::ONE_IN_MAX;
use weir_core::{Duration, PortId, Priority};
use weir_dataplane::impair::{Action, ImpairPlan};

use super::ApiError;
use crate::capture::describe::depths;
use crate::control::asked::impair::{self, Doing, ImpairError};
use crate::control::Shared;
use crate::model::clock;
use crate::model::filter;

pub(super) async fn list(State(shared): State<Arc<Shared>>) -> Json<Vec<Impairment>> {
    let entries = shared.impairments.list();
    Json(entries.iter().map(|entry| entry.view()).collect())
}

pub(super) async fn begin(
    State(shared): State<Arc<Shared>>,
    request: Result<Json<ImpairRequest>, JsonRejection>,
) -> Result<Json<Impairment>, ApiError> {
    let Json(request) = request?;
    if !shared.info.impair {
        return Err(ApiError {
            status: StatusCode::CONFLICT,
            error: "this switch does not let itself be impaired; set dataplane.impair = true and restart it, on a lab's switch only".to_owned(),
        });
    }
    let port = shared.info.find_port(&request.port);
    let port = port.map_err(|missing| ApiError::bad_request(missing.to_string()))?;
    let doing = doing(&shared, &request, port).map_err(ApiError::bad_request)?;
    let began = impair::begin(&shared, request, port, doing).await;
    began.map(Json).map_err(|error| match error {
        ImpairError::Silence => ApiError::silence(),
        ImpairError::Full | ImpairError::Twice(_) | ImpairError::Refused(_) => ApiError {
            status: StatusCode::CONFLICT,
            error: error.to_string(),
        },
    })
}

pub(super) async fn end(
    State(shared): State<Arc<Shared>>,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Json<serde_json::Value>, ApiError> {
    let Path(id) = id?;
    if shared.impairments.stop(id) {
        return Ok(Json(serde_json::Value::Null));
    }
    Err(ApiError {
        status: StatusCode::NOT_FOUND,
        error: format!("no impairment {id} is in force; GET /v1/impairments lists them"),
    })
}

fn doing(shared: &Shared, request: &ImpairRequest, port: PortId) -> Result<Doing, String> {
    let within = |name: &str, value: f64, least: f64, most: f64| match value {
        value if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("{name} must be {least} to {most}, not {value}")),
    };
    within(
        "seconds",
        request.seconds,
        DUTY_SECONDS_MIN,
        IMPAIR_SECONDS_MAX,
    )?;
    let what = request.what;
    let is_of_frames = what.is_of_frames();
    for (name, is_there, is_meant) in [
        ("filter", !request.filter.is_empty(), is_of_frames),
        ("one_in", request.one_in.is_some(), is_of_frames),
        (
            "delay_seconds",
            request.delay_seconds.is_some(),
            what == Impair::Delay,
        ),
        (
            "priority",
            request.priority.is_some(),
            what == Impair::Pause,
        ),
        ("on_seconds", request.on_seconds.is_some(), !is_of_frames),
        (
            "period_seconds",
            request.period_seconds.is_some(),
            !is_of_frames,
        ),
    ] {
        if is_there && !is_meant {
            return Err(format!("{name} has no effect for {}", what.name()));
        }
    }
    if is_of_frames {
        return frames(shared, request, port);
    }
    let on = request.on_seconds.ok_or("on_seconds is missing")?;
    let period = request.period_seconds.ok_or("period_seconds is missing")?;
    let on = within("on_seconds", on, DUTY_SECONDS_MIN, IMPAIR_SECONDS_MAX)?;
    within(
        "period_seconds",
        period,
        on + DUTY_SECONDS_MIN,
        2.0 * IMPAIR_SECONDS_MAX,
    )?;
    let [on, period] = [on, period].map(StdDuration::from_secs_f64);
    if what == Impair::Flap {
        return Ok(Doing::Flap(on, period));
    }
    let priority = request.priority.ok_or("priority is missing")?;
    let priority = Priority::new(priority);
    let priority = priority.ok_or("priority must be 0 to 7")?;
    Ok(Doing::Pause(priority, on, period))
}

fn frames(shared: &Shared, request: &ImpairRequest, port: PortId) -> Result<Doing, String> {
    let filter = filter::parse(&request.filter, depths(&shared.info));
    let filter = filter.map_err(|error| error.to_string())?;
    if filter.asks_what_became() {
        return Err(format!("filter: {}", filter::TOO_EARLY));
    }
    let one_in = request.one_in.unwrap_or(1);
    if !(1..=ONE_IN_MAX).contains(&one_in) {
        return Err(format!("one_in must be 1 to {ONE_IN_MAX}, not {one_in}"));
    }
    let action = match request.what {
        Impair::Delay => {
            let delay = request.delay_seconds.ok_or("delay_seconds is missing")?;
            if !(1e-6..=DELAY_SECONDS_MAX).contains(&delay) {
                return Err(format!(
                    "delay_seconds must be 0.000001 to {DELAY_SECONDS_MAX}, not {delay}"
                ));
            }
            Action::Delay(nanos(delay))
        }
        Impair::Mark => Action::Mark,
        _ => Action::Drop,
    };
    Ok(Doing::Frames(ImpairPlan {
        port,
        filter,
        one_in,
        action,
        until: clock::now() + nanos(request.seconds),
    }))
}

fn nanos(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9) as u64)
}
