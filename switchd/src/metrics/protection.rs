//! TLS and a token, for metrics and gNMI that other hosts can reach.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{ready, Context, Poll};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use subtle::ConstantTimeEq;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};
use weir_api::describe::Described;
use weir_api::words::EventName;
use weir_config::daemon::{self, TlsFiles};
use weir_http::Client;

use super::guesses::Guesses;
use crate::control::shared::Records;
use crate::control::Shared;
use crate::model::clock;
use crate::os::secret::{self, Renewed, SecretError};

/// A shorter token could be guessed.
const TOKEN_LENGTH_MIN: usize = 16;

/// Protection of a listener. Changed files are read again.
#[derive(Default)]
pub struct Protection {
    /// `None` for none.
    pub tls: Option<Renewed<TlsAcceptor>>,
    /// `None` for public access.
    pub token: Option<Token>,
    /// Host names that are answered without a token.
    pub names: Vec<String>,
}

impl Protection {
    /// Reads all files. `protocol` is the protocol over TLS, if peers negotiate it (ALPN).
    ///
    /// # Errors
    ///
    /// When a file is missing, accessible to others, or has invalid contents.
    pub fn load(
        config: &daemon::Protection,
        protocol: Option<&'static str>,
    ) -> Result<Self, SecretError> {
        let tls = config.tls.clone().map(|files| {
            let paths = vec![files.certificate.clone(), files.key.clone()];
            Renewed::new(paths, move || acceptor(&files, protocol))
        });
        let token = config
            .token_file
            .clone()
            .map(|path| Renewed::new(vec![path.clone()], move || token(&path)).map(Token::new));
        Ok(Self {
            tls: tls.transpose()?,
            token: token.transpose()?,
            names: config.names.clone(),
        })
    }
}

