//! Sweep files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use weir_config::scenario::Scenario;
use weir_config::sweep::{Sweep, ValueKind, KEYS};

fn sweep(text: &str) -> Sweep {
    let head = "name = \"s\"\nscenario = \"ring4.toml\"\n";
    Sweep::parse(&format!("{head}{text}"), Path::new("d/s.toml"))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    let refused = Sweep::parse(text, Path::new("s.toml"));
    refused.expect_err("a refusal").to_string()
}

#[test]
fn seeds_change_first_then_the_last_parameter_then_the_others_then_samples() {
    let sweep = sweep(
        r#"
seeds = [7, 9]
[latin-hypercube]
samples = 2
[[parameter]]
key = "class.lossless.xoff"
from = "10KiB"
to = "99KiB"
[[parameter]]
key = "deadlock.policy"
values = ["off", "breaker"]
[[parameter]]
name = "frames"
key = "flow.a.frame"
from = "500B"
to = "1500B"
step = "500B"
"#,
    );
    assert_eq!(sweep.scenario, PathBuf::from("d/ring4.toml"));
    assert_eq!(sweep.run_count(), 2 * 2 * 3 * 2);
    let told = |index| {
        let run = sweep.run(index);
        let set = sweep.overrides(&run, sweep.seed(&run, 1));
        let set: Vec<String> = set.iter().map(ToString::to_string).collect();
        (set[1].clone(), set[2].clone(), set[3].clone())
    };
    let expected = |policy: &str, frame: &str, seed: u64| {
        (
            format!("deadlock.policy={policy}"),
            format!("flow.a.frame={frame}"),
            format!("seed={seed}"),
        )
    };
    assert_eq!(told(0), expected("off", "500B", 7));
    assert_eq!(told(1), expected("off", "500B", 9));
    assert_eq!(told(2), expected("off", "1000B", 7));
    assert_eq!(told(6), expected("breaker", "500B", 7));
    assert_eq!(told(23), expected("breaker", "1500B", 9));
    let xoff = |index| sweep.run(index).levels[0];
    assert_eq!([xoff(0), xoff(11), xoff(12), xoff(23)], [0, 0, 1, 1]);
    let all: BTreeSet<String> = (0..24)
        .map(|index| {
            format!("{:?}", {
                let run = sweep.run(index);
                sweep.overrides(&run, sweep.seed(&run, 1))
            })
        })
        .collect();
    assert_eq!(all.len(), 24, "no two are the same");
}

#[test]
fn values_are_numbers_if_all_of_them_are() {
    let sweep = sweep(
        r#"
[[parameter]]
key = "class.lossless.xoff"
values = ["64KiB", "1MB"]
[[parameter]]
key = "deadlock.detect"
values = ["20ms", "auto"]
[[parameter]]
key = "topology.k"
values = [4, 8]
[[parameter]]
key = "dcqcn.g"
values = [0.25, 0.5]
[[parameter]]
key = "dcqcn.clamp-target"
values = [true, false]
[[parameter]]
key = "name"
values = ["1", "b"]
"#,
    );
    let kinds: Vec<_> = sweep
        .parameters
        .iter()
        .map(|one| (one.kind, one.unit))
        .collect();
    assert_eq!(
        kinds,
        [
            (ValueKind::Text, Some("bytes")),
            (ValueKind::Text, None),
            (ValueKind::Integer, None),
            (ValueKind::Number, None),
            (ValueKind::Boolean, None),
            (ValueKind::Text, None),
        ]
    );
    let numbers = |place: usize| -> Vec<Option<f64>> {
        let levels = sweep.parameters[place].levels.iter();
        levels.map(|level| level.number).collect()
    };
    assert_eq!(numbers(0), [Some(65536.0), Some(1e6)]);
    assert_eq!(numbers(1), [None, None], "not all are times");
    assert_eq!(numbers(3), [Some(0.25), Some(0.5)]);
    assert_eq!(
        sweep.parameters[5].levels[0].set[0].to_string(),
        "name=\"1\"",
        "text stays text"
    );
}

#[test]
fn choices_set_several_keys() {
    let sweep = sweep(
        r#"
set = ["duration=1s"]
[[parameter]]
name = "remedy"
choices = [
    { name = "none", set = [] },
    { name = "both", set = ["deadlock.policy=breaker", "deadlock.detect=5ms"] },
]
"#,
    );
    let told = |index| {
        let set = sweep.overrides(&sweep.run(index), 3);
        let set: Vec<String> = set.iter().map(ToString::to_string).collect();
        set.join(" ")
    };
    assert_eq!(told(0), "duration=1s seed=3");
    assert_eq!(
        told(1),
        "duration=1s deadlock.policy=breaker deadlock.detect=5ms seed=3"
    );
}

