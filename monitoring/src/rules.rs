//! Prometheus rules: what is worth recording, and what is worth waking someone for.
//!
//! Every alert compares one signal with one threshold: the signal is a recording rule, so that it can be drawn
//! and looked at while the alert does not fire, and so that it can be tested that it has data.

mod alerts;
mod recordings;

use std::fmt::Write as _;

pub use alerts::alerts;
pub use recordings::recordings;

/// How soon someone must look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// At once: frames are lost or stand still.
    Critical,
    /// Today.
    Warning,
}

impl Severity {
    /// The value of the label `severity`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}

/// An expression that Prometheus keeps the result of.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The name of its series, `weir:WHAT:HOW`.
    pub name: &'static str,
    /// What it is.
    pub expression: String,
}

/// One alert.
#[derive(Clone, Debug)]
pub struct Alert {
    /// Its name; the section of the book's page about it is named so too.
    pub name: &'static str,
    /// The recording rule that it looks at.
    pub signal: &'static str,
    /// When it fires: a comparison.
    pub condition: &'static str,
    /// For how long the condition holds before it does.
    pub holds: &'static str,
    /// How soon someone must look.
    pub severity: Severity,
    /// What is the matter, in one line.
    pub summary: &'static str,
    /// What follows from it.
    pub description: &'static str,
}

impl Alert {
    /// The page and section of the book, below its address.
    pub fn runbook(&self) -> String {
        format!("operations/alerts.html#{}", self.name.to_lowercase())
    }
}

/// All rules in the format of Prometheus. `book` is the address of the book's pages.
pub fn to_yaml(book: &str) -> String {
    let mut out = String::from(
        "# Made by `cargo xtask dashboards` from monitoring/src/rules: changes here are lost.\n\
         groups:\n  - name: weir\n    rules:\n",
    );
    for rule in recordings() {
        let _ = writeln!(out, "      - record: {}", rule.name);
        let _ = writeln!(out, "        expr: {}", quoted(&rule.expression));
    }
    // In the same group, whose rules are evaluated in order: an alert sees what was recorded just before.
    for alert in alerts() {
        let runbook = format!("{book}/{}", alert.runbook());
        let expression = format!("{} {}", alert.signal, alert.condition);
        for (key, value) in [
            ("      - alert", alert.name.to_owned()),
            ("        expr", quoted(&expression)),
            ("        for", alert.holds.to_owned()),
            ("        labels", String::new()),
            ("          severity", alert.severity.name().to_owned()),
            ("        annotations", String::new()),
            ("          summary", quoted(alert.summary)),
            ("          description", quoted(alert.description)),
            ("          runbook_url", quoted(&runbook)),
        ] {
            let _ = writeln!(out, "{}", format!("{key}: {value}").trim_end());
        }
    }
    out
}

/// A string of YAML: those of JSON are.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
