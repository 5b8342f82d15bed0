//! The routes of the daemon's API, in one table: the daemon's dispatch, the OpenAPI document and the book are derived
//! from it.

pub mod book;
mod content;
pub mod openapi;
mod parameters;
mod table;

pub use content::{Answer, Content};
pub use parameters::{Kind, Parameter, Place};
pub use table::ROUTES;

/// Version of the API in the OpenAPI document. Within `/v1` the first number stays: the second counts additions, the
/// third corrections of the document.
pub const VERSION: &str = "1.2.0";

/// Prefix of all paths of this version.
pub const PREFIX: &str = "/v1/";

/// Handler of a request. One for each row of [`ROUTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // described by the rows
pub enum Endpoint {
    Status,
    Ports,
    SetPort,
    Queues,
    Pfc,
    PauseCounters,
    Credits,
    Buffers,
    Watermarks,
    ClearWatermarks,
    Counters,
    Levels,
    Mirrors,
    Exports,
    Impairments,
    Impair,
    EndImpairment,
    /// [`Vlans`](crate::daemon::Vlans).
    Vlans,
    Fdb,
    FlushFdb,
    Audit,
    Deadlocks,
    Deadlock,
    Events,
    History,
    Neighbors,
    Flows,
    Overview,
    Routes,
    Route,
    SetRoute,
    RemoveRoute,
    MoveBucket,
    PinFlow,
    UnpinFlow,
    Pfcwd,
    SetPfcwd,
    Ecn,
    SetEcn,
    Captures,
    BeginCapture,
    EndCapture,
    Record,
    Configuration,
    ConfigurationHistory,
    PastConfiguration,
    Reload,
    ConfirmReload,
    Restart,
    Trace,
    OpenApi,
}

/// Request methods in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Sets.
    Put,
    /// Creates or starts.
    Post,
    /// Removes.
    Delete,
}

impl Method {
    /// Name in a request.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// One request and its answers.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Its handler.
    pub endpoint: Endpoint,
    /// Its method.
    pub method: Method,
    /// Its path, with parameters in braces.
    pub path: &'static str,
    /// Short description.
    pub summary: &'static str,
    /// Parameters in the path and the query.
    pub parameters: &'static [Parameter],
    /// JSON body of the request.
    pub body: Option<Content>,
    /// The answer with status 200.
    pub answer: Answer,
    /// Statuses of refusals, which have an [`Error`](crate::daemon::Error).
    pub refusals: &'static [u16],
    /// Commands of `switchctl` that use it.
    pub commands: &'static [&'static str],
}

impl Route {
    /// The path in the book and in messages: `/v1/deadlocks/ID`.
    pub fn shown_path(&self) -> String {
        let parts = self.path.split('/').map(|part| match parameter(part) {
            Some(name) => name.to_uppercase(),
            None => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join("/")
    }

    /// The query in the book: `?after=AFTER&wait_seconds=WAIT_SECONDS`; empty if there is none.
    pub fn query(&self) -> String {
        let of_query = |parameter: &&Parameter| parameter.place == Place::Query;
        let parameters = self.parameters.iter().filter(of_query).map(|parameter| {
            let name = parameter.name;
            format!("{name}={}", name.to_uppercase())
        });
        let parameters: Vec<String> = parameters.collect();
        match parameters.is_empty() {
            true => String::new(),
            false => format!("?{}", parameters.join("&")),
        }
    }

    /// Returns true for a request for `path`.
    pub fn matches(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        let are_equal = self.path.split('/').all(|own| {
            let part = parts.next();
            part.is_some_and(|part| part == own || parameter(own).is_some())
        });
        are_equal && parts.next().is_none()
    }

    /// Meaning of a refusal with `status`.
    pub const fn refusal(status: u16) -> &'static str {
        match status {
            400 => "The request is not valid.",
            403 => "The socket is read-only.",
            404 => "What the path names does not exist.",
            409 => "The switch's state does not allow it.",
            503 => "The dataplane does not answer.",
            _ => "The daemon failed.",
        }
    }
}

/// The parameter's name, if a part of a path is one.
fn parameter(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

/// The methods that `path` supports; empty for a path that does not exist.
pub fn methods(path: &str) -> Vec<Method> {
    let of_path = ROUTES.iter().filter(|route| route.matches(path));
    of_path.map(|route| route.method).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_matches_only_its_route() {
        assert_eq!(
            methods("/v1/routes/02:00:00:00:00:01"),
            [Method::Get, Method::Put, Method::Delete]
        );
        assert_eq!(
            methods("/v1/routes/a/pins/b"),
            [Method::Put, Method::Delete]
        );
        assert_eq!(methods("/v1/restart"), [Method::Post]);
        for path in ["/v1", "/v1/", "/v1/routes/a/pins", "/v1/status/"] {
            assert_eq!(methods(path), [], "{path}");
        }
    }

    #[test]
    fn every_route_is_unique_and_describes_its_path_parameters() {
        for (index, route) in ROUTES.iter().enumerate() {
            assert!(route.path.starts_with(PREFIX), "{}", route.path);
            for other in &ROUTES[..index] {
                assert_ne!(route.endpoint, other.endpoint);
                assert_ne!((route.method, route.path), (other.method, other.path));
            }
            let named: Vec<&str> = route.path.split('/').filter_map(parameter).collect();
            let of_path = |parameter: &&Parameter| parameter.place == Place::Path;
            let described = route.parameters.iter().filter(of_path);
            let described: Vec<&str> = described.map(|parameter| parameter.name).collect();
            assert_eq!(named, described, "{}", route.path);
        }
        let major = VERSION.split('.').next().unwrap();
        assert_eq!(PREFIX, format!("/v{major}/"));
    }
}
