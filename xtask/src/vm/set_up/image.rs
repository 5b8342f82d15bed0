//! Boot files of the guest: a kernel, and an initial file system with drivers, the programs under test and a shell.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};

use super::packages::Packages;
use super::programs::{find, make_directory, output, remove_directory};
use crate::build;
use crate::vm::hosts;

/// Drivers by name; their dependencies are added. A kernel without one as a module has it built in, or lacks it.
const MODULES: [&str; 7] = [
    "virtio_pci",
    "9pnet_virtio",
    "9p",
    "virtio_net",
    "igb",
    "e1000e",
    "veth",
];
/// Further drivers for switches on NICs.
const MODULES_FOR_NICS: [&str; 1] = ["vmxnet3"];
/// Further drivers for hosts and their networks.
const MODULES_FOR_HOSTS: [&str; 9] = [
    "sch_ingress",
    "sch_tbf",
    "sch_prio",
    "sch_plug",
    "cls_flower",
    "udp_diag",
    "8021q",
    "rdma_ucm",
    "rdma_rxe",
];
/// Drivers with which a guest mounts a distribution's root file system.
const MODULES_FOR_A_ROOT: [&str; 3] = ["virtio_pci", "virtio_blk", "ext4"];
const OF_THE_HOST: [&str; 6] = ["dash", "ip", "ethtool", "nsenter", "setpriv", "mountpoint"];
/// Programs used by checks of hosts besides these, and the package of each.
pub const FOR_HOSTS: [(&str, &str); 5] = [
    ("nice", "coreutils"),
    ("tc", "iproute2"),
    ("rdma", "iproute2"),
    ("iperf3", "iperf3"),
    ("bpftool", "bpftool"),
];
/// Programs of the packages used by checks of hosts, and their names in the guest.
const OF_THE_PACKAGES: [(&str, &str); 7] = [
    ("rping", "rping"),
    ("ib_write_bw", "ib_write_bw"),
    ("ib_send_lat", "ib_send_lat"),
    ("ibv_devinfo", "ibv_devinfo"),
    ("teamd", "teamd"),
    ("socat", "socat"),
    // The host's version may not support every kind of device.
    ("ip", "newer-ip"),
];
const TESTED: [&str; 2] = ["weir-switchd", "switchctl"];
const TESTING: [&str; 2] = ["weir-lab", "weir-endpoint"];

/// Programs of this repository for a guest.
#[derive(Clone, Copy, Debug)]
pub enum Programs<'a> {
    /// For a switch on NICs: programs under test in the first directory, test programs in the second.
    Nics(&'a Path, &'a Path),
    /// For hosts: programs in this directory, and further modules for their checks.
    Hosts(&'a Path, &'static [&'static str]),
}

impl<'a> Programs<'a> {
    fn list(self) -> Vec<(&'a Path, &'static str)> {
        match self {
            Self::Nics(tested, testing) => {
                let tested = TESTED.map(|name| (tested, name));
                let testing = TESTING.map(|name| (testing, name));
                tested.into_iter().chain(testing).collect()
            }
            Self::Hosts(tested, _) => {
                let names = TESTED.into_iter().chain(TESTING).chain(["weir-host"]);
                names.map(|name| (tested, name)).collect()
            }
        }
    }

    fn of_the_host(self) -> impl Iterator<Item = &'static str> {
        let more: &[(&str, &str)] = match self {
            Self::Nics(..) => &[],
            Self::Hosts(..) => &FOR_HOSTS,
        };
        OF_THE_HOST
            .into_iter()
            .chain(more.iter().map(|(name, _)| *name))
    }
}

const INIT: &str = include_str!("init.sh");
/// The loop that runs jobs, in any guest.
pub const JOBS: &str = include_str!("jobs.sh");
const INIT_FOR_A_ROOT: &str = include_str!("init-root.sh");
const IP_WITH_NICS: &str = include_str!("ip-with-nics.sh");

/// Boot files of a guest.
#[derive(Debug)]
pub struct Image {
    /// An uncompressed kernel, since decompression takes the emulator longer than the rest of the boot.
    pub kernel: PathBuf,
    /// The initial file system.
    pub initrd: PathBuf,
}

