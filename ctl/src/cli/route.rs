//! `switchctl route` as it is written.

use clap::Subcommand;
use weir_core::MacAddress;

/// `switchctl route …`.
#[derive(Debug, Subcommand)]
pub enum RouteCommand {
    /// All routes and pins, or one route with its buckets.
    #[command(after_help = "\
A destination's group is one port or several equally good ones. With several, a flow belongs to bucket
(flow hash modulo the number of buckets), and each bucket to one port: `port (n)` has n of them. A pin
takes one flow out of its bucket; `by` says whether an operator or a reroute did it.

Examples:
  switchctl route list
  switchctl route list 02:00:00:00:00:01")]
    List {
        /// Only this one, with the port of every bucket.
        destination: Option<MacAddress>,
    },
    /// Set the ports of a destination, new or known.
    #[command(after_help = "\
Name equally good ways only: the switch does not know where the ports lead. The buckets are dealt anew
round the ports, and pins stay whose port is among them. Frames that wait leave where they wait. The
change is lost when the daemon ends: write it to the configuration too.

Examples:
  switchctl route set 02:00:00:00:00:01 s2,s4
  switchctl route set 02:00:00:00:00:01 s2,s4 --buckets 256")]
    Set {
        /// The destination.
        destination: MacAddress,
        /// Its ports.
        #[arg(value_name = "PORT[,PORT…]", value_delimiter = ',', required = true)]
        ports: Vec<String>,
        /// Buckets, from the number of ports to 4096. Default: 64.
        #[arg(long, value_name = "NUMBER")]
        buckets: Option<u16>,
    },
    /// Move one bucket to another port of the group.
    #[command(after_help = "\
The flows in the bucket go by that port from now on. Later frames of a flow may overtake earlier ones on
the other way.

Example:
  switchctl route move-bucket 02:00:00:00:00:01 17 s4")]
    MoveBucket {
        /// The destination.
        destination: MacAddress,
        /// Which bucket, from 0.
        bucket: u16,
        /// The port that it belongs to from now on.
        port: String,
    },
    /// Pin one flow to a port of the group, whatever its bucket says.
    #[command(after_help = "\
`switchctl flows` shows the hashes. A pin stays until it is taken away or its port leaves the group.

Example:
  switchctl route pin 02:00:00:00:00:01 5be3f2c9 s4")]
    Pin {
        /// The destination.
        destination: MacAddress,
        /// The flow's hash, in hexadecimal digits.
        flow_hash: FlowHash,
        /// The port that it goes by from now on.
        port: String,
    },
    /// Let a pinned flow go by its bucket again.
    #[command(after_help = "\
Example:
  switchctl route unpin 02:00:00:00:00:01 5be3f2c9")]
    Unpin {
        /// The destination.
        destination: MacAddress,
        /// The flow's hash, in hexadecimal digits.
        flow_hash: FlowHash,
    },
    /// Forget a destination, its buckets and its pins.
    #[command(after_help = "\
Frames to it are dropped from then on (`no_route`), or flooded where the switch learns.

Example:
  switchctl route remove 02:00:00:00:00:01")]
    Remove {
        /// The destination.
        destination: MacAddress,
    },
}

/// A flow's hash as `switchctl flows` writes it.
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
