//! `[forwarding]`, `[multicast]`, `[[route]]` and `[flows]`.

use weir_core::config::{
    default_bucket_count, EcmpConfig, FloodConfig, FlowMonitorConfig, LoopConfig, MoveConfig,
    OnMoves, RouteConfig,
};
use weir_core::control::Policy;
use weir_core::{Duration, MacAddress, PortId, SwitchConfig, VlanId};

use crate::entries::entries;
use crate::reader::{line_of, within, FromItem, Table};
use crate::settings::{quoted, settings, valid, words, Form};

/// Maximum number of entries of any of these tables.
const ENTRIES_MAX: usize = 1 << 20;

/// Maximum number of stations of a switch.
pub const STATIONS_MAX: usize = 4096;

settings! {
    /// `[forwarding]`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ForwardingConfig in "forwarding" {
        "learning" learning: bool = false, "", Restart, valid::anything;
            "Learn addresses, and flood frames to unknown ones. Only for networks without loops, or with a tree in `[multicast]`."
        "capacity" capacity: usize = 4096, "", Restart, valid::count(1, ENTRIES_MAX);
            "Maximum number of learned addresses, 1 to 1048576."
        "age" age: Duration = Duration::from_secs(300), "", Restart, valid::anything;
            "A learned address is forgotten after this long without a frame from it."
        "link-down-hold" link_down_hold: Duration = SwitchConfig::LINK_DOWN_HOLD, "", Restart, valid::between((Duration::ZERO, LINK_DOWN_HOLD_MAX));
            "Time for which frames wait for a port whose link is down, 0 s to 10 s. If the link returns in time, none of them is lost. After that they are dropped (`port_down`), and addresses learned at the port are forgotten. Meanwhile senders of lossless frames may be paused; lossy frames use at most half of their senders' buffers. See [One host never harms another](../experiments/robustness/harm.md#why-100-ms)."
        "loop-detection" loop_detection: bool = true, "", Restart, valid::anything;
            "With `learning`: each port sends probes in its VLANs, at most 24 a second, which all bridges flood. One that returns has gone round a [loop](../operations/operations.md#loops): this is reported, and the port on which it returns floods and learns nothing in that VLAN until no probe has returned for 30 s."
        "mac-moves" on_moves: OnMoves = OnMoves::Block, "", Restart, valid::anything;
            "With `loop-detection`: reaction to an address that moves between ports 16 times within a second, as round a [loop](../operations/operations.md#loops) of devices that let no probe through. `off`: nothing. `report`: an event. `block`: the two ports also send probes as broadcasts for a few seconds, and a port on which one returns is blocked. Moves alone block nothing: a station that uses another's address also causes them."
        "spare-routes" spare_routes: usize = 1024, "", Restart, valid::count(0, ENTRIES_MAX);
            "Destinations that may be added at run time (`switchctl route set`) to those of the file, 0 to 1048576."
        "spare-buckets" spare_buckets: usize = 1 << 16, "", Restart, valid::count(0, ENTRIES_MAX);
            "Buckets that may be added at run time to those of the file, 0 to 1048576. 1 B each."
        "pins" pins: usize = 4096, "", Restart, valid::count(0, ENTRIES_MAX);
            "Maximum number of pinned flows, by an operator or by a reroute, 0 to 1048576. About 100 B each."
    }
}

words! {
    OnMoves: OnMoves::NAMED;
}

/// Maximum time for which one port may block others.
const LINK_DOWN_HOLD_MAX: Duration = Duration::from_secs(10);

/// Interval between probes for loops, for which a storm of flooded frames lasts.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Time without a returning probe after which a port floods again.
const LOOP_HOLD: Duration = Duration::from_secs(30);

/// A station never moves this often within [`MOVES_WITHIN`].
const MOVES: u8 = 16;
const MOVES_WITHIN: Duration = Duration::from_secs(1);

/// No line carries more frames per second.
const RATE_MAX: u64 = 1_000_000_000;
/// Each frame is copied to up to 255 ports: at this rate the copies still cost less than a host's lossless traffic, and
/// no station broadcasts that often.
const EDGE_RATE: u32 = 1_000;

/// Frames per second, or `off` for unlimited.
struct FloodRate;

impl Form<Option<u32>> for FloodRate {
    fn read(table: &Table<'_>, key: &str) -> Option<Option<u32>> {
        if table.is_text(key, "off") {
            return Some(None);
        }
        within(table, key, 1, RATE_MAX).map(|rate| Some(rate as u32))
    }

