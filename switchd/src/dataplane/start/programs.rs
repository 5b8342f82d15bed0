//! The XDP programs of the ports before they are at their devices.

use std::collections::BTreeMap;

use weir_config::daemon::{DaemonConfig, Port};
use weir_core::PortId;
use weir_ebpf::{EbpfError, Extras, PortProgram, PortSettings};

use crate::dataplane::error::DataplaneError;
use crate::dataplane::kernel::devices::Device;
use crate::dataplane::kernel::express::ExpressPath;
use crate::dataplane::kernel::settings;

/// Programs that are in the kernel and at no device yet.
#[derive(Debug, Default)]
pub(in crate::dataplane) struct Programs(BTreeMap<(PortId, u32), PortProgram>);

impl Programs {
    /// Those of all ports that have a device.
    ///
    /// # Errors
    ///
    /// When the kernel refuses one.
    pub(super) fn load(
        config: &DaemonConfig,
        devices: &[Option<Device>],
        express: Option<&ExpressPath>,
    ) -> Result<Self, DataplaneError> {
        let ports = crate::dataplane::ids().zip(devices);
        let there = ports.filter_map(|(number, device)| Some((number, device.as_ref()?)));
        let mut loaded = BTreeMap::new();
        for (number, device) in there {
            let program = load(config, number, device, express)?;
            loaded.insert((number, device.index), program);
        }
        Ok(Self(loaded))
    }

    /// The one for this port at this device.
    pub(super) fn take(&mut self, number: PortId, device: &Device) -> Option<PortProgram> {
        self.0.remove(&(number, device.index))
    }
}

/// One port's. Where the verifier refuses the program with the express path, the port gets the smaller one without.
pub(super) fn load(
    config: &DaemonConfig,
    number: PortId,
    device: &Device,
    express: Option<&ExpressPath>,
) -> Result<PortProgram, DataplaneError> {
    let port = &config.ports[number.index()];
    let closed = closed(port, number, 0);
    let extras = Extras {
        express: express.and_then(|path| path.maps_for(number, device)),
        hardware_time_of: port.hardware_time.then_some(device.index),
    };
    let mut loaded = PortProgram::load_with(&closed, &extras);
    if let (Err(error @ EbpfError::Refused { .. }), Some(_)) = (&loaded, extras.express) {
        tracing::warn!(port = port.name, %error, "no express path on this port");
        express.inspect(|path| path.refuse(number));
        let smaller = Extras {
            express: None,
            ..extras
        };
        loaded = PortProgram::load_with(&closed, &smaller);
    }
    loaded.map_err(|source| DataplaneError::Program {
        port: port.name.clone(),
        source,
    })
}

/// Settings for as long as there is no socket: frames go where they went without a program, where a keeper counts them.
pub(super) fn closed(port: &Port, number: PortId, cut_length: u16) -> PortSettings {
    PortSettings {
        fallback: weir_ebpf::Fallback::Pass,
        ..settings::program(port, number, cut_length)
    }
}
