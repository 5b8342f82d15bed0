//! A listener with a bound on its connections and on how long one of them may be silent.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// Connections at a time; more wait in the socket's backlog.
pub const CONNECTIONS_MAX: usize = 64;
/// A connection from which nothing is read and to which nothing is written for this long is closed. Longer
/// than the longest wait for events, during which a client is rightly silent.
pub const SILENCE_MAX: Duration = Duration::from_secs(120);

/// The listener.
pub struct Bounded<L> {
    inner: L,
    permits: Arc<Semaphore>,
    silence: Duration,
}

impl<L: Listener> Bounded<L> {
    /// Accepts from `inner`, at most `connections` at a time.
    pub fn new(inner: L, connections: usize, silence: Duration) -> Self {
        Self {
            inner,
            permits: Arc::new(Semaphore::new(connections)),
            silence,
        }
    }
}

impl<L: Listener> Listener for Bounded<L> {
    type Io = Connection<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        let (io, address) = self.inner.accept().await;
        let connection = Connection {
            io,
            silence: self.silence,
            deadline: Box::pin(tokio::time::sleep(self.silence)),
            _permit: permit,
        };
        (connection, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}

/// One connection; its place is free again when it is dropped.
pub struct Connection<T> {
    io: T,
    silence: Duration,
    deadline: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl<T> Connection<T> {
    fn note_progress(&mut self) {
        let deadline = Instant::now() + self.silence;
        self.deadline.as_mut().reset(deadline);
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Connection<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Poll::Ready(outcome) = Pin::new(&mut this.io).poll_read(context, buffer) {
            this.note_progress();
            return Poll::Ready(outcome);
        }
        ready!(this.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Connection<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let written = ready!(Pin::new(&mut this.io).poll_write(context, bytes));
        this.note_progress();
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let written = ready!(Pin::new(&mut this.io).poll_write_vectored(context, bytes));
        this.note_progress();
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{routing::get, Router};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    const LIMIT: Duration = Duration::from_secs(60);

    /// With room for one connection, the second is served only once the silent first one is gone.
    #[tokio::test]
    async fn a_silent_connection_gives_its_place_to_the_next() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let bounded = Bounded::new(listener, 1, Duration::from_millis(20));
        let router = Router::new().route("/", get(|| async { "served" }));
        let server = tokio::spawn(async move { axum::serve(bounded, router).await });

        let mut silent = TcpStream::connect(address).await.unwrap();
        let mut next = TcpStream::connect(address).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n";
        next.write_all(request).await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(LIMIT, next.read_to_string(&mut answer))
            .await
            .unwrap()
            .unwrap();
        assert!(answer.ends_with("served"), "{answer}");
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(LIMIT, silent.read_to_end(&mut rest)).await;
        assert!(closed.is_ok());
        server.abort();
    }
}
