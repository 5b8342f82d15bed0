//! Pools: reading, writing and refusals, with line, key and sum.

use weir_config::daemon::DaemonConfig;
use weir_core::{Alpha, Bytes, ClassMode, Priority, Threshold};

use super::{parse, GOOD};

/// The good file with a pool, and `lines` in its first class.
fn with(lines: &str, pool: &str) -> String {
    let own = "xoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"64KiB\"\n";
    assert!(GOOD.contains(own));
    GOOD.replacen(own, &format!("pool = \"p\"\n{lines}\n"), 1)
        + &format!("\n[[pool]]\nname = \"p\"\nsize = \"1MiB\"\n{pool}\n")
}

fn config(lines: &str, pool: &str) -> DaemonConfig {
    parse(&with(lines, pool)).unwrap()
}

fn refusal(lines: &str, pool: &str) -> String {
    parse(&with(lines, pool)).unwrap_err().to_string()
}

#[test]
fn a_class_has_a_share_of_a_pool() {
    let config = config(
        "alpha = 0.125\nreserved = \"4KiB\"\nxon-offset = \"2KiB\"\nheadroom = \"64KiB\"",
        "",
    );
    let class = config.class_of(Priority::ALL[3]).unwrap();
    let share = class.pool.as_ref().unwrap().share;
    assert_eq!(share.threshold, Threshold::Dynamic(Alpha::new(-3).unwrap()));
    // 1 MiB ⁄ 9 above what is reserved.
    let ClassMode::Pfc(alone) = class.mode else {
        panic!("{:?}", class.mode)
    };
    assert_eq!(alone.xoff(), Bytes::new(4096 + (1 << 20) / 9));
    assert_eq!(alone.xon(), alone.xoff() - Bytes::new(2048));
    // Two priorities at each port.
    let core = config.core(&[]);
    let ports = core.ports.len() as u64;
    assert_eq!(core.pools[0].headroom, Bytes::new(ports * 2 * 64 * 1024));
    assert_eq!(parse(&config.to_toml()).unwrap(), config);
}

#[test]
fn alpha_has_many_names_and_must_be_a_power_of_two() {
    for alpha in ["\"1/8\"", "\"0.125\"", "0.125"] {
        config(&format!("alpha = {alpha}\nheadroom = \"64KiB\""), "");
    }
    for (alpha, nearest) in [
        ("0.3", "1/4"),
        ("3", "4"),
        ("\"1/1000\"", "1/256"),
        ("4096", "256"),
    ] {
        let told = refusal(&format!("alpha = {alpha}\nheadroom = \"64KiB\""), "");
        let expected = format!("the nearest is \"{nearest}\"");
        assert!(
            told.contains("class.lossless.alpha") && told.contains(&expected),
            "{told}"
        );
    }
    for alpha in ["0", "-1", "\"1/0\"", "\"x\"", "true"] {
        let told = refusal(&format!("alpha = {alpha}\nheadroom = \"64KiB\""), "");
        assert!(told.contains("class.lossless.alpha"), "{told}");
    }
}

#[test]
fn impossible_shares_are_refused_at_their_place() {
    for (lines, pool, expected) in [
        ("alpha = 1", "", "class.lossless.headroom: missing"),
        ("headroom = \"64KiB\"", "", "class.lossless.alpha: missing"),
        (
            "alpha = 1\nstatic-threshold = \"8KiB\"\nheadroom = \"64KiB\"",
            "",
            "class.lossless.static-threshold: set alpha or static-threshold, not both",
        ),
        (
            "alpha = 1\nheadroom = \"64KiB\"\nxoff = \"8KiB\"",
            "",
            "class.lossless.xoff: does not apply",
        ),
        (
            "static-threshold = \"2MiB\"\nheadroom = \"64KiB\"",
            "",
            "class.lossless.static-threshold: priority 3: the static threshold must not be above",
        ),
        (
            "alpha = 1\nheadroom = \"64KiB\"",
            "headroom = \"100KiB\"",
            "pool.p.headroom: the lossless classes of the pool have headrooms of",
        ),
        (
            "alpha = 1\nheadroom = \"64KiB\"",
            "headroom-oversubscription = 65",
            "pool.p.headroom-oversubscription",
        ),
    ] {
        let told = refusal(lines, pool);
        assert!(told.contains(expected), "{lines} {pool}: {told}");
    }
    let unknown =
        with("alpha = 1\nheadroom = \"64KiB\"", "").replace("pool = \"p\"", "pool = \"q\"");
    let told = parse(&unknown).unwrap_err().to_string();
    assert!(told.contains("class.lossless.pool"), "{told}");
}

#[test]
fn a_reload_sets_thresholds_but_not_memory() {
    let lines = "alpha = 1\nreserved = \"4KiB\"\nheadroom = \"64KiB\"";
    let running = config(lines, "");
    let wanted = config(
        "alpha = \"1/4\"\nreserved = \"8KiB\"\nxon-offset = \"1KiB\"\nheadroom = \"128KiB\"",
        "",
    );
    let next = running.with_live_settings_of(&wanted);
    let share = |config: &DaemonConfig| {
        let class = config.class_of(Priority::ALL[3]).unwrap();
        class.pool.as_ref().unwrap().share
    };
    assert_eq!(share(&next).threshold, share(&wanted).threshold);
    assert_eq!(share(&next).xon_offset, share(&wanted).xon_offset);
    assert_eq!(share(&next).reserved, share(&running).reserved);
    let kept: Vec<String> = next
        .changes_to(&wanted)
        .into_iter()
        .map(|change| change.key)
        .collect();
    assert_eq!(kept, ["class.lossless.headroom", "class.lossless.reserved"]);
}
