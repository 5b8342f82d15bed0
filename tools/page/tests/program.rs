//! The program's texts: completions, manual page, errors.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir-page"))
        .args(words)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn completions_and_a_manual_page_are_written() {
    for shell in ["bash", "zsh", "fish"] {
        let made = run(&["completions", shell]);
        assert!(made.status.success());
        assert!(text(&made.stdout).contains("prometheus-sd"), "{shell}");
    }
    let directory = tempfile::tempdir().unwrap();
    let made = run(&["man", directory.path().to_str().unwrap()]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let page = directory.path().join("weir-page.1");
    let lint = Command::new("mandoc")
        .args(["-T", "lint", "-W", "error"])
        .arg(&page)
        .output()
        .unwrap_or_else(|error| panic!("mandoc: {error}; `cargo xtask setup` installs it"));
    assert!(lint.status.success(), "{}", text(&lint.stdout));
    let page = std::fs::read_to_string(page).unwrap();
    for section in [
        "EXIT STATUS",
        "ENVIRONMENT",
        "FILES",
        "EXAMPLES",
        "SEE ALSO",
    ] {
        assert!(page.contains(section), "{section}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_remedy() {
    let empty = tempfile::tempdir().unwrap();
    let tokens = [0o600, 0o644].map(|mode| {
        let path = empty.path().join(format!("token-{mode:o}"));
        std::fs::write(&path, "0123456789abcdef").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let [token, exposed] = [&*tokens[0], &*tokens[1]];
    let empty = empty.path().to_str().unwrap();
    for (words, code, told) in [
        (
            vec!["--once", "--run-dir", empty],
            1,
            "name some by --switch or --switches",
        ),
        (
            vec!["--switch", "s1=http://h", "--listen", "192.0.2.1:80"],
            1,
            "add --unprotected",
        ),
        (vec!["--switch", "s1"], 1, "`s1` is not NAME=PLACE"),
        (
            vec!["--switches", "/nowhere.toml"],
            1,
            "/nowhere.toml: No such file",
        ),
        (
            vec!["--once", "--switch", "a=https://h", "--ca", "/nowhere.pem"],
            1,
            "by --ca",
        ),
        (
            vec![
                "--once",
                "--switch",
                "a=https://a",
                "--switch",
                "b=https://b",
                "--token-file",
                token,
            ],
            1,
            "--token-file is for one switch",
        ),
        (
            vec!["--once", "--switch", "a=https://a", "--token-file", exposed],
            1,
            "chmod 0600",
        ),
        (
            vec!["--interval", "1ms"],
            2,
            "is not between 200 ms and 1 min",
        ),
    ] {
        let output = run(&words);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {errors}");
        assert!(errors.contains(told), "{words:?}: {errors}");
    }
}

/// Checks the unit's exposure with systemd.
#[test]
fn the_unit_is_hardened() {
    let unit = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/systemd/weir-page.service"
    );
    let output = Command::new("systemd-analyze")
        .args([
            "security",
            "--offline=true",
            "--no-pager",
            "--threshold=25",
            unit,
        ])
        .output()
        .unwrap_or_else(|error| panic!("systemd-analyze: {error}"));
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}
