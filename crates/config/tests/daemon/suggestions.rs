//! Suggestions for likely mistakes.

use super::{parse, GOOD};

#[test]
fn the_likely_name_is_suggested_with_its_place() {
    for (from, to, said) in [
        (
            "mode = \"pfc\"",
            "mode = \"PFC\"",
            "s1.toml:7: class.lossless.mode: unknown value `PFC`; did you mean `pfc`? (valid: lossy, pfc, level, credit)",
        ),
        (
            "policy = \"breaker\"",
            "policy = \"deadlock-breaker\"",
            "s1.toml:34: deadlock.policy: unknown value `deadlock-breaker`; did you mean `breaker`? (valid: off, breaker, loop-breaker, auto, watchdog, lifetime)",
        ),
        (
            "rate = \"10Gbit\"",
            "rate = \"10Gbps\"",
            "s1.toml:22: port.0.rate: `10Gbps` is not a rate; did you mean \"10Gbit\"? (units: bit, kbit, Mbit, Gbit, Tbit)",
        ),
        (
            "rate = \"10Gbit\"",
            "rate = \"10G\"",
            "s1.toml:22: port.0.rate: `10G` is not a rate; did you mean \"10Gbit\"? (units: bit, kbit, Mbit, Gbit, Tbit)",
        ),
        (
            "rate = \"10Gbit\"",
            "rate = \"0Gbit\"",
            "s1.toml:22: port.0.rate: `0Gbit` is no rate: it must be above zero, such as \"100Mbit\"",
        ),
        // Found by the core, which does not know the file.
        (
            "headroom = \"64KiB\"",
            "headroom = \"100B\"",
            "s1.toml:10: class.lossless.headroom: priority 3: headroom (100 B) must be at least one frame of 1536 B in whole cells",
        ),
        (
            "weight = 2",
            "weight = 2\nweight = 3",
            "s1.toml:18: weight: appears twice; keep one of the two",
        ),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
        // A route to the missing port is reported as well.
        assert_eq!(error.lines().next(), Some(said));
    }
}

#[test]
fn a_number_without_a_unit_is_shown_with_one() {
    let text = format!("{GOOD}\n[dataplane]\nmtu = 9000\n");
    let error = parse(&text).unwrap_err();
    assert!(
        error.ends_with("dataplane.mtu: 9000 has no unit; write text such as \"9000B\""),
        "{error}"
    );
}

#[test]
fn a_repeated_table_is_named() {
    let error = parse(&format!("{GOOD}\n[deadlock]\n")).unwrap_err();
    assert!(
        error.ends_with(": deadlock: appears twice; keep one of the two"),
        "{error}"
    );
}
