//! Frames of several buffers, on devices that support them only if `lro` was on when they were brought up.
//!
//! Attaching a program switches `lro` off, and nothing switches it on again. A device that is reset afterwards, for example
//! by an MTU change, loses every long frame. Therefore `lro` must be on when a program is attached, and the device is
//! brought up with it once the program is gone, since it may have been reset in between.

use nix::net::if_::if_nametoindex;
use weir_config::daemon::{DataplaneConfig, Offloads, Port};
use weir_config::drivers::{up_with_lro, LRO};

use super::devices::Device;
use super::ethtool;
use crate::error::DataplaneError;

/// Restores `lro` of a device once its program is gone.
#[derive(Debug)]
pub(crate) struct Lro {
    device: String,
    index: u32,
    feature: u32,
}

impl Lro {
    /// Switches `lro` on. The device may be gone and its name reused.
    pub(crate) fn put_back(&self) {
        let device = self.device.as_str();
        if if_nametoindex(device) != Ok(self.index) {
            return;
        }
        if let Err(error) = bring_up_with_lro(device, self.feature) {
            tracing::warn!(device, %error, "cannot switch lro on again, which long frames need at the next start");
        }
    }
}

fn bring_up_with_lro(device: &str, feature: u32) -> std::io::Result<()> {
    ethtool::set_feature(device, feature, true)?;
    ethtool::bring_up_again(device)
}

/// Call this before attaching a program. Returns the setting to restore, if the device needs it. If a program `is_attached`,
/// attaching it has switched `lro` off.
///
/// # Errors
///
/// When `lro` is off and must not or cannot be switched on: long frames would be lost.
pub(crate) fn check(
    config: &DataplaneConfig,
    port: &Port,
    device: &Device,
    is_attached: bool,
) -> Result<Option<Lro>, DataplaneError> {
    let name = port.device.as_str();
    let Some(longest) = device.driver.lro_above else {
        return Ok(None);
    };
    let numbers = ethtool::feature_numbers(name).unwrap_or_default();
    let known = numbers.iter().find(|(feature, _)| feature == LRO);
    let Some((_, feature)) = known.filter(|_| device.driver.needs_lro(config)) else {
        return Ok(None);
    };
    let is_on = || ethtool::has_feature(name, *feature) == Some(true);
    let is_managed = config.offloads == Offloads::Manage;
    if is_managed && !is_attached && !is_on() {
        // The result shows in the features read below.
        let _ = bring_up_with_lro(name, *feature);
    }
    let may_be_off = config.offloads == Offloads::Ignore;
    if is_on() || (is_attached && !may_be_off) {
        return Ok(Some(Lro {
            device: name.to_owned(),
            index: device.index,
            feature: *feature,
        }));
    }
    if may_be_off {
        tracing::warn!(
            port = port.name,
            device = name,
            mend = up_with_lro(name),
            "lro is off: frames above {} B may be lost, and then count as rx_other",
            longest.get()
        );
        return Ok(None);
    }
    Err(DataplaneError::LongFrames {
        port: port.name.clone(),
        device: name.to_owned(),
        driver: device.driver.name,
        longest,
    })
}
