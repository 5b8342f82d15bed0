//! Privileges of a running daemon: those of every thread, as reported by the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use weir_api::client::Method;
use weir_api::reload::Reload;
use weir_tests::{until, Bench};

/// Bits of the capabilities that a daemon keeps (linux/capability.h): NET_ADMIN, NET_RAW, IPC_LOCK, PERFMON, BPF.
const KEPT: u64 = 1 << 12 | 1 << 13 | 1 << 14 | 1 << 38 | 1 << 39;
/// CHOWN, for a daemon that gives sockets to groups.
const CHOWN: u64 = 1 << 0;
/// SECCOMP_MODE_FILTER.
const FILTERED: &str = "2";
/// Refused calls, clone3(2), and the calls of a running switch.
const FILTERS: &str = "3";

/// Returns every thread's status by its name and number.
fn threads(bench: &Bench) -> BTreeMap<String, BTreeMap<String, String>> {
    let pid = bench.switch.switch_pid().unwrap();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks
        .filter_map(|task| {
            let task = task.unwrap();
            // A thread for a single task may have ended in the meantime.
            let text = std::fs::read_to_string(task.path().join("status")).ok()?;
            let fields: BTreeMap<String, String> = text
                .lines()
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect();
            let number = task.file_name().to_string_lossy().into_owned();
            Some((format!("{} {number}", fields["Name"]), fields))
        })
        .collect()
}

fn expect_restricted(bench: &Bench, kept: u64) {
    let threads = threads(bench);
    assert!(threads.len() > 4, "{:?}", threads.keys());
    for (thread, fields) in &threads {
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            let had = u64::from_str_radix(&fields[set], 16).unwrap();
            assert_eq!(had & !kept, 0, "{thread}: {set} {had:x}");
        }
        // Real, effective, saved, and for files.
        for numbers in ["Uid", "Gid"] {
            let numbers: Vec<&str> = fields[numbers].split_whitespace().collect();
            assert!(!numbers.contains(&"0"), "{thread}: {numbers:?}");
            assert!(
                numbers.iter().all(|it| *it == numbers[0]),
                "{thread}: {numbers:?}"
            );
        }
        assert_eq!(fields["Groups"], "", "{thread}");
        assert_eq!(fields["NoNewPrivs"], "1", "{thread}");
        assert_eq!(fields["Seccomp"], FILTERED, "{thread}");
        assert_eq!(fields["Seccomp_filters"], FILTERS, "{thread}");
    }
}

/// The daemon forwards, is reloaded and ends normally with the privileges that it has kept.
#[test]
fn every_thread_has_what_it_needs_and_no_more() {
    let bench = Bench::new(&[], |config| config.forwarding.learning = true);
    bench.give_addresses();
    expect_restricted(&bench, KEPT);
    let said = bench.output("h1", &["ping", "-c", "3", "-W", "10", "10.99.0.2"]);
    assert!(said.contains(" 0% packet loss"), "{said}");
    until("all of it is told", || {
        (bench.port("h1").rx_frames_total > 0).then_some(())
    });
    expect_restricted(&bench, KEPT);
    bench.end();
}

/// The next switch needs SYS_ADMIN for its predecessor's programs, until it forwards.
#[test]
fn a_restarted_switch_has_no_more_than_the_first() {
    let mut bench = Bench::new(&[], |_| {});
    bench.switch.start_with_keeper().unwrap();
    expect_restricted(&bench, KEPT);
    bench.switch.restart().unwrap();
    expect_restricted(&bench, KEPT);
    bench.end();
}

/// Only root can read the configuration, and the daemon is another user.
#[test]
fn a_configuration_of_root_alone_is_reloaded() {
    let bench = Bench::new(&[], |_| {});
    let file = bench.switch.config_file().to_owned();
    let owner = |path: &Path| std::fs::metadata(path).unwrap().uid();
    assert_ne!(owner(&bench.switch.config.run_dir), 0);
    let mut config = bench.switch.config.clone();
    config.log.level = "warn".to_owned();
    std::fs::write(&file, config.to_toml()).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(owner(&file), 0);
    let report: Reload = bench
        .switch
        .send(Method::POST, "/v1/reload", None::<&()>)
        .unwrap();
    let applied: Vec<&str> = report.applied.iter().map(|it| &*it.key).collect();
    assert_eq!(applied, ["log.level"], "{report:?}");
    // The file is still checked as root's.
    std::fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    let refused = bench
        .switch
        .send::<(), Reload>(Method::POST, "/v1/reload", None)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("chmod o-w"), "{refused}");
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    bench.end();
}

/// The next start finds a directory and programs of the switch's user.
#[test]
fn a_killed_daemon_is_followed_by_one_with_no_more_than_it() {
    let mut bench = Bench::new(&[], |_| {});
    bench.switch.kill().unwrap();
    assert!(bench.switch.config.run_dir.join("bpf").exists());
    bench.switch.start_process().unwrap();
    bench.switch.ready().unwrap();
    expect_restricted(&bench, KEPT);
    bench.end();
}

/// A switch that replaces one of root has its files, and each must be able to start again if the other fails.
#[test]
fn a_switch_stays_root_after_one_that_was() {
    let mut bench = Bench::new(&[], |_| {});
    bench.switch.end_process().unwrap();
    bench.switch.set_options(&["--user", "root"]);
    bench.switch.start_with_keeper().unwrap();
    let uid = |bench: &Bench| {
        let all = threads(bench).into_values();
        all.map(|fields| fields["Uid"].clone())
            .collect::<BTreeSet<_>>()
    };
    let root = BTreeSet::from(["0\t0\t0\t0".to_owned()]);
    assert_eq!(uid(&bench), root);
    bench.switch.restart().unwrap();
    assert_eq!(uid(&bench), root);
    bench.end();
}

#[test]
fn a_daemon_that_gives_sockets_to_groups_keeps_that_beside() {
    let bench = Bench::new(&[], |config| {
        config.api.read_group = Some("games".to_owned());
    });
    expect_restricted(&bench, KEPT | CHOWN);
    bench.end();
}
