//! Integration tests of a package are modules of one executable. A file missing in its `tests/main.rs` would silently not be
//! compiled.

use std::path::Path;

use cargo_metadata::{MetadataCommand, Package};

/// Returns files and folders of the package's `tests` that neither belong to a target nor are named in `tests/main.rs`.
fn not_compiled(package: &Package) -> Vec<String> {
    let tests = package.manifest_path.with_file_name("tests");
    let Ok(main) = std::fs::read_to_string(tests.join("main.rs")) else {
        return Vec::new();
    };
    let begins_at = |path: &Path| {
        package
            .targets
            .iter()
            .any(|target| target.src_path.as_std_path() == path)
    };
    let mut left_out = Vec::new();
    for entry in std::fs::read_dir(&tests).unwrap() {
        let path = entry.unwrap().path();
        let is_module =
            path.extension().is_some_and(|it| it == "rs") || path.join("mod.rs").exists();
        let is_program = begins_at(&path) || begins_at(&path.join("main.rs"));
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if is_module && !is_program && !main.contains(&format!("mod {name};")) {
            left_out.push(format!("{}: {name}", package.name));
        }
    }
    left_out
}

#[test]
fn every_file_of_tests_is_compiled() {
    let metadata = MetadataCommand::new().no_deps().exec().unwrap();
    let packages = metadata.workspace_packages();
    let one_executable = |package: &&&Package| {
        package
            .targets
            .iter()
            .any(|target| target.src_path.ends_with("tests/main.rs"))
    };
    assert!(packages.iter().filter(one_executable).count() > 10);
    let left_out: Vec<String> = packages.into_iter().flat_map(not_compiled).collect();
    assert!(left_out.is_empty(), "no `mod` names them: {left_out:?}");
}
