//! The command line of `switchctl route` and `switchctl fdb`.

use clap::Subcommand;
use weir_core::MacAddress;

use super::complete;

/// `switchctl route …`.
#[derive(Debug, Subcommand)]
pub enum RouteCommand {
    /// All routes and pins, or one route with its buckets.
    #[command(after_help = "\
A destination's group is one port or several of equal cost. With several, a flow
belongs to bucket (flow hash modulo the number of buckets), and each bucket to
one port: `port (n)` has n of them. A pin overrides the bucket for one flow;
`by` is who set it: an operator or a reroute.

Examples:
  switchctl route list
  switchctl route list 02:00:00:00:00:01")]
    List {
        /// Only this route, with the port of every bucket.
        #[arg(add = complete::destinations())]
        destination: Option<MacAddress>,
        /// The route of this VLAN, 1 to 4094.
        #[arg(long, value_name = "VLAN", requires = "destination")]
        vlan: Option<u16>,
    },
    /// Add a route, or change the ports of one.
    #[command(after_help = "\
List only ports of equal cost: the switch does not know where they lead. Buckets
are distributed over the ports again; pins are kept if their port is among them.
Waiting frames leave by their present port. A restart by the
keeper keeps the change; `switchctl config save` writes it into the file.

Examples:
  switchctl route set 02:00:00:00:00:01 s2,s4
  switchctl route set 02:00:00:00:00:01 s2,s4 --buckets 256
  switchctl route set 02:00:00:00:00:01 s2 --vlan 20")]
    Set {
        /// The destination.
        #[arg(add = complete::destinations())]
        destination: MacAddress,
        /// Its ports.
        #[arg(value_name = "PORT[,PORT…]", value_delimiter = ',', required = true,
              add = complete::ports())]
        ports: Vec<String>,
        /// Buckets, from the number of ports to 4096. Default: 64.
        #[arg(long, value_name = "NUMBER")]
        buckets: Option<u16>,
        /// Only for frames of this VLAN, 1 to 4094.
        #[arg(long, value_name = "VLAN")]
        vlan: Option<u16>,
    },
    /// Move one bucket to another port of the group.
    #[command(after_help = "\
The bucket's flows leave by that port from now on. Later frames of a flow may
overtake earlier ones on the old path.

Example:
  switchctl route move-bucket 02:00:00:00:00:01 17 s4")]
    MoveBucket {
        /// The destination.
        #[arg(add = complete::destinations())]
        destination: MacAddress,
        /// Number of the bucket, from 0.
        bucket: u16,
        /// Its new port.
        #[arg(add = complete::ports())]
        port: String,
    },
    /// Pin one flow to a port of the group, overriding its bucket.
    #[command(after_help = "\
`switchctl flows` shows the hashes. A pin stays until it is removed or its port
leaves the group.

Example:
  switchctl route pin 02:00:00:00:00:01 5be3f2c9 s4")]
    Pin {
        /// The destination.
        #[arg(add = complete::destinations())]
        destination: MacAddress,
        /// The flow's hash, in hexadecimal digits.
        #[arg(add = complete::flows())]
        flow_hash: FlowHash,
        /// Its new port.
        #[arg(add = complete::ports())]
        port: String,
    },
    /// Remove a pin; the flow follows its bucket again.
    #[command(after_help = "\
Example:
  switchctl route unpin 02:00:00:00:00:01 5be3f2c9")]
    Unpin {
        /// The destination.
        #[arg(add = complete::destinations())]
        destination: MacAddress,
        /// The flow's hash, in hexadecimal digits.
        #[arg(add = complete::flows())]
        flow_hash: FlowHash,
    },
    /// Remove a destination, its buckets and its pins.
    #[command(after_help = "\
Frames to it are then dropped (`no_route`), or flooded if the switch learns
addresses.

Example:
  switchctl route remove 02:00:00:00:00:01")]
    Remove {
        /// The destination.
        #[arg(add = complete::destinations())]
        destination: MacAddress,
        /// The route of this VLAN, 1 to 4094.
        #[arg(long, value_name = "VLAN")]
        vlan: Option<u16>,
    },
}

/// `switchctl fdb …`.
#[derive(Debug, Subcommand)]
pub enum FdbCommand {
    /// Learned addresses with their ports.
    #[command(after_help = "\
An address is forgotten `forwarding.age` after its last frame, or when the link
of its port has been down for `forwarding.link-down-hold`.

Examples:
  switchctl fdb show
  switchctl fdb show --port h1 --vlan 20
  switchctl --json fdb show | jq -r '.addresses[].address'")]
    Show {
        #[command(flatten)]
        of: FdbArguments,
    },
    /// Count the addresses of each port, and show the room for them.
    #[command(after_help = "\
`found no room` counts addresses of the port's frames for which the table had no
room, or had to forget another address. The port with most addresses
gives way first. Frames to forgotten addresses are flooded.

Example:
  switchctl fdb count")]
    Count,
    /// Forget learned addresses: all, or those of a port, a VLAN, or both.
    #[command(after_help = "\
Frames to them are flooded until they are learned again. A host that moved
without sending a frame is found that way.

Examples:
  switchctl fdb flush
  switchctl fdb flush --port h1
  switchctl fdb flush --vlan 20")]
    Flush {
        #[command(flatten)]
        of: FdbArguments,
    },
}

/// Selection of learned addresses.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct FdbArguments {
    /// Only those behind this port.
    #[arg(long, value_name = "PORT", add = complete::ports())]
    pub port: Option<String>,
    /// Only those in this VLAN, 0 to 4094; 0 for frames without one.
    #[arg(long, value_name = "VLAN", value_parser = clap::value_parser!(u16).range(0..=4094))]
    pub vlan: Option<u16>,
}

/// A flow's hash in the form of `switchctl flows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHash(pub u32);

impl std::str::FromStr for FlowHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let parsed = u32::from_str_radix(text, 16).ok();
        parsed.filter(|_| is_hexadecimal).map(Self).ok_or_else(|| {
            "write up to eight hexadecimal digits, as `switchctl flows` shows them".to_owned()
        })
    }
}
