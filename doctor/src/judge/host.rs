//! The host.

use std::collections::BTreeSet;

use weir_config::daemon::{DaemonConfig, HugePages};

use super::{command, Wanted};
use crate::facts::{Host, Unread};
use crate::finding::{Check, Finding, Remedy};

/// The oldest kernel that Weir is meant for, and the oldest with frames of several buffers for AF_XDP.
const OLDEST: (u32, u32) = (6, 1);
const WITH_LONG_FRAMES: (u32, u32) = (6, 6);
const HUGE_PAGE: u64 = 2 << 20;

pub(super) fn judge(host: &Host, wanted: &Wanted, config: &DaemonConfig) -> Vec<Finding> {
    let mut findings = vec![
        kernel(host, wanted, config),
        capabilities(host, wanted.running.is_some()),
        memory_lock(host, config),
        bpf_file_system(host),
        btf(host),
        huge_pages(host, wanted, config),
        clock(host),
    ];
    findings.extend(cpus(host, wanted, config));
    findings
}

fn kernel(host: &Host, wanted: &Wanted, config: &DaemonConfig) -> Finding {
    let release = &host.kernel;
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if config.dataplane.has_long_frames() && version < WITH_LONG_FRAMES {
        return Finding::problem(
            Check::Kernel,
            format!("Linux {release}: frames of several chunks need Linux 6.6"),
            wanted.setting("dataplane.mtu", Some("\"1500B\"")),
        );
    }
    match version < OLDEST {
        true => Finding::note(
            Check::Kernel,
            format!("Linux {release}: older than 6.1, the oldest that Weir is meant for"),
        ),
        false => Finding::ok(Check::Kernel, format!("Linux {release}")),
    }
}

fn capabilities(host: &Host, runs: bool) -> Finding {
    let missing = host.missing_capabilities.join(" ");
    match (missing.is_empty(), host.root) {
        (true, _) => Finding::ok(Check::Capabilities, "all that a switch needs"),
        (false, false) => Finding::note(
            Check::Capabilities,
            format!("not root: without {missing} some checks cannot be made"),
        ),
        (false, true) if runs => Finding::note(
            Check::Capabilities,
            format!("root, but without {missing}; the switch runs all the same"),
        ),
        (false, true) => Finding::problem(
            Check::Capabilities,
            format!("root, but without {missing}: a switch does not start here"),
            Remedy::Other(format!("give the container or the unit these: {missing}")),
        ),
    }
}

fn memory_lock(host: &Host, config: &DaemonConfig) -> Finding {
    let needed = config.umem_size().get();
    let mebibytes = needed.div_ceil(1 << 20);
    let may_lock = !host
        .missing_capabilities
        .iter()
        .any(|it| it == "CAP_IPC_LOCK");
    match host.lockable.filter(|_| !may_lock) {
        Some(limit) if limit < needed => Finding::note(
            Check::MemoryLock,
            format!(
                "{} MiB may be locked without CAP_IPC_LOCK, and packet memory is {mebibytes} MiB",
                limit >> 20
            ),
        ),
        _ => Finding::ok(
            Check::MemoryLock,
            format!("packet memory of {mebibytes} MiB may be locked"),
        ),
    }
}

fn bpf_file_system(host: &Host) -> Finding {
    match host.bpf_file_system {
        true => Finding::ok(
            Check::BpfFileSystem,
            "the kernel has it; the switch mounts its own",
        ),
        false => Finding::problem(
            Check::BpfFileSystem,
            "the kernel has none (CONFIG_BPF_SYSCALL): programs cannot be pinned",
            Remedy::Other("use a kernel with CONFIG_BPF_SYSCALL".into()),
        ),
    }
}

fn btf(host: &Host) -> Finding {
    match host.btf {
        true => Finding::ok(Check::Btf, "the kernel describes its types"),
        false => Finding::note(
            Check::Btf,
            "none (CONFIG_DEBUG_INFO_BTF): bpftool shows less",
        ),
    }
}

fn huge_pages(host: &Host, wanted: &Wanted, config: &DaemonConfig) -> Finding {
    let check = Check::HugePages;
    let needed = config.umem_size().get().div_ceil(HUGE_PAGE);
    if config.dataplane.huge_pages == HugePages::Off {
        return Finding::ok(check, "off, as configured");
    }
    if wanted.running.is_some() {
        return Finding::ok(check, "the switch has its memory");
    }
    let pages = match &host.huge_pages {
        Ok(pages) => *pages,
        Err(why) => return Finding::note(check, format!("not read: {why}")),
    };
    let found = format!(
        "{} of {} pages of 2 MiB are free, {needed} are needed",
        pages.free, pages.total
    );
    if pages.free >= needed {
        return Finding::ok(check, found);
    }
    let total = pages.total + needed - pages.free;
    let remedy = command(format!("sysctl -w vm.nr_hugepages={total}"));
    match config.dataplane.huge_pages {
        HugePages::Require => Finding::problem(check, found, remedy),
        _ => Finding::note(check, format!("{found}: small pages are used")).mended_by(remedy),
    }
}

fn clock(host: &Host) -> Finding {
    match &host.clock_synchronised {
        Ok(true) => Finding::ok(Check::Clock, "synchronised"),
        Ok(false) => Finding::note(
            Check::Clock,
            "not synchronised: times in logs and captures differ from those of other hosts",
        )
        .mended_by(command("timedatectl set-ntp true")),
        Err(Unread::NotPermitted) => Finding::note(Check::Clock, Unread::NotPermitted.to_string()),
        Err(why) => Finding::note(Check::Clock, format!("not read: {why}")),
    }
}

/// Of the CPUs that the file names; where it names none, threads go where the scheduler puts them.
fn cpus(host: &Host, wanted: &Wanted, config: &DaemonConfig) -> Vec<Finding> {
    let dataplane = &config.dataplane;
    let cpus = dataplane.cpu.iter().chain(&dataplane.worker_cpus);
    let ours: BTreeSet<usize> = cpus.copied().collect();
    ours.iter()
        .map(|number| cpu(*number, host, wanted, config))
        .collect()
}

fn cpu(number: usize, host: &Host, wanted: &Wanted, config: &DaemonConfig) -> Finding {
    let check = Check::Cpus;
    let Some(cpu) = host.cpus.iter().find(|cpu| cpu.number == number) else {
        let key = match config.dataplane.cpu == Some(number) {
            true => "dataplane.cpu",
            false => "dataplane.worker-cpus",
        };
        let found = format!("CPU {number} is not there or is offline");
        return Finding::problem(check, found, wanted.setting(key, None));
    };
    if let Some(governor) = cpu.governor.as_deref().filter(|it| *it != "performance") {
        let path = format!("/sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor");
        let found = format!(
            "CPU {number} changes its frequency (governor {governor}): frames wait meanwhile"
        );
        return Finding::problem(check, found, command(format!("echo performance > {path}")));
    }
    match cpu.isolated {
        true => Finding::ok(
            check,
            format!("CPU {number} is isolated and keeps its frequency"),
        ),
        false => Finding::note(
            check,
            format!("CPU {number} has other work, too (boot with isolcpus={number})"),
        ),
    }
}
