//! Compiles the XDP programs of the measuring hosts and of the bare forwarder, and generates their skeletons.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use libbpf_cargo::SkeletonBuilder;

const HEADER: &str = "src/bpf/probe.h";
const PROGRAMS: [&str; 2] = ["hosts", "redirect"];

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed={HEADER}");
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    let arch = env::var("CARGO_CFG_TARGET_ARCH").context("cargo sets CARGO_CFG_TARGET_ARCH")?;
    for program in PROGRAMS {
        let source = format!("src/bpf/{program}.bpf.c");
        println!("cargo:rerun-if-changed={source}");
        // asm/types.h has a separate directory only on Debian and Ubuntu.
        SkeletonBuilder::new()
            .source(&source)
            .clang_args([
                "-Wall".to_owned(),
                "-Werror".to_owned(),
                format!("-I/usr/include/{arch}-linux-gnu"),
            ])
            .build_and_generate(out.join(format!("{program}.skel.rs")))
            .with_context(|| {
                format!("compiling {source}: is clang installed? `cargo xtask setup`")
            })?;
    }
    Ok(())
}
