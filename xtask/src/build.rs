//! Builds and runs the lab, the benchmarks and other programs.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Error, Result};
use cargo_metadata::Message;

/// Programs to install.
pub const PROGRAMS: [&str; 8] = [
    "weir-switchd",
    "weir-endpoint",
    "switchctl",
    "weir-plan",
    "weir-host",
    "weir-page",
    "weir-sim",
    "weir-lab",
];

pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// Returns the cargo that runs xtask.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds the switch, the lab and its endpoint, optimised; returns their directory.
pub fn release() -> Result<PathBuf> {
    build(&["weir-switchd", "weir-lab", "weir-endpoint"])?;
    Ok(target_directory().join("release"))
}

/// Builds the switch, the lab, its endpoint, `switchctl` and `weir-host`, optimised; returns their directory.
pub fn soak() -> Result<PathBuf> {
    build(&[
        "weir-switchd",
        "weir-lab",
        "weir-endpoint",
        "switchctl",
        "weir-host",
    ])?;
    Ok(target_directory().join("release"))
}

/// Builds all programs as the tests have them, so that nothing is compiled only for guests; returns their directory.
pub fn of_tests() -> Result<PathBuf> {
    run_build(&["--workspace", "--bins"])?;
    Ok(target_directory().join("debug"))
}

/// Builds the program that loads every form of the XDP program, which `compiler` compiles, below `target`; returns its path.
pub fn forms(compiler: &str, target: &Path) -> Result<PathBuf> {
    let status = cargo()
        .args([
            "build",
            "--release",
            "--package",
            "weir-ebpf",
            "--example",
            "forms",
        ])
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .env("WEIR_CLANG", compiler)
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("the build with {compiler} failed: see above");
    }
    Ok(target.join("release/examples/forms"))
}

/// Builds and runs the core's benchmark.
pub fn bench() -> Result<()> {
    run_bench("weir-core", "cost_of_levels", &[])
}

/// Builds and runs the core's benchmark of many cases, then the one with one and two owners.
pub fn bench_core() -> Result<()> {
    run_bench("weir-core-bench", "frame_cost", &[])?;
    run_bench("weir-core-bench", "owners", &[])
}

/// Builds the counter of the core's instructions, optimised; returns its directory.
pub fn instructions() -> Result<PathBuf> {
    build(&["weir-instructions"])?;
    Ok(target_directory().join("release/weir-instructions"))
}

/// Builds and runs the simulator's benchmark: each network `rounds` times. Writes all measurements to `json`.
///
/// # Errors
///
/// When it does not compile or fails, or the file cannot be written.
pub fn bench_simulator(rounds: u32, json: Option<&Path>) -> Result<()> {
    let mut arguments: Vec<OsString> = vec!["table".into(), "--rounds".into()];
    arguments.push(rounds.to_string().into());
    if let Some(json) = json {
        // Cargo starts it in the package's directory.
        arguments.push("--json".into());
        arguments.push(std::path::absolute(json)?.into());
    }
    run_bench("weir-sim", "scale", &arguments)
}

fn run_bench(package: &str, bench: &str, arguments: &[OsString]) -> Result<()> {
    let status = cargo()
        .args(["bench", "--package", package, "--bench", bench])
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .arg("--")
        .args(arguments)
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("the benchmark failed: see above");
    }
    Ok(())
}

/// Builds the simulator, optimised; returns its directory.
pub fn simulator() -> Result<PathBuf> {
    build(&["weir-sim"])?;
    Ok(target_directory().join("release/weir-sim"))
}

/// Builds the explorer, optimised; returns its directory.
pub fn explorer() -> Result<PathBuf> {
    run_build(&["--release", "--package", EXPLORER])?;
    Ok(target_directory().join("release/weir-explore"))
}

/// Builds the daemon and the wire-to-wire benchmark, optimised; returns the latter's directory.
pub fn wire_bench() -> Result<PathBuf> {
    build(&["weir-switchd", "weir-bench"])?;
    Ok(target_directory().join("release/weir-bench"))
}

/// Builds the daemon's test `confined`, whose process drops the same privileges as the daemon; returns its executable.
///
/// # Errors
///
/// When it does not compile.
pub fn confined() -> Result<PathBuf> {
    let output = cargo()
        .args([
            "test",
            "--no-run",
            "--message-format",
            "json-render-diagnostics",
        ])
        .args(["--package", "weir-switchd", "--test", "confined"])
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    if !output.status.success() {
        bail!("the build failed: see above");
    }
    let messages = Message::parse_stream(&output.stdout[..]);
    let executable = messages
        .filter_map(Result::ok)
        .find_map(|message| match message {
            Message::CompilerArtifact(artifact) if artifact.target.name == "confined" => {
                artifact.executable
            }
            _ => None,
        });
    executable
        .map(Into::into)
        .context("cargo names no executable of the test")
}

/// It has the core's test harness built in, which no other program should have.
pub const EXPLORER: &str = "weir-explore";

/// Builds optimised programs. Selects all packages, so that every build has the same features and recompiles no dependency.
fn build(programs: &[&str]) -> Result<()> {
    let mut options = vec!["--release", "--workspace", "--exclude", EXPLORER];
    options.extend(programs.iter().flat_map(|program| ["--bin", program]));
    run_build(&options)
}

fn run_build(options: &[&str]) -> Result<()> {
    let status = cargo()
        .arg("build")
        .args(options)
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("the build failed: see above");
    }
    Ok(())
}

/// Replaces this process with the lab, which then receives signals and sets the exit status. Returns only on failure.
pub fn become_lab(binaries: &Path, arguments: &[OsString]) -> Error {
    replace_by(&binaries.join("weir-lab"), arguments)
}

/// Replaces this process with the mutation tests. Returns only on failure.
pub fn become_mutants(arguments: &[OsString]) -> Error {
    let mut run = cargo();
    run.args(["run", "--release", "--manifest-path"]);
    run.arg(root().join("tests/mutants/Cargo.toml")).arg("--");
    Error::new(run.args(arguments).exec()).context("starting cargo")
}

/// Replaces this process with `program`. Returns only on failure.
pub fn replace_by(program: &Path, arguments: &[OsString]) -> Error {
    let error = Command::new(program).args(arguments).exec();
    Error::new(error).context(format!("starting {}", program.display()))
}

pub fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
