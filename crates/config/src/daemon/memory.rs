//! Packet memory: the chunks needed by buffers and rings, and defaults that bound the memory of switches with many
//! ports.
//!
//! The kernel keeps a table of all chunks for every socket of an AF_XDP device, so memory and start-up time grow with
//! the product of chunks and sockets.

use weir_core::config::{PoolConfig, PoolShare, Threshold};
use weir_core::{Alpha, Bytes, ClassMode, Priority, SwitchConfig};

use super::{DaemonConfig, DataplaneConfig, CONTROL_RESERVE_PER_PORT, VLAN_COPIES};
use crate::frames::DELAYED_MAX;
use crate::switch::{DEFAULT_CLASS, LOSSY_BUFFER};

/// Maximum total of separate buffers of the implicit class.
const SEPARATE_MAX: Bytes = Bytes::new(16 << 20);
/// Size of the pool that replaces them. With it the kernel's table for each of 64 sockets takes two huge pages.
const SHARED: Bytes = Bytes::new(3 << 20);
/// A buffer alone in the pool then has 341 KiB, at least [`LOSSY_BUFFER`].
const SHARE: Alpha = match Alpha::new(-3) {
    Some(alpha) => alpha,
    None => Alpha::ONE,
};
/// Total frames in the RX rings of a switch without lossless classes, if the file sets no `rx-ring`.
const LOSSY_RINGS: usize = 1 << 14;
/// Minimum size of those rings.
const LOSSY_RING_MIN: u32 = 256;
/// Kernel memory for each chunk and socket (`struct xdp_buff_xsk`, Linux 6.18).
const KERNEL_ENTRY: Bytes = Bytes::new(128);
const HUGE_PAGE: u64 = 2 << 20;

impl DaemonConfig {
    /// Number of UMEM chunks: one for each cell of all buffers, those in the rings, and a reserve for control frames.
    pub fn umem_frames(&self) -> usize {
        self.sized().frame_count
    }

    /// The core's configuration for computing memory: without routes.
    pub(super) fn sized(&self) -> SwitchConfig {
        self.with_routes(Vec::new()).core(&[])
    }

    /// Size of the UMEM.
    pub fn umem_size(&self) -> Bytes {
        Bytes::new(self.umem_frames() as u64 * self.dataplane.chunk_size().get())
    }

    /// Kernel memory for the tables of the UMEM, one for each socket. A large table takes whole huge pages.
    pub fn kernel_tables(&self) -> Bytes {
        let table = self.umem_frames() as u64 * KERNEL_ENTRY.get();
        let table = match table {
            ..HUGE_PAGE => table,
            _ => table.next_multiple_of(HUGE_PAGE),
        };
        Bytes::new(table * self.sockets() as u64)
    }

    /// Entries of each RX ring. Unless the file sets the number, a switch with a lossless class uses the maximum
    /// default; otherwise the total of all rings is bounded.
    pub fn rx_ring(&self) -> u32 {
        if let Some(ring) = self.dataplane.rx_ring {
            return ring;
        }
        if self.has_lossless() {
            return DataplaneConfig::RX_RING;
        }
        let each = (LOSSY_RINGS / self.sockets().max(1)).max(1);
        let power = 1 << each.ilog2();
        power.clamp(LOSSY_RING_MIN, DataplaneConfig::RX_RING)
    }

    /// Returns the names of the pools of [`core`](Self::core), in its order.
    pub fn pool_names(&self) -> Vec<String> {
        let of_file = self.pools.iter().map(|pool| pool.name.clone());
        let own = self.shares_default().then(|| DEFAULT_CLASS.to_owned());
        of_file.chain(own).collect()
    }

    /// Chunks for the maximum contents of the buffers of `core`, which is this configuration, including spare ones.
    pub(super) fn buffer_frames(&self, core: &SwitchConfig) -> usize {
        let spare = self.dataplane.spare_buffers.get() / self.dataplane.cell.get().max(1);
        core.frames_needed() + spare as usize
    }

    /// Chunks for the kernel to receive into, for control frames, for delayed frames, and for floods in two forms.
    pub(super) fn ring_frames(&self) -> usize {
        let delayed = match self.dataplane.impair {
            true => DELAYED_MAX * self.dataplane.chunks_of_a_frame(),
            false => 0,
        };
        let copies = if self.is_vlan_aware() { VLAN_COPIES } else { 0 };
        self.sockets() * self.rx_ring() as usize
            + self.ports.len() * CONTROL_RESERVE_PER_PORT
            + delayed
            + copies
    }

    /// Gives the buffers of the implicit class a pool if their number is too large for separate memory.
    pub(super) fn share_default_buffers(&self, config: &mut SwitchConfig) {
        if !self.shares_default() {
            return;
        }
        let pool = PoolConfig::new(SHARED, Bytes::ZERO);
        let share = PoolShare {
            pool: config.pools.len() as u8,
            reserved: Bytes::ZERO,
            threshold: Threshold::Dynamic(SHARE),
            xon_offset: Bytes::ZERO,
        };
        for priority in self.default_priorities() {
            if let Some(class) = config.classes.get_mut(priority.index()) {
                class.mode = ClassMode::Lossy {
                    buffer: pool.alone(&share),
                };
                class.pool = Some(share);
            }
        }
        config.pools.push(pool);
    }

    /// Returns true if the buffers of the implicit class share a pool. A file with pools sets the sharing itself.
    fn shares_default(&self) -> bool {
        let buffers = self.ports.len() * self.default_priorities().count();
        self.pools.is_empty() && buffers as u64 * LOSSY_BUFFER.get() > SEPARATE_MAX.get()
    }

    fn default_priorities(&self) -> impl Iterator<Item = Priority> + '_ {
        let all = Priority::ALL.into_iter();
        all.filter(|priority| self.class_of(*priority).is_none())
    }

    fn sockets(&self) -> usize {
        let of_port = self.ports.iter().map(|port| port.queue_count.unwrap_or(1));
        of_port.map(|count| count as usize).sum()
    }
}
