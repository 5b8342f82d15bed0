//! `switchctl plan`: replaces this process with `weir-plan`.

use std::env;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{anyhow, Error};
use serde::{Deserialize, Serialize};

const PROGRAM: &str = "weir-plan";

/// Executes the planner next to this program, or else the one on PATH. Returns only on failure.
pub fn become_planner(arguments: &[OsString], json: bool) -> Error {
    let program = program();
    let error = Command::new(&program)
        // Its usage and errors show the typed command.
        .arg0("switchctl plan")
        .args(json.then_some("--json"))
        .args(arguments)
        .exec();
    if error.kind() == ErrorKind::NotFound {
        return anyhow!(
            "`{PROGRAM}` is neither next to switchctl nor on PATH: install Weir's package whole, or \
             build it with `cargo build -p {PROGRAM}`"
        );
    }
    Error::new(error).context(program.display().to_string())
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Advice {
    about: String,
    pub class: String,
    /// The class's pool, if that has the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// The key of `[[class]]`, or of `[[pool]]`.
    pub key: String,
    /// The value in the file's units.
    pub value: String,
    pub why: String,
}

/// Returns the planner's advice against losses for a valid configuration; none without a planner.
pub fn advice(file: &Path) -> Vec<Advice> {
    of_losses(planned(file, Stdio::null()))
}

/// Returns the advice for the text of a configuration.
pub fn advice_of_text(text: &str) -> Vec<Advice> {
    of_losses(all_advice(text))
}

fn of_losses(advice: Option<Vec<Advice>>) -> Vec<Advice> {
    let mut advice = advice.unwrap_or_default();
    advice.retain(|advice| matches!(&*advice.about, "loss" | "deadlock"));
    advice
}

/// Returns all advice for the text of a valid configuration; `None` without a planner.
pub fn all_advice(text: &str) -> Option<Vec<Advice>> {
    // A separate thread writes the text, which may exceed the pipe's capacity.
    let (reading, mut writing) = std::io::pipe().ok()?;
    let text = text.to_owned();
    let writer = std::thread::spawn(move || writing.write_all(text.as_bytes()));
    let advice = planned(Path::new("/dev/stdin"), reading.into());
    // Fails if the planner does not read all of it, and then there is no advice either.
    let _ = writer.join();
    advice
}

fn planned(file: &Path, input: Stdio) -> Option<Vec<Advice>> {
    #[derive(Deserialize)]
    struct Plan {
        advice: Vec<Advice>,
    }
    let output = Command::new(program())
        .arg("--json")
        .arg(file)
        .stdin(input)
        .output();
    let plan = serde_json::from_slice::<Plan>(&output.ok()?.stdout);
    plan.ok().map(|plan| plan.advice)
}

fn program() -> PathBuf {
    let beside = env::current_exe().map(|program| program.with_file_name(PROGRAM));
    match beside {
        Ok(program) if program.is_file() => program,
        _ => PathBuf::from(PROGRAM),
    }
}
