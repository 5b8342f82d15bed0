//! Devices without room for a frame.
//!
//! A veth passes frames to its peer through a ring of 256 entries. When the ring is full, it drops the frame unless it
//! has a queueing discipline. With one it reports that it is full, and the frame stays in the TX ring. AF_XDP frames
//! never enter that discipline; it only has to exist. A port therefore gets one for as long as it has the device.

use weir_config::kernels::FULL_VETH;
use weir_netlink::queueing;

use super::devices::Device;
use super::refused::running_kernel;

/// Kind of Weir's queueing discipline.
const FIFO: &str = "pfifo";
/// Handle that marks a queueing discipline as Weir's: "WE".
const OURS: u32 = 0x5745;

/// Weir's queueing discipline at the root of a device.
#[derive(Debug)]
pub(crate) struct Queueing {
    index: u32,
}

impl Queueing {
    /// Installs one on a device that needs it and has none. Adopts one left by a killed switch.
    pub(crate) fn see_to(name: &str, device: &Device) -> Option<Self> {
        if !device.driver.needs_queueing || !kernel_says() {
            return None;
        }
        let index = device.index;
        let seen_to = queueing::root(index).and_then(|root| match root {
            None => queueing::add(index, FIFO, OURS).map(|()| true),
            Some(root) => Ok(root.handle == OURS),
        });
        match seen_to {
            Ok(is_ours) => is_ours.then_some(Self { index }),
            Err(error) => {
                tracing::warn!(device = name, %error, "no queueing discipline: if the other end of this veth has no room, frames are dropped, even lossless ones; add one: tc qdisc add dev {name} root pfifo");
                None
            }
        }
    }

    /// Removes it. The device may be gone.
    pub(crate) fn put_back(&self) {
        if let Err(error) = queueing::remove(self.index, OURS) {
            tracing::debug!(%error, "cannot remove a queueing discipline; it may have disappeared with its device");
        }
    }
}

/// Returns true if the device, with any queueing discipline, reports that it is full instead of dropping frames.
pub(crate) fn says_when_full(device: &Device) -> bool {
    let has_queueing = || queueing::root(device.index).is_ok_and(|root| root.is_some());
    !device.driver.needs_queueing || kernel_says() && has_queueing()
}

/// On earlier kernels a device could stay full forever (commit 5442a9da6978, "veth: more robust handing of race to avoid txq
/// getting stuck").
fn kernel_says() -> bool {
    running_kernel().is_some_and(|running| running >= FULL_VETH.since)
}
