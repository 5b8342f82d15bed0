//! Ports attached and released at run time, as their devices appear and disappear.
//!
//! Everything slow (loading, attaching, binding) happens here, on a thread that no frame waits for. The dataplane threads
//! only take rings in and hand them out between two rounds.

use std::path::PathBuf;

use weir_api::words::Express as State;
use weir_config::daemon::{DaemonConfig, Port};
use weir_core::{Command, PortId};
use weir_ebpf::queue;

use crate::error::DataplaneError;
use crate::exchange::express::ExpressOrder;
use crate::exchange::link::AttachedPort;
use crate::exchange::messages::Request;
use crate::kernel::devices::{self, Device};
use crate::kernel::ethtool;
use crate::memory::shares::Shares;
use crate::start::attach::{self, AttachedProgram};
use crate::start::binding::{self, door_to, Wish};
use crate::start::programs::Programs;
use crate::Dataplane;

/// State for opening a port.
#[derive(Debug)]
pub(super) struct Late {
    /// With the queues and chunks that the memory was allocated for.
    pub(super) config: DaemonConfig,
    pub(super) pin_root: PathBuf,
    pub(super) shares: Shares,
}

impl Dataplane {
    /// Attaches `port`'s device and begins to forward. Returns `None` when there is no device, or the port has one already.
    ///
    /// # Errors
    ///
    /// The reason for which it cannot be used; nothing is attached then.
    pub(super) fn take_port(
        &mut self,
        port: PortId,
    ) -> Result<Option<AttachedPort>, DataplaneError> {
        let index = port.index();
        let Some(mut settings) = self.late.config.ports.get(index).cloned() else {
            return Ok(None);
        };
        if self
            .ports
            .get(index)
            .is_none_or(|slot| slot.attached.is_some())
        {
            return Ok(None);
        }
        let device = match devices::find_one(&self.late.config, &settings) {
            Err(DataplaneError::NoDevice { .. }) => return Ok(None),
            found => found?,
        };
        let late = &self.late;
        let mut attached = attach::attach_one(
            &late.config,
            port,
            &device,
            Some(&late.pin_root),
            self.express(),
            &mut Programs::default(),
        )?;
        let opened = self.open_port(&mut settings, &device, &mut attached, port);
        if let Err(error) = opened {
            self.close_port(port, Some(device.index));
            attach::detach_all([attached]);
            return Err(error);
        }
        if let Some(express) = self.express() {
            express.arrive(port, &device);
        }
        let facts = attached.facts;
        if let Some(slot) = self.ports.get_mut(index) {
            slot.attached = Some(attached);
        }
        Ok(Some(facts))
    }

    fn open_port(
        &mut self,
        settings: &mut Port,
        device: &Device,
        attached: &mut AttachedProgram,
        port: PortId,
    ) -> Result<(), DataplaneError> {
        let config = &self.late.config;
        attached.see_to_device(config, settings, device)?;
        let has = ethtool::receive_queues(&settings.device);
        // Not more queues than the memory was allocated for.
        let made_for = settings.queue_count.unwrap_or(1);
        let rest = has.map_or(1, |has| has.saturating_sub(settings.queue).max(1));
        settings.queue_count = Some(made_for.min(rest));
        attach::check_queues(&config.ports, settings, has)?;
        attach::check_credits(config, settings)?;
        let shares = &mut self.late.shares;
        let wish = Wish {
            zero_copy: config.dataplane.zero_copy,
            patience: queue::PATIENCE,
        };
        let sockets = binding::open(config, settings, device, attached, wish, shares)?;
        binding::check_buffers(config, settings, device, &sockets)?;
        let door = door_to(config, device, &sockets)?;
        let ways = &self.running.threads.ways;
        let running = &self.running;
        let address = attached.facts.address;
        let of_device = (address, device.is_virtual);
        if !ways.join(port, of_device, sockets, |request| running.ask(request)) {
            return Err(DataplaneError::Ended);
        }
        attach::open_door(settings, attached, door)
    }

    /// Releases `port`'s device, which may be gone. Frames that wait for it are dropped and
    /// counted.
    ///
    /// # Errors
    ///
    /// Those of [`PortProgram::detach`](weir_ebpf::PortProgram::detach); the port is released nevertheless.
    pub(super) fn release_port(&mut self, port: PortId) -> Result<(), DataplaneError> {
        if self.attached_at(port).is_none() {
            return Ok(());
        }
        // From here on neither path sends frames to the device.
        let state = State::NoDevice;
        self.running
            .ask(Request::Express(ExpressOrder::Judge { port, state }));
        if let Some(express) = self.express() {
            express.leave(port);
        }
        let Some(slot) = self.ports.get_mut(port.index()) else {
            return Ok(());
        };
        let facts = slot.attached.as_ref().map(|attached| attached.facts);
        let driver = facts.filter(|facts| facts.zero_copy).map(|it| it.ifindex);
        // From here on no frame arrives.
        let detached = slot.detach();
        self.close_port(port, driver);
        detached.map_err(|source| DataplaneError::Program {
            port: self.late.config.ports[port.index()].name.clone(),
            source,
        })
    }

    /// Closes `port`'s sockets, if any, and drops its frames. `device` is its device if it was used in zero-copy.
    fn close_port(&mut self, port: PortId, device: Option<u32>) {
        let running = &self.running;
        let ways = &running.threads.ways;
        if !ways.part(port, |request| running.ask(request)) {
            tracing::error!(%port, "a dataplane thread does not release a port");
        }
        let others = self.ports.iter().enumerate();
        let other = others
            .filter(|(index, _)| *index != port.index())
            .find_map(|(index, slot)| Some((index, slot.socket()?)));
        if let Err(error) = self.late.shares.note_closed(port.index(), other) {
            tracing::error!(%error, "packet memory can no longer be shared; restart the switch before a device returns");
        }
        if let (Some(ifindex), Some(settings)) = (device, self.late.config.ports.get(port.index()))
        {
            let queues = settings.queue..settings.queue + settings.queue_count.unwrap_or(1);
            for queue in queues {
                if !self.late.shares.wait_until_free(ifindex, queue) {
                    tracing::error!(%port, queue, "the driver does not return packet memory");
                }
            }
        }
        // The chunks of its kernel side are free only from here on: nothing else can write into them.
        running.ask(Request::Command(Command::DeviceGone { port }));
    }
}
