//! Silent connections do not prevent other clients from being answered.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use crate::support::{answer, ask, exchange, info, settings, until, FakeDataplane, FakeXdp, LIMIT};
use axum::routing::get;
use axum::Router;
use nix::sys::resource::{getrlimit, setrlimit, Resource};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Notify;
use weir_http::guard::Names;
use weir_http::{serve, Limits};
use weir_switchd::control;
use weir_switchd::daemon::RunningDataplane;
use weir_switchd::{api, metrics, page};

/// More connections than any listener accepts.
const SILENT: usize = 300;

/// Raises the limit of open files, 1,024 on most systems: both ends of every connection are in this process.
fn allow_many_files() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
}

/// Serves `/`, and `/slow`, which is answered only after `release`.
struct Served {
    address: SocketAddr,
    release: Arc<Notify>,
    /// Requests for `/slow` so far.
    entered: Arc<AtomicUsize>,
}

impl Served {
    async fn start(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let release = Arc::new(Notify::new());
        let wait = Arc::clone(&release);
        let entered = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&entered);
        let slow = move || async move {
            count.fetch_add(1, Ordering::Relaxed);
            wait.notified().await;
            "slow"
        };
        let router = Router::new()
            .route("/", get(|| async { "served" }))
            .route("/slow", get(slow));
        tokio::spawn(serve(listener, limits, router, std::future::pending()));
        Self {
            address,
            release,
            entered,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Opens a connection with a pending answer.
    async fn slow(&self) -> TcpStream {
        let before = self.entered.load(Ordering::Relaxed);
        let mut stream = self.connect().await;
        ask(&mut stream, "GET", "/slow").await;
        until(async || (self.entered.load(Ordering::Relaxed) > before).then_some(())).await;
        stream
    }

    async fn get(&self, path: &str) -> String {
        exchange(self.connect().await, "GET", path).await.body
    }
}

/// Returns true if the peer closes `stream`.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(LIMIT, stream.read_to_end(&mut rest));
    closed.await.is_ok()
}

const LASTING: Limits = Limits {
    first_request: Duration::from_secs(3_600),
    ..Limits::DEFAULT
};

#[tokio::test(flavor = "multi_thread")]
async fn page_metrics_and_api_answer_beside_three_hundred_silent_connections() {
    allow_many_files();
    let fake = FakeDataplane::start();
    let xdp = Box::new(FakeXdp);
    let control = control::start(info(), &settings(), fake.link().unwrap(), xdp).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let socket: PathBuf = directory.path().join("api.sock");
    let shared = || Arc::clone(&control.shared);

    let listener = api::listen(&socket, None).unwrap();
    tokio::spawn(api::serve(listener, shared()));
    let any = "127.0.0.1:0";
    let listener = TcpListener::bind(any).await.unwrap();
    let scraped = listener.local_addr().unwrap();
    tokio::spawn(metrics::serve(listener, shared(), Default::default()));
    let listener = TcpListener::bind(any).await.unwrap();
    let looked_at = listener.local_addr().unwrap();
    tokio::spawn(page::serve(
        listener,
        shared(),
        Names::new(&[], page::NAMES_SETTING),
    ));

    let mut silent = Vec::new();
    let mut silent_at_socket = Vec::new();
    for _ in 0..SILENT {
        silent.push(TcpStream::connect(scraped).await.unwrap());
        silent.push(TcpStream::connect(looked_at).await.unwrap());
        silent_at_socket.push(UnixStream::connect(&socket).await.unwrap());
    }
    let stream = TcpStream::connect(scraped).await.unwrap();
    assert_eq!(exchange(stream, "GET", "/metrics").await.status, 200);
    let stream = UnixStream::connect(&socket).await.unwrap();
    assert_eq!(exchange(stream, "GET", "/v1/status").await.status, 200);
    let mut stream = TcpStream::connect(looked_at).await.unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {looked_at}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(answer(stream).await.status, 200);

    let _ = tokio::task::spawn_blocking(move || control.stop()).await;
}

#[tokio::test]
async fn whoever_sends_no_whole_request_is_cut_off() {
    let served = Served::start(Limits {
        first_request: Duration::from_millis(20),
        ..Limits::DEFAULT
    })
    .await;
    let mut silent = served.connect().await;
    assert!(is_closed(&mut silent).await);
    // Bytes that never end are not a request.
    let mut slow = served.connect().await;
    slow.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    until(async || slow.write_all(b"X: y\r\n").await.err().map(drop)).await;
}

/// A connection with a slow answer may be silent.
#[tokio::test]
async fn a_request_that_is_being_answered_keeps_its_place() {
    let served = Served::start(Limits {
        connections: 2,
        first_request: Duration::from_secs(1),
        ..Limits::DEFAULT
    })
    .await;
    let slow = served.slow().await;
    // The later one was closed: silent connections have to make room.
    assert!(is_closed(&mut served.connect().await).await);
    for _ in 0..20 {
        let mut silent = served.connect().await;
        assert_eq!(served.get("/").await, "served");
        assert!(is_closed(&mut silent).await);
    }
    served.release.notify_one();
    assert_eq!(answer(slow).await.body, "slow");
}

/// A connection that has had its answer is closed after those that never sent a request.
#[tokio::test]
async fn the_silent_are_evicted_first() {
    let served = Served::start(Limits {
        connections: 2,
        ..LASTING
    })
    .await;
    let mut kept = served.connect().await;
    let request = b"GET / HTTP/1.1\r\nHost: weir\r\n\r\n";
    let mut answered = [0; 512];
    kept.write_all(request).await.unwrap();
    assert!(kept.read(&mut answered).await.unwrap() > 0);
    let mut silent = served.connect().await;
    assert_eq!(served.get("/").await, "served");
    assert!(is_closed(&mut silent).await);
    kept.write_all(request).await.unwrap();
    assert!(kept.read(&mut answered).await.unwrap() > 0);
}

#[tokio::test]
async fn one_peer_has_a_bounded_part_of_the_places() {
    let served = Served::start(Limits {
        connections_of_a_peer: 2,
        ..LASTING
    })
    .await;
    let _busy = [served.slow().await, served.slow().await];
    let mut third = served.connect().await;
    assert!(is_closed(&mut third).await);
    // From another address there is room.
    let other = tokio::net::TcpSocket::new_v4().unwrap();
    other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let other = other.connect(served.address).await.unwrap();
    assert_eq!(exchange(other, "GET", "/").await.body, "served");
}