/// Builds the image in `directory` from `packages` and `programs`.
///
/// # Errors
///
/// When the kernel's format is unknown, or a program is missing.
pub fn make(packages: &Packages, programs: Programs<'_>, directory: &Path) -> Result<Image> {
    let kernel = directory.join("vmlinux");
    std::fs::write(&kernel, vmlinux(&find_kernel(&packages.root)?)?)?;
    let tree = directory.join("initrd.d");
    remove_directory(&tree)?;
    for part in [
        "bin",
        "proc",
        "sys",
        "dev",
        "tmp",
        "run",
        "etc/nics",
        "etc/netns-scripts",
        "share",
        "modules",
    ] {
        make_directory(&tree.join(part))?;
    }
    let modules = match programs {
        Programs::Nics(..) => [&MODULES[..], &MODULES_FOR_NICS].concat(),
        Programs::Hosts(_, more) => [&MODULES[..], &MODULES_FOR_HOSTS, more].concat(),
    };
    copy_modules(&packages.root, &modules, &tree.join("modules"))?;
    let busybox = tree.join("bin/busybox");
    std::fs::copy(packages.root.join("usr/bin/busybox"), &busybox).context("busybox-static")?;
    for name in programs.of_the_host() {
        let program = find(name).with_context(|| format!("{name} is not installed"))?;
        add_program(&program, &tree)?;
    }
    // busybox's shell prefers its own `ip`, `nsenter` and `setpriv` to those in the path.
    std::fs::rename(tree.join("bin/dash"), tree.join("bin/sh"))?;
    if matches!(programs, Programs::Hosts(..)) {
        for (program, name) in OF_THE_PACKAGES {
            add_packaged_program(&packages.root, program, name, &tree)
                .with_context(|| program.to_owned())?;
        }
        add_provider(&packages.root, &tree).context("ibverbs-providers")?;
    }
    for (binaries, name) in programs.list() {
        add_program(&binaries.join(name), &tree)?;
        output(Command::new("strip").arg(tree.join("bin").join(name)))?;
    }
    for name in ["lab-up.sh", "lab-down.sh"] {
        let script = build::root().join("netns-scripts").join(name);
        std::fs::copy(script, tree.join("etc").join(name))?;
    }
    let scenario = build::root().join("scenarios/ring4.toml");
    std::fs::copy(scenario, tree.join("etc/ring4.toml"))?;
    let script = build::root().join("netns-scripts/rdma.sh");
    std::fs::copy(script, tree.join("etc/netns-scripts/rdma.sh"))?;
    for name in hosts::SCENARIOS {
        let scenario = build::root().join("scenarios/kernel").join(name);
        std::fs::copy(&scenario, tree.join("etc").join(name))
            .with_context(|| scenario.display().to_string())?;
    }
    std::fs::write(tree.join("etc/hosts.sh"), hosts::NETWORK)?;
    for (name, script) in hosts::storage::SCRIPTS {
        std::fs::write(tree.join("etc").join(name), script)?;
    }
    let ip = tree.join("etc/nics/ip");
    std::fs::write(&ip, IP_WITH_NICS)?;
    make_executable(&ip)?;
    std::fs::write(tree.join("jobs.sh"), JOBS)?;
    let init = tree.join("init");
    std::fs::write(&init, INIT)?;
    make_executable(&init)?;
    let initrd = directory.join("initrd");
    archive(&tree, &busybox, &initrd)?;
    remove_directory(&tree)?;
    Ok(Image { kernel, initrd })
}

/// Builds an image that boots `kernel` and mounts the file systems of two disks: a distribution's root, and the kernel's
/// modules in it.
pub fn make_for_root(packages: &Packages, kernel: &Packages, directory: &Path) -> Result<Image> {
    let vmlinux_file = directory.join("vmlinux");
    std::fs::write(&vmlinux_file, vmlinux(&find_kernel(&kernel.root)?)?)?;
    let tree = directory.join("initrd.d");
    remove_directory(&tree)?;
    for part in ["bin", "proc", "sys", "dev", "root", "modules"] {
        make_directory(&tree.join(part))?;
    }
    copy_modules(&kernel.root, &MODULES_FOR_A_ROOT, &tree.join("modules"))?;
    let busybox = tree.join("bin/busybox");
    std::fs::copy(packages.root.join("usr/bin/busybox"), &busybox).context("busybox-static")?;
    let init = tree.join("init");
    std::fs::write(&init, INIT_FOR_A_ROOT)?;
    make_executable(&init)?;
    let initrd = directory.join("initrd");
    archive(&tree, &busybox, &initrd)?;
    remove_directory(&tree)?;
    Ok(Image {
        kernel: vmlinux_file,
        initrd,
    })
}

/// Writes the kernel's modules as a file system: the directory of its release, with modprobe's files.
pub fn modules_disk(kernel: &Packages, to: &Path) -> Result<()> {
    let directory = modules_directory(&kernel.root)?;
    let all = directory.parent().context("the directory of modules")?;
    disk(all, "1G", to)
}

