//! `switchctl config init`. Uses the loopback device, which every machine has and which reports no rate.

use std::path::Path;

use crate::support::{self, run, text_of};
use serde_json::Value;
use weir_config::daemon::DaemonConfig;
use weir_core::{ClassMode, PortRole, Priority};

#[test]
fn what_it_writes_is_valid_and_no_frame_is_lost_by_it() {
    let directory = tempfile::tempdir().unwrap();
    for rate in ["100Mbit", "10Gbit", "100Gbit"] {
        for roce in [false, true] {
            let path = directory.path().join(format!("{rate}-{roce}.toml"));
            let (device, out) = (format!("lo={rate}"), text_of(&path));
            let mut words = vec!["--name", "leaf1", "config", "init", "--port", &device];
            words.extend(roce.then_some("--roce"));
            words.extend(["-o", &out]);
            let made = run(&words);
            assert_eq!((made.code, &*made.stdout), (Some(0), ""), "{}", made.stderr);
            let config = DaemonConfig::load(&path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(config.name, "leaf1");
            assert_eq!(config.ports.len(), 1);
            assert_eq!(config.ports[0].role, PortRole::Edge);
            let class = &config.classes[0];
            assert!(matches!(class.mode, ClassMode::Pfc(_)));
            assert_eq!(class.priorities, [Priority::ALL[3]]);
            assert_eq!(class.ecn.is_some(), roce);
            let wanted = if roce {
                vec![(4791, Priority::ALL[3])]
            } else {
                Vec::new()
            };
            assert_eq!(config.lldp.udp, wanted);
            let checked = run(&["config", "check", &out]);
            assert_eq!(checked.code, Some(0));
            // The only error is that the loopback device cannot be a port.
            let warnings = checked
                .stdout
                .lines()
                .filter(|line| line.starts_with("warning: "));
            let others = warnings.filter(|line| !line.contains("`lo` is the loopback device"));
            assert_eq!(others.count(), 0, "{}", checked.stdout);
        }
    }
}

#[test]
fn without_a_file_it_is_printed() {
    let words = ["config", "init", "--fabric", "lo=1Gbit"];
    let text = run(&words);
    let config = DaemonConfig::parse(&text.stdout, Path::new("stdout")).unwrap();
    assert_eq!(config.ports[0].role, PortRole::Fabric);
    let mut json = vec!["--json"];
    json.extend(words);
    let answer: Value = serde_json::from_str(&run(&json).stdout).unwrap();
    assert_eq!(answer["config"], text.stdout);
    assert!(answer["notes"].is_array(), "{answer}");
}

#[test]
fn it_neither_overwrites_nor_guesses() {
    let (_guard, path) = support::file("s1.toml", "mine");
    let refused = run(&[
        "config",
        "init",
        "--port",
        "lo=1Gbit",
        "-o",
        &text_of(&path),
    ]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("-o needs a new file"),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    for (words, why) in [
        (vec!["--port", "lo"], "write lo=10Gbit"),
        (
            vec!["--port", "weir-none"],
            "weir-none: there is no such device here",
        ),
        (vec!["--port", "lo=10"], "lo=10"),
        (
            vec![],
            "name them by --port (hosts) and --fabric (switches)",
        ),
        (vec!["--name", "../../etc", "--port", "lo=1Gbit"], "name"),
        (vec!["--name", "a\"\nb", "--port", "lo=1Gbit"], "name"),
    ] {
        let mut all = vec!["config", "init"];
        all.extend(words);
        let refused = run(&all);
        assert_eq!((refused.code, &*refused.stdout), (Some(1), ""), "{all:?}");
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}
