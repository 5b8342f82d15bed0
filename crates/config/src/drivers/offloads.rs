//! Offloads of a NIC that change frames before the switch has them.

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Harmful {
    /// As the kernel calls it.
    pub feature: &'static str,
    /// As ethtool(8) does.
    pub name: &'static str,
    /// What comes of it.
    pub does: &'static str,
}

/// The kernel's name of `lro`.
pub const LRO: &str = "rx-lro";

/// The commands that bring a device up with `lro` on, see [`Driver::lro_above`](super::Driver::lro_above).
pub fn up_with_lro(device: &str) -> String {
    format!("ip link set {device} down && ethtool -K {device} lro on && ip link set {device} up")
}

/// `txvlan` is not among them: it is for frames whose tag is not in their bytes, and those that a socket sends have it there.
pub const HARMFUL: [Harmful; 3] = [
    Harmful {
        feature: "rx-vlan-hw-parse",
        name: "rxvlan",
        does: "takes the VLAN tag out of received frames, and with it their priority",
    },
    Harmful {
        feature: LRO,
        name: "lro",
        does: "merges received frames",
    },
    Harmful {
        feature: "rx-gro-hw",
        name: "rx-gro-hw",
        does: "merges received frames",
    },
];
