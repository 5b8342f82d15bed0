//! Runs the program.
#![allow(dead_code)] // each test file uses its own part

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Result of a finished run of the program.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

pub fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-plan"));
    let output = command.args(arguments).output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Creates a file in a directory that is removed with the returned guard.
pub fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

pub fn text_of(path: &Path) -> String {
    path.display().to_string()
}
