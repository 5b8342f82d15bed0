//! The HTTP API on the daemon's Unix socket; its bodies are in [`weir_api::daemon`].

pub mod audit;
pub mod capture;
pub mod flights;
pub mod flows;
pub mod levels;
pub mod neighbors;
pub mod overview;
pub mod pfcwd;
mod reload;
mod restart;
mod roles;
pub mod routes;
pub mod views;

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path as UrlPath, Query, State};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use tokio::net::UnixListener;
use weir_api::audit::Audit;
use weir_api::counters::Counters;
use weir_api::daemon::{
    Deadlocks, Error, EventPage, FlightRecord, Flows, History, Levels, Pfc, Port, Queue, Status,
};
use weir_api::neighbors::Neighbor;
use weir_api::overview::Overview;
use weir_api::pfcwd::{Pfcwd, PfcwdChange};

use crate::control::Shared;
use crate::dataplane::tables::Tables;
use crate::http::{self, Limits};
use pfcwd::PfcwdError;

/// The longest wait for an event; a longer one asked for is cut to this.
pub const WAIT_SECONDS_MAX: f64 = 60.0;

/// The storm watchdog's path.
const PFCWD: &str = "/v1/pfcwd";

/// All routes.
pub fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/status", get(status))
        .route("/v1/ports", get(ports))
        .route("/v1/queues", get(queues))
        .route("/v1/pfc", get(pfc))
        .route("/v1/counters", get(counters))
        .route("/v1/levels", get(levels))
        .route("/v1/deadlocks", get(deadlocks))
        .route("/v1/deadlocks/{id}", get(flight))
        .route("/v1/events", get(events))
        .route("/v1/history", get(history))
        .route("/v1/neighbors", get(neighbours))
        .route("/v1/flows", get(flows))
        .route("/v1/audit", get(books))
        .route("/v1/overview", get(whole))
        .merge(routes::router())
        .merge(reload::router())
        .merge(restart::router())
        .merge(capture::router())
        .route(PFCWD, get(watchdog).put(set_watchdog))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(shared)
}

/// Makes the socket at `path`, readable and writable for owner and group: `group` by name, or the process's
/// own. A socket that is there already is taken away: the caller holds the run directory's lock, so nobody
/// listens on it.
///
/// # Errors
///
/// When something else than a socket is at `path`, the directory cannot be written, or there is no such group
/// or it may not be given the socket.
pub fn listen(path: &Path, group: Option<&str>) -> io::Result<UnixListener> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => std::fs::remove_file(path)?,
        Ok(_) => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "a file that is not a socket is in the way",
            ))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    // Before the group may write: it is the one that is meant then.
    if let Some(group) = group {
        std::os::unix::fs::chown(path, None, Some(roles::group_id(group)?))?;
    }
    std::fs::set_permissions(path, Permissions::from_mode(0o660))?;
    Ok(listener)
}

/// Serves until the daemon ends and the last answer is out.
///
/// # Errors
///
/// When the listener fails for good.
pub async fn serve(listener: UnixListener, shared: Arc<Shared>) -> io::Result<()> {
    let router = router(Arc::clone(&shared));
    serve_routes(listener, shared, router).await
}

/// The same for those who may look and change nothing; `full` is where changes are taken.
///
/// # Errors
///
/// When the listener fails for good.
pub async fn serve_readers(
    listener: UnixListener,
    shared: Arc<Shared>,
    full: &Path,
) -> io::Result<()> {
    let router = roles::reading_only(router(Arc::clone(&shared)), full);
    serve_routes(listener, shared, router).await
}

async fn serve_routes(
    listener: UnixListener,
    shared: Arc<Shared>,
    router: Router,
) -> io::Result<()> {
    let ending = async move { shared.life.ending().await };
    http::serve(listener, Limits::DEFAULT, router, ending).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct EventQuery {
    after: u64,
    wait_seconds: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HistoryQuery {
    after: u64,
}

async fn status(State(shared): State<Arc<Shared>>) -> Json<Status> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::status(&shared, &snapshot))
}

async fn ports(State(shared): State<Arc<Shared>>) -> Json<Vec<Port>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::ports(&shared, &snapshot))
}

async fn queues(State(shared): State<Arc<Shared>>) -> Json<Vec<Queue>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::queues(&shared.info, &snapshot))
}

async fn pfc(State(shared): State<Arc<Shared>>) -> Json<Vec<Pfc>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::pfc(&shared.info, &snapshot))
}

async fn counters(State(shared): State<Arc<Shared>>) -> Json<Vec<Counters>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::counters(&shared, &snapshot))
}

async fn levels(State(shared): State<Arc<Shared>>) -> Json<Levels> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(levels::levels(&shared.info, &snapshot))
}

async fn deadlocks(State(shared): State<Arc<Shared>>) -> Json<Deadlocks> {
    Json(flights::deadlocks(&shared))
}

async fn flight(
    State(shared): State<Arc<Shared>>,
    id: Result<UrlPath<u64>, PathRejection>,
) -> Result<Json<FlightRecord>, ApiError> {
    let UrlPath(id) = id?;
    let record = flights::record(&shared, id).map_err(|missing| ApiError {
        status: StatusCode::NOT_FOUND,
        error: missing.to_string(),
    })?;
    Ok(Json(record))
}

