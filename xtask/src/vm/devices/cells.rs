//! All kinds of devices, with the expectation for each mode.

/// A kind of device, with its name in `devices.sh`.
#[derive(Debug)]
pub struct Kind {
    /// Name in the table.
    pub name: &'static str,
    /// The switch's device.
    pub device: &'static str,
    native: Expected,
    generic: Expected,
    /// Expectation for `auto`; `None` for native mode if the kernel has it, and otherwise generic mode.
    auto: Option<Expected>,
    /// Part of the message that refuses a lossless class.
    pub not_lossless: &'static str,
    /// True if pauses reach the neighbour.
    pub pauses_there: bool,
    /// True if pauses from the neighbour arrive.
    pub pauses_here: bool,
    /// True if tagged frames, and frames of full length, pass.
    pub whole: bool,
}

/// Expectation for a cell.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// The start is refused with a message that contains this.
    Refused(&'static str),
    /// All frames pass in both directions.
    Works {
        /// True if a lossless class is permitted.
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
        // Only with the tag that the neighbour's VLAN device adds and removes. A neighbour without a VLAN device does
        // neither.
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
    refused("vrf", "represents a routing table"),
    Kind {
        device: "lo",
        ..refused("loopback", "the loopback device")
    },
];

impl Kind {
    /// Returns the expectation in a mode; `None` if another mode has shown the same.
    pub fn expected(&self, mode: &str) -> Option<Expected> {
        match mode {
            "native" => Some(self.native),
            "generic" => Some(self.generic),
            _ => self.auto,
        }
    }
}
