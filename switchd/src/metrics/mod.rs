//! Prometheus metrics: `GET /metrics` on a TCP address of the operator's choice.

mod collector;
pub mod definitions;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::Router;
use prometheus::{Registry, TextEncoder, TEXT_FORMAT};
use tokio::net::TcpListener;

use crate::api::listener::{Bounded, CONNECTIONS_MAX, SILENCE_MAX};
use crate::control::shared::Published;
use crate::control::Shared;
use collector::SnapshotCollector;

/// Takes the address.
///
/// # Errors
///
/// When it is taken or not one of this network namespace's.
pub async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves until the daemon ends and the last answer is out.
///
/// # Errors
///
/// When the listener fails for good.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let bounded = Bounded::new(listener, CONNECTIONS_MAX, SILENCE_MAX);
    let ending = Arc::clone(&shared);
    axum::serve(bounded, router(shared))
        .with_graceful_shutdown(async move { ending.ending().await })
        .await
}

/// The one route.
pub fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/metrics", get(scrape))
        .fallback(|| async { (StatusCode::NOT_FOUND, "the metrics are at /metrics\n") })
        .with_state(shared)
}

/// All metrics of `snapshot` in the text exposition format 0.0.4.
///
/// # Errors
///
/// When a family is not legal, which a test rules out.
pub fn render(shared: Arc<Shared>, snapshot: Arc<Published>) -> prometheus::Result<String> {
    let registry = Registry::new();
    registry.register(Box::new(SnapshotCollector::new(shared, snapshot)?))?;
    TextEncoder::new().encode_to_string(&registry.gather())
}

async fn scrape(State(shared): State<Arc<Shared>>) -> Response {
    let snapshot = shared.fresh_snapshot().await;
    match render(shared, snapshot) {
        Ok(text) => ([(CONTENT_TYPE, TEXT_FORMAT)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot render the metrics");
            (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response()
        }
    }
}
