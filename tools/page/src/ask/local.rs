//! Switches of this machine: each has a directory with its socket, found as in `switchctl`.

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;
use weir_api::reload::Configuration;
use weir_config::daemon::DaemonConfig;

use super::client::Client;
use crate::model::text::{cut, NAME_MAX};

/// The API's socket in a switch's directory.
pub const SOCKET_NAME: &str = "api.sock";

/// Returns the switches with a directory below `run`: name and socket, in order.
pub fn found(run: &Path) -> Vec<(String, PathBuf)> {
    let has = |path: &PathBuf| match fs::symlink_metadata(path.join(SOCKET_NAME)) {
        Ok(_) => true,
        // If the directory cannot be read, the request reports the error.
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    };
    let directories = fs::read_dir(run).into_iter().flatten().flatten();
    let mut found: Vec<(String, PathBuf)> = directories
        .map(|entry| entry.path())
        .filter(has)
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            (cut(&name, NAME_MAX) == name).then(|| (name, path.join(SOCKET_NAME)))
        })
        .collect();
    found.sort();
    found
}

/// Listeners of a switch on this machine, from its configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Its page.
    pub page: Option<Url>,
    /// Address of its metrics: `HOST:PORT`.
    pub metrics: Option<String>,
    /// True if its metrics use TLS.
    pub metrics_tls: bool,
}

/// Asks a switch of this machine for its listeners. Without an answer none is known.
pub(super) async fn served(client: &mut Client, limit: Duration) -> Served {
    let answer = client.get::<Configuration>("/v1/config", limit).await;
    let config = answer.ok().and_then(|(configuration, ..)| {
        let path = PathBuf::from(&configuration.file);
        DaemonConfig::parse(&configuration.text, &path).ok()
    });
    let Some(config) = config else {
        return Served::default();
    };
    let page = config.page.listen.map(reachable);
    Served {
        page: page.and_then(|address| Url::parse(&format!("http://{address}/")).ok()),
        metrics: config
            .metrics
            .listen
            .map(|address| reachable(address).to_string()),
        metrics_tls: config.metrics.protection().tls.is_some(),
    }
}

/// Converts an address on all interfaces into this machine's own.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        other => other,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_socket_is_listed_as_a_switch() {
        let run = tempfile::tempdir().unwrap();
        for name in ["s2", "s1", "nothing"] {
            fs::create_dir(run.path().join(name)).unwrap();
        }
        for name in ["s1", "s2"] {
            fs::write(run.path().join(name).join(SOCKET_NAME), "").unwrap();
        }
        let names: Vec<String> = found(run.path())
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["s1", "s2"]);
        assert_eq!(found(Path::new("/nowhere")), []);
    }

    #[test]
    fn all_addresses_are_this_machines_own() {
        assert_eq!(
            reachable("0.0.0.0:9465".parse().unwrap()).to_string(),
            "127.0.0.1:9465"
        );
        assert_eq!(
            reachable("[::]:9465".parse().unwrap()).to_string(),
            "[::1]:9465"
        );
        assert_eq!(
            reachable("192.0.2.1:1".parse().unwrap()).to_string(),
            "192.0.2.1:1"
        );
    }
}
