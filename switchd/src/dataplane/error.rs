//! Why a dataplane does not start.

use std::io as std_io;

use weir_config::drivers::kinds::Refusal;
use weir_config::drivers::{up_with_lro, TooShort};
use weir_core::{Bytes, ConfigError};
use weir_ebpf::EbpfError;

use crate::os::holder::Holder;

use crate::os::secret::SecretError;

/// Why the dataplane could not start.
#[derive(Debug, thiserror::Error)]
pub enum DataplaneError {
    /// The fabric's key cannot be had.
    #[error("control-frames.key-file: {0}")]
    FabricKey(#[from] SecretError),
    /// The kernel gives no random numbers.
    #[error("cannot read /dev/urandom: {0}")]
    Random(std_io::Error),
    /// No such device in this network namespace.
    #[error("port {port}: no device `{device}` in this network namespace (`ip link` lists them)")]
    NoDevice {
        /// The port.
        port: String,
        /// The device.
        device: String,
    },
    /// A trial is of one port alone.
    #[error("`{device}` is not the device of exactly one port of the configuration")]
    NotOnePort {
        /// The device.
        device: String,
    },
    /// The device is of a kind, or in a place, that a switch cannot use.
    #[error("port {port}: device `{device}` {refusal}")]
    Unfit {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// The reason, and the way to mend it.
        refusal: Box<Refusal>,
    },
    /// Another process has the device.
    #[error("port {port}: device `{device}` {holder}")]
    Taken {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// The program on it, and its process.
        holder: Box<Holder>,
    },
    /// The device has no MAC address.
    #[error("port {port}: device `{device}` has no MAC address; give the port one with `address`")]
    NoAddress {
        /// The port.
        port: String,
        /// The device.
        device: String,
    },
    /// The device carries shorter frames than the switch would send by it.
    #[error("port {port}: device `{device}` has an MTU of {mtu} B and dataplane.mtu is {wanted}: longer frames for it would be lost; raise the device MTU (`ip link set dev {device} mtu {}`) or lower dataplane.mtu", wanted.get())]
    SmallMtu {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// The device's, in bytes.
        mtu: u32,
        /// The configured one.
        wanted: Bytes,
    },
    /// The shared memory could not be had.
    #[error("mapping {mebibytes} MiB of UMEM: {reason}; reduce buffers (xoff, headroom, buffer) or use a larger cell")]
    Umem {
        /// Amount of memory.
        mebibytes: u64,
        /// Why not.
        reason: String,
    },
    /// The shared memory was to be in huge pages.
    #[error("huge-pages = \"require\": cannot map {pages} huge pages of 2 MiB for the UMEM: {reason}; reserve them with `sysctl vm.nr_hugepages={pages}`, or set \"auto\" to go on without")]
    HugePages {
        /// Number of pages.
        pages: u64,
        /// Why not.
        reason: String,
    },
    /// A socket could not be opened.
    #[error("AF_XDP socket on {device} queue {queue}: {reason}")]
    Socket {
        /// The device.
        device: String,
        /// The queue.
        queue: u32,
        /// Why not, and what helps.
        reason: String,
    },
    /// Frames come in by a queue that no port receives from.
    #[error("port {port}: device `{device}` receives by {has} queues, and queue {queue} has no socket: its frames would be lost; remove `queues` from the port, so that each queue gets one, or use fewer queues (`ethtool -L {device} combined N`, `ethtool -X {device} equal N`; `ethtool -l` shows how many there are once the program is attached)")]
    Queues {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Its queues.
        has: u32,
        /// The first that has none.
        queue: u32,
    },
    /// Credits stand for slots of one ring.
    #[error("port {port}: device `{device}` receives by {has} queues, and classes with credits need ports with one: use one queue (`ethtool -L {device} combined 1`; `ethtool -l` shows how many there are once the program is attached), or write mode = \"pfc\"")]
    CreditQueues {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Its queues.
        has: u32,
    },
    /// The device changes frames before the switch has them.
    #[error("port {port}: {what} of device `{device}` is on: it {does}; switch it off (`ethtool -K {device} {what} off`), or set dataplane.offloads = \"manage\"{}", if *.refused { " (it was, and the device refuses)" } else { "" })]
    Offload {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// As ethtool(8) takes it.
        what: &'static str,
        /// Consequence.
        does: &'static str,
        /// It could not be switched off.
        refused: bool,
    },
    /// The device's driver has no native XDP, or not with the device's settings.
    #[error("port {port}: dataplane.xdp-mode = \"native\", but device `{device}` does not support native XDP with its present settings (`dmesg` has the reason of drivers that report one); set dataplane.xdp-mode = \"auto\"")]
    NoNative {
        /// The port.
        port: String,
        /// The device.
        device: String,
    },
    /// The program cannot tell the switch anything of a frame.
    #[error("port {port}: dataplane.xdp-mode = \"native\", but driver {driver} of `{device}` leaves no room for metadata: every frame would be lost; set dataplane.xdp-mode = \"auto\"")]
    NoMetadata {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Its driver.
        driver: &'static str,
    },
    /// The device would take no frames of several buffers.
    #[error("port {port}: driver {driver} of `{device}` has the device take frames above {} B only if lro was on as it was brought up, and lro is off; `{}` (attaching the program switches lro off), set dataplane.offloads = \"manage\", or lower dataplane.mtu", longest.get(), up_with_lro(.device))]
    LongFrames {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Its driver.
        driver: &'static str,
        /// The longest frame that comes in for certain.
        longest: Bytes,
    },
    /// The driver's buffers are shorter than a frame.
    #[error("port {port}: in zero-copy, driver {driver} of `{device}` receives {} B into a chunk of {} B, and {} B are needed: the rest would arrive as a frame of its own or be lost; remove dataplane.chunk or set \"4KiB\", lower dataplane.mtu to {}, or set zero-copy = \"off\"", short.has.get(), short.chunk.get(), short.needed.get(), mtu.get())]
    Buffer {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Its driver.
        driver: &'static str,
        /// Shortage.
        short: TooShort,
        /// The MTU that would do.
        mtu: Bytes,
    },
    /// The XDP program could not be loaded or attached.
    #[error("port {port}: {source}")]
    Program {
        /// The port.
        port: String,
        /// Why not.
        source: EbpfError,
    },
    /// The switch core refuses the configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The thread that takes a port's rings has ended.
    #[error("the dataplane has ended")]
    Ended,
    /// A thread or an eventfd could not be had.
    #[error("{what}: {source}")]
    System {
        /// Object of the shortage.
        what: &'static str,
        /// Why not.
        source: std_io::Error,
    },
}
