//! The book and the API's own page have every path that the daemon answers, and no other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A path as the router has it, its parameters by the names of the book: `/v1/routes/DESTINATION`.
fn normal(path: &str) -> String {
    let parts = path.split('?').next().unwrap_or(path).split('/');
    let upper = |part: &str| match part.strip_prefix('{') {
        Some(name) => name.trim_end_matches('}').to_uppercase(),
        None => part.to_owned(),
    };
    parts.map(upper).collect::<Vec<_>>().join("/")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All paths that the sources of the API give the router, as string literals of their own.
fn served() -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for entry in std::fs::read_dir(repository().join("switchd/src/api")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for literal in text.split('"').filter(|text| text.starts_with("/v1/")) {
            // A prefix ends in a slash, and what tells of paths has spaces.
            if !literal.ends_with('/') && !literal.contains([' ', '\n']) {
                paths.insert(normal(literal));
            }
        }
    }
    assert!(paths.len() > 15, "{paths:?}");
    paths
}

/// All paths in the rows of tables of `file`.
fn documented(file: &str, row: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(repository().join(file)).unwrap();
    let rows = text.lines().filter(|line| line.starts_with(row));
    let words = rows.flat_map(|row| row.split([' ', '`']));
    words
        .filter(|word| word.starts_with("/v1/"))
        .map(normal)
        .collect()
}

#[test]
fn the_book_has_every_path() {
    assert_eq!(
        documented("docs/src/reference/switchctl.md", "| "),
        served()
    );
}

#[test]
fn so_has_the_page_of_the_types() {
    assert_eq!(documented("api/src/daemon/mod.rs", "//! |"), served());
}
