//! The commands that replace this process with a program, or run one.

use std::ffi::OsString;

use anyhow::Result;

use crate::{build, root, setup, BenchArguments, DemoArguments, LabArguments};

/// Builds and shows the demo.
pub fn demo(demo: DemoArguments) -> Result<()> {
    root::require("cargo xtask demo")?;
    setup::run(demo.setup.no_install, setup::Purpose::Lab)?;
    let binaries = build::release()?;
    let root = build::root();
    let mut arguments: Vec<OsString> = vec!["demo".into()];
    let scenario = if demo.all { "ring4-ecmp" } else { "ring4" };
    option(
        &mut arguments,
        "--scenario",
        Some(root.join("scenarios").join(format!("{scenario}.toml"))),
    );
    if demo.all {
        arguments.push("--all".into());
    }
    let drawing = root.join("target/demo").join(format!("{scenario}.svg"));
    let svg = demo.svg.unwrap_or(drawing);
    option(&mut arguments, "--svg", Some(svg));
    option(&mut arguments, "--json", demo.json);
    option(
        &mut arguments,
        "--duration",
        demo.duration.map(|s| format!("{s}s")),
    );
    Err(build::become_lab(&binaries, &arguments))
}

/// Runs one scenario file in namespaces.
pub fn lab(lab: LabArguments) -> Result<()> {
    root::require("cargo xtask lab")?;
    setup::run(lab.setup.no_install, setup::Purpose::Lab)?;
    let binaries = build::release()?;
    let mut arguments: Vec<OsString> = vec!["run".into(), lab.file.into()];
    for change in lab.overrides {
        option(&mut arguments, "--set", Some(change));
    }
    option(&mut arguments, "--json", lab.json);
    option(&mut arguments, "--svg", lab.svg);
    if lab.keep {
        arguments.push("--keep".into());
    }
    Err(build::become_lab(&binaries, &arguments))
}

/// Runs the selected measurements.
pub fn bench(bench: BenchArguments) -> Result<()> {
    if bench.sim {
        const ROUNDS: u32 = 5;
        return build::bench_simulator(bench.rounds.unwrap_or(ROUNDS), bench.json.as_deref());
    }
    let by_daemon = [
        (bench.wire, "wire"),
        (bench.tcp, "tcp"),
        (bench.idle, "idle"),
    ];
    if let Some((_, name)) = by_daemon.into_iter().find(|(is_asked, _)| *is_asked) {
        return bench_switches(name, bench);
    }
    if bench.core {
        return build::bench_core();
    }
    if bench.instructions {
        let program = build::instructions()?;
        let command = if bench.accept { "accept" } else { "check" };
        return Err(build::replace_by(&program, &[command.into()]));
    }
    build::bench()
}

/// Runs the measurement of `weir-bench` with this name.
fn bench_switches(name: &str, bench: BenchArguments) -> Result<()> {
    root::require(&format!("cargo xtask bench --{name}"))?;
    setup::run(false, setup::Purpose::Lab)?;
    let program = build::wire_bench()?;
    let mut arguments: Vec<OsString> = vec![name.into()];
    if bench.quick {
        arguments.push("--quick".into());
    }
    option(&mut arguments, "--json", bench.json);
    option(&mut arguments, "--svg", bench.svg);
    let rounds = bench.rounds.map(|count| count.to_string());
    option(&mut arguments, "--rounds", rounds);
    arguments.extend(bench.arguments);
    Err(build::replace_by(&program, &arguments))
}

fn option(arguments: &mut Vec<OsString>, name: &str, value: Option<impl Into<OsString>>) {
    if let Some(value) = value {
        arguments.push(name.into());
        arguments.push(value.into());
    }
}
