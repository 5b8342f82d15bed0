//! Plans of whole files.

use super::*;

/// The package's configuration.
const SHIPPED: &str = include_str!("../../../packaging/etc/switchd.toml");

fn scenario(name: &str, overrides: &[&str]) -> Plan {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios")
        .join(name);
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    let text = std::fs::read_to_string(&file).unwrap();
    let links = LinkOptions::default();
    plan(&text, &file, &overrides, None, &links).unwrap().0
}

fn configuration(text: &str) -> Plan {
    plan_of(text).unwrap()
}

fn plan_of(text: &str) -> Result<Plan> {
    let file = Path::new("s1.toml");
    Ok(plan(text, file, &[], None, &LinkOptions::default())?.0)
}

fn assert_near(left: f64, right: f64, part: f64) {
    assert!((left - right).abs() <= part * right, "{left} for {right}");
}

#[test]
fn the_incast_of_the_case_study() {
    let plan = scenario("incast.toml", &[]);
    assert_eq!(plan.ingress.len(), 31);
    let buffer = &plan.ingress[0];
    // xoff / (r − C/n), in frames of 1524 bytes on the line that are charged 1536.
    let charged = 950_000.0 / 1536.0 * 1524.0 * 8.0 / 1e3;
    let first_frame = 1.0 + 1524.0 * 8.0 / 1e5;
    let expected = first_frame + charged / (100.0 - 100.0 / 31.0);
    assert_near(buffer.xoff_at_us.unwrap(), expected, 1e-5);
    let queue = &plan.egress[0];
    assert_eq!((queue.senders, queue.port.as_str()), (31, "h32"));
    // 200 kB arrive and leave long before 31 buffers hold 950 kB each.
    assert_eq!(queue.ecn.as_ref().unwrap().verdict, "before");
    assert!(plan.lossless, "{:?}", plan.advice);
}

#[test]
fn a_headroom_that_is_too_small_is_found_and_what_is_advised_is_enough() {
    let plan = scenario("incast.toml", &["class.lossless.headroom=16kB"]);
    assert!(!plan.lossless);
    let advice = plan.advice.iter().find(|advice| advice.key == "headroom");
    let set = advice.unwrap().as_override();
    let set = set.strip_prefix("--set ").unwrap();
    assert!(scenario("incast.toml", &[set]).lossless, "{set}");
}

#[test]
fn every_advice_is_taken_and_leaves_nothing_to_advise() {
    let mut overrides = [
        "class.lossless.headroom=16kB",
        "class.lossless.xoff=100kB",
        "class.lossless.xon=500B",
    ]
    .map(str::to_owned)
    .to_vec();
    for _ in 0..4 {
        let borrowed: Vec<&str> = overrides.iter().map(String::as_str).collect();
        let plan = scenario("incast.toml", &borrowed);
        if overrides.len() == 3 {
            let ecn = plan.egress[0].ecn.as_ref().unwrap();
            assert_eq!(ecn.verdict, "too late");
            let keys: Vec<&str> = plan.advice.iter().map(|advice| advice.key).collect();
            assert_eq!(keys, ["headroom", "xon", "ecn-kmax"]);
        }
        if plan.advice.is_empty() {
            assert!(plan.lossless);
            assert_eq!(plan.egress[0].ecn.as_ref().unwrap().verdict, "before");
            return;
        }
        let taken = plan.advice.iter().map(|advice| advice.as_override());
        overrides.extend(taken.map(|set| set.strip_prefix("--set ").unwrap().to_owned()));
    }
    panic!("still something to advise after {overrides:?}");
}

#[test]
fn budgets_have_room_for_a_round_trip() {
    let plan = scenario("ring4.toml", &["class.lossless.mode=level"]);
    let fabric = plan.ingress.iter().filter(|row| row.role == "fabric");
    let mut count = 0;
    for row in fabric {
        let budgets = row.budgets.as_ref().unwrap();
        assert!(budgets.spare_bytes >= 0, "{row:?}");
        assert!(row.headroom.is_none() && row.pauses.is_none());
        count += 1;
    }
    assert!(count > 0);
    assert!(plan
        .notes
        .iter()
        .any(|note| note.contains("each switch is planned separately")));
}

const CONFIGURATION: &str = r#"
name = "s1"

