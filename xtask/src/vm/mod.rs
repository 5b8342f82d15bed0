//! `cargo xtask vm-test`: the daemon on emulated NICs with their real drivers, in a guest of an emulator.

mod checks;
mod devices;
mod guest;
mod hosts;
mod interrupt;
mod kernels;
mod nic;
mod set_up;
mod summary;
mod switch;
mod tap;
mod wire;

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use nix::fcntl::Flock;

use self::checks::{repeating, ring, Bench, Outcome, Part, Verdict, Wanted};
use self::guest::Guest;
use self::kernels::{Extent, Kernel, Matrix};
use self::nic::{device, Cable, Nic};
pub use self::set_up::apt;
use self::set_up::image::{self, Image, Programs};
use self::set_up::lock;
use self::set_up::packages::{self, Packages};
use self::set_up::programs::{self, make_directory, remove_directory};
use self::summary::Summary;
use self::switch::PORTS;
use self::tap::Tap;
use self::wire::end::End;
use crate::{build, root};

const FAILED: u8 = 1;
/// Exit status when no check was run, or not all requested ones.
const DID_NOT_TAKE_PLACE: u8 = 3;
/// Exit status after a signal, as in a shell.
const INTERRUPTED: u8 = 130;

/// Text of `--help` after the options.
pub const HELP: &str = "\
Boots a guest with two emulated NICs in QEMU (TCG: neither KVM nor root is
needed), starts the daemon there, and sends it frames. Emulator and kernel are
packages of Debian 13 and its backports, downloaded once (about 215 MB, kept in
target/vm) and never installed. Remove target/vm to get newer ones.

One check of virtio needs root, for a tap device with several queues. --all adds
the other NICs, and rings of four switches over virtio and igb that lock,
recover and never lock. --host tests weir-host, with two hosts in the guest;
--rdma has switches between such hosts; --devices tries kinds of devices as
ports; --storage has FCoE and NVMe over a switch. --kernel (needs root) installs
the package in a distribution and boots that with its own kernel.

Examples:
  cargo xtask vm-test
  cargo xtask vm-test igb
  cargo xtask vm-test --all --json vm.json
  cargo xtask vm-test --host
  cargo xtask vm-test --rdma
  cargo xtask vm-test --kernel bookworm trixie newest
  cargo xtask vm-test --kernel bookworm newest --loading --compilers
  cargo xtask vm-test --kernel bookworm --ten-minutes
  cargo xtask vm-test --devices --table devices.md
  cargo xtask vm-test --devices bond-active-backup tap
  cargo xtask vm-test --storage

Exit status: 0 all checks passed, 1 a check failed, 3 the test did not take
place (no network, a program missing, the guest does not boot) or not all of it
did, 130 interrupted.";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// NICs to test [default: virtio igb].
    #[arg(value_name = "NIC")]
    nics: Vec<Nic>,
    /// All NICs.
    #[arg(long, conflicts_with = "nics")]
    all: bool,
    /// Only this part of the checks.
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
    /// Only rings of four switches over the NICs.
    #[arg(long)]
    ring: bool,
    /// Only hosts that obey pauses: weir-host on the guest's kernel.
    #[arg(long, group = "hosts", conflicts_with_all = ["nics", "all", "only", "ring"])]
    host: bool,
    /// Only networks of switches and such hosts: TCP and RDMA (soft-RoCE), eight into one port and around a ring that
    /// deadlocks.
    #[arg(long, group = "hosts", conflicts_with_all = ["nics", "all", "only", "ring"])]
    rdma: bool,
    /// Only kinds of devices as ports, such as bonds, VLAN devices and tunnels: in native and generic mode, in both
    /// directions, with pauses, or refused. Without names, all of them.
    #[arg(long, value_name = "KIND", num_args = 0.., value_parser = devices::names(), group = "tabled", conflicts_with_all = ["nics", "all", "only", "ring", "hosts", "long"])]
    devices: Option<Vec<String>>,
    /// Only storage over a switch: FCoE, which needs a lossless class, and NVMe
    /// over TCP and RDMA. Without numbers, all six checks.
    #[arg(long, value_name = "NUMBER", num_args = 0.., value_parser = clap::value_parser!(u8).range(1..=6), conflicts_with_all = ["nics", "all", "only", "ring", "hosts", "devices", "long"])]
    storage: Option<Vec<u8>>,
    /// With --host: four minutes of pauses, and a thousand times attached and
    /// detached. With --rdma: TCP for a minute.
    #[arg(long, requires = "hosts")]
    long: bool,
    /// Only the package on this kernel, under its distribution's systemd. Repeat
    /// it: bookworm, bookworm-backports, trixie, newest, a release of backports
    /// such as 6.18.15, or a directory of unpacked packages.
    #[arg(long, value_name = "NAME", num_args = 1.., group = "tabled", conflicts_with_all = ["nics", "all", "only", "ring", "hosts", "devices"])]
    kernel: Vec<Kernel>,
    /// With --kernel: only what CI checks. Programs load, the shipped
    /// configuration forwards and pauses, the unit starts, and a compromised
    /// dataplane thread is refused everything, also under the unit.
    #[arg(long, requires = "kernel")]
    loading: bool,
    /// With --kernel: only the commands of the book's Ten minutes, which take
    /// longer there.
    #[arg(long, requires = "kernel", conflicts_with_all = ["loading", "compilers"])]
    ten_minutes: bool,
    /// With --kernel: also load the programs compiled by clang-14, clang-16 and clang-19, if they are installed.
    #[arg(long, requires = "kernel")]
    compilers: bool,
    /// With --kernel or --devices: write the table in Markdown.
    #[arg(long, value_name = "FILE", requires = "tabled")]
    table: Option<PathBuf>,
    /// Repeat checks that fail once, in another guest: they fail if they fail twice.
    #[arg(long, conflicts_with = "devices")]
    repeat: bool,
    /// Test the weir-switchd and switchctl in this directory, not those of this
    /// checkout.
    #[arg(long, value_name = "DIRECTORY")]
    binaries: Option<PathBuf>,
    /// Write all outcomes as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Debian's archive [default: the one that apt is configured with].
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    /// Directory for downloads and logs [default: target/vm in the repository].
    #[arg(long, value_name = "DIRECTORY")]
    cache: Option<PathBuf>,
}

