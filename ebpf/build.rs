//! Compiles the BPF programs with clang and generates their skeletons.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use libbpf_cargo::SkeletonBuilder;

const PROGRAMS: [(&str, &str); 3] = [
    ("src/bpf/weir_xdp.bpf.c", "weir_xdp.skel.rs"),
    ("src/bpf/redirect_losses.bpf.c", "redirect_losses.skel.rs"),
    ("src/bpf/freed.bpf.c", "freed.skel.rs"),
];
const DEVICES: &str = "src/bpf/devices.bpf.h";
const EXPRESS: &str = "src/bpf/express.bpf.h";
const LINES: &str = "src/bpf/lines.bpf.h";
const ROOM: &str = "src/bpf/room.bpf.h";
const SLOTS: &str = "src/bpf/slots.bpf.h";
const HEADER: &str = "../crates/abi/include/weir_abi.h";
const REMEDY: &str =
    "is clang installed? `apt-get install clang libclang-dev`, or `cargo xtask setup`";

/// Environment variable that selects another compiler than `clang`.
const COMPILER: &str = "WEIR_CLANG";

fn main() -> Result<()> {
    println!("cargo:rerun-if-env-changed={COMPILER}");
    println!("cargo:rerun-if-changed={DEVICES}");
    println!("cargo:rerun-if-changed={EXPRESS}");
    println!("cargo:rerun-if-changed={LINES}");
    println!("cargo:rerun-if-changed={ROOM}");
    println!("cargo:rerun-if-changed={SLOTS}");
    println!("cargo:rerun-if-changed={HEADER}");
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);

    let mut clang_args = vec![
        "-I../crates/abi/include".to_owned(),
        "-Wall".into(),
        "-Werror".into(),
        // Atomic operations that return a value: since Linux 5.12.
        "-mcpu=v3".into(),
        without_own_path()?,
    ];
    clang_args.extend(multiarch_include());
    for (program, skeleton) in PROGRAMS {
        println!("cargo:rerun-if-changed={program}");
        let mut skeleton_builder = SkeletonBuilder::new();
        if let Some(compiler) = env::var_os(COMPILER) {
            skeleton_builder.clang(PathBuf::from(compiler));
        }
        skeleton_builder
            .source(program)
            .clang_args(clang_args.clone())
            .build_and_generate(out.join(skeleton))
            .with_context(|| format!("compiling {program}: {REMEDY}"))?;
    }
    Ok(())
}

fn without_own_path() -> Result<String> {
    let here = env::var("CARGO_MANIFEST_DIR").context("cargo sets CARGO_MANIFEST_DIR")?;
    Ok(format!(
        "-ffile-prefix-map={here}=/weir/{}",
        env!("CARGO_PKG_NAME")
    ))
}

/// Debian and Ubuntu have `asm/types.h` in a separate directory, which `clang -target bpf` does not search.
fn multiarch_include() -> Option<String> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").ok()?;
    let path = format!("/usr/include/{arch}-linux-gnu");
    PathBuf::from(&path).is_dir().then(|| format!("-I{path}"))
}
