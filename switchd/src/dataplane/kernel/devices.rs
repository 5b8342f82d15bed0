//! The network devices of the ports, as the kernel tells of them.

use nix::net::if_::if_nametoindex;
use weir_config::daemon::{DaemonConfig, Port};
use weir_config::drivers::{self, Driver};
use weir_core::MacAddress;

use super::ethtool;
use crate::dataplane::DataplaneError;

/// A port's device.
#[derive(Clone, Copy, Debug)]
pub(in crate::dataplane) struct Device {
    pub(in crate::dataplane) index: u32,
    /// The port's address: the configured one, or the device's own.
    pub(in crate::dataplane) address: MacAddress,
    pub(in crate::dataplane) driver: &'static Driver,
    /// It had a link before anything was done to it.
    pub(in crate::dataplane) had_link: bool,
}

/// Every port's device, in this network namespace; `None` for one that is not there and that its port waits for, as all do
/// with `all_wait`.
///
/// # Errors
///
/// When another one is not there, has no address, or would not carry the longest frames of the configuration.
pub(in crate::dataplane) fn find(
    config: &DaemonConfig,
    all_wait: bool,
) -> Result<Vec<Option<Device>>, DataplaneError> {
    let found = |port: &Port| match find_one(config, port) {
        Err(DataplaneError::NoDevice { .. }) if port.wait || all_wait => Ok(None),
        outcome => outcome.map(Some),
    };
    config.ports.iter().map(found).collect()
}

/// One port's device.
///
/// # Errors
///
/// As [`find`].
pub(in crate::dataplane) fn find_one(
    config: &DaemonConfig,
    port: &Port,
) -> Result<Device, DataplaneError> {
    let device = port.device.as_str();
    let index = if_nametoindex(device).map_err(|_| DataplaneError::NoDevice {
        port: port.name.clone(),
        device: port.device.clone(),
    })?;
    let address =
        port.address
            .or_else(|| address_of(device))
            .ok_or_else(|| DataplaneError::NoAddress {
                port: port.name.clone(),
                device: port.device.clone(),
            })?;
    let wanted = config.dataplane.mtu;
    let found = Device {
        index,
        address,
        driver: drivers::driver(&ethtool::driver(device).unwrap_or_default()),
        had_link: ethtool::has_link(device).unwrap_or(false),
    };
    match ethtool::mtu(device) {
        Some(mtu) if u64::from(mtu) < wanted.get() => Err(DataplaneError::SmallMtu {
            port: port.name.clone(),
            device: port.device.clone(),
            mtu,
            wanted,
        }),
        Some(mtu) => {
            if u64::from(mtu) > wanted.get() {
                tracing::info!(
                    port = port.name,
                    device,
                    mtu,
                    switch_mtu = wanted.get(),
                    "device MTU exceeds the switch MTU; longer frames are dropped as bad_length"
                );
            }
            Ok(found)
        }
        None => Ok(found),
    }
}

fn address_of(device: &str) -> Option<MacAddress> {
    nix::ifaddrs::getifaddrs()
        .ok()?
        .filter(|interface| interface.interface_name == device)
        .find_map(|interface| interface.address?.as_link_addr()?.addr())
        .map(MacAddress)
}
