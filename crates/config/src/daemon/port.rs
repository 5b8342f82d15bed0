//! `[[port]]`.

use weir_core::{
    Alpha, BitRate, Bytes, Duration, FeedbackCoding, MacAddress, Neighbour, PauseRule, Police,
    PortRole, Priority, VlanId, VlanMode, VlanSet,
};

use super::by_class::{ByClass, PerClass};
use super::vlan::VlanList;

use crate::entries::entries;
use crate::reader::{line_of, FromItem, Table};
use crate::settings::{quoted, valid, words, Form, Value};
use crate::switch::{reaction_of_station, Cable, CableLine, Express, PfcwdConfig};

/// Default limit of addresses: a host with its guests.
const HOST_ADDRESSES: u32 = 256;
/// Maximum of `addresses-max`.
const ADDRESSES_MAX: u64 = 1 << 20;
/// Maximum number of served queues of a device.
pub const QUEUES_MAX: u32 = 64;

entries! {
    /// `[[port]]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    Port in "port" {
        "name" name: String = String::new() => "the device's name", "", Restart, valid::anything;
            "The port's name everywhere. It is also a file name under `RUN-DIR/bpf`."
        "device" device: String, "", Restart, valid::anything;
            "Network device, in the daemon's network namespace: at most 15 bytes."
        "queue" queue: u32 = 0, "", Restart, valid::within(0, u64::from(QUEUES_MAX) - 1);
            "The first of the device's receive queues to use, from 0 to 63. Frames are sent by it."
        "queues" queue_count: Option<u32> = None => "all", "", Restart, valid::anything;
            "Number of receive queues to use, up to queue 63: all queues of the device [once the program is attached](../guide/deploy.md#every-queue-needs-a-socket), or one of a device that several ports share."
        "role" role: PortRole, "", Restart, valid::anything;
            "`\"fabric\"`: faces a switch, exchanges CLCM. `\"edge\"`: faces a host; its CLCM is counted and dropped, its PFC obeyed."
        "rate" rate: BitRate, "", Restart, valid::anything;
            "The line's rate. The port sends no faster, and pause quanta are computed from it."
        "round-trip" round_trip: RoundTrip as AutoOrTime = RoundTrip::Measured, "", Restart, valid::anything;
            "T of the link, for `level` classes: from sending a Feedback to the arrival of the last frame sent without it, including reaction times of both sides. `\"auto\"`: twice the longest recent measurement by echo messages, and at least 1 ms; if the buffers are too small for it, as much as they allow. A time: fixed. A longer measurement is counted and reported."
        "cable" cable: Option<Cable> = None => "not known", "", Restart, valid::anything;
            "The length of the cable, such as `\"40m\"`: [gives the headroom](../concepts/thresholds.md#headroom-by-cable) of lossless classes that set none, at this port. 5 ns per metre, and `reaction`."
        "reaction" reaction: Option<Duration> = None => "1 ms, and the time that IEEE 802.3 (31B.3.7) allows a station of this `rate`", "", Restart, valid::anything;
            "With `cable`: time of both ends from xoff to the last frame that the other end begins, without the time on the cable and frames in the way. A software switch takes 1 ms on an idle core."
        "neighbour" neighbour: Neighbour = Neighbour::Unknown, "", Restart, valid::anything;
            "Kind of neighbour at a fabric port, for `level` classes. `\"enhanced\"`: it supports protocol P, unless it announces otherwise through LLDP. `\"regular\"`: it supports PFC only. `\"auto\"`: [LLDP](lldp.md#what-follows) finds out; until then the neighbour gets signals that both kinds understand."
        "feedback" feedback: FeedbackCoding = FeedbackCoding::Pfc, "", Restart, valid::anything, if Self::is_fabric;
            "How a fabric port sends its Feedback: `\"pfc\"`: by class, in PFC frames. `\"pause\"`: one for the whole link, in PAUSE frames. `\"grants\"`: by class, as permission for a number of frames, so the buffers need no room for the round trip; both sides must be set so, with `neighbour = \"enhanced\"`; where LLDP finds that they are not, `\"pfc\"` is used."
        "police" police: Police = Police::Off, "", Restart, valid::anything, if Self::is_edge;
            "Edge ports, for hosts that do not obey PFC, such as the kernel's TCP. `\"off\"`: pause the host at `xoff`. `\"drop\"`: drop single frames from `xoff` on, more often as room runs out, and all frames beyond `xoff` + `headroom`. `\"mark\"`: mark ECN-capable frames Congestion Experienced from `xoff` on, and drop beyond `xoff` + `headroom`. Drops count as `policed`; the fabric behind the port loses nothing."
        "pause" pause: Option<PauseRule> = None => "`\"ignore\"` at edge ports, `\"obey\"` at fabric ports", "", Restart, valid::anything;
            "When the port obeys 802.3x PAUSE, which stops all priorities: `\"obey\"`: always. `\"ignore\"`: never. `\"no-lossless\"`: if no class is lossless. Ignored pauses are counted. [PFC](mac-control.md#what-weir-obeys) is obeyed for lossless priorities only."
        "overshoot" overshoot: Bytes = Bytes::ZERO, "", Live, valid::anything, if Self::is_edge;
            "Edge ports: bytes that the host still sends after XOFF, as [`weir-host measure`](../guide/host.md#headroom) has found on this link. `switchctl plan` and `config check` require a `headroom` with room for them in addition to the arrivals within `round-trip`."
        "alpha" alpha: PerClass<Alpha> as ByClass = PerClass::new() => "as the classes set", "", Restart, valid::anything;
            "For [classes of a pool](../concepts/shared-buffers.md), by their names: α of their buffers at this port, `{ storage = \"1/4\" }`, instead of their `alpha` or `static-threshold`."
        "static-threshold" static_threshold: PerClass<Bytes> as ByClass = PerClass::new() => "as the classes set", "", Restart, valid::anything;
            "The same with a fixed threshold, `{ storage = \"40KiB\" }`."
        "pfcwd" pfcwd: Option<PfcwdConfig> as OwnPfcwd = None => "as `[pfcwd]`", "", Live, valid::anything;
            "A table with the keys of `[pfcwd]`, for this port: `{ action = \"alert\" }`."
        "express" express: Option<Express> = None => "as in `[dataplane]`", "", Restart, valid::anything;
            "Whether frames leave and enter through the port on the [express path](../internals/express.md): `\"off\"`, `\"auto\"`, `\"on\"`."
        "hardware-time" hardware_time: bool = false, "", Restart, valid::anything;
            "Whether the XDP program requests the device's time of reception of each frame, for [captures](../operations/capture.md#hardware-time). For devices whose driver provides it to XDP programs, in native mode; on others the switch does not start."
        "wait" wait: bool = false, "", Live, valid::anything;
            "Whether the switch starts without the device. The port is down until the [device appears](../guide/deploy.md#devices-that-come-and-go)."
        "credit-slots" credit_slots: Option<u32> = None => "half of `rx-ring`", "", Restart, valid::given(valid::within(1, 32_704));
            "For classes of mode `credit`: slots of the RX ring that are reserved for their frames. The neighbour never has credits for more frames than that, so they bound the frames in flight on the link. All other frames share the rest."
        "address" address: Option<MacAddress> = None => "the device's own", "", Restart, valid::anything;
            "Source MAC address of control frames."
        "default-priority" default_priority: Priority = Priority::ALL[0], "", Live, valid::anything;
            "Priority of a frame without one."
        "trust" trust: Trust = Trust::PcpDscp, "", Live, valid::anything;
            "Source of the priority: `\"pcp\"` (VLAN tag), `\"dscp\"` (IP header), `\"pcp-dscp\"` (tag, else IP), `\"port\"` (nowhere)."
        "pcp-map" pcp_map: [Priority; 8] as PcpMap = Priority::ALL, "", Live, valid::anything;
            "Priority by PCP."
        "dscp-map" dscp_map: [Priority; 64] as DscpMap = default_dscp_map() => "`DSCP ÷ 8`", "", Live, valid::anything;
            "Priority by DSCP, a table of changes: `{ 46 = 5, 26 = 3 }`."
        "tag" tag: Option<VlanId> = None => "none", "", Restart, valid::anything;
            "The port's VLAN, 1 to 4094: the only one of an access port, the native one of a port of mode `native-tagged` or `native-untagged`. With this key, `trunks` or `vlan-mode` at any port the switch is [VLAN-aware](../guide/vlans.md)."
        "trunks" trunks: Option<VlanSet> as VlanList = None => "all", "", Restart, valid::anything;
            "VLANs that a port other than an access port carries: numbers and ranges, `[10, \"20-29\"]`; 0, at a trunk, for frames without a tag. Empty or absent: all of them. A native VLAN is always carried."
        "vlan-mode" vlan_mode: Option<VlanMode> = None => "`\"access\"` with `tag`, else `\"trunk\"`", "", Restart, valid::anything;
            "As in Open vSwitch. `\"access\"`: one VLAN, without tags; a frame with a tag is dropped (`vlan`). `\"trunk\"`: VLANs with tags; a frame without one is in VLAN 0. `\"native-tagged\"`: a trunk at which a frame without a tag is in the VLAN of `tag`. `\"native-untagged\"`: the same, and that VLAN's frames leave without a tag."
        "priorities" priorities: Option<Vec<Priority>> = None => "all", "", Restart, valid::given(|it: &Vec<Priority>| some_priority(it));
            "Priorities that frames from the port may have, `[0, 3]`; others are dropped (`priority`). They keep their PCP and DSCP, which the next switch would trust. Frames from such a port do not take the express path."
        "address-limit" address_limit: Option<u32> = None => "256 at `edge` ports, else none", "", Restart, valid::given(valid::within(1, ADDRESSES_MAX));
            "Maximum number of addresses learned behind the port, 1 to 1048576. Frames from other addresses are dropped (`address_limit`)."
        "fallback" fallback: Fallback = Fallback::Drop, "", Live, valid::anything;
            "Treatment of frames by XDP while no daemon has the socket: `\"drop\"`, or `\"pass\"` to the kernel. LLDP always goes to the kernel."
    }
}

