//! Access to the daemon for processes of other users: the API's sockets, and metrics behind TLS and a token. Needs root.

use std::fs::Permissions;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::support::{self, certificate, info, settings, FakeDataplane, LIMIT};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weir_config::daemon::{read_socket, ApiConfig, Protection, TlsFiles};
use weir_switchd::daemon::{run, DaemonError, Ended, Plan, Signal};

/// Groups that exist on every Debian: members of the first may make changes, those of the second may read.
const OPERATORS: &str = "daemon";
const OPERATORS_ID: u32 = 1;
const READERS: &str = "games";
const READERS_ID: u32 = 60;
const STRANGERS_ID: u32 = 64_999;
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

struct Daemon {
    directory: tempfile::TempDir,
    socket: PathBuf,
    stop: mpsc::Sender<Signal>,
    task: JoinHandle<Result<Ended, DaemonError>>,
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    // Lets other users reach the sockets.
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    directory
}

fn plan(directory: &Path) -> Plan {
    Plan {
        run_dir: directory.join("run"),
        api_socket: directory.join("run/api.sock"),
        api: ApiConfig::default(),
        metrics: None,
        metrics_protection: Protection::default(),
        gnmi: None,
        page: None,
        info: info(),
        control: settings(),
        drain: Duration::ZERO,
        reloader: None,
        watchdog: None,
        protections: None,
        keeping: None,
    }
}

impl Daemon {
    async fn start(directory: tempfile::TempDir, plan: Plan) -> Self {
        let socket = plan.api_socket.clone();
        let (stop, stops) = mpsc::channel(4);
        let fake = FakeDataplane::start();
        let task = tokio::spawn(run(plan, move |_| Ok(fake), stops));
        let daemon = Self {
            directory,
            socket,
            stop,
            task,
        };
        // The service must have started as well.
        support::until(async || daemon.socket.exists().then_some(())).await;
        assert_eq!(support::get(&daemon.socket, "/v1/status").await.status, 200);
        daemon
    }

    async fn end(self) {
        self.stop.send(Signal::Stop("test")).await.unwrap();
        let ended = tokio::time::timeout(LIMIT, self.task).await.unwrap();
        assert_eq!(ended.unwrap().unwrap(), Ended::Cleanly);
        assert!(!self.directory.path().join("run").exists());
    }
}

/// Runs `curl` as a user without an account who is a member of `group` only. Returns status and body; status 0 for no
/// connection.
async fn curl(group: u32, arguments: &[&str]) -> (u16, String) {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", "65534", "--regid"])
        .arg(group.to_string())
        .args(["--clear-groups", "curl", "--silent", "--max-time", "60"])
        .args(["--write-out", "\n%{http_code}"])
        .args(arguments);
    let output = output(command).await;
    let text = String::from_utf8_lossy(&output.stdout);
    let (body, status) = text.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), body.to_owned())
}