impl Arguments {
    fn of_hosts(&self) -> Option<hosts::Part> {
        let parts = [
            (self.host, hosts::Part::Hosts),
            (self.rdma, hosts::Part::Networks),
        ];
        let asked = parts.into_iter().find(|(is_asked, _)| *is_asked);
        asked.map(|(_, part)| part)
    }

    /// Returns the programs under test in the directory `tested`, and the test programs in the directory `binaries`.
    fn programs<'a>(&self, tested: &'a Path, binaries: &'a Path) -> Programs<'a> {
        match self.of_hosts() {
            _ if self.storage.is_some() => Programs::Hosts(tested, &hosts::storage::MODULES),
            _ if self.devices.is_some() => Programs::Hosts(tested, &devices::MODULES),
            Some(_) => Programs::Hosts(tested, &[]),
            None => Programs::Nics(tested, binaries),
        }
    }

    /// Returns a directory of `cache` for guests of this kind. Only one run may use it.
    fn claim(&self, cache: &Path, has_hosts: bool) -> Result<(PathBuf, Flock<File>)> {
        let (kind, what) = match (self.kernel.is_empty(), has_hosts) {
            (false, _) => ("kernels", "kernels"),
            (true, true) => ("hosts", "hosts, devices or storage"),
            (true, false) => ("nics", "NICs"),
        };
        let files = cache.join(kind);
        make_directory(&files)?;
        let lock = lock::claim(&files.join("lock"), what)?;
        Ok((files, lock))
    }

    fn nics(&self, has_hosts: bool) -> &[Nic] {
        match (&self.nics[..], self.all) {
            (_, true) => &Nic::ALL,
            ([], false) if has_hosts => &[],
            ([], false) => &Nic::DEFAULT,
            (chosen, false) => chosen,
        }
    }

    fn write_table(&self, table: &str) -> Result<()> {
        println!("\n{table}");
        let Some(file) = &self.table else {
            return Ok(());
        };
        std::fs::write(file, table).with_context(|| file.display().to_string())
    }
}

/// Runs the tests and reports errors itself.
pub fn run(arguments: &Arguments) -> ExitCode {
    match test(arguments) {
        Ok(summary) if summary.has(|verdict| matches!(verdict, Verdict::Failed(_))) => {
            FAILED.into()
        }
        Ok(summary) if summary.has(|verdict| *verdict != Verdict::Passed) => {
            eprintln!("\nvm-test: not all of it took place: see above");
            DID_NOT_TAKE_PLACE.into()
        }
        Ok(_) => ExitCode::SUCCESS,
        // A signal may fail any check.
        Err(_) if interrupt::check().is_err() => {
            eprintln!("vm-test: interrupted");
            INTERRUPTED.into()
        }
        Err(error) => {
            eprintln!("\nvm-test did NOT take place: {error:#}");
            DID_NOT_TAKE_PLACE.into()
        }
    }
}

