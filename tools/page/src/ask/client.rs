//! The connection to one switch: kept open, and reopened after a failure. Bodies are limited in size and
//! time, regardless of what the peer sends.

use std::io;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{handshake, SendRequest};
use hyper::header::{HeaderValue, ACCEPT, AUTHORIZATION, HOST};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio_rustls::rustls::pki_types::ServerName;
use weir_api::daemon;
use weir_api::overview::{Overview, CLOCK_HEADER};
use weir_config::daemon::read_socket;

use super::place::{Listener, Place};
use super::tls::Trust;
use crate::model::switch::{Answer, Trouble};

/// Maximum size of an overview in bytes. 256 ports with eight lossless priorities each need 1.2 MB.
const BODY_BYTES_MAX: usize = 8 << 20;
/// Maximum size of a refusal in bytes, which is a sentence.
const REFUSAL_BYTES_MAX: usize = 4 << 10;

/// Access to a switch.
#[derive(Clone)]
pub struct Access {
    /// Its place.
    pub place: Place,
    /// Trust settings, for places with TLS.
    pub trust: Option<Trust>,
    /// Sent with every request to a listener.
    pub token: Option<HeaderValue>,
}

/// A connection, if one is open.
pub struct Client {
    access: Access,
    open: Option<Open>,
}

struct Open {
    sender: SendRequest<Empty<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Returns `CLOCK_MONOTONIC`, which daemons on this machine also use.
pub fn monotonic() -> i64 {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).map_or(0, |time| {
        time.tv_sec()
            .saturating_mul(1_000_000_000)
            .saturating_add(time.tv_nsec())
    })
}

impl Client {
    /// Creates a client without a connection.
    pub fn new(access: Access) -> Self {
        Self { access, open: None }
    }

    /// Returns the switch's overview.
    ///
    /// # Errors
    ///
    /// The reason for which there is none, and the remedy.
    pub async fn overview(&mut self, limit: Duration) -> Result<Answer, Trouble> {
        let path = match &self.access.place {
            Place::Socket(_) => "/v1/overview".to_owned(),
            Place::Listener(listener) => listener.path.clone(),
        };
        let (overview, sent, received, clock) = self.get::<Overview>(&path, limit).await?;
        Ok(Answer {
            overview,
            sent,
            received,
            clock,
            is_here: matches!(self.access.place, Place::Socket(_)),
        })
    }

    /// Returns the JSON at `path`, the times of request and answer, and the switch's clock.
    ///
    /// # Errors
    ///
    /// The reason for which there is none, and the remedy.
    pub async fn get<T: DeserializeOwned>(
        &mut self,
        path: &str,
        limit: Duration,
    ) -> Result<(T, i64, i64, Option<u64>), Trouble> {
        match tokio::time::timeout(limit, self.exchange(path)).await {
            Ok(Ok((body, sent, received, clock))) => match serde_json::from_slice(&body) {
                Ok(value) => Ok((value, sent, received, clock)),
                Err(error) => {
                    self.open = None;
                    Err(self.trouble(
                        format!("the answer is no overview of a switch: {error}"),
                        "is that the address of a weir-switchd of this version or newer?",
                    ))
                }
            },
            Ok(Err(trouble)) => {
                self.open = None;
                Err(trouble)
            }
            Err(_) => {
                self.open = None;
                let remedy = match self.access.place {
                    Place::Socket(_) => {
                        "weir-switchd accepts connections but does not answer; see its log"
                    }
                    Place::Listener(_) => {
                        "does a firewall drop packets to that port, or is the machine down?"
                    }
                };
                Err(self.trouble(
                    format!("no whole answer within {} s", limit.as_secs_f64()),
                    remedy,
                ))
            }
        }
    }

    async fn exchange(&mut self, path: &str) -> Result<(Bytes, i64, i64, Option<u64>), Trouble> {
        // A kept connection may have been closed; only a failure of a new one is conclusive.
        let kept = match self.open.take() {
            Some(open) => self.ask(open, path).await.ok(),
            None => None,
        };
        let (response, sent) = match kept {
            Some(answered) => answered,
            None => {
                let open = self.connect().await?;
                self.ask(open, path).await.map_err(|error| {
                    self.trouble(
                        format!("the connection broke: {error}"),
                        "is weir-switchd being restarted?",
                    )
                })?
            }
        };
        // The head arrived first; the time for the body is still part of the round trip.
        let clock = response.headers().get(CLOCK_HEADER);
        let clock = clock.and_then(|value| value.to_str().ok()?.parse().ok());
        let status = response.status();
        let most = if status == StatusCode::OK {
            BODY_BYTES_MAX
        } else {
            REFUSAL_BYTES_MAX
        };
        let head = monotonic();
        let body = Limited::new(response.into_body(), most).collect().await;
        if status != StatusCode::OK {
            let body = body
                .map(http_body_util::Collected::to_bytes)
                .unwrap_or_default();
            return Err(self.refused(status, &body));
        }
        let body = body.map_err(
            |error| match error.is::<http_body_util::LengthLimitError>() {
                true => self.trouble(
                    format!("the answer is longer than {} MiB", BODY_BYTES_MAX >> 20),
                    "is that the address of a weir-switchd?",
                ),
                false => self.trouble(
                    format!("the answer broke off: {error}"),
                    "is weir-switchd being restarted?",
                ),
            },
        )?;
        // The clock is in the head; otherwise the body contains a time.
        let received = if clock.is_some() { head } else { monotonic() };
        Ok((body.to_bytes(), sent, received, clock))
    }

