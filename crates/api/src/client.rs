//! A blocking client for the daemon's Unix socket: one request, one connection.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Request, StatusCode};

use hyper_util::rt::TokioIo;
use nix::unistd::{geteuid, setfsuid, Uid};
use serde::de::DeserializeOwned;
use serde::Serialize;
use tokio::net::UnixStream;

use crate::daemon;

pub use hyper::Method;

/// Maximum length of an answer in bytes.
const BODY_BYTES_MAX: usize = 64 << 20;

/// Reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing listens at the socket.
    #[error("no daemon answers at {}", socket.display())]
    Unreachable {
        /// The socket.
        socket: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// No complete answer arrived in time.
    #[error("{}: no answer within {} s", socket.display(), timeout.as_secs_f64())]
    TimedOut {
        /// The socket.
        socket: PathBuf,
        /// The time limit.
        timeout: Duration,
    },
    /// The daemon refuses the request.
    #[error("{message} (HTTP {status})")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The daemon's message.
        message: String,
    },
    /// The answer cannot be parsed.
    #[error("{path}: {reason}")]
    Malformed {
        /// The requested path.
        path: String,
        /// The problem.
        reason: String,
    },
}

/// Sends a GET request for `path` (such as `/v1/status`) to the daemon at `socket` and parses the JSON answer.
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

/// Sends a request with `method`, `path`, and `body` as JSON to the daemon at `socket`, and parses the JSON answer.
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

/// An answer read in parts.
pub struct Streaming {
    body: hyper::body::Incoming,
    driver: tokio::task::JoinHandle<Result<(), hyper::Error>>,
    path: String,
    /// The number in [`CAPTURE_HEADER`](crate::capture::CAPTURE_HEADER), if present.
    pub number: Option<u64>,
}

impl Streaming {
    /// Returns the next bytes; `None` at the end. Can be cancelled.
    ///
    /// # Errors
    ///
    /// The daemon ends the answer early.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| ClientError::Malformed {
                path: self.path.clone(),
                reason: error.to_string(),
            })?;
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// POSTs `body` as JSON; the answer is read as it arrives. Needs a tokio runtime with I/O and time.
///
/// # Errors
///
/// See [`ClientError`]; the time limit applies to the start of the answer.
pub async fn stream<B: Serialize>(
    socket: &Path,
    path: &str,
    body: &B,
    limit: Duration,
) -> Result<Streaming, ClientError> {
    let malformed = |reason: String| ClientError::Malformed {
        path: path.to_owned(),
        reason,
    };
    let body = serde_json::to_vec(body).map_err(|error| malformed(error.to_string()))?;
    let begin = begin(socket, Method::POST, path, body);
    let (response, driver) =
        tokio::time::timeout(limit, begin)
            .await
            .map_err(|_| ClientError::TimedOut {
                socket: socket.to_owned(),
                timeout: limit,
            })??;
    if response.status() != StatusCode::OK {
        let status = response.status();
        let body = collect(response.into_body())
            .await
            .map_err(|error| malformed(error.to_string()))?;
        driver.abort();
        return Err(refusal(status, &body));
    }
    let number = response
        .headers()
        .get(crate::capture::CAPTURE_HEADER)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    Ok(Streaming {
        body: response.into_body(),
        driver,
        path: path.to_owned(),
        number,
    })
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
    let (response, driver) = begin(socket, method, path, body).await?;
    let status = response.status();
    let body = collect(response.into_body())
        .await
        .map_err(|error| malformed(error.to_string()))?;
    driver.abort();
    if status != StatusCode::OK {
        return Err(refusal(status, &body));
    }
    serde_json::from_slice(&body).map_err(|error| malformed(error.to_string()))
}

async fn collect(
    body: hyper::body::Incoming,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    Ok(Limited::new(body, BODY_BYTES_MAX)
        .collect()
        .await?
        .to_bytes())
}

fn refusal(status: StatusCode, body: &[u8]) -> ClientError {
    let message = serde_json::from_slice::<daemon::Error>(body).map_or_else(
        |_| String::from_utf8_lossy(body).into_owned(),
        |error| error.error,
    );
    ClientError::Refused {
        status: status.as_u16(),
        message,
    }
}

/// Sends a request and reads the head of its answer; the returned task drives the connection.
async fn begin(
    socket: &Path,
    method: Method,
    path: &str,
    body: Vec<u8>,
) -> Result<
    (
        hyper::Response<hyper::body::Incoming>,
        tokio::task::JoinHandle<Result<(), hyper::Error>>,
    ),
    ClientError,
> {
    let malformed = |reason: String| ClientError::Malformed {
        path: path.to_owned(),
        reason,
    };
    let stream = connect(socket)
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
    Ok((response, driver))
}

/// Connects to the socket. Root without CAP_DAC_OVERRIDE, as in a container, may not use a socket of the switch's user and
/// group, and connects with that user's rights.
async fn connect(socket: &Path) -> io::Result<UnixStream> {
    match UnixStream::connect(socket).await {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && geteuid().is_root() => {
            connect_as_owner(socket).map_err(|_| error)
        }
        outcome => outcome,
    }
}

fn connect_as_owner(socket: &Path) -> io::Result<UnixStream> {
    let owner = Uid::from_raw(std::fs::symlink_metadata(socket)?.uid());
    // Of this thread, for the one call.
    let before = setfsuid(owner);
    let stream = StdStream::connect(socket);
    setfsuid(before);
    let stream = stream?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

fn unreachable_at(socket: &Path, source: io::Error) -> ClientError {
    ClientError::Unreachable {
        socket: socket.to_owned(),
        source,
    }
}
