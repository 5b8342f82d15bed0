//! HTTP/2 server with limits, for gRPC. All other listeners use HTTP/1.1.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::time::Duration;

use axum::serve::Listener;
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::places::{Bounded, Connection, Limits, Peer};
use super::serving::{Answer, Client};

/// Maximum number of concurrent requests of one connection.
const REQUESTS_MAX: u32 = 32;
/// Maximum size in bytes of a request's headers.
const HEADERS_MAX: u32 = 16 * 1024;
/// Flow control window of a stream and of a connection, in bytes.
const WINDOW: u32 = 64 * 1024;
/// Bytes of answers to one request that wait for the peer.
const SEND_BUFFER: usize = 256 * 1024;
/// A peer is pinged after this time of silence, even while an answer lasts for days. Far less than
/// [`Limits::silence`].
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// Time limit for the reply.
const PING_WAIT: Duration = Duration::from_secs(20);

/// Serves `answer` on `listener` until `ending` completes and the last answer has been sent.
///
/// # Errors
///
/// None: a listener of axum accepts until it is dropped.
pub async fn serve<L, A, F, B>(
    listener: L,
    limits: Limits,
    answer: A,
    ending: impl Future<Output = ()> + Send,
) -> io::Result<()>
where
    L: Listener,
    L::Addr: Peer,
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: HttpBody + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut listener = Bounded::new(listener, limits);
    let (end, ended) = watch::channel(());
    let mut connections = JoinSet::new();
    tokio::pin!(ending);
    loop {
        tokio::select! {
            () = &mut ending => break,
            (connection, _) = listener.accept() => {
                connections.spawn(serve_one(connection, answer.clone(), ended.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(end);
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// Runs until the peer or the daemon ends it. Its errors concern only the peer, and are not logged.
async fn serve_one<T, A, F, B>(connection: Connection<T>, answer: A, mut ended: watch::Receiver<()>)
where
    Connection<T>: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    A: Fn(Request<Incoming>) -> F + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: HttpBody + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let place = connection.place().clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Client(place.host()));
        let answering = place.begin();
        let response = answer(request);
        async move {
            let response = response.await;
            Ok::<_, Infallible>(response.map(|body| Answer::new(body, answering)))
        }
    });
    let mut http2 = http2::Builder::new(TokioExecutor::new());
    http2
        .timer(TokioTimer::new())
        .max_concurrent_streams(REQUESTS_MAX)
        .max_header_list_size(HEADERS_MAX)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_WAIT);
    let serving = http2.serve_connection(TokioIo::new(connection), service);
    tokio::pin!(serving);
    tokio::select! {
        outcome = serving.as_mut() => {
            if let Err(error) = outcome {
                tracing::debug!(%error, "connection ended");
            }
        }
        _ = ended.changed() => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}
