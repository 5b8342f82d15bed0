//! gNMI: the data of `switchctl` for telemetry collectors, on a separate TCP address. It is read-only; the service itself is
//! in [`weir_gnmi`].

mod source;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::AUTHORIZATION;
use axum::serve::Listener;
use tokio::net::TcpListener;
use weir_config::daemon;
use weir_gnmi::{Gnmi, Refusal};

use super::protection::{bearer, Denied, Protection, TlsListener, Token};
use crate::control::Shared;
use source::Switch;
use weir_http::{self as http, Client, Limits, Peer};

/// Limits of the listener. A client library may connect long before its first request.
pub const LIMITS: Limits = Limits {
    connections: 32,
    connections_of_a_peer: 24,
    first_request: Duration::from_secs(20),
    ..Limits::DEFAULT
};

/// ALPN protocol of gRPC.
pub const PROTOCOL: &str = "h2";

/// Address of gNMI, and its data besides the switch's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GnmiSettings {
    /// The address.
    pub listen: SocketAddr,
    /// Protection of the service.
    pub protection: daemon::Protection,
    /// Maximum frame length that is forwarded, in bytes without the FCS.
    pub frame_bytes_max: u64,
}

/// Serves until the daemon ends and the last answer is sent.
///
/// # Errors
///
/// When the listener fails permanently.
pub async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    protection: Protection,
    frame_bytes_max: u64,
) -> io::Result<()> {
    let token = protection.token;
    match protection.tls {
        Some(acceptor) => {
            let listener = TlsListener::new(listener, acceptor);
            serve_on(listener, shared, token, frame_bytes_max).await
        }
        None => serve_on(listener, shared, token, frame_bytes_max).await,
    }
}

async fn serve_on<L>(
    listener: L,
    shared: Arc<Shared>,
    token: Option<Token>,
    frame_bytes_max: u64,
) -> io::Result<()>
where
    L: Listener,
    L::Addr: Peer,
{
    let figures = Arc::clone(&shared.gnmi);
    let (ending, told) = (Arc::clone(&shared), Arc::clone(&shared));
    let gnmi = Gnmi::new(Switch::new(shared, frame_bytes_max), figures);
    let answer = move |request: axum::http::Request<_>| {
        let (gnmi, token, shared) = (gnmi.clone(), token.clone(), Arc::clone(&told));
        async move {
            match admit(token.as_ref(), &request, &shared) {
                Ok(()) => gnmi.answer(request).await,
                Err(refusal) => gnmi.refuse(&refusal),
            }
        }
    };
    http::serve_http2(listener, LIMITS, answer, ending.life.ending()).await
}

/// Admits clients with the token as bearer token or password. A gNMI client's user name is ignored.
fn admit<B>(
    token: Option<&Token>,
    request: &axum::http::Request<B>,
    shared: &Shared,
) -> Result<(), Refusal> {
    let Some(token) = token else {
        return Ok(());
    };
    let headers = request.headers();
    let client = request.extensions().get::<Client>().and_then(|it| it.0);
    let only = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let value = values.next()?;
        values.next().is_none().then_some(value.as_bytes())
    };
    let shown = [
        only(AUTHORIZATION.as_str()).and_then(bearer),
        only("password"),
    ];
    token
        .admit(client, shown.into_iter().flatten(), ("gnmi", &shared.records))
        .map_err(|denied| Refusal::unauthenticated(match denied {
            Denied::Wrong => "gNMI needs the token of gnmi.token-file: send it as `authorization: Bearer TOKEN`, or as the password of any user",
            Denied::Limited(_) => "too many wrong tokens from this address; correct the token and try again in a minute",
        }))
}
