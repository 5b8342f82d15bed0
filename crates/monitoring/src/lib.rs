//! Definitions of all metrics, and the Prometheus rules and Grafana dashboards generated from them.
//!
//! Expressions name metrics by the constants of [`definitions`]. A metric that is renamed is therefore renamed in every rule
//! and on every dashboard, and a rule with a removed metric does not compile. [`files`] returns the generated files.
//!
//! Design: docs/src/internals/design/api.md.
#![forbid(unsafe_code)]

pub mod book;
pub mod dashboards;
pub mod definitions;
pub mod promql;
pub mod rules;

/// Where the book's pages are once Weir is installed; the alerts' runbooks are there.
pub const BOOK: &str = "file:///usr/share/doc/weir/book";

/// Every generated file: its path below the repository's root, and its text. `book` is the address of the
/// book's pages, without a slash at its end.
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
