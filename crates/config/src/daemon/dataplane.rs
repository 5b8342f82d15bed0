//! `[dataplane]`.

use std::num::NonZeroUsize;
use std::str::FromStr;

use weir_core::{Bytes, Duration, PartsPerMillion, Quanta, SwitchConfig};

use crate::reader::Table;
use crate::settings::{quoted, settings, valid, words, Value};
use crate::switch::{Express, FrameConfig};

settings! {
    /// `[dataplane]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    DataplaneConfig in "dataplane" {
        "cell" cell: Bytes = FrameConfig::DEFAULT.cell, "64 B to 64 KiB", Restart, valid::anything;
            "Buffers are charged in whole cells, so that tiny frames cannot use up the packet memory."
        "chunk" chunk: Option<Bytes> = None, "`\"2KiB\"`, `\"4KiB\"`", Restart, valid::anything;
            "UMEM chunk: 256 B for metadata, and a frame or part of one in the rest. Unset: the smallest that holds a frame on every port; [some drivers](drivers.md) in zero-copy use only a part of it."
        "mtu" mtu: Bytes = FrameConfig::DEFAULT.mtu, "68 B to 9216 B", Restart, valid::anything;
            "Longest payload, on every port; the daemon does not start on a device whose MTU is smaller. The Ethernet header and two VLAN tags are added to it. Frames longer than a chunk take several ([jumbo frames](../internals/internals.md#jumbo-frames)); a `cell` can then be no larger than a chunk less 256 B."
        "rx-ring" rx_ring: Option<u32> = None, "powers of two, 64 to 32768", Restart, valid::given(ring);
            "Entries of each RX ring. Unset: 2048; without lossless classes at most 16384 in all rings together, and at least 256 in each."
        "tx-ring" tx_ring: u32 = 2048, "powers of two, 64 to 32768", Restart, ring;
            "Entries of each TX ring."
        "spin" spin: Duration = Duration::from_micros(50), "", Restart, valid::anything;
            "Minimum time for which the dataplane thread polls for frames before it sleeps. It polls for up to four times the recent cost of a wake-up (at most 2 ms), and without result for no more than 0.5 % of the time. From `\"2ms\"` on, exactly this time. `\"0ns\"` where many switches share few cores."
        "cpu" cpu: Option<usize> = None, "", Restart, valid::anything;
            "CPU to which the thread of the switch core is pinned. No other thread of the daemon uses it. A CPU that the machine does not have is refused."
        "workers" workers: Workers = Workers::default(), "1 to 64, `\"auto\"`", Restart, valid::anything;
            "Threads that serve the sockets. 1: the thread of the switch core serves them. More: that many additional threads, with ports assigned in turn, and never more than there are ports. `\"auto\"`: two fewer than there are CPUs."
        "worker-cpus" worker_cpus: Vec<usize> = Vec::new(), "", Restart, valid::anything;
            "CPUs to which those threads are pinned, in turn; other threads keep off them."
        "busy-poll" busy_poll: Duration = Duration::ZERO, "", Restart, valid::anything;
            "Above zero: preferred busy polling. System calls on a socket poll the device for up to this time, instead of waiting for interrupts."
        "napi-defer" napi_defer: Option<Duration> = None, "`\"0ns\"`, or whole microseconds from `\"10us\"` to `\"10ms\"`", Restart, valid::given(deferral);
            "Above zero: ports' devices poll for frames again after this time, and enable interrupts after two empty polls (`gro_flush_timeout`, `napi_defer_hard_irqs`; Linux 6.13). The daemon restores the previous values at the end. Saves CPU time, [at the cost of latency](../guide/deploy.md#deferred-interrupts). Unset: `\"200us\"` with `busy-poll`, which requires it, else unchanged."
        "huge-pages" huge_pages: HugePages = HugePages::Auto, "`\"auto\"`, `\"off\"`, `\"require\"`", Restart, valid::anything;
            "Packet memory in huge pages of 2 MiB: if enough are free, never, or always."
        "pause-time" pause_time: Quanta = FrameConfig::DEFAULT.pause_time, "1 to 65535", Restart, quanta;
            "Pause time of an XOFF, in quanta of 512 bit times; refreshed after half of it."
        "feedback-refresh" feedback_refresh: Duration = FrameConfig::DEFAULT.feedback_refresh, "above 0", Restart, valid::anything;
            "A Transmit Feedback of a `level` class is repeated after this time, and sooner when it is new; a received one is valid for 16 times as long. Must be the same in all switches."
        "shaper-burst" shaper_burst: Duration = Duration::from_micros(200), "", Restart, valid::anything;
            "Burst that a port may send back to back after the thread was late: as much as its line carries in this time, and at least two full frames. A port sends a batch of up to 64 frames in each round of the thread."
        "strict-share" strict_share: PartsPerMillion = SwitchConfig::STRICT_SHARE, "1% to 99%", Restart, share;
            "What [strict classes and guaranteed rates](../operations/scheduling.md) together may take of a port's line while others could send."
        "zero-copy" zero_copy: ZeroCopy = ZeroCopy::Auto, "`\"auto\"`, `\"off\"`, `\"require\"`", Restart, valid::anything;
            "Sharing of memory between sockets and driver: all ports or none. With `\"auto\"`, one port whose driver does not support it puts all ports into copy mode."
        "xdp-mode" xdp_mode: XdpMode = XdpMode::Auto, "`\"auto\"`, `\"native\"`, `\"generic\"`", Restart, valid::anything;
            "`\"auto\"` uses native XDP, or generic (with a warning) if the driver has none."
        "express" express: Express = Express::Off, "`\"off\"`, `\"auto\"`, `\"on\"`", Restart, valid::anything;
            "Whether ports use the [express path](../internals/express.md): XDP forwards frames that need not wait from device to device. `\"auto\"`: where the device is known to keep frames in order. `\"on\"`: also where the daemon does not know."
        "offloads" offloads: Offloads = Offloads::Check, "`\"check\"`, `\"manage\"`, `\"ignore\"`", Restart, valid::anything;
            "Treatment of offloads that remove VLAN tags from received frames or merge frames: `rxvlan`, `lro` and `rx-gro-hw` of a NIC, and `gro` of the devices below a port's own. Refuse the start, switch them off until the end, or only log them. The same for `lro` where a device [needs it](../guide/deploy.md#long-frames-on-vmxnet3) to take long frames."
        "impair" impair: bool = false, "", Restart, valid::anything;
            "Whether `switchctl impair` may drop, mark and delay frames, pause neighbours and take links down, to test transports. Never in production. Requires packet memory for 1024 delayed frames."
        "history-interval" history_interval: Duration = Duration::from_secs(1), "", Restart, valid::anything;
            "Time between two samples of `/v1/history`."
        "history-length" history_length: usize = 600, "1 to 1000000", Restart, valid::count(1, 1_000_000);
            "Number of samples kept."
        "spare-buffers" spare_buffers: Bytes = Bytes::ZERO, "", Restart, valid::anything;
            "Packet memory beyond the needs of all buffers at the start: room for larger ones after a [reload](../operations/operations.md#reloading)."
    }
}

