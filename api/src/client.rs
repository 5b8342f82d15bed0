//! A blocking client for the daemon's Unix socket: one request, one connection.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Request, StatusCode};

use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde::Serialize;
use tokio::net::UnixStream;

use crate::daemon;

pub use hyper::Method;

/// The longest answer that is read.
const BODY_BYTES_MAX: usize = 64 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens at the socket.
    #[error("no daemon answers at {}", socket.display())]
    Unreachable {
        /// The socket.
        socket: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No whole answer came in time.
    #[error("{}: no answer within {} s", socket.display(), timeout.as_secs_f64())]
    TimedOut {
        /// The socket.
        socket: PathBuf,
        /// How long was waited.
        timeout: Duration,
    },
    /// The daemon refuses.
    #[error("{message} (HTTP {status})")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The daemon's own words.
        message: String,
    },
    /// The answer cannot be read.
    #[error("{path}: {reason}")]
    Malformed {
        /// What was asked for.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

/// Asks the daemon at `socket` for `path` (such as `/v1/status`) and reads the JSON of its answer.
///
/// # Errors
///
/// See [`ClientError`].
pub fn get<T: DeserializeOwned>(
    socket: &Path,
    path: &str,
    timeout: Duration,
) -> Result<T, ClientError> {
    exchange(socket, Method::GET, path, Vec::new(), timeout)
}

/// Has the daemon at `socket` do `method` to `path`, with `body` as JSON, and reads the JSON of its answer.
///
/// # Errors
///
/// See [`ClientError`].
pub fn send<B: Serialize, T: DeserializeOwned>(
    socket: &Path,
    method: Method,
    path: &str,
    body: Option<&B>,
    timeout: Duration,
) -> Result<T, ClientError> {
    let body = body.map_or_else(|| Ok(Vec::new()), serde_json::to_vec);
    let body = body.map_err(|error| ClientError::Malformed {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    exchange(socket, method, path, body, timeout)
}

fn exchange<T: DeserializeOwned>(
    socket: &Path,
    method: Method,
    path: &str,
    body: Vec<u8>,
    timeout: Duration,
) -> Result<T, ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| unreachable_at(socket, source))?;
    runtime.block_on(async {
        tokio::time::timeout(timeout, ask(socket, method, path, body))
            .await
            .map_err(|_| ClientError::TimedOut {
                socket: socket.to_owned(),
                timeout,
            })?
    })
}

async fn ask<T: DeserializeOwned>(
    socket: &Path,
    method: Method,
    path: &str,
    body: Vec<u8>,
) -> Result<T, ClientError> {
    let malformed = |reason: String| ClientError::Malformed {
        path: path.to_owned(),
        reason,
    };
    let stream = UnixStream::connect(socket)
        .await
        .map_err(|source| unreachable_at(socket, source))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| malformed(error.to_string()))?;
    let driver = tokio::spawn(connection);
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "weir");
    if !body.is_empty() {
        request = request.header("content-type", "application/json");
    }
    let request = request
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| malformed(error.to_string()))?;
    let response = sender
        .send_request(request)
        .await
        .map_err(|error| malformed(error.to_string()))?;
    let status = response.status();
    let body = Limited::new(response.into_body(), BODY_BYTES_MAX)
        .collect()
        .await
        .map_err(|error| malformed(error.to_string()))?
        .to_bytes();
    driver.abort();
    if status != StatusCode::OK {
        let message = serde_json::from_slice::<daemon::Error>(&body).map_or_else(
            |_| String::from_utf8_lossy(&body).into_owned(),
            |error| error.error,
        );
        return Err(ClientError::Refused {
            status: status.as_u16(),
            message,
        });
    }
    serde_json::from_slice(&body).map_err(|error| malformed(error.to_string()))
}

fn unreachable_at(socket: &Path, source: io::Error) -> ClientError {
    ClientError::Unreachable {
        socket: socket.to_owned(),
        source,
    }
}