[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "100kB"
xon = "90kB"
headroom = "40kB"

[[port]]
name = "a"
device = "a"
role = "edge"
rate = "10Gbit"
round-trip = "10us"

[[port]]
name = "b"
device = "b"
role = "edge"
rate = "10Gbit"
round-trip = "10us"

[[port]]
name = "c"
device = "c"
role = "edge"
rate = "10Gbit"
round-trip = "10us"
"#;

#[test]
fn a_configuration_is_planned_for_all_ports_to_one() {
    let plan = configuration(CONFIGURATION);
    assert_eq!(plan.kind, "configuration");
    assert_eq!((plan.ingress.len(), plan.egress.len()), (3, 3));
    // Two ports into one: each fills at half of its rate. Frames of 1522 bytes take 1546 on the line and 1536 in cells.
    let expected = 100_000.0 / 1536.0 * 1546.0 * 8.0 / 1e3 / 5.0;
    for row in &plan.ingress {
        assert_near(row.xoff_at_us.unwrap(), expected, 1e-6);
        let pauses = row.pauses.as_ref().unwrap();
        assert_near(pauses.first_us, expected + 10.0, 1e-9);
        // It fills as fast as it drains.
        assert_near(pauses.duty, 0.5, 1e-6);
        let room = row.headroom.as_ref().unwrap();
        // 12,500 bytes are 148 frames of 60 and 24 bytes, each in a cell, after one that ends 96 bytes above xoff.
        assert_eq!(room.needed_bytes, 148 * 256 + (390 * 256 + 256 - 100_000));
        assert_eq!(room.needed_any_frame_bytes, room.needed_bytes);
    }
    assert!(plan.lossless);
}

#[test]
fn a_configuration_has_headroom_for_the_worst_frames() {
    let plan = configuration(&CONFIGURATION.replace("40kB", "20kB"));
    assert!(!plan.lossless);
    let line = plan.advice[0].as_line();
    assert_eq!(line, "headroom = \"38KiB\"");
    let taken = CONFIGURATION.replace("headroom = \"40kB\"", &line);
    assert!(taken.contains(&line) && configuration(&taken).lossless);
}

#[test]
fn what_a_host_was_measured_to_send_after_xoff_needs_headroom() {
    let measured = CONFIGURATION.replacen(
        "round-trip = \"10us\"",
        "round-trip = \"10us\"\novershoot = \"64KiB\"",
        1,
    );
    let plan = configuration(&measured);
    assert!(!plan.lossless);
    let needed = |port: usize| plan.ingress[port].headroom.as_ref().unwrap().needed_bytes;
    // For minimum-size frames, each 84 bytes on the line and a cell of 256 bytes.
    assert_eq!(
        needed(0),
        needed(1) + (12_500 + 65_536) / 84 * 256 - 12_500 / 84 * 256
    );
    assert_eq!(plan.advice[0].key, "headroom");
}

#[test]
fn a_broken_configuration_is_not_taken_for_a_scenario() {
    let error = plan_of(&CONFIGURATION.replace("xon", "xno")).unwrap_err();
    assert!(error.to_string().contains("xno"), "{error}");
}

#[test]
fn a_configuration_without_ports_is_refused_with_what_is_missing() {
    let error = plan_of(SHIPPED).unwrap_err();
    assert!(error.to_string().contains("[[port]]"), "{error}");
}

/// Uses its commented-out ports, at 10 Gbit/s.
#[test]
fn the_shipped_configuration_has_nothing_to_advise() {
    let named = |line: &str| match line.strip_prefix('#') {
        Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => setting.to_owned(),
        _ => line.to_owned(),
    };
    let text: Vec<String> = SHIPPED.lines().map(named).collect();
    let plan = configuration(&text.join("\n"));
    assert!(plan.lossless, "{:?}", plan.advice);
    assert!(plan.advice.is_empty(), "{:?}", plan.advice);
}

#[test]
fn an_applied_plan_has_nothing_to_advise() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.toml");
    let text = CONFIGURATION
        .replace("40kB", "20kB")
        .replace("90kB", "1kB")
        .replace(
            "mode = \"pfc\"",
            "mode = \"pfc\"\necn-kmin = \"300kB\"\necn-kmax = \"400kB\"",
        );
    let before = plan_of(&text).unwrap();
    let mut keys: Vec<&str> = before.advice.iter().map(|advice| advice.key).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["ecn-kmax", "ecn-kmin", "headroom", "xon"]);
    apply::apply(&text, plan_of, &out).unwrap();
    let after = configuration(&std::fs::read_to_string(&out).unwrap());
    assert!(
        after.lossless && after.advice.is_empty(),
        "{:?}",
        after.advice
    );
    // A profile is changed in its own table, once for all its classes.
    let profile = "[[ecn]]\nname = \"A\" # of the vendor\nkmin = \"300kB\"\nkmax = \"400kB\"\n";
    let own = "ecn-kmin = \"300kB\"\necn-kmax = \"400kB\"";
    assert!(text.contains(own));
    let named = text.replace(own, "ecn = \"A\"") + profile;
    let plan = plan_of(&named).unwrap();
    let in_profile = plan.advice.iter().filter(|one| one.ecn_profile.is_some());
    let keys: Vec<&str> = in_profile.map(|one| one.key).collect();
    assert_eq!(keys, ["kmax", "kmin"]);
    let out_of_profile = folder.path().join("profile.toml");
    apply::apply(&named, plan_of, &out_of_profile).unwrap();
    let applied = std::fs::read_to_string(&out_of_profile).unwrap();
    assert!(
        applied.contains("name = \"A\" # of the vendor"),
        "{applied}"
    );
    assert!(!applied.contains("ecn-k"), "{applied}");
    assert!(configuration(&applied).advice.is_empty());
    // Disabled marking needs no thresholds.
    let off = named + "mark-at = \"never\"\n";
    let plan = plan_of(&off).unwrap();
    assert!(plan.advice.iter().all(|one| one.about != "ecn"));
    // The existing file is unchanged.
    assert!(apply::apply(&text, plan_of, &out).is_err());
}