fn some_priority(priorities: &[Priority]) -> Result<(), String> {
    match priorities.is_empty() {
        true => Err(
            "lists no priority, so no frame would be accepted: add one, or remove the key"
                .to_owned(),
        ),
        false => Ok(()),
    }
}

impl Port {
    /// Maximum number of addresses learned at the port, if limited.
    pub(super) fn learned_at_most(&self) -> Option<u32> {
        let default = || self.is_edge().then_some(HOST_ADDRESSES);
        self.address_limit.or_else(default)
    }

    /// Returns, by priority, whether the port accepts frames of it.
    pub(super) fn allowed_priorities(&self) -> [bool; 8] {
        let allowed = self.priorities.as_ref();
        Priority::ALL.map(|it| allowed.is_none_or(|allowed| allowed.contains(&it)))
    }

    /// Returns the port's setting of the express path, or `usual` if it has none. Off with `priorities`, because only
    /// the core drops frames of other priorities.
    pub fn express_or(&self, usual: Express) -> Express {
        match &self.priorities {
            Some(_) => Express::Off,
            None => self.express.unwrap_or(usual),
        }
    }

    fn is_fabric(&self) -> bool {
        self.role == PortRole::Fabric
    }

    /// The port's line, if its cable is known.
    pub fn cable_line(&self) -> Option<CableLine> {
        let both = || RoundTrip::LEAST + reaction_of_station(self.rate);
        Some(CableLine {
            rate: self.rate,
            cable: self.cable?,
            reaction: self.reaction.unwrap_or_else(both),
            overshoot: self.overshoot,
        })
    }

