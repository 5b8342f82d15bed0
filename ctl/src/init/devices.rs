//! The devices for which a configuration is written.

use anyhow::{anyhow, bail, Context, Result};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{if_nameindex, if_nametoindex};
use weir_config::units::{format_rate, parse_rate};
use weir_core::{BitRate, PortRole};
use weir_doctor::ask::ethtool;

/// A device to become a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    pub role: PortRole,
    pub rate: BitRate,
    pub about: String,
    /// IP addresses of the host on it, which will become unusable.
    pub addresses: Vec<String>,
}

/// Returns the devices of the command line, `DEV` or `DEV=RATE`.
///
/// # Errors
///
/// When a device does not exist, is named twice, or has an unknown rate.
pub fn find(ports: &[String], fabric: &[String]) -> Result<Vec<Device>> {
    let edge = ports.iter().map(|text| (text, PortRole::Edge));
    let fabric = fabric.iter().map(|text| (text, PortRole::Fabric));
    let mut devices: Vec<Device> = Vec::new();
    for (text, role) in edge.chain(fabric) {
        let device = read(text, role)?;
        if devices.iter().any(|other| other.name == device.name) {
            bail!("{} is named twice", device.name);
        }
        devices.push(device);
    }
    if devices.is_empty() {
        bail!(
            "a switch needs ports: name them by --port (hosts) and --fabric (switches). {}",
            candidates()
        );
    }
    Ok(devices)
}

fn read(text: &str, role: PortRole) -> Result<Device> {
    let (name, rate) = match text.split_once('=') {
        Some((name, rate)) => (
            name,
            Some(parse_rate(rate).with_context(|| text.to_owned())?),
        ),
        None => (text, None),
    };
    if if_nametoindex(name).is_err() {
        bail!("{name}: there is no such device here. {}", candidates());
    }
    let rate = rate.or_else(|| speed(name)).ok_or_else(|| {
        let about = about(name);
        anyhow!("{name} ({about}) does not report its rate: write {name}=10Gbit, with the rate of its line")
    })?;
    Ok(Device {
        name: name.to_owned(),
        role,
        rate,
        about: about(name),
        addresses: addresses(name),
    })
}

fn speed(device: &str) -> Option<BitRate> {
    BitRate::new(u64::from(ethtool::speed_mbit(device)?) * 1_000_000)
}

/// Formats `igb, MTU 1500, at 0000:00:03.0`.
fn about(device: &str) -> String {
    let driver = ethtool::driver_info(device).unwrap_or_default();
    let mut words = vec![match driver.name.is_empty() {
        true => "driver unknown".to_owned(),
        false => driver.name,
    }];
    if let Some(mtu) = ethtool::mtu(device) {
        words.push(format!("MTU {mtu}"));
    }
    if !driver.bus.is_empty() {
        words.push(format!("at {}", driver.bus));
    }
    if ethtool::has_link(device) == Some(false) {
        words.push("no link".to_owned());
    }
    words.join(", ")
}

fn addresses(device: &str) -> Vec<String> {
    let all = getifaddrs().into_iter().flatten();
    let here = all.filter(|it| it.interface_name == device);
    let mut addresses: Vec<String> = here
        .filter_map(|it| {
            let address = it.address?;
            if let Some(v4) = address.as_sockaddr_in() {
                return Some(v4.ip().to_string());
            }
            let v6 = address.as_sockaddr_in6()?.ip();
            (!v6.is_unicast_link_local()).then(|| v6.to_string())
        })
        .collect();
    addresses.sort();
    addresses.dedup();
    addresses
}

fn candidates() -> String {
    let all = if_nameindex();
    let names = all.iter().flat_map(|all| all.iter());
    let mut lines: Vec<String> = names
        .map(|one| one.name().to_string_lossy().into_owned())
        .filter(|name| name != "lo")
        .map(|name| {
            let rate = speed(&name).map_or("rate unknown".to_owned(), format_rate);
            format!("{name} ({}, {rate})", about(&name))
        })
        .collect();
    lines.sort();
    match lines.is_empty() {
        true => "This network namespace has no device but lo".to_owned(),
        false => format!("Devices here: {}", lines.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(ports: &[&str], fabric: &[&str]) -> String {
        let [ports, fabric] = [ports, fabric].map(|all| {
            all.iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        });
        format!("{:#}", find(&ports, &fabric).unwrap_err())
    }

    #[test]
    fn refusals_name_the_device_and_the_remedy() {
        let none = refusal(&[], &[]);
        assert!(
            none.starts_with("a switch needs ports: name them by --port"),
            "{none}"
        );
        let missing = refusal(&["weir-no-such"], &[]);
        assert!(
            missing.starts_with("weir-no-such: there is no such device here. "),
            "{missing}"
        );
        let unknown = refusal(&["lo"], &[]);
        assert!(
            unknown.ends_with("write lo=10Gbit, with the rate of its line"),
            "{unknown}"
        );
        let rate = refusal(&["lo=10"], &[]);
        assert!(rate.starts_with("lo=10: "), "{rate}");
        let twice = refusal(&["lo=1Gbit"], &["lo=1Gbit"]);
        assert_eq!(twice, "lo is named twice");
    }

    #[test]
    fn a_device_has_its_rate_and_its_addresses() {
        let [lo] = &find(&[], &["lo=25Gbit".to_owned()]).unwrap()[..] else {
            panic!("one device");
        };
        assert_eq!(lo.role, PortRole::Fabric);
        assert_eq!(lo.rate, BitRate::from_mbit(25_000));
        assert!(lo.about.contains("MTU 65536"), "{}", lo.about);
    }
}
