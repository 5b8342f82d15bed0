//! Marking profiles in the API, the configuration file, and a dataplane made of queues.

use std::path::PathBuf;

use crate::support::configured::{based, FILE, PROFILE};
use crate::support::running::Running;
use crate::support::{get, priority, put, request, settings, FakeDataplane, LOSSLESS};
use weir_api::daemon::{EcnProfile, Error, EventPage};
use weir_api::reload::{Configuration, Reload};
use weir_config::daemon::DaemonConfig;
use weir_core::{Bytes, Command, CommandError, MarkAt, PartsPerMillion, RedConfig};
use weir_switchd::daemon::reload::{by_hand, Reloader};

/// Configuration that replaces [`FILE`].
const OTHER: &str = r#"
[[class]]
name = "other"
priority = 4
mode = "lossy"
"#;

/// Returns a file whose lossless class uses the profile.
fn file() -> String {
    let mode = "mode = \"pfc\"\n";
    let marked = FILE.replacen(mode, &format!("{mode}ecn = \"AZURE_LOSSLESS\"\n"), 1);
    format!("{marked}{OTHER}{PROFILE}")
}

const PATH: &str = "/v1/ecn/AZURE_LOSSLESS";

struct Daemon {
    running: Running,
    path: PathBuf,
    text: String,
    _directory: tempfile::TempDir,
}