    /// Returns true if frames of classes with Levels may use the express path at this port: Feedback for the whole
    /// link, and grants, must account for every frame.
    pub fn lets_levels_pass(&self) -> bool {
        self.is_edge() || self.feedback == FeedbackCoding::Pfc
    }

    /// Returns true if the port faces a host.
    pub fn is_edge(&self) -> bool {
        self.role == PortRole::Edge
    }
}

words! {
    Trust: [
        ("pcp", Trust::Pcp),
        ("dscp", Trust::Dscp),
        ("pcp-dscp", Trust::PcpDscp),
        ("port", Trust::Port),
    ];
    Fallback: [("pass", Fallback::Pass), ("drop", Fallback::Drop)];
}

/// Field of a frame that determines its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// None: the port's default applies.
    Port,
    /// The outermost VLAN tag.
    Pcp,
    /// The IP header.
    Dscp,
    /// The VLAN tag, otherwise the IP header.
    PcpDscp,
}

/// Treatment of frames by XDP while no daemon runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Passed to the kernel.
    Pass,
    /// Dropped.
    Drop,
}

/// Round trip time of a link, T, reaction times included. For classes with Levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundTrip {
    /// Measured by echo messages.
    Measured,
    /// Set by the operator.
    Fixed(Duration),
}

