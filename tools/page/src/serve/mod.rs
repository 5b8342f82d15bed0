//! The page: built-in files, the state as JSON and as a stream of events, and targets for Prometheus. Only `GET` is
//! answered. The state is computed once for all viewers.

mod targets;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State as Extract;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::{watch, Semaphore};
use tokio_stream::wrappers::WatchStream;
use tokio_stream::StreamExt;
use weir_http::guard::{refuse, Names};
use weir_http::page::{files, read_only};
use weir_http::Limits;

use crate::model::state::State;

pub use targets::Targets;

/// Maximum number of concurrent streams.
pub const VIEWERS_MAX: usize = 64;
/// Limits of the listener. A stream is a connection for hours; besides all of them there is room for the page, its files and
/// Prometheus. A viewer that does not read for this long is disconnected.
const LIMITS: Limits = Limits {
    connections: VIEWERS_MAX + 32,
    connections_of_a_peer: VIEWERS_MAX + 16,
    silence: Duration::from_secs(20),
    ..Limits::DEFAULT
};

const PAGE: &str = include_str!("../../assets/page.html");
const STYLE: &str = concat!(
    include_str!("../../../../crates/http/assets/base.css"),
    include_str!("../../assets/fabric.css"),
);
const SCRIPT: &str = concat!(
    include_str!("../../../../crates/http/assets/elements.js"),
    include_str!("../../assets/picture.js"),
    include_str!("../../assets/incidents.js"),
    include_str!("../../assets/page.js"),
);

/// State shared by all viewers.
#[derive(Clone, Debug, Default)]
struct Shown {
    state: Bytes,
    event: Bytes,
    targets: Bytes,
}

/// Publishes the shown state.
pub struct Publisher(watch::Sender<Shown>);

impl Default for Publisher {
    fn default() -> Self {
        Self(watch::Sender::new(Shown::default()))
    }
}

impl Publisher {
    /// Returns the page that shows it.
    pub fn page(&self) -> Page {
        Page {
            shown: self.0.subscribe(),
            viewers: Arc::new(Semaphore::new(VIEWERS_MAX)),
        }
    }

    /// Publishes a state to all viewers.
    ///
    /// # Errors
    ///
    /// When it cannot be serialised, as with invalid numbers.
    pub fn publish(&self, state: &State, targets: &Targets) -> serde_json::Result<()> {
        let state = serde_json::to_string(state)?;
        let event = format!("event: state\ndata: {state}\n\n");
        self.0.send_replace(Shown {
            state: state.into(),
            event: event.into(),
            targets: targets.json().into(),
        });
        Ok(())
    }
}

/// Source of the served data.
#[derive(Clone)]
pub struct Page {
    shown: watch::Receiver<Shown>,
    viewers: Arc<Semaphore>,
}

/// Serves until the task ends.
///
/// # Errors
///
/// When the listener fails permanently.
pub async fn serve(listener: TcpListener, page: Page, names: Names) -> io::Result<()> {
    weir_http::serve(
        listener,
        LIMITS,
        router(page, names),
        std::future::pending(),
    )
    .await
}

fn router(page: Page, names: Names) -> Router {
    let router = files(PAGE, STYLE, SCRIPT)
        .route("/state", get(show_state))
        .route("/events", get(stream))
        .route("/prometheus-sd", get(show_targets));
    read_only(router, names).with_state(page)
}

async fn show_state(Extract(page): Extract<Page>) -> Response {
    json(page.shown.borrow().state.clone())
}

async fn show_targets(Extract(page): Extract<Page>) -> Response {
    json(page.shown.borrow().targets.clone())
}

fn json(body: Bytes) -> Response {
    if body.is_empty() {
        return refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            "nothing is known yet; ask again in a second",
        );
    }
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

/// Streams each new state; a slow viewer misses intermediate ones.
async fn stream(Extract(page): Extract<Page>) -> Response {
    let Ok(place) = Arc::clone(&page.viewers).try_acquire_owned() else {
        let refusal = refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{VIEWERS_MAX} viewers have a stream, the most there are; /state has the same"),
        );
        return ([(RETRY_AFTER, "10")], refusal).into_response();
    };
    let events = WatchStream::new(page.shown).map(move |shown| {
        let _place = &place;
        Ok::<_, Infallible>(shown.event)
    });
    (
        [(CONTENT_TYPE, "text/event-stream")],
        Body::from_stream(events),
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_comes_from_elsewhere_and_nothing_is_run_from_text() {
        for text in [PAGE, STYLE, SCRIPT] {
            let without_names = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!without_names.contains("://"));
            for danger in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "eval(",
                "document.write",
                " on",
                "@import",
            ] {
                let found = match danger {
                    " on" => PAGE.contains(" onclick") || PAGE.contains(" onload"),
                    danger => text.contains(danger),
                };
                assert!(!found, "{danger}");
            }
        }
    }

    #[test]
    fn colours_that_are_used_are_declared() {
        let mut used = 0;
        for part in STYLE.split("var(--").skip(1) {
            let name = part.split([')', ',']).next().unwrap();
            assert!(STYLE.contains(&format!("--{name}:")), "--{name}");
            used += 1;
        }
        assert!(used > 20);
    }
}
