//! The kernels selected on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result};

use crate::vm::set_up::packages::{self, Packages};

/// Suite of kernels selected by release, and the distribution that they boot.
const BY_RELEASE: &str = "trixie-backports";

/// A kernel, and the distribution booted with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name on the command line.
    pub name: String,
    /// The suite of the distribution.
    pub root: &'static str,
    source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// From a suite of Debian: the newest, or the given release.
    Suite(&'static str, Option<String>),
    Directory(PathBuf),
}

impl FromStr for Kernel {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let newest = |suite| Source::Suite(suite, None);
        let (root, source) = match name {
            "bookworm" => ("bookworm", newest("bookworm")),
            "bookworm-backports" => ("bookworm", newest("bookworm-backports")),
            "trixie" => ("trixie", newest("trixie")),
            "newest" => ("trixie", newest(BY_RELEASE)),
            _ if name.starts_with(|c: char| c.is_ascii_digit()) => {
                ("trixie", Source::Suite(BY_RELEASE, Some(name.to_owned())))
            }
            _ if name.contains('/') => ("trixie", Source::Directory(name.into())),
            _ => {
                return Err(format!(
                    "write bookworm, bookworm-backports, trixie, newest, a release such as 6.18.15, or the \
                     directory of unpacked packages with a slash in it, not {name:?}"
                ))
            }
        };
        Ok(Self {
            name: name.to_owned(),
            root,
            source,
        })
    }
}

impl Kernel {
    /// Returns its packages, unpacked.
    pub fn packages(&self, cache: &std::path::Path, mirror: Option<&str>) -> Result<Packages> {
        match &self.source {
            Source::Suite(suite, release) => {
                let directory = format!("kernels/{}/packages", self.name);
                packages::provide_kernel(cache, &directory, suite, release.as_deref(), mirror)
                    .with_context(|| format!("kernel {}", self.name))
            }
            Source::Directory(directory) => Ok(Packages {
                root: directory.clone(),
                names: Vec::new(),
            }),
        }
    }

    /// Returns its name for directories and logs.
    pub fn file_name(&self) -> String {
        self.name.replace('/', "_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_by_suite_by_release_or_by_directory() {
        let kernel = |name: &str| name.parse::<Kernel>();
        assert_eq!(kernel("bookworm").unwrap().root, "bookworm");
        assert_eq!(kernel("newest").unwrap().root, "trixie");
        let release = kernel("6.18.15").unwrap();
        assert_eq!(
            release.source,
            Source::Suite(BY_RELEASE, Some("6.18.15".into()))
        );
        assert_eq!(kernel("./k").unwrap().file_name(), "._k");
        assert!(kernel("noble").unwrap_err().contains("newest"));
    }
}
