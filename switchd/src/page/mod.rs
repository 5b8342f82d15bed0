//! The live page: the data of `switchctl` in a browser, on a separate TCP address. It is read-only. At most four snapshots
//! per second are taken of the dataplane, for any number of viewers.
//!
//! Design: docs/src/internals/design/api.md.

mod cache;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::Router;
use tokio::net::TcpListener;
use weir_api::timeline::Timeline;
use weir_http::guard::{refuse, Names};
use weir_http::{self as http, page, Cached, Limits};

use crate::api::flights;
use crate::api::overview::Overviews;
use crate::control::Shared;
use cache::Recent;

/// Limits of the listener: few, short requests, since an open page polls twice a second.
pub const LIMITS: Limits = Limits {
    connections: 32,
    connections_of_a_peer: 24,
    silence: Duration::from_secs(15),
    ..Limits::DEFAULT
};
/// Setting with the host names under which the page may be requested.
pub const NAMES_SETTING: &str = "page.names";
const CURVE_SPAN: weir_core::Duration = weir_core::Duration::from_secs(60);
/// at most at this many moments.
pub const CURVE_POINTS: u64 = 120;
/// Minimum interval between requests, which are sent when a page is opened or shown again.
const CURVE_INTERVAL: Duration = Duration::from_secs(1);

const PAGE: &str = include_str!("../../assets/page.html");
const STYLE: &str = concat!(
    include_str!("../../../crates/http/assets/base.css"),
    include_str!("../../assets/page.css"),
);
/// One script from several files, one per topic.
const SCRIPT: &str = concat!(
    include_str!("../../../crates/http/assets/elements.js"),
    include_str!("../../assets/sentences.js"),
    include_str!("../../assets/picture.js"),
    include_str!("../../assets/find.js"),
    include_str!("../../assets/axis.js"),
    include_str!("../../assets/timeline.js"),
    include_str!("../../assets/card.js"),
    include_str!("../../assets/rates.js"),
    include_str!("../../assets/tables.js"),
    include_str!("../../assets/verdict.js"),
    include_str!("../../assets/page.js"),
);

/// Size of all served files, in bytes.
pub const BUNDLE_BYTES: usize = PAGE.len() + STYLE.len() + page::ICON.len() + SCRIPT.len();
/// The book promises a small page.
const _: () = assert!(BUNDLE_BYTES < 96 * 1024);

/// Address of the page, and the host names under which it may be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSettings {
    /// The address.
    pub listen: SocketAddr,
    /// Host names besides addresses and `localhost`.
    pub names: Vec<String>,
}

struct Page {
    shared: Arc<Shared>,
    overviews: Overviews,
    curves: Cached,
    timelines: Recent,
}

/// Serves until the daemon ends and the last answer is sent.
///
/// # Errors
///
/// When the listener fails permanently.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>, names: Names) -> io::Result<()> {
    let ending = Arc::clone(&shared);
    let ending = async move { ending.life.ending().await };
    http::serve(listener, LIMITS, router(shared, names), ending).await
}

/// Returns all routes.
pub fn router(shared: Arc<Shared>, names: Names) -> Router {
    let shown = Arc::new(Page {
        overviews: Overviews::new(Arc::clone(&shared)),
        shared,
        curves: Cached::new(CURVE_INTERVAL),
        timelines: Recent::default(),
    });
    let router = page::files(PAGE, STYLE, SCRIPT)
        .route("/overview", get(show_overview))
        .route("/curves", get(show_curves))
        .route("/timelines/{id}", get(show_timeline));
    page::read_only(router, names).with_state(shown)
}

async fn show_overview(State(page): State<Arc<Page>>) -> Response {
    page.overviews.answer().await
}

async fn show_curves(State(page): State<Arc<Page>>) -> Response {
    let make = async || {
        let history = &page.shared.records.history;
        serde_json::to_vec(&history.curves(&page.shared.info, CURVE_SPAN, CURVE_POINTS))
    };
    json(page.curves.get(make).await)
}

async fn show_timeline(
    State(page): State<Arc<Page>>,
    id: Result<Path<u64>, PathRejection>,
) -> Response {
    let Ok(Path(id)) = id else {
        return refuse(StatusCode::BAD_REQUEST, "a suspicion ID is a number");
    };
    // Checked first: a missing record costs nothing and evicts no other.
    if !page.shared.records.flights().has(id) {
        return refuse(
            StatusCode::NOT_FOUND,
            "no record of that suspicion; only the newest are kept",
        );
    }
    let made = page
        .timelines
        .get(id, || {
            let record = flights::record(&page.shared, id).ok()?;
            let body = serde_json::to_vec(&Timeline::from(&record)).ok()?;
            Some((body, record.complete))
        })
        .await;
    match made {
        Some(body) => json(Ok(body)),
        None => refuse(
            StatusCode::NOT_FOUND,
            "the record of that suspicion is no longer kept",
        ),
    }
}

fn json(body: serde_json::Result<axum::body::Bytes>) -> Response {
    match body {
        Ok(body) => ([(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot write JSON for the page");
            refuse(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_api::words::EventName;

    use super::*;

    #[test]
    fn every_kind_of_event_has_a_sentence() {
        let (_, after) = SCRIPT.split_once("const SENTENCES = {").unwrap();
        let (sentences, _) = after.split_once("\n};").unwrap();
        let told: Vec<&str> = sentences
            .lines()
            .filter_map(|line| line.trim().split_once(": (").map(|(kind, _)| kind))
            .collect();
        let all: Vec<&str> = EventName::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(told, all);
    }

    /// A meaning has the same colour here, in pictures, in the terminal and in Grafana.
    #[test]
    fn colours_are_those_of_pictures() {
        let (light, dark) = STYLE
            .split_once("@media (prefers-color-scheme: dark)")
            .unwrap();
        for meaning in weir_svg::meaning::MEANINGS {
            for (style, colour) in [(light, meaning.light), (dark, meaning.dark)] {
                let declared = format!("--{}: {colour};", meaning.name);
                assert!(style.contains(&declared), "{declared}");
            }
        }
    }

    #[test]
    fn nothing_comes_from_elsewhere() {
        for text in [PAGE, STYLE, SCRIPT] {
            let without_names = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!without_names.contains("://"));
        }
        assert!(!PAGE.contains("<script>") && !PAGE.contains("style="));
    }
}
