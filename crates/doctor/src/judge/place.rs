//! Placement of a NIC, its interrupts and the threads.

use std::collections::BTreeSet;

use super::{command, Case};
use crate::finding::{Check, Finding};

fn ours(case: &Case<'_>) -> BTreeSet<usize> {
    let dataplane = &case.config.dataplane;
    let cpus = dataplane.cpu.iter().chain(&dataplane.worker_cpus);
    cpus.copied().collect()
}

pub(super) fn numa(case: &Case<'_>) -> Option<Finding> {
    let node = case.found.place.as_ref()?.numa_node?;
    let cpus = &case.facts.host.cpus;
    let far = |number: &usize| {
        let cpu = cpus.iter().find(|cpu| cpu.number == *number);
        cpu.is_some_and(|cpu| cpu.numa_node.is_some_and(|of_cpu| of_cpu != node))
    };
    let ours = ours(case);
    let far: Vec<_> = ours.iter().copied().filter(far).collect();
    if far.is_empty() {
        return Some(Finding::ok(
            Check::Numa,
            format!("node {node}, as the threads' CPUs"),
        ));
    }
    let near: Vec<_> = cpus
        .iter()
        .filter(|cpu| cpu.numa_node == Some(node) && !ours.contains(&cpu.number))
        .map(|cpu| cpu.number)
        .collect();
    let found = format!("the NIC is on node {node}, CPU {far:?} of the dataplane is not");
    let is_core = case
        .config
        .dataplane
        .cpu
        .is_some_and(|cpu| far.contains(&cpu));
    Some(match (near.first(), is_core) {
        (Some(cpu), true) => {
            let value = cpu.to_string();
            let remedy = case.wanted.setting("dataplane.cpu", Some(&value));
            Finding::problem(Check::Numa, found, remedy)
        }
        (Some(_), false) => {
            let some: Vec<_> = near.iter().take(far.len()).collect();
            let value = format!("{some:?}");
            let remedy = case.wanted.setting("dataplane.worker-cpus", Some(&value));
            Finding::problem(Check::Numa, found, remedy)
        }
        // There is no better place.
        (None, _) => Finding::note(Check::Numa, found),
    })
}

pub(super) fn interrupts(case: &Case<'_>) -> Option<Finding> {
    let interrupts = &case.found.place.as_ref()?.interrupts;
    let ours = ours(case);
    let disturbing: Vec<_> = interrupts
        .iter()
        .filter(|interrupt| !interrupt.cpus.is_disjoint(&ours))
        .map(|interrupt| interrupt.number.to_string())
        .collect();
    if disturbing.is_empty() {
        let count = interrupts.len();
        return Some(Finding::ok(
            Check::Interrupts,
            format!("{count}, none on a CPU of the dataplane"),
        ));
    }
    let cpus = case.facts.host.cpus.iter().map(|cpu| cpu.number);
    let others: Vec<_> = cpus
        .filter(|cpu| !ours.contains(cpu))
        .map(|cpu| cpu.to_string())
        .collect();
    let found = format!(
        "interrupt {} goes to a CPU of the dataplane",
        disturbing.join(", ")
    );
    if others.is_empty() {
        return Some(Finding::note(Check::Interrupts, found));
    }
    let remedy = format!(
        "for irq in {}; do echo {} > /proc/irq/$irq/smp_affinity_list; done",
        disturbing.join(" "),
        others.join(",")
    );
    Some(Finding::problem(Check::Interrupts, found, command(remedy)))
}

pub(super) fn iommu(case: &Case<'_>) -> Option<Finding> {
    let place = case.found.place.as_ref()?;
    Some(match place.iommu.as_deref() {
        None => Finding::ok(Check::Iommu, "none"),
        Some("identity") => Finding::ok(Check::Iommu, "passes addresses through"),
        Some(kind) => Finding::note(
            Check::Iommu,
            format!("{kind}: it translates each address, which costs time (boot with iommu=pt)"),
        ),
    })
}
