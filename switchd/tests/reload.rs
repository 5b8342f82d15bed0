//! Reloading of the configuration file, with a dataplane made of queues.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::support::configured::{based, FILE};
use crate::support::running::Running;
use crate::support::{
    get, port, priority, request, settings, until, Concerns, FakeDataplane, LOSSLESS,
};
use weir_api::daemon::{Error, EventPage, Routes, Station, Status, Watermarks};
use weir_api::reload::{Configuration, Reload};
use weir_config::daemon::{DaemonConfig, Fallback, Port};
use weir_core::{ClassMode, Command, CommandError, PortId};
use weir_switchd::daemon::reload::Reloader;
use weir_switchd::daemon::Signal;

/// Configuration that replaces [`FILE`].
const ROUTED: &str = r#"[[route]]
destination = "02:00:00:00:00:01"
ports = ["p0"]
[deadlock]
policy = "breaker"
"#;

fn file() -> String {
    format!("{FILE}{ROUTED}")
}

struct Daemon {
    running: Running,
    _directory: tempfile::TempDir,
    path: PathBuf,
    text: String,
    outcome: Arc<Mutex<Result<(), CommandError>>>,
    concerns: Arc<Mutex<Concerns>>,
    classified: Arc<Mutex<Vec<(PortId, Port)>>>,
}

