//! Compiles the XDP program with clang, generates its skeleton, and generates the Rust side of the ABI
//! from the C header.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use libbpf_cargo::SkeletonBuilder;

const PROGRAM: &str = "src/bpf/weir_xdp.bpf.c";
const HEADER: &str = "include/weir_abi.h";
const REMEDY: &str =
    "is clang installed? `apt-get install clang libclang-dev`, or `cargo xtask setup`";

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed={PROGRAM}");
    println!("cargo:rerun-if-changed={HEADER}");
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);

    let mut clang_args = vec!["-Iinclude".to_owned(), "-Wall".into(), "-Werror".into()];
    clang_args.extend(multiarch_include());
    SkeletonBuilder::new()
        .source(PROGRAM)
        .clang_args(clang_args)
        .build_and_generate(out.join("weir_xdp.skel.rs"))
        .with_context(|| format!("compiling {PROGRAM}: {REMEDY}"))?;

    bindgen::Builder::default()
        .header(HEADER)
        .allowlist_item("weir_.*|WEIR_.*")
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .derive_default(true)
        .layout_tests(true)
        .generate()
        .with_context(|| format!("reading {HEADER}: {REMEDY}"))?
        .write_to_file(out.join("weir_abi.rs"))
        .context("writing the bindings")
}

/// `asm/types.h` is in a directory of its own on Debian and Ubuntu, which `clang -target bpf` does not
/// search.
fn multiarch_include() -> Option<String> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").ok()?;
    let path = format!("/usr/include/{arch}-linux-gnu");
    PathBuf::from(&path).is_dir().then(|| format!("-I{path}"))
}
