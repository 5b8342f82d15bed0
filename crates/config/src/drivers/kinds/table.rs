//! The facts, by kind.

use super::{Kind, Master, Remedy, Takes};

/// Both directions are forwarded.
const BOTH: &str = "both ways";
/// The driver has no native XDP.
const NONE: &str = "none";
const READ: &str = "not tried: by the kernel's sources";
const TRIED: &str = "tried: `cargo xtask vm-test --devices`";
const SEEN: &str = "seen in guests, Linux 6.12 to 7.3";
const TUNNEL: &str =
    "the path of the tunnel can drop frames, and no pause reaches the senders on it";

/// A kind without problems.
const PLAIN: Kind = Kind {
    name: "",
    mode: None,
    what: "",
    native: BOTH,
    generic: BOTH,
    pauses: BOTH,
    takes: Takes::All,
    source: READ,
};

/// A tunnel for Ethernet frames.
const fn tunnel(name: &'static str, what: &'static str, source: &'static str) -> Kind {
    Kind {
        name,
        what,
        native: NONE,
        pauses: "pass; the path itself is not paused",
        takes: Takes::Lossy {
            because: TUNNEL,
            remedy: Remedy::Words("use a separate link, or no lossless class"),
            not_native: None,
        },
        source,
        ..PLAIN
    }
}

/// A GRE tunnel for Ethernet frames. Its driver expects the network header at an offset that AF_XDP does not set.
const fn gre(name: &'static str, what: &'static str, source: &'static str) -> Kind {
    Kind {
        source,
        ..refused(
            name,
            what,
            [NONE, "received; **everything sent is dropped**", NONE],
            "its driver drops all frames of AF_XDP, since they have no header offsets",
            Remedy::Words("use a VXLAN or Geneve tunnel instead"),
        )
    }
}

