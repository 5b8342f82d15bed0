//! The layout of the repository: few folders in the root, dependencies that run down the floors of ARCHITECTURE.md,
//! libraries that are built once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

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

/// Returns the floor of each package, by its folder, from rows such as ``| 2 | `crates/api/` | …``.
fn floors() -> BTreeMap<String, usize> {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, table) = page.split_once("\n| floor | folder |").unwrap();
    let mut floors = BTreeMap::new();
    for row in table.lines().skip(2).take_while(|row| row.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for folder in cells[2].split('`').skip(1).step_by(2) {
            let floor = cells[1].parse().unwrap();
            let before = floors.insert(folder.trim_end_matches('/').to_owned(), floor);
            assert_eq!(before, None, "{folder} is in two rows");
        }
    }
    floors
}

#[test]
fn dependencies_run_down_the_floors() {
    let drawn = floors();
    let metadata = metadata();
    let packages = metadata.workspace_packages();
    let folder = |package: &Package| {
        let folder = package.manifest_path.parent().unwrap();
        let folder = folder.strip_prefix(&metadata.workspace_root).unwrap();
        folder.to_string()
    };
    let folders: BTreeSet<String> = packages.iter().map(|package| folder(package)).collect();
    assert_eq!(
        drawn.keys().cloned().collect::<BTreeSet<_>>(),
        folders,
        "folders in ARCHITECTURE.md and packages"
    );
    let floors: BTreeMap<&str, usize> = packages
        .iter()
        .map(|package| (package.name.as_str(), drawn[&folder(package)]))
        .collect();
    for package in packages {
        let floor = floors[package.name.as_str()];
        for dependency in &package.dependencies {
            let is_of_tests = dependency.kind == DependencyKind::Development;
            if let (Some(below), false) = (floors.get(dependency.name.as_str()), is_of_tests) {
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

/// Dependencies of a build without tests.
const PROGRAMS: &str = "normal,build";

/// Returns the libraries with their features in a build of these packages: `edges` are the kinds of dependencies.
fn features(edges: &str, packages: &[&str]) -> BTreeSet<String> {
    let mut arguments = vec!["tree", "--locked", "--offline", "--edges", edges];
    arguments.extend(["--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]"]);
    arguments.extend(packages);
    let tree = output("cargo", &arguments);
    let one = |line: &str| {
        let words = line.split(' ').filter(|word| !word.starts_with('('));
        words.collect::<Vec<_>>().join(" ")
    };
    tree.lines().map(one).collect()
}

/// Tests use the libraries that programs have: nothing is built twice, and what is tested is what is installed.
#[test]
fn tests_build_no_library_again() {
    let programs = features(PROGRAMS, &["--workspace"]);
    let tests = features("normal,build,dev", &["--workspace"]);
    let again: Vec<&String> = programs.difference(&tests).collect();
    assert!(
        again.is_empty(),
        "programs have these libraries with fewer features than tests; add those to crates/features/Cargo.toml: {again:#?}"
    );
}

#[test]
fn no_program_builds_a_library_again() {
    let metadata = metadata();
    let all = features(PROGRAMS, &["--workspace"]);
    let programs = metadata.workspace_packages().into_iter().filter(|package| {
        let mut targets = package.targets.iter();
        targets.any(|target| target.is_bin())
    });
    for program in programs {
        let own = features(PROGRAMS, &["--package", program.name.as_str()]);
        let again: Vec<&String> = own.difference(&all).collect();
        assert!(
            again.is_empty(),
            "{} has these libraries with fewer features than the workspace; add those to crates/features/Cargo.toml: {again:#?}",
            program.name
        );
    }
}
