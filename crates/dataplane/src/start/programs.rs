//! The XDP programs of the ports before they are attached.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use weir_config::daemon::{DaemonConfig, Port};
use weir_core::PortId;
use weir_ebpf::{EbpfError, Extras, PortProgram, PortSettings};

use crate::error::DataplaneError;
use crate::kernel::devices::{port_ids, Device};
use crate::kernel::express::ExpressPath;
use crate::kernel::settings;

const THREADS_MAX: usize = 8;

/// Programs that are loaded but not attached yet.
#[derive(Debug, Default)]
pub(crate) struct Programs(BTreeMap<(PortId, u32), PortProgram>);

impl Programs {
    /// Loads the programs of all ports that have a device.
    ///
    /// # Errors
    ///
    /// When the kernel refuses one.
    pub(super) fn load(
        config: &DaemonConfig,
        devices: &[Option<Device>],
        express: Option<&ExpressPath>,
    ) -> Result<Self, DataplaneError> {
        let mut loaded = Self::default();
        loaded.load_missing(config, devices, express)?;
        Ok(loaded)
    }

    /// Loads the programs of ports that have a device and no program here. The verifier is slow, so several threads load in
    /// parallel.
    ///
    /// # Errors
    ///
    /// When the kernel refuses one.
    pub(super) fn load_missing(
        &mut self,
        config: &DaemonConfig,
        devices: &[Option<Device>],
        express: Option<&ExpressPath>,
    ) -> Result<(), DataplaneError> {
        let ports = port_ids().zip(devices);
        let there = ports.filter_map(|(number, device)| Some((number, device.as_ref()?)));
        let missing: Vec<(PortId, &Device)> = there
            .filter(|(number, device)| !self.0.contains_key(&(*number, device.index)))
            .collect();
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let share = missing.len().div_ceil(threads.min(THREADS_MAX)).max(1);
        let load_share = |ports: &[(PortId, &Device)]| -> Result<Vec<_>, DataplaneError> {
            let programs = ports.iter().map(|(number, device)| {
                let program = load(config, *number, device, express)?;
                Ok(((*number, device.index), program))
            });
            programs.collect()
        };
        let load_share = &load_share;
        let shares: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = missing
                .chunks(share)
                .map(|ports| scope.spawn(move || load_share(ports)))
                .collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        for share in shares {
            let share = share.map_err(|_| DataplaneError::System {
                what: "loading programs",
                source: std::io::Error::other("a thread panicked"),
            })?;
            self.0.extend(share?);
        }
        Ok(())
    }

    pub(super) fn take(&mut self, number: PortId, device: &Device) -> Option<PortProgram> {
        self.0.remove(&(number, device.index))
    }
}

/// Loads one port's program. If the verifier refuses the program with the express path, the port
/// gets the smaller one without.
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
        keeps_slots: config.has_credits(),
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

/// Returns the settings without sockets: frames are passed to the kernel, where a keeper counts them.
pub(super) fn closed(port: &Port, number: PortId, cut_length: u16) -> PortSettings {
    PortSettings {
        fallback: weir_ebpf::Fallback::Pass,
        ..settings::program(port, number, cut_length)
    }
}
