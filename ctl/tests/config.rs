//! `switchctl config check`.

mod support;

use serde_json::Value;
use support::{file, lines, run, text_of};

const GOOD: &str = r#"
name = "s1"

[metrics]
listen = "off"

[[class]]
name = "lossless"
priorities = [3]
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "3720KiB"

[[port]]
name = "left"
device = "eth1"
role = "fabric"
rate = "100Mbit"

[[port]]
name = "right"
device = "eth2"
role = "edge"
rate = "10Gbit"
"#;

#[test]
fn a_good_file_is_summed_up() {
    let (_guard, path) = file("s1.toml", GOOD);
    let run = run(&["config", "check", &text_of(&path)]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    // How many frames a configuration needs is the configuration's own affair.
    let (memory, rest): (Vec<&str>, Vec<&str>) = run
        .stdout
        .lines()
        .partition(|line| line.starts_with("packet memory"));
    assert!(
        memory.len() == 1
            && memory[0].contains(" MiB (")
            && memory[0].ends_with(" frames of 2KiB)"),
        "{memory:?}"
    );
    let expected = format!("|{}: valid\n", text_of(&path))
        + "
        |
        |switch         s1
        |run directory  /run/weir/s1
        |API            /run/weir/s1/api.sock
        |metrics        off
        |page           http://127.0.0.1:9465/
        |
        |port   device        role         rate
        |left   eth1 queue 0  fabric  100Mbit/s
        |right  eth2 queue 0  edge     10Gbit/s
        |
        |class     priorities  mode  buffers of each port
        |lossless  3           pfc   xoff 60KiB, xon 52KiB, headroom 3720KiB";
    assert_eq!(rest.join("\n") + "\n", lines(&expected));
}

#[test]
fn everything_wrong_is_named_with_its_line() {
    let bad = GOOD
        .replace("xoff = \"60KiB\"", "xof = \"60KiB\"")
        .replace("10Gbit", "10");
    let (_guard, path) = file("s1.toml", &bad);
    let path = text_of(&path);
    let run = run(&["config", "check", &path]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    for place in [":11: class.lossless.xof: ", ":25: port.right.rate: "] {
        let wanted = format!("{path}{place}");
        assert!(
            run.stderr.lines().any(|line| line.starts_with(&wanted)),
            "{wanted} in {}",
            run.stderr
        );
    }
}

#[test]
fn json_tells_the_same() {
    let (_guard, path) = file("s1.toml", GOOD);
    let run_good = run(&["--json", "config", "check", &text_of(&path)]);
    let good: Value = serde_json::from_str(&run_good.stdout).unwrap();
    assert_eq!((run_good.code, &good["good"]), (Some(0), &true.into()));
    let frames = good["umem_frames"].as_u64().unwrap();
    assert_eq!(good["umem_bytes"], frames * 2048);

    let (_guard, path) = file("s1.toml", "nonsense = 1\n");
    let run_bad = run(&["--json", "config", "check", &text_of(&path)]);
    let bad: Value = serde_json::from_str(&run_bad.stdout).unwrap();
    assert_eq!((run_bad.code, &bad["good"]), (Some(1), &false.into()));
    assert_eq!(bad["problems"][0]["line"], 1);
    assert_eq!(bad["problems"][0]["key"], "nonsense");
}

#[test]
fn a_missing_file_is_named() {
    let run = run(&["config", "check", "/no/such/file.toml"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.starts_with("/no/such/file.toml: "),
        "{}",
        run.stderr
    );
}
