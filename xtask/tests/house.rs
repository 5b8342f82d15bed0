//! The house: few folders in the root, dependencies that run down the floors of ARCHITECTURE.md, libraries that are built once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn metadata() -> Metadata {
    MetadataCommand::new().no_deps().exec().unwrap()
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{program} {arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_root_has_few_folders() {
    if !root().join(".git").exists() {
        println!("not a checkout: nothing to count");
        return;
    }
    let files = output("git", &["ls-files"]);
    let folders: BTreeSet<&str> = files
        .lines()
        .filter_map(|file| file.split_once('/'))
        .map(|(folder, _)| folder)
        .filter(|folder| !folder.starts_with('.'))
        .collect();
    assert!(folders.len() <= 12, "{folders:?}");
}

/// The number of each package's floor, from the lowest one on: lines such as `1. core abi` below the heading.
fn floors() -> BTreeMap<String, usize> {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, floors) = page.split_once("\n## Floors\n").unwrap();
    let (floors, _) = floors.split_once("\n## ").unwrap();
    let mut of = BTreeMap::new();
    for line in floors.lines() {
        let Some((number, packages)) = line.split_once(". ") else {
            continue;
        };
        let Ok(number) = number.parse() else { continue };
        for package in packages.split('`').skip(1).step_by(2) {
            let before = of.insert(package.to_owned(), number);
            assert_eq!(before, None, "{package} is on two floors");
        }
    }
    of
}

#[test]
fn dependencies_run_down_the_floors() {
    let floors = floors();
    let metadata = metadata();
    let packages = metadata.workspace_packages();
    let names: BTreeSet<&str> = packages.iter().map(|it| it.name.as_str()).collect();
    let drawn: BTreeSet<&str> = floors.keys().map(String::as_str).collect();
    assert_eq!(drawn, names, "packages on the floors of ARCHITECTURE.md");
    for package in packages {
        let floor = floors[package.name.as_str()];
        for dependency in &package.dependencies {
            let is_of_tests = dependency.kind == DependencyKind::Development;
            if let (Some(below), false) = (floors.get(&dependency.name), is_of_tests) {
                assert!(
                    *below < floor,
                    "{} on floor {floor} depends on {} on floor {below}",
                    package.name,
                    dependency.name
                );
            }
        }
    }
}

/// Libraries with their features, as a build of these packages has them.
fn features(packages: &[&str]) -> BTreeSet<String> {
    let mut arguments = vec!["tree", "--locked", "--offline", "--edges", "normal,build"];
    arguments.extend(["--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]"]);
    arguments.extend(packages);
    let tree = output("cargo", &arguments);
    let one = |line: &str| {
        let words = line.split(' ').filter(|word| !word.starts_with('('));
        words.collect::<Vec<_>>().join(" ")
    };
    tree.lines().map(one).collect()
}

#[test]
fn no_program_builds_a_library_again() {
    let metadata = metadata();
    let all = features(&["--workspace"]);
    let programs = metadata.workspace_packages().into_iter().filter(|package| {
        let mut targets = package.targets.iter();
        targets.any(|target| target.is_bin())
    });
    for program in programs {
        let own = features(&["--package", program.name.as_str()]);
        let again: Vec<&String> = own.difference(&all).collect();
        assert!(
            again.is_empty(),
            "{} has these libraries with fewer features than the workspace; add those to crates/features/Cargo.toml: {again:#?}",
            program.name
        );
    }
}
