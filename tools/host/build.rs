//! Compiles the programs for the kernel, with a recent clang: references to packets need type tags, which older versions
//! silently omit. Without such a clang the program reports this when it attaches.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use libbpf_cargo::SkeletonBuilder;

const PROGRAM: &str = "src/bpf/weir_host.bpf.c";
const HEADERS: [&str; 3] = [
    "../../crates/abi/include/weir_host_abi.h",
    "src/bpf/classify.h",
    "src/bpf/kernel.h",
];
/// The first version known to support type tags.
const CLANG_MIN: u32 = 17;

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed={PROGRAM}");
    for header in HEADERS {
        println!("cargo:rerun-if-changed={header}");
    }
    println!("cargo:rerun-if-env-changed=WEIR_HOST_CLANG");
    println!("cargo:rerun-if-env-changed=PATH");
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    let object = out.join("weir_host.bpf.o");
    let Some(clang) = clang() else {
        println!(
            "cargo:warning=weir-host is built without its programs for the kernel, and cannot attach: it needs clang \
             {CLANG_MIN} or newer: apt-get install clang-19, or cargo xtask setup"
        );
        return std::fs::write(object, []).context("writing an empty object");
    };
    let mut arguments = vec![
        "-I../../crates/abi/include".to_owned(),
        "-Wall".into(),
        "-Werror".into(),
        "-mcpu=v3".into(),
        without_own_path()?,
    ];
    arguments.extend(multiarch_include());
    SkeletonBuilder::new()
        .source(PROGRAM)
        .obj(object)
        .clang(&clang)
        .clang_args(arguments)
        .build()
        .with_context(|| format!("compiling {PROGRAM} with {clang}"))
}

/// Makes the object independent of the place of compilation.
fn without_own_path() -> Result<String> {
    let here = env::var("CARGO_MANIFEST_DIR").context("cargo sets CARGO_MANIFEST_DIR")?;
    Ok(format!(
        "-ffile-prefix-map={here}=/weir/{}",
        env!("CARGO_PKG_NAME")
    ))
}

/// Returns the newest suitable clang.
fn clang() -> Option<String> {
    if let Ok(named) = env::var("WEIR_HOST_CLANG") {
        return Some(named);
    }
    let versioned = (CLANG_MIN..=24)
        .rev()
        .map(|version| format!("clang-{version}"));
    let mut known = versioned.chain(["clang".to_owned()]);
    known.find(|name| version(name).is_some_and(|version| version >= CLANG_MIN))
}

/// Returns the major version of a clang; `None` if it is missing.
fn version(name: &str) -> Option<u32> {
    let said = Command::new(name).arg("-dumpversion").output().ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    text.split('.').next()?.trim().parse().ok()
}

/// Debian and Ubuntu have `asm/types.h` in a separate directory, which `clang -target bpf` does not search.
fn multiarch_include() -> Option<String> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").ok()?;
    let path = format!("/usr/include/{arch}-linux-gnu");
    PathBuf::from(&path).is_dir().then(|| format!("-I{path}"))
}