    fn written(rate: &Option<u32>) -> Option<String> {
        match *rate {
            // The default when the key is missing.
            Some(EDGE_RATE) => None,
            Some(rate) => Some(rate.to_string()),
            None => Some(quoted("off")),
        }
    }
}

settings! {
    /// `[multicast]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    MulticastConfig in "multicast" {
        "tree" tree: Option<Vec<String>> = None => "every port, with `learning` only", "", Restart, valid::anything;
            "Ports for frames without a route: those to group addresses (broadcast, such as ARP, and multicast), and with `learning` those to unknown addresses. In a network with loops: the links of **one tree that reaches all switches**, the same at both ends of each link, and the ports to hosts. Such a frame that arrives on another port is dropped (`off_tree`). With it, frames to group addresses are flooded even without `learning`, in lossy classes only; in lossless ones they are dropped (`lossless_group`)."
        "edge-rate" edge_rate: Option<u32> as FloodRate = Some(EDGE_RATE) => "`1000`", "", Restart, valid::anything;
            "Storm control: flooded frames per second from one edge port, 1 to 1000000000, or `\"off\"` for no limit; bursts of 50 ms, and of at least 32 frames, pass. The excess is dropped (`flood_rate`). The default is enough for a host's ARP, DHCP and discovery; a host that sends a multicast stream needs more."
        "fabric-rate" fabric_rate: Option<u32> = None => "unlimited", "", Restart, valid::given(valid::within(1, RATE_MAX));
            "The same from one fabric port. It carries the floods of all hosts behind it: set it well above the sum of their rates, or the frames of quiet hosts are dropped with those of a noisy one."
        "suppress" suppress: bool = false, "", Live, valid::anything;
            "An ARP request or IPv6 neighbor solicitation for an address of a `[[station]]` is sent only to that station instead of being flooded (`weir_dataplane_address_requests_total`). Every switch on the way needs a path to the station's MAC address, by `[[route]]` or `learning`. Announcements, probes for duplicate addresses, requests for other addresses and those in a VLAN are flooded as without it."
    }
}

impl MulticastConfig {
    /// As in the core; `number` returns the number of a named port.
    pub(crate) fn flood(&self, number: impl Fn(&str) -> Option<usize>) -> FloodConfig {
        let tree = self.tree.iter().flatten();
        let tree = tree.filter_map(|name| number(name).and_then(PortId::from_index));
        FloodConfig {
            tree: self.tree.as_ref().map(|_| tree.collect()),
            edge_rate: self.edge_rate,
            fabric_rate: self.fabric_rate,
        }
    }
}

entries! {
    /// A route as in a file.
    #[derive(Clone, Debug, PartialEq, Eq)]
    RouteTable in "route" {
        "destination" destination: MacAddress, "", Live, valid::anything;
            "Frames to this MAC address …"
        "vlan" vlan: Option<VlanId> = None => "any", "", Live, valid::anything;
            "… in this VLAN, 1 to 4094, of a [VLAN-aware](../guide/vlans.md) switch; such a route precedes one without `vlan`, which applies to all VLANs without a separate route. A frame whose VLAN the port does not carry is dropped (`vlan`). …"
        "ports" ports: Vec<String>, "", Live, valid::anything;
            "… leave by one of these ports, the members of its **group**: equal-cost paths (ECMP). Each of them once."
        "buckets" buckets: Option<u64> = None => "64, or the next power of two from the number of ports", "", Live, valid::anything;
            "Buckets of the group, from the number of ports to 4096. A flow belongs to bucket *hash modulo buckets*, and a bucket to one member; at the start they are assigned to the members in turn, in the order of `[[port]]`. Meaningless for a single port."
        "pins" pins: Vec<(u32, String)> as FlowPins = Vec::new() => "none", "", Live, valid::anything;
            "Flows that leave through one port of the group regardless of their bucket, a table: `{ 1a2b3c4d = \"up2\" }`. A flow is named by its hash, as `switchctl flows` shows it. At most as many in all routes as `pins` of `[forwarding]`."
    }
}

/// Ports by flow hash, in the order of the hashes.
struct FlowPins;

