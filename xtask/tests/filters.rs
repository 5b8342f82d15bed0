//! The filters of `.config/nextest.toml` name tests. One that matches nothing would silently move a test to another tier.

use std::collections::BTreeSet;
use std::path::Path;

use cargo_metadata::MetadataCommand;

/// Adds the names of the tests below `directory`; a file's module is part of their names.
fn add_tests(directory: &Path, module: &str, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let inside = match stem {
            "mod" | "main" | "lib" => module.to_owned(),
            _ => format!("{module}{stem}::"),
        };
        if path.is_dir() {
            add_tests(&path, &inside, names);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            for (_, after) in text
                .match_indices("#[test]")
                .map(|(at, _)| text.split_at(at))
            {
                let name = after
                    .split_once("fn ")
                    .and_then(|(_, it)| it.split_once('('));
                names.insert(format!("{inside}{}", name.unwrap().0));
            }
        }
    }
}

/// Returns the arguments of all `word(…)` in `filters`.
fn arguments<'a>(filters: &'a str, word: &str) -> Vec<&'a str> {
    let begin = format!("{word}(");
    let mut found = Vec::new();
    for (at, _) in filters.match_indices(&begin) {
        let mut open = 1;
        let rest = &filters[at + begin.len()..];
        let end = rest.find(|letter| {
            open += i32::from(letter == '(') - i32::from(letter == ')');
            open == 0
        });
        found.push(&rest[..end.unwrap()]);
    }
    found
}

/// Expands `/^a::(b|c)/` to the beginnings of names that it matches. A plain word may be anywhere in a name.
fn beginnings(pattern: &str) -> Option<Vec<String>> {
    let pattern = pattern.strip_prefix("/^")?.strip_suffix('/').unwrap();
    let Some((before, rest)) = pattern.split_once('(') else {
        return Some(vec![pattern.to_owned()]);
    };
    let (words, after) = rest.split_once(')').unwrap();
    let words = words
        .split('|')
        .map(|word| format!("{before}{word}{after}"));
    Some(words.collect())
}

#[test]
fn every_name_in_the_filters_matches_a_test() {
    let metadata = MetadataCommand::new().no_deps().exec().unwrap();
    let root = metadata.workspace_root.as_std_path();
    let filters = std::fs::read_to_string(root.join(".config/nextest.toml")).unwrap();
    let mut names = BTreeSet::new();
    for package in metadata.workspace_packages() {
        let home = package.manifest_path.parent().unwrap().as_std_path();
        add_tests(&home.join("tests"), "", &mut names);
        add_tests(&home.join("src"), "", &mut names);
    }
    assert!(names.contains("filters::every_name_in_the_filters_matches_a_test"));
    let mut left = Vec::new();
    for pattern in arguments(&filters, "test") {
        match beginnings(pattern) {
            Some(all) => left.extend(
                all.into_iter()
                    .filter(|begin| !names.iter().any(|name| name.starts_with(begin))),
            ),
            None if names.iter().any(|name| name.contains(pattern)) => {}
            None => left.push(pattern.to_owned()),
        }
    }
    for package in arguments(&filters, "package") {
        if !metadata
            .packages
            .iter()
            .any(|it| it.name.as_str() == package)
        {
            left.push(package.to_owned());
        }
    }
    assert!(left.is_empty(), "no test has these names: {left:?}");
}

#[test]
fn patterns_are_read_as_nextest_reads_them() {
    let filters = "not test(word) or (test(/^(a|b)::/) and package(p)) or test(/^c::d/)";
    assert_eq!(
        arguments(filters, "test"),
        ["word", "/^(a|b)::/", "/^c::d/"]
    );
    assert_eq!(arguments(filters, "package"), ["p"]);
    assert_eq!(beginnings("/^(a|b)::/").unwrap(), ["a::", "b::"]);
    assert_eq!(beginnings("/^c::(d|e)/").unwrap(), ["c::d", "c::e"]);
    assert_eq!(beginnings("word"), None);
}
