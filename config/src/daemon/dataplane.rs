//! `[dataplane]`.

use std::num::NonZeroUsize;
use std::str::FromStr;

use weir_core::{Bytes, Duration, Quanta};

/// `[dataplane]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataplaneConfig {
    /// Buffers are charged in whole cells of this size.
    pub cell: Bytes,
    /// UMEM chunk, with 256 B for metadata and headroom: a frame, or a part of one that is longer. 2 KiB or 4 KiB.
    pub chunk: Bytes,
    /// Longest payload of an Ethernet frame, on every port; header and two VLAN tags come on top.
    pub mtu: Bytes,
    /// Entries of each RX ring; a power of two.
    pub rx_ring: u32,
    /// Entries of each TX ring; a power of two.
    pub tx_ring: u32,
    /// For how long the thread looks for work before it sleeps.
    pub spin: Duration,
    /// CPU that the thread is bound to.
    pub cpu: Option<usize>,
    /// Threads that serve the sockets.
    pub workers: Workers,
    /// CPUs that those threads are bound to, in turns.
    pub worker_cpus: Vec<usize>,
    /// For how long a system call looks into the device itself; zero for never.
    pub busy_poll: Duration,
    /// Whether the packet memory is in huge pages.
    pub huge_pages: HugePages,
    /// Pause time that XOFF asks for.
    pub pause_time: Quanta,
    /// A Transmit Feedback is told again after this time.
    pub feedback_refresh: Duration,
    /// A port may send back to back what its line carries in this time, and two full frames in any case.
    pub shaper_burst: Duration,
    /// Whether sockets share memory with the driver.
    pub zero_copy: ZeroCopy,
    /// How the XDP program is attached.
    pub xdp_mode: XdpMode,
    /// Time between two samples of the history.
    pub history_interval: Duration,
    /// Samples that are kept.
    pub history_length: usize,
    /// Packet memory beside what the buffers need at the start, for larger ones that a reload brings.
    pub spare_buffers: Bytes,
}

impl DataplaneConfig {
    const HEADER_AND_TWO_TAGS: Bytes = Bytes::new(14 + 2 * 4);
    /// `XDP_PACKET_HEADROOM` of linux/bpf.h: what XDP keeps of a chunk in front of the frame.
    const XDP_HEADROOM: Bytes = Bytes::new(256);
    /// The longest payload that a switch can be told to take.
    pub const MTU_MAX: Bytes = Bytes::new(9216);

    /// Longest frame from destination address to last payload byte.
    pub fn frame_length_max(&self) -> Bytes {
        self.mtu + Self::HEADER_AND_TWO_TAGS
    }

    /// Bytes of a frame that a chunk holds.
    pub fn frame_part(&self) -> Bytes {
        self.chunk.saturating_sub(Self::XDP_HEADROOM)
    }

    /// Chunks that the longest frame takes.
    pub fn chunks_of_a_frame(&self) -> usize {
        let part = self.frame_part().get().max(1);
        self.frame_length_max().get().div_ceil(part) as usize
    }

    /// Whether a frame may take several chunks.
    pub fn has_long_frames(&self) -> bool {
        self.chunks_of_a_frame() > 1
    }

    /// The same with an MTU that is at least what frames of this length need.
    #[must_use]
    pub fn with_frames(self, length: Bytes) -> Self {
        Self {
            mtu: self
                .mtu
                .max(length.saturating_sub(Self::HEADER_AND_TWO_TAGS)),
            ..self
        }
    }

    /// γmax: the longest frame as it is charged.
    pub fn gamma_max(&self) -> Bytes {
        self.frame_length_max().round_up_to(self.cell)
    }
}