async fn output(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

#[tokio::test]
#[ignore = "needs root"]
async fn readers_look_operators_change_and_strangers_do_neither() {
    let directory = directory();
    let plan = Plan {
        api: ApiConfig {
            group: Some(OPERATORS.to_owned()),
            read_group: Some(READERS.to_owned()),
        },
        ..plan(directory.path())
    };
    let daemon = Daemon::start(directory, plan).await;
    let (full, reading) = (&daemon.socket, &read_socket(&daemon.socket));
    for (socket, group) in [(full, OPERATORS_ID), (reading, READERS_ID)] {
        let metadata = std::fs::metadata(socket).unwrap();
        assert_eq!(metadata.mode() & 0o777, 0o660, "{}", socket.display());
        assert_eq!(metadata.gid(), group, "{}", socket.display());
    }
    let [full, reading] = [full, reading].map(|path| path.to_str().unwrap());
    let status = "http://weir/v1/status";
    // One change of each kind: PUT, POST and DELETE.
    let change = "{\"ports\": [\"p0\"], \"enabled\": true}";
    let json = "Content-Type: application/json";
    let changes: [&[&str]; 4] = [
        &[
            "-X",
            "PUT",
            "-H",
            json,
            "-d",
            change,
            "http://weir/v1/pfcwd",
        ],
        &["-X", "POST", "http://weir/v1/reload"],
        &[
            "-X",
            "POST",
            "-H",
            json,
            "-d",
            "{}",
            "http://weir/v1/captures",
        ],
        &["-X", "DELETE", "http://weir/v1/routes/02:00:00:00:00:01"],
    ];
    for (group, socket, may_connect, may_change) in [
        (OPERATORS_ID, full, true, true),
        (READERS_ID, full, false, false),
        (STRANGERS_ID, full, false, false),
        (READERS_ID, reading, true, false),
        (OPERATORS_ID, reading, false, false),
        (STRANGERS_ID, reading, false, false),
    ] {
        let (looked, body) = curl(group, &["--unix-socket", socket, status]).await;
        let expected = if may_connect { 200 } else { 0 };
        assert_eq!(looked, expected, "group {group} at {socket}: {body}");
        for change in changes {
            let mut words = vec!["--unix-socket", socket];
            // A permitted capture does not end by itself.
            if may_change && change.contains(&"http://weir/v1/captures") {
                words.extend(["--max-time", "1"]);
            }
            words.extend(change);
            let (answered, body) = curl(group, &words).await;
            match (may_connect, may_change) {
                (true, false) => {
                    assert_eq!(answered, 403, "{change:?}: {body}");
                    // The body names the socket to use instead.
                    assert!(body.contains(full), "{body}");
                }
                (true, true) => assert!(![0, 401, 403].contains(&answered), "{change:?}: {body}"),
                (false, _) => assert_eq!(answered, 0, "{change:?}: {body}"),
            }
        }
    }
    daemon.end().await;
}

#[tokio::test]
async fn without_a_group_for_readers_there_is_no_socket_for_them() {
    let directory = directory();
    let plan = plan(directory.path());
    let daemon = Daemon::start(directory, plan).await;
    assert!(!read_socket(&daemon.socket).exists());
    daemon.end().await;
}

#[tokio::test]
async fn a_group_that_is_not_there_is_refused_with_a_remedy() {
    let directory = directory();
    let plan = Plan {
        api: ApiConfig {
            group: None,
            read_group: Some("weir-no-such-group".to_owned()),
        },
        ..plan(directory.path())
    };
    let (_stop, stops) = mpsc::channel(4);
    let fake = FakeDataplane::start();
    let error = run(plan, move |_| Ok(fake), stops).await.unwrap_err();
    assert!(matches!(error, DaemonError::Api { .. }), "{error}");
    assert!(error.to_string().contains("groupadd"), "{error}");
    assert!(!directory.path().join("run").exists());
}

fn token_file(directory: &Path, token: &str, mode: u32) -> PathBuf {
    let path = directory.join("token");
    std::fs::write(&path, format!("{token}\n")).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path
}

fn free_address() -> SocketAddr {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    free.local_addr().unwrap()
}

/// Starts a daemon whose metrics need TLS and [`TOKEN`]; returns it with their address and the certificate.
async fn protected() -> (Daemon, SocketAddr, TlsFiles) {
    let directory = directory();
    let files = certificate::make(directory.path(), "first");
    let address = free_address();
    let plan = Plan {
        metrics: Some(address),
        metrics_protection: Protection {
            tls: Some(files.clone()),
            token_file: Some(token_file(directory.path(), TOKEN, 0o600)),
            names: Vec::new(),
        },
        ..plan(directory.path())
    };
    let daemon = Daemon::start(directory, plan).await;
    (daemon, address, files)
}

#[tokio::test]
#[ignore = "needs root"]
async fn metrics_want_tls_and_the_token() {
    let (daemon, address, files) = protected().await;
    let url = format!("https://{address}/metrics");
    let authority = files.certificate.to_str().unwrap().to_owned();
    let with = |authority: &str, rest: &[&str]| {
        let mut words = vec!["--cacert".to_owned(), authority.to_owned(), url.clone()];
        words.extend(rest.iter().map(|word| (*word).to_owned()));
        words
    };
    let ask = async |words: Vec<String>| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        curl(STRANGERS_ID, &words).await
    };
    let right = format!("Authorization: Bearer {TOKEN}");
    let (status, body) = ask(with(&authority, &["-H", &right])).await;
    assert_eq!(status, 200, "{body}");
    assert!(
        body.contains("weir_build_info") || body.contains("weir_port"),
        "{body}"
    );

    // The overview needs the same token as the metrics.
    let overview = format!("https://{address}/overview");
    let told = curl(
        STRANGERS_ID,
        &["--cacert", &authority, "-i", "-H", &right, &overview],
    )
    .await;
    assert!(told.0 == 200 && told.1.contains("weir-clock: "), "{told:?}");
    let told = curl(STRANGERS_ID, &["--cacert", &authority, &overview]).await;
    assert!(told.0 == 401 && !told.1.contains("uptime"), "{told:?}");

    let longer = format!("{right}0");
    let shorter = &right[..right.len() - 1];
    let basic = format!("Authorization: Basic {TOKEN}");
    for wrong in [
        &[][..],
        &["-H", &longer],
        &["-H", shorter],
        &["-H", &basic],
        &["-H", "Authorization: Bearer"],
        &["-H", &right, "-H", &right],
    ] {
        let (status, body) = ask(with(&authority, wrong)).await;
        assert_eq!(status, 401, "{wrong:?}");
        assert!(
            body.contains("token-file") && !body.contains("weir_"),
            "{body}"
        );
    }
    // Without TLS there is no answer, and the client refuses an unknown certificate.
    let plain = format!("http://{address}/metrics");
    let (status, _) = curl(STRANGERS_ID, &["-H", &right, &plain]).await;
    assert_eq!(status, 0);
    let other = certificate::make(daemon.directory.path(), "other");
    let (status, _) = ask(with(other.certificate.to_str().unwrap(), &["-H", &right])).await;
    assert_eq!(status, 0);

    // A renewed certificate and token apply to the next connection, without a restart.
    std::fs::copy(&other.key, &files.key).unwrap();
    std::fs::copy(&other.certificate, &files.certificate).unwrap();
    let next = "fedcba9876543210fedcba9876543210";
    token_file(daemon.directory.path(), next, 0o600);
    let renewed = format!("Authorization: Bearer {next}");
    let (status, body) = ask(with(other.certificate.to_str().unwrap(), &["-H", &renewed])).await;
    assert_eq!(status, 200, "{body}");
    let (status, _) = ask(with(other.certificate.to_str().unwrap(), &["-H", &right])).await;
    assert_eq!(status, 401);
    daemon.end().await;
}

