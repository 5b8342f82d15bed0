//! Places of a listener, and evictions from them.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{ready, Context, Poll, Waker};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

/// Bounds of one listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connections; more wait in the socket's backlog while all of these are being answered.
    pub connections: usize,
    /// Maximum number of connections of one IP address; more are closed while all of these are being answered.
    pub connections_of_a_peer: usize,
    /// Time limit for the first complete request of a connection.
    pub first_request: Duration,
    /// A connection is closed after this time without any reading or writing, or without a complete request after the
    /// last answer.
    pub silence: Duration,
}

impl Limits {
    /// For the API and the metrics. Longer than the longest wait for events, during which a client may be silent.
    pub const DEFAULT: Self = Self {
        connections: 64,
        connections_of_a_peer: 48,
        first_request: Duration::from_secs(5),
        silence: Duration::from_secs(120),
    };
}

/// Peer of a connection.
pub trait Peer {
    /// The host; `None` if connections are not distinguished.
    fn host(&self) -> Option<IpAddr>;
}

impl Peer for std::net::SocketAddr {
    fn host(&self) -> Option<IpAddr> {
        Some(self.ip())
    }
}

/// The socket's file mode decides who may connect.
impl Peer for tokio::net::unix::SocketAddr {
    fn host(&self) -> Option<IpAddr> {
        None
    }
}

/// A listener with [`Limits`].
pub struct Bounded<L> {
    inner: L,
    limits: Limits,
    places: Arc<Places>,
}

impl<L: Listener> Bounded<L> {
    /// Accepts connections from `inner`.
    pub fn new(inner: L, limits: Limits) -> Self {
        Self {
            inner,
            limits,
            places: Arc::default(),
        }
    }
}

impl<L> Listener for Bounded<L>
where
    L: Listener,
    L::Addr: Peer,
{
    type Io = Connection<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (io, address) = self.inner.accept().await;
            if let Some(place) = self.places.take(address.host(), &self.limits).await {
                return (Connection::new(io, self.limits, place), address);
            }
            tracing::debug!(peer = ?address.host(), "connection refused: too many from this peer");
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}

/// All connections of a listener, the oldest first.
#[derive(Default)]
struct Places {
    taken: Mutex<Vec<Arc<Place>>>,
    /// A place became free, or its connection waits for a request again.
    freed: Notify,
}

/// One connection's place.
pub struct Place {
    host: Option<IpAddr>,
    state: Mutex<State>,
    places: Arc<Places>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of requests being answered.
    requests: usize,
    /// Time when the last answer was sent.
    answered: Option<Instant>,
    /// Another connection needs the place.
    evicted: bool,
    reader: Option<Waker>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Places {
    /// Returns a place, if necessary that of the connection that has waited longest for a request. `None` if too many
    /// connections of the peer are being answered. Waits while all connections of all peers are.
    async fn take(self: &Arc<Self>, host: Option<IpAddr>, limits: &Limits) -> Option<Arc<Place>> {
        loop {
            // Created first, so that no notification is missed.
            let freed = self.freed.notified();
            {
                let mut taken = lock(&self.taken);
                let of_peer = |place: &Arc<Place>| host.is_some() && place.host == host;
                let peers = taken.iter().filter(|place| of_peer(place)).count();
                if peers >= limits.connections_of_a_peer && !evict(&mut taken, of_peer) {
                    return None;
                }
                if taken.len() < limits.connections || evict(&mut taken, |_| true) {
                    let place = Arc::new(Place {
                        host,
                        state: Mutex::default(),
                        places: Arc::clone(self),
                    });
                    taken.push(Arc::clone(&place));
                    return Some(place);
                }
            }
            freed.await;
        }
    }
}

/// Closes the oldest connection that waits for a request, preferring those that have never sent one.
fn evict(taken: &mut Vec<Arc<Place>>, among: impl Fn(&Arc<Place>) -> bool) -> bool {
    let waits = |place: &Arc<Place>, never: bool| {
        let state = lock(&place.state);
        state.requests == 0 && (!never || state.answered.is_none())
    };
    let find = |never| {
        let fits = |place: &Arc<Place>| among(place) && waits(place, never);
        taken.iter().position(fits)
    };
    let Some(at) = find(true).or_else(|| find(false)) else {
        return false;
    };
    let place = taken.remove(at);
    let mut state = lock(&place.state);
    state.evicted = true;
    if let Some(reader) = state.reader.take() {
        reader.wake();
    }
    true
}

impl Place {
    pub(super) fn host(&self) -> Option<IpAddr> {
        self.host
    }

    /// Notes a received request; its answer is complete when the result is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Answering {
        lock(&self.state).requests += 1;
        Answering(Arc::clone(self))
    }
}

/// A request being answered.
pub(super) struct Answering(Arc<Place>);

impl Drop for Answering {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.requests -= 1;
        state.answered = Some(Instant::now());
        drop(state);
        self.0.places.freed.notify_waiters();
    }
}

/// One connection; its place becomes free when it is dropped.
pub struct Connection<T> {
    io: T,
    limits: Limits,
    opened: Instant,
    /// Time of the last read or write.
    moved: Instant,
    timer: Pin<Box<Sleep>>,
    place: Arc<Place>,
}

impl<T> Connection<T> {
    fn new(io: T, limits: Limits, place: Arc<Place>) -> Self {
        let opened = Instant::now();
        Self {
            io,
            limits,
            opened,
            moved: opened,
            timer: Box::pin(tokio::time::sleep(limits.first_request)),
            place,
        }
    }

    pub(super) fn place(&self) -> &Arc<Place> {
        &self.place
    }

    /// Time at which it is closed unless something happens. During an answer any transfer counts; while a request is
    /// awaited, only a complete one does.
    fn due(&self, state: &State) -> Instant {
        match (state.requests, state.answered) {
            (0, None) => self.opened + self.limits.first_request,
            (0, Some(answered)) => answered + self.limits.silence,
            _ => self.moved + self.limits.silence,
        }
    }

    /// Ready once its time is over or its place was taken; wakes `context` then.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut state = lock(&self.place.state);
            let due = self.due(&state);
            // A request that arrived at the same time is still answered.
            if (state.evicted && state.requests == 0) || due <= Instant::now() {
                return Poll::Ready(());
            }
            state.reader = Some(context.waker().clone());
            drop(state);
            if self.timer.deadline() != due {
                self.timer.as_mut().reset(due);
            }
            // Checks again at the new time.
            ready!(self.timer.as_mut().poll(context));
        }
    }
}

impl<T> Drop for Connection<T> {
    fn drop(&mut self) {
        let places = &self.place.places;
        lock(&places.taken).retain(|place| !Arc::ptr_eq(place, &self.place));
        places.freed.notify_waiters();
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
            this.moved = Instant::now();
            return Poll::Ready(outcome);
        }
        ready!(this.poll_end(context));
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
        this.moved = Instant::now();
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
        this.moved = Instant::now();
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