impl DataplaneConfig {
    /// `XDP_PACKET_HEADROOM` of linux/bpf.h: bytes of a chunk that XDP reserves in front of the frame.
    pub(crate) const XDP_HEADROOM: Bytes = Bytes::new(256);
    /// Maximum default size of an RX ring.
    pub(crate) const RX_RING: u32 = 2048;
    /// Minimum size of a chunk.
    pub const CHUNK_MIN: Bytes = Bytes::new(2048);
    /// Maximum payload of a frame that can be configured.
    pub const MTU_MAX: Bytes = Bytes::new(9216);

    /// The part that applies to any switch.
    pub fn frames(&self) -> FrameConfig {
        FrameConfig {
            cell: self.cell,
            mtu: self.mtu,
            pause_time: self.pause_time,
            feedback_refresh: self.feedback_refresh,
        }
    }

    /// The defaults for a switch with such frames.
    pub fn of(frames: FrameConfig) -> Self {
        Self {
            cell: frames.cell,
            mtu: frames.mtu,
            pause_time: frames.pause_time,
            feedback_refresh: frames.feedback_refresh,
            ..Self::default()
        }
    }

    /// Longest frame from destination address to last payload byte.
    pub fn frame_length_max(&self) -> Bytes {
        self.frames().frame_length_max()
    }

    /// Bytes of a chunk; the minimum if none is set.
    pub fn chunk_size(&self) -> Bytes {
        self.chunk.unwrap_or(Self::CHUNK_MIN)
    }

