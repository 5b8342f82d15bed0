//! The page that documents every key.

use weir_config::daemon::{settings, KEYS};
use weir_config::drivers::{self, kinds};
use weir_config::kernels;
use weir_config::settings::Setting;

/// The rows of declared settings. `WEIR_WRITE=1` writes them.
#[test]
fn the_reference_has_the_rows_of_the_declarations() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/src/reference/configuration.md"
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
        "WEIR_WRITE=1 cargo test -p weir-config daemon the_reference writes the rows again"
    );
}

#[test]
fn the_reference_names_every_key() {
    let page = include_str!("../../../../docs/src/reference/configuration.md");
    for (table, keys) in KEYS {
        for key in *keys {
            assert!(
                page.contains(&format!("`{key}`")),
                "[{table}] {key} is not documented"
            );
        }
    }
}

/// The tables of drivers and of kinds of devices. `WEIR_WRITE=1` writes them.
#[test]
fn the_pages_of_drivers_and_devices_have_the_facts_of_the_tables() {
    compare("drivers.md", "| driver |", &drivers::rows());
    compare("devices.md", "| kind |", &kinds::rows());
    compare("devices.md", "| device |", &kinds::master_rows());
    compare("drivers.md", "| driver | fault |", &drivers::report_rows());
}

/// The tables of kernels. `WEIR_WRITE=1` writes them.
#[test]
fn the_page_of_kernels_has_the_facts_of_the_tables() {
    compare("kernels.md", "| feature |", &kernels::feature_rows());
    compare("kernels.md", "| kernel |", &kernels::broken_rows());
}

/// Compares the rows of the table with this heading.
fn compare(page: &str, heading: &str, rows: &str) {
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/reference");
    let path = std::path::Path::new(pages).join(page);
    let page = std::fs::read_to_string(&path).unwrap();
    let table = page.find(heading).unwrap();
    let head = table + page[table..].find("\n|---|").unwrap() + 1;
    let begin = head + page[head..].find('\n').unwrap() + 1;
    let end = page[head..].find("\n\n");
    let end = end.map_or(page.len(), |end| head + end + 1);
    let mut renewed = page.clone();
    renewed.replace_range(begin..end, rows);
    if std::env::var_os("WEIR_WRITE").is_some() {
        std::fs::write(&path, &renewed).unwrap();
        return;
    }
    assert!(
        page == renewed,
        "WEIR_WRITE=1 cargo test -p weir-config daemon reference writes the rows again"
    );
}
