//! `switchctl plan`: `weir-plan` in the place of this process.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{anyhow, Error};

const PROGRAM: &str = "weir-plan";

/// Becomes the planner: the one beside this program, else the one on PATH. Returns only what went wrong.
pub fn become_planner(arguments: &[OsString], json: bool) -> Error {
    let beside = env::current_exe().map(|program| program.with_file_name(PROGRAM));
    let program = match beside {
        Ok(program) if program.is_file() => program,
        _ => PathBuf::from(PROGRAM),
    };
    let error = Command::new(&program)
        // Its usage and its errors say what was typed.
        .arg0("switchctl plan")
        .args(json.then_some("--json"))
        .args(arguments)
        .exec();
    if error.kind() == ErrorKind::NotFound {
        return anyhow!(
            "`{PROGRAM}` is neither beside switchctl nor on PATH: install Weir's package whole, or build it with \
             `cargo build -p {PROGRAM}`"
        );
    }
    Error::new(error).context(program.display().to_string())
}
