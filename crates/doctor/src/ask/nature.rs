//! The kind of a device, and the devices above and below it.

use std::io;

use nix::net::if_::if_nametoindex;
use serde::Serialize;
use weir_config::drivers::kinds;

use super::link::{self, Device};

/// A device's kind and place among others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Nature {
    /// Its own name, even if it was found by an alternative name.
    pub device: String,
    /// Its kind, such as `veth`; `None` for hardware and for the loopback device.
    pub kind: Option<String>,
    /// The device's own mode, as a number.
    pub mode: Option<u32>,
    /// Its type of hardware (`ARPHRD_*`).
    pub hardware: u16,
    /// The device of which it is a port.
    pub master: Option<Master>,
    /// The device on which it is stacked, if that is in this namespace.
    pub lower: Option<String>,
}

/// A device that has other devices as ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Master {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Option<String>,
}

impl Nature {
    /// Reads the devices above and below `device`.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn of(device: &Device) -> io::Result<Self> {
        let master = device.master.map_or(Ok(None), link::find)?;
        let master = master.map(|master| Master {
            name: master.name,
            kind: master.kind,
        });
        Ok(Self {
            device: device.name.clone(),
            kind: device.kind.clone(),
            mode: device.kind_mode,
            hardware: device.hardware,
            master,
            lower: lower(device)?.map(|lower| lower.name),
        })
    }

    /// Returns the nature in the form of the table of kinds.
    pub fn known(&self) -> kinds::Nature<'_> {
        let master = self.master.as_ref();
        kinds::Nature {
            device: &self.device,
            kind: self.kind.as_deref(),
            mode: self.mode,
            hardware: self.hardware,
            master: master.map(|master| (&*master.name, master.kind.as_deref())),
            lower: self.lower.as_deref(),
        }
    }
}

/// Kinds whose ports receive their frames.
const OF_PORTS: [&str; 2] = ["bond", "team"];
/// Kinds whose frames the device below receives unchanged.
const OF_LOWER: [&str; 2] = ["macvlan", "macvtap"];

/// Returns the devices that receive frames for the device with index `ifindex`: its ports if it is a bond or a team,
/// the device below if it is a macvlan device, otherwise the device itself. Their offloads, and not its own, change
/// frames before it receives them.
///
/// # Errors
///
/// The kernel's error.
pub fn receivers(ifindex: u32, device: &Device) -> io::Result<Vec<String>> {
    let kind = device.kind.as_deref().unwrap_or_default();
    if !OF_PORTS.contains(&kind) && !OF_LOWER.contains(&kind) {
        return Ok(vec![device.name.clone()]);
    }
    let below = directly_below(ifindex, device)?;
    Ok(below.into_iter().map(|below| below.name).collect())
}

/// Kinds whose frames come through the device below, with or without a change.
const ON_LOWER: [&str; 3] = ["macvlan", "macvtap", "vlan"];

/// Returns the devices whose frames the device with index `ifindex` receives, at any depth: the ports of a bond or a
/// team, and the device below a macvlan or a VLAN device. They merge frames unless their GRO is off. The kernel does not
/// report the device that carries a tunnel.
///
/// # Errors
///
/// The kernel's error.
pub fn below(ifindex: u32, device: &Device) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut waiting = directly_below(ifindex, device)?;
    while let Some(lower) = waiting.pop() {
        if names.contains(&lower.name) {
            continue;
        }
        if let Ok(index) = if_nametoindex(lower.name.as_str()) {
            waiting.extend(directly_below(index, &lower)?);
        }
        names.push(lower.name);
    }
    Ok(names)
}

fn directly_below(ifindex: u32, device: &Device) -> io::Result<Vec<Device>> {
    let kind = device.kind.as_deref().unwrap_or_default();
    if OF_PORTS.contains(&kind) {
        return link::ports_of(ifindex);
    }
    let lower = match ON_LOWER.contains(&kind) {
        true => lower(device)?,
        false => None,
    };
    Ok(lower.into_iter().collect())
}

/// Returns the device on which `device` is stacked, if that is in this namespace.
fn lower(device: &Device) -> io::Result<Option<Device>> {
    let is_here = device.other_namespace.is_none();
    let lower = device.other_end.filter(|_| is_here);
    lower.map_or(Ok(None), link::find)
}

#[cfg(test)]
mod tests {
    use weir_config::daemon::XdpMode;

    use super::*;

    #[test]
    fn a_device_without_a_lower_one_receives_for_itself() {
        let loopback = link::find(1).unwrap().unwrap();
        assert_eq!(receivers(1, &loopback).unwrap(), ["lo"]);
        assert!(below(1, &loopback).unwrap().is_empty());
        let vlan = Device {
            kind: Some("vlan".into()),
            other_end: Some(1),
            ..loopback.clone()
        };
        assert_eq!(below(2, &vlan).unwrap(), ["lo"]);
        let bond = Device {
            kind: Some("bond".into()),
            ..loopback
        };
        // The loopback device has no ports.
        assert!(receivers(1, &bond).unwrap().is_empty());
    }

    #[test]
    fn the_loopback_device_is_known_as_such() {
        let nature = Nature::of(&link::find(1).unwrap().unwrap()).unwrap();
        let refusal = nature.known().fit(XdpMode::Auto, false).unwrap_err();
        assert_eq!(refusal.what, "the loopback device");
    }
}
