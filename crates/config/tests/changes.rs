//! Differences between two configurations of a daemon, and which of them a running daemon can apply.

use std::path::Path;

use weir_config::daemon::{DaemonConfig, Takes};

const FILE: &str = r#"
name = "s1"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
[[class]]
name = "fabric"
priority = 4
mode = "level"
buffer = "256KiB"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
max-hops = 3
[[port]]
name = "up"
device = "eth0"
role = "fabric"
rate = "100Mbit"
[[port]]
name = "down"
device = "eth1"
role = "edge"
rate = "100Mbit"
[[route]]
destination = "02:00:00:00:00:01"
ports = ["down"]
[deadlock]
policy = "breaker"
"#;

fn parse(text: &str) -> DaemonConfig {
    DaemonConfig::parse(text, Path::new("s1.toml")).unwrap()
}

/// Changed keys that a running daemon applies, and those that it does not, after `changes` to the file.
fn split(changes: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let running = parse(FILE);
    let text = changes.iter().fold(FILE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    let file = parse(&text);
    let next = running.with_live_settings_of(&file);
    let keys = |from: &DaemonConfig, to: &DaemonConfig| {
        let changes = from.changes_to(to);
        changes.into_iter().map(|change| change.key).collect()
    };
    (keys(&running, &next), keys(&next, &file))
}

fn assert_live(changes: &[(&str, &str)], keys: &[&str]) {
    let (live, kept) = split(changes);
    assert_eq!(live, keys);
    assert!(kept.is_empty(), "{kept:?}");
}

fn assert_kept(changes: &[(&str, &str)], keys: &[&str]) {
    let (live, kept) = split(changes);
    assert_eq!(kept, keys);
    assert!(live.is_empty(), "{live:?}");
}

#[test]
fn an_equal_file_has_no_changes() {
    let running = parse(FILE);
    assert_eq!(running.with_live_settings_of(&running), running);
    assert_eq!(running.changes_to(&running), []);
}

#[test]
fn changes_have_the_keys_and_values_of_the_file() {
    let running = parse(FILE);
    let file = parse(
        &FILE
            .replacen("60KiB", "40KiB", 1)
            .replacen("52KiB", "30KiB", 1),
    );
    let changes = running.changes_to(&file);
    let shown: Vec<String> = changes
        .iter()
        .map(|change| {
            let [from, to] = [&change.from, &change.to].map(|value| value.as_deref().unwrap());
            format!("{} {from} {to}", change.key)
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#"class.lossless.xoff "60KiB" "40KiB""#,
            r#"class.lossless.xon "52KiB" "30KiB""#
        ]
    );
}

#[test]
fn settings_without_waiting_frames_can_be_reloaded() {
    assert_live(
        &[("mode = \"pfc\"", "mode = \"pfc\"\nweight = 4\necn-kmin = \"10KiB\"\necn-kmax = \"20KiB\"\necn-pmax = \"5%\"")],
        &[
            "class.lossless.ecn-kmax",
            "class.lossless.ecn-kmin",
            "class.lossless.ecn-mark-at",
            "class.lossless.ecn-pmax",
            "class.lossless.weight",
        ],
    );
    assert_live(
        &[
            ("mode = \"pfc\"", "mode = \"pfc\"\necn = \"AZURE\""),
            (
                "[deadlock]",
                "[[ecn]]\nname = \"AZURE\"\nkmin = \"10KiB\"\nkmax = \"20KiB\"\n[deadlock]",
            ),
        ],
        &[
            "class.lossless.ecn",
            "ecn.AZURE.kmax",
            "ecn.AZURE.kmin",
            "ecn.AZURE.mark-at",
            "ecn.AZURE.name",
            "ecn.AZURE.pmax",
        ],
    );
    assert_live(
        &[("role = \"edge\"", "role = \"edge\"\ntrust = \"dscp\"\nfallback = \"pass\"\npfcwd = { enabled = true }\ndscp-map = { 46 = 3 }")],
        &[
            "port.down.dscp-map.46",
            "port.down.fallback",
            "port.down.pfcwd.action",
            "port.down.pfcwd.detection-time",
            "port.down.pfcwd.enabled",
            "port.down.pfcwd.restoration-time",
            "port.down.trust",
        ],
    );
    assert_live(
        &[("policy = \"breaker\"", "policy = \"auto\"\ndetect = \"9ms\"\nrelease = \"1ms\"\n[log]\nlevel = \"debug\"\n[pfcwd]\nenabled = true")],
        &["deadlock.detect", "deadlock.policy", "deadlock.release", "log.level", "pfcwd.enabled"],
    );
    assert_live(
        &[(
            "ports = [\"down\"]",
            "ports = [\"up\"]\n[[route]]\ndestination = \"02:00:00:00:00:02\"\nports = [\"down\"]",
        )],
        &[
            "route.02:00:00:00:00:01.ports",
            "route.02:00:00:00:00:02.buckets",
            "route.02:00:00:00:00:02.destination",
            "route.02:00:00:00:00:02.ports",
        ],
    );
}

#[test]
fn stations_can_be_reloaded() {
    let added = "[multicast]\nsuppress = true\n[[station]]\nmac = \"02:00:00:00:00:01\"\naddresses = [\"10.0.0.1\"]\n[deadlock]";
    assert_live(
        &[("[deadlock]", added)],
        &[
            "multicast.suppress",
            "station.02:00:00:00:00:01.addresses",
            "station.02:00:00:00:00:01.mac",
        ],
    );
}

#[test]
fn the_interval_of_peaks_can_be_reloaded() {
    let added = "[watermark]\ninterval = \"30s\"\n[deadlock]";
    assert_live(&[("[deadlock]", added)], &["watermark.interval"]);
    let too_short = FILE.to_owned() + "[watermark]\ninterval = \"1ms\"\n";
    let error = DaemonConfig::parse(&too_short, Path::new("s1.toml")).unwrap_err();
    assert!(error.to_string().contains("watermark.interval"), "{error}");
}

#[test]
fn memory_devices_modes_and_listeners_need_a_restart() {
    assert_kept(
        &[("name = \"s1\"", "name = \"s2\"\nrun-dir = \"/run/weir/s1\"")],
        &["name"],
    );
    assert_kept(
        &[("device = \"eth1\"", "device = \"eth9\"")],
        &["port.down.device"],
    );
    assert_kept(
        &[(
            "rate = \"100Mbit\"\n[[route]]",
            "rate = \"1Gbit\"\n[[route]]",
        )],
        &["port.down.rate"],
    );
    assert_kept(
        &[("policy = \"breaker\"", "policy = \"lifetime\"\n[metrics]\nlisten = \"off\"\n[dataplane]\nspare-buffers = \"1MiB\"")],
        &["dataplane.spare-buffers", "deadlock.policy", "metrics.listen"],
    );
    // A class's mode is kept, and its weight applied.
    let (live, kept) = split(&[(
        "mode = \"pfc\"\nxoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"64KiB\"",
        "mode = \"lossy\"\nbuffer = \"64KiB\"\nweight = 2",
    )]);
    assert_eq!(live, ["class.lossless.weight"]);
    assert!(kept.contains(&"class.lossless.mode".to_owned()), "{kept:?}");
}

#[test]
fn routes_of_new_ports_need_a_restart() {
    let added = "[[route]]\ndestination = \"02:00:00:00:00:02\"\nports = [\"new\"]\n[[port]]\nname = \"new\"\ndevice = \"eth2\"\nrole = \"edge\"\nrate = \"1Gbit\"\n[deadlock]";
    let (live, kept) = split(&[("[deadlock]", added)]);
    assert!(live.is_empty(), "{live:?}");
    assert!(kept.contains(&"port".to_owned()) && kept.contains(&"port.new.device".to_owned()));
    assert!(kept.contains(&"route.02:00:00:00:00:02.ports".to_owned()));
}

#[test]
fn memory_stays_as_it_was_at_the_start() {
    let larger = FILE.replacen("xoff = \"60KiB\"", "xoff = \"80KiB\"", 1);
    let (running, larger) = (parse(FILE), parse(&larger));
    let missing = |started: &DaemonConfig, from: &DaemonConfig, to: &DaemonConfig| {
        from.reloaded(to, started.buffer_chunks()).missing.get()
    };
    // 20 KiB more on each of two ports.
    assert_eq!(missing(&running, &running, &larger), 40 * 1024);
    assert_eq!(missing(&larger, &larger, &running), 0);
    let spare = parse(&format!("{FILE}[dataplane]\nspare-buffers = \"40KiB\"\n"));
    assert_eq!(missing(&spare, &running, &larger), 0);
    assert_eq!(spare.umem_frames(), running.umem_frames() + 160);
}

#[test]
fn each_change_says_whether_it_needs_a_restart() {
    let text = FILE
        .replacen("60KiB", "80KiB", 1)
        .replacen("policy = \"breaker\"", "policy = \"auto\"", 1)
        .replacen("device = \"eth1\"", "device = \"eth9\"", 1);
    let (running, file) = (parse(FILE), parse(&text));
    let steps = |chunks: usize| -> Vec<(String, Takes)> {
        let steps = running.reloaded(&file, chunks).steps(&running, &file);
        let steps = steps.into_iter().map(|(change, takes)| (change.key, takes));
        steps.collect()
    };
    let named = |key: &str, takes| (key.to_owned(), takes);
    assert_eq!(
        steps(file.buffer_chunks()),
        [
            named("class.lossless.xoff", Takes::Reload),
            named("deadlock.policy", Takes::Reload),
            named("port.down.device", Takes::Restart(None)),
        ]
    );
    let short = steps(running.buffer_chunks());
    let Takes::Restart(Some(why)) = &short[0].1 else {
        panic!("{short:?}");
    };
    assert!(why.starts_with("needs 40 KiB more packet memory"), "{why}");
    assert_eq!(short[1..], steps(file.buffer_chunks())[1..]);
}

/// After any reload, each class with a profile marks as the profile says.
#[test]
fn marking_follows_the_profiles_after_any_reload() {
    let profile = |name: &str, kmin: &str| {
        format!("[[ecn]]\nname = \"{name}\"\nkmin = \"{kmin}\"\nkmax = \"1MiB\"\n")
    };
    let with = |ecn: &str, of_lossless: &str, of_fabric: &str| {
        let text = FILE
            .replacen("priority = 3", &format!("priority = 3\n{of_lossless}"), 1)
            .replacen("priority = 4", &format!("priority = 4\n{of_fabric}"), 1);
        parse(&format!("{text}{ecn}"))
    };
    let (a, b) = ("ecn = \"A\"", "ecn = \"B\"");
    let running = with(&(profile("A", "1KiB") + &profile("B", "2KiB")), a, b);
    let files = [
        with(&profile("A", "3KiB"), a, a),
        with(&(profile("B", "3KiB") + &profile("A", "4KiB")), b, a),
        with("", "ecn-kmin = \"1KiB\"\necn-kmax = \"2KiB\"", ""),
        // The class of the profile has other priorities, which requires a restart.
        parse(&FILE.replacen("priority = 4", "priority = 5", 1)),
    ];
    for file in files {
        let next = running.with_live_settings_of(&file);
        for class in &next.classes {
            if let Some(name) = &class.ecn_profile {
                let profile = next.profile(name).map(|profile| profile.marking());
                assert_eq!(class.ecn, profile, "{}", class.name);
            }
        }
        let again = DaemonConfig::parse(&next.to_toml(), Path::new("again.toml"));
        assert_eq!(again, Ok(next.clone()));
        let same_priorities = file.classes[1].priorities == running.classes[1].priorities;
        if same_priorities {
            assert_eq!(next.ecn, file.ecn);
        } else {
            assert_eq!(next.ecn, [running.ecn[1].clone()]);
        }
    }
}