fn acceptor(files: &TlsFiles, protocol: Option<&str>) -> Result<TlsAcceptor, SecretError> {
    let malformed = |path: &Path, reason: String| SecretError::Malformed {
        path: path.to_owned(),
        reason,
    };
    let certificates: Vec<_> =
        CertificateDer::pem_slice_iter(&secret::read_public(&files.certificate)?)
            .collect::<Result<_, _>>()
            .map_err(|error| malformed(&files.certificate, error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(&secret::read_secret(&files.key)?)
        .map_err(|error| malformed(&files.key, error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(certificates, key)
        })
        .map_err(|error| malformed(&files.certificate, error.to_string()))?;
    config.alpn_protocols = protocol
        .map(|name| name.as_bytes().to_vec())
        .into_iter()
        .collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn token(path: &Path) -> Result<Vec<u8>, SecretError> {
    let bytes = secret::read_secret(path)?;
    let token = bytes.trim_ascii();
    let legal = token.iter().all(u8::is_ascii_graphic);
    if token.len() < TOKEN_LENGTH_MIN || !legal {
        return Err(SecretError::Malformed {
            path: path.to_owned(),
            reason: format!(
                "a token needs at least {TOKEN_LENGTH_MIN} characters and no spaces; generate one with `openssl rand -hex 32`"
            ),
        });
    }
    Ok(token.to_owned())
}

/// The secret that a client must send, and a limit on guesses.
#[derive(Clone)]
pub struct Token(Arc<Guarded>);

struct Guarded {
    secret: Renewed<Vec<u8>>,
    guesses: Mutex<Guesses>,
}

/// Reason for refusing a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// It sent no token, or a wrong one.
    Wrong,
    /// It sent too many wrong tokens, and is refused for this long.
    Limited(Duration),
}

impl Token {
    fn new(secret: Renewed<Vec<u8>>) -> Self {
        Self(Arc::new(Guarded {
            secret,
            guesses: Mutex::default(),
        }))
    }

    /// Admits a `client` that sends the token. The comparison takes constant time. Wrong tokens are counted, and reported to
    /// `records` as sent to `listener`.
    ///
    /// # Errors
    ///
    /// [`Denied`].
    pub fn admit(
        &self,
        client: Option<IpAddr>,
        mut shown: impl Iterator<Item = impl AsRef<[u8]>>,
        (listener, records): (&'static str, &Records),
    ) -> Result<(), Denied> {
        let now = Instant::now();
        let guesses = || {
            self.0
                .guesses
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        guesses().may_try(client, now).map_err(Denied::Limited)?;
        let secret = self.0.secret.get();
        let mut has_shown = false;
        let is_right = shown.any(|shown| {
            has_shown = true;
            shown.as_ref().ct_eq(&secret).into()
        });
        if is_right {
            return Ok(());
        }
        // A client without any token is not guessing.
        let told = has_shown.then(|| guesses().note_wrong(client, now));
        if let Some(wrong) = told.flatten() {
            let event = Described::new(clock::now(), EventName::TokensRefused)
                .detail("key", listener)
                .detail(
                    "address",
                    client.map_or_else(String::new, |host| host.to_string()),
                )
                .detail("wrong", wrong);
            records.record(event);
        }
        Err(Denied::Wrong)
    }
}

/// The token of the metrics, and where wrong ones are reported.
#[derive(Clone)]
pub struct Gate {
    /// The token.
    pub token: Token,
    /// State with the records.
    pub shared: Arc<Shared>,
}

/// Admits clients that send the token.
pub async fn guard(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let client = request.extensions().get::<Client>().and_then(|it| it.0);
    let mut values = request.headers().get_all(AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none());
    let shown = value.and_then(|value| bearer(value.as_bytes()));
    let records = ("metrics", &gate.shared.records);
    match gate.token.admit(client, shown.into_iter(), records) {
        Ok(()) => next.run(request).await,
        Err(Denied::Wrong) => {
            let challenge = [(WWW_AUTHENTICATE, "Bearer realm=\"weir\"")];
            let remedy = "metrics need the token of metrics.token-file: send `Authorization: Bearer TOKEN`; in Prometheus, set `authorization: {credentials_file: ...}`\n";
            (StatusCode::UNAUTHORIZED, challenge, remedy).into_response()
        }
        Err(Denied::Limited(wait)) => {
            let wait = wait.as_secs().max(1).to_string();
            let remedy =
                "too many wrong tokens from this address; correct the token and try again later\n";
            (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, wait)], remedy).into_response()
        }
    }
}

/// Returns the credentials after the scheme, which is case-insensitive (RFC 9110, section 11.1).
pub(super) fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

/// A listener for TLS connections. A handshake takes place when a connection is first read, so that a slow client delays no
/// other and has no more time than a silent connection.
pub struct TlsListener<L> {
    inner: L,
    acceptor: Renewed<TlsAcceptor>,
}

impl<L> TlsListener<L> {
    /// Wraps the connections of `inner`.
    pub fn new(inner: L, acceptor: Renewed<TlsAcceptor>) -> Self {
        Self { inner, acceptor }
    }
}

impl<L: Listener> Listener for TlsListener<L> {
    type Io = TlsConnection<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (io, address) = self.inner.accept().await;
        let accept = self.acceptor.get().accept(io);
        (TlsConnection::Handshake(Box::new(accept)), address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}

/// One connection.
pub enum TlsConnection<T> {
    /// The handshake is in progress.
    Handshake(Box<Accept<T>>),
    /// The handshake is complete.
    Open(Box<TlsStream<T>>),
    /// The handshake failed. Polling it again would panic.
    Failed,
}

impl<T: AsyncRead + AsyncWrite + Unpin> TlsConnection<T> {
    /// Returns the stream once the handshake is complete.
    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Pin<&mut TlsStream<T>>>> {
        if let Self::Handshake(accept) = self {
            match ready!(Pin::new(accept.as_mut()).poll(context)) {
                Ok(stream) => *self = Self::Open(Box::new(stream)),
                Err(error) => {
                    *self = Self::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        match self {
            Self::Open(stream) => Poll::Ready(Ok(Pin::new(stream.as_mut()))),
            Self::Handshake(_) | Self::Failed => {
                Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
            }
        }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsConnection<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_open(context))?.poll_read(context, buffer)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsConnection<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?.poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(context))?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            // Without a complete handshake the client gets no answer.
            Self::Handshake(_) | Self::Failed => Poll::Ready(Ok(())),
            Self::Open(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_token_counts() {
        for (value, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer abc", Some("abc")),
            ("BEARER  abc ", Some("abc")),
            ("Basic abc", None),
            ("Bearerabc", None),
            ("Bearer", None),
            ("", None),
        ] {
            let found = bearer(value.as_bytes());
            assert_eq!(found, expected.map(str::as_bytes), "{value}");
        }
    }
}
