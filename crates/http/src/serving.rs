//! Serving a router within limits.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::serve::{IncomingStream, Listener};
use axum::Router;
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::places::{Answering, Bounded, Limits, Peer, Place};

/// Serves `router` on `listener` until `ending` completes and the last answer has been sent.
///
/// # Errors
///
/// The listener fails permanently.
pub async fn serve<L>(
    listener: L,
    limits: Limits,
    router: Router,
    ending: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()>
where
    L: Listener,
    L::Addr: Peer + std::fmt::Debug,
{
    let service = router
        .layer(middleware::from_fn(answer))
        .into_make_service_with_connect_info::<Placed>();
    axum::serve(Bounded::new(listener, limits), service)
        .with_graceful_shutdown(ending)
        .await
}

/// Place of a request's connection.
#[derive(Clone)]
struct Placed(Arc<Place>);

impl<L> Connected<IncomingStream<'_, Bounded<L>>> for Placed
where
    L: Listener,
    L::Addr: Peer,
{
    fn connect_info(stream: IncomingStream<'_, Bounded<L>>) -> Self {
        Self(Arc::clone(stream.io().place()))
    }
}

/// The host that sent a request, in the request's extensions; `None` for a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client(pub Option<IpAddr>);

/// Keeps the place until the answer has been sent.
async fn answer(
    ConnectInfo(Placed(place)): ConnectInfo<Placed>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(Client(place.host()));
    let answering = place.begin();
    let response = next.run(request).await;
    response.map(|body| Body::new(Answer::new(body, answering)))
}

/// A body that keeps its request's place.
pub(super) struct Answer<B> {
    body: B,
    _answering: Answering,
}

impl<B> Answer<B> {
    /// The place is free again once the body is dropped.
    pub(super) fn new(body: B, answering: Answering) -> Self {
        Self {
            body,
            _answering: answering,
        }
    }
}

impl<B: HttpBody + Unpin> HttpBody for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