fn test(arguments: &Arguments) -> Result<Summary> {
    programs::check()?;
    let parts = arguments.of_hosts();
    let has_hosts = parts.is_some() || arguments.storage.is_some() || arguments.devices.is_some();
    if has_hosts {
        programs::check_also(&image::FOR_HOSTS)?;
    }
    interrupt::catch()?;
    let cache = arguments
        .cache
        .clone()
        .unwrap_or_else(|| build::target_directory().join("vm"));
    let cache = std::path::absolute(cache)?;
    let (files, _lock) = arguments.claim(&cache, has_hosts)?;
    let mirror = arguments.mirror.as_deref();
    let packages = packages::provide(&cache, mirror)?;
    if !arguments.kernel.is_empty() {
        return test_kernels(arguments, &packages, &cache, mirror);
    }
    let binaries = match &arguments.binaries {
        // Nothing of this checkout is needed.
        Some(binaries) if has_hosts => binaries.clone(),
        _ => build::of_tests()?,
    };
    interrupt::check()?;
    let tested = arguments.binaries.as_deref().unwrap_or(&binaries);
    let image = image::make(&packages, arguments.programs(tested, &binaries), &files)
        .context("making the guest's image")?;
    let began = Instant::now();
    let mut summary = Summary {
        emulator: packages.version("qemu-system-x86").to_owned(),
        kernel: packages.version("linux-").to_owned(),
        outcomes: Vec::new(),
        took: began.elapsed(),
    };
    let bed = Bed {
        packages,
        image,
        cache,
    };
    for nic in arguments.nics(has_hosts) {
        let context = || format!("{}: the guest", nic.name());
        if !arguments.ring {
            let test = |wanted: &Wanted| bed.test_nic(*nic, arguments.only, wanted);
            let outcomes = repeating(arguments.repeat, test).with_context(context)?;
            summary.outcomes.extend(outcomes);
        }
        if (arguments.all || arguments.ring) && nic.has_zero_copy() {
            let test = |wanted: &Wanted| bed.test_ring(*nic, wanted);
            let outcomes = repeating(arguments.repeat, test).with_context(context)?;
            summary.outcomes.extend(outcomes);
        }
    }
    if let Some(part) = parts {
        let length = match arguments.long {
            true => hosts::Length::Long,
            false => hosts::Length::Short,
        };
        let test = |wanted: &Wanted| bed.test_hosts(part, length, wanted);
        let outcomes = repeating(arguments.repeat, test).context("hosts: the guest")?;
        summary.outcomes.extend(outcomes);
    }
    if let Some(numbers) = &arguments.storage {
        let outcomes = bed.test_storage(numbers, arguments.repeat);
        let outcomes = outcomes.context("storage: the guest")?;
        summary.outcomes.extend(outcomes);
    }
    let mut table = None;
    if let Some(kinds) = &arguments.devices {
        let (outcomes, of_devices) = bed.test_devices(kinds).context("devices: the guest")?;
        summary.outcomes.extend(outcomes);
        table = Some(of_devices);
    }
    summary.took = began.elapsed();
    summary.print();
    if let Some(table) = &table {
        arguments.write_table(table)?;
    }
    if let Some(json) = &arguments.json {
        summary.write(json)?;
    }
    Ok(summary)
}

fn test_kernels(
    arguments: &Arguments,
    packages: &Packages,
    cache: &Path,
    mirror: Option<&str>,
) -> Result<Summary> {
    let began = Instant::now();
    let matrix = Matrix {
        packages,
        cache,
        mirror,
        extent: match (arguments.loading, arguments.ten_minutes) {
            (true, _) => Extent::Loading,
            (_, true) => Extent::TenMinutes,
            _ => Extent::All,
        },
        with_compilers: arguments.compilers,
        repeat: arguments.repeat,
    };
    let (outcomes, table) = matrix.run(&arguments.kernel)?;
    let summary = Summary {
        emulator: packages.version("qemu-system-x86").to_owned(),
        kernel: arguments
            .kernel
            .iter()
            .map(|kernel| &*kernel.name)
            .collect::<Vec<_>>()
            .join(", "),
        outcomes,
        took: began.elapsed(),
    };
    summary.print();
    arguments.write_table(&table.to_string())?;
    if let Some(json) = &arguments.json {
        summary.write(json)?;
    }
    Ok(summary)
}

#[derive(Debug)]
struct Bed {
    packages: Packages,
    image: Image,
    cache: PathBuf,
}

impl Bed {
    /// Boots a guest; its logs are in the directory `name`.
    fn boot(
        &self,
        name: &str,
        devices: &[String],
        tap: Option<&Tap>,
        directory: &Path,
    ) -> Result<Guest> {
        let began = Instant::now();
        let logs = self.cache.join("logs").join(name);
        let namespace = tap.map(Tap::file);
        let namespace = namespace.as_deref();
        let (packages, image) = (&self.packages, &self.image);
        let guest = Guest::start(packages, image, devices, namespace, directory, &logs)?;
        let took = began.elapsed().as_secs_f64();
        println!("\nvm-test: {name}, booted in {took:.1} s");
        Ok(guest)
    }

