//! Definitions of all metrics, and the Prometheus rules and Grafana dashboards generated from them.
//!
//! Expressions refer to metrics by the constants of [`definitions`]. Renaming a metric therefore renames it in every
//! rule and on every dashboard, and a rule with a removed metric does not compile. [`files`] returns the generated
//! files.
//!
//! Design: docs/src/internals/design/api.md.
#![forbid(unsafe_code)]

pub mod book;
pub mod dashboards;
pub mod definitions;
pub mod promql;
pub mod rules;

/// Address of the book's pages in an installation, for links from alerts.
pub const BOOK: &str = "file:///usr/share/doc/weir/book";

/// Every generated file: its path below the repository's root, and its text. `book` is the address of the book's pages,
/// without a trailing slash.
pub fn files(book: &str) -> Vec<(String, String)> {
    let rules = (
        "packaging/prometheus/weir.rules.yml".to_owned(),
        rules::to_yaml(book),
    );
    let dashboards = dashboards::all().into_iter().map(|dashboard| {
        let path = format!("packaging/grafana/{}.json", dashboard.uid);
        (path, dashboard.to_json(book))
    });
    std::iter::once(rules).chain(dashboards).collect()
}