impl RoundTrip {
    /// The minimum T assumed if it is measured: a software switch on an idle core.
    pub const LEAST: Duration = Duration::from_millis(1);

    /// T, or the assumed minimum.
    pub fn assumed(self) -> Duration {
        match self {
            Self::Measured => Self::LEAST,
            Self::Fixed(time) => time,
        }
    }
}

/// `auto` for a measured one, or a time.
struct AutoOrTime;

impl Form<RoundTrip> for AutoOrTime {
    fn read(table: &Table<'_>, key: &str) -> Option<RoundTrip> {
        match table.is_text(key, "auto") {
            true => Some(RoundTrip::Measured),
            false => table.get(key).map(RoundTrip::Fixed),
        }
    }

    fn written(round_trip: &RoundTrip) -> Option<String> {
        match round_trip {
            RoundTrip::Measured => Some(quoted("auto")),
            RoundTrip::Fixed(time) => time.written(),
        }
    }
}

/// A nested table, read by [`PfcwdConfig::of_port`], which needs the settings of `[pfcwd]`.
struct OwnPfcwd;

impl Form<Option<PfcwdConfig>> for OwnPfcwd {
    fn read(_: &Table<'_>, _: &str) -> Option<Option<PfcwdConfig>> {
        None
    }

    fn written(own: &Option<PfcwdConfig>) -> Option<String> {
        let pairs = own.as_ref()?.pairs().into_iter();
        let pairs: Vec<String> = pairs
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        Some(format!("{{ {} }}", pairs.join(", ")))
    }
}

/// A priority for each PCP.
struct PcpMap;

impl Form<[Priority; 8]> for PcpMap {
    fn read(table: &Table<'_>, key: &str) -> Option<[Priority; 8]> {
        let map: Vec<Priority> = table.get(key)?;
        let count = map.len();
        let map = map.try_into().ok();
        if map.is_none() {
            let message = format!("expected eight priorities, one for each PCP, found {count}");
            table.complain(key, message);
        }
        map
    }

    fn written(map: &[Priority; 8]) -> Option<String> {
        map.to_vec().written()
    }
}

/// Differences from [`default_dscp_map`].
struct DscpMap;

impl Form<[Priority; 64]> for DscpMap {
    fn read(table: &Table<'_>, key: &str) -> Option<[Priority; 64]> {
        let mut map = default_dscp_map();
        for (dscp, item) in table.free_table(key) {
            let path = table.key_path(&format!("{key}.{dscp}"));
            let complain = |message| table.problems().add(line_of(item), path, message);
            let place = dscp
                .parse::<usize>()
                .ok()
                .and_then(|dscp| map.get_mut(dscp));
            match (place, Priority::from_item(item)) {
                (Some(place), Ok(priority)) => *place = priority,
                (None, _) => complain(format!("`{dscp}` is not a DSCP; valid are 0 to 63")),
                (_, Err(message)) => complain(message),
            }
        }
        Some(map)
    }

    fn written(map: &[Priority; 64]) -> Option<String> {
        let default = default_dscp_map();
        let changed: Vec<String> = (0..64)
            .filter(|dscp| map[*dscp] != default[*dscp])
            .map(|dscp| format!("{dscp} = {}", map[dscp]))
            .collect();
        (!changed.is_empty()).then(|| format!("{{ {} }}", changed.join(", ")))
    }
}

/// Default priority by DSCP: the class selector (RFC 2474, section 4.2.2).
pub fn default_dscp_map() -> [Priority; 64] {
    std::array::from_fn(|dscp| Priority::from_low_bits((dscp >> 3) as u8))
}
