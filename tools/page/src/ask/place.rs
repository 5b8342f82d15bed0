//! The place at which a switch is asked.

use std::fmt;
use std::path::PathBuf;

use url::{Host, Url};

/// A socket of this machine, or a listener elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The API's socket.
    Socket(PathBuf),
    /// Listener of the daemon's page, or of its metrics.
    Listener(Listener),
}

/// A listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The given URL.
    pub url: Url,
    /// True for TLS.
    pub tls: bool,
    /// Host, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Requested path.
    pub path: String,
}

/// Reason for which a text is not a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// It is neither a URL nor a path.
    #[error("`{0}` is not the place of a switch; give the URL of its page or metrics, such as http://192.0.2.11:9465 or https://192.0.2.11:9464, or the path of its API socket")]
    NoUrl(String),
    /// It contains credentials.
    #[error("`{0}` has a password or a query in it; give a token by --token-file")]
    Secrets(String),
}

impl Place {
    /// Parses a URL or a path.
    ///
    /// # Errors
    ///
    /// When it is neither.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        if text.starts_with('/') {
            return Ok(Self::Socket(PathBuf::from(text)));
        }
        let wrong = || PlaceError::NoUrl(text.to_owned());
        let url = Url::parse(text).map_err(|_| wrong())?;
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(wrong()),
        };
        let hidden = !url.username().is_empty() || url.password().is_some();
        if hidden || url.query().is_some() || url.fragment().is_some() {
            return Err(PlaceError::Secrets(
                url.host_str().unwrap_or_default().to_owned(),
            ));
        }
        let host = match url.host().ok_or_else(wrong)? {
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        let base = url
            .path()
            .trim_end_matches('/')
            .trim_end_matches("/metrics");
        Ok(Self::Listener(Listener {
            tls,
            host,
            port: url.port_or_known_default().ok_or_else(wrong)?,
            path: format!("{base}/overview"),
            url,
        }))
    }
}

impl Listener {
    /// Returns host and port as in a URL.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Listener(listener) => {
                write!(f, "{}", listener.url.as_str().trim_end_matches('/'))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_paths_are_places() {
        let listener = |text: &str| match Place::parse(text).unwrap() {
            Place::Listener(listener) => (listener.tls, listener.authority(), listener.path),
            Place::Socket(path) => panic!("{}", path.display()),
        };
        for (text, tls, authority, path) in [
            (
                "http://192.0.2.11:9465",
                false,
                "192.0.2.11:9465",
                "/overview",
            ),
            (
                "https://leaf1.example.net:9464/metrics",
                true,
                "leaf1.example.net:9464",
                "/overview",
            ),
            ("https://proxy/leaf1/", true, "proxy:443", "/leaf1/overview"),
            (
                "http://[2001:db8::1]:9465/",
                false,
                "[2001:db8::1]:9465",
                "/overview",
            ),
        ] {
            assert_eq!(
                listener(text),
                (tls, authority.to_owned(), path.to_owned()),
                "{text}"
            );
        }
        let socket = Place::parse("/run/weir/s1/api.sock").unwrap();
        assert_eq!(socket, Place::Socket("/run/weir/s1/api.sock".into()));
    }

    #[test]
    fn what_is_no_place_is_refused_without_telling_a_password() {
        for text in [
            "",
            "192.0.2.11:9465",
            "ftp://h/",
            "javascript:alert(1)",
            "s1",
            "http://",
        ] {
            assert!(
                matches!(Place::parse(text), Err(PlaceError::NoUrl(_))),
                "{text}"
            );
        }
        let error = Place::parse("http://me:hunter2@h:1/")
            .unwrap_err()
            .to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
