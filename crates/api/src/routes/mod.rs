//! The routes of the daemon's API, in one table: the daemon's dispatch, the OpenAPI document and the book follow from it.

pub mod book;
mod content;
pub mod openapi;
mod parameters;
mod table;

pub use content::{Answer, Content};
pub use parameters::{Kind, Parameter, Place};
pub use table::ROUTES;

/// The version of the API, as the OpenAPI document has it. Within `/v1` the first number stays: the second counts additions,
/// the third corrections of the document.
pub const VERSION: &str = "1.2.0";

/// What all paths of this version begin with.
pub const PREFIX: &str = "/v1/";

/// What answers a request. One for each row of [`ROUTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the row says what each does
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

/// The methods in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Shows.
    Get,
    /// Sets.
    Put,
    /// Begins.
    Post,
    /// Takes away.
    Delete,
}

impl Method {
    /// As in a request.
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
    /// What answers it.
    pub endpoint: Endpoint,
    /// Its method.
    pub method: Method,
    /// Its path, with parameters in braces.
    pub path: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// What it takes in the path and behind `?`.
    pub parameters: &'static [Parameter],
    /// The JSON that it takes.
    pub body: Option<Content>,
    /// The answer with status 200.
    pub answer: Answer,
    /// Statuses of refusals, whose answer is an [`Error`](crate::daemon::Error).
    pub refusals: &'static [u16],
    /// The commands of `switchctl` that ask for it.
    pub commands: &'static [&'static str],
}

impl Route {
    /// The path as the book and messages write it: `/v1/deadlocks/ID`.
    pub fn shown_path(&self) -> String {
        let parts = self.path.split('/').map(|part| match parameter(part) {
            Some(name) => name.to_uppercase(),
            None => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join("/")
    }

    /// What may stand behind the path: `?after=AFTER&wait_seconds=WAIT_SECONDS`; empty where nothing may.
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

    /// True for a request for `path`.
    pub fn matches(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        let are_equal = self.path.split('/').all(|own| {
            let part = parts.next();
            part.is_some_and(|part| part == own || parameter(own).is_some())
        });
        are_equal && parts.next().is_none()
    }

    /// What a refusal with `status` means.
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

/// The parameter that a part of a path is.
fn parameter(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

/// The methods that `path` supports; none for a path that does not exist.
pub fn methods(path: &str) -> Vec<Method> {
    let of_path = ROUTES.iter().filter(|route| route.matches(path));
    of_path.map(|route| route.method).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_matches_its_route_only() {
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
    fn every_route_is_there_once_and_describes_what_is_in_its_path() {
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
