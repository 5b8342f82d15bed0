//! Users of a daemon, and limits on control frames.

use weir_config::daemon::DaemonConfig;

use super::{parse, GOOD};

/// The result for the good file with a table added at its end.
fn with_table(table: &str) -> Result<DaemonConfig, String> {
    parse(&format!("{GOOD}\n{table}"))
}

#[test]
fn other_hosts_need_protection_or_explicit_permission() {
    for table in ["metrics", "gnmi"] {
        check_protection(table);
    }
    assert_eq!(parse(GOOD).unwrap().gnmi.listen, None, "off by default");
}

fn check_protection(name: &str) {
    let read = |table: &str| with_table(&format!("[{name}]\n{table}"));
    let tls = "tls-certificate = \"/c\"\ntls-key = \"/k\"";
    let token = "token-file = \"/t\"";
    for (listen, extra, good) in [
        ("127.0.0.1:9464", String::new(), true),
        ("[::1]:9464", String::new(), true),
        ("0.0.0.0:9464", String::new(), false),
        ("192.0.2.1:9464", String::new(), false),
        ("[::]:9464", tls.to_owned(), false),
        ("[::]:9464", token.to_owned(), false),
        ("[::]:9464", format!("{tls}\n{token}"), true),
        ("0.0.0.0:9464", "unprotected = true".to_owned(), true),
    ] {
        let outcome = read(&format!("listen = \"{listen}\"\n{extra}"));
        assert_eq!(
            outcome.is_ok(),
            good,
            "{name} {listen} {extra}: {outcome:?}"
        );
        match outcome {
            Ok(config) => assert_eq!(parse(&config.to_toml()), Ok(config)),
            Err(error) => assert!(error.contains("unprotected = true"), "{error}"),
        }
    }
    for (half, missing) in [
        ("tls-key = \"/k\"", "tls-certificate"),
        ("tls-certificate = \"/c\"", "tls-key"),
    ] {
        let error = read(half).unwrap_err();
        assert!(error.contains(&format!("without {missing}")), "{error}");
    }
}

#[test]
fn the_page_for_other_hosts_needs_explicit_permission() {
    let read = |table: &str| with_table(&format!("[page]\n{table}"));
    let error = read("listen = \"0.0.0.0:80\"").unwrap_err();
    assert!(
        error.contains("page.listen") && error.contains("unprotected = true"),
        "{error}"
    );
    let config = read("listen = \"0.0.0.0:80\"\nunprotected = true").unwrap();
    assert_eq!(parse(&config.to_toml()), Ok(config));
}

#[test]
fn limits_of_control_frames_are_numbers_or_off() {
    let default = with_table("").unwrap().control_frames;
    assert_eq!(default.message_rate, Some(10_000));
    // More frequent CLCM need a higher limit.
    let faster = GOOD.replace("[deadlock]", "[deadlock]\nclcm-interval = \"100us\"");
    let faster = parse(&faster).unwrap();
    assert_eq!(faster.control_frames.message_rate, Some(2_000_000));
    // A tenth of 100 Gbit/s in frames of 84 B.
    let fast = parse(&GOOD.replace("10Gbit", "100Gbit")).unwrap();
    assert_eq!(fast.control_frames.pause_rate, Some(14_880_952));
    let slow = parse(&GOOD.replace("10Gbit", "1Gbit")).unwrap();
    assert_eq!(slow.control_frames.pause_rate, Some(1_000_000));
    let config = with_table(
        "[control-frames]\nkey-file = \"/etc/weir/fabric.key\"\npause-rate = \"off\"\nmessage-rate = 500",
    )
    .unwrap();
    assert_eq!(config.control_frames.pause_rate, None);
    assert_eq!(config.control_frames.message_rate, Some(500));
    assert_eq!(parse(&config.to_toml()), Ok(config));
    for bad in [
        "pause-rate = 0",
        "message-rate = 99",
        "pause-rate = \"none\"",
        "rate = 1",
    ] {
        let error = with_table(&format!("[control-frames]\n{bad}")).unwrap_err();
        assert!(error.contains("control-frames."), "{bad}: {error}");
    }
}
