//! The emulated NICs, and the switch's settings for each.

use std::path::Path;

/// An emulated NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Nic {
    /// virtio-net, with what zero-copy needs.
    Virtio,
    /// Intel 82576.
    Igb,
    /// Intel 82574L.
    E1000e,
    /// VMware's.
    Vmxnet3,
}

impl Nic {
    /// All NICs, in the order of a run.
    pub const ALL: [Self; 4] = [Self::Virtio, Self::Igb, Self::E1000e, Self::Vmxnet3];
    /// NICs of a run that names none.
    pub const DEFAULT: [Self; 2] = [Self::Virtio, Self::Igb];

    /// Returns the name on the command line and in the summary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Virtio => "virtio",
            Self::Igb => "igb",
            Self::E1000e => "e1000e",
            Self::Vmxnet3 => "vmxnet3",
        }
    }

    /// Returns the emulator's model, with its properties.
    pub fn model(self) -> &'static str {
        match self {
            // Zero-copy of virtio-net needs the kernel's DMA API.
            Self::Virtio => "virtio-net-pci,disable-legacy=on,iommu_platform=on",
            other => other.name(),
        }
    }

    /// Returns true if its driver has zero-copy.
    pub fn has_zero_copy(self) -> bool {
        matches!(self, Self::Virtio | Self::Igb)
    }

    /// Returns the XDP mode of its driver.
    pub fn xdp_mode(self) -> &'static str {
        match self {
            // vmxnet3 has native XDP without room for metadata.
            Self::E1000e | Self::Vmxnet3 => "generic",
            Self::Virtio | Self::Igb => "native",
        }
    }

    /// Returns the number of receive queues of a device with two CPUs.
    pub fn queues(self) -> u32 {
        match self {
            Self::Igb | Self::Vmxnet3 => 2,
            _ => 1,
        }
    }

    /// Returns true if the device accepts frames of several buffers only if `lro` was on when it was brought up.
    pub fn long_frames_need_lro(self) -> bool {
        self == Self::Vmxnet3
    }

    /// Returns true if the device drops frames without a buffer, instead of delaying its cable.
    pub fn drops_when_full(self) -> bool {
        self == Self::Vmxnet3
    }

    /// Returns true if its driver can strip tags from frames.
    pub fn strips_tags(self) -> bool {
        self != Self::Virtio
    }
}

/// Other end of a device's cable.
#[derive(Clone, Copy, Debug)]
pub enum Cable<'a> {
    /// This test: datagrams in a socket's directory, one frame each.
    Test(&'a Path),
    /// The device of another guest whose cable leads to `Test` with the same directory.
    TestOf(&'a Path),
    /// The device with the same number in this guest.
    Device(u32),
    /// A tap device of this name with this number of queues.
    Tap(&'a str, u32),
}

/// Returns the emulator's arguments for device `number` (from 0) of a guest, `eth<number>` there. Its cable is
/// `wire<number>`.
pub fn device(number: usize, model: &str, cable: Cable<'_>) -> Vec<String> {
    let id = format!("wire{number}");
    let netdev = match cable {
        Cable::Test(directory) | Cable::TestOf(directory) => {
            let [near, far] = match (cable, sockets(directory, number)) {
                (Cable::TestOf(_), [near, far]) => [far, near],
                (_, sockets) => sockets,
            };
            format!(
                "dgram,id={id},local.type=unix,local.path={near},remote.type=unix,remote.path={far}"
            )
        }
        Cable::Device(pair) => format!("hubport,id={id},hubid={pair}"),
        Cable::Tap(name, queues) => {
            format!("tap,id={id},ifname={name},script=no,downscript=no,queues={queues}")
        }
    };
    // igb requires a separate slot, since its virtual functions take the others.
    let port = format!(
        "pcie-root-port,id=port{number},chassis={0},slot={0}",
        number + 1
    );
    // It is not used for booting.
    let device = format!(
        "{model},romfile=,bus=port{number},netdev={id},mac={}",
        address(number)
    );
    ["-netdev", &netdev, "-device", &port, "-device", &device]
        .map(str::to_owned)
        .to_vec()
}

/// Returns the MAC address of device `number`.
pub fn address(number: usize) -> String {
    format!("52:54:00:00:05:{number:02x}")
}

/// Returns the emulator's socket and this test's socket for device `number`.
pub fn sockets(directory: &Path, number: usize) -> [String; 2] {
    ["nic", "test"].map(|side| format!("{}/{side}{number}", directory.display()))
}
