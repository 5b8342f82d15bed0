//! The HTTP API on the daemon's Unix socket; its bodies are in [`weir_api::daemon`].
//!
//! Design: docs/src/internals/design/api.md.

mod audit;
pub mod capture;
mod ecn;
mod exports;
pub mod flights;
pub mod forwarding;
mod impair;
mod life;
pub mod neighbors;
pub mod overview;
pub mod pfcwd;
mod ports;
mod record;
mod roles;
pub mod views;

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path as UrlPath, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{on, MethodFilter, MethodRouter};
use axum::{Json, Router};
use serde::Deserialize;
use tokio::net::UnixListener;
use weir_api::audit::Audit;
use weir_api::counters::Counters;
use weir_api::daemon::{
    Buffers, Credits, Deadlocks, Error, EventPage, FlightRecord, Flows, History, Levels,
    PauseCounters, Pfc, Queue, Status, WatermarkClear, Watermarks,
};
use weir_api::neighbors::Neighbor;
use weir_api::overview::Overview;
use weir_api::pfcwd::{Pfcwd, PfcwdChange};
use weir_api::routes::{Endpoint, Route, ROUTES};
use weir_dataplane::tables::Tables;

use crate::control::Shared;
use forwarding::{fdb, flows, levels, mirrors, routes, trace, vlans};
use life::{reload, restart};
use pfcwd::PfcwdError;
use views::watermarks::ClearError;
use weir_http::{self as http, Limits};

/// Longest wait for an event; longer requests are cut to this.
pub const WAIT_SECONDS_MAX: f64 = 60.0;

static DOCUMENT: LazyLock<String> = LazyLock::new(weir_api::routes::openapi::json);

/// All routes of the table.
pub fn router(shared: Arc<Shared>) -> Router {
    let add = |router: Router<_>, route: &Route| router.route(route.path, handler(route));
    ROUTES
        .iter()
        .fold(Router::new(), add)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(shared)
}

fn handler(route: &Route) -> MethodRouter<Arc<Shared>> {
    let method = match route.method {
        weir_api::routes::Method::Get => MethodFilter::GET,
        weir_api::routes::Method::Put => MethodFilter::PUT,
        weir_api::routes::Method::Post => MethodFilter::POST,
        weir_api::routes::Method::Delete => MethodFilter::DELETE,
    };
    match route.endpoint {
        Endpoint::Status => on(method, status),
        Endpoint::Ports => on(method, ports::list),
        Endpoint::SetPort => on(method, ports::set),
        Endpoint::Queues => on(method, queues),
        Endpoint::Pfc => on(method, pfc),
        Endpoint::Credits => on(method, credits),
        Endpoint::PauseCounters => on(method, pause_counters),
        Endpoint::Buffers => on(method, buffers),
        Endpoint::Watermarks => on(method, watermarks),
        Endpoint::ClearWatermarks => on(method, clear_watermarks),
        Endpoint::Counters => on(method, counters),
        Endpoint::Levels => on(method, levels),
        Endpoint::Mirrors => on(method, mirrors::list),
        Endpoint::Exports => on(method, exports::show),
        Endpoint::Impairments => on(method, impair::list),
        Endpoint::Impair => on(method, impair::begin),
        Endpoint::EndImpairment => on(method, impair::end),
        Endpoint::Vlans => on(method, vlans::show),
        Endpoint::Fdb => on(method, fdb::show),
        Endpoint::FlushFdb => on(method, fdb::flush),
        Endpoint::Audit => on(method, books),
        Endpoint::Deadlocks => on(method, deadlocks),
        Endpoint::Deadlock => on(method, flight),
        Endpoint::Events => on(method, events),
        Endpoint::History => on(method, history),
        Endpoint::Neighbors => on(method, neighbours),
        Endpoint::Flows => on(method, flows),
        Endpoint::Overview => on(method, whole),
        Endpoint::Routes => on(method, routes::list),
        Endpoint::Route => on(method, routes::show),
        Endpoint::SetRoute => on(method, routes::set),
        Endpoint::RemoveRoute => on(method, routes::remove),
        Endpoint::MoveBucket => on(method, routes::move_bucket),
        Endpoint::PinFlow => on(method, routes::pin),
        Endpoint::UnpinFlow => on(method, routes::unpin),
        Endpoint::Pfcwd => on(method, watchdog),
        Endpoint::SetPfcwd => on(method, set_watchdog),
        Endpoint::Ecn => on(method, ecn::list),
        Endpoint::SetEcn => on(method, ecn::set),
        Endpoint::Captures => on(method, capture::list),
        Endpoint::BeginCapture => on(method, capture::begin),
        Endpoint::EndCapture => on(method, capture::end),
        Endpoint::Record => on(method, record::begin),
        Endpoint::Configuration => on(method, reload::running),
        Endpoint::ConfigurationHistory => on(method, reload::history),
        Endpoint::PastConfiguration => on(method, reload::past),
        Endpoint::Reload => on(method, reload::reload),
        Endpoint::ConfirmReload => on(method, reload::confirm),
        Endpoint::Restart => on(method, restart::restart),
        Endpoint::Trace => on(method, trace::trace),
        Endpoint::OpenApi => on(method, document),
    }
}