    /// Entries of each RX ring of a [settled](super::DaemonConfig::settled) configuration.
    pub fn rx_ring(&self) -> u32 {
        self.rx_ring.unwrap_or(Self::RX_RING)
    }

    /// The same settings with chunks of this size.
    #[must_use]
    pub fn with_chunk(&self, chunk: Bytes) -> Self {
        Self {
            chunk: Some(chunk),
            ..self.clone()
        }
    }

    /// Bytes of a frame that fit a chunk.
    pub fn frame_part(&self) -> Bytes {
        self.chunk_size().saturating_sub(Self::XDP_HEADROOM)
    }

    /// Chunks needed for the longest frame.
    pub fn chunks_of_a_frame(&self) -> usize {
        let part = self.frame_part().get().max(1);
        self.frame_length_max().get().div_ceil(part) as usize
    }

    /// Returns true if a frame may take several chunks.
    pub fn has_long_frames(&self) -> bool {
        self.chunks_of_a_frame() > 1
    }

    /// γmax: the charge of the longest frame.
    pub fn gamma_max(&self) -> Bytes {
        self.frames().gamma_max()
    }
}

fn ring(entries: &u32) -> Result<(), String> {
    if entries.is_power_of_two() && (64..=32_768).contains(entries) {
        return Ok(());
    }
    Err(format!(
        "{entries} is not a power of two between 64 and 32768 entries"
    ))
}

fn quanta(quanta: &Quanta) -> Result<(), String> {
    valid::within(1, u64::from(u16::MAX))(&quanta.0)
}

/// Below this, devices would only poll.
fn deferral(interval: &Duration) -> Result<(), String> {
    let range = Duration::from_micros(10)..=Duration::from_millis(10);
    let is_whole = interval.as_nanos().is_multiple_of(1_000);
    match interval.is_zero() || is_whole && range.contains(interval) {
        true => Ok(()),
        false => Err("must be \"0ns\", or whole microseconds from \"10us\" to \"10ms\"".to_owned()),
    }
}

fn share(share: &PartsPerMillion) -> Result<(), String> {
    let bounds = PartsPerMillion::from_percent(1)..=PartsPerMillion::from_percent(99);
    match bounds.contains(share) {
        true => Ok(()),
        false => Err("must be between \"1%\" and \"99%\"".to_owned()),
    }
}

words! {
    ZeroCopy: [("auto", Self::Auto), ("off", Self::Off), ("require", Self::Require)];
    XdpMode: [("auto", Self::Auto), ("native", Self::Native), ("generic", Self::Generic)];
    Offloads: [("check", Self::Check), ("manage", Self::Manage), ("ignore", Self::Ignore)];
    HugePages: [("auto", Self::Auto), ("off", Self::Off), ("require", Self::Require)];
}

/// Use of memory shared by sockets and driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroCopy {
    /// If the driver supports it.
    Auto,
    /// Never.
    Off,
    /// Required: the daemon does not start without it.
    Require,
}

/// Attachment of the XDP program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// Native, or generic if the driver has no XDP.
    Auto,
    /// Native, required.
    Native,
    /// Generic.
    Generic,
}

/// Treatment of NIC offloads that change frames before the switch receives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offloads {
    /// Refuse to start.
    Check,
    /// Switch them off while the daemon runs.
    Manage,
    /// Log them.
    Ignore,
}

/// Use of huge pages for the packet memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HugePages {
    /// If enough of them are available.
    Auto,
    /// Never.
    Off,
    /// Required: the daemon does not start without them.
    Require,
}

/// Threads that serve the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// With 1, the thread of the switch core also serves the sockets. Otherwise the number of additional threads.
    Count(usize),
    /// Chosen by the number of CPUs.
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

/// A whole number, or a word.
impl Value for Workers {
    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        Some(match self {
            Self::Count(count) => count.to_string(),
            Self::Auto => quoted("auto"),
        })
    }
}

impl Workers {
    /// Maximum number of threads.
    pub const MAX: usize = 64;

    /// Threads in addition to that of the switch core, for `ports` ports and `cpus` available CPUs. Zero means that the
    /// core's thread also serves the sockets. `auto` leaves one CPU for the core and one for everything else.
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
                chunk: Some(Bytes::new(chunk)),
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
