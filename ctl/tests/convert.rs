//! `switchctl config convert`.

use std::path::Path;

use crate::support::{file, run, text_of};
use serde_json::Value;
use weir_config::daemon::DaemonConfig;

const SAMPLE: &str = include_str!("data/config_db.json");
/// Reviewed result of the sample. Rewritten if WEIR_UPDATE is set.
const EXPECTED: &str = "tests/data/config_db.toml";
const EXPECTED_NOTES: &str = "tests/data/config_db.notes";

fn data(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn same(expected: &str, found: &str) {
    let path = data(expected);
    if std::env::var_os("WEIR_UPDATE").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert_eq!(found, expected, "{path}; WEIR_UPDATE=1 writes it anew");
}

#[test]
fn a_tor_becomes_what_was_reviewed_and_a_daemon_takes_it() {
    let (guard, path) = file("config_db.json", SAMPLE);
    let out = guard.path().join("tor1.toml");
    let name = text_of(&path);
    let told = run(&["config", "convert", &name, "-o", &text_of(&out)]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), ""));
    let text = std::fs::read_to_string(&out).unwrap();
    DaemonConfig::parse(&text, &out).unwrap();
    assert_eq!(run(&["config", "check", &text_of(&out)]).code, Some(0));
    same(EXPECTED, &text.replace(&name, "config_db.json"));
    same(
        EXPECTED_NOTES,
        &told.stderr.replace(&format!("{name}: "), ""),
    );

    let again = run(&["config", "convert", &name]);
    assert_eq!((again.code, again.stdout), (Some(0), text));
    let twice = run(&["config", "convert", &name, "-o", &text_of(&out)]);
    assert_eq!(twice.code, Some(1));
    assert!(
        twice.stderr.contains("-o needs a new file"),
        "{}",
        twice.stderr
    );
}

#[test]
fn notes_are_a_failure_only_where_asked_for() {
    let (guard, path) = file("config_db.json", SAMPLE);
    let out = guard.path().join("tor1.toml");
    let arguments = [
        "config",
        "convert",
        &text_of(&path),
        "--strict",
        "-o",
        &text_of(&out),
    ];
    let told = run(&arguments);
    assert_eq!(told.code, Some(1));
    assert!(
        told.stderr.contains("because of --strict"),
        "{}",
        told.stderr
    );
    assert!(!Path::new(&out).exists());
}

#[test]
fn programs_get_notes_and_text_as_json() {
    let (_guard, path) = file("config_db.json", SAMPLE);
    let told = run(&["--json", "config", "convert", &text_of(&path)]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    let answer: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(answer["good"], true);
    let config = answer["config"].as_str().unwrap();
    DaemonConfig::parse(config, &path).unwrap();
    let unknown = |note: &&Value| note["kind"] == "unknown";
    let notes = answer["notes"].as_array().unwrap();
    let unknown: Vec<&Value> = notes
        .iter()
        .filter(unknown)
        .map(|note| &note["path"])
        .collect();
    assert_eq!(unknown, ["FLUX_CAPACITOR"]);
}

#[test]
fn what_cannot_be_right_is_refused_with_file_and_path() {
    let big = SAMPLE.replace("\"100000\"", "\"99999999999999999999\"");
    let lost = SAMPLE.replace("\"pg_lossless_100000_300m_profile\"\n", "\"nowhere\"\n");
    for (text, place, message) in [
        ("", "", "is not JSON: EOF"),
        ("{", "", "is not JSON: EOF"),
        ("switch", "", "is not JSON: expected value at line 1"),
        ("[]", "", "expected an object of tables, found an array"),
        ("{}", "PORT: ", "there are no ports"),
        (
            r#"{"PORT": 7}"#,
            "PORT: ",
            "expected an object of rows, found a number",
        ),
        (
            r#"{"PORT": {"a": []}}"#,
            "PORT|a: ",
            "expected an object of fields, found an array",
        ),
        (r#"{"PORT": {"a": {}}}"#, "PORT|a.speed: ", "is missing"),
        (
            r#"{"PORT": {"a": {"speed": true}}}"#,
            "PORT|a.speed: ",
            "expected text, found a boolean",
        ),
        (
            r#"{"PORT": {"a/b": {"speed": "1"}}}"#,
            "PORT|a/b: ",
            "a port's name is",
        ),
        (
            &big,
            "PORT|Ethernet24.speed: ",
            "`99999999999999999999` is not a whole number from 1 to",
        ),
        (
            &lost,
            "BUFFER_PG|Ethernet24|3-4.profile: ",
            "there is no BUFFER_PROFILE|nowhere",
        ),
    ] {
        let (_guard, path) = file("config_db.json", text);
        let name = text_of(&path);
        let told = run(&["config", "convert", &name]);
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (Some(1), ""),
            "{}",
            told.stderr
        );
        let wanted = format!("{name}: {place}{message}");
        assert!(told.stderr.contains(&wanted), "{wanted} in {}", told.stderr);
        let last = told.stderr.trim_end().lines().last().unwrap();
        let wanted = format!("{name}: nothing is written because of ");
        assert!(last.starts_with(&wanted), "{last}");
    }
    let told = run(&["config", "convert", "/nowhere/config_db.json"]);
    assert_eq!(told.code, Some(1));
    assert!(
        told.stderr
            .contains("/nowhere/config_db.json: No such file"),
        "{}",
        told.stderr
    );
}

#[test]
fn buffers_beyond_all_memory_are_refused() {
    let text = SAMPLE.replace("\"12766208\"", "\"1099511627776\"");
    let (_guard, path) = file("config_db.json", &text);
    let told = run(&["config", "convert", &text_of(&path)]);
    assert_eq!(told.code, Some(1));
    assert!(
        told.stderr.contains("UMEM frames, which is too many"),
        "{}",
        told.stderr
    );
}
