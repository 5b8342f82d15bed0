//! Generates the Rust side of the ABI from the C header.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};

const HEADER: &str = "include/weir_abi.h";

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed={HEADER}");
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    bindgen::Builder::default()
        .header(HEADER)
        .allowlist_item("weir_.*|WEIR_.*")
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .derive_default(true)
        .layout_tests(true)
        .generate()
        .with_context(|| {
            format!("reading {HEADER}: is clang installed? `apt-get install clang libclang-dev`, or `cargo xtask setup`")
        })?
        .write_to_file(out.join("weir_abi.rs"))
        .context("writing the bindings")
}
