//! Every page of the book is in its summary, and every link has a target. Does not need mdBook.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use weir_tests::book::{pages, repository, Page};

const BOOK: &str = "docs/src";
const SUMMARY: &str = "docs/src/SUMMARY.md";

#[test]
fn every_page_is_in_the_summary_once() {
    let pages = pages();
    let summary = pages.iter().find(|page| page.path == Path::new(SUMMARY));
    let links = &summary.expect("there is one").links;
    let listed: BTreeSet<PathBuf> = links
        .iter()
        .map(|(_, link)| Path::new(BOOK).join(link))
        .collect();
    assert_eq!(listed.len(), links.len(), "a page is listed twice");
    let there: BTreeSet<PathBuf> = pages
        .iter()
        .map(|page| page.path.clone())
        .filter(|path| path.starts_with(BOOK) && path != Path::new(SUMMARY))
        .collect();
    assert_eq!(listed, there);
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let problems: Vec<String> = pages
        .iter()
        .flat_map(|page| {
            let broken = page.links.iter().filter_map(|(line, link)| {
                let problem = look(&pages, page, link).err()?;
                Some(format!("{}:{line}: {link}: {problem}", page.path.display()))
            });
            broken.collect::<Vec<_>>()
        })
        .collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn every_threat_names_its_test() {
    let says_none = |cells: &[&str]| cells.last().is_some_and(|it| it.starts_with("No test"));
    let threats = rows_with_tests("operations/threats.md", "shown by", |cells| {
        !says_none(cells)
    });
    assert!(threats > 10, "{threats}");
}

#[test]
fn every_case_of_sonics_that_has_passed_names_its_test() {
    let page = "experiments/sonic-cases.md";
    let has_passed = |cells: &[&str]| {
        cells
            .last()
            .is_some_and(|result| result.starts_with("passed"))
    };
    let passed = rows_with_tests(page, "our test", has_passed);
    assert!(passed > 30, "{passed}");
}

/// Checks that the cells in the column `heading` of the book's `page` name existing files and tests, in every row selected
/// by `meant`. Returns the number of such rows.
fn rows_with_tests(page: &str, heading: &str, meant: impl Fn(&[&str]) -> bool) -> usize {
    let path = repository().join(BOOK).join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let mut column = None;
    let mut rows = 0;
    for line in text.lines() {
        let Some(row) = line.strip_prefix("| ") else {
            continue;
        };
        let cells: Vec<&str> = row.trim_end_matches([' ', '|']).split(" | ").collect();
        if let Some(at) = cells.iter().position(|cell| *cell == heading) {
            column = Some(at);
        } else if meant(&cells) {
            assert_names_tests(cells[column.expect("a heading comes first")], row);
            rows += 1;
        }
    }
    rows
}

fn assert_names_tests(words: &str, row: &str) {
    let mut file = None;
    let mut tests = 0;
    for word in words.split('`').skip(1).step_by(2) {
        if word.ends_with(".rs") {
            let text = std::fs::read_to_string(repository().join(word));
            file = Some((word, text.unwrap_or_else(|error| panic!("{word}: {error}"))));
            continue;
        }
        let (name, text) = file.as_ref().expect("a file comes first");
        assert!(
            text.contains(&format!("fn {word}(")),
            "{name} has no {word}"
        );
        tests += 1;
    }
    assert!(tests > 0, "no test: {row}");
}

#[test]
fn every_picture_is_shown_somewhere() {
    let pages = pages();
    let shown: BTreeSet<PathBuf> = pages
        .iter()
        .flat_map(|page| page.links.iter().map(|(_, link)| resolved(page, link)))
        .collect();
    let mut pictures = Vec::new();
    let mut open = vec![PathBuf::from(BOOK)];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(repository().join(&directory)).unwrap() {
            let path = directory.join(entry.unwrap().file_name());
            if repository().join(&path).is_dir() {
                open.push(path);
            } else if path
                .extension()
                .is_some_and(|end| end == "svg" || end == "png")
            {
                pictures.push(path);
            }
        }
    }
    assert!(!pictures.is_empty());
    pictures.retain(|picture| !shown.contains(picture));
    assert!(pictures.is_empty(), "on no page: {pictures:?}");
}

/// Checks a link.
///
/// # Errors
///
/// The link is broken.
fn look(pages: &[Page], page: &Page, link: &str) -> Result<(), String> {
    if link.contains("://") {
        return Ok(());
    }
    let target = resolved(page, link);
    if page.path.starts_with(BOOK) && !target.starts_with(BOOK) {
        return Err("is not in the book: a rendered page has nothing there".into());
    }
    if !repository().join(&target).exists() {
        return Err(format!("there is no {}", target.display()));
    }
    let Some((_, anchor)) = link.split_once('#') else {
        return Ok(());
    };
    let named = pages.iter().find(|page| page.path == target);
    let named = named.ok_or("only pages have anchors")?;
    if named.anchors.iter().any(|there| there == anchor) {
        Ok(())
    } else {
        Err(format!("no such heading; there are {:?}", named.anchors))
    }
}

fn resolved(page: &Page, link: &str) -> PathBuf {
    let file = link.split('#').next().unwrap_or_default();
    if file.is_empty() {
        return page.path.clone();
    }
    let mut path = page.path.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}