    async fn ask(
        &mut self,
        mut open: Open,
        path: &str,
    ) -> Result<(Response<Incoming>, i64), hyper::Error> {
        open.sender.ready().await?;
        let mut request = Request::builder()
            .uri(path)
            .header(ACCEPT, "application/json");
        match &self.access.place {
            Place::Socket(_) => request = request.header(HOST, "weir"),
            Place::Listener(listener) => {
                request = request.header(HOST, listener.authority());
                // Never without TLS, where others could read it.
                if let (true, Some(token)) = (listener.tls, &self.access.token) {
                    request = request.header(AUTHORIZATION, token);
                }
            }
        }
        // The request was part of a URL, or is built in, so it is valid.
        let request = request.body(Empty::new()).unwrap_or_default();
        let sent = monotonic();
        let response = open.sender.send_request(request).await?;
        self.open = Some(open);
        Ok((response, sent))
    }

    async fn connect(&self) -> Result<Open, Trouble> {
        match &self.access.place {
            Place::Socket(path) => {
                let stream = socket(path).await;
                let stream = stream.map_err(|error| self.unreachable(&error))?;
                self.speak(stream).await
            }
            Place::Listener(listener) => {
                let stream = TcpStream::connect((listener.host.as_str(), listener.port)).await;
                let stream = stream.map_err(|error| self.unreachable(&error))?;
                let _ = stream.set_nodelay(true);
                match listener.tls {
                    false => self.speak(stream).await,
                    true => self.encrypt(listener, stream).await,
                }
            }
        }
    }

    async fn encrypt(&self, listener: &Listener, stream: TcpStream) -> Result<Open, Trouble> {
        let name = ServerName::try_from(listener.host.clone());
        let (Ok(name), Some(trust)) = (name, &self.access.trust) else {
            return Err(self.trouble(
                "no TLS for that name".to_owned(),
                "give a host name or an address",
            ));
        };
        let stream = trust.connector().connect(name, stream).await.map_err(|error| {
            self.trouble(
                format!("no TLS: {error}"),
                "--ca must name the authority that signed the certificate of metrics.tls-certificate, which must have this name or address",
            )
        })?;
        self.speak(stream).await
    }

    async fn speak<S>(&self, stream: S) -> Result<Open, Trouble>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let connected = handshake(TokioIo::new(stream)).await;
        let (sender, connection) = connected.map_err(|error| {
            self.trouble(
                format!("no HTTP: {error}"),
                "is that the address of a weir-switchd?",
            )
        })?;
        let driver = tokio::spawn(async move {
            // The waiter for the answer receives the error.
            let _ = connection.await;
        });
        Ok(Open { sender, driver })
    }

    fn unreachable(&self, error: &io::Error) -> Trouble {
        let is_socket = matches!(self.access.place, Place::Socket(_));
        let remedy = match error.kind() {
            io::ErrorKind::PermissionDenied if is_socket => {
                "run weir-page as root, or as a member of the group of api.group or api.read-group"
            }
            io::ErrorKind::NotFound if is_socket => "its weir-switchd is not running: start it",
            io::ErrorKind::ConnectionRefused if is_socket => {
                "the socket is stale: its weir-switchd has stopped; start it again"
            }
            io::ErrorKind::ConnectionRefused => {
                "nothing listens there: is weir-switchd running, and page.listen or metrics.listen this address?"
            }
            _ => "is the address right, and the machine up?",
        };
        self.trouble(format!("no connection: {error}"), remedy)
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> Trouble {
        let told = serde_json::from_slice::<daemon::Error>(body).map(|error| error.error);
        let told = told.unwrap_or_else(|_| String::from_utf8_lossy(body).trim().to_owned());
        let remedy = match status {
            StatusCode::UNAUTHORIZED => "--token-file must name the token of metrics.token-file",
            StatusCode::NOT_FOUND => {
                "give the address of its page, or of metrics with a token: others have no overview"
            }
            StatusCode::MISDIRECTED_REQUEST => {
                "use the address instead of the name, or list the name in page.names"
            }
            _ => "see the log of weir-switchd",
        };
        self.trouble(
            format!("refused: {told} (HTTP {})", status.as_u16()),
            remedy,
        )
    }

    fn trouble(&self, what: String, remedy: &str) -> Trouble {
        Trouble {
            what: format!("{}: {what}", self.access.place),
            remedy: remedy.to_owned(),
        }
    }
}

/// Opens the read-only socket, or else the only socket of a switch without `api.read-group`.
async fn socket(path: &Path) -> io::Result<UnixStream> {
    match UnixStream::connect(read_socket(path)).await {
        Ok(stream) => Ok(stream),
        Err(_) => UnixStream::connect(path).await,
    }
}
