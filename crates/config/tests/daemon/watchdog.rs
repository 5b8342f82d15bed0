//! The storm watchdog's settings.

use weir_core::{Duration, PortRole, StormAction, WatchdogConfig};

use super::{parse, GOOD};

#[test]
fn the_storm_watchdog_has_sonics_names_and_times() {
    let plain = parse(GOOD).unwrap();
    assert_eq!(plain.pfcwd.enabled, None);
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

/// By default hosts are watched, and switches are not.
#[test]
fn edge_ports_are_watched_by_default() {
    let watched = |text: &str| {
        let config = parse(text).unwrap();
        let core = config.core(&[]);
        let ports = core.ports.iter();
        ports
            .map(|port| (port.role, port.watchdog.is_some()))
            .collect::<Vec<_>>()
    };
    for (role, is_watched) in watched(GOOD) {
        assert_eq!(is_watched, role == PortRole::Edge);
    }
    let roles: Vec<_> = watched(GOOD).iter().map(|(role, _)| *role).collect();
    assert!(roles.contains(&PortRole::Edge) && roles.contains(&PortRole::Fabric));
    for enabled in [true, false] {
        let text = format!("{GOOD}\n[pfcwd]\nenabled = {enabled}\n");
        assert!(watched(&text)
            .iter()
            .all(|(_, is_watched)| *is_watched == enabled));
        assert_eq!(
            parse(&parse(&text).unwrap().to_toml())
                .unwrap()
                .pfcwd
                .enabled,
            Some(enabled)
        );
    }
    let packaged = include_str!("../../../../packaging/etc/switchd.toml");
    let port = "[[port]]\ndevice = \"a\"\nrole = \"edge\"\nrate = \"1Gbit\"\n";
    assert_eq!(
        watched(&format!("{packaged}\n{port}")),
        [(PortRole::Edge, true)]
    );
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