impl Form<Vec<(u32, String)>> for FlowPins {
    fn read(table: &Table<'_>, key: &str) -> Option<Vec<(u32, String)>> {
        let mut pins: Vec<(u32, String)> = Vec::new();
        for (text, item) in table.free_table(key) {
            let path = table.key_path(&format!("{key}.{text}"));
            let complain = |message| table.problems().add(line_of(item), path, message);
            let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let hash = u32::from_str_radix(text, 16).ok().filter(|_| digits);
            match (hash, String::from_item(item)) {
                (None, _) => complain(format!(
                    "`{text}` is not a flow hash; write up to eight hexadecimal digits, as `switchctl flows` does"
                )),
                // 1a and 01A are two keys.
                (Some(hash), _) if pins.iter().any(|(other, _)| *other == hash) => {
                    complain(format!("flow {hash:08x} is pinned twice"));
                }
                (Some(hash), Ok(port)) => pins.push((hash, port)),
                (_, Err(message)) => complain(message),
            }
        }
        pins.sort_unstable();
        Some(pins)
    }

    fn written(pins: &Vec<(u32, String)>) -> Option<String> {
        let all: Vec<String> = pins
            .iter()
            .map(|(hash, port)| format!("{hash:08x} = {}", quoted(port)))
            .collect();
        (!all.is_empty()).then(|| format!("{{ {} }}", all.join(", ")))
    }
}

settings! {
    /// `[flows]`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    FlowsConfig in "flows" {
        "capacity" capacity: usize = 4096, "", Restart, valid::count(0, ENTRIES_MAX);
            "Maximum number of flows known, 0 to 1048576, rounded up to a power of two; 64 B each. 0 turns it off, and rerouting with it."
        "age" age: Duration = Duration::from_secs(10), "", Restart, valid::above_zero;
            "A flow without a frame for this long is forgotten. Must be longer than the time to find a deadlock, during which nothing is admitted."
    }
}

impl ForwardingConfig {
    /// Settings of the detection of loops.
    pub fn loops(&self) -> Option<LoopConfig> {
        self.loop_detection.then_some(LoopConfig {
            interval: PROBE_INTERVAL,
            hold: LOOP_HOLD,
            moves: (self.on_moves != OnMoves::Off).then_some(MoveConfig {
                count: MOVES,
                within: MOVES_WITHIN,
                proves: self.on_moves == OnMoves::Block,
            }),
        })
    }

    /// Capacity for changes to routes at run time.
    pub fn ecmp(&self) -> EcmpConfig {
        EcmpConfig {
            spare_routes: self.spare_routes,
            spare_buckets: self.spare_buckets,
            pin_capacity: self.pins,
        }
    }
}

impl FlowsConfig {
    /// Reads the table for switches with this policy, which may require it.
    pub(crate) fn read_for(root: &Table<'_>, policy: Policy) -> Self {
        Self::read(root, Self::default(), |table, config| {
            if config.capacity == 0 && policy.reroutes() {
                table.complain(
                    "capacity",
                    format!(
                        "deadlock policy {} moves flows that the monitor has recorded: set 1 or more",
                        policy.name()
                    ),
                );
            }
        })
    }

    /// The recent-flow monitor.
    pub fn monitor(&self) -> FlowMonitorConfig {
        FlowMonitorConfig {
            capacity: self.capacity,
            age: self.age,
        }
    }
}

/// `[[route]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destination address.
    pub destination: MacAddress,
    /// VLAN; `None` for any.
    pub vlan: Option<VlanId>,
    /// Ports by one of which the frames leave; at least one.
    pub ports: Vec<PortId>,
    /// Number of buckets for its flows; unused for a single port.
    pub buckets: u16,
    /// Pinned flows by hash, with their port; in the order of the hashes.
    pub pins: Vec<(u32, PortId)>,
}

impl Route {
    /// Its unique key.
    pub const fn key(&self) -> (Option<VlanId>, MacAddress) {
        (self.vlan, self.destination)
    }

    pub(super) fn core(self) -> RouteConfig {
        RouteConfig {
            destination: self.destination,
            vlan: self.vlan,
            ports: self.ports,
            buckets: self.buckets,
            pins: self.pins,
        }
    }

    /// Creates a route with the default number of buckets.
    pub fn new(destination: MacAddress, ports: Vec<PortId>) -> Self {
        Self {
            destination,
            vlan: None,
            buckets: default_bucket_count(ports.len()),
            ports,
            pins: Vec::new(),
        }
    }
}
