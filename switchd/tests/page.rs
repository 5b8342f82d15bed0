//! The live page's listener: its contents, its access rules, and that it permits no change.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{self, answer, get, info, settings, Answer, FakeDataplane, FakeXdp, LIMIT};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use weir_api::overview::{Curves, Overview};
use weir_http::guard::Names;
use weir_switchd::control::{self, Control};
use weir_switchd::daemon::RunningDataplane;
use weir_switchd::page;

struct Served {
    address: std::net::SocketAddr,
    control: Control,
    _fake: FakeDataplane,
    server: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Served {
    async fn start() -> Self {
        let fake = FakeDataplane::start();
        let xdp = Box::new(FakeXdp);
        let control = control::start(info(), &settings(), fake.link().unwrap(), xdp).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let names = Names::new(&["leaf1.example.net".to_owned()], page::NAMES_SETTING);
        let server = tokio::spawn(page::serve(listener, Arc::clone(&control.shared), names));
        Self {
            address,
            control,
            _fake: fake,
            server,
        }
    }

    async fn ask(&self, method: &str, path: &str, head: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\n{head}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        answer(stream).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &format!("Host: {}\r\n", self.address))
            .await
    }

    async fn end(self) {
        let _ = tokio::task::spawn_blocking(move || self.control.stop()).await;
        let ended = tokio::time::timeout(LIMIT, self.server).await;
        ended.unwrap().unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_its_files_are_served_with_their_kinds() {
    let served = Served::start().await;
    for (path, kind) in [
        ("/", "text/html"),
        ("/page.css", "text/css"),
        ("/page.js", "text/javascript"),
        ("/icon.svg", "image/svg+xml"),
        ("/overview", "application/json"),
        ("/curves", "application/json"),
    ] {
        let answer = served.get(path).await;
        let head = answer.head.to_lowercase();
        assert_eq!(answer.status, 200, "{path}");
        for line in [
            format!("content-type: {kind}"),
            "x-content-type-options: nosniff".to_owned(),
            "content-security-policy: default-src 'none'; script-src 'self';".to_owned(),
            "frame-ancestors 'none'".to_owned(),
            "cache-control: no-store".to_owned(),
        ] {
            assert!(head.contains(&line), "{path}: {line}: {head}");
        }
    }
    let answer = served.get("/overview").await;
    let clock = answer
        .head
        .lines()
        .find_map(|line| line.strip_prefix("weir-clock: "));
    let clock: u64 = clock.unwrap().trim().parse().unwrap();
    let overview: Overview = answer.json();
    assert!(clock >= overview.monotonic_nanos);
    assert_eq!(
        (overview.status.name.as_str(), overview.ports.len()),
        ("s1", 3)
    );
    assert_eq!(overview.events[0].kind, "started");
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn curves_have_a_past() {
    let served = Served::start().await;
    let history = &served.control.shared.records.history;
    while history.to_api(&served.control.shared.info, 0).next < 2 {
        tokio::time::sleep(Duration::from_nanos(history.interval().as_nanos())).await;
    }
    let curves: Curves = served.get("/curves").await.json();
    let moments = curves.monotonic_nanos.len();
    assert!(moments > 0 && moments as u64 <= page::CURVE_POINTS);
    assert!(curves.monotonic_nanos.is_sorted());
    assert_eq!(curves.ports.keys().collect::<Vec<_>>(), ["p0", "p1", "p2"]);
    for passed in curves.ports.values() {
        assert_eq!(passed.rx_bytes_total.len(), moments);
        assert_eq!(passed.tx_bytes_total.len(), moments);
    }
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_names_are_refused() {
    let served = Served::start().await;
    for good in [
        "localhost",
        "127.0.0.1:9465",
        "[::1]:9465",
        "Leaf1.example.net:9465",
    ] {
        let answer = served
            .ask("GET", "/overview", &format!("Host: {good}\r\n"))
            .await;
        assert_eq!(answer.status, 200, "{good}");
    }
    for bad in [
        "Host: rebound.example\r\n",
        "",
        "Host: localhost\r\nHost: rebound.example\r\n",
    ] {
        let answer = served.ask("GET", "/overview", bad).await;
        assert!(matches!(answer.status, 400 | 421), "{bad}: {answer:?}");
        assert!(!answer.body.contains("umem"), "{answer:?}");
    }
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_can_be_changed_and_nothing_else_is_there() {
    let served = Served::start().await;
    let host = format!("Host: {}\r\nContent-Length: 0\r\n", served.address);
    for method in ["POST", "PUT", "DELETE"] {
        for path in ["/", "/overview", "/timelines/1"] {
            assert_eq!(
                served.ask(method, path, &host).await.status,
                405,
                "{method} {path}"
            );
        }
    }
    for path in ["/v1/pfcwd", "/v1/routes", "/timelines/77", "/metrics"] {
        assert_eq!(served.get(path).await.status, 404, "{path}");
    }
    assert_eq!(served.get("/timelines/x").await.status, 400);
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn viewers_share_one_look_at_the_switch() {
    let served = Served::start().await;
    let mut moments = std::collections::BTreeSet::new();
    let began = std::time::Instant::now();
    for _ in 0..50 {
        let overview: Overview = served.get("/overview").await.json();
        moments.insert(overview.monotonic_nanos);
    }
    let intervals = began.elapsed().as_nanos() / weir_switchd::api::overview::INTERVAL.as_nanos();
    assert!(
        moments.len() as u128 <= intervals + 1,
        "{} in {intervals}",
        moments.len()
    );
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_has_the_overview_too() {
    let running = support::running::Running::start(FakeDataplane::start(), settings()).await;
    let overview: Overview = get(&running.socket, "/v1/overview").await.json();
    assert_eq!(overview.pfc.len(), 3);
    assert_eq!(overview.last_event, overview.events[0].sequence);
    running.end().await.unwrap();
}
