//! The switches named on the command line and in a list file.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use url::Url;

use super::place::{Place, PlaceError};
use crate::model::fabric::SWITCHES_MAX;
use crate::model::text::{cut, NAME_MAX};

/// A listed switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name on the page.
    pub name: String,
    /// Place at which it is asked.
    pub place: Place,
    /// Its own page, if known.
    pub page: Option<Url>,
    /// Address of its metrics for Prometheus, if known: `HOST:PORT`.
    pub metrics: Option<String>,
    /// True if its metrics use TLS.
    pub metrics_tls: bool,
    /// File of its token, if separate.
    pub token_file: Option<PathBuf>,
}

/// Error in a list.
#[derive(Debug, thiserror::Error)]
pub enum RosterError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is not a valid list.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Error with line and column.
        reason: String,
    },
    /// A switch's place is invalid.
    #[error("switch `{name}`: {source}")]
    Place {
        /// Its name.
        name: String,
        /// Cause.
        source: PlaceError,
    },
    /// Its page is not a URL.
    #[error("switch `{0}`: page must be a URL that begins with http:// or https://")]
    Page(String),
    /// The name is invalid.
    #[error(
        "`{0}` cannot be a switch's name: it must have 1 to {NAME_MAX} characters, all printable"
    )]
    Name(String),
    /// A token would be sent without TLS.
    #[error("switch `{0}`: a token needs https; give the URL of its metrics' listener, or remove token-file")]
    Exposed(String),
    /// Two switches have the same name.
    #[error("two switches are called `{0}`; give each a different name")]
    Twice(String),
    /// There are too many switches.
    #[error("{0} switches are listed; one page has at most {SWITCHES_MAX}: start another weir-page for the rest")]
    TooMany(usize),
    /// The argument is not `NAME=PLACE`.
    #[error("`{0}` is not NAME=PLACE, such as leaf1=http://192.0.2.11:9465")]
    NoPair(String),
}

/// All listed switches, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roster {
    /// Switches with unique names.
    pub switches: Vec<Listed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default, rename = "switch")]
    switches: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    name: String,
    url: String,
    page: Option<String>,
    metrics: Option<String>,
    token_file: Option<PathBuf>,
}

impl Roster {
    /// Merges `pairs` of the command line with the list file.
    ///
    /// # Errors
    ///
    /// Describes the first problem.
    pub fn load(pairs: &[String], file: Option<&Path>) -> Result<Self, RosterError> {
        let mut entries = Vec::new();
        for pair in pairs {
            let (name, url) = pair
                .split_once('=')
                .ok_or_else(|| RosterError::NoPair(pair.clone()))?;
            entries.push(Entry {
                name: name.to_owned(),
                url: url.to_owned(),
                page: None,
                metrics: None,
                token_file: None,
            });
        }
        if let Some(path) = file {
            let text = fs::read_to_string(path).map_err(|source| RosterError::Unreadable {
                path: path.to_owned(),
                source,
            })?;
            let read = toml::from_str::<File>(&text).map_err(|error| RosterError::Malformed {
                path: path.to_owned(),
                reason: error.to_string().trim_end().to_owned(),
            })?;
            entries.extend(read.switches);
        }
        if entries.len() > SWITCHES_MAX {
            return Err(RosterError::TooMany(entries.len()));
        }
        let mut roster = Self::default();
        for entry in entries {
            let listed = listed(entry)?;
            if roster
                .switches
                .iter()
                .any(|other| other.name == listed.name)
            {
                return Err(RosterError::Twice(listed.name));
            }
            roster.switches.push(listed);
        }
        Ok(roster)
    }
}

fn listed(entry: Entry) -> Result<Listed, RosterError> {
    let name = entry.name;
    if name.is_empty() || cut(&name, NAME_MAX) != name {
        return Err(RosterError::Name(name));
    }
    let place = Place::parse(&entry.url).map_err(|source| RosterError::Place {
        name: name.clone(),
        source,
    })?;
    let page = match entry.page {
        None => None,
        Some(text) => {
            let url = Url::parse(&text)
                .ok()
                .filter(|url| ["http", "https"].contains(&url.scheme()));
            Some(url.ok_or_else(|| RosterError::Page(name.clone()))?)
        }
    };
    let is_encrypted = matches!(&place, Place::Listener(listener) if listener.tls);
    if entry.token_file.is_some() && !is_encrypted {
        return Err(RosterError::Exposed(name));
    }
    // The page has no TLS, and metrics that other hosts can reach always have it.
    let (own_page, own_metrics, metrics_tls) = match &place {
        Place::Listener(listener) if listener.tls => (None, Some(listener.authority()), true),
        Place::Listener(listener) => (Some(listener.url.clone()), None, false),
        Place::Socket(_) => (None, None, false),
    };
    Ok(Listed {
        page: page.or(own_page),
        metrics: entry.metrics.or(own_metrics),
        metrics_tls,
        token_file: entry.token_file,
        name,
        place,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Roster, RosterError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("switches.toml");
        fs::write(&path, text).unwrap();
        Roster::load(&["a=/run/weir/a/api.sock".to_owned()], Some(&path))
    }

    #[test]
    fn a_list_contains_the_addresses_of_pages_and_metrics() {
        let roster = read(
            "[[switch]]\nname = \"leaf1\"\nurl = \"https://192.0.2.11:9464\"\ntoken-file = \"/t\"\n\
             [[switch]]\nname = \"leaf2\"\nurl = \"http://192.0.2.12:9465\"\nmetrics = \"192.0.2.12:9464\"\n",
        )
        .unwrap();
        let told: Vec<_> = roster
            .switches
            .iter()
            .map(|one| {
                (
                    one.name.as_str(),
                    one.page.as_ref().map(Url::as_str),
                    one.metrics.as_deref(),
                    one.metrics_tls,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("a", None, None, false),
                ("leaf1", None, Some("192.0.2.11:9464"), true),
                (
                    "leaf2",
                    Some("http://192.0.2.12:9465/"),
                    Some("192.0.2.12:9464"),
                    false
                ),
            ]
        );
    }

    #[test]
    fn what_is_wrong_with_a_list_is_told() {
        for (text, told) in [
            ("[[switch]]\nname = \"b\"\n", "missing field `url`"),
            (
                "[[switch]]\nname = \"b\"\nurl = \"x\"\n",
                "switch `b`: `x` is not the place of a switch",
            ),
            (
                "[[switch]]\nname = \"a\"\nurl = \"http://h\"\n",
                "two switches are called `a`",
            ),
            (
                "[[switch]]\nname = \"\"\nurl = \"http://h\"\n",
                "cannot be a switch's name",
            ),
            (
                "[[switch]]\nname = \"b\"\nurl = \"http://h\"\nport = 1\n",
                "unknown field `port`",
            ),
            (
                "[[switch]]\nname = \"b\"\nurl = \"http://h\"\npage = \"javascript:alert(1)\"\n",
                "page must be a URL",
            ),
            (
                "[[switch]]\nname = \"b\"\nurl = \"http://h\"\ntoken-file = \"/t\"\n",
                "a token needs https",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        let many: String = (0..300)
            .map(|n| format!("[[switch]]\nname = \"n{n}\"\nurl = \"http://h\"\n"))
            .collect();
        assert!(matches!(read(&many), Err(RosterError::TooMany(301))));
        assert!(matches!(
            Roster::load(&["x".to_owned()], None),
            Err(RosterError::NoPair(_))
        ));
    }
}
