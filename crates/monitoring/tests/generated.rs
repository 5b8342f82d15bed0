//! The committed rules and dashboards match this source, and contain only existing names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_monitoring::promql::{is_defined, series, substituted};
use weir_monitoring::{dashboards, files, rules, BOOK};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_committed_files_are_current() {
    let mut names = BTreeSet::new();
    for (path, text) in files(BOOK) {
        assert!(
            read(&path) == text,
            "{path} is out of date: `cargo xtask dashboards` writes it"
        );
        names.insert(root().join(path));
    }
    for entry in std::fs::read_dir(root().join("packaging/grafana")).unwrap() {
        let path = entry.unwrap().path();
        assert!(names.contains(&path), "{} is from nowhere", path.display());
    }
}

#[test]
fn every_name_in_every_expression_is_defined() {
    let recorded: BTreeSet<&str> = rules::recordings().iter().map(|rule| rule.name).collect();
    assert_eq!(recorded.len(), rules::recordings().len(), "a name twice");
    for rule in rules::recordings() {
        let names = series(&rule.expression);
        assert!(!names.is_empty(), "{}", rule.name);
        for name in names {
            assert!(is_defined(&name), "{}: {name}", rule.name);
        }
    }
    for alert in rules::alerts() {
        assert!(recorded.contains(alert.signal), "{}", alert.name);
    }
    for dashboard in dashboards::all() {
        let variables = dashboard.variables.iter().map(|variable| &variable.series);
        let queries = dashboard.panels().flat_map(|panel| &panel.queries);
        let annotations = dashboard.annotations();
        let marks = annotations.iter().map(|mark| &mark.expression);
        let panels = queries.map(|(expression, _)| expression);
        for expression in panels.chain(variables).chain(marks) {
            let names = series(expression);
            assert!(!names.is_empty(), "{expression}");
            for name in names {
                assert!(is_defined(&name), "{}: {name}", dashboard.uid);
            }
            let left = substituted(expression, &dashboard.variable_names());
            assert!(!left.contains('$'), "an unknown variable: {left}");
        }
    }
}

#[test]
fn every_alert_has_its_section_and_its_test() {
    let page = read("docs/src/operations/alerts.md");
    let tests = read("packaging/prometheus/weir.rules.test.yml");
    let sections: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## Weir"))
        .collect();
    let alerts = rules::alerts();
    for alert in &alerts {
        let name = alert.name;
        let short = name.strip_prefix("Weir").expect(name);
        assert!(sections.contains(short), "no section {name}");
        assert!(
            tests.contains(&format!("- name: {name}\n")),
            "no test {name}"
        );
        assert_eq!(
            alert.runbook(),
            format!("operations/alerts.html#{}", name.to_lowercase())
        );
    }
    assert_eq!(
        sections.len(),
        alerts.len(),
        "a section of an alert that is not there"
    );
}

#[test]
fn promtool_accepts_the_rules_and_their_tests_pass() {
    for (what, file) in [("check", "weir.rules.yml"), ("test", "weir.rules.test.yml")] {
        let output = Command::new("promtool")
            .args([what, "rules", file])
            .current_dir(root().join("packaging/prometheus"))
            .output()
            .expect("promtool is missing: `cargo xtask setup` installs it");
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{what} {file}: {text}{errors}");
    }
}
