//! TLS and a token, for metrics and gNMI that other hosts can reach.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
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
use weir_config::daemon::{self, TlsFiles};

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
}

impl Protection {
    /// Reads all files. `protocol` is the protocol over TLS, if peers have to agree on it (ALPN).
    ///
    /// # Errors
    ///
    /// When one is missing, accessible to others, or has invalid contents.
    pub fn load(
        config: &daemon::Protection,
        protocol: Option<&'static str>,
    ) -> Result<Self, SecretError> {
        let tls = config.tls.clone().map(|files| {
            let paths = vec![files.certificate.clone(), files.key.clone()];
            Renewed::new(paths, move || acceptor(&files, protocol))
        });
        let token = config.token_file.clone().map(|path| {
            Renewed::new(vec![path.clone()], move || token(&path)).map(|token| Token(token.into()))
        });
        Ok(Self {
            tls: tls.transpose()?,
            token: token.transpose()?,
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
    let key = PrivateKeyDer::from_pem_slice(&secret::read(&files.key)?)
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
    let bytes = secret::read(path)?;
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

/// Token that clients have to know.
#[derive(Clone)]
pub struct Token(Arc<Renewed<Vec<u8>>>);

impl Token {
    /// Returns true if this is the token. Takes equally long for any wrong one.
    pub fn is(&self, shown: &[u8]) -> bool {
        shown.ct_eq(&self.0.get()).into()
    }
}

/// Lets through who shows the token.
pub async fn guard(State(token): State<Token>, request: Request, next: Next) -> Response {
    let mut shown = request.headers().get_all(AUTHORIZATION).iter();
    let bearer = shown.next().and_then(|value| bearer(value.as_bytes()));
    let knows = bearer.is_some_and(|bearer| token.is(bearer));
    if knows && shown.next().is_none() {
        return next.run(request).await;
    }
    let challenge = [(WWW_AUTHENTICATE, "Bearer realm=\"weir\"")];
    let remedy = "metrics need the token of metrics.token-file: send `Authorization: Bearer TOKEN`; in Prometheus, set `authorization: {credentials_file: ...}`\n";
    (StatusCode::UNAUTHORIZED, challenge, remedy).into_response()
}

/// Returns the part after the scheme, whose case does not matter (RFC 9110, section 11.1).
pub(super) fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

/// A listener for TLS connections. A handshake takes place when a connection is first read: a slow
/// client delays no other, and has no more time than a silent connection.
pub struct TlsListener<L> {
    inner: L,
    acceptor: Renewed<TlsAcceptor>,
}

impl<L> TlsListener<L> {
    /// Over the connections of `inner`.
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
    /// Not agreed on keys yet.
    Handshake(Box<Accept<T>>),
    /// Agreed.
    Open(Box<TlsStream<T>>),
    /// Could not agree; asked again all the same, a handshake would panic.
    Failed,
}

impl<T: AsyncRead + AsyncWrite + Unpin> TlsConnection<T> {
    /// Returns the stream once the handshake is done.
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
            // A client that has not agreed on keys gets no answer.
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
