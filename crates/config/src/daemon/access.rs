//! Access to a daemon: users of its interfaces, and senders of control frames.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use weir_core::config::ControlLimits;
use weir_core::{BitRate, Duration};

use super::export::Count;
use crate::reader::Table;
use crate::settings::{quoted, settings, valid, Form};
use crate::switch::{control_limits, CONTROL_RATE_MAX, MESSAGE_RATE_LEAST, PAUSE_RATE_LEAST};

/// `[api]`, without the socket's path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiConfig {
    /// Name of the group whose members may use the socket; `None` for the daemon's own group.
    pub group: Option<String>,
    /// Name of the group whose members may read, but not change, the switch's state, through a separate socket; `None`
    /// for no group.
    pub read_group: Option<String>,
}

impl ApiConfig {
    /// Returns true if a socket is given to a group that may not be the daemon's own.
    pub fn gives_groups(&self) -> bool {
        self.group.is_some() || self.read_group.is_some()
    }
}

/// The read-only socket next to the one at `socket`: `api-read.sock` for `api.sock`.
pub fn read_socket(socket: &Path) -> PathBuf {
    let stem = socket.file_stem().unwrap_or_default().to_string_lossy();
    let name = match socket.extension() {
        Some(extension) => format!("{stem}-read.{}", extension.to_string_lossy()),
        None => format!("{stem}-read"),
    };
    socket.with_file_name(name)
}

settings! {
    /// `[api]` as in a file.
    #[derive(Clone, Debug, PartialEq, Eq)]
    ApiTable in "api" {
        "socket" socket: Option<PathBuf> = None => "`RUN-DIR/api.sock`", "", Restart, valid::anything;
            "Unix socket of the HTTP/JSON API. Owner and group may use it (mode 0660)."
        "group" group: Option<String> = None => "the daemon's own", "", Restart, valid::given(valid::not_empty);
            "The socket's group: its members may read and change everything."
        "read-group" read_group: Option<String> = None => "none", "", Restart, valid::given(valid::not_empty);
            "Members of this group may read, but change nothing: they have a second socket next to the first, `api-read.sock` for `api.sock`. Changes and captures are refused there (403). `switchctl` uses it automatically if it may not use the other."
    }
}

settings! {
    /// `[metrics]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    MetricsConfig in "metrics" {
        "listen" listen: Option<SocketAddr> as Listen = Some(SocketAddr::from(([127, 0, 0, 1], 9464))), "", Restart, valid::anything;
            "Address and port of `/metrics`, or `\"off\"`. An address that other hosts can reach is refused without `tls-certificate`, `tls-key` and `token-file`, unless `unprotected` is set."
        "tls-certificate" tls_certificate: Option<PathBuf> = None => "none", "", Restart, valid::anything;
            "PEM file with the certificate and its chain. The metrics are then served over TLS 1.2 or 1.3. Read again when it changes, with the key."
        "tls-key" tls_key: Option<PathBuf> = None => "none", "", Restart, valid::anything;
            "PEM file with its private key."
        "token-file" token_file: Option<PathBuf> = None => "none", "", Restart, valid::anything;
            "File with the token, of at least 16 characters, that a scrape must present (`Authorization: Bearer TOKEN`). Read again when it changes."
        "names" names: Vec<String> = Vec::new(), "", Restart, valid::anything;
            "Host names under which a scrape without a token may request the metrics, such as `[\"leaf1.example.net\"]`; as [`names` of the page](#page). A scrape with the token may use any name."
        "unprotected" unprotected: bool = false, "", Restart, valid::anything;
            "Serves other hosts without TLS, or without a token."
    }
}

settings! {
    /// `[gnmi]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    GnmiConfig in "gnmi" {
        "listen" listen: Option<SocketAddr> as Listen = None, "", Restart, valid::anything;
            "Address and port of [gNMI](../fleet/gnmi.md), such as `\"127.0.0.1:9339\"`, or `\"off\"`. An address that other hosts can reach is refused without `tls-certificate`, `tls-key` and `token-file`, unless `unprotected` is set."
        "tls-certificate" tls_certificate: Option<PathBuf> = None => "none", "", Restart, valid::anything;
            "PEM file with the certificate and its chain. gNMI is then served over TLS 1.2 or 1.3. Read again when it changes, with the key."
        "tls-key" tls_key: Option<PathBuf> = None => "none", "", Restart, valid::anything;
            "PEM file with its private key."
        "token-file" token_file: Option<PathBuf> = None => "none", "", Restart, valid::anything;
            "File with the token, of at least 16 characters, that a client must present: as bearer token, or as the password of any user. Read again when it changes."
        "unprotected" unprotected: bool = false, "", Restart, valid::anything;
            "Serves other hosts without TLS, or without a token."
    }
}