proptest! {
    /// Property of a Latin hypercube sample: each parameter has one value in each of as many strata as there are
    /// samples.
    #[test]
    fn each_stratum_has_one_sample(samples in 1u64..300, seed in 0u64..1000, is_log: bool) {
        let scale = if is_log { "log" } else { "linear" };
        let (from, to) = (1_000u64, 1_000_000_000u64);
        let text = format!("
[latin-hypercube]
samples = {samples}
seed = {seed}
[[parameter]]
key = \"class.lossless.xoff\"
from = \"{from}B\"
to = \"{to}B\"
scale = \"{scale}\"
[[parameter]]
key = \"deadlock.detect\"
from = \"{from}ns\"
to = \"{to}ns\"
");
        let sweep = sweep(&text);
        prop_assert_eq!(sweep.run_count(), samples);
        let mut orders = Vec::new();
        for (parameter, is_log) in sweep.parameters.iter().zip([is_log, false]) {
            let strata: Vec<u64> = parameter.levels.iter().map(|level| {
                let unit = if parameter.unit == Some("seconds") { 1e9 } else { 1.0 };
                let number = level.number.unwrap() * unit;
                let (from, to) = (from as f64, to as f64);
                let way = if is_log { (number / from).ln() / (to / from).ln() } else { (number - from) / (to + 1.0 - from) };
                // Numbers are integers: one rounded over an edge belongs to the previous stratum.
                let exact = way * samples as f64;
                let near = exact.round();
                if is_log && (exact - near).abs() < 1e-2 { u64::MAX } else { exact as u64 }
            }).collect();
            let sure: Vec<u64> = strata.iter().copied().filter(|stratum| *stratum != u64::MAX).collect();
            let different: BTreeSet<u64> = sure.iter().copied().collect();
            prop_assert_eq!(different.len(), sure.len(), "two in one stratum");
            prop_assert!(is_log || sure.len() as u64 == samples);
            orders.push(strata);
        }
        // Streams of two parameters are not the same permutation.
        prop_assert!(samples < 20 || is_log || orders[0] != orders[1]);
    }
}

proptest! {
    #[test]
    fn any_parameter_is_read_or_refused(
        head in "(seeds = [0-9]{1,8}\n)?(\\[latin-hypercube\\]\nsamples = [0-9]{1,4}\n)?",
        lines in proptest::collection::vec(
            "(key|name|values|choices|from|to|step|steps|scale) = (\"(log|seed|a\\.b|[0-9]{1,20}(B|GiB|ns|h|Gbit|%|ppm))\"|[0-9]{1,19}|[0-9]{1,4}\\.[0-9]{1,10}|\\[\\]|\\[1, 2\\])",
            1..6,
        ),
    ) {
        let text = format!("name = \"s\"\nscenario = \"x\"\n{head}[[parameter]]\n{}\n", lines.join("\n"));
        if let Ok(sweep) = Sweep::parse(&text, Path::new("s.toml")) {
            let last = sweep.run(sweep.run_count() - 1);
            prop_assert!(!sweep.overrides(&last, 1).is_empty());
        }
    }
}

#[test]
fn a_hypercube_is_drawn_from_its_seed() {
    let drawn = |seed: u64| {
        let text = format!(
            "[latin-hypercube]\nsamples = 50\nseed = {seed}\n[[parameter]]\nkey = \"topology.k\"\nfrom = 1\nto = 4\n"
        );
        let levels = sweep(&text).parameters[0].levels.clone();
        levels
            .into_iter()
            .map(|level| level.text)
            .collect::<Vec<_>>()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    for value in ["1", "2", "3", "4"] {
        let count = drawn(1).iter().filter(|text| *text == value).count();
        assert!((12..=13).contains(&count), "{value}: {count} of 50");
    }
}

#[test]
fn errors_have_line_key_and_remedy() {
    let head = "name = \"s\"\nscenario = \"x.toml\"\n";
    let cases: &[(&str, &[&str])] = &[
        ("seed = 3\n", &["s.toml:3: seed: unknown key", "seeds"]),
        (
            "seeds = 0\n",
            &["s.toml:3: seeds: 0 is not between 1 and 1000000"],
        ),
        (
            "seeds = [1, 2, 1]\n",
            &["s.toml:3: seeds: 1 is listed twice"],
        ),
        (
            "set = [\"duration\"]\n",
            &["s.toml:3: set: `duration` is not PATH=VALUE"],
        ),
        (
            "set = [\"seed=1\"]\n",
            &["s.toml:3: set:", "write seeds = [ … ]"],
        ),
        (
            "tables = [\"flow\"]\n",
            &["s.toml:3: tables: unknown table `flow`; did you mean `flows`?"],
        ),
        (
            "[[parameter]]\nvalues = [1]\n",
            &["s.toml:3: parameter.0.key: missing; write a key"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\n",
            &["s.toml:3: parameter.0: has no values; write `values`"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nvalues = []\n",
            &["s.toml:5: parameter.0.values: is empty"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nvalues = [1, 1]\n",
            &["s.toml:5: parameter.0.values: `1` is listed twice"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nvalues = [[1]]\n",
            &["an array; for several keys at a time write `choices`"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nvalues = [1]\nfrom = 1\n",
            &["keep one"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nvalues = [1]\nstep = 1\n",
            &["s.toml:6: parameter.0.step: belongs to a range"],
        ),
        (
            "[[parameter]]\nkey = \"seed\"\nvalues = [1]\n",
            &["s.toml:4: parameter.0.key: sets the seed; write seeds"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nfrom = 1\nto = 2\n",
            &[
                "s.toml:3: parameter.0: is a range without `step`",
                "[latin-hypercube]",
            ],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nfrom = \"1KiB\"\nto = \"2ms\"\nsteps = 2\n",
            &["s.toml:6: parameter.0.to: has another unit"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nfrom = \"1\"\nto = 2\n",
            &["s.toml:5: parameter.0.from: `1` is not a number with a unit"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nfrom = 3\nto = 2\nsteps = 2\n",
            &["is below `from`; swap the two"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nfrom = 0\nto = 2\nsteps = 2\nscale = \"log\"\n",
            &["s.toml:5: parameter.0.from: is zero"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nfrom = 1\nto = 2\nstep = 0\n",
            &["s.toml:7: parameter.0.step: makes more than"],
        ),
        (
            "[[parameter]]\nkey = \"a\"\nvalues = [1]\n[[parameter]]\nkey = \"a\"\nvalues = [2]\n",
            &["s.toml:7: parameter.1.key: `a` is already used in line 4"],
        ),
        (
            "[[parameter]]\nname = \"n\"\nchoices = [{ name = \"x\" }]\n",
            &["parameter.n.choices.x.set: missing; write an array of PATH=VALUE"],
        ),
        (
            "[latin-hypercube]\nsamples = 5\n",
            &["s.toml:3: latin-hypercube: has nothing to draw"],
        ),
        (
            "seeds = 1000\n[[parameter]]\nkey = \"a\"\nfrom = 1\nto = 9000\nstep = 1\n",
            &["s.toml: 9000000 runs; the maximum is 1000000"],
        ),
    ];
    for (text, parts) in cases {
        let told = refusal(&format!("{head}{text}"));
        for part in *parts {
            assert!(told.contains(part), "{text}\n{told}\nhas no {part}");
        }
    }
    let told = refusal("set = []\n");
    assert!(
        told.contains("name: missing") && told.contains("scenario: missing"),
        "{told}"
    );
}

#[test]
fn errors_of_the_scenario_name_the_parameters_of_the_sweep() {
    let sweep = sweep("set = [\"duration=1s\"]\n[[parameter]]\nkey = \"class.lossless.xof\"\nvalues = [\"1KiB\"]\n");
    let run = sweep.run(0);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ring4.toml");
    let error = Scenario::load(&path, &sweep.overrides(&run, 1)).expect_err("a refusal");
    let told = sweep.blame(error, &run).to_string();
    assert!(
        told.starts_with(
            "d/s.toml:4: parameter.class.lossless.xof: d/ring4.toml with class.lossless.xof=1KiB: "
        ),
        "{told}"
    );
    assert!(told.contains("did you mean `xoff`?"), "{told}");
}

#[test]
fn scenarios_are_not_taken_for_sweeps() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    assert!(!Sweep::is_meant(&read("ring4.toml")));
    assert!(Sweep::is_meant(&read("sweeps/ring4.toml")));
}

#[test]
fn the_book_has_every_key() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/simulator/sweeps.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (table, keys) in KEYS {
        for key in *keys {
            assert!(page.contains(&format!("`{key}`")), "[{table}] {key}");
        }
    }
}
