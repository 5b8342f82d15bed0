//! Prometheus metrics: `GET /metrics` on a configurable TCP address, as OpenMetrics for clients that prefer it.
//!
//! Design: docs/src/internals/design/api.md.

mod collector;
mod credits;
mod families;
pub mod gnmi;
mod guesses;
mod negotiation;
mod openmetrics;
mod pools;
mod priorities;
pub mod protection;

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::header::{HeaderMap, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::Listener;
use axum::{middleware, Router};
use flate2::write::GzEncoder;
use flate2::Compression;
use prometheus::process_collector::ProcessCollector;
use prometheus::{Registry, TextEncoder};
use tokio::net::TcpListener;
use weir_dataplane::histogram::Histogram;
use weir_http::guard::{known_host, Names};
use weir_http::{self as http, Limits, Peer};

use crate::api::overview::Overviews;
use crate::control::shared::Published;
use crate::control::Shared;
use crate::model::clock;
use collector::SnapshotCollector;
use negotiation::takes_gzip;
use protection::{Gate, Protection, TlsListener, Token};

pub use negotiation::Format;

/// Setting with the names under which the metrics may be requested without a token.
const NAMES_SETTING: &str = "metrics.names";
/// Bounds of the scrape durations in nanoseconds: 0.5 ms to 1 s.
const SCRAPE_BOUNDS: &[u64] = &[
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
];

/// Serves until the daemon ends and the last answer is sent.
///
/// # Errors
///
/// When the listener fails permanently.
pub async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    protection: Protection,
) -> io::Result<()> {
    let Protection { tls, token, names } = protection;
    let router = guarded(&shared, token, &names);
    match tls {
        Some(acceptor) => serve_on(TlsListener::new(listener, acceptor), shared, router).await,
        None => serve_on(listener, shared, router).await,
    }
}

/// Protects the routes. With a token, clients must send it; without one, they must use a known host name, so that no web
/// site can make a browser read the metrics (DNS rebinding).
fn guarded(shared: &Arc<Shared>, token: Option<Token>, names: &[String]) -> Router {
    let router = router(Arc::clone(shared));
    let Some(token) = token else {
        let names = Arc::new(Names::new(names, NAMES_SETTING));
        return router.layer(middleware::from_fn_with_state(names, known_host));
    };
    let gate = Gate {
        token,
        shared: Arc::clone(shared),
    };
    router
        .merge(overview_router(Arc::clone(shared)))
        .layer(middleware::from_fn_with_state(gate, protection::guard))
}

async fn serve_on<L>(listener: L, shared: Arc<Shared>, router: Router) -> io::Result<()>
where
    L: Listener,
    L::Addr: Peer + std::fmt::Debug,
{
    let ending = shared;
    let ending = async move { ending.life.ending().await };
    http::serve(listener, Limits::DEFAULT, router, ending).await
}

/// Routes that need no protection.
pub fn router(shared: Arc<Shared>) -> Router {
    let scraped = Arc::new(Scraped {
        shared,
        times: Mutex::new(Histogram::new(SCRAPE_BOUNDS)),
    });
    Router::new()
        .route("/metrics", get(scrape))
        .fallback(|| async { (StatusCode::NOT_FOUND, "metrics are at /metrics\n") })
        .with_state(scraped)
}

/// Renders all metrics of `snapshot`; `scrapes` has the durations of scrapes.
///
/// # Errors
///
/// When a family is invalid, which a test rules out.
pub fn render(
    shared: Arc<Shared>,
    snapshot: Arc<Published>,
    scrapes: Histogram,
    format: Format,
) -> prometheus::Result<String> {
    let registry = Registry::new();
    registry.register(Box::new(SnapshotCollector::new(shared, snapshot, scrapes)?))?;
    registry.register(Box::new(ProcessCollector::for_self()))?;
    let families = registry.gather();
    match format {
        Format::Text => TextEncoder::new().encode_to_string(&families),
        Format::OpenMetrics => openmetrics::encode(&families),
    }
}

/// Source of scrapes, and their durations so far.
struct Scraped {
    shared: Arc<Shared>,
    times: Mutex<Histogram>,
}

impl Scraped {
    fn times(&self) -> std::sync::MutexGuard<'_, Histogram> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves the overview for fabric pages, which needs the token; the page's own listener serves it without TLS only. It is
/// not served here without a token, so that no web site can make a browser read it from the loopback address.
fn overview_router(shared: Arc<Shared>) -> Router {
    async fn show(State(overviews): State<Arc<Overviews>>) -> Response {
        overviews.answer().await
    }
    Router::new()
        .route("/overview", get(show))
        .with_state(Arc::new(Overviews::new(shared)))
}

async fn scrape(State(scraped): State<Arc<Scraped>>, request: HeaderMap) -> Response {
    let began = clock::now();
    let snapshot = scraped.shared.dataplane.fresh_snapshot().await;
    let before = *scraped.times();
    let format = Format::accepted(&request);
    let answer = match render(Arc::clone(&scraped.shared), snapshot, before, format) {
        Ok(text) => encode(text, format, &request),
        Err(error) => {
            tracing::error!(%error, "cannot render the metrics");
            (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response()
        }
    };
    let took = clock::now().saturating_since(began);
    scraped.times().observe(took.as_nanos());
    answer
}

/// Compresses for clients that accept it, such as Prometheus.
fn encode(text: String, format: Format, request: &HeaderMap) -> Response {
    let plain = [
        (CONTENT_TYPE, format.content_type()),
        (VARY, "accept, accept-encoding"),
    ];
    if !takes_gzip(request) {
        return (plain, text).into_response();
    }
    match gzip(text.as_bytes()) {
        Ok(packed) => (plain, [(CONTENT_ENCODING, "gzip")], packed).into_response(),
        Err(_) => (plain, text).into_response(),
    }
}

fn gzip(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}
