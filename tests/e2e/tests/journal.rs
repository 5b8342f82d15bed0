//! The log in a real systemd journal, in a separate mount namespace.

use std::fs;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;
use weir_lab::lab::process::{program, Process};
use weir_tests::{until, Bench};

const JOURNALD: &str = "/lib/systemd/systemd-journald";
/// Keeps its entries in memory, and private.
const SETTINGS: &str = "[Journal]\nStorage=volatile\nAudit=no\nReadKMsg=no\nForwardToWall=no\n";

/// A running journald that no other program of this machine uses.
struct Journal {
    process: Process,
}

impl Journal {
    fn start(bench: &Bench) -> Self {
        assert!(
            fs::exists(JOURNALD).unwrap(),
            "{JOURNALD} is missing: `cargo xtask setup` installs it"
        );
        let settings = bench.file("journald.conf");
        fs::write(&settings, SETTINGS).unwrap();
        let script = format!(
            "set -e; mkdir -p /run/systemd /run/log; mount -t tmpfs tmpfs /run/systemd; mount -t tmpfs tmpfs /run/log; \
             mkdir -p /run/systemd/journal /run/systemd/journald.conf.d /run/log/journal; \
             cp {} /run/systemd/journald.conf.d/test.conf; exec {JOURNALD}",
            settings.display()
        );
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "unshare", "--mount"])
            .args(["--propagation", "private", "sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let process = Process::start("journald", command, &bench.file("journald.log")).unwrap();
        let mut journal = Self { process };
        until("the journal listens", || {
            journal.process.check().unwrap();
            let there = journal
                .inside("test")
                .args(["-S", "/run/systemd/journal/stdout"])
                .status();
            there.unwrap().success().then_some(())
        });
        journal
    }

    /// Returns a command that uses this journal.
    fn inside(&self, name: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--mount=/proc/{}/ns/mnt", self.process.id()))
            .arg(name);
        command
    }

    /// Starts the daemon of the bench's switch, with standard error as set by `connected`.
    fn daemon(&self, bench: &mut Bench, connected: &str) -> Process {
        bench.switch.end_process().unwrap();
        let script = format!(
            "exec {connected} {} --config {}",
            program("weir-switchd").unwrap().display(),
            bench.switch.config_file().display()
        );
        let mut command = bench.command("s1", "nsenter");
        command
            .arg(format!("--mount=/proc/{}/ns/mnt", self.process.id()))
            .args(["sh", "-c", &script]);
        let process = Process::start("s1", command, &bench.file("daemon.log")).unwrap();
        bench.switch.ready().unwrap();
        process
    }

    fn entries(&self, matches: &[&str]) -> Vec<Value> {
        let output = self
            .inside("journalctl")
            .args(["--quiet", "--output=json", "--directory=/run/log/journal"])
            .args(matches)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Waits for an entry that has all these fields and whose text begins with `begins`.
    fn entry(&self, matches: &[&str], begins: &str) -> Value {
        until(&format!("{matches:?} {begins}"), || {
            self.entries(matches).into_iter().find(|entry| {
                entry["MESSAGE"]
                    .as_str()
                    .is_some_and(|text| text.starts_with(begins))
            })
        })
    }
}

/// Like systemd's start of a service: standard error is the journal's, and `JOURNAL_STREAM`
/// identifies it.
const AS_A_SERVICE: &str =
    "systemd-cat --identifier=stream sh -c 'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec \"$@\"' sh";

#[test]
fn events_are_entries_with_fields() {
    let mut bench = Bench::new(&[], |_| ());
    let journal = Journal::start(&bench);
    let mut daemon = journal.daemon(&mut bench, AS_A_SERVICE);
    let ours = "SYSLOG_IDENTIFIER=weir-switchd";

    let attached = journal.entry(&[ours, "WEIR_PORT=h1"], "port attached ");
    assert_eq!(attached["PRIORITY"], "6");
    assert_eq!(attached["WEIR_XDP_MODE"], "native");
    assert_eq!(attached["TARGET"], "weir_switchd::control::info");
    let text = attached["MESSAGE"].as_str().unwrap();
    assert!(
        text.contains("port=\"h1\"") && text.contains("xdp_mode=\"native\""),
        "{text}"
    );

    bench.output("s1", &["ip", "link", "set", "h1", "down"]);
    let down = journal.entry(&[ours, "WEIR_PORT=h1", "PRIORITY=4"], "link_down");
    assert_eq!(
        down["CODE_FILE"]
            .as_str()
            .map(|file| file.ends_with("log.rs")),
        Some(true)
    );
    assert!(journal
        .entries(&[ours, "WEIR_PORT=h2", "PRIORITY=4"])
        .is_empty());

    // A reloaded level also applies here: it drops informational messages.
    let mut config = bench.switch.config.clone();
    config.log.level = "warn".to_owned();
    fs::write(bench.switch.config_file(), config.to_toml()).unwrap();
    let reloads = |bench: &Bench| {
        let page: weir_api::daemon::EventPage = bench.switch.get("/v1/events?after=0").unwrap();
        page.events
            .iter()
            .filter(|event| event.kind == "reloaded")
            .count()
    };
    daemon.signal(Signal::SIGHUP);
    until("it is reloaded", || (reloads(&bench) == 1).then_some(()));
    bench.output("s1", &["ip", "link", "set", "h1", "up"]);
    bench.output("s1", &["ip", "link", "set", "h2", "down"]);
    journal.entry(&[ours, "WEIR_PORT=h2", "PRIORITY=4"], "link_down");
    assert!(
        journal.entries(&[ours, "WEIR_PORT=h1", "PRIORITY=6"]).len() == 1,
        "link_up is news"
    );

    daemon.ask_to_end();
    daemon.end(weir_tests::PATIENCE).unwrap();
    // Nothing has gone to standard error.
    assert!(journal.entries(&["SYSLOG_IDENTIFIER=stream"]).is_empty());
    bench.end();
}

#[test]
fn lines_go_where_they_are_asked_for() {
    let mut bench = Bench::new(&[], |_| ());
    let journal = Journal::start(&bench);
    // A value inherited from another service does not refer to our standard error.
    let daemon = journal.daemon(&mut bench, "env JOURNAL_STREAM=1:2");
    until("the log tells that it is ready", || {
        let text = fs::read_to_string(bench.file("daemon.log")).unwrap();
        text.contains(" ready switch=").then_some(())
    });
    daemon.end(weir_tests::PATIENCE).unwrap();
    assert!(journal
        .entries(&["SYSLOG_IDENTIFIER=weir-switchd"])
        .is_empty());

    let mut config = bench.switch.config.clone();
    config.log.format = weir_config::daemon::LogFormat::Journal;
    fs::write(bench.switch.config_file(), config.to_toml()).unwrap();
    let daemon = journal.daemon(&mut bench, "");
    journal.entry(
        &["SYSLOG_IDENTIFIER=weir-switchd", "WEIR_SWITCH=s1"],
        "ready ",
    );
    daemon.end(weir_tests::PATIENCE).unwrap();
    bench.end();
}
