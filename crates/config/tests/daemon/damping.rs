//! `[flap-damping]`: off by default, and the settings that are refused.

use weir_core::control::DampingConfig;
use weir_core::Duration;

use super::{parse, GOOD};

fn with(settings: &str) -> Result<Option<DampingConfig>, String> {
    let config = parse(&format!("{GOOD}\n[flap-damping]\n{settings}\n"))?;
    Ok(config.flap_damping.damping())
}

#[test]
fn links_are_damped_only_with_a_half_life() {
    assert_eq!(parse(GOOD).unwrap().flap_damping.damping(), None);
    assert_eq!(with("half-life = \"off\"\nreuse = 900").unwrap(), None);
    let damping = with("half-life = \"5s\"").unwrap().unwrap();
    let expected = DampingConfig {
        half_life: Duration::from_secs(5),
        suppress: 2_000,
        reuse: 1_000,
        max_suppress: Duration::from_secs(20),
    };
    assert_eq!(damping, expected);
}

#[test]
fn damping_that_could_not_work_is_refused_by_name() {
    for (settings, key, complaint) in [
        ("half-life = \"99ms\"", "half-life", "between"),
        ("half-life = \"2h\"", "half-life", "between"),
        (
            "half-life = \"5s\"\nreuse = 2000",
            "reuse",
            "below `suppress`",
        ),
        ("reuse = 0", "reuse", "0 is not between 1 and 20000"),
        ("suppress = 20001", "suppress", "not between 1 and 20000"),
        ("max-suppress = \"1ms\"", "max-suppress", "between"),
        (
            "half-life = \"60s\"",
            "max-suppress",
            "penalties end at 1260 and never reach `suppress`",
        ),
    ] {
        let error = with(settings).unwrap_err();
        assert!(
            error.contains(complaint) && error.contains(&format!("flap-damping.{key}")),
            "{settings}: {error}"
        );
    }
}