/// Writes a file system of `size` with the contents of `tree`.
pub fn disk(tree: &Path, size: &str, to: &Path) -> Result<()> {
    let _ = std::fs::remove_file(to);
    let mut make = Command::new(find("mke2fs").context("mke2fs (package e2fsprogs)")?);
    make.args(["-q", "-t", "ext4", "-O", "^has_journal", "-d"]);
    output(make.arg(tree).arg(to).arg(size)).map(drop)
}

fn make_executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Returns the first entry of a directory that satisfies `wanted`.
fn entry(directory: &Path, wanted: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(directory).ok()?.filter_map(Result::ok);
    entries
        .find(|entry| wanted(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
}

/// Returns `/usr/lib/modules/VERSION` of the unpacked kernel; older packages use `/lib`.
fn modules_directory(root: &Path) -> Result<PathBuf> {
    ["usr/lib/modules", "lib/modules"]
        .iter()
        .find_map(|directory| entry(&root.join(directory), |_| true))
        .context("the kernel's packages have no modules")
}

fn find_kernel(root: &Path) -> Result<PathBuf> {
    let beside_modules = modules_directory(root)?.join("vmlinuz");
    if beside_modules.is_file() {
        return Ok(beside_modules);
    }
    entry(&root.join("boot"), |name| name.starts_with("vmlinuz-"))
        .context("the kernel's packages have no vmlinuz")
}

/// Extracts the kernel proper from the self-decompressing file (Documentation/arch/x86/boot.rst).
fn vmlinux(file: &Path) -> Result<Vec<u8>> {
    let (magic, payload) = payload(&std::fs::read(file)?)
        .with_context(|| format!("{} is no bzImage", file.display()))?;
    let program = match magic {
        [0x28, 0xb5, 0x2f, 0xfd] => "zstd",
        [0xfd, b'7', b'z', b'X'] => "xz",
        [0x02, 0x21, 0x4c, 0x18] => "lz4",
        _ => bail!("{} is compressed in an unknown way", file.display()),
    };
    decompress(program, payload)
}

/// Returns the compressed kernel with its first bytes, without the length behind it.
fn payload(image: &[u8]) -> Option<([u8; 4], Vec<u8>)> {
    const SETUP_SECTORS: usize = 0x1f1;
    const MAGIC: usize = 0x202;
    const PAYLOAD_OFFSET: usize = 0x248;
    const PAYLOAD_LENGTH: usize = 0x24c;
    const SECTOR: usize = 512;
    let word = |at: usize| -> Option<usize> {
        let bytes: [u8; 4] = image.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    if image.get(MAGIC..MAGIC + 4)? != b"HdrS" {
        return None;
    }
    let sectors = match *image.get(SETUP_SECTORS)? {
        0 => 4,
        count => usize::from(count),
    };
    let start = (sectors + 1) * SECTOR + word(PAYLOAD_OFFSET)?;
    let end = start + word(PAYLOAD_LENGTH)?.checked_sub(4)?;
    let payload = image.get(start..end)?;
    Some((payload.get(..4)?.try_into().ok()?, payload.to_vec()))
}

fn decompress(program: &str, compressed: Vec<u8>) -> Result<Vec<u8>> {
    use std::io::Write as _;
    let mut child = Command::new(program)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {program}"))?;
    let mut input = child.stdin.take().context("no pipe")?;
    let writer = std::thread::spawn(move || input.write_all(&compressed));
    let output = child.wait_with_output()?;
    let written = writer.join();
    if !output.status.success() || !matches!(written, Ok(Ok(()))) {
        bail!("{program} cannot decompress the kernel");
    }
    Ok(output.stdout)
}

/// Copies drivers and their dependencies, decompressed, with names that sort in loading order.
fn copy_modules(root: &Path, modules: &[&str], to: &Path) -> Result<()> {
    let directory = modules_directory(root)?;
    let version = directory.file_name().context("a kernel's release")?;
    // kmod reads `lib/modules` below its root directory.
    let base = directory.ancestors().nth(3).context("the kernel's root")?;
    let [depmod, modprobe] = ["depmod", "modprobe"].map(|name| find(name).unwrap_or(name.into()));
    output(Command::new(depmod).arg("-b").arg(base).arg(version))?;
    let mut files: Vec<PathBuf> = Vec::new();
    for module in modules {
        let mut list = Command::new(&modprobe);
        list.args(["-C", "/dev/null", "--show-depends"]);
        list.arg("-d").arg(base).arg("-S").arg(version).arg(module);
        let Ok(listed) = output(&mut list) else {
            continue;
        };
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let needed = listed
            .lines()
            .filter_map(|line| line.strip_prefix("insmod "));
        for file in needed.map(|file| PathBuf::from(file.trim())) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    for (order, file) in files.iter().enumerate() {
        let name = file.file_name().context("a module's name")?;
        let name = name.to_string_lossy().into_owned();
        let (plain, compression) = match name.rsplit_once('.') {
            Some((plain, "xz")) => (plain, Some("xz")),
            Some((plain, "zst")) => (plain, Some("zstd")),
            _ => (&*name, None),
        };
        let to = to.join(format!("{order:03}-{plain}"));
        match compression {
            Some(program) => std::fs::write(to, decompress(program, std::fs::read(file)?)?)?,
            None => std::fs::copy(file, to).map(drop)?,
        }
    }
    Ok(())
}

/// Copies a program to the guest's `bin`, with the libraries that the loader names.
fn add_program(program: &Path, tree: &Path) -> Result<()> {
    let name = program.file_name().context("a program's name")?;
    let to = tree.join("bin").join(name);
    std::fs::copy(program, &to).with_context(|| program.display().to_string())?;
    let libraries = output(Command::new("ldd").arg(program))?;
    let libraries = String::from_utf8_lossy(&libraries).into_owned();
    for library in libraries
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
    {
        let to = tree.join(library.trim_start_matches('/'));
        if !to.exists() {
            make_directory(to.parent().unwrap_or(tree))?;
            std::fs::copy(library, &to).with_context(|| library.to_owned())?;
        }
    }
    Ok(())
}

const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// Copies a program of the packages with its own libraries and loader; the guest's others are the host's.
fn add_packaged_program(root: &Path, program: &str, name: &str, tree: &Path) -> Result<()> {
    const HOME: &str = "packages";
    let home = tree.join(HOME);
    make_directory(&home)?;
    let program = root.join("usr/bin").join(program);
    std::fs::copy(&program, home.join(name)).with_context(|| program.display().to_string())?;
    let libraries = root.join(LIBRARIES);
    let loader = libraries.join("ld-linux-x86-64.so.2");
    let mut list = Command::new(&loader);
    list.arg("--library-path").arg(&libraries);
    let listed = output(list.arg("--list").arg(&program))?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let used = listed
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    for library in used.map(Path::new).chain([loader.as_path()]) {
        let file = library.file_name().context("a library's name")?;
        std::fs::copy(library, home.join(file)).with_context(|| library.display().to_string())?;
    }
    let start = tree.join("bin").join(name);
    let script = format!(
        "#!/bin/sh\nexec /{HOME}/ld-linux-x86-64.so.2 --library-path /{HOME} /{HOME}/{name} \"$@\"\n"
    );
    std::fs::write(&start, script)?;
    make_executable(&start)
}

/// Copies the part of libibverbs for soft-RoCE, which it finds by built-in names.
fn add_provider(root: &Path, tree: &Path) -> Result<()> {
    let drivers = Path::new("etc/libibverbs.d");
    let provider = Path::new(LIBRARIES).join("libibverbs");
    let is_provider = |name: &str| name.starts_with("librxe-");
    let library = entry(&root.join(&provider), is_provider)
        .context("no rdma-core provider library for rxe")?;
    let name = library.file_name().context("a library's name")?;
    for (from, to) in [
        (
            root.join(drivers).join("rxe.driver"),
            drivers.join("rxe.driver"),
        ),
        (library.clone(), provider.join(name)),
    ] {
        let to = tree.join(to);
        make_directory(to.parent().unwrap_or(tree))?;
        std::fs::copy(&from, to).with_context(|| from.display().to_string())?;
    }
    Ok(())
}

/// Writes the tree in the kernel's format: a cpio archive, uncompressed, which boots sooner under emulation.
fn archive(tree: &Path, busybox: &Path, to: &Path) -> Result<()> {
    let out = std::fs::File::create(to).with_context(|| to.display().to_string())?;
    let status = Command::new(busybox)
        .args(["sh", "-c"])
        .arg(r#"cd "$1" && "$0" find . | "$0" cpio -o -H newc"#)
        .args([busybox, tree])
        .stdout(out)
        .stderr(Stdio::null())
        .status()
        .context("starting busybox")?;
    if !status.success() {
        bail!("busybox cpio failed ({status})");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_found_behind_the_setup_sectors() {
        let mut image = vec![0; 2048];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&16_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&12_u32.to_le_bytes());
        image[1040..1048].copy_from_slice(&[0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3, 4]);
        let (magic, payload) = payload(&image).unwrap();
        assert_eq!(magic, [0x28, 0xb5, 0x2f, 0xfd]);
        assert_eq!(payload, &image[1040..1048]);
        image[0x24c..0x250].copy_from_slice(&4096_u32.to_le_bytes());
        assert!(super::payload(&image).is_none());
        assert!(super::payload(b"ELF").is_none());
    }
}
