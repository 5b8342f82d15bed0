//! Every kind with the expectation for each mode.

/// A kind of device, by its name in `devices.sh`.
#[derive(Debug)]
pub struct Kind {
    /// In the table.
    pub name: &'static str,
    /// The switch's device.
    pub device: &'static str,
    /// Parts of the messages where a mode is refused.
    native: Expected,
    generic: Expected,
    auto: Expected,
    /// A part of the message where a lossless class is refused.
    pub not_lossless: &'static str,
    /// Pauses reach the neighbour and come from it.
    pub pauses: bool,
    /// Frames with the tag of a VLAN pass, and those of full length.
    pub whole: bool,
}

/// The expectation for a cell.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// The start is refused, and the message has this.
    Refused(&'static str),
    /// All frames go both ways.
    Works {
        /// A lossless class may be there.
        lossless: bool,
    },
}

const WORKS: Expected = Expected::Works { lossless: true };
const LOSSY: Expected = Expected::Works { lossless: false };
/// The kernel has no native XDP for it.
const NO_NATIVE: Expected = Expected::Refused("");

const WORKING: Kind = Kind {
    name: "",
    device: "x0",
    native: NO_NATIVE,
    generic: WORKS,
    auto: WORKS,
    not_lossless: "",
    pauses: true,
    whole: true,
};

const fn lossy(name: &'static str, not_lossless: &'static str) -> Kind {
    Kind {
        name,
        generic: LOSSY,
        auto: LOSSY,
        not_lossless,
        ..WORKING
    }
}

const fn refused(name: &'static str, part: &'static str) -> Kind {
    Kind {
        name,
        native: Expected::Refused(part),
        generic: Expected::Refused(part),
        auto: Expected::Refused(part),
        ..WORKING
    }
}

const BOND_NATIVE: Expected = Expected::Refused("every received frame is lost");
const TUNNEL: &str = "the path of the tunnel can drop frames";

/// All of them.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "veth",
        native: WORKS,
        ..WORKING
    },
    Kind {
        name: "bond-active-backup",
        native: BOND_NATIVE,
        ..WORKING
    },
    Kind {
        native: BOND_NATIVE,
        ..lossy("bond-balance-rr", "a pause stops one of the bond's links")
    },
    Kind {
        name: "macvlan-passthru",
        ..WORKING
    },
    Kind {
        pauses: false,
        whole: false,
        ..lossy("vlan", "pauses have no VLAN")
    },
    Kind {
        whole: false,
        ..lossy("vxlan", TUNNEL)
    },
    Kind {
        whole: false,
        ..lossy("geneve", TUNNEL)
    },
    Kind {
        whole: false,
        ..lossy("gretap", TUNNEL)
    },
    refused("team", "a pause stops one of the team's links"),
    refused("netkit", "without a protocol"),
    refused("macvlan", "only frames for its own address"),
    refused("macvtap", "has its file open"),
    refused("ipvlan", "its own IP addresses"),
    refused("bridge", "takes pauses for itself"),
    refused("bridge-port", "a port of the bridge `br0`"),
    refused("bond-port", "a port of the bond `bond9`"),
    refused("dummy", "drops all that is sent"),
    refused("ifb", "drops all that is sent to it"),
    refused("wireguard", "carries IP packets"),
    refused("vrf", "stands for a routing table"),
    Kind {
        device: "lo",
        ..refused("veth", "the loopback device")
    },
];

impl Kind {
    /// The expectation in a mode; `None` where the kernel says the rest, or another mode has shown the same.
    pub fn expected(&self, mode: &str) -> Option<Expected> {
        let expected = match mode {
            "native" => self.native,
            "generic" => self.generic,
            _ => self.auto,
        };
        match expected {
            Expected::Refused("") => None,
            Expected::Refused(_) if mode == "generic" => None,
            // What auto takes is the mode that was tried before.
            Expected::Works { .. }
                if mode == "auto"
                    && !matches!(self.native, Expected::Refused(part) if !part.is_empty()) =>
            {
                None
            }
            expected => Some(expected),
        }
    }
}
