//! Checks of a device before a program is attached, and the choice of the XDP mode.

use nix::errno::Errno;
use weir_config::daemon::{DaemonConfig, Port, XdpMode};
use weir_ebpf::{AttachMode, EbpfError};

use crate::error::DataplaneError;
use crate::holder::Holder;
use crate::kernel::devices::Device;

/// Returns the error for a program that cannot be attached, with the process that uses the device.
pub(super) fn cannot_attach(port: &Port, device: &Device, source: EbpfError) -> DataplaneError {
    let holder = match source {
        EbpfError::Busy { .. } => Holder::find(&port.device, device.index),
        EbpfError::Attach {
            mode: "native",
            ref source,
            ..
        } if source.raw_os_error() == Some(Errno::EOPNOTSUPP as i32) => {
            return DataplaneError::NoNative {
                port: port.name.clone(),
                device: port.device.clone(),
            };
        }
        _ => None,
    };
    match holder {
        Some(holder) => taken(port, holder),
        None => DataplaneError::Program {
            port: port.name.clone(),
            source,
        },
    }
}

fn taken(port: &Port, holder: Holder) -> DataplaneError {
    DataplaneError::Taken {
        port: port.name.clone(),
        device: port.device.clone(),
        holder: holder.into(),
    }
}

/// Refuses a device used by a switch with another run directory, which will not release it soon.
pub(super) fn check_holder(
    config: &DaemonConfig,
    port: &Port,
    device: &Device,
) -> Result<(), DataplaneError> {
    match Holder::find(&port.device, device.index) {
        Some(holder) if holder.is_other_switch(&config.run_dir) => Err(taken(port, holder)),
        _ => Ok(()),
    }
}

/// Refuses native XDP if no frame would get through.
pub(super) fn check_metadata(
    mode: XdpMode,
    port: &Port,
    device: &Device,
) -> Result<(), DataplaneError> {
    if mode != XdpMode::Native || device.driver.metadata {
        return Ok(());
    }
    Err(DataplaneError::NoMetadata {
        port: port.name.clone(),
        device: port.device.clone(),
        driver: device.driver.name,
    })
}

/// Chooses the mode. With `auto`, native XDP is useless if the program cannot write metadata.
pub(super) fn attach_mode(mode: XdpMode, port: &Port, device: &Device) -> AttachMode {
    match mode {
        // Generic mode does not involve the driver.
        XdpMode::Auto if device.generic_only => AttachMode::Generic,
        XdpMode::Auto if port.hardware_time => AttachMode::Native,
        XdpMode::Auto if !device.driver.metadata => AttachMode::Generic,
        XdpMode::Auto => AttachMode::Auto,
        XdpMode::Native => AttachMode::Native,
        XdpMode::Generic => AttachMode::Generic,
    }
}
