//! `[sflow]` and `[ipfix]`: off by default, and which collectors and limits are refused.

use super::{parse, GOOD};

fn with(settings: &str) -> Result<weir_config::daemon::SflowConfig, String> {
    parse(&format!("{GOOD}\n[sflow]\n{settings}\n")).map(|config| config.sflow)
}

#[test]
fn nothing_is_sent_unless_a_collector_is_set() {
    let config = parse(GOOD).unwrap().sflow;
    assert_eq!(config.collector, None);
    let config = with("collector = \"192.0.2.9:6343\"\nsampling = 400").unwrap();
    assert_eq!(
        config.collector.unwrap().to_string(),
        "192.0.2.9:6343".to_owned()
    );
    assert_eq!(
        (config.sampling, config.drops_per_second),
        (Some(400), Some(100))
    );
    let config = with("collector = \"[2001:db8::9]:6343\"\ndrops-per-second = \"off\"").unwrap();
    assert_eq!(config.drops_per_second, None);
}

#[test]
fn unusable_collectors_and_values_out_of_bounds_are_refused_by_name() {
    for (settings, complaint) in [
        ("collector = \"192.0.2.9\"", "is not an address"),
        ("collector = \"192.0.2.9:0\"", "nothing can be sent there"),
        ("collector = \"0.0.0.0:6343\"", "nothing can be sent there"),
        ("agent = \"here\"", "is not an IP address"),
        ("sampling = 0", "0 is not between 1 and 16777215"),
        ("sampling = 16777216", "not between"),
        ("drops-per-second = 10001", "not between 1 and 10000"),
        ("header-bytes = 63", "63 is not between 64 and 512"),
        ("header-bytes = 513", "513 is not between"),
        ("interval = \"100ms\"", "must be between \"1s\""),
    ] {
        let error = with(settings).unwrap_err();
        let key = settings.split(' ').next().unwrap();
        assert!(
            error.contains(complaint) && error.contains(&format!("sflow.{key}")),
            "{settings}: {error}"
        );
    }
}

fn with_ipfix(settings: &str) -> Result<weir_config::daemon::IpfixConfig, String> {
    parse(&format!("{GOOD}\n[ipfix]\n{settings}\n")).map(|config| config.ipfix)
}

#[test]
fn the_stream_is_off_unless_a_collector_is_set() {
    assert_eq!(parse(GOOD).unwrap().ipfix.collector, None);
    let config = with_ipfix("collector = \"192.0.2.9:4739\"\ninterval = \"1ms\"").unwrap();
    assert!(config.collector.is_some());
    assert_eq!(config.interval, weir_core::Duration::from_millis(1));
    assert_eq!((config.observation_domain, config.enterprise), (1, 32_473));
    let config = with_ipfix("observation-domain = 4294967295").unwrap();
    assert_eq!(config.observation_domain, u32::MAX);
}

#[test]
fn a_stream_with_bad_settings_is_refused_by_name() {
    for (settings, complaint) in [
        ("collector = \"192.0.2.9\"", "is not an address"),
        ("collector = \"[::]:4739\"", "nothing can be sent there"),
        ("collector = \"192.0.2.9:0\"", "nothing can be sent there"),
        (
            "interval = \"999us\"",
            "must be between \"1ms\" and \"100ms\"",
        ),
        ("interval = \"101ms\"", "must be between"),
        ("interval = 10", ""),
        (
            "observation-domain = 0",
            "0 is not between 1 and 4294967295",
        ),
        ("observation-domain = 4294967296", "is more than 4294967295"),
        ("enterprise = 0", "not between"),
    ] {
        let error = with_ipfix(settings).unwrap_err();
        let key = settings.split(' ').next().unwrap();
        assert!(
            error.contains(complaint) && error.contains(&format!("ipfix.{key}")),
            "{settings}: {error}"
        );
    }
}
