//! `cable`: its consequences, precedence, refusals, and reloads.

use weir_config::daemon::DaemonConfig;
use weir_config::switch::headroom::Feedback;
use weir_config::switch::reaction_of_station;
use weir_core::{Bytes, ClassMode, Duration, PortRole, Priority};

use super::parse;

/// Two ports and one lossless class, with `first`, `second` and `class` as additional lines.
fn file(first: &str, second: &str, class: &str) -> String {
    format!(
        "name = \"s1\"\n\
         [[port]]\ndevice = \"eth0\"\nrole = \"fabric\"\nrate = \"10Gbit\"\n{first}\n\
         [[port]]\ndevice = \"eth1\"\nrole = \"edge\"\nrate = \"25Gbit\"\n{second}\n\
         [[class]]\nname = \"lossless\"\npriorities = [3, 4]\n{class}\n"
    )
}

const PFC: &str = "mode = \"pfc\"\nxoff = \"64KiB\"\nxon = \"32KiB\"";

fn config(first: &str, second: &str, class: &str) -> DaemonConfig {
    parse(&file(first, second, class)).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(first: &str, second: &str, class: &str) -> String {
    parse(&file(first, second, class)).unwrap_err().to_string()
}

/// The headroom of each port, in the core.
fn headrooms(config: &DaemonConfig) -> Vec<u64> {
    let core = config.core(&[]);
    let class = core.classes[3];
    let of_port = |port| class.mode_at(port).thresholds().unwrap().headroom().get();
    core.ports.iter().map(of_port).collect()
}

#[test]
fn the_headroom_is_that_of_the_standard_and_of_a_switch_in_software() {
    let config = config("cable = \"40m\"", "cable = \"2km\"", PFC);
    let charging = config.dataplane.frames().charging();
    let line = config.ports[0].cable_line().unwrap();
    // 67 quanta of 512 bits at 10 Gbit/s, and 40 m at 5 ns.
    let expected = Feedback::Parts {
        delay: Duration::from_nanos(200),
        reaction: Duration::from_nanos(1_000_000 + 67 * 512 / 10 + 1),
    };
    assert_eq!(line.link().feedback, expected);
    let room = line.room(charging);
    assert_eq!(headrooms(&config)[0], room.headroom.get());
    // By hand: bytes on the line, in frames of 60 B that are charged 256 B each, and one that reached xoff.
    let on_line = 1_003_831 * 10 / 8 + (1522 + 24) + 84 + (60 + 24);
    assert_eq!(room.headroom.get(), (on_line / (60 + 24) + 1) * 256);
    // The T for which it suffices is between T without and with one more frame.
    let fits = line.needed_for(room.round_trip_max, charging);
    let more = room.round_trip_max + Duration::from_nanos(1);
    assert!(fits <= room.headroom && line.needed_for(more, charging) > room.headroom);
    assert!(room.round_trip_max > Duration::from_micros(1_003));
    // Each port has its own, and the class has the largest.
    let [short, long] = headrooms(&config)[..] else {
        panic!()
    };
    assert!(long > short);
    let class = config.class_of(Priority::ALL[3]).unwrap();
    assert!(class.headroom_by_cable);
    assert_eq!(class.mode.thresholds().unwrap().headroom().get(), long);
    assert_eq!(parse(&config.to_toml()).as_ref(), Ok(&config));
}

#[test]
fn length_reaction_rate_mtu_and_overshoot_count() {
    let of = |first: &str, more: &str| {
        let text = file(first, "cable = \"1m\"", PFC) + more;
        headrooms(&parse(&text).unwrap())[0]
    };
    let short = of("cable = \"40m\"\nreaction = \"10us\"", "");
    // 10 km are 100 µs there and back, 125,000 bytes in frames that are charged 256 for 84.
    let long = of("cable = \"10.04km\"\nreaction = \"10us\"", "");
    assert_eq!((long - short) / 256, 125_000 / 84);
    let late = of("cable = \"40m\"\nreaction = \"110us\"", "");
    assert_eq!(late, long);
    let jumbo = of(
        "cable = \"40m\"\nreaction = \"10us\"",
        "[dataplane]\nmtu = \"9000B\"\n",
    );
    assert!(jumbo > short + 3 * 7_000, "{jumbo}, {short}");
}

#[test]
fn packet_memory_has_room_for_each_port_s_own() {
    let both_long = config("cable = \"2km\"", "cable = \"2km\"", PFC);
    let one_short = config("cable = \"1m\"", "cable = \"2km\"", PFC);
    let saved = headrooms(&both_long)[0] - headrooms(&one_short)[0];
    let frames = |config: &DaemonConfig| config.core(&[]).frames_needed() as u64;
    // For two priorities, and once more for a release.
    assert_eq!(
        (frames(&both_long) - frames(&one_short)) * 256,
        saved * 2 * 2
    );
    let pool = "mode = \"pfc\"\npool = \"p\"\nalpha = 1\n[[pool]]\nname = \"p\"\nsize = \"1MiB\"";
    let pooled = config("cable = \"1m\"", "cable = \"2km\"", pool);
    let sum: u64 = headrooms(&pooled).iter().sum();
    assert_eq!(pooled.core(&[]).pools[0].headroom.get(), 2 * sum);
    assert_eq!(parse(&pooled.to_toml()).as_ref(), Ok(&pooled));
}

#[test]
fn the_headroom_of_the_class_wins_and_must_suffice() {
    let own = format!("{PFC}\nheadroom = \"4MiB\"");
    let config = config("cable = \"40m\"", "", &own);
    assert_eq!(headrooms(&config), [4 << 20, 4 << 20]);
    let told = refusal(
        "cable = \"40m\"",
        "",
        &format!("{PFC}\nheadroom = \"1MiB\""),
    );
    for part in [
        "class.lossless.headroom",
        ":18:",
        "class `lossless`: 1MiB contradicts the cable of port `eth0`, line 6: 40m need",
        "Raise it to \"3740KiB\"",
        "or leave `headroom` out",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    // The suggested value is accepted.
    let enough = told.split("Raise it to \"").nth(1).unwrap();
    let enough = enough.split('"').next().unwrap();
    parse(&file(
        "cable = \"40m\"",
        "",
        &format!("{PFC}\nheadroom = \"{enough}\""),
    ))
    .unwrap();
}

#[test]
fn a_class_without_headroom_needs_a_cable_at_each_port_that_pauses() {
    let told = refusal("cable = \"40m\"", "", PFC);
    assert!(told.contains("class.lossless.headroom"), "{told}");
    assert!(
        told.contains("port `eth1` no `cable` to give it: set `cable` there, or `headroom` here"),
        "{told}"
    );
    let told = refusal("", "", PFC);
    assert!(told.contains("missing"), "{told}");
    // Between switches, Levels have budgets.
    let levels = "mode = \"level\"\nxoff = \"64KiB\"\nxon = \"32KiB\"\nmax-hops = 2";
    let config = config("", "cable = \"40m\"", levels);
    assert_eq!(config.ports[0].role, PortRole::Fabric);
    let ClassMode::Level { edge, .. } = config.classes[0].mode else {
        panic!()
    };
    assert!(edge.headroom() > Bytes::new(3_000_000));
}

#[test]
fn impossible_cables_are_refused() {
    let cable = |first: &str| refusal(first, "cable = \"1m\"", PFC);
    for (first, part) in [
        ("cable = \"40\"", "`40` is not a length"),
        ("cable = \"40 metres\"", "did you mean \"40m\"?"),
        ("cable = \"30000km\"", "longer than 20000 km"),
        ("cable = 40", "expected text in quotes, found an integer"),
        (
            "reaction = \"10us\"",
            "has no effect without the cable's length: also set cable",
        ),
        (
            "cable = \"10km\"\nround-trip = \"50us\"",
            "50us contradicts cable = \"10km\", on which 100us pass until an answer",
        ),
    ] {
        let told = cable(first);
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_reload_sets_thresholds_and_keeps_values_derived_from_cables() {
    let running = config("cable = \"40m\"", "cable = \"40m\"", PFC);
    let more = PFC.replace("64KiB", "96KiB");
    let reloaded = |first: &str, class: &str| {
        let file = config(first, "cable = \"40m\"", class);
        let next = running.with_live_settings_of(&file);
        assert_eq!(parse(&next.to_toml()).as_ref(), Ok(&next));
        next
    };
    let next = reloaded("cable = \"40m\"", &more);
    assert_eq!(
        next.classes[0].mode.thresholds().unwrap().xoff(),
        Bytes::new(96 << 10)
    );
    assert_eq!(headrooms(&next), headrooms(&running));
    // Another cable requires a restart, and so does a headroom that replaces the cables'.
    let next = reloaded("cable = \"2km\"", &more);
    assert_eq!(headrooms(&next), headrooms(&running));
    assert_eq!(
        next.classes[0].mode.thresholds().unwrap().xoff(),
        Bytes::new(96 << 10)
    );
    let next = reloaded("cable = \"40m\"", &format!("{more}\nheadroom = \"16MiB\""));
    assert_eq!(next.classes[0].mode, running.classes[0].mode);
}

/// Rows of the book's page on thresholds: the standard's limits, and the results for two cables.
#[test]
fn the_book_has_the_figures() {
    let page = include_str!("../../../../docs/src/concepts/thresholds.md");
    for rate in ["1Gbit", "10Gbit", "25Gbit", "100Gbit", "400Gbit"] {
        let first = |more: &str| {
            let text = file(more, "cable = \"1m\"", PFC).replacen("10Gbit", rate, 1);
            let config = parse(&text).unwrap();
            (config.ports[0].cable_line().unwrap(), headrooms(&config)[0])
        };
        let standard = reaction_of_station(first("cable = \"3m\"").0.rate);
        let alone = format!("cable = \"300m\"\nreaction = \"{}ns\"", standard.as_nanos());
        let kib = |bytes: u64| format!("{} KiB", bytes.div_ceil(1024));
        let row = format!(
            "| {} Gbit/s | {:.2} µs | {} | {} | {} |",
            rate.trim_end_matches("Gbit"),
            standard.as_nanos() as f64 / 1e3,
            kib(first("cable = \"3m\"").1),
            kib(first("cable = \"300m\"").1),
            kib(first(&alone).1),
        );
        assert!(page.contains(&row), "write this row: {row}");
    }
}
