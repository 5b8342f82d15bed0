//! Common parts of pages for browsers: built-in files, and a read-only router.
//!
//! `assets/base.css` and `assets/elements.js` are prepended to each page's own style and script.

use std::sync::Arc;

use axum::http::header::CONTENT_TYPE;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{get, MethodRouter};
use axum::Router;

use crate::guard::{guard, refuse, Names};

/// Icon of the browser's tab.
pub const ICON: &str = include_str!("../assets/icon.svg");

/// A page's files: the page itself, its style, its script, and [`ICON`].
pub fn files<S: Clone + Send + Sync + 'static>(
    page: &'static str,
    style: &'static str,
    script: &'static str,
) -> Router<S> {
    Router::new()
        .route("/", file("text/html; charset=utf-8", page))
        .route("/page.css", file("text/css; charset=utf-8", style))
        .route("/page.js", file("text/javascript; charset=utf-8", script))
        .route("/icon.svg", file("image/svg+xml", ICON))
}

fn file<S: Clone + Send + Sync + 'static>(
    kind: &'static str,
    text: &'static str,
) -> MethodRouter<S> {
    get(move || async move { ([(CONTENT_TYPE, kind)], text) })
}

/// Makes `router` read-only: for requests by an address or one of `names`, with `GET`; others are refused with a
/// remedy.
pub fn read_only<S: Clone + Send + Sync + 'static>(router: Router<S>, names: Names) -> Router<S> {
    router
        .fallback(|| async { refuse(StatusCode::NOT_FOUND, "not found; the page is at /") })
        .method_not_allowed_fallback(|| async {
            refuse(
                StatusCode::METHOD_NOT_ALLOWED,
                "read-only: only GET is allowed",
            )
        })
        .layer(middleware::from_fn_with_state(Arc::new(names), guard))
}