impl MetricsConfig {
    /// The protection of the metrics.
    pub fn protection(&self) -> Protection {
        Protection {
            tls: tls(&self.tls_certificate, &self.tls_key),
            token_file: self.token_file.clone(),
            names: self.names.clone(),
        }
    }
}

impl GnmiConfig {
    /// The protection of gNMI.
    pub fn protection(&self) -> Protection {
        Protection {
            tls: tls(&self.tls_certificate, &self.tls_key),
            token_file: self.token_file.clone(),
            names: Vec::new(),
        }
    }
}

fn tls(certificate: &Option<PathBuf>, key: &Option<PathBuf>) -> Option<TlsFiles> {
    Some(TlsFiles {
        certificate: certificate.clone()?,
        key: key.clone()?,
    })
}

/// Protection of a listener that other hosts can reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// Files for TLS; `None` for plain text.
    pub tls: Option<TlsFiles>,
    /// File with the required token; `None` if none is required.
    pub token_file: Option<PathBuf>,
    /// Host names accepted without a token, in addition to addresses and `localhost`.
    pub names: Vec<String>,
}

/// PEM files of a TLS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by the chain of its issuers.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Returns true if `address` can be reached from other hosts.
pub fn is_remote(address: SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

/// An address and port, or `off`.
pub(crate) struct Listen;

impl Form<Option<SocketAddr>> for Listen {
    fn read(table: &Table<'_>, key: &str) -> Option<Option<SocketAddr>> {
        let text: String = table.get(key)?;
        if text == "off" {
            return Some(None);
        }
        let address = text.parse().ok();
        if address.is_none() {
            let message = format!("`{text}` is not an address; write \"ADDRESS:PORT\" or \"off\"");
            table.complain(key, message);
        }
        Some(address)
    }

    fn written(address: &Option<SocketAddr>) -> Option<String> {
        let off = || "off".to_owned();
        Some(quoted(
            &address.map_or_else(off, |address| address.to_string()),
        ))
    }
}

/// Control frames per second, or `off` for unlimited. A fabric's own refreshes need some.
type Limit = Count<100, CONTROL_RATE_MAX>;

settings! {
    /// `[control-frames]`. The defaults are minimal, see [`for_fabric`](Self::for_fabric).
    #[derive(Clone, Debug, PartialEq, Eq)]
    ControlFramesConfig in "control-frames" {
        "key-file" key_file: Option<PathBuf> = None => "none", "", Restart, valid::anything;
            "File with the key of the fabric: 64 hexadecimal digits, the same for all its switches. CLCM and echo messages are [sealed](clcm.md#seal) with it; unsealed ones are dropped at `fabric` ports. Permissions as for `token-file`."
        "pause-rate" pause_rate: Option<u32> as Limit = Some(PAUSE_RATE_LEAST) => "a tenth of the fastest port in frames of 64 B, at least `1000000`", "", Restart, valid::anything;
            "PAUSE and PFC frames a second accepted from one port, at least 100, or `\"off\"` for no limit. The excess is dropped as `control_rate`. A dropped pause or Feedback is not obeyed: set the limit far above what neighbours send."
        "message-rate" message_rate: Option<u32> as Limit = Some(MESSAGE_RATE_LEAST) => "200 in each `clcm-interval`, at least `10000`", "", Restart, valid::anything;
            "The same for CLCM, echo messages and greetings."
    }
}

impl ControlFramesConfig {
    /// The defaults for this `clcm-interval` and the rate of the fastest port.
    pub fn for_fabric(clcm_interval: Duration, fastest: Option<BitRate>) -> Self {
        let limits = control_limits(clcm_interval, fastest);
        Self {
            key_file: None,
            pause_rate: limits.pause_rate,
            message_rate: limits.message_rate,
        }
    }

    /// Limits on control frames accepted from a port.
    pub fn limits(&self) -> ControlLimits {
        ControlLimits {
            pause_rate: self.pause_rate,
            message_rate: self.message_rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_read_only_socket_is_beside_the_other() {
        for (socket, expected) in [
            ("/run/weir/s1/api.sock", "/run/weir/s1/api-read.sock"),
            ("/x/leaf1", "/x/leaf1-read"),
        ] {
            assert_eq!(read_socket(Path::new(socket)), Path::new(expected));
        }
    }

    #[test]
    fn only_loopback_counts_as_local() {
        for here in [
            "127.0.0.1:1",
            "127.9.9.9:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(!is_remote(here.parse().unwrap()), "{here}");
        }
        for elsewhere in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[fe80::1]:1"] {
            assert!(is_remote(elsewhere.parse().unwrap()), "{elsewhere}");
        }
    }
}
