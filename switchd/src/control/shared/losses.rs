//! Losses below the switch: counters of sockets and devices, and the frames missing between them.

use std::sync::Mutex;

use weir_api::counters::{DeviceLosses, KernelLosses};
use weir_core::PortId;
use weir_dataplane::messages::PortSnapshot;

use super::lock;
use crate::os::device_losses;
use crate::os::stack_drops::StackDrops;

/// Frames certainly lost, by the place where they went missing. The counts only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Redirected to a socket, but received by none.
    pub receive: u64,
    /// Sent, but not counted as sent by the device.
    pub transmit: u64,
    /// Received by the device, but counted by neither program nor sockets.
    pub dropped: u64,
}

/// One port's missing frames.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    missing: Missing,
    compares_sent: bool,
}

/// Missing frames by port, and drops of the kernel's network stack.
#[derive(Debug)]
pub struct Losses {
    places: Mutex<Vec<Place>>,
    /// Drops of the kernel's network stack.
    pub stack: StackDrops,
}

impl Losses {
    pub(super) fn new(port_count: usize) -> Self {
        Self {
            places: Mutex::new(vec![Place::default(); port_count]),
            stack: StackDrops::default(),
        }
    }

    /// Returns the frames missing at a port.
    pub fn missing(&self, port: PortId) -> Missing {
        self.place(port).missing
    }

    /// Frames that a port sends are compared with those that its device counts as sent: it is known to count them.
    pub fn compares_sent(&self, port: PortId) -> bool {
        self.place(port).compares_sent
    }

    fn place(&self, port: PortId) -> Place {
        let all = lock(&self.places);
        all.get(port.index()).copied().unwrap_or_default()
    }

    /// Notes the frames that are missing at a port; returns the note before.
    pub(in crate::control) fn note(
        &self,
        port: PortId,
        missing: Missing,
        compares_sent: bool,
    ) -> Missing {
        let now = Place {
            missing,
            compares_sent,
        };
        let mut all = lock(&self.places);
        let place = all.get_mut(port.index());
        place
            .map_or(now, |place| std::mem::replace(place, now))
            .missing
    }

    /// Returns the frames that the kernel lost at a port.
    pub fn of_kernel(&self, port: PortId, state: &PortSnapshot) -> KernelLosses {
        let missing = self.missing(port);
        KernelLosses {
            rx_missing_total: missing.receive,
            tx_missing_total: missing.transmit,
            ..state.kernel
        }
    }

    /// Returns the frames that the device with this index lost, by its own counters and by the kernel's.
    pub fn of_device(&self, port: PortId, ifindex: u32) -> DeviceLosses {
        self.with_missing(port, device_losses::read(ifindex))
    }

    /// Returns the device's own counters plus the frames that are missing behind it.
    pub(in crate::control) fn with_missing(
        &self,
        port: PortId,
        device: DeviceLosses,
    ) -> DeviceLosses {
        DeviceLosses {
            rx_dropped_total: self.missing(port).dropped,
            ..device
        }
    }
}
