//! The page that explains every key.

use std::path::Path;

use weir_config::daemon::{settings, KEYS};
use weir_config::settings::Setting;

/// The rows of settings that are declared with their meaning. `WEIR_WRITE=1` writes them.
#[test]
fn the_reference_has_the_rows_of_the_declarations() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/src/reference/configuration.md"
    );
    let page = std::fs::read_to_string(path).unwrap();
    let mut renewed = page.clone();
    for (table, settings) in settings() {
        let sections = [format!("## `[{table}]`"), format!("## `[[{table}]]`")];
        let section = sections.iter().find_map(|section| renewed.find(section));
        let section = section.unwrap_or_else(|| panic!("no section of {table}"));
        let line = "|---|";
        let head = section + renewed[section..].find(line).unwrap();
        let begin = head + renewed[head..].find('\n').unwrap() + 1;
        // The last table ends with the page.
        let rows = renewed[begin..].find("\n\n").map(|length| length + 1);
        let end = rows.map_or(renewed.len(), |length| begin + length);
        renewed.replace_range(begin..end, &Setting::rows(&settings));
    }
    if std::env::var_os("WEIR_WRITE").is_some() {
        std::fs::write(path, &renewed).unwrap();
        return;
    }
    assert!(
        page == renewed,
        "WEIR_WRITE=1 cargo test -p weir-config --test daemon the_reference writes the rows anew"
    );
}

#[test]
fn the_reference_names_every_key() {
    let page = include_str!("../../../docs/src/reference/configuration.md");
    for (table, keys) in KEYS {
        for key in *keys {
            assert!(
                page.contains(&format!("`{key}`")),
                "[{table}] {key} is not documented"
            );
        }
    }
}

/// The tables of drivers. `WEIR_WRITE=1` writes them.
#[test]
fn the_page_of_drivers_has_the_facts_of_the_table() {
    use weir_config::drivers::{report_rows, rows};
    check_tables("drivers.md", &[rows(), report_rows()]);
}

/// The tables of kernels. `WEIR_WRITE=1` writes them.
#[test]
fn the_page_of_kernels_has_the_facts_of_the_tables() {
    use weir_config::kernels::{broken_rows, feature_rows};
    check_tables("kernels.md", &[feature_rows(), broken_rows()]);
}

/// Checks the first tables of a page of the reference against their rows, or writes them.
fn check_tables(page: &str, tables: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs/src/reference")
        .join(page);
    let found = std::fs::read_to_string(&path).unwrap();
    let mut renewed = found.clone();
    let mut from = 0;
    for rows in tables {
        let head = renewed[from..].find("\n|---|").unwrap() + from + 1;
        let begin = head + renewed[head..].find('\n').unwrap() + 1;
        let end = renewed[head..].find("\n\n");
        let end = end.map_or(renewed.len(), |end| head + end + 1);
        renewed.replace_range(begin..end, rows);
        from = begin + rows.len();
    }
    if std::env::var_os("WEIR_WRITE").is_some() {
        std::fs::write(path, &renewed).unwrap();
        return;
    }
    assert!(
        found == renewed,
        "WEIR_WRITE=1 cargo test -p weir-config --test daemon the_page_of_{} writes the rows",
        page.trim_end_matches(".md")
    );
}
