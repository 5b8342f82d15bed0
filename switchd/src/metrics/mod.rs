//! Prometheus metrics: `GET /metrics` on a TCP address of the operator's choice.

mod collector;
pub mod histogram;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::header::{HeaderMap, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::Router;
use flate2::write::GzEncoder;
use flate2::Compression;
use prometheus::process_collector::ProcessCollector;
use prometheus::{Registry, TextEncoder, TEXT_FORMAT};
use tokio::net::TcpListener;

use crate::api::listener::{Bounded, CONNECTIONS_MAX, SILENCE_MAX};
use crate::control::shared::Published;
use crate::control::{clock, Shared};
use collector::SnapshotCollector;
use histogram::Histogram;

/// Bounds of the scrapes' times in nanoseconds: 0.5 ms to 1 s.
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
    let scraped = Arc::new(Scraped {
        shared,
        times: Mutex::new(Histogram::new(SCRAPE_BOUNDS)),
    });
    Router::new()
        .route("/metrics", get(scrape))
        .fallback(|| async { (StatusCode::NOT_FOUND, "the metrics are at /metrics\n") })
        .with_state(scraped)
}

/// All metrics of `snapshot` in the text exposition format 0.0.4, and how long `scrapes` took.
///
/// # Errors
///
/// When a family is not legal, which a test rules out.
pub fn render(
    shared: Arc<Shared>,
    snapshot: Arc<Published>,
    scrapes: Histogram,
) -> prometheus::Result<String> {
    let registry = Registry::new();
    registry.register(Box::new(SnapshotCollector::new(shared, snapshot, scrapes)?))?;
    registry.register(Box::new(ProcessCollector::for_self()))?;
    TextEncoder::new().encode_to_string(&registry.gather())
}

/// What is scraped, and how long that took so far.
struct Scraped {
    shared: Arc<Shared>,
    times: Mutex<Histogram>,
}

impl Scraped {
    fn times(&self) -> std::sync::MutexGuard<'_, Histogram> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn scrape(State(scraped): State<Arc<Scraped>>, request: HeaderMap) -> Response {
    let began = clock::now();
    let snapshot = scraped.shared.fresh_snapshot().await;
    let before = *scraped.times();
    let answer = match render(Arc::clone(&scraped.shared), snapshot, before) {
        Ok(text) => encode(text, &request),
        Err(error) => {
            tracing::error!(%error, "cannot render the metrics");
            (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response()
        }
    };
    let took = clock::now().saturating_since(began);
    scraped.times().observe(took.as_nanos());
    answer
}

/// Compressed for those who take that: Prometheus does.
fn encode(text: String, request: &HeaderMap) -> Response {
    let plain = [(CONTENT_TYPE, TEXT_FORMAT), (VARY, "accept-encoding")];
    if !takes_gzip(request) {
        return (plain, text).into_response();
    }
    match gzip(text.as_bytes()) {
        Ok(packed) => (plain, [(CONTENT_ENCODING, "gzip")], packed).into_response(),
        Err(_) => (plain, text).into_response(),
    }
}

/// True when the request names gzip without forbidding it (RFC 9110, section 12.5.3).
fn takes_gzip(request: &HeaderMap) -> bool {
    let offers = request.get_all(ACCEPT_ENCODING).iter();
    let mut offers = offers
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    offers.any(|offer| {
        let mut parts = offer.split(';').map(str::trim);
        let named = parts
            .next()
            .is_some_and(|coding| coding.eq_ignore_ascii_case("gzip"));
        let refused = parts
            .filter_map(|part| part.strip_prefix("q="))
            .any(|weight| weight.parse() == Ok(0.0));
        named && !refused
    })
}

fn gzip(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_where_it_is_taken() {
        for (value, takes) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("identity", false),
        ] {
            let mut request = HeaderMap::new();
            request.insert(ACCEPT_ENCODING, value.parse().unwrap());
            assert_eq!(takes_gzip(&request), takes, "{value}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
