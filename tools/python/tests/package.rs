//! The package as Python finds it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Name of the library in this build.
const BUILT: &str = "libweir_python.so";

pub fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let above = package.ancestors().nth(2);
    above.expect("tools/python is in it").to_owned()
}

/// Returns Python with the packages of tests/e2e/python/requirements.txt. `None` if the Python Package Index was not reached:
/// `what` is then reported as missing, as in `cargo xtask setup`. Without a setup this is an error.
pub fn packages(what: &str) -> Option<PathBuf> {
    let environment = repository().join("target/python");
    if environment.join("not-reached").exists() {
        eprintln!("NOT DONE: {what} could not be installed, see `cargo xtask setup`");
        return None;
    }
    let python = environment.join("bin/python");
    assert!(
        python.exists(),
        "{} is missing: `cargo xtask setup` makes it",
        python.display()
    );
    Some(python)
}

/// A folder with the package.
pub struct Package(TempDir);

impl Package {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("weir");
        fs::create_dir(&to).unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/weir");
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
            }
        }
        // The test is target/debug/deps/all-….
        let test = std::env::current_exe().unwrap();
        let library = test.with_file_name(BUILT);
        fs::copy(&library, to.join("_weir.abi3.so"))
            .unwrap_or_else(|error| panic!("{}: {error}", library.display()));
        Self(folder)
    }

    /// Runs a script of this folder in the root of the repository; `input` is its standard input.
    pub fn run(&self, python: &Path, script: &str, input: &str) {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let child = Command::new(python)
            .args(["-W", "error", "-B"])
            .arg(scripts.join(script))
            .env("PYTHONPATH", self.0.path())
            .current_dir(repository())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("python3 is missing: `cargo xtask setup` installs it");
        let mut pipe = child.stdin.take().unwrap();
        // A script that needs none may have ended.
        let _ = pipe.write_all(input.as_bytes());
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{script}: {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
