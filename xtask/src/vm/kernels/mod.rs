//! `cargo xtask vm-test --kernel`: the package on distributions' kernels, under their own systemd.

mod checks;
mod kernel;
mod root;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{bail, Context, Result};

pub use self::checks::Extent;
use self::checks::{rows, Case};
pub use self::kernel::Kernel;
pub use self::table::Table;
use super::checks::{repeating, Outcome, Verdict, Wanted};
use super::guest::Guest;
use super::interrupt;
use super::nic::{device, Cable, Nic};
use super::set_up::apt;
use super::set_up::image;
use super::set_up::packages::Packages;
use super::set_up::programs::{find, make_directory, output};
use super::Scratch;
use crate::{build, dist};

const STEPS: &str = include_str!("steps.sh");
/// The chapter whose commands run in a guest.
const CHAPTER: &str = "docs/src/start/ten-minutes.md";
const COMPILERS: [&str; 3] = ["clang-14", "clang-16", "clang-19"];

/// A run of the matrix.
#[derive(Debug)]
pub struct Matrix<'a> {
    /// The emulator and its programs.
    pub packages: &'a Packages,
    /// Directory of all downloads.
    pub cache: &'a Path,
    /// The archive, if not the one that apt is configured with.
    pub mirror: Option<&'a str>,
    /// Extent of the checks.
    pub extent: Extent,
    /// True if programs of several compilers are loaded as well.
    pub with_compilers: bool,
    /// Repeat failed checks once.
    pub repeat: bool,
}

impl Matrix<'_> {
    /// Boots one guest for each kernel, and runs the checks in it.
    ///
    /// # Errors
    ///
    /// When a guest cannot be created or does not boot, or the run is interrupted.
    pub fn run(&self, kernels: &[Kernel]) -> Result<(Vec<Outcome>, Table)> {
        for program in ["mmdebstrap", "jq"] {
            if find(program).is_none() {
                bail!("{program} is not installed (`cargo xtask setup`)");
            }
        }
        let binaries = build::of_tests()?;
        let package = dist::package_of_tests(&binaries)?;
        let programs = self.programs(&binaries)?;
        let configured = || apt::configured_archive();
        let mirror = self
            .mirror
            .map_or_else(configured, |it| Ok(it.to_owned()))?;
        let mut table = Table::new(rows(self.extent, self.with_compilers).map(|row| row.name));
        let mut outcomes = Vec::new();
        for kernel in kernels {
            root::provide(self.cache, kernel.root, &mirror)?;
            let of_kernel = repeating(self.repeat, |wanted| {
                self.test(kernel, &package, &programs, wanted)
            });
            let of_kernel = of_kernel.with_context(|| format!("{}: the guest", kernel.name))?;
            table.column(&of_kernel);
            outcomes.extend(of_kernel);
        }
        Ok((outcomes, table))
    }

    /// Returns programs for the guests that the package lacks, by their names there.
    fn programs(&self, binaries: &Path) -> Result<Vec<(String, PathBuf)>> {
        let mut programs = vec![
            ("weir-bench".to_owned(), binaries.join("weir-bench")),
            ("confined".to_owned(), build::confined()?),
        ];
        let compilers = COMPILERS.iter().filter(|name| find(name).is_some());
        for compiler in compilers.filter(|_| self.with_compilers) {
            let file = build::forms(compiler, &self.cache.join("compilers"))?;
            let kept = self.cache.join(format!("forms-{compiler}"));
            std::fs::copy(&file, &kept).with_context(|| file.display().to_string())?;
            programs.push((format!("forms-{compiler}"), kept));
        }
        Ok(programs)
    }

    fn test(
        &self,
        kernel: &Kernel,
        package: &Path,
        programs: &[(String, PathBuf)],
        wanted: &Wanted,
    ) -> Result<Vec<Outcome>> {
        let home = self.cache.join("kernels").join(kernel.file_name());
        make_directory(&home)?;
        let packages = kernel.packages(self.cache, self.mirror)?;
        let [root, modules] = ["root.ext4", "modules.ext4"].map(|name| home.join(name));
        let image = image::make_for_root(self.packages, &packages, &home)?;
        image::modules_disk(&packages, &modules)?;
        root::disk(self.cache, kernel.root, package, &root)?;
        interrupt::check()?;
        let scratch = Scratch::new()?;
        let share = scratch.0.join("share");
        make_directory(&share)?;
        std::fs::write(share.join("steps.sh"), STEPS)?;
        std::fs::copy(build::root().join(CHAPTER), share.join("ten-minutes.md"))
            .context(CHAPTER)?;
        for (name, file) in programs {
            let to = share.join(name);
            std::fs::copy(file, &to).with_context(|| file.display().to_string())?;
            output(Command::new("strip").arg(to))?;
        }
        let mut devices: Vec<String> = [&root, &modules]
            .map(|disk| format!("file={},if=virtio,format=raw,snapshot=on", disk.display()))
            .into_iter()
            .flat_map(|drive| ["-drive".to_owned(), drive])
            .collect();
        devices.extend(device(0, Nic::Virtio.model(), Cable::Device(0)));
        let logs = self
            .cache
            .join("logs")
            .join(format!("kernel-{}", kernel.file_name()));
        let began = Instant::now();
        let guest = Guest::start(self.packages, &image, &devices, None, &scratch.0, &logs)?;
        let (case, release) = Case::new(&guest)?;
        println!(
            "\nvm-test: {} (Linux {release}, {}), booted in {:.1} s",
            kernel.name,
            kernel.root,
            began.elapsed().as_secs_f64()
        );
        let mut outcomes = Vec::new();
        let checks = rows(self.extent, self.with_compilers);
        for check in checks.filter(|check| wanted.has(check.name)) {
            let began = Instant::now();
            let result = check.run(&case);
            interrupt::check()?;
            let outcome = Outcome {
                nic: release.clone().into(),
                name: check.name.to_owned(),
                figure: result.as_ref().ok().cloned(),
                verdict: Verdict::of(result.map(drop)),
                took: began.elapsed(),
            };
            outcome.print();
            outcomes.push(outcome);
        }
        let log = guest.sh("cat /tmp/switch.log; journalctl --no-pager -q | tail -n 300; dmesg")?;
        std::fs::write(logs.join("guest"), log.text)?;
        Ok(outcomes)
    }
}
