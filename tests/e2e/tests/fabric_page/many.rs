//! A hundred switches, of which four wait for each other in a cycle, and twenty viewers.

use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use weir_lab::lab::process::program;
use weir_tests::browser::with_browser;
use weir_tests::namespace::Namespace;

use super::fake::{serve, Made};
use super::{look, start_page, text, PAGE};

const LEAVES: usize = 84;
const SPINES: usize = 16;
const VIEWERS: usize = 20;
/// Name of one of the leaves, which LLDP transports like any other.
const HOSTILE: &str = "<img src=x onerror=alert(1)>";

fn names(kind: &str, count: usize) -> Vec<String> {
    (1..=count)
        .map(|number| format!("{kind}{number}"))
        .collect()
}

/// Builds leaves and spines; leaf1, spine1, leaf2 and spine2 wait for each other.
fn fabric(run: &Path) {
    let (mut leaves, spines) = (names("leaf", LEAVES), names("spine", SPINES));
    leaves[LEAVES - 1] = HOSTILE.to_owned();
    let circle = [
        ("leaf1", "spine1"),
        ("spine1", "leaf2"),
        ("leaf2", "spine2"),
        ("spine2", "leaf1"),
    ];
    let both = [(&leaves, &spines, true), (&spines, &leaves, false)];
    for (own, others, edge) in both {
        for (index, name) in own.iter().enumerate() {
            let mut made = Made::new(name, others, edge);
            if let Some((_, by)) = circle.iter().find(|(held, _)| held == name) {
                made = made.held(by, true);
            }
            // The hostile name is not valid for a directory.
            let place = format!("{}{}", if edge { "leaf" } else { "spine" }, index + 1);
            serve(run, &place, made.says());
        }
    }
}

#[test]
fn a_hundred_switches_are_shown() {
    let run = tempfile::tempdir().unwrap();
    fabric(run.path());
    let began = Instant::now();
    let once = Command::new(program("weir-page").unwrap())
        .args(["--once", "--run-dir"])
        .arg(run.path())
        .output()
        .unwrap();
    let state: serde_json::Value = serde_json::from_slice(&once.stdout).unwrap();
    println!(
        "a round of {} switches: {:?}",
        LEAVES + SPINES,
        began.elapsed()
    );
    assert_eq!(state["counts"]["reachable"], json!(LEAVES + SPINES));
    assert_eq!(state["links"].as_array().unwrap().len(), LEAVES * SPINES);
    assert_eq!(state["layout"], "layers");
    assert_eq!(text(&state["verdict"]), "Deadlock: leaf1 waits for spine1, spine1 for leaf2, leaf2 for spine2, spine2 for leaf1, in priority 3.");

    let namespace = Namespace::with_loopback("fabric");
    let arguments = ["--run-dir".to_owned(), run.path().display().to_string()];
    let mut process = start_page(namespace.name(), run.path(), &arguments);
    with_browser(namespace.name(), run.path(), async |page| {
        page.shape(1_440, 1_100, "light").await;
        page.go(PAGE).await;
        page.until(
            "view && view.counts.reachable === 100 && document.body.dataset.state === 'locked'",
        )
        .await;
        page.until("document.querySelectorAll('#map .node').length === 100 && document.querySelectorAll('#map .wire').length === 1344").await;
        page.until("document.querySelectorAll('#map .pause.circle').length === 4")
            .await;
        // Text is never markup, whatever its source.
        page.run(&format!("pick('leaf{LEAVES}')")).await;
        page.until("document.querySelector('#one-title').innerText.includes('<img src=x')")
            .await;
        assert_eq!(
            page.run("return document.querySelectorAll('img').length")
                .await,
            json!(0)
        );
        page.run("pick(null)").await;
        look::pictures(page, "hundred").await;
        look::nothing_moves(page).await;
        assert_eq!(page.console().await, Vec::<String>::new());
    });
    if look::is_measured() {
        measure(namespace.name(), process.id());
    }
    process.check().unwrap();
    process.end(Duration::from_secs(10)).unwrap();
}

/// Prints the page's cost without viewers, and with several.
fn measure(namespace: &str, pid: u32) {
    let used = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<u64> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|field| field.parse().unwrap())
            .collect();
        // Ticks of 10 ms.
        Duration::from_millis(10 * (fields[0] + fields[1]))
    };
    let over = |what: &str| {
        let (before, span) = (used(), Duration::from_secs(20));
        std::thread::sleep(span);
        let part = (used() - before).as_secs_f64() / span.as_secs_f64();
        println!("{what}: {:.1} % of a core", 100.0 * part);
    };
    over("nobody looks");
    let mut viewers: Vec<_> = (0..VIEWERS)
        .map(|_| {
            let mut command = weir_lab::lab::process::inside(namespace, Path::new("curl"));
            command
                .args(["-sN", &format!("{PAGE}events")])
                .stdout(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let readers: Vec<_> = viewers
        .iter_mut()
        .map(|viewer| {
            let mut body = viewer.stdout.take().unwrap();
            std::thread::spawn(move || {
                let (mut total, mut buffer) = (0, vec![0; 1 << 16]);
                while let Ok(length @ 1..) = body.read(&mut buffer) {
                    total += length;
                }
                total
            })
        })
        .collect();
    over(&format!("{VIEWERS} viewers"));
    for viewer in &mut viewers {
        viewer.kill().unwrap();
        viewer.wait().unwrap();
    }
    let bytes: usize = readers
        .into_iter()
        .map(|reader| reader.join().unwrap())
        .sum();
    println!("{} bytes for each viewer and second", bytes / VIEWERS / 20);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    println!(
        "{}",
        status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap()
    );
}
