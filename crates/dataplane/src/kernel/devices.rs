//! The network devices of the ports, as the kernel reports them.

use nix::net::if_::if_nametoindex;
use weir_config::daemon::{DaemonConfig, Port};
use weir_config::drivers::kinds::Fit;
use weir_config::drivers::{self, Driver};
use weir_core::{MacAddress, PortId};
use weir_doctor::ask::nature::Nature;
use weir_doctor::link;

use super::ethtool;
use crate::error::DataplaneError;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    pub(crate) index: u32,
    /// The port's address: the configured one, or the device's own.
    pub(crate) address: MacAddress,
    pub(crate) driver: &'static Driver,
    /// True if native mode is useless for this kind of device.
    pub(crate) generic_only: bool,
    /// True if it is no hardware, so the kernel at its peer may leave checksums unfinished.
    pub(crate) is_virtual: bool,
    /// True if it had a link before any change to it.
    pub(crate) had_link: bool,
}

/// Reaction to a missing device of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// The switch does not start, unless the port is configured to wait for its device.
    Refuses,
    /// The port waits while the others forward.
    Waits,
    /// Like [`Waits`](Self::Waits), but a restart must not take a port away from the running switch.
    WaitsUnlessUsed,
}

/// Finds every port's device in this network namespace. The entry is `None` if the port waits for
/// its device.
///
/// # Errors
///
/// When a required device is missing, cannot be a port, or would not carry the longest configured frames.
pub(crate) fn find(
    config: &DaemonConfig,
    lack: Lack,
) -> Result<Vec<Option<Device>>, DataplaneError> {
    let found = |port: &Port| match find_one(config, port) {
        Err(DataplaneError::NoDevice { .. }) if port.wait || lack != Lack::Refuses => Ok(None),
        Err(error) if lack == Lack::Refuses => Err(error),
        Err(error) if lack == Lack::WaitsUnlessUsed && has_program(&port.device) => Err(error),
        Err(error) => {
            tracing::error!(%error, "the port is down until its device can be used");
            Ok(None)
        }
        Ok(device) => Ok(Some(device)),
    };
    config.ports.iter().map(found).collect()
}

/// Returns the numbers of all possible ports, to be zipped with devices in the configuration's order.
pub(crate) fn port_ids() -> impl Iterator<Item = PortId> {
    (0..).map_while(PortId::from_index)
}

/// Returns true if an XDP program is attached: the device is a port of a running switch.
fn has_program(device: &str) -> bool {
    let device = if_nametoindex(device).map(link::find);
    matches!(device, Ok(Ok(Some(device))) if !device.programs.is_empty())
}

/// Finds one port's device.
///
/// # Errors
///
/// See [`find`].
pub(crate) fn find_one(config: &DaemonConfig, port: &Port) -> Result<Device, DataplaneError> {
    let device = port.device.as_str();
    let index = if_nametoindex(device).map_err(|_| DataplaneError::NoDevice {
        port: port.name.clone(),
        device: port.device.clone(),
    })?;
    let state = state(index).map_err(|source| DataplaneError::System {
        what: "asking for a device by rtnetlink",
        source,
    })?;
    let Some((state, nature)) = state else {
        return Err(DataplaneError::NoDevice {
            port: port.name.clone(),
            device: port.device.clone(),
        });
    };
    let generic_only = check_kind(config, port, &nature)?;
    let own_address = state.address.map(MacAddress);
    let address = port
        .address
        .or(own_address)
        .ok_or_else(|| DataplaneError::NoAddress {
            port: port.name.clone(),
            device: port.device.clone(),
        })?;
    let wanted = config.dataplane.mtu;
    let found = Device {
        index,
        address,
        driver: drivers::driver(&ethtool::driver(device).unwrap_or_default()),
        generic_only,
        is_virtual: nature.kind.is_some(),
        had_link: ethtool::has_link(device).unwrap_or(false),
    };
    let mtu = state.mtu;
    if u64::from(mtu) < wanted.get() {
        return Err(DataplaneError::SmallMtu {
            port: port.name.clone(),
            device: port.device.clone(),
            mtu,
            wanted,
        });
    }
    if u64::from(mtu) > wanted.get() {
        tracing::info!(
            port = port.name,
            device,
            mtu,
            switch_mtu = wanted.get(),
            "device MTU exceeds the switch MTU; longer frames are dropped, as bad_length or by the kernel if a chunk does not hold them"
        );
    }
    Ok(found)
}

/// Returns the kernel's answer about a device; `None` if it is gone.
fn state(index: u32) -> std::io::Result<Option<(link::Device, Nature)>> {
    let Some(state) = link::find(index)? else {
        return Ok(None);
    };
    let nature = Nature::of(&state)?;
    Ok(Some((state, nature)))
}

/// Returns true when native mode is useless for this kind of device.
fn check_kind(config: &DaemonConfig, port: &Port, nature: &Nature) -> Result<bool, DataplaneError> {
    let mode = config.dataplane.xdp_mode;
    match nature.known().fit(mode, config.has_lossless()) {
        Ok(Fit::Any) => Ok(false),
        Ok(Fit::GenericOnly { because }) => {
            let what = nature.known().what();
            tracing::warn!(
                port = port.name,
                device = port.device,
                "generic XDP is used: the device is {what}, and {because}"
            );
            Ok(true)
        }
        Ok(Fit::NotKnown) => {
            tracing::warn!(
                port = port.name,
                device = port.device,
                kind = nature.kind,
                "this kind of device is unknown and may lose frames: `switchctl ports` counts them"
            );
            Ok(false)
        }
        Err(refusal) => Err(DataplaneError::Unfit {
            port: port.name.clone(),
            device: port.device.clone(),
            refusal: refusal.into(),
        }),
    }
}
