//! Offloads of a NIC that change frames before the switch receives them.

/// A harmful offload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Harmful {
    /// The kernel's name.
    pub feature: &'static str,
    /// ethtool(8)'s name.
    pub name: &'static str,
    /// Its effect.
    pub does: &'static str,
}

/// The kernel's name for `lro`.
pub const LRO: &str = "rx-lro";

/// Merging by the kernel. A device merges nothing while it has an XDP program in generic mode; those below it do.
pub const GRO: Harmful = Harmful {
    feature: "rx-gro",
    name: "gro",
    does: "merges frames of TCP before the port's own device receives them",
};

/// The commands that bring a device up with `lro` on, see [`Driver::lro_above`](super::Driver::lro_above).
pub fn up_with_lro(device: &str) -> String {
    format!("ip link set {device} down && ethtool -K {device} lro on && ip link set {device} up")
}

/// Excludes `txvlan`: it is for frames whose tag is not in their bytes, unlike those sent by a socket.
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
