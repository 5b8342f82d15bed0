//! apt with a separate state: it reads Debian's archive on any host, and installs nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{bail, Context, Result};

use super::programs::{make_directory, output};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The release of Debian with the emulator and programs, and its newer kernels.
pub const STABLE: [&str; 2] = ["trixie", "trixie-backports"];
/// Unneeded lists, and translations.
const LEFT_OUT: [&str; 3] = [
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
    "Acquire::IndexTargets::deb::CNF::DefaultEnabled=false",
    "Acquire::Languages=none",
];

/// One file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Name: `PACKAGE_VERSION_ARCHITECTURE.deb`.
    pub file: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// An apt state in a directory.
#[derive(Debug)]
pub struct Apt {
    options: Vec<String>,
}

/// Returns Debian's archive as configured in this machine's apt; fails if no source is Debian's archive.
pub fn configured_archive() -> Result<String> {
    let mut list = Command::new("apt-get");
    list.args(["indextargets", "--format", "$(LABEL) $(REPO_URI)"]);
    let said = output(&mut list)?;
    archive_in(&String::from_utf8_lossy(&said)).context(
        "apt is not configured with Debian's archive (`apt-get update` reads its sources): name one by --mirror URL",
    )
}

/// Returns the archive in lines of labels and addresses. Before the first `apt-get update`, sources have no labels.
fn archive_in(lines: &str) -> Option<String> {
    let lines = lines.lines().map(str::trim);
    let labelled = lines.clone().find_map(|line| line.strip_prefix("Debian "));
    let named = || lines.clone().find(|line| line.ends_with("/debian/"));
    let archive = labelled.or_else(named)?;
    Some(archive.trim_end_matches('/').to_owned())
}

impl Apt {
    /// Creates the state in `directory` and fetches the package lists of `suites`.
    ///
    /// # Errors
    ///
    /// Without the archive's keys or a network.
    pub fn new(directory: &Path, mirror: &str, suites: &[&str]) -> Result<Self> {
        if !Path::new(KEYRING).is_file() {
            bail!("{KEYRING} does not exist (package debian-archive-keyring)");
        }
        for part in ["state/lists/partial", "cache/archives/partial", "sources"] {
            make_directory(&directory.join(part))?;
        }
        // No packages count as installed: dependencies down to the C library are included, so that the host does not matter.
        std::fs::write(directory.join("status"), "")?;
        let sources = format!(
            "Types: deb\nURIs: {mirror}\nSuites: {}\nComponents: main\nSigned-By: {KEYRING}\n",
            suites.join(" ")
        );
        std::fs::write(directory.join("sources/debian.sources"), sources)?;
        let set = |key: &str, path: PathBuf| format!("{key}={}", path.display());
        let mut options = vec![
            set("Dir::State", directory.join("state")),
            set("Dir::State::status", directory.join("status")),
            set("Dir::Cache", directory.join("cache")),
            set("Dir::Etc::sourcelist", "/dev/null".into()),
            set("Dir::Etc::sourceparts", directory.join("sources")),
            set("Dir::Etc::preferences", "/dev/null".into()),
            set("Dir::Etc::preferencesparts", "/dev/null".into()),
            "APT::Architecture=amd64".to_owned(),
            "APT::Sandbox::User=root".to_owned(),
            "APT::Update::Error-Mode=any".to_owned(),
        ];
        options.extend(LEFT_OUT.map(str::to_owned));
        let apt = Self { options };
        output(apt.command("apt-get").arg("update")).context("reading lists of packages")?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C").arg("-qq");
        for option in &self.options {
            command.args(["-o", option]);
        }
        command
    }

