//! The host.

use std::collections::BTreeSet;

use weir_config::daemon::{Class, DaemonConfig, Express, HugePages, Port};
use weir_config::kernels::{self, Release};

use super::{command, Wanted};
use crate::facts::{Host, TooMuch, Unread};
use crate::finding::{Check, Finding, Remedy};

const HUGE_PAGE: u64 = 2 << 20;

pub(super) fn judge(host: &Host, wanted: &Wanted, config: &DaemonConfig) -> Vec<Finding> {
    let mut findings = vec![
        kernel(host, wanted, config),
        capabilities(host, wanted.running.is_some()),
        memory(host, wanted, config),
        memory_lock(host, config),
        bpf_file_system(host),
        btf(host),
        huge_pages(host, wanted, config),
        clock(host),
    ];
    findings.extend(programs(host, config));
    findings.extend(cpus(host, wanted, config));
    findings
}

/// Judges the loading of the XDP program in the form needed by the configuration.
fn programs(host: &Host, config: &DaemonConfig) -> Option<Finding> {
    let check = Check::Programs;
    let tried = host.programs.as_ref()?;
    let refused = |form: &str| {
        let mut tried = tried.iter().filter(|program| program.form == form);
        tried.find_map(|program| program.refused.as_deref())
    };
    let needed = match config.has_credits() {
        true => "slots",
        false => "plain",
    };
    if let Some(why) = refused(needed) {
        let remedy =
            Remedy::Other("boot a kernel of the book's table (reference/kernels.md)".into());
        return Some(Finding::problem(check, why, remedy));
    }
    let form = if config.has_credits() {
        "whole"
    } else if config.classes.iter().any(Class::needs_room) {
        "express_with_room"
    } else {
        "express"
    };
    let default = config.dataplane.express;
    let wishes = |port: &Port| port.express.unwrap_or(default) != Express::Off;
    let wanted = config.ports.iter().any(wishes);
    Some(match refused(form).filter(|_| wanted) {
        Some(why) => Finding::note(
            check,
            format!("the kernel accepts the XDP program without the express path only: {why}"),
        ),
        None => Finding::ok(check, "the kernel accepts the XDP program"),
    })
}

fn kernel(host: &Host, wanted: &Wanted, config: &DaemonConfig) -> Finding {
    let release = &host.kernel;
    if let Some(broken) = kernels::broken(release) {
        return Finding::problem(
            Check::Kernel,
            format!("Linux {release}: {}", broken.fault),
            Remedy::Other(broken.remedy.into()),
        );
    }
    let version = Release::parse(release);
    let is_before = |other: Release| version.is_some_and(|version| version < other);
    let long_frames = kernels::LONG_FRAMES.since;
    if config.dataplane.has_long_frames() && is_before(long_frames) {
        return Finding::problem(
            Check::Kernel,
            format!("Linux {release}: frames of several chunks need {long_frames}"),
            wanted.setting("dataplane.mtu", Some("\"1500B\"")),
        );
    }
    let hardware_time = kernels::HARDWARE_TIME.since;
    let asks = config.ports.iter().find(|port| port.hardware_time);
    if let Some(port) = asks.filter(|_| is_before(hardware_time)) {
        return Finding::problem(
            Check::Kernel,
            format!("Linux {release}: hardware-time needs {hardware_time}"),
            wanted.port_setting(port, "hardware-time", None),
        );
    }
    match is_before(kernels::OLDEST) {
        true => Finding::note(
            Check::Kernel,
            format!(
                "Linux {release} is older than {}, the oldest kernel on which Weir is tested",
                kernels::OLDEST
            ),
        ),
        false => Finding::ok(Check::Kernel, format!("Linux {release}")),
    }
}

fn capabilities(host: &Host, runs: bool) -> Finding {
    let missing = host.missing_capabilities.join(" ");
    let for_user = host.missing_for_user.join(" ");
    match (missing.is_empty(), host.root) {
        (true, true) if !for_user.is_empty() => Finding::note(
            Check::Capabilities,
            format!("all that a switch needs; without {for_user} it keeps running as root"),
        ),
        (true, _) => Finding::ok(Check::Capabilities, "all that a switch needs"),
        (false, false) => Finding::note(
            Check::Capabilities,
            format!("not root: without {missing} some checks cannot be made"),
        ),
        (false, true) if runs => Finding::note(
            Check::Capabilities,
            format!("root, but without {missing}; the switch still runs"),
        ),
        (false, true) => Finding::problem(
            Check::Capabilities,
            format!("root, but without {missing}: a switch does not start here"),
            Remedy::Other(format!("give the container or the unit these: {missing}")),
        ),
    }
}

fn memory(host: &Host, wanted: &Wanted, config: &DaemonConfig) -> Finding {
    let check = Check::Memory;
    if wanted.running.is_some() {
        return Finding::ok(check, "the switch has its memory");
    }
    let needed = config.umem_size().get();
    let mebibytes = needed.div_ceil(1 << 20);
    match host.memory.map(|memory| memory.check(needed)) {
        Some(Err(TooMuch { of, most })) => Finding::problem(
            check,
            format!(
                "packet memory is {mebibytes} MiB, and {of} has {} MiB: a switch does not start here",
                most >> 20
            ),
            Remedy::Other(
                "lower the buffers of classes and pools, or dataplane.spare-buffers".into(),
            ),
        ),
        Some(Ok(())) => Finding::ok(check, format!("there are {mebibytes} MiB of packet memory")),
        None => Finding::note(check, "not read"),
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

/// Checks the CPUs in the file; without any, the scheduler places the threads.
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
        let found = format!("CPU {number} does not exist or is offline");
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
            format!("CPU {number} also has other work (boot with isolcpus={number})"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::TriedProgram;
    use crate::finding::Grade;
    use crate::judge::judge;
    use crate::judge::tests::{facts, nic, of, one_problem, wanted};

    #[test]
    fn a_kernel_that_panics_is_a_problem_with_another_kernel_as_the_remedy() {
        let mut facts = facts(nic());
        facts.host.kernel = "6.16.12+deb13-amd64".into();
        let remedy = "boot Linux 6.18 or newer, or 6.12";
        one_problem(&facts, &wanted("", ""), Check::Kernel, remedy);
    }

    #[test]
    fn hardware_time_is_a_problem_on_a_kernel_that_lacks_it() {
        let mut facts = facts(nic());
        facts.host.kernel = "6.1.0-50-amd64".into();
        let wanted = wanted("", "hardware-time = true");
        let remedy = "in s1.toml: remove port.eth0.hardware-time";
        one_problem(&facts, &wanted, Check::Kernel, remedy);
    }

    #[test]
    fn a_refused_program_is_a_problem_and_a_refused_express_path_a_note() {
        let tried = |form: &str, refused: Option<&str>| TriedProgram {
            form: form.into(),
            refused: refused.map(str::to_owned),
        };
        let programs = |plain, express| {
            let mut facts = facts(nic());
            facts.host.programs = Some(vec![tried("plain", plain), tried("express", express)]);
            facts
        };
        let wanted = |express| wanted(&format!("express = \"{express}\""), "");
        let remedy = "boot a kernel of the book's table (reference/kernels.md)";
        let all_refused = programs(Some("unbounded"), Some("unbounded"));
        one_problem(&all_refused, &wanted("off"), Check::Programs, remedy);
        let no_express = programs(None, Some("unbounded"));
        for (express, grade) in [("off", Grade::Ok), ("on", Grade::Note)] {
            let findings = judge(&no_express, &wanted(express));
            assert_eq!(of(&findings, Check::Programs).grade, grade, "{express}");
        }
    }
}
