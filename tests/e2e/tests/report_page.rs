//! A simulator run as one page in Chromium: it states the verdict, shows pauses over time, and needs no network.
//!
//! `WEIR_SCREENSHOTS=DIR` saves pictures for the book there.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use weir_lab::lab::process::program;
use weir_tests::browser::{with_browser, Browser};
use weir_tests::namespace::Namespace;
use weir_tests::printed;

const DESKTOP: (u32, u32) = (1280, 1180);
const PHONE: (u32, u32) = (390, 844);

async fn text(page: &Browser, selector: &str) -> String {
    let text = page
        .run(&format!(
            "return document.querySelector({selector:?}).textContent"
        ))
        .await;
    text.as_str().unwrap_or_default().to_owned()
}

async fn check(page: &Browser, what: &str) {
    let wrong = page.run(include_str!("../src/accessible.js")).await;
    assert_eq!(wrong, Value::Array(Vec::new()), "{what}");
    let wide = page
        .run("return document.documentElement.scrollWidth - innerWidth")
        .await;
    assert!(
        wide.as_i64().is_some_and(|wide| wide <= 0),
        "{what}: {wide} px too wide"
    );
}

#[test]
fn a_run_is_a_page_that_shows_who_paused_whom() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ring4.html");
    let mut run = Command::new(program("weir-sim").unwrap());
    run.args([
        "run",
        "--quiet",
        "--set",
        "deadlock.policy=breaker",
        "--html",
    ]);
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    printed(run.arg(&file).arg(scenarios.join("ring4.toml")));
    let place = Namespace::with_loopback("report");
    with_browser(place.name(), directory.path(), async |page| {
        page.shape(DESKTOP.0, DESKTOP.1, "light").await;
        page.go(&format!("file://{}", file.display())).await;
        let verdict = text(page, "h1").await;
        assert!(
            verdict.starts_with("ring4: locked, and moved again after"),
            "{verdict}"
        );
        assert!(verdict.ends_with("nothing lost"), "{verdict}");

        // It begins when the ring is locked: each switch pauses the one before it.
        let circle = text(page, "#pauses").await;
        let names = circle
            .strip_prefix("A circle: ")
            .and_then(|rest| rest.split(". ").next());
        let mut names: Vec<&str> = names.unwrap_or_default().split(" pauses ").collect();
        assert_eq!(names.pop(), names.first().copied(), "{circle}");
        names.sort_unstable();
        assert_eq!(names, ["s1", "s2", "s3", "s4"], "{circle}");
        let red = page
            .run("return document.querySelectorAll('#network .end.circle').length")
            .await;
        assert_eq!(red, 4);
        if let Some(pictures) = std::env::var_os("WEIR_SCREENSHOTS").map(PathBuf::from) {
            page.screenshot(&pictures.join("report-light.png")).await;
            page.shape(DESKTOP.0, DESKTOP.1, "dark").await;
            page.screenshot(&pictures.join("report-dark.png")).await;
        }

        // The end of the run, when the ring moves again.
        page.run("const s = document.querySelector('#moment'); s.value = s.max; s.dispatchEvent(new Event('input'))").await;
        let end = text(page, "#pauses").await;
        assert!(!end.starts_with("A circle"), "{end}");
        assert_eq!(text(page, "#now").await, "at 8.000 s");

        // Sorted by received bytes, descending.
        page.run("[...document.querySelectorAll('#flows th button')].find(b => b.textContent === 'received').click()").await;
        let received = page.run("return [...document.querySelectorAll('#flows tbody tr')].map(r => Number(r.cells[2].textContent))").await;
        let received: Vec<u64> = serde_json::from_value(received).unwrap();
        assert_eq!(received.len(), 5);
        assert!(received.is_sorted_by(|a, b| a >= b), "{received:?}");

        check(page, "desktop").await;
        page.shape(PHONE.0, PHONE.1, "dark").await;
        check(page, "phone, dark").await;
        assert_eq!(
            page.console().await,
            [""; 0],
            "nothing is fetched and nothing fails"
        );
    });
}
