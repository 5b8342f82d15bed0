//! Access by host name, and headers of every answer.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HeaderName, HOST};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::Json;
use weir_api::daemon::Error;

/// On every answer: only our own files, no framing, no guessing of types, no caching.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        axum::http::header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (axum::http::header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (axum::http::header::X_FRAME_OPTIONS, "DENY"),
    (axum::http::header::REFERRER_POLICY, "no-referrer"),
    (axum::http::header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Host names that are accepted, in addition to addresses and `localhost`.
///
/// A web site whose own name resolves to our address would share our origin in a browser, and could read everything
/// (DNS rebinding). Its requests carry its name; an address cannot be rebound.
#[derive(Clone, Debug)]
pub struct Names {
    names: Vec<String>,
    setting: &'static str,
}

impl Names {
    /// Creates the list, ignoring case; `setting` is where an operator sets the names.
    pub fn new(names: &[String], setting: &'static str) -> Self {
        Self {
            names: names.iter().map(|name| name.to_ascii_lowercase()).collect(),
            setting,
        }
    }

    /// Refuses a request whose `Host` header has none of these names.
    ///
    /// # Errors
    ///
    /// The answer with the remedy.
    fn admit(&self, headers: &HeaderMap) -> Result<(), Box<Response>> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if host.is_some_and(|host| self.has(host)) && hosts.next().is_none() {
            return Ok(());
        }
        let error = format!(
            "not served under that name; use the address, or list the name in {}",
            self.setting
        );
        Err(Box::new(refuse(StatusCode::MISDIRECTED_REQUEST, error)))
    }

    /// Returns true if `host`, as written in the header, is one of these names or an address.
    fn has(&self, host: &str) -> bool {
        let Some(name) = without_port(host) else {
            return false;
        };
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        if let Some(inside) = name
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            return inside.parse::<Ipv6Addr>().is_ok();
        }
        name == "localhost" || name.parse::<Ipv4Addr>().is_ok() || self.names.contains(&name)
    }
}

fn without_port(host: &str) -> Option<&str> {
    let end = if host.starts_with('[') {
        host.find(']')? + 1
    } else {
        host.find(':').unwrap_or(host.len())
    };
    let (name, port) = host.split_at(end);
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let legal = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    legal.then_some(name)
}

/// Refuses requests under foreign names, and sets [`HEADERS`] on every answer.
pub async fn guard(State(names): State<Arc<Names>>, request: Request, next: Next) -> Response {
    let mut response = known_host(State(names), request, next).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Refuses requests under foreign names.
pub async fn known_host(State(names): State<Arc<Names>>, request: Request, next: Next) -> Response {
    match names.admit(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => *refused,
    }
}

/// An answer with a problem and its remedy.
pub fn refuse(status: StatusCode, error: impl Into<String>) -> Response {
    let error = Error {
        error: error.into(),
    };
    (status, Json(error)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_known_names_are_accepted() {
        let names = Names::new(&["Leaf1.example.net".to_owned()], "page.names");
        for good in [
            "127.0.0.1:9465",
            "127.0.0.1",
            "192.0.2.7:80",
            "[::1]:9465",
            "[2001:db8::1]",
            "localhost:9465",
            "LOCALHOST",
            "leaf1.example.net:9465",
            "leaf1.example.net.",
        ] {
            assert!(names.has(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "evil.example:9465",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "leaf1.example.net.evil.example",
            "127.0.0.1:9465:1",
            "127.0.0.1@evil.example",
            "[::1",
            "[evil]",
            "::1",
            "127.0.0.1:",
            "2130706433",
        ] {
            assert!(!names.has(bad), "{bad}");
        }
    }
}
