//! Classes with Levels: budgets, round trips and thresholds.

use weir_config::daemon::RoundTrip;
use weir_core::{
    Bytes, ClassMode, Duration, FeedbackCoding, MacAddress, MarkAt, Neighbour, PartsPerMillion,
    PauseRule, Police, RedConfig,
};

use super::{parse, LEVELS};

#[test]
fn budgets_are_derived_from_the_longest_round_trip() {
    let config = parse(LEVELS).unwrap();
    assert_eq!(config.ports[0].neighbour, Neighbour::Enhanced);
    assert_eq!(config.ports[1].neighbour, Neighbour::Regular);
    assert_eq!(
        config.ports[0].round_trip,
        RoundTrip::Fixed(Duration::from_millis(2))
    );
    assert_eq!(config.dataplane.feedback_refresh, Duration::from_millis(7));
    let core = config.core(&[MacAddress::BROADCAST; 3]);
    core.validate().unwrap();
    assert_eq!(core.ports[0].round_trip, Duration::from_millis(2));
    assert_eq!(core.classes[3].age_limit, Some(Duration::from_millis(500)));
    let red = RedConfig {
        kmin: Bytes::new(20_000),
        kmax: Bytes::new(80_000),
        pmax: PartsPerMillion::new(25_000).unwrap(),
        at: MarkAt::Departure,
    };
    assert_eq!(core.classes[3].ecn, Some(red));
    assert_eq!(core.classes[0].ecn, None);
    let round_trips = core.ports.iter().map(|port| port.round_trip_measured);
    assert!(round_trips.eq([false, true, true]));
    assert_eq!(core.ports[0].feedback, FeedbackCoding::Pause);
    assert_eq!(core.ports[2].police, Police::Mark);
    let pauses: Vec<_> = core.ports.iter().map(|port| port.pause).collect();
    assert_eq!(
        pauses,
        [PauseRule::Obey, PauseRule::Obey, PauseRule::NoLossless]
    );
    let ClassMode::Level { budgets, rules, .. } = core.classes[3].mode else {
        panic!("priority 3 has Levels");
    };
    let gamma_max = core.gamma_max();
    let rt = core.reserve(&core.ports[0]).round_up_to(Bytes::new(256));
    let each = gamma_max + rt;
    let first = each + Bytes::new(60 * 1024);
    assert_eq!(
        budgets.as_slice(),
        [first, each, each, each],
        "max-hops + min-level"
    );
    assert_eq!(rules.level_min.get(), 1);
    assert!(!rules.obeys_feedback);
    // 1 Gbit/s for 2 ms is 250000 B; frames that waste most of their cells weigh more.
    assert!(rt.get() > 250_000 && rt.get() < 2 * 250_000 * 3, "{rt}");
}

#[test]
fn budgets_that_break_the_inequalities_are_refused_with_the_numbers() {
    let refused = |from: &str, to: &str| {
        assert!(LEVELS.contains(from), "{from}");
        parse(&LEVELS.replacen(from, to, 1)).expect_err(to)
    };
    let keys = "max-hops = 3";
    for (to, said) in [
        (
            "max-hops = 32",
            "s1.toml:11: class.lossless.max-hops: 32 is not between 1 and 31",
        ),
        ("", "s1.toml:7: class.lossless.max-hops: missing"),
        (
            "max-hops = 3\nbuffer = \"100KiB\"",
            "s1.toml:12: class.lossless.buffer: 102400 B is less than",
        ),
        (
            "budgets = [\"1MiB\", \"1535B\"]",
            "budget b_2 (1535 B) must be at least one frame of 1536 B",
        ),
        (
            "budgets = [\"250kB\", \"2KiB\"]",
            "port 0: budget b_1 (250000 B) must be at least γmax (1536 B) plus the arrivals in the round trip time of 2 ms",
        ),
        (
            "budgets = [\"2MiB\", \"2KiB\"]",
            "port 0: budget b_2 (2048 B) must be at least γmax (1536 B) plus the arrivals in the round trip time of 2 ms",
        ),
        (
            "budgets = []",
            "s1.toml:11: class.lossless.budgets: 0 budgets; write one for each link",
        ),
        (
            "budgets = [\"1MiB\", \"2KiB\"]\nmax-hops = 1",
            "s1.toml:12: class.lossless.max-hops: follows from budgets; set only one of the two",
        ),
    ] {
        let complaint = refused(keys, to);
        assert!(complaint.contains(said), "{said}\nis not in\n{complaint}");
    }
    let complaint = refused("mode = \"level\"", "mode = \"pfc\"");
    assert!(
        complaint.contains("s1.toml:11: class.lossless.max-hops: does not apply to this mode; keys of this mode: xoff, xon, headroom"),
        "{complaint}"
    );
    for (from, to, said) in [
        (
            "neighbour = \"regular\"",
            "feedback = \"grants\"",
            "port.1.feedback: `grants` must be set at both ends: set neighbour = \"enhanced\" too",
        ),
        (
            "neighbour = \"regular\"",
            "police = \"drop\"",
            "port.1.police: does not apply to a fabric port",
        ),
        (
            "police = \"mark\"",
            "feedback = \"pause\"",
            "port.2.feedback: does not apply to an edge port",
        ),
        (
            "min-level = 1",
            "min-level = 29",
            "class.lossless.min-level: makes D 32; max-hops and min-level together must be at most 31",
        ),
        (
            "age-limit = \"500ms\"",
            "age-limit = \"0s\"",
            "priority 3: the age limit must be above zero",
        ),
        (
            "ecn-kmin = \"20kB\"",
            "ecn-kmin = \"81kB\"",
            "s1.toml:15: class.lossless.ecn-kmin: kmin (81000 B) must not be above kmax (80000 B)",
        ),
        (
            "ecn-kmax = \"80kB\"\n",
            "",
            "s1.toml:7: class.lossless.ecn-kmax: missing; write text with a unit such as \"64KiB\"",
        ),
        (
            "ecn-kmin = \"20kB\"\necn-kmax = \"80kB\"\n",
            "",
            "s1.toml:7: class.lossless.ecn-kmin: missing",
        ),
        (
            "ecn-pmax = \"2.5%\"",
            "ecn-pmax = \"0%\"",
            "s1.toml:17: class.lossless.ecn-pmax: pmax must be above zero; for a single threshold set kmin and kmax to the same value",
        ),
        (
            "ecn-pmax = \"2.5%\"",
            "ecn-pmax = \"101%\"",
            "s1.toml:17: class.lossless.ecn-pmax: `101%` is not a probability up to 100%; write a number and one of the units ppm, %, such as \"1%\"",
        ),
        (
            "ecn-pmax = \"2.5%\"",
            "ecn-pmax = 0.025",
            "s1.toml:17: class.lossless.ecn-pmax: expected text such as \"1%\"",
        ),
    ] {
        let complaint = refused(from, to);
        assert!(complaint.contains(said), "{said}\nis not in\n{complaint}");
    }
    let complaint = refused("\"enhanced\"", "\"enhancd\"");
    assert!(
        complaint.contains("s1.toml:28: port.0.neighbour: unknown value `enhancd`; did you mean `enhanced`? (valid: auto, enhanced, regular)"),
        "{complaint}"
    );
}

#[test]
fn thresholds_have_a_default_probability() {
    let text = LEVELS.replace("ecn-pmax = \"2.5%\"\n", "");
    let config = parse(&text).unwrap();
    let red = config.classes[0].ecn.unwrap();
    assert_eq!(red.pmax, PartsPerMillion::from_percent(1));
    assert_eq!(parse(&config.to_toml()), Ok(config));
}
