//! Drops of the kernel's network stack at the ports' devices, by its reason.

use std::sync::OnceLock;

use weir_core::PortId;
use weir_ebpf::FreedFrames;

/// The counts, from [`begin`](Self::begin) on.
#[derive(Debug, Default)]
pub struct StackDrops(OnceLock<FreedFrames>);

impl StackDrops {
    /// Begins to count, if the kernel names reasons. May take 0.1 s.
    pub fn begin(&self) {
        match FreedFrames::new() {
            Ok(freed) => _ = self.0.set(freed),
            Err(error) => {
                tracing::info!(%error, "drops of the kernel's network stack are not counted by reason");
            }
        }
    }

    /// Counts drops at this device for `port`. To be repeated: a port may get another device.
    pub fn watch(&self, port: PortId, ifindex: u32) {
        let (Some(freed), true) = (self.0.get(), ifindex != 0) else {
            return;
        };
        if let Err(error) = freed.watch(ifindex, port.get()) {
            tracing::debug!(%port, %error, "drops of its device are not counted by reason");
        }
    }

    /// Returns ports, reasons and frames; empty if they cannot be read.
    pub fn counts(&self) -> Vec<(PortId, String, u64)> {
        let counts = self.0.get().and_then(|freed| freed.counts().ok());
        let counts = counts.into_iter().flatten();
        counts
            .map(|(port, reason, frames)| (PortId::new(port), reason, frames))
            .collect()
    }
}
