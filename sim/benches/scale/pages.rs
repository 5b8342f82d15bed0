//! Huge pages for what is measured, ours and others' alike.

use std::process::Command;

/// What the C library of GNU reads when a program starts.
const VARIABLE: &str = "GLIBC_TUNABLES";

/// What is measured has huge pages, unless whoever runs us has set the variable. A large network's state is read
/// here and there: with pages of 4 KiB, much of the time goes into finding where they are.
pub fn tunables() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| "glibc.malloc.hugetlb=1".into())
}

/// `program`, to be started so.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env(VARIABLE, tunables());
    command
}