async fn events(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<EventQuery>, QueryRejection>,
) -> Result<Json<EventPage>, ApiError> {
    let Query(EventQuery {
        after,
        wait_seconds,
    }) = query?;
    if wait_seconds.is_nan() || wait_seconds < 0.0 {
        return Err(ApiError::bad_request(format!(
            "wait_seconds must be a number from 0 to {WAIT_SECONDS_MAX}, not {wait_seconds}"
        )));
    }
    let wait = Duration::from_secs_f64(wait_seconds.min(WAIT_SECONDS_MAX));
    tokio::select! {
        () = shared.records.events.wait_beyond(after) => {}
        () = shared.life.ending() => {}
        () = tokio::time::sleep(wait) => {}
    }
    Ok(Json(shared.records.events.page(after)))
}

async fn history(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Result<Json<History>, ApiError> {
    let Query(HistoryQuery { after }) = query?;
    Ok(Json(shared.records.history.to_api(&shared.info, after)))
}

async fn neighbours(State(shared): State<Arc<Shared>>) -> Json<Vec<Neighbor>> {
    Json(neighbors::neighbors(&shared))
}

async fn flows(State(shared): State<Arc<Shared>>) -> Result<Json<Flows>, ApiError> {
    let wanted = Tables {
        flows: true,
        ..Tables::NONE
    };
    let snapshot = shared
        .dataplane
        .inspect(wanted)
        .await
        .ok_or_else(ApiError::silence)?;
    Ok(Json(flows::flows(&shared.info, &snapshot)))
}

async fn books(State(shared): State<Arc<Shared>>) -> Result<Json<Audit>, ApiError> {
    let wanted = Tables {
        accounts: true,
        ..Tables::NONE
    };
    let snapshot = shared
        .dataplane
        .inspect(wanted)
        .await
        .ok_or_else(ApiError::silence)?;
    let names = shared.info.ports.iter().map(|port| port.name.as_str());
    Ok(Json(audit::audit(names, &snapshot)))
}

async fn whole(State(shared): State<Arc<Shared>>) -> Json<Overview> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(overview::overview(&shared, &snapshot))
}

async fn watchdog(State(shared): State<Arc<Shared>>) -> Json<Pfcwd> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(pfcwd::pfcwd(&shared.info, &snapshot))
}

async fn set_watchdog(
    State(shared): State<Arc<Shared>>,
    change: Result<Json<PfcwdChange>, JsonRejection>,
) -> Result<Json<Pfcwd>, ApiError> {
    let Json(change) = change?;
    Ok(Json(pfcwd::change(&shared, &change).await?))
}

async fn not_found(uri: Uri) -> ApiError {
    ApiError {
        status: StatusCode::NOT_FOUND,
        error: format!(
            "no such path: {}; paths: /v1/status, /v1/ports, /v1/queues, /v1/pfc, /v1/levels, \
             /v1/deadlocks, /v1/deadlocks/ID, /v1/events, /v1/history, /v1/neighbors, /v1/routes, \
             /v1/flows, /v1/captures, /v1/audit, /v1/overview, /v1/pfcwd, /v1/reload and /v1/restart",
            uri.path()
        ),
    }
}

async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    ApiError {
        status: StatusCode::METHOD_NOT_ALLOWED,
        error: format!(
            "{} supports {}, not {method}",
            uri.path(),
            methods(uri.path())
        ),
    }
}

/// What a path that exists answers.
fn methods(path: &str) -> &'static str {
    match path.strip_prefix("/v1/routes/") {
        None if path == PFCWD => "GET and PUT",
        None if path == reload::PATH => "POST",
        None if path == "/v1/captures" => "GET and POST",
        None if path.starts_with("/v1/captures/") => "DELETE",
        None => "GET",
        Some(rest) if rest.contains("/buckets/") => "PUT",
        Some(rest) if rest.contains("/pins/") => "PUT and DELETE",
        Some(_) => "GET, PUT and DELETE",
    }
}

/// An answer with a 4xx or 5xx status.
#[derive(Debug)]
struct ApiError {
    status: StatusCode,
    error: String,
}

impl ApiError {
    fn bad_request(error: String) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            error,
        }
    }

    /// The dataplane did not answer in time.
    fn silence() -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            error: "the dataplane does not answer; the change may still be applied".to_owned(),
        }
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        Self::bad_request(rejection.body_text())
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad_request(rejection.body_text())
    }
}

impl From<PathRejection> for ApiError {
    fn from(rejection: PathRejection) -> Self {
        Self::bad_request(rejection.body_text())
    }
}

impl From<PfcwdError> for ApiError {
    fn from(error: PfcwdError) -> Self {
        Self {
            status: match error {
                PfcwdError::Illegal(_) => StatusCode::BAD_REQUEST,
                PfcwdError::NotTaken => StatusCode::SERVICE_UNAVAILABLE,
            },
            error: error.to_string(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(Error { error: self.error })).into_response()
    }
}
