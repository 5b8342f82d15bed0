//! Reads the state of the host.

use std::path::Path;

use caps::{CapSet, Capability};
use nix::sys::resource::{getrlimit, Resource};
use nix::unistd::geteuid;

use super::read::{cpus, entries, number, text};
use super::{Cpu, Host, HugePages, Memory, Read, Unread};
use crate::ask::time;
use crate::privileges::{FOR_ANOTHER_USER, NEEDED};

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";
const HUGE_PAGES: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// Reads the host's state as far as this process may.
pub(super) fn read() -> Host {
    let has = caps::read(None, CapSet::Effective).unwrap_or_default();
    let missing = |of: &[Capability]| -> Vec<String> {
        let missing = of.iter().filter(|capability| !has.contains(capability));
        missing.map(ToString::to_string).collect()
    };
    let file_systems = text("/proc/filesystems").unwrap_or_default();
    let lockable = getrlimit(Resource::RLIMIT_MEMLOCK);
    Host {
        kernel: text("/proc/sys/kernel/osrelease").unwrap_or_default(),
        root: geteuid().is_root(),
        missing_capabilities: missing(&NEEDED),
        missing_for_user: missing(&FOR_ANOTHER_USER),
        memory: Memory::read(),
        lockable: lockable
            .ok()
            .map(|(soft, _)| soft)
            .filter(|bytes| *bytes != libc::RLIM_INFINITY),
        bpf_file_system: file_systems.lines().any(|line| line.ends_with("\tbpf")),
        btf: Path::new("/sys/kernel/btf/vmlinux").exists(),
        clock_synchronised: time::is_synchronised().map_err(Into::into),
        huge_pages: huge_pages(),
        cpus: all_cpus(),
        programs: None,
    }
}

fn huge_pages() -> Read<HugePages> {
    let count = |file: &str| number(Path::new(HUGE_PAGES).join(file)).ok_or(Unread::NotThere);
    Ok(HugePages {
        total: count("nr_hugepages")?,
        free: count("free_hugepages")?,
    })
}

fn all_cpus() -> Vec<Cpu> {
    let root = Path::new(CPUS);
    let isolated = cpus(root.join("isolated"));
    let online = cpus(root.join("online"));
    let nodes = entries(NODES);
    let nodes: Vec<_> = nodes
        .iter()
        .filter_map(|name| name.strip_prefix("node")?.parse::<usize>().ok())
        .map(|node| (node, cpus(format!("{NODES}/node{node}/cpulist"))))
        .collect();
    let node_of = |cpu| {
        let mut its = nodes.iter().filter(|(_, cpus)| cpus.contains(&cpu));
        its.next().map(|(node, _)| *node)
    };
    let cpu = |number| Cpu {
        number,
        numa_node: node_of(number),
        isolated: isolated.contains(&number),
        governor: text(root.join(format!("cpu{number}/cpufreq/scaling_governor"))),
    };
    online.into_iter().map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_kernel_and_a_cpu() {
        let host = read();
        assert!(!host.kernel.is_empty());
        assert!(!host.cpus.is_empty());
    }
}
