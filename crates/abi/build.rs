//! Generates the Rust side of the ABI from the C headers.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Each header, its generated items, and the output file.
const HEADERS: [(&str, &str, &str); 2] = [
    ("include/weir_abi.h", "weir_.*|WEIR_.*", "weir_abi.rs"),
    (
        "include/weir_host_abi.h",
        "weir_host_.*|WEIR_HOST_.*",
        "weir_host_abi.rs",
    ),
];

fn main() -> Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    HEADERS
        .iter()
        .try_for_each(|(header, items, to)| generate(header, items, &out.join(to)))
}

fn generate(header: &str, items: &str, to: &Path) -> Result<()> {
    println!("cargo:rerun-if-changed={header}");
    bindgen::Builder::default()
        .header(header)
        .allowlist_item(items)
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .derive_default(true)
        .layout_tests(true)
        .generate()
        .with_context(|| {
            format!("reading {header}: is clang installed? `apt-get install clang libclang-dev`, or `cargo xtask setup`")
        })?
        .write_to_file(to)
        .context("writing the bindings")
}
