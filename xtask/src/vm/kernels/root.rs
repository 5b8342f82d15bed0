//! A distribution's root file system, with its own systemd and Weir's package.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::vm::set_up::image::{self, JOBS};
use crate::vm::set_up::programs::{make_directory, output, remove_directory};
use crate::{root as user, tool};

/// Packages besides the minimal ones: systemd, dependencies and recommendations of Weir's package, and programs for the
/// steps.
const PACKAGES: [&str; 17] = [
    "bpftool",
    "curl",
    "ethtool",
    "iperf3",
    "iproute2",
    "iputils-ping",
    "jq",
    "kmod",
    "libelf1",
    "mawk",
    "passwd",
    "procps",
    "psmisc",
    "systemd-sysv",
    "tcpdump",
    "util-linux",
    "zlib1g",
];
/// File that lists the parts of a root; written last.
const MANIFEST: &str = "manifest";
const SIZE: &str = "2G";
const RUNNER: &str = "usr/local/sbin/weir-jobs";
const UNIT: &str = "etc/systemd/system/weir-jobs.service";

/// Returns the directory of the root of `suite`.
fn kept(cache: &Path, suite: &str) -> PathBuf {
    cache.join("roots").join(suite)
}

/// Creates the root of `suite` in `cache` from `mirror`, unless it exists.
///
/// # Errors
///
/// Without root, without mmdebstrap, or when a package is unavailable.
pub fn provide(cache: &Path, suite: &str, mirror: &str) -> Result<()> {
    user::require("cargo xtask vm-test --kernel")?;
    let directory = kept(cache, suite);
    let recipe = format!("{suite} {}", PACKAGES.join(" "));
    let manifest = directory.join(MANIFEST);
    if fs::read_to_string(&manifest).is_ok_and(|found| found == recipe) {
        return Ok(());
    }
    remove_directory(&directory)?;
    make_directory(&directory)?;
    println!("vm-test: making a root file system of {suite}, once");
    let mut make = Command::new("mmdebstrap");
    make.args(["--quiet", "--mode=root", "--variant=minbase"]);
    make.args([
        "--dpkgopt=force-unsafe-io",
        "--aptopt=Apt::Install-Recommends \"false\"",
    ]);
    make.arg(format!("--include={}", PACKAGES.join(",")));
    make.args([
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/man/*",
    ]);
    make.arg(suite).arg(directory.join("tree")).arg(mirror);
    tool::run(&mut make)?;
    fs::write(&manifest, recipe).with_context(|| manifest.display().to_string())
}

/// Creates the disk `to` from the root of `suite`, with `package` installed and a unit that runs the host's jobs.
///
/// # Errors
///
/// When the package does not install, or the disk cannot be created.
pub fn disk(cache: &Path, suite: &str, package: &Path, to: &Path) -> Result<()> {
    let tree = to.with_extension("d");
    remove_directory(&tree)?;
    let mut copy = Command::new("cp");
    copy.args(["-a", "--reflink=auto"]);
    output(copy.arg(kept(cache, suite).join("tree")).arg(&tree))?;
    let made = install(&tree, package).and_then(|()| image::disk(&tree, SIZE, to));
    remove_directory(&tree)?;
    made
}

fn install(tree: &Path, package: &Path) -> Result<()> {
    let name = package.file_name().context("the package's file")?;
    fs::copy(package, tree.join("root").join(name))
        .with_context(|| package.display().to_string())?;
    let mut dpkg = Command::new("chroot");
    dpkg.arg(tree).args(["dpkg", "--install"]);
    output(
        dpkg.arg(Path::new("/root").join(name))
            .env("LC_ALL", "C.UTF-8"),
    )
    .context("installing Weir's package")?;
    let etc = tree.join("etc");
    fs::copy(
        etc.join("weir/switchd.toml"),
        etc.join("weir/switchd.toml.shipped"),
    )
    .context("the package's configuration")?;
    fs::write(etc.join("hostname"), "guest\n")?;
    fs::write(etc.join("machine-id"), "")?;
    make_directory(&tree.join("usr/lib/modules"))?;
    make_directory(&tree.join("share"))?;
    let runner = tree.join(RUNNER);
    fs::write(
        &runner,
        format!(
            "#!/bin/sh\n\
             modprobe 9pnet_virtio\nmodprobe 9p\n\
             mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none share /share\n\
             for module in veth virtio_net sch_prio sch_plug sch_tbf cls_flower; do modprobe $module; done\n\
             echo 'guest up' > /dev/console\n\
             JOB_SHELL=/bin/bash\n{JOBS}"
        ),
    )?;
    fs::set_permissions(&runner, fs::Permissions::from_mode(0o755))?;
    fs::write(
        tree.join(UNIT),
        format!(
            "[Unit]\nDescription=Runs the jobs of the host\n\
             [Service]\nExecStart=/{RUNNER}\nLimitMEMLOCK=infinity\n\
             [Install]\nWantedBy=multi-user.target\n"
        ),
    )?;
    let mut enable = Command::new("systemctl");
    enable.arg("--root").arg(tree);
    output(enable.args(["--quiet", "enable", "weir-jobs.service"])).map(drop)
}
