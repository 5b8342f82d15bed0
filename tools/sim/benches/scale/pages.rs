//! With which memory pages a program runs.

use std::ffi::OsStr;
use std::process::Command;

/// A large network's state is read here and there, so that with small pages a part of the time goes into finding where
/// they are; huge ones take more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// As the system gives them.
    Small,
    /// The allocator asks for huge ones.
    Huge,
}

impl Pages {
    /// `program`, to be started so. The variable is one that the C library of GNU reads (2.35 and later).
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
