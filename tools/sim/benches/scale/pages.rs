//! Memory pages with which a program runs.

use std::ffi::OsStr;
use std::process::Command;

/// Accesses to a large network's state are scattered: with small pages, part of the time is spent on address translation.
/// Huge pages take more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// The system's default.
    Small,
    /// The allocator asks for huge pages.
    Huge,
}

impl Pages {
    /// Returns the command that starts `program` in this way. GNU's C library reads the variable from 2.35 on.
    pub fn command(self, program: impl AsRef<OsStr>) -> Command {
        let value = match self {
            Self::Small => "glibc.malloc.hugetlb=0",
            Self::Huge => "glibc.malloc.hugetlb=1",
        };
        let mut command = Command::new(program);
        command.env("GLIBC_TUNABLES", value);
        command
    }

    /// Returns the suffix of a run's name.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Small => "",
            Self::Huge => ", huge pages",
        }
    }
}
