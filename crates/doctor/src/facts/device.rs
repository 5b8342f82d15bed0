//! Reads the state of a device.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use nix::net::if_::if_nametoindex;

use super::read::{cpus, entries, number};
use super::{Device, Found, Interrupt, Peer, Place, Program, Receiver};
use crate::ask::namespace::Namespace;
use crate::ask::nature::{self, Nature};
use crate::ask::{ethtool, link, netdev};

pub(super) fn read(name: &str, program: &dyn Fn(u32) -> (Option<String>, Option<u32>)) -> Device {
    let index = if_nametoindex(name).ok();
    Device {
        name: name.to_owned(),
        found: index.and_then(|index| found(name, index, program)),
    }
}

fn found(
    name: &str,
    index: u32,
    program: &dyn Fn(u32) -> (Option<String>, Option<u32>),
) -> Option<Found> {
    let link = link::find(index).ok()??;
    let driver = ethtool::driver_info(name).unwrap_or_default();
    let programs = link.programs.iter().map(|(id, mode)| {
        let (name, link) = program(*id);
        Program {
            id: *id,
            mode,
            name,
            link,
        }
    });
    Some(Found {
        nature: Nature::of(&link).ok()?,
        up: link.up,
        link: ethtool::has_link(name),
        mtu: link.mtu,
        programs: programs.collect(),
        xdp: netdev::xdp_features(index).map_err(Into::into),
        channels: ethtool::channels(name).map_err(Into::into),
        rss: ethtool::rss_queues(name).map(|queues| queues.into_iter().collect()),
        ring: ethtool::receive_ring(name).map_err(Into::into),
        pause: ethtool::pause(name).map_err(Into::into),
        features: features(name),
        receivers: others(name, nature::receivers(index, &link)),
        below: others(name, nature::below(index, &link)),
        peer: (driver.name == "veth").then(|| peer(&link)).flatten(),
        place: place(&driver.bus),
        driver,
    })
}

/// Reads those of `devices` that are not the device itself; none if the kernel did not answer.
fn others(name: &str, devices: io::Result<Vec<String>>) -> Vec<Receiver> {
    let all = devices.unwrap_or_default();
    let others = all.into_iter().filter(|other| other != name);
    others
        .map(|name| Receiver {
            driver: ethtool::driver(&name).unwrap_or_default(),
            features: features(&name),
            name,
        })
        .collect()
}

fn features(device: &str) -> BTreeSet<String> {
    let numbers = ethtool::feature_numbers(device).unwrap_or_default();
    let on = numbers
        .into_iter()
        .filter(|(_, number)| ethtool::has_feature(device, *number) == Some(true));
    on.map(|(name, _)| name).collect()
}

fn peer(link: &link::Device) -> Option<Peer> {
    let index = link.other_end?;
    let Some(nsid) = link.other_namespace else {
        return known(index, None);
    };
    let namespace = Namespace::by_number(nsid);
    let seen = namespace.and_then(|namespace| {
        let enter = Some(namespace.enter.clone());
        namespace.visit(|| known(index, enter)).flatten()
    });
    Some(seen.unwrap_or(Peer::Elsewhere))
}

/// Returns the other end with this index in the namespace of this thread.
fn known(index: u32, enter: Option<String>) -> Option<Peer> {
    let link = link::find(index).ok()??;
    Some(Peer::Known {
        features: features(&link.name),
        master: Nature::of(&link).ok()?.master,
        enter,
        name: link.name,
    })
}

/// Finds it by its bus address: /sys/class/net shows the devices of the namespace in which sysfs was mounted.
fn place(bus: &str) -> Option<Place> {
    let directory = Path::new("/sys/bus/pci/devices").join(bus);
    if bus.is_empty() || bus.contains('/') || !directory.exists() {
        return None;
    }
    let numbers = entries(directory.join("msi_irqs"));
    let mut interrupts: Vec<Interrupt> = numbers
        .iter()
        .filter_map(|number| number.parse().ok())
        .map(|number| Interrupt {
            number,
            cpus: cpus(format!("/proc/irq/{number}/effective_affinity_list")),
        })
        .collect();
    interrupts.sort_by_key(|interrupt| interrupt.number);
    Some(Place {
        // -1 if there is only one node.
        numa_node: number(directory.join("numa_node")),
        interrupts,
        iommu: super::read::text(directory.join("iommu_group/type")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_is_found_and_a_missing_one_is_not() {
        let unnamed = |_| (None, None);
        let loopback = read("lo", &unnamed).found.unwrap();
        assert!(loopback.mtu >= 1280 && loopback.features.contains("loopback"));
        assert_eq!((loopback.peer, loopback.place), (None, None));
        assert!(read("weir-no-such", &unnamed).found.is_none());
    }
}
