//! The daemon answers the paths that the book's commands use.

use std::path::Path;

use weir_api::routes::methods;

fn paths(page: &str) -> Vec<String> {
    let words = page.split([' ', '`', '\n', '"']);
    let paths = words.filter_map(|word| {
        let at = word.find("/v1/")?;
        let path = word[at..].split('?').next()?;
        Some(path.trim_end_matches(['.', ',', ':', ';', ')']).to_owned())
    });
    paths.collect()
}

#[test]
fn every_path_in_the_book_exists() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src");
    let mut count = 0;
    for page in [
        "reference/api.md",
        "reference/configuration.md",
        "reference/switchctl.md",
        "operations/audit.md",
        "operations/capture.md",
    ] {
        for path in paths(&std::fs::read_to_string(book.join(page)).unwrap()) {
            assert!(!methods(&path).is_empty(), "{page}: {path}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}
