//! Errors that prevent the start of a dataplane.

use std::io as std_io;

use weir_config::drivers::kinds::Refusal;
use weir_config::drivers::{up_with_lro, TooShort};
use weir_core::{Bytes, ConfigError};
use weir_ebpf::EbpfError;

use crate::holder::Holder;

use weir_config::files::SecretError;

/// Reason for which the dataplane could not start.
#[derive(Debug, thiserror::Error)]
pub enum DataplaneError {
    /// The fabric's key is unavailable.
    #[error("control-frames.key-file: {0}")]
    FabricKey(#[from] SecretError),
    /// The kernel provides no random numbers.
    #[error("cannot read /dev/urandom: {0}")]
    Random(std_io::Error),
    /// The device does not exist in this network namespace.
    #[error("port {port}: no device `{device}` in this network namespace (`ip link` lists them)")]
    NoDevice {
        /// The port.
        port: String,
        /// The device.
        device: String,
    },
    /// A trial needs exactly one port.
    #[error("`{device}` is not the device of exactly one port of the configuration")]
    NotOnePort {
        /// The device.
        device: String,
    },
    /// The switch cannot use the device: its kind or its place is unsuitable.
    #[error("port {port}: device `{device}` {refusal}")]
    Unfit {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// The reason, and the remedy.
        refusal: Box<Refusal>,
    },
    /// Another process uses the device.
    #[error("port {port}: device `{device}` {holder}")]
    Taken {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// The attached program and its process.
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
    /// The device's MTU is shorter than frames that the switch would send.
    #[error("port {port}: device `{device}` has an MTU of {mtu} B and dataplane.mtu is {wanted}: longer frames for it would be lost; raise the device MTU (`ip link set dev {device} mtu {}`) or lower dataplane.mtu", wanted.get())]
    SmallMtu {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// MTU of the device in bytes.
        mtu: u32,
        /// Configured MTU.
        wanted: Bytes,
    },
    /// The shared memory could not be mapped.
    #[error("mapping {mebibytes} MiB of UMEM: {reason}")]
    Umem {
        /// Amount of memory.
        mebibytes: u64,
        /// Cause, and the remedy.
        reason: String,
    },
    /// The shared memory requires huge pages, which could not be mapped.
    #[error("huge-pages = \"require\": cannot map {pages} huge pages of 2 MiB for the UMEM: {reason}; reserve them with `sysctl vm.nr_hugepages={pages}`, or set \"auto\" to continue without them")]
    HugePages {
        /// Number of pages.
        pages: u64,
        /// Cause.
        reason: String,
    },
    /// A socket could not be opened.
    #[error("AF_XDP socket on {device} queue {queue}: {reason}")]
    Socket {
        /// The device.
        device: String,
        /// The queue.
        queue: u32,
        /// Cause, and the remedy.
        reason: String,
    },
    /// Frames arrive on a queue that no socket receives from.
    #[error("port {port}: device `{device}` receives on {has} queues, and queue {queue} has no socket: its frames would be lost; remove `queues` from the port, so that each queue gets one, or use fewer queues (`ethtool -L {device} combined N`, `ethtool -X {device} equal N`; `ethtool -l` shows how many there are once the program is attached)")]
    Queues {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Number of the device's queues.
        has: u32,
        /// The first queue without a socket.
        queue: u32,
    },
    /// Credits count the slots of a single ring.
    #[error("port {port}: device `{device}` receives on {has} queues, and classes with credits need ports with one: use one queue (`ethtool -L {device} combined 1`; `ethtool -l` shows how many there are once the program is attached), or write mode = \"pfc\"")]
    CreditQueues {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Number of the device's queues.
        has: u32,
    },
    /// An offload changes frames before they reach the switch.
    #[error("port {port}: {what} of device `{device}` is on: it {does}; switch it off (`ethtool -K {device} {what} off`), or set dataplane.offloads = \"manage\"{}", if *.refused { " (it was, and the device refuses)" } else { "" })]
    Offload {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Name of the feature for ethtool(8).
        what: &'static str,
        /// Effect on frames.
        does: &'static str,
        /// True if it could not be switched off.
        refused: bool,
    },
    /// The driver has no native XDP, or not with the device's settings.
    #[error("port {port}: dataplane.xdp-mode = \"native\", but device `{device}` does not support native XDP with its present settings (`dmesg` has the reason of drivers that report one); set dataplane.xdp-mode = \"auto\"")]
    NoNative {
        /// The port.
        port: String,
        /// The device.
        device: String,
    },
    /// The program cannot pass metadata to the switch.
    #[error("port {port}: dataplane.xdp-mode = \"native\", but driver {driver} of `{device}` leaves no room for metadata: every frame would be lost; set dataplane.xdp-mode = \"auto\"")]
    NoMetadata {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Its driver.
        driver: &'static str,
    },
    /// The device would drop frames of several buffers.
    #[error("port {port}: driver {driver} of `{device}` lets the device accept frames above {} B only if lro was on when it was brought up, and lro is off; `{}` (attaching the program switches lro off), set dataplane.offloads = \"manage\", or lower dataplane.mtu", longest.get(), up_with_lro(.device))]
    LongFrames {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Its driver.
        driver: &'static str,
        /// The longest frame that is received reliably.
        longest: Bytes,
    },
    /// The driver's buffers are shorter than a frame.
    #[error("port {port}: in zero-copy, driver {driver} of `{device}` receives {} B into a chunk of {} B, and {} B are needed: the rest would arrive as a separate frame or be lost; remove dataplane.chunk or set \"4KiB\", lower dataplane.mtu to {}, or set zero-copy = \"off\"", short.has.get(), short.chunk.get(), short.needed.get(), mtu.get())]
    Buffer {
        /// The port.
        port: String,
        /// The device.
        device: String,
        /// Its driver.
        driver: &'static str,
        /// Missing room.
        short: TooShort,
        /// A sufficient MTU.
        mtu: Bytes,
    },
    /// The XDP program could not be loaded or attached.
    #[error("port {port}: {source}")]
    Program {
        /// The port.
        port: String,
        /// Cause.
        source: EbpfError,
    },
    /// The switch core refuses the configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The thread that takes a port's rings has ended.
    #[error("the dataplane has ended")]
    Ended,
    /// A thread or an eventfd could not be created.
    #[error("{what}: {source}")]
    System {
        /// The object that could not be created.
        what: &'static str,
        /// Cause.
        source: std_io::Error,
    },
}
