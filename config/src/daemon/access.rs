//! Who may ask a daemon, and whose control frames it believes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use weir_core::{BitRate, Duration};

/// `[api]`, beside the socket's path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiConfig {
    /// Whose members may use the socket, by name; `None` for the daemon's own group.
    pub group: Option<String>,
    /// Whose members may look at the switch and change nothing, through a socket of their own; `None` for nobody.
    pub read_group: Option<String>,
}

impl ApiConfig {
    /// Whether a socket is given to a group that may not be the daemon's own.
    pub fn gives_groups(&self) -> bool {
        self.group.is_some() || self.read_group.is_some()
    }
}

/// The socket that is for looking only, beside the one at `socket`: `api.sock` has `api-read.sock`.
pub fn read_socket(socket: &Path) -> PathBuf {
    let stem = socket.file_stem().unwrap_or_default().to_string_lossy();
    let name = match socket.extension() {
        Some(extension) => format!("{stem}-read.{}", extension.to_string_lossy()),
        None => format!("{stem}-read"),
    };
    socket.with_file_name(name)
}

/// `[metrics]`, beside the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsConfig {
    /// Metrics are served over TLS with these; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Holds the token that whoever asks has to show; `None` for none.
    pub token_file: Option<PathBuf>,
    /// The operator has said that the metrics may be served to other hosts without TLS or without a token.
    pub unprotected: bool,
}

/// PEM files of a TLS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those that it is signed by.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Whether `address` can be reached from other hosts.
pub fn is_remote(address: SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

/// The highest limit of control frames a second that may be set.
pub(crate) const RATE_MOST: u64 = 1_000_000_000;

/// `[control-frames]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlFramesConfig {
    /// Holds the key that all switches of a fabric share; `None` for CLCM and echo messages without proof.
    pub key_file: Option<PathBuf>,
    /// PAUSE and PFC frames a second that are taken from one port; `None` for any number.
    pub pause_rate: Option<u32>,
    /// CLCM, echo and greeting frames a second that are taken from one port; `None` for any number.
    pub message_rate: Option<u32>,
}

impl ControlFramesConfig {
    /// The defaults for this `clcm-interval` and the fastest port.
    ///
    /// Every port that is suspected sends a CLCM in each interval, and a loop's link carries those of all its switches: a
    /// limit that they reach would keep the election from ending. A neighbour whose xoff and xon are one frame apart may
    /// send a pause for each frame: a pause that is dropped loses frames.
    pub fn for_fabric(clcm_interval: Duration, fastest: Option<BitRate>) -> Self {
        const MESSAGES_PER_INTERVAL: u64 = 200;
        const MESSAGE_RATE_LEAST: u64 = 10_000;
        const PAUSE_RATE_LEAST: u64 = 1_000_000;
        /// A tenth of a line full of frames of 64 B, preamble and gap included.
        const BITS_PER_PAUSE: u64 = 10 * 84 * 8;
        let pauses = fastest.map_or(0, |rate| rate.get() / BITS_PER_PAUSE);
        let intervals = Duration::from_secs(1).as_nanos() / clcm_interval.as_nanos().max(1);
        let rate = intervals.saturating_mul(MESSAGES_PER_INTERVAL);
        Self {
            key_file: None,
            pause_rate: Some(pauses.clamp(PAUSE_RATE_LEAST, RATE_MOST) as u32),
            message_rate: Some(rate.clamp(MESSAGE_RATE_LEAST, RATE_MOST) as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_for_looking_is_beside_the_other() {
        for (socket, expected) in [
            ("/run/weir/s1/api.sock", "/run/weir/s1/api-read.sock"),
            ("/x/leaf1", "/x/leaf1-read"),
        ] {
            assert_eq!(read_socket(Path::new(socket)), Path::new(expected));
        }
    }

    #[test]
    fn loopback_is_here_and_all_else_is_elsewhere() {
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
