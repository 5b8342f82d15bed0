//! Profiles of marking: reading, writing and refusals, with line, key and remedy.

use weir_config::daemon::DaemonConfig;
use weir_core::{Bytes, MarkAt, PartsPerMillion, Priority, RedConfig};

use super::{parse, GOOD};

const PROFILE: &str = "
[[ecn]]
name = \"AZURE_LOSSLESS\"
kmin = \"250kB\"
kmax = \"1MB\"
pmax = \"5%\"
";

/// The good file with these `lines` in its first class, and `profiles` at its end.
fn with(lines: &str, profiles: &str) -> String {
    let mode = "mode = \"pfc\"\n";
    assert!(GOOD.contains(mode));
    GOOD.replacen(mode, &format!("{mode}{lines}\n"), 1) + profiles
}

fn refusal(lines: &str, profiles: &str) -> String {
    parse(&with(lines, profiles)).unwrap_err().to_string()
}

fn marking(config: &DaemonConfig, priority: usize) -> Option<RedConfig> {
    config.core(&[]).classes[priority].ecn
}

#[test]
fn a_class_marks_by_its_profile() {
    let config = parse(&with("ecn = \"AZURE_LOSSLESS\"", PROFILE)).unwrap();
    let expected = RedConfig {
        kmin: Bytes::new(250_000),
        kmax: Bytes::new(1_000_000),
        pmax: PartsPerMillion::from_percent(5),
        at: MarkAt::Arrival,
    };
    let class = config.class_of(Priority::ALL[3]).unwrap();
    assert_eq!(class.ecn_profile.as_deref(), Some("AZURE_LOSSLESS"));
    assert_eq!(marking(&config, 3), Some(expected));
    assert_eq!(marking(&config, 0), None);
    let users: Vec<&str> = config
        .classes_with_profile("AZURE_LOSSLESS")
        .map(|class| class.name.as_str())
        .collect();
    assert_eq!(users, ["lossless"]);
    assert_eq!(parse(&config.to_toml()), Ok(config));
}

#[test]
fn a_profile_has_default_probability_and_moment() {
    let bare = PROFILE.replace("pmax = \"5%\"\n", "");
    let config = parse(&with("ecn = \"AZURE_LOSSLESS\"", &bare)).unwrap();
    let red = marking(&config, 3).unwrap();
    assert_eq!(red.pmax, PartsPerMillion::from_percent(1));
    assert_eq!(red.at, MarkAt::Arrival);
    let off = format!("{PROFILE}mark-at = \"never\"\n");
    let config = parse(&with("ecn = \"AZURE_LOSSLESS\"", &off)).unwrap();
    assert_eq!(marking(&config, 3).unwrap().at, MarkAt::Never);
    assert_eq!(parse(&config.to_toml()), Ok(config));
}

#[test]
fn an_unused_profile_is_valid() {
    let config = parse(&with("", PROFILE)).unwrap();
    assert_eq!(marking(&config, 3), None);
    assert_eq!(config.classes_with_profile("AZURE_LOSSLESS").count(), 0);
    assert_eq!(parse(&config.to_toml()), Ok(config));
}

#[test]
fn impossible_profiles_are_refused_with_line_and_remedy() {
    let changed = |from: &str, to: &str| {
        assert!(PROFILE.contains(from));
        PROFILE.replacen(from, to, 1)
    };
    let named = "ecn = \"AZURE_LOSSLESS\"";
    for (lines, profiles, said) in [
        (
            "ecn = \"AZURE_LOSLESS\"",
            PROFILE.to_owned(),
            "class.lossless.ecn: unknown ecn profile `AZURE_LOSLESS`; did you mean `AZURE_LOSSLESS`? (valid: AZURE_LOSSLESS)",
        ),
        (
            named,
            String::new(),
            "class.lossless.ecn: there is no [[ecn]] with the name `AZURE_LOSSLESS`; write one, or ecn-kmin and ecn-kmax here",
        ),
        (
            "ecn = \"AZURE_LOSSLESS\"\necn-pmax = \"2%\"",
            PROFILE.to_owned(),
            "class.lossless.ecn-pmax: set ecn or ecn-kmin, ecn-kmax, ecn-pmax, ecn-mark-at, not both: remove this key, or `ecn` with the profile `AZURE_LOSSLESS`",
        ),
        (
            named,
            changed("250kB", "2MB"),
            "ecn.AZURE_LOSSLESS.kmin: kmin (2000000 B) must not be above kmax (1000000 B)",
        ),
        (
            named,
            changed("5%", "0%"),
            "ecn.AZURE_LOSSLESS.pmax: pmax must be above zero; for a single threshold set kmin and kmax to the same value",
        ),
        (
            named,
            changed("5%", "101%"),
            "ecn.AZURE_LOSSLESS.pmax: `101%` is not a probability up to 100%",
        ),
        (
            named,
            changed("kmax = \"1MB\"\n", ""),
            "ecn.AZURE_LOSSLESS.kmax: missing; write text with a unit",
        ),
        (
            named,
            changed("kmax", "ecn-kmax"),
            "ecn.AZURE_LOSSLESS.ecn-kmax: unknown key; did you mean `kmax`?",
        ),
        (
            named,
            format!("{PROFILE}{PROFILE}"),
            "ecn.AZURE_LOSSLESS.name: ",
        ),
        (
            named,
            changed("\"AZURE_LOSSLESS\"", "\"a b\""),
            "invalid name \"a b\"",
        ),
    ] {
        let told = refusal(lines, &profiles);
        assert!(told.contains(said), "{said}\nis not in\n{told}");
        assert!(told.starts_with("s1.toml:"), "{told}");
    }
    let many: String = (0..65)
        .map(|index| PROFILE.replace("AZURE_LOSSLESS", &format!("p{index}")))
        .collect();
    let told = refusal("ecn = \"p3\"", &many);
    assert!(told.contains("64 profiles at most"), "{told}");
}
