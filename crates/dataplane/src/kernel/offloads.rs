//! NIC offloads that change frames before they reach the switch.

use weir_config::daemon::{Offloads, Port};
use weir_config::drivers::{self, Harmful, GRO, HARMFUL};
use weir_doctor::ask::nature;
use weir_doctor::link;

use super::devices::Device;
use super::ethtool;
use crate::error::DataplaneError;

/// Features that were switched off; dropping this switches them on again.
#[derive(Debug)]
pub(crate) struct SwitchedOff {
    device: String,
    features: Vec<u32>,
    /// Numbers of the segmentation features, valid as long as the device exists. Empty until they are read.
    segmentation: Vec<u32>,
}

impl Drop for SwitchedOff {
    fn drop(&mut self) {
        for feature in &self.features {
            if let Err(error) = ethtool::set_feature(&self.device, *feature, true) {
                tracing::warn!(device = self.device, %error, "cannot switch an offload on again");
            }
        }
    }
}

/// Common prefix of the features of `NETIF_F_ALL_TSO`, in the names of `ethtool -k`.
const SEGMENTATION: &str = "tx-tcp";

impl SwitchedOff {
    pub(crate) fn none(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            features: Vec::new(),
            segmentation: Vec::new(),
        }
    }

    /// Returns true if the device offers TCP segmentation. If `may` is set, switches it off first.
    pub(crate) fn segments(&mut self, may: bool) -> bool {
        let is_on = |device: &str, number| ethtool::has_feature(device, number) == Some(true);
        let mut is_left = false;
        if self.segmentation.is_empty() {
            let all = ethtool::feature_numbers(&self.device).unwrap_or_default();
            let cutting = all
                .into_iter()
                .filter(|(name, _)| name.starts_with(SEGMENTATION));
            self.segmentation = cutting.map(|(_, number)| number).collect();
        }
        for number in self.segmentation.clone() {
            if !is_on(&self.device, number) {
                continue;
            }
            // The result shows in the features read below.
            if may && ethtool::set_feature(&self.device, number, false).is_ok() {
                self.note(number);
            }
            is_left |= is_on(&self.device, number);
        }
        is_left
    }

    fn note(&mut self, feature: u32) {
        if !self.features.contains(&feature) {
            self.features.push(feature);
        }
    }
}

/// Applies `wanted` to the active features of every device that receives frames for the port; for a bond, these are its
/// member devices. The same for GRO of the devices below.
///
/// # Errors
///
/// When a feature is on and must not or cannot be switched off. Features already switched off are restored.
pub(crate) fn see_to_all(
    wanted: Offloads,
    port: &Port,
    device: &Device,
) -> Result<Vec<SwitchedOff>, DataplaneError> {
    let system = |source| DataplaneError::System {
        what: "asking for the devices below a port's by rtnetlink",
        source,
    };
    let Some(link) = link::find(device.index).map_err(system)? else {
        // The device is gone.
        return Ok(Vec::new());
    };
    let receivers = nature::receivers(device.index, &link).map_err(system)?;
    let strips_tags =
        |name: &String| drivers::driver(&ethtool::driver(name).unwrap_or_default()).strips_tags;
    let stripping = receivers
        .iter()
        .filter(|name| strips_tags(name))
        .map(|name| see_to(wanted, port, name, &HARMFUL));
    let below = nature::below(device.index, &link).map_err(system)?;
    let merging = below.iter().map(|name| see_to(wanted, port, name, &[GRO]));
    stripping.chain(merging).collect()
}

fn see_to(
    wanted: Offloads,
    port: &Port,
    device: &str,
    features: &[Harmful],
) -> Result<SwitchedOff, DataplaneError> {
    let mut off = SwitchedOff::none(device);
    let numbers = ethtool::feature_numbers(device).unwrap_or_default();
    for harmful in features {
        let known = numbers.iter().find(|(name, _)| name == harmful.feature);
        let Some((_, number)) = known else { continue };
        let is_on = || ethtool::has_feature(device, *number) == Some(true);
        if !is_on() {
            continue;
        }
        let Harmful { name, does, .. } = *harmful;
        match wanted {
            Offloads::Ignore => {
                tracing::warn!(port = port.name, device, "{name} is on: it {does}");
                continue;
            }
            Offloads::Check => {}
            Offloads::Manage => {
                // The result shows in the features read below.
                let _ = ethtool::set_feature(device, *number, false);
                if !is_on() {
                    tracing::info!(
                        port = port.name,
                        device,
                        "{name} is off while the switch runs"
                    );
                    off.features.push(*number);
                    continue;
                }
            }
        }
        return Err(DataplaneError::Offload {
            port: port.name.clone(),
            device: device.to_owned(),
            what: name,
            does,
            refused: wanted == Offloads::Manage,
        });
    }
    Ok(off)
}
