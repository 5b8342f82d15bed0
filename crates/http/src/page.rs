//! What pages for browsers have in common: files that are built in, a router that shows and changes nothing.
//!
//! `assets/base.css` and `assets/elements.js` are the beginning of each page's own style and script.

use std::sync::Arc;

use axum::http::header::CONTENT_TYPE;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{get, MethodRouter};
use axum::Router;

use crate::guard::{guard, refuse, Names};

/// What a browser shows in its tab.
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

/// `router` for those who ask by an address or one of `names`, and only with `GET`; whatever else is asked is told what to do.
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
