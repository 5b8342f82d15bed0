//! Only a package with a build script has build dependencies, whose features are unified here as well.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
