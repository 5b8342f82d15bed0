//! A package without a build script has no build dependencies, whose features are unified here too.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
