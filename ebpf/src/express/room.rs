//! Support of this kernel for programs that check for room in a veth's ring.

use std::path::Path;

use libbpf_rs::btf::types::{Func, Struct};
use libbpf_rs::btf::Btf;

/// Kernel function that lets programs read kernel memory by ordinary loads: Linux 6.2 and later.
const READS: &str = "bpf_rdonly_cast";
/// Symbol that leads from a veth to its peer's ring.
const LEADS: &str = "veth_priv";
/// BTF of the driver, if it is a module.
const MODULE: &str = "/sys/kernel/btf/veth";

/// Returns true if the kernel supports programs that [check for room](super::ExpressMaps::look_for_room); otherwise they
/// pass all frames for egresses that are [sure](super::Line::is_sure) to the core. Call it when a veth exists, since its
/// driver may be a module.
#[must_use]
pub fn can_look_for_room() -> bool {
    let Ok(kernel) = Btf::from_vmlinux() else {
        return false;
    };
    let leads = kernel.type_by_name::<Struct<'_>>(LEADS).is_some() || Path::new(MODULE).exists();
    leads && kernel.type_by_name::<Func<'_>>(READS).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_of_6_2_or_later_can_and_an_older_one_cannot() {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut numbers = release
            .split(['.', '-'])
            .map_while(|part| part.parse::<u32>().ok());
        let version = (numbers.next().unwrap(), numbers.next().unwrap());
        let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap();
        let has_veth = symbols.contains(" veth_xmit");
        assert_eq!(
            can_look_for_room(),
            version >= (6, 2) && has_veth,
            "{release}"
        );
    }
}
