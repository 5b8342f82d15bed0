//! Invalid answers: each is reported correctly, and none affects the others.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use weir_lab::lab::process::program;

use super::fake::{serve, Made, Says};
use super::text;

#[test]
fn answers_that_are_none_are_told_and_harm_nobody() {
    let run = tempfile::tempdir().unwrap();
    let http = |head: &str, body: &str| {
        Says::Bytes(format!(
            "HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    };
    let deep = "[".repeat(100_000);
    let liar = "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n{}".to_owned();
    let (a, b) = ("a".to_owned(), "b".to_owned());
    for (name, says) in [
        ("a", Made::new("a", &[b], true).says()),
        ("b", Made::new("b", &[a], true).says()),
        ("drips", Says::Drips(Duration::from_millis(20))),
        ("floods", Says::Floods),
        ("silent", Says::Nothing),
        ("wrong-json", http("200 OK", "{\"status\": 7}")),
        ("no-json", http("200 OK", "<html>hello</html>")),
        ("deep", http("200 OK", &deep)),
        ("liar", Says::Bytes(liar)),
        (
            "no-http",
            Says::Bytes("220 smtp.example.net ESMTP\r\n".to_owned()),
        ),
        (
            "refuses",
            http("403 Forbidden", "{\"error\": \"not for you\"}"),
        ),
        (
            "elsewhere",
            http("302 Found\r\nlocation: http://192.0.2.1/", ""),
        ),
    ] {
        serve(run.path(), name, says);
    }
    let began = Instant::now();
    let output = Command::new(program("weir-page").unwrap())
        .args(["--once", "--timeout", "2s", "--run-dir"])
        .arg(run.path())
        .output()
        .unwrap();
    let took = began.elapsed();
    assert_eq!(
        output.status.code(),
        Some(3),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let state: Value = serde_json::from_slice(&output.stdout).unwrap();
    let told: Vec<(String, String, String)> = state["switches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                text(&one["name"]),
                text(&one["condition"]),
                text(&one["text"]) + " " + &text(&one["reasons"][0]),
            )
        })
        .collect();
    for (name, expected) in [
        (
            "drips",
            "no whole answer within 2 s weir-switchd accepts connections but does not answer",
        ),
        ("floods", "longer than 8 MiB"),
        ("silent", "no whole answer within 2 s"),
        ("wrong-json", "no overview of a switch"),
        ("no-json", "no overview of a switch"),
        ("deep", "no overview of a switch"),
        ("liar", "the answer"),
        ("no-http", "is weir-switchd being restarted?"),
        ("refuses", "refused: not for you (HTTP 403)"),
        ("elsewhere", "(HTTP 302)"),
    ] {
        let (_, condition, text) = told.iter().find(|one| one.0 == name).unwrap();
        assert_eq!(condition, "unreachable", "{name}");
        assert!(text.contains(expected), "{name}: {text}");
    }
    for good in ["a", "b"] {
        assert!(
            told.iter().any(|one| one.0 == good && one.1 == "well"),
            "{told:?}"
        );
    }
    assert_eq!(state["links"].as_array().unwrap().len(), 1);
    assert!(took < Duration::from_secs(30), "{took:?}");
}