impl Daemon {
    async fn start(fake: FakeDataplane) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s1.toml");
        let text = based(directory.path(), &file());
        std::fs::write(&path, &text).unwrap();
        let config = DaemonConfig::load(&path).unwrap();
        let reloader = Reloader::new(path.clone(), (config, text.clone()), None);
        Self {
            running: Running::start_from(fake, settings(), Some(reloader)).await,
            path,
            text,
            _directory: directory,
        }
    }

    async fn profiles(&self) -> Vec<EcnProfile> {
        get(&self.running.socket, "/v1/ecn").await.json()
    }

    async fn reload(&self, changes: &[(&str, &str)]) -> Reload {
        let text = changes.iter().fold(self.text.clone(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        std::fs::write(&self.path, text).unwrap();
        let answer = request(&self.running.socket, "POST", "/v1/reload").await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    async fn running(&self) -> Configuration {
        get(&self.running.socket, "/v1/config").await.json()
    }

    /// Returns the marking commands sent to the dataplane, by priority.
    fn told(&self) -> Vec<(u8, Option<RedConfig>)> {
        let commands = self.running.remote.commands().into_iter();
        let marking = |command| match command {
            Command::SetMarking { priority, marking } => Some((priority.get(), marking)),
            _ => None,
        };
        commands.filter_map(marking).collect()
    }
}

const BY_FILE: RedConfig = RedConfig {
    kmin: Bytes::new(10 * 1024),
    kmax: Bytes::new(40 * 1024),
    pmax: PartsPerMillion::from_percent(5),
    at: MarkAt::Arrival,
};

#[tokio::test]
async fn a_profile_is_shown_and_changed_while_the_switch_runs() {
    let fake = FakeDataplane::start();
    let lossless = priority(LOSSLESS).index();
    {
        let mut state = fake.template.lock().unwrap();
        state.ports[0].counters.priority[lossless].marks = 7;
        state.ports[2].counters.priority[lossless].marks = 4;
        state.ports[2].counters.priority[0].marks = 100;
    }
    let daemon = Daemon::start(fake).await;
    let before = EcnProfile {
        profile: Some("AZURE_LOSSLESS".to_owned()),
        kmin_bytes: 10 * 1024,
        kmax_bytes: 40 * 1024,
        pmax_parts_per_million: 50_000,
        mark_at: MarkAt::Arrival.into(),
        classes: vec!["lossless".to_owned()],
        marked_frames_total: 11,
    };
    assert_eq!(daemon.profiles().await, std::slice::from_ref(&before));

    let body = r#"{"kmax_bytes": 20480, "mark_at": "departure"}"#;
    let answer = put(&daemon.running.socket, PATH, body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let after = EcnProfile {
        kmax_bytes: 20_480,
        mark_at: MarkAt::Departure.into(),
        ..before
    };
    assert_eq!(answer.json::<EcnProfile>(), after);
    assert_eq!(daemon.profiles().await, std::slice::from_ref(&after));
    let marking = RedConfig {
        kmax: Bytes::new(20_480),
        at: MarkAt::Departure,
        ..BY_FILE
    };
    assert_eq!(daemon.told(), [(LOSSLESS, Some(marking))]);

    // The next change starts from the values in force.
    let answer = put(&daemon.running.socket, PATH, r#"{"mark_at": "never"}"#).await;
    let off = EcnProfile {
        mark_at: MarkAt::Never.into(),
        ..after
    };
    assert_eq!(answer.json::<EcnProfile>(), off);
    let page: EventPage = get(&daemon.running.socket, "/v1/events?after=0")
        .await
        .json();
    let events = page.events.iter();
    let events: Vec<_> = events.filter(|event| event.kind == "ecn_changed").collect();
    assert_eq!(events.len(), 2);
    assert!(format!("{:?}", events[0]).contains("20480"), "{events:?}");
    daemon.running.end().await.unwrap();
}

#[tokio::test]
async fn what_is_not_legal_is_refused_and_changes_nothing() {
    let fake = FakeDataplane::start();
    let outcome = std::sync::Arc::clone(&fake.outcome);
    let daemon = Daemon::start(fake).await;
    for (path, body, status, said) in [
        (
            PATH,
            r#"{"kmin_bytes": 40961}"#,
            400,
            "kmin (40961 B) must not be above kmax (40960 B)",
        ),
        (
            PATH,
            r#"{"pmax_parts_per_million": 0}"#,
            400,
            "pmax must be above zero",
        ),
        (
            PATH,
            r#"{"pmax_parts_per_million": 1000001}"#,
            400,
            "must be 1 to 1000000, not 1000001",
        ),
        (
            PATH,
            r#"{"mark_at": "noon"}"#,
            400,
            "unknown mark_at `noon`; write one of arrival, departure, never",
        ),
        (PATH, r#"{"kmin": 1}"#, 400, "unknown field `kmin`"),
        (
            "/v1/ecn/AZURE",
            "{}",
            404,
            "no such ecn profile: `AZURE`; profiles: AZURE_LOSSLESS",
        ),
    ] {
        let answer = put(&daemon.running.socket, path, body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
        let told = answer.json::<Error>().error;
        assert!(told.contains(said), "{said}: {told}");
    }
    assert_eq!(daemon.told(), []);
    *outcome.lock().unwrap() = Err(CommandError::Draining);
    let answer = put(&daemon.running.socket, PATH, "{}").await;
    assert_eq!(
        (answer.status, answer.json::<Error>().error),
        (409, "the switch is stopping".to_owned())
    );
    *outcome.lock().unwrap() = Ok(());

    // Another file has the profile without a class.
    daemon.reload(&[("ecn = \"AZURE_LOSSLESS\"\n", "")]).await;
    let shown = daemon.profiles().await;
    assert_eq!((shown.len(), shown[0].classes.len()), (1, 0));
    let answer = put(&daemon.running.socket, PATH, "{}").await;
    assert_eq!(answer.status, 409, "{}", answer.body);
    assert!(
        answer
            .body
            .contains("no class has the profile `AZURE_LOSSLESS`"),
        "{}",
        answer.body
    );
    daemon.running.end().await.unwrap();
}

/// Run-time changes stay as long as the file's values are unchanged, whatever else a reload changes. The next switch starts
/// with them, and `config save` writes them. Other values in the file replace them.
#[tokio::test]
async fn a_reload_keeps_what_was_set_unless_the_file_changes_it() {
    let daemon = Daemon::start(FakeDataplane::start()).await;
    let by_hand = RedConfig {
        kmin: Bytes::new(2_048),
        ..BY_FILE
    };
    put(&daemon.running.socket, PATH, r#"{"kmin_bytes": 2048}"#).await;
    let told = daemon.told().len();
    let in_force = || async { daemon.profiles().await.swap_remove(0).kmin_bytes };

    // Changes thresholds of the same class only.
    let report = daemon
        .reload(&[("xoff = \"60KiB\"", "xoff = \"56KiB\"")])
        .await;
    let keys: Vec<&str> = report.applied.iter().map(|it| it.key.as_str()).collect();
    assert_eq!(keys, ["class.lossless.xoff"]);
    assert_eq!(daemon.told().len(), told, "{:?}", daemon.told());
    assert_eq!(in_force().await, 2_048);
    let shown = daemon.running().await;
    let by: Vec<_> = shown
        .by_hand
        .iter()
        .map(|it| (it.key.as_str(), it.to.as_deref()))
        .collect();
    assert_eq!(by, [("ecn.AZURE_LOSSLESS.kmin", Some("\"2KiB\""))]);
    let now = DaemonConfig::parse(&shown.now, &daemon.path).unwrap();
    assert_eq!(now.classes[0].ecn, Some(by_hand));

    // The next switch with the same file starts with them.
    let place = tempfile::tempdir().unwrap();
    let before = DaemonConfig::parse(&shown.text, &daemon.path).unwrap();
    by_hand::leave(place.path(), &before, &now).unwrap();
    assert_eq!(by_hand::take(place.path(), &before, None), now);

    // A class that newly uses the profile marks like the others.
    let both = (
        "mode = \"lossy\"",
        "mode = \"lossy\"\necn = \"AZURE_LOSSLESS\"",
    );
    daemon
        .reload(&[("xoff = \"60KiB\"", "xoff = \"56KiB\""), both])
        .await;
    assert_eq!(daemon.told()[told..], [(4, Some(by_hand))]);

    // Other values in the file apply to both classes.
    let file = ("kmin = \"10KiB\"", "kmin = \"12KiB\"");
    daemon
        .reload(&[("xoff = \"60KiB\"", "xoff = \"56KiB\""), both, file])
        .await;
    let wanted = Some(RedConfig {
        kmin: Bytes::new(12 * 1024),
        ..BY_FILE
    });
    assert_eq!(daemon.told()[told + 1..], [(LOSSLESS, wanted), (4, wanted)]);
    assert_eq!(in_force().await, 12 * 1024);
    assert!(daemon.running().await.by_hand.is_empty());

    // No class, no marks.
    daemon.reload(&[("ecn = \"AZURE_LOSSLESS\"\n", "")]).await;
    assert_eq!(daemon.told()[told + 3..], [(LOSSLESS, None), (4, None)]);
    daemon.running.end().await.unwrap();
}

#[tokio::test]
async fn a_switch_that_refuses_keeps_the_profiles_it_had() {
    let fake = FakeDataplane::start();
    let outcome = std::sync::Arc::clone(&fake.outcome);
    let daemon = Daemon::start(fake).await;
    *outcome.lock().unwrap() = Err(CommandError::Draining);
    let report = daemon
        .reload(&[("kmin = \"10KiB\"", "kmin = \"12KiB\"")])
        .await;
    assert!(report.applied.is_empty(), "{report:?}");
    let kept: Vec<_> = report
        .kept
        .iter()
        .map(|it| (it.key.as_str(), it.why.as_str()))
        .collect();
    assert_eq!(
        kept,
        [("ecn.AZURE_LOSSLESS.kmin", "the switch is stopping")]
    );
    *outcome.lock().unwrap() = Ok(());
    daemon.running.end().await.unwrap();
}
