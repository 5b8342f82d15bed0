//! System packages for building, running and testing, and their installation.

mod axe;
mod python;

use std::path::Path;
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::root;

/// Purpose of the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Build and run labs.
    Lab,
    /// Build, and run every test.
    All,
}

#[derive(Clone, Copy, Debug)]
enum Sign {
    /// A program in the search path.
    Program(&'static str),
    /// A clang of this version or newer, under any name.
    Clang(u32),
    /// A C header below /usr/include or /usr/local/include.
    Header(&'static str),
    PythonModule(&'static str),
}

#[derive(Clone, Copy, Debug)]
struct Need {
    sign: Sign,
    /// The Debian and Ubuntu package that contains it.
    package: &'static str,
    why: &'static str,
    tests_only: bool,
}

const fn build(sign: Sign, package: &'static str, why: &'static str) -> Need {
    Need {
        sign,
        package,
        why,
        tests_only: false,
    }
}

const fn test(sign: Sign, package: &'static str, why: &'static str) -> Need {
    Need {
        sign,
        package,
        why,
        tests_only: true,
    }
}

const NEEDS: &[Need] = &[
    build(
        Sign::Program("clang"),
        "clang",
        "compiles the XDP program, and reads its header for Rust",
    ),
    build(
        Sign::Clang(17),
        "clang-19",
        "compiles weir-host's programs for the kernel, with references to packets in maps",
    ),
    build(
        Sign::Program("llc"),
        "llvm",
        "needed by the configure script of libxdp",
    ),
    build(Sign::Program("gcc"), "gcc", "compiles libbpf and libxdp"),
    build(
        Sign::Header("stdio.h"),
        "libc6-dev",
        "the C library's headers, for libbpf and libxdp",
    ),
    build(Sign::Program("make"), "make", "builds libbpf and libxdp"),
    build(Sign::Program("m4"), "m4", "generates parts of libxdp"),
    build(
        Sign::Program("pkg-config"),
        "pkg-config",
        "finds libraries for libbpf and libxdp",
    ),
    build(
        Sign::Header("libelf.h"),
        "libelf-dev",
        "libbpf reads ELF files with it",
    ),
    build(Sign::Header("zlib.h"), "zlib1g-dev", "libelf links with it"),
    build(
        Sign::Header("pcap/pcap.h"),
        "libpcap-dev",
        "needed by the configure script of libxdp",
    ),
    build(
        Sign::Program("ip"),
        "iproute2",
        "makes network namespaces and links",
    ),
    build(
        Sign::Program("nsenter"),
        "util-linux",
        "starts programs inside a namespace",
    ),
    build(
        Sign::Program("setpriv"),
        "util-linux",
        "ends programs together with the lab",
    ),
    build(
        Sign::Program("mountpoint"),
        "util-linux",
        "finds BPF file systems of killed daemons",
    ),
    build(
        Sign::Program("ethtool"),
        "ethtool",
        "switches off checksum offload on lab devices",
    ),
    test(
        Sign::Program("valgrind"),
        "valgrind",
        "counts the switch core's instructions",
    ),
    test(
        Sign::Program("dpkg-shlibdeps"),
        "dpkg-dev",
        "finds what the Debian package depends on",
    ),
    test(
        Sign::Program("debootstrap"),
        "debootstrap",
        "makes a clean Debian to install the package in",
    ),
    test(
        Sign::Program("mmdebstrap"),
        "mmdebstrap",
        "makes the distributions that guests boot",
    ),
    test(
        Sign::Program("depmod"),
        "kmod",
        "finds the modules that a guest needs",
    ),
    test(
        Sign::Program("mke2fs"),
        "e2fsprogs",
        "makes the disks of guests",
    ),
    test(
        Sign::Program("systemd-nspawn"),
        "systemd-container",
        "boots the clean Debian's own systemd, which runs the units",
    ),
    test(
        Sign::Program("systemd-analyze"),
        "systemd",
        "checks the systemd units, and has the journal that logs are written to",
    ),
    test(
        Sign::Program("crun"),
        "crun",
        "runs the image of a container",
    ),
    test(
        Sign::Program("skopeo"),
        "skopeo",
        "reads the image as other programs do",
    ),
    test(
        Sign::Program("tshark"),
        "tshark",
        "decodes our control frames and captures independently",
    ),
    test(Sign::Program("tcpdump"), "tcpdump", "captures frames"),
    test(
        Sign::Program("curl"),
        "curl",
        "queries the API as the book does",
    ),
    test(
        Sign::Program("jq"),
        "jq",
        "reads JSON in the book's commands",
    ),
    test(
        Sign::Program("iperf3"),
        "iperf3",
        "TCP and UDP through a switch",
    ),
    test(
        Sign::Program("ping"),
        "iputils-ping",
        "ICMP through a switch",
    ),
    test(
        Sign::Program("lldpd"),
        "lldpd",
        "an independent LLDP agent, as a neighbour",
    ),
    test(
        Sign::Program("ovs-vswitchd"),
        "openvswitch-switch",
        "a switch with the same VLANs, which forwards the same frames",
    ),
    test(
        Sign::Program("prometheus"),
        "prometheus",
        "scrapes a lab and evaluates every rule and every panel; promtool checks rules and metrics",
    ),
    test(
        Sign::Program("chromium"),
        "chromium",
        "shows the live page during a deadlock",
    ),
    test(
        Sign::Program("chromedriver"),
        "chromium-driver",
        "drives Chromium",
    ),
    test(
        Sign::Program("tmux"),
        "tmux",
        "a terminal for `switchctl top`",
    ),
    test(
        Sign::Program("bpftool"),
        "bpftool",
        "sees whether weir-host leaves anything behind",
    ),
    test(Sign::Program("mandoc"), "mandoc", "checks the manual pages"),
    test(
        Sign::Program("socat"),
        "socat",
        "forwards the API's socket as ssh does",
    ),
    test(
        Sign::PythonModule("prometheus_client"),
        "python3-prometheus-client",
        "parses OpenMetrics strictly",
    ),
    test(
        Sign::PythonModule("scapy"),
        "python3-scapy",
        "builds PAUSE, PFC and broken frames independently",
    ),
    test(
        Sign::PythonModule("ensurepip"),
        "python3-venv",
        "an environment for pygnmi and others, which no package has",
    ),
];

/// Lists missing packages with their purpose, and installs them unless `no_install`.
///
/// # Errors
///
/// When a package is missing with `no_install`, or cannot be installed.
pub fn run(no_install: bool, purpose: Purpose) -> Result<()> {
    install_missing(no_install, purpose)?;
    if purpose == Purpose::All {
        // Try both, even if the first was unreachable.
        let reached = [python::set_up(no_install)?, axe::set_up(no_install)?];
        let is_all = reached == [true; 2];
        let but = if is_all {
            ""
        } else {
            ", but for what is said above"
        };
        println!("everything needed for building and testing is installed{but}");
    }
    Ok(())
}

fn install_missing(no_install: bool, purpose: Purpose) -> Result<()> {
    let missing = missing(purpose);
    if missing.is_empty() {
        return Ok(());
    }
    println!("missing on this machine:");
    for need in &missing {
        println!("  {:<14} {} ({})", need.package, need.why, need.sign.name());
    }
    let packages = packages_of(&missing);
    let listed = packages.join(" ");
    if no_install {
        bail!(
            "not installed because of --no-install; on Debian and Ubuntu: apt-get install {listed}"
        );
    }
    if !Sign::Program("apt-get").is_there() {
        bail!(
            "this system has no apt-get, which installs packages here. Install the counterparts of Debian's {listed}"
        );
    }
    install(&packages)?;
    let still: Vec<&str> = self::missing(purpose)
        .iter()
        .map(|need| need.sign.name())
        .collect();
    if !still.is_empty() {
        bail!("still missing after the installation: {}", still.join(", "));
    }
    Ok(())
}

fn missing(purpose: Purpose) -> Vec<Need> {
    NEEDS
        .iter()
        .filter(|need| purpose == Purpose::All || !need.tests_only)
        .filter(|need| !need.sign.is_there())
        .copied()
        .collect()
}

fn packages_of(needs: &[Need]) -> Vec<&'static str> {
    let mut packages: Vec<&str> = needs.iter().map(|need| need.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn install(packages: &[&str]) -> Result<()> {
    println!("installing with apt-get: {}", packages.join(" "));
    apt_get(&["update"])?;
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend(packages);
    apt_get(&arguments)
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let mut command = if root::is_root() {
        let mut command = Command::new("env");
        command.arg("DEBIAN_FRONTEND=noninteractive");
        command
    } else {
        let mut command = Command::new("sudo");
        command.args(["env", "DEBIAN_FRONTEND=noninteractive"]);
        command
    };
    // Another apt-get may be running, as on machines that update themselves at boot.
    command.args(["apt-get", "--quiet", "-o", "DPkg::Lock::Timeout=120"]);
    let status = command
        .args(arguments)
        .status()
        .context("starting apt-get")?;
    if !status.success() {
        bail!("apt-get {} failed ({status})", arguments.join(" "));
    }
    Ok(())
}

impl Sign {
    fn name(self) -> &'static str {
        match self {
            Self::Program(name) | Self::Header(name) | Self::PythonModule(name) => name,
            Self::Clang(_) => "a newer clang",
        }
    }

    fn is_there(self) -> bool {
        match self {
            Self::Program(name) => program_is_there(name),
            Self::Clang(least) => clang_is_there(least),
            Self::Header(name) => header_is_there(name),
            Self::PythonModule(name) => python_module_is_there(name),
        }
    }
}

fn program_is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A user's path may lack the directories of administrators' tools.
    let system = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(Into::into);
    std::env::split_paths(&path)
        .chain(system)
        .any(|directory| directory.join(name).is_file())
}

/// Searches like tools/host/build.rs.
fn clang_is_there(least: u32) -> bool {
    let versioned = (least..=24).any(|version| program_is_there(&format!("clang-{version}")));
    let plain = || {
        let said = Command::new("clang").arg("-dumpversion").output().ok()?;
        let text = String::from_utf8(said.stdout).ok()?;
        text.split('.').next()?.trim().parse::<u32>().ok()
    };
    versioned || plain().is_some_and(|version| version >= least)
}

fn header_is_there(name: &str) -> bool {
    let multiarch = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    ["/usr/include", "/usr/local/include", &multiarch]
        .iter()
        .any(|directory| Path::new(directory).join(name).is_file())
}

/// Checks the system's Python, for which apt installs packages; another may be first in the path.
fn python_module_is_there(name: &str) -> bool {
    Command::new("/usr/bin/python3")
        .args([
            "-c",
            &format!("import importlib.util as u, sys; sys.exit(u.find_spec('{name}') is None)"),
        ])
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_found_and_nonsense_is_not() {
        assert!(Sign::Program("sh").is_there());
        assert!(!Sign::Program("no-such-program-anywhere").is_there());
        assert!(!Sign::Header("no/such/header.h").is_there());
        assert!(!Sign::PythonModule("no_such_module").is_there());
    }

    #[test]
    fn a_package_is_named_once() {
        let from_util_linux: Vec<Need> = NEEDS
            .iter()
            .filter(|need| need.package == "util-linux")
            .copied()
            .collect();
        assert!(from_util_linux.len() > 1);
        assert_eq!(packages_of(&from_util_linux), ["util-linux"]);
    }
}
