//! Every kind with the expectation for each mode.

/// A kind of device, by its name in `devices.sh`.
#[derive(Debug)]
pub struct Kind {
    /// In the table.
    pub name: &'static str,
    /// The switch's device.
    pub device: &'static str,
    native: Expected,
    generic: Expected,
    /// `None` for native mode if the kernel has it, and else generic mode.
    auto: Option<Expected>,
    /// A part of the message where a lossless class is refused.
    pub not_lossless: &'static str,
    /// Pauses reach the neighbour.
    pub pauses_there: bool,
    /// Pauses come from the neighbour.
    pub pauses_here: bool,
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
pub const NO_NATIVE: &str = "does not support native XDP";

const WORKING: Kind = Kind {
    name: "",
    device: "x0",
    native: Expected::Refused(NO_NATIVE),
    generic: WORKS,
    auto: None,
    not_lossless: "",
    pauses_there: true,
    pauses_here: true,
    whole: true,
};

const fn lossy(name: &'static str, not_lossless: &'static str) -> Kind {
    Kind {
        name,
        generic: LOSSY,
        not_lossless,
        ..WORKING
    }
}

const fn refused(name: &'static str, part: &'static str) -> Kind {
    Kind {
        name,
        native: Expected::Refused(part),
        generic: Expected::Refused(part),
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
        auto: Some(WORKS),
        ..WORKING
    },
    Kind {
        native: BOND_NATIVE,
        auto: Some(LOSSY),
        ..lossy("bond-balance-rr", "a pause stops one of the bond's links")
    },
    Kind {
        pauses_here: false,
        ..lossy("macvlan-passthru", "the kernel discards pauses")
    },
    Kind {
        // With the tag that the neighbour's VLAN device adds and removes as well. One without a VLAN device does neither.
        whole: false,
        ..lossy("vlan", "pauses have no VLAN")
    },
    lossy("vxlan", TUNNEL),
    lossy("geneve", TUNNEL),
    lossy("team", "a pause stops one of the team's links"),
    Kind {
        name: "tap",
        native: WORKS,
        ..WORKING
    },
    refused("gretap", "drops all frames of AF_XDP"),
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
        ..refused("loopback", "the loopback device")
    },
];

impl Kind {
    /// The expectation in a mode; `None` where another mode has shown the same.
    pub fn expected(&self, mode: &str) -> Option<Expected> {
        match mode {
            "native" => Some(self.native),
            "generic" => Some(self.generic),
            _ => self.auto,
        }
    }
}
