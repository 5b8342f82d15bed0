//! The storm watchdog's settings.

use weir_core::{Duration, StormAction, WatchdogConfig};

use super::{parse, GOOD};

#[test]
fn the_storm_watchdog_has_sonics_names_and_times() {
    let plain = parse(GOOD).unwrap();
    assert!(!plain.pfcwd.enabled);
    assert!(plain
        .core(&[])
        .ports
        .iter()
        .all(|port| port.watchdog.is_none()));
    let text = GOOD.replace(
        "rate = \"10Gbit\"",
        "rate = \"10Gbit\"\npfcwd = { action = \"forward\", detection-time = \"400ms\" }",
    );
    let config = parse(&format!("{text}\n[pfcwd]\nenabled = true\n")).unwrap();
    let watchdogs: Vec<_> = config
        .core(&[])
        .ports
        .iter()
        .map(|port| port.watchdog)
        .collect();
    let default = WatchdogConfig {
        detection: Duration::from_millis(200),
        restoration: Duration::from_millis(200),
        action: StormAction::Drop,
    };
    let own = WatchdogConfig {
        detection: Duration::from_millis(400),
        action: StormAction::Forward,
        ..default
    };
    assert!(watchdogs.contains(&Some(own)), "{watchdogs:?}");
    assert!(watchdogs
        .iter()
        .all(|watchdog| [Some(own), Some(default)].contains(watchdog)));
    assert_eq!(parse(&config.to_toml()), Ok(config));
}

#[test]
fn times_of_the_watchdog_are_within_sonics_ranges() {
    for (line, complaint) in [
        (
            "detection-time = \"99ms\"",
            "pfcwd.detection-time: must be between \"100ms\" and \"5s\"",
        ),
        (
            "detection-time = \"5001ms\"",
            "pfcwd.detection-time: must be between",
        ),
        (
            "restoration-time = \"61s\"",
            "pfcwd.restoration-time: must be between \"100ms\" and",
        ),
        ("action = \"shut\"", "pfcwd.action: "),
        ("poll = 1", "pfcwd.poll: "),
    ] {
        let text = format!("{GOOD}\n[pfcwd]\n{line}\n");
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains(complaint), "{error}");
    }
}