#[test]
fn ports_of_different_rates_reach_xoff_at_their_own_times() {
    let text = CONFIGURATION.replacen("10Gbit", "40Gbit", 1);
    let plan = configuration(&text);
    let xoff = |port: &str| {
        let row = plan.ingress.iter().find(|row| row.port == port).unwrap();
        let first = row.pauses.as_ref().unwrap().first_us;
        let at = row.xoff_at_us.unwrap();
        assert_near(first, at + 10.0, 1e-9);
        at
    };
    // 40 Gbit/s into 10 next to another 10: 35 Gbit/s too many, and 5 for the other one. The fast one's buffer does not empty
    // while it is paused.
    let full = 100_000.0 / 1536.0 * 1546.0 * 8.0 / 1e3;
    assert_near(xoff("a"), full / 35.0, 1e-9);
    assert_near(xoff("b"), full / 5.0, 1e-9);
}

#[test]
fn a_pool_is_planned_with_one_two_and_all_buffers() {
    let plan = scenario("shared-buffers.toml", &[]);
    let pool = &plan.pools[0];
    let size = 120.0 * 1024.0;
    // One priority at four ports; α = 1.
    assert_eq!((pool.buffers, pool.lossless_buffers), (4, 4));
    assert_near(pool.alone_bytes as f64, size / 2.0, 1e-4);
    assert_near(pool.two_bytes as f64, size / 3.0, 1e-4);
    assert_near(pool.all_bytes as f64, size / 5.0, 1e-4);
    let headroom = 4 * 3 * 1024 * 1024;
    assert_eq!(pool.headroom_bytes, headroom);
    assert_eq!(pool.memory_bytes, 120 * 1024 + 2 * headroom);
    assert_eq!(pool.own_memory_bytes, 4 * 60 * 1024 + 2 * headroom);
    assert!(plan.lossless, "{:?}", plan.advice);
    assert!(plan.advice.iter().all(|advice| advice.key != "xon"));

    let set = [
        "class.lossless.headroom=64KiB",
        "pool.lossless.headroom-oversubscription=2",
    ];
    let plan = scenario("shared-buffers.toml", &set);
    assert_eq!(plan.pools[0].headroom_bytes, 2 * 64 * 1024);
    let told = plan.notes.iter().any(|note| note.contains("can be lost"));
    assert!(told, "{:?}", plan.notes);
}
