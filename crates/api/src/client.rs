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

/// An answer that goes on.
pub struct Streaming {
    body: hyper::body::Incoming,
    driver: tokio::task::JoinHandle<Result<(), hyper::Error>>,
    path: String,
    /// The number in [`CAPTURE_HEADER`](crate::capture::CAPTURE_HEADER), if there is one.
    pub number: Option<u64>,
}

impl Streaming {
    /// The next bytes; `None` at the end. May be dropped while it waits.
    ///
    /// # Errors
    ///
    /// When the daemon cuts the answer short.
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

/// POSTs `body` as JSON; the answer is read as it comes. Needs a tokio runtime with I/O and time.
///
/// # Errors
///
/// See [`ClientError`]; the time limit is for the beginning of the answer.
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

/// Sends a request and reads the head of its answer; the task drives the connection.
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
    Ok((response, driver))
}

fn unreachable_at(socket: &Path, source: io::Error) -> ClientError {
    ClientError::Unreachable {
        socket: socket.to_owned(),
        source,
    }
}
