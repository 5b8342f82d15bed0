//! Schedulers and rates of classes: refusals, with line, key and sum.

use weir_core::{Algorithm, BitRate, PartsPerMillion, Priority};

use super::{parse, GOOD};

/// The good file with `lines` in its first class.
fn with(lines: &str) -> String {
    let class = "name = \"lossless\"\n";
    assert!(GOOD.contains(class));
    GOOD.replacen(class, &format!("{class}{lines}\n"), 1)
}

#[test]
fn shares_of_the_line_are_read() {
    let config = parse(&with(
        "scheduler = \"strict\"\nmin-rate = \"10Mbit\"\nmax-rate = \"60Mbit\"",
    ))
    .unwrap();
    let scheduler = config.class_of(Priority::ALL[3]).unwrap().scheduler;
    assert_eq!(scheduler.algorithm, Algorithm::Strict);
    assert_eq!(scheduler.rate_min, Some(BitRate::from_mbit(10)));
    assert_eq!(scheduler.rate_max, Some(BitRate::from_mbit(60)));
    assert_eq!(
        config.dataplane.strict_share,
        PartsPerMillion::from_percent(95)
    );
}

#[test]
fn rates_that_no_line_can_keep_are_refused() {
    for (lines, complaint) in [
        (
            "scheduler = \"first\"",
            "class.lossless.scheduler: unknown value `first`",
        ),
        (
            "min-rate = \"60Mbit\"\nmax-rate = \"50Mbit\"",
            "class.lossless.min-rate: 60Mbit must not be above max-rate (50Mbit)",
        ),
        (
            "min-rate = \"96Mbit\"",
            "class.lossless.min-rate: the guaranteed rates of all priorities add up to 192Mbit, but at most 95Mbit",
        ),
        ("max-rate = \"0Mbit\"", "class.lossless.max-rate"),
        (
            "max-rate = \"100kbit\"",
            "class.lossless.max-rate: at 100kbit a frame of",
        ),
    ] {
        let error = parse(&with(lines)).unwrap_err();
        assert!(error.contains(complaint), "{lines}: {error}");
    }
}

#[test]
fn the_share_of_strict_classes_leaves_something() {
    for share in ["0%", "0.5%", "99.5%", "100%"] {
        let file = format!("{GOOD}\n[dataplane]\nstrict-share = \"{share}\"\n");
        let error = parse(&file).unwrap_err();
        assert!(
            error.contains("dataplane.strict-share: must be between"),
            "{share}: {error}"
        );
    }
}