/// Too many guesses block the address and cause an event.
#[tokio::test]
async fn guesses_at_the_token_are_limited_and_reported() {
    let (daemon, address, files) = protected().await;
    let url = format!("https://{address}/metrics");
    let authority = files.certificate.to_str().unwrap();
    let ask = async |token: &str| {
        let header = format!("Authorization: Bearer {token}");
        let words = [
            "--silent",
            "--output",
            "/dev/null",
            "--write-out",
            "%{http_code}",
        ];
        let mut command = Command::new("curl");
        command
            .args(words)
            .args(["--cacert", authority, "-H", &header, &url]);
        String::from_utf8(output(command).await.stdout).unwrap()
    };
    assert_eq!(ask(TOKEN).await, "200");
    let mut answers = Vec::new();
    for number in 0..12 {
        answers.push(ask(&format!("{TOKEN}{number}")).await);
    }
    assert!(
        answers[..10].iter().all(|status| status == "401"),
        "{answers:?}"
    );
    assert_eq!(&answers[10..], ["429"; 2]);
    // While blocked, even the right token is refused.
    assert_eq!(ask(TOKEN).await, "429");
    let events = support::get(&daemon.socket, "/v1/events?after=0")
        .await
        .body;
    let event = "\"tokens_refused\"";
    assert_eq!(events.matches(event).count(), 1, "{events}");
    assert!(events.contains("127.0.0.1"), "{events}");
    daemon.end().await;
}