impl Default for DataplaneConfig {
    fn default() -> Self {
        Self {
            cell: Bytes::new(256),
            chunk: Bytes::new(2048),
            mtu: Bytes::new(1500),
            rx_ring: 2048,
            tx_ring: 2048,
            spin: Duration::from_micros(50),
            cpu: None,
            workers: Workers::default(),
            worker_cpus: Vec::new(),
            busy_poll: Duration::ZERO,
            huge_pages: HugePages::Auto,
            pause_time: Quanta::MAX,
            feedback_refresh: Duration::from_millis(10),
            shaper_burst: Duration::from_micros(200),
            zero_copy: ZeroCopy::Auto,
            xdp_mode: XdpMode::Auto,
            history_interval: Duration::from_secs(1),
            history_length: 600,
            spare_buffers: Bytes::ZERO,
        }
    }
}

/// Whether sockets share memory with the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroCopy {
    /// Where the driver can.
    Auto,
    /// Never.
    Off,
    /// Or not at all.
    Require,
}

/// How the XDP program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// Native, or generic where the driver has no XDP.
    Auto,
    /// Native, or not at all.
    Native,
    /// Generic.
    Generic,
}

/// Whether the packet memory is in huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HugePages {
    /// Where there are enough of them.
    Auto,
    /// Never.
    Off,
    /// Or not at all.
    Require,
}

/// Threads that serve the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// One: the thread of the switch core serves the sockets, too. More: so many beside that one.
    Count(usize),
    /// By the CPUs that there are.
    Auto,
}

impl Default for Workers {
    fn default() -> Self {
        Self::Count(1)
    }
}

/// A number of threads, or `auto`.
impl FromStr for Workers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match text.parse() {
            Ok(count) if (1..=Self::MAX).contains(&count) => Ok(Self::Count(count)),
            _ => Err(format!(
                "must be \"auto\" or a number of threads from 1 to {}",
                Self::MAX
            )),
        }
    }
}

impl Workers {
    /// The most that can be asked for.
    pub const MAX: usize = 64;

    /// Threads beside the one of the switch core, for `ports` on a machine with so many CPUs for us: zero means that the
    /// core's thread serves the sockets itself. `auto` leaves a CPU to the core and one to everybody else.
    pub fn beside_the_core(self, ports: usize, cpus: NonZeroUsize) -> usize {
        let wanted = match self {
            Self::Count(count) => count,
            Self::Auto => cpus.get().saturating_sub(2),
        };
        match wanted.min(ports) {
            0 | 1 => 0,
            count => count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_frames_take_several_chunks() {
        let of = |chunk, mtu| {
            let config = DataplaneConfig {
                chunk: Bytes::new(chunk),
                mtu: Bytes::new(mtu),
                ..DataplaneConfig::default()
            };
            (config.chunks_of_a_frame(), config.has_long_frames())
        };
        assert_eq!(of(2048, 1500), (1, false));
        assert_eq!(of(2048, 1792 - 22), (1, false));
        assert_eq!(of(2048, 1792 - 21), (2, true));
        assert_eq!(of(2048, 9216), (6, true));
        assert_eq!(of(4096, 9216), (3, true));
    }

    #[test]
    fn a_number_or_auto() {
        assert_eq!("auto".parse(), Ok(Workers::Auto));
        assert_eq!("64".parse(), Ok(Workers::Count(64)));
        for wrong in ["", "0", "65", "-1", "Auto", "2.0"] {
            assert!(wrong.parse::<Workers>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_worker_is_the_core_itself() {
        let cpus = |count| NonZeroUsize::new(count).unwrap();
        assert_eq!(Workers::Count(1).beside_the_core(8, cpus(64)), 0);
        assert_eq!(Workers::Count(4).beside_the_core(8, cpus(2)), 4);
        assert_eq!(Workers::Count(4).beside_the_core(3, cpus(2)), 3);
        assert_eq!(Workers::Auto.beside_the_core(8, cpus(2)), 0);
        assert_eq!(Workers::Auto.beside_the_core(8, cpus(6)), 4);
        assert_eq!(Workers::Auto.beside_the_core(3, cpus(64)), 3);
        assert_eq!(Workers::Auto.beside_the_core(1, cpus(64)), 0);
    }
}