    fn test_nic(&self, nic: Nic, only: Option<Part>, wanted: &Wanted) -> Result<Vec<Outcome>> {
        let directory = Scratch::new()?;
        let ends: Vec<End> = (0..PORTS)
            .map(|number| End::new(&directory.0, number))
            .collect::<Result<_>>()?;
        let mut devices: Vec<String> = (0..PORTS)
            .flat_map(|number| device(number, nic.model(), Cable::Test(&directory.0)))
            .collect();
        let mut tap = None;
        if nic == Nic::Virtio {
            // eth2: a common device without zero-copy.
            devices.extend(device(PORTS, "virtio-net-pci", Cable::Device(0)));
            if root::is_root() {
                tap = Some(Tap::new()?);
                let model = format!("{},mq=on,vectors={}", nic.model(), 2 * tap::QUEUES + 2);
                let cable = Cable::Tap(tap::DEVICE, tap::QUEUES);
                devices.extend(device(PORTS + 1, &model, cable));
            }
        }
        let guest = self.boot(nic.name(), &devices, tap.as_ref(), &directory.0)?;
        for end in &ends {
            end.connect(&directory.0)?;
        }
        let bench = Bench::new(nic, &guest, ends, tap.as_ref(), wanted);
        let outcomes = checks::all(bench, only)?;
        let log = guest.sh("cat /tmp/before.log /tmp/s1.log; dmesg")?;
        let logs = self.cache.join("logs").join(nic.name());
        std::fs::write(logs.join("daemon"), log.text)?;
        Ok(outcomes)
    }

    /// Tests kinds of devices, without NICs. An empty list selects all.
    fn test_devices(&self, kinds: &[String]) -> Result<(Vec<Outcome>, String)> {
        let directory = Scratch::new()?;
        let guest = self.boot("devices", &[], None, &directory.0)?;
        devices::check(&guest, kinds)
    }

    fn test_hosts(
        &self,
        part: hosts::Part,
        length: hosts::Length,
        wanted: &Wanted,
    ) -> Result<Vec<Outcome>> {
        let directory = Scratch::new()?;
        let memory = match part {
            hosts::Part::Hosts => vec![],
            // Six daemons with headroom for frames that hosts send after XOFF.
            hosts::Part::Networks => vec!["-m".to_owned(), "8192".to_owned()],
        };
        let guest = self.boot("host", &memory, None, &directory.0)?;
        hosts::check(&guest, part, length, wanted)
    }

    /// Tests storage over a switch: one guest per check, or two with a cable between their NICs. Checks are counted from 1,
    /// and an empty list selects all.
    fn test_storage(&self, numbers: &[u8], repeat: bool) -> Result<Vec<Outcome>> {
        let boot = |name: &str, nic: Vec<String>, directory: &Path| {
            let memory = ["-m", "2560"].map(str::to_owned);
            self.boot(name, &[&memory[..], &nic].concat(), None, directory)
        };
        let nic = |cable: Cable<'_>| device(0, Nic::Virtio.model(), cable);
        let mut outcomes = Vec::new();
        let is_wanted = |number: &u8| numbers.is_empty() || numbers.contains(number);
        let cells = (1..).zip(hosts::storage::CELLS);
        for (number, cell) in cells.filter(|(number, _)| is_wanted(number)) {
            let of_cell = repeating(repeat, |wanted| {
                let scratch = Scratch::new()?;
                let directory = &scratch.0;
                let name = format!("storage-{number}");
                let guest = boot(&name, nic(Cable::Test(directory)), directory)?;
                let other = directory.join("other");
                make_directory(&other)?;
                let peer = match cell.is_pair {
                    true => {
                        let name = format!("{name}-initiator");
                        Some(boot(&name, nic(Cable::TestOf(directory)), &other)?)
                    }
                    false => None,
                };
                hosts::storage::check(&guest, peer.as_ref(), cell, wanted)
            });
            outcomes.extend(of_cell?);
        }
        Ok(outcomes)
    }

    fn test_ring(&self, nic: Nic, wanted: &Wanted) -> Result<Vec<Outcome>> {
        let directory = Scratch::new()?;
        let name = format!("{}-ring", nic.name());
        let guest = self.boot(&name, &ring::devices(nic), None, &directory.0)?;
        ring::check(nic, &guest, wanted)
    }
}

/// A directory for sockets, whose paths must be short; removed on drop.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let directory = Path::new("/tmp").join(format!("weir-vm-{}", std::process::id()));
        remove_directory(&directory)?;
        // Never uses a directory created by another user.
        DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .with_context(|| directory.display().to_string())?;
        Ok(Self(directory))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove_directory(&self.0) {
            eprintln!("vm-test: {error:#}");
        }
    }
}
