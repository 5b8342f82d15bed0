//! The network devices of the ports, as the kernel tells of them.

use std::os::fd::AsRawFd;

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};
use weir_config::daemon::{DaemonConfig, Port};
use weir_core::MacAddress;

use crate::dataplane::DataplaneError;

/// A port's device.
#[derive(Clone, Copy, Debug)]
pub(in crate::dataplane) struct Device {
    pub(in crate::dataplane) index: u32,
    /// The port's address: the configured one, or the device's own.
    pub(in crate::dataplane) address: MacAddress,
}

/// Every port's device, in this network namespace.
///
/// # Errors
///
/// When one is not there, has no address, or would not carry the longest frames of the configuration.
pub(in crate::dataplane) fn find(config: &DaemonConfig) -> Result<Vec<Device>, DataplaneError> {
    let found = |port: &Port| {
        let device = port.device.as_str();
        let index = if_nametoindex(device).map_err(|_| DataplaneError::NoDevice {
            port: port.name.clone(),
            device: port.device.clone(),
        })?;
        let address = port.address.or_else(|| address_of(device)).ok_or_else(|| {
            DataplaneError::NoAddress {
                port: port.name.clone(),
                device: port.device.clone(),
            }
        })?;
        let wanted = config.dataplane.mtu;
        match mtu_of(device) {
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
                Ok(Device { index, address })
            }
            None => Ok(Device { index, address }),
        }
    };
    config.ports.iter().map(found).collect()
}

fn address_of(device: &str) -> Option<MacAddress> {
    nix::ifaddrs::getifaddrs()
        .ok()?
        .filter(|interface| interface.interface_name == device)
        .find_map(|interface| interface.address?.as_link_addr()?.addr())
        .map(MacAddress)
}

/// `SIOCGIFMTU` of netdevice(7).
fn mtu_of(device: &str) -> Option<u32> {
    let any = socket(
        AddressFamily::Unix,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .ok()?;
    // SAFETY: all bytes zero are a value of this type of integers, arrays and pointers that nobody follows.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays: the name ends with a NUL.
    let places = request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1);
    for (place, byte) in places.zip(device.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: the descriptor lives until the end of this function, and the request is one of SIOCGIFMTU: it has
    // room for what the kernel writes.
    let result = unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) };
    // SAFETY: all bytes are initialised, and any are an integer.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    (result == 0).then_some(mtu as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_has_an_mtu_and_no_device_has_none() {
        assert!(mtu_of("lo").is_some_and(|mtu| mtu >= 1_280));
        assert_eq!(mtu_of("weir-no-such"), None);
    }
}
