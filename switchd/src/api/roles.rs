//! Access rights: clients that can open the API's socket may make changes. Others may get a read-only socket.

use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::Router;
use nix::unistd::Group;

use super::ApiError;
use crate::os::user::or_none;

/// Route that predicts the treatment of a frame.
const TRACE: &str = "/v1/trace";

/// Restricts `router` to its read-only routes: changes, and captures, which reveal the traffic of
/// others, are refused with a reference to `full`.
pub(super) fn reading_only(router: Router, full: &Path) -> Router {
    let full: Arc<str> = full.display().to_string().into();
    router.layer(middleware::from_fn_with_state(full, refuse_changes))
}

async fn refuse_changes(State(full): State<Arc<str>>, request: Request, next: Next) -> Response {
    // A trace uses POST but changes nothing.
    let is_trace = request.method() == Method::POST && request.uri().path() == TRACE;
    if is_trace || matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let error = format!(
        "this socket is read-only: {} {} needs {full}, open to members of its group",
        request.method(),
        request.uri().path()
    );
    let status = StatusCode::FORBIDDEN;
    ApiError { status, error }.into_response()
}

pub(super) fn group_id(name: &str) -> io::Result<u32> {
    match or_none(Group::from_name(name))? {
        Some(group) => Ok(group.gid.as_raw()),
        None => Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("no such group: `{name}`; create it with `groupadd --system {name}`"),
        )),
    }
}