/// A kind that cannot be a port.
const fn refused(
    name: &'static str,
    what: &'static str,
    frames: [&'static str; 3],
    because: &'static str,
    remedy: Remedy,
) -> Kind {
    let [native, generic, pauses] = frames;
    Kind {
        name,
        mode: None,
        what,
        native,
        generic,
        pauses,
        takes: Takes::Nothing { because, remedy },
        source: READ,
    }
}

const LOWER: Remedy = Remedy::Words("make `{lower}` the port");

/// All known kinds, by name.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "bond",
        mode: Some(1), // BOND_MODE_ACTIVEBACKUP
        what: "a bond in mode active-backup",
        native: "**received frames are lost** at its port; sending works",
        takes: Takes::Generic {
            because: "in native mode every received frame is lost at the bond's own port",
        },
        source: SEEN,
        ..PLAIN
    },
    Kind {
        name: "bond",
        what: "a bond in another mode",
        native: "**received frames are lost** at its port; sending works",
        pauses: "sent by one of its ports only",
        takes: Takes::Lossy {
            because: "a pause stops one of the bond's links, and frames still arrive on the others",
            remedy: Remedy::Words(
                "use mode active-backup, or take the bond's ports out (`ip link set dev PORT nomaster`) and make each of them a port of the same routes",
            ),
            not_native: Some("in native mode every received frame is lost at the bond's own port"),
        },
        source: SEEN,
        ..PLAIN
    },
    refused(
        "bridge",
        "a bridge of Linux",
        [NONE, "to and from the bridge's own host side", "**none**"],
        "the bridge forwards the switch's frames by its own table, and consumes pauses",
        Remedy::Words("make the bridge's ports the ports of the switch (`ip link set dev PORT nomaster`)"),
    ),
    refused(
        "dummy",
        "a dummy device",
        [NONE, "**everything sent is lost**, and counted as sent", NONE],
        "it drops all that is sent, and receives nothing",
        Remedy::Words("use one end of a veth pair: `ip link add {device} type veth peer name PEER`"),
    ),
    tunnel("geneve", "a Geneve tunnel", TRIED),
    gre("gretap", "a GRE tunnel", TRIED),
    refused(
        "ifb",
        "an intermediate functional block",
        [NONE, "**everything sent is lost**", NONE],
        "it takes frames from tc's rules only, and drops all that is sent to it",
        Remedy::Words("use one end of a veth pair: `ip link add {device} type veth peer name PEER`"),
    ),
    gre("ip6gretap", "a GRE tunnel over IPv6", READ),
    refused(
        "ipvlan",
        "an ipvlan device",
        [NONE, "only packets for its own IP addresses", NONE],
        "it receives only packets for its own IP addresses",
        LOWER,
    ),
    refused(
        "ipvtap",
        "an ipvtap device",
        [NONE, "only packets for its own IP addresses", NONE],
        "it receives only packets for its own IP addresses",
        LOWER,
    ),
    refused(
        "loopback",
        "the loopback device",
        [NONE, "sent frames come back", "come back"],
        "frames sent by the switch come back to it",
        Remedy::Words("name a device that leads to another machine or namespace"),
    ),
    Kind {
        name: "macvlan",
        mode: Some(8), // MACVLAN_MODE_PASSTHRU
        what: "a macvlan device in mode passthru",
        native: NONE,
        pauses: "sent; **those of the neighbour never arrive**",
        takes: Takes::Lossy {
            because: "the kernel discards pauses that arrive for a macvlan device: the neighbour's never reach the switch",
            remedy: Remedy::Words("make `{lower}` the port"),
            not_native: None,
        },
        source: TRIED,
        ..PLAIN
    },
    refused(
        "macvlan",
        "a macvlan device",
        [NONE, "sent; only frames for its own address are received", "sent; those received pass"],
        "it receives only frames for its own address and group addresses",
        Remedy::Words("make `{lower}` the port, or add the device with `mode passthru`"),
    ),
    refused(
        "macvtap",
        "a macvtap device",
        [NONE, "received frames go to its file", NONE],
        "received frames go to the program that has its file open",
        LOWER,
    ),
    refused(
        "netkit",
        "a netkit device",
        [NONE, "**sent frames arrive without a protocol**, and the peer drops them", "sent ones are also dropped"],
        "frames of AF_XDP arrive at its peer without a protocol, and the peer drops them",
        Remedy::Words("use a veth pair instead: `ip link add {device} type veth peer name PEER`"),
    ),
    Kind {
        name: "openvswitch",
        what: "an internal port of Open vSwitch",
        native: NONE,
        pauses: "taken by Open vSwitch",
        takes: Takes::Lossy {
            because: "Open vSwitch takes pauses for itself",
            remedy: Remedy::Words("use a veth pair or the NIC itself"),
            not_native: None,
        },
        ..PLAIN
    },
    Kind {
        name: "team",
        what: "a team device",
        native: NONE,
        pauses: "sent by one of its ports only",
        takes: Takes::Lossy {
            because: "a pause stops one of the team's links, and frames still arrive on the others",
            remedy: Remedy::Words(
                "take the team's ports out (`ip link set dev PORT nomaster`) and make each of them a port of the same routes, or use a bond in mode active-backup",
            ),
            not_native: None,
        },
        source: TRIED,
        ..PLAIN
    },
    Kind {
        name: "tun",
        what: "a tap device",
        pauses: "both ways, to and from the program behind it",
        source: TRIED,
        ..PLAIN
    },
    Kind {
        name: "veth",
        what: "one end of a veth pair",
        source: "tested: all of Weir's own tests",
        ..PLAIN
    },
    Kind {
        name: "vlan",
        what: "a VLAN device",
        native: NONE,
        pauses: "**leave with a tag; those of the neighbour never arrive**",
        takes: Takes::Lossy {
            because: "pauses have no VLAN: they leave with a tag that the neighbour does not expect, and its own go to the device below",
            remedy: Remedy::Words("make `{lower}` the port, and set `trunks` or `tag` there"),
            not_native: None,
        },
        source: SEEN,
        ..PLAIN
    },
    refused(
        "vrf",
        "a routing table's device (VRF)",
        [NONE, "IP packets of its ports", NONE],
        "it represents a routing table and carries no frames itself",
        Remedy::Words("make one of its ports the port"),
    ),
    tunnel("vxlan", "a VXLAN tunnel", TRIED),
    refused(
        "wireguard",
        "a WireGuard tunnel",
        [NONE, "IP packets, no Ethernet frames", NONE],
        "it carries IP packets, and a switch forwards Ethernet frames",
        Remedy::Words("put a VXLAN or Geneve tunnel through it, for lossy classes"),
    ),
];

const NO_MASTER: Remedy = Remedy::Command("ip link set dev {device} nomaster");

/// Devices whose ports cannot be ports of the switch, by kind.
pub const MASTERS: &[Master] = &[
    Master {
        name: "bond",
        what: "a port of the bond `{master}`",
        because: "the switch would take every frame from the bond, which still sends on the device",
        remedy: Remedy::Words(
            "make `{master}` the port, or take the device out: `ip link set dev {device} nomaster`",
        ),
    },
    Master {
        name: "bridge",
        what: "a port of the bridge `{master}`",
        because:
            "the switch would take every frame from the bridge, which still sends on the device",
        remedy: NO_MASTER,
    },
    Master {
        name: "hsr",
        what: "a port of the HSR or PRP device `{master}`",
        because: "the switch would take every frame from it, and its frames need a redundancy tag",
        remedy: NO_MASTER,
    },
    Master {
        name: "openvswitch",
        what: "a port of Open vSwitch `{master}`",
        because:
            "the switch would take every frame from Open vSwitch, which still sends on the device",
        remedy: Remedy::Command("ovs-vsctl del-port {device}"),
    },
    Master {
        name: "team",
        what: "a port of the team `{master}`",
        because: "the switch would take every frame from the team, which still sends on the device",
        remedy: Remedy::Words(
            "make `{master}` the port, or take the device out: `ip link set dev {device} nomaster`",
        ),
    },
];