    fn text(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let said = output(self.command(program).args(arguments))?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// Returns `packages` and all of their dependencies.
    pub fn with_dependencies(&self, packages: &[&str]) -> Result<Vec<String>> {
        let mut arguments = vec!["-s", "install", "--no-install-recommends"];
        arguments.extend(packages);
        let plan = self.text("apt-get", &arguments)?;
        let installed = plan.lines().filter_map(|line| line.strip_prefix("Inst "));
        Ok(installed
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .collect())
    }

    /// Returns the packages of the newest kernel of `suite`.
    pub fn kernel(&self, suite: &str) -> Result<Vec<String>> {
        let newest = self.dependencies("linux-image-amd64", suite)?;
        let image = newest
            .into_iter()
            .find(|name| name.starts_with("linux-image-"))
            .context("linux-image-amd64 depends on no kernel")?;
        self.parts(image, suite)
    }

    /// Returns the packages of the kernel of `suite` whose release begins with `release`.
    pub fn kernel_of(&self, release: &str, suite: &str) -> Result<Vec<String>> {
        let beginning = format!("linux-image-{release}");
        let names = self.text("apt-cache", &["pkgnames", &beginning])?;
        let is_it = |name: &&str| {
            let rest = name.strip_prefix(&beginning).unwrap_or_default();
            rest.ends_with("-amd64")
                && !rest.starts_with(|c: char| c.is_ascii_digit())
                && !["-rt", "-cloud"]
                    .iter()
                    .any(|flavour| rest.contains(flavour))
        };
        let image = names.lines().find(is_it).with_context(|| {
            format!("{suite} has no kernel {release} (`apt-cache pkgnames {beginning}`)")
        })?;
        self.parts(image.to_owned(), suite)
    }

    fn parts(&self, image: String, suite: &str) -> Result<Vec<String>> {
        // A newer kernel's image is an empty package that depends on these; an older one's contains everything.
        let mut parts = self.dependencies(&image, suite)?;
        let beginnings = ["linux-base-", "linux-binary-", "linux-modules-"];
        parts.retain(|name| {
            beginnings
                .iter()
                .any(|beginning| name.starts_with(beginning))
        });
        parts.sort();
        parts.dedup();
        Ok(if parts.is_empty() { vec![image] } else { parts })
    }

    fn dependencies(&self, package: &str, suite: &str) -> Result<Vec<String>> {
        let said = self.text("apt-cache", &["depends", "-t", suite, package])?;
        Ok(said
            .lines()
            .filter_map(|line| line.split_once("Depends: "))
            .map(|(_, name)| name.trim().to_owned())
            .collect())
    }

    /// Returns names and sizes of the files that [`download`](Self::download) would fetch.
    pub fn archives(&self, packages: &[String]) -> Result<Vec<Archive>> {
        let mut command = self.command("apt-get");
        command.args(["--print-uris", "download"]).args(packages);
        let said = output(&mut command)?;
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(said.lines().filter_map(archive).collect())
    }

    /// Fetches packages into `directory`; apt checks the chain of signatures. Calls `progress` at intervals.
    ///
    /// # Errors
    ///
    /// Without network, or the error of `progress`.
    pub fn download(
        &self,
        packages: &[String],
        directory: &Path,
        mut progress: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        const INTERVAL: Duration = Duration::from_millis(200);
        let mut child = self
            .command("apt-get")
            .current_dir(directory)
            .arg("download")
            .args(packages)
            .stdin(Stdio::null())
            .spawn()
            .context("starting apt-get")?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if let Err(error) = progress() {
                child.kill()?;
                child.wait()?;
                return Err(error);
            }
            std::thread::sleep(INTERVAL);
        };
        if !status.success() {
            bail!("apt-get download failed ({status}): see above");
        }
        Ok(())
    }
}

/// Parses a line of `apt-get --print-uris download`: `'URI' FILE BYTES HASH`.
fn archive(line: &str) -> Option<Archive> {
    let mut words = line.split_whitespace().skip(1);
    Some(Archive {
        file: words.next()?.replace("%3a", ":"),
        bytes: words.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_is_the_one_that_apt_is_configured_with() {
        let lines = "Debian-Security http://mirror.test/debian-security/\nDebian http://mirror.test/debian/\n";
        let archive = Some("http://mirror.test/debian".to_owned());
        assert_eq!(archive_in(lines), archive);
        assert_eq!(archive_in(" http://mirror.test/debian/\n"), archive);
        assert_eq!(archive_in("Ubuntu http://mirror.test/ubuntu/\n"), None);
    }

    #[test]
    fn a_file_of_the_archive_is_read_from_apts_line() {
        let line =
            "'http://mirror.test/debian/pool/main/q/qemu/qemu-system-x86_10.0.13_amd64.deb' \
                    qemu-system-x86_1%3a10.0.13_amd64.deb 10278596 SHA256:12";
        let read = archive(line).unwrap();
        assert_eq!(read.file, "qemu-system-x86_1:10.0.13_amd64.deb");
        assert_eq!(read.bytes, 10_278_596);
        assert_eq!(archive("Reading package lists..."), None);
    }
}