#[tokio::test]
async fn metrics_without_a_token_answer_known_names_only() {
    let directory = directory();
    let address = free_address();
    let plan = Plan {
        metrics: Some(address),
        metrics_protection: Protection {
            names: vec!["Leaf1.example.net".to_owned()],
            ..Protection::default()
        },
        ..plan(directory.path())
    };
    let daemon = Daemon::start(directory, plan).await;
    let url = format!("http://{address}/metrics");
    for (host, expected) in [
        (address.to_string(), "200"),
        ("localhost:9464".to_owned(), "200"),
        ("leaf1.example.net".to_owned(), "200"),
        ("rebound.example".to_owned(), "421"),
    ] {
        let words = ["--silent", "--write-out", "\n%{http_code}", "-H"];
        let mut command = Command::new("curl");
        command.args(words).args([&format!("Host: {host}"), &url]);
        let answer = String::from_utf8(output(command).await.stdout).unwrap();
        let (body, status) = answer.rsplit_once('\n').unwrap();
        assert_eq!(status, expected, "{host}: {body}");
        assert_eq!(body.contains("weir_"), expected == "200", "{host}: {body}");
    }
    daemon.end().await;
}

/// Silent connections, or ones without TLS, hold up no other client.
#[tokio::test]
#[ignore = "needs root"]
async fn a_slow_handshake_holds_up_nobody() {
    let (daemon, address, files) = protected().await;
    let mut silent = Vec::new();
    for _ in 0..32 {
        silent.push(tokio::net::TcpStream::connect(address).await.unwrap());
    }
    let url = format!("https://{address}/metrics");
    let token = format!("Authorization: Bearer {TOKEN}");
    let authority = files.certificate.to_str().unwrap();
    let (status, body) = curl(STRANGERS_ID, &["--cacert", authority, "-H", &token, &url]).await;
    assert_eq!(status, 200, "{body}");
    drop(silent);
    daemon.end().await;
}

#[tokio::test]
async fn secrets_that_others_can_read_are_refused_before_anything_is_touched() {
    let directory = directory();
    let files = certificate::make(directory.path(), "first");
    let cases = [
        ("token of all", token_file(directory.path(), TOKEN, 0o644)),
        ("short token", {
            let path = directory.path().join("short");
            std::fs::write(&path, "short").unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            path
        }),
        ("no token", directory.path().join("missing")),
    ];
    for (what, token_file) in cases {
        let protection = Protection {
            tls: Some(files.clone()),
            token_file: Some(token_file),
            names: Vec::new(),
        };
        refused(what, directory.path(), protection).await;
    }
    std::fs::set_permissions(&files.key, Permissions::from_mode(0o644)).unwrap();
    let protection = Protection {
        tls: Some(files.clone()),
        token_file: None,
        names: Vec::new(),
    };
    refused("key of all", directory.path(), protection).await;
}

async fn refused(what: &str, directory: &Path, metrics_protection: Protection) {
    let plan = Plan {
        metrics: Some(free_address()),
        metrics_protection,
        ..plan(directory)
    };
    let (_stop, stops) = mpsc::channel(4);
    let start = |_| -> anyhow::Result<FakeDataplane> { panic!("the dataplane is started") };
    let error = run(plan, start, stops).await.expect_err(what);
    assert!(
        matches!(error, DaemonError::Protection { .. }),
        "{what}: {error}"
    );
    assert!(!directory.join("run").exists(), "{what}");
}