/// Makes the socket at `path`, readable and writable for owner and group. The group is `group`, or else the process's own.
/// An existing socket is removed: the caller holds the run directory's lock, so no process listens on it.
///
/// # Errors
///
/// When `path` exists and is not a socket, the directory is not writable, the group is unknown, or its ownership cannot be
/// set.
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
    // First the group, then its write permission.
    if let Some(group) = group {
        std::os::unix::fs::chown(path, None, Some(roles::group_id(group)?))?;
    }
    std::fs::set_permissions(path, Permissions::from_mode(0o660))?;
    Ok(listener)
}

/// Serves until the daemon ends and the last answer is sent.
///
/// # Errors
///
/// When the listener fails permanently.
pub async fn serve(listener: UnixListener, shared: Arc<Shared>) -> io::Result<()> {
    let router = router(Arc::clone(&shared));
    serve_routes(listener, shared, router).await
}

/// Serves clients with read-only access; `full` is the socket for changes.
///
/// # Errors
///
/// When the listener fails permanently.
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

async fn queues(State(shared): State<Arc<Shared>>) -> Json<Vec<Queue>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::queues(&shared.info, &snapshot))
}

async fn pfc(State(shared): State<Arc<Shared>>) -> Json<Vec<Pfc>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::pfc(&shared, &snapshot))
}

async fn pause_counters(State(shared): State<Arc<Shared>>) -> Json<Vec<PauseCounters>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::pauses::counters(&shared.info, &snapshot))
}

async fn credits(State(shared): State<Arc<Shared>>) -> Json<Vec<Credits>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::credits::credits(&shared, &snapshot))
}

async fn buffers(State(shared): State<Arc<Shared>>) -> Json<Buffers> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::buffers::buffers(&shared.info, &snapshot))
}

async fn watermarks(State(shared): State<Arc<Shared>>) -> Json<Watermarks> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::watermarks::watermarks(&shared, &snapshot))
}

async fn clear_watermarks(
    State(shared): State<Arc<Shared>>,
    clear: Result<Json<WatermarkClear>, JsonRejection>,
) -> Result<Json<Watermarks>, ApiError> {
    let Json(clear) = clear?;
    Ok(Json(views::watermarks::clear(&shared, &clear).await?))
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
    let snapshot = audit::with_accounts(&shared).await?;
    let names = shared.info.ports.iter().map(|port| port.name.as_str());
    Ok(Json(weir_dataplane::audit::audit(names, &snapshot)))
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

async fn document() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}

async fn not_found(uri: Uri) -> ApiError {
    let mut paths: Vec<String> = ROUTES.iter().map(Route::shown_path).collect();
    paths.dedup();
    ApiError {
        status: StatusCode::NOT_FOUND,
        error: format!("no such path: {}; paths: {}", uri.path(), paths.join(", ")),
    }
}

async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    let supported = weir_api::routes::methods(uri.path());
    let supported: Vec<&str> = supported.into_iter().map(|method| method.name()).collect();
    ApiError {
        status: StatusCode::METHOD_NOT_ALLOWED,
        error: format!(
            "{} supports {}, not {method}",
            uri.path(),
            listed(&supported)
        ),
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

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

impl From<ClearError> for ApiError {
    fn from(error: ClearError) -> Self {
        Self {
            status: match error {
                ClearError::NoSuchReader(_) | ClearError::ByItself => StatusCode::BAD_REQUEST,
                ClearError::NoSuchPort(_) => StatusCode::NOT_FOUND,
                ClearError::Silence => StatusCode::SERVICE_UNAVAILABLE,
            },
            error: error.to_string(),
        }
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