impl Daemon {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s1.toml");
        let text = based(directory.path(), &file());
        std::fs::write(&path, &text).unwrap();
        let config = DaemonConfig::load(&path).unwrap();
        let fake = FakeDataplane::start();
        let (outcome, classified) = (Arc::clone(&fake.outcome), Arc::clone(&fake.classified));
        let concerns = Arc::clone(&fake.concerns);
        let reloader = Reloader::new(path.clone(), (config, text.clone()), None);
        Self {
            running: Running::start_from(fake, settings(), Some(reloader)).await,
            _directory: directory,
            path,
            text,
            outcome,
            concerns,
            classified,
        }
    }

    fn write(&self, changes: &[(&str, &str)]) {
        let text = changes.iter().fold(self.text.clone(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        std::fs::write(&self.path, text).unwrap();
    }

    async fn reload(&self, query: &str) -> Reload {
        let path = format!("/v1/reload{query}");
        let answer = request(&self.running.socket, "POST", &path).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    fn commands(&self) -> Vec<Command> {
        self.running.remote.commands()
    }
}

#[tokio::test]
async fn stations_are_given_to_the_dataplane_and_shown() {
    let daemon = Daemon::start().await;
    let added = "[multicast]\nsuppress = true\n[[station]]\nmac = \"02:00:00:00:00:01\"\naddresses = [\"10.0.0.1\", \"fd00::1\"]\n[deadlock]";
    daemon.write(&[("[deadlock]", added)]);
    let report = daemon.reload("").await;
    assert_eq!(
        applied(&report),
        [
            "multicast.suppress",
            "station.02:00:00:00:00:01.addresses",
            "station.02:00:00:00:00:01.mac",
        ]
    );
    assert_eq!(report.kept, []);
    let answer = get(&daemon.running.socket, "/v1/routes").await;
    let routes: Routes = answer.json();
    assert!(routes.suppress);
    let addresses = ["10.0.0.1", "fd00::1"].map(str::to_owned).to_vec();
    let mac = "02:00:00:00:00:01".to_owned();
    assert_eq!(routes.stations, [Station { mac, addresses }]);
}

#[tokio::test]
async fn intervals_of_peaks_change_at_once() {
    let daemon = Daemon::start().await;
    daemon.write(&[("[deadlock]", "[watermark]\ninterval = \"30s\"\n[deadlock]")]);
    assert_eq!(applied(&daemon.reload("").await), ["watermark.interval"]);
    let answer = get(&daemon.running.socket, "/v1/watermarks").await;
    let marks: Watermarks = answer.json();
    assert_eq!(marks.telemetry_interval_seconds, 30.0);
}

fn applied(report: &Reload) -> Vec<&str> {
    let keys = report.applied.iter();
    keys.map(|setting| setting.key.as_str()).collect()
}

fn kept(report: &Reload) -> Vec<(&str, &str)> {
    let settings = report.kept.iter();
    settings
        .map(|setting| (setting.key.as_str(), setting.why.as_str()))
        .collect()
}

#[tokio::test]
async fn what_can_change_does_so_at_once() {
    let daemon = Daemon::start().await;
    daemon.write(&[
        ("xoff = \"60KiB\"", "xoff = \"56KiB\"\nweight = 3"),
        (
            "rate = \"100Mbit\"\n[[route]]",
            "rate = \"100Mbit\"\nfallback = \"pass\"\n[[route]]",
        ),
        (
            "00:01\"\nports = [\"p0\"]",
            "00:02\"\nports = [\"p0\", \"p1\"]",
        ),
        (
            "policy = \"breaker\"",
            "policy = \"watchdog\"\ndetect = \"30ms\"",
        ),
    ]);
    let would_be = daemon.reload("?dry_run=true").await;
    assert!(would_be.dry_run && daemon.commands().is_empty());
    assert!(daemon.classified.lock().unwrap().is_empty());

    let report = daemon.reload("").await;
    assert_eq!(report.applied, would_be.applied);
    assert_eq!(report.kept, would_be.kept);
    assert_eq!(
        applied(&report),
        [
            "class.lossless.weight",
            "class.lossless.xoff",
            "deadlock.detect",
            "deadlock.policy",
            "port.p2.fallback",
            "route.02:00:00:00:00:01.buckets",
            "route.02:00:00:00:00:01.destination",
            "route.02:00:00:00:00:01.ports",
            "route.02:00:00:00:00:02.buckets",
            "route.02:00:00:00:00:02.destination",
            "route.02:00:00:00:00:02.ports",
        ]
    );
    assert_eq!(
        (report.kept.as_slice(), report.held_back.as_slice()),
        (&[][..], &[][..])
    );
    let commands = daemon.commands();
    let [Command::SetClass {
        priority: changed,
        class,
    }, Command::SetDetector { .. }, watchdogs @ .., Command::RemoveRoute { .. }, Command::SetRoute { members, .. }] =
        commands.as_slice()
    else {
        panic!("{commands:?}");
    };
    assert_eq!((*changed, class.weight), (priority(LOSSLESS), 3));
    assert!(
        matches!(class.mode, ClassMode::Pfc(thresholds) if thresholds.xoff().get() == 56 * 1024)
    );
    // The policy applies the watchdog to every port.
    assert_eq!(watchdogs.len(), 3);
    assert_eq!(members.count(), 2);
    let classified = daemon.classified.lock().unwrap().clone();
    let [(id, settings)] = classified.as_slice() else {
        panic!("{classified:?}");
    };
    assert_eq!((*id, settings.fallback), (port(2), Fallback::Pass));
    let status: Status = get(&daemon.running.socket, "/v1/status").await.json();
    assert_eq!(status.deadlock_policy, "watchdog");

    // Reloading the same file changes nothing.
    let again = daemon.reload("").await;
    assert!(again.applied.is_empty());
    assert_eq!(again.kept, report.kept);
    assert_eq!(daemon.commands().len(), commands.len());
    daemon.running.end().await.unwrap();
}

/// One setting that needs a restart, or that the dataplane refuses, also prevents the others from being applied.
#[tokio::test]
async fn one_impossible_setting_holds_all_others_back() {
    let daemon = Daemon::start().await;
    let both = [
        ("xoff = \"60KiB\"", "xoff = \"56KiB\""),
        (
            "rate = \"100Mbit\"\n[[route]]",
            "rate = \"1Gbit\"\n[[route]]",
        ),
    ];
    daemon.write(&both);
    for query in ["?dry_run=true", "", "?confirm_seconds=60"] {
        let report = daemon.reload(query).await;
        assert_eq!(applied(&report), [""; 0], "{query}");
        assert_eq!(
            kept(&report),
            [("port.p2.rate", "needs a restart")],
            "{query}"
        );
        let held_back: Vec<&str> = report.held_back.iter().map(|it| &*it.key).collect();
        assert_eq!(held_back, ["class.lossless.xoff"], "{query}");
        assert_eq!(report.confirm_seconds, None, "{query}");
        assert!(daemon.commands().is_empty(), "{query}");
    }

    // After a refusal, a setting that has taken effect is reverted.
    daemon.write(&[both[0], ("ports = [\"p0\"]", "ports = [\"p1\"]")]);
    *daemon.outcome.lock().unwrap() = Err(CommandError::RoutesFull(7));
    *daemon.concerns.lock().unwrap() = |command| matches!(command, Command::SetRoute { .. });
    let report = daemon.reload("").await;
    assert_eq!(applied(&report), [""; 0]);
    assert_eq!(kept(&report)[0].0, "route.02:00:00:00:00:01.ports");
    assert_eq!(report.held_back.len(), 1);
    assert_eq!(last_xoff(&daemon), Some(60 * 1024));
    *daemon.outcome.lock().unwrap() = Ok(());
    let report = daemon.reload("").await;
    assert_eq!(
        applied(&report),
        ["class.lossless.xoff", "route.02:00:00:00:00:01.ports"]
    );
    assert_eq!(last_xoff(&daemon), Some(56 * 1024));
    daemon.running.end().await.unwrap();
}

/// Without any change there is nothing to confirm.
#[tokio::test]
async fn a_file_that_is_in_force_already_needs_no_confirmation() {
    let daemon = Daemon::start().await;
    let report = daemon.reload("?confirm_seconds=0.5").await;
    assert_eq!((report.applied.len(), report.confirm_seconds), (0, None));
    let (status, text) = post(&daemon, "/v1/reload/confirm").await;
    assert!(status == 409 && text.contains("nothing waits"), "{text}");
    // No timer blocks the next reload.
    daemon.write(&[("xoff = \"60KiB\"", "xoff = \"56KiB\"")]);
    assert_eq!(applied(&daemon.reload("").await), ["class.lossless.xoff"]);
    daemon.running.end().await.unwrap();
}

#[tokio::test]
async fn what_is_in_force_is_shown_with_what_reloads_have_changed() {
    let daemon = Daemon::start().await;
    let in_force = || async {
        let answer = get(&daemon.running.socket, "/v1/config").await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let shown: Configuration = answer.json();
        assert_eq!(shown.file, daemon.path.display().to_string());
        assert!(shown.log_level_fixed);
        let config = DaemonConfig::parse(&shown.text, &daemon.path).unwrap();
        (config, shown.buffer_chunks)
    };
    let started = DaemonConfig::load(&daemon.path).unwrap();
    assert_eq!(
        in_force().await,
        (started.clone(), started.buffer_chunks() as u64)
    );
    daemon.write(&[("xoff = \"60KiB\"", "xoff = \"56KiB\"")]);
    daemon.reload("").await;
    // A refused setting is not in force either.
    daemon.write(&[
        ("xoff = \"60KiB\"", "xoff = \"54KiB\""),
        ("name = \"s1\"", "name = \"s2\""),
    ]);
    daemon.reload("").await;
    let (config, chunks) = in_force().await;
    let changes = started.changes_to(&config).into_iter();
    let keys: Vec<String> = changes.map(|change| change.key).collect();
    assert_eq!(keys, ["class.lossless.xoff"]);
    assert_eq!(chunks, started.buffer_chunks() as u64);
    daemon.running.end().await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_not_legal_changes_nothing() {
    let daemon = Daemon::start().await;
    daemon.write(&[("xoff = \"60KiB\"", "xoff = \"50KiB\"\nxofff = 1")]);
    let answer = request(&daemon.running.socket, "POST", "/v1/reload").await;
    assert_eq!(answer.status, 400);
    let error: Error = answer.json();
    assert!(error.error.contains("s1.toml:8"), "{}", error.error);
    assert!(error.error.contains("xofff"), "{}", error.error);
    assert!(daemon.commands().is_empty());
    daemon.running.end().await.unwrap();
}

#[tokio::test]
async fn what_is_refused_stays_and_is_tried_again() {
    let daemon = Daemon::start().await;
    daemon.write(&[("ports = [\"p0\"]", "ports = [\"p1\"]")]);
    *daemon.outcome.lock().unwrap() = Err(CommandError::RoutesFull(7));
    let report = daemon.reload("").await;
    assert!(report.applied.is_empty());
    let why = CommandError::RoutesFull(7).to_string();
    let key = "route.02:00:00:00:00:01.ports";
    assert_eq!(kept(&report), [(key, why.as_str())]);
    *daemon.outcome.lock().unwrap() = Ok(());
    assert_eq!(applied(&daemon.reload("").await), [key]);
    daemon.running.end().await.unwrap();
}

#[tokio::test]
async fn larger_buffers_want_memory_that_was_set_aside() {
    let daemon = Daemon::start().await;
    daemon.write(&[("xoff = \"60KiB\"", "xoff = \"90KiB\"\nweight = 2")]);
    let report = daemon.reload("").await;
    assert_eq!(applied(&report), [""; 0]);
    assert_eq!(report.held_back[0].key, "class.lossless.weight");
    let kept = kept(&report);
    assert_eq!(kept[0].0, "class.lossless.xoff");
    // 30 KiB on each of three ports.
    assert!(kept[0].1.contains("90 KiB more") && kept[0].1.contains("dataplane.spare-buffers"));
    daemon.running.end().await.unwrap();
}

#[tokio::test]
async fn a_signal_does_the_same_and_is_recorded() {
    let daemon = Daemon::start().await;
    daemon.write(&[("policy = \"breaker\"", "policy = \"off\"")]);
    daemon.running.stop.send(Signal::Reload).await.unwrap();
    let reloaded = until(async || {
        let page: EventPage = get(&daemon.running.socket, "/v1/events").await.json();
        let mut events = page.events.into_iter();
        events.find(|event| event.kind == "reloaded")
    })
    .await;
    assert_eq!(reloaded.details["applied"], "1");
    let status: Status = get(&daemon.running.socket, "/v1/status").await.json();
    assert_eq!(status.deadlock_policy, "off");
    daemon.running.end().await.unwrap();
}

#[tokio::test]
async fn without_a_file_there_is_nothing_to_read() {
    let running = Running::start(FakeDataplane::start(), settings()).await;
    let answer = request(&running.socket, "POST", "/v1/reload").await;
    assert_eq!(answer.status, 409);
    let wrong = request(&running.socket, "GET", "/v1/reload").await;
    assert_eq!(wrong.status, 405);
    assert!(wrong.json::<Error>().error.contains("supports POST"));
    running.end().await.unwrap();
}

/// Returns the status of an answer, and its text.
async fn post(daemon: &Daemon, path: &str) -> (u16, String) {
    let answer = request(&daemon.running.socket, "POST", path).await;
    (answer.status, answer.body.clone())
}

fn last_xoff(daemon: &Daemon) -> Option<u64> {
    daemon
        .commands()
        .into_iter()
        .rev()
        .find_map(|command| match command {
            Command::SetClass { class, .. } => Some(class.mode.thresholds()?.xoff().get()),
            _ => None,
        })
}

#[tokio::test]
async fn what_nobody_confirms_goes_back_by_itself() {
    let daemon = Daemon::start().await;
    daemon.write(&[("xoff = \"60KiB\"", "xoff = \"56KiB\"\nweight = 3")]);
    let report = daemon.reload("?confirm_seconds=1.5").await;
    assert_eq!(report.confirm_seconds, Some(1.5));
    let changed = ["class.lossless.weight", "class.lossless.xoff"];
    assert_eq!(applied(&report), changed);
    assert_eq!(last_xoff(&daemon), Some(56 * 1024));
    let (status, text) = post(&daemon, "/v1/reload").await;
    assert!(
        status == 409 && text.contains("switchctl confirm"),
        "{text}"
    );
    // A dry run changes nothing.
    assert!(daemon.reload("?dry_run=true").await.applied.is_empty());

    let mut after = 0;
    loop {
        let path = format!("/v1/events?after={after}&wait_seconds=30");
        let page: EventPage = get(&daemon.running.socket, &path).await.json();
        if page
            .events
            .iter()
            .any(|event| event.kind.as_str() == "reload_reverted")
        {
            break;
        }
        after = page.events.last().map_or(after, |event| event.sequence);
    }
    assert_eq!(last_xoff(&daemon), Some(60 * 1024));
    // The file still has the reverted setting.
    assert_eq!(applied(&daemon.reload("?dry_run=true").await), changed);
    let (status, text) = post(&daemon, "/v1/reload/confirm").await;
    assert!(status == 409 && text.contains("nothing waits"), "{text}");
    assert_eq!(applied(&daemon.reload("").await), changed);
}

#[tokio::test]
async fn what_is_confirmed_stays() {
    let daemon = Daemon::start().await;
    daemon.write(&[("xoff = \"60KiB\"", "xoff = \"56KiB\"")]);
    daemon.reload("?confirm_seconds=3600").await;
    let (status, text) = post(&daemon, "/v1/reload/confirm").await;
    assert!(status == 200 && text.contains("seconds_left"), "{text}");
    let report = daemon.reload("").await;
    assert!(report.applied.is_empty() && report.confirm_seconds.is_none());
    assert_eq!(last_xoff(&daemon), Some(56 * 1024));
    for seconds in ["-1", "86401", "NaN", "soon"] {
        let (status, text) = post(&daemon, &format!("/v1/reload?confirm_seconds={seconds}")).await;
        assert_eq!(status, 400, "{seconds}: {text}");
    }
}
