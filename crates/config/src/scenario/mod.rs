//! Scenario files: switches, hosts, links, routes, flows, and expectations. The lab runs them with real frames, the
//! simulator in virtual time.

mod additions;
mod application;
mod baseline;
mod credit_loop;
mod derive;
mod fault;
mod flow;
pub mod generate;
mod lab;
pub mod random;
mod read;
mod routes;
mod topology;
mod traffic;
mod transport;

use std::path::Path;

use weir_core::{BitRate, Bytes, Duration, FeedbackCoding, MacAddress, PauseRule, Police};

use crate::reader::FileError;
use crate::switch::{
    reaction_of_station, Cable, CableLine, Class, DeadlockConfig, EcnProfile, FlowsConfig,
    PfcwdConfig, Pool,
};
use crate::Override;

pub use additions::{AddedFlow, Additions};
pub use application::{Application, HostKind, PLACEHOLDERS, PREFIX_LENGTH};
pub use baseline::Baseline;
pub use credit_loop::{CreditLoop, Graph};
pub use fault::{ControlConfig, Fault, FaultTime, ImpairedFrames, Impairing};
pub use flow::{After, Flow, Pattern, Transport};
pub use lab::{endpoint_ip, ENDPOINT_SOURCE_PORTS, ENDPOINT_UDP_PORT};
pub use read::KEYS;
pub use routes::multicast::Multicast;
pub use routes::{
    Balancing, NextHops, NextHopsOf, Spread, SwitchSpread, FLOWLET_TABLE_DEFAULT, FLOWLET_TABLE_MAX,
};
pub use topology::{PortPeer, SwitchPort};
pub use traffic::{
    Collective, Distribution, DistributionError, Ground, Pairs, Sizes, Traffic, TrafficError,
    TrafficKind, FLOW_COUNT_MAX,
};
pub use transport::{
    DcqcnConfig, DctcpConfig, HpccConfig, Reaction, Recovery, RecoveryConfig, SwiftConfig,
    TimelyConfig, TransportConfig, WindowConfig, WindowLimit, WINDOW_FRAMES_MAX,
};

/// A checked scenario. Switches, hosts, links and flows are identified by their index in these lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its name in results.
    pub name: String,
    /// A sentence about it.
    pub description: String,
    /// Duration of the offered traffic.
    pub duration: Duration,
    /// Seed of all randomness.
    pub seed: u64,
    /// `[[class]]`.
    pub classes: Vec<Class>,
    /// `[[pool]]`, of every switch.
    pub pools: Vec<Pool>,
    /// `[[ecn]]`, of every switch.
    pub ecn: Vec<EcnProfile>,
    /// `[deadlock]`.
    pub deadlock: DeadlockConfig,
    /// `[pfcwd]`, of every switch.
    pub pfcwd: PfcwdConfig,
    /// `[flows]`, of every switch.
    pub flow_monitor: FlowsConfig,
    /// Those of `[topology]`, then `[[switch]]`.
    pub switches: Vec<String>,
    /// By switch: true if it supports Levels. Other switches use plain PFC in classes of mode `level`, unknown to
    /// their neighbours.
    pub has_levels: Vec<bool>,
    /// Kind of all hosts.
    pub host_kind: HostKind,
    /// Those of `[topology]`, then `[[host]]`.
    pub hosts: Vec<Host>,
    /// Hosts of several lines; each line is one of `hosts`, with a separate address.
    pub multihomed: Vec<Multihomed>,
    /// Between switches: those of `[topology]`, then `[[link]]`.
    pub links: Vec<Link>,
    /// `[link-defaults]`.
    pub link_defaults: LinkProperties,
    /// `[multicast]`; `None` if frames to group addresses are dropped.
    pub multicast: Option<Multicast>,
    /// Next hops of all switches.
    pub next_hops: NextHops,
    /// Choice among several next hops.
    pub balancing: Balancing,
    /// `[[flow]]`, then the flows of every `[[traffic]]`.
    pub flows: Vec<Flow>,
    /// `[[application]]`.
    pub applications: Vec<Application>,
    /// `[control]`.
    pub control: ControlConfig,
    /// `[dcqcn]`.
    pub dcqcn: DcqcnConfig,
    /// `[window]`.
    pub window: WindowConfig,
    /// `[dctcp]`, `[timely]`, `[swift]`, `[hpcc]` and `[recovery]`.
    pub transports: TransportConfig,
    /// `[[fault]]`.
    pub faults: Vec<Fault>,
    /// By fault: its line in the file; `None` if it comes only from the command line.
    pub fault_lines: Vec<Option<usize>>,
    /// `[baseline]`.
    pub baseline: Baseline,
    /// `[expect]`, overridden by its tables for the policy in force.
    pub expect: Expect,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its switch.
    pub switch: usize,
    /// True if it obeys PFC: an endpoint always can, a kernel with `weir-host`.
    pub obeys_pfc: bool,
    /// True if it uses credits.
    pub obeys_credits: bool,
    /// Action of its switch when its frames fill the buffer.
    pub police: Police,
    /// When its switch obeys 802.3x PAUSE from it.
    pub pause: PauseRule,
    /// Its address.
    pub address: MacAddress,
    /// The line to its switch.
    pub line: LinkProperties,
}

/// A host of several lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multihomed {
    /// Its name.
    pub name: String,
    /// Its lines, by index in [`Scenario::hosts`]; at least two.
    pub lines: Vec<usize>,
}

/// Rate and delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkProperties {
    /// In each direction.
    pub rate: BitRate,
    /// Propagation delay. The lab's veth pairs have none; the simulator applies it.
    pub delay: Duration,
    /// Its cable, if the file sets it instead of the delay.
    pub cable: Option<Cable>,
    /// With a cable: time of the two ends from xoff to the last frame, in addition to the cable's.
    pub reaction: Option<Duration>,
    /// Round trip time of a link between switches, including their reaction times. For classes with Levels.
    pub round_trip: Duration,
    /// Coding of Feedback on a link between switches. For classes with Levels.
    pub feedback: FeedbackCoding,
    /// True if its two switches have discovered each other, as by LLDP. Otherwise they use messages that any switch
    /// understands, and refuse grants. The lab's switches discover it.
    pub known: bool,
}

impl LinkProperties {
    /// The line, if its cable is known.
    pub fn cable_line(&self) -> Option<CableLine> {
        Some(CableLine {
            rate: self.rate,
            cable: self.cable?,
            reaction: self
                .reaction
                .unwrap_or_else(|| reaction_of_station(self.rate)),
            overshoot: Bytes::ZERO,
        })
    }
}

/// One link between two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The two switches.
    pub ends: [usize; 2],
    /// True for a broken link: neither switch has a port there.
    pub failed: bool,
    /// Rate and delay.
    pub properties: LinkProperties,
}

/// Expected results of a run. `None`: not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// The network is deadlocked at the end.
    pub deadlock: Option<bool>,
    /// The routes of the flows form a credit loop. Checked when the file is read.
    pub credit_loop: Option<bool>,
    /// Peak number of suspected (switch, egress, priority), exactly.
    pub suspected: Option<u64>,
    /// The same as a minimum.
    pub suspected_at_least: Option<u64>,
    /// Maximum number of lost frames.
    pub lost: Option<u64>,
    /// Maximum number of reordered frames.
    pub reordered: Option<u64>,
    /// Maximum number of corrupted frames.
    pub corrupted: Option<u64>,
    /// Maximum number of frames dropped by switches.
    pub dropped: Option<u64>,
    /// Maximum number of TCP segments retransmitted by applications.
    pub retransmitted: Option<u64>,
    /// Every flow made progress in the last third.
    pub progress: Option<bool>,
    /// Maximum time from detection to the first release.
    pub first_release_within: Option<Duration>,
}

impl Scenario {
    /// Reads and checks a file, with overrides from the command line.
    ///
    /// # Errors
    ///
    /// All problems of the file.
    pub fn load(path: &Path, overrides: &[Override]) -> Result<Self, FileError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| FileError::unreadable(path, &error))?;
        Self::parse(&text, path, overrides)
    }

    /// Parses and checks `text`, the contents of the file `path`; other files named in it are relative to that.
    ///
    /// # Errors
    ///
    /// All problems of the file.
    pub fn parse(text: &str, path: &Path, overrides: &[Override]) -> Result<Self, FileError> {
        Self::parse_with(text, path, overrides, &Additions::default())
    }

    /// As [`parse`](Self::parse), with transports and flows that no file has.
    ///
    /// # Errors
    ///
    /// All problems of the file and of the additions.
    pub fn parse_with(
        text: &str,
        path: &Path,
        overrides: &[Override],
        additions: &Additions,
    ) -> Result<Self, FileError> {
        let directory = path.parent().unwrap_or(Path::new(""));
        read::scenario(text, directory, overrides, additions).map_err(|problems| {
            let mut error = FileError::of(path, problems);
            // The file is not at fault if it is valid without overrides.
            if !overrides.is_empty() && read::scenario(text, directory, &[], additions).is_ok() {
                error.set = overrides.iter().map(Override::to_string).collect();
            }
            error
        })
    }

    /// The files named by `text`, the contents of the file `path`, with these overrides, and their contents; without
    /// contents if a file cannot be read.
    pub fn files(text: &str, path: &Path, overrides: &[Override]) -> Vec<(String, String)> {
        let directory = path.parent().unwrap_or(Path::new(""));
        read::files(text, directory, overrides)
    }
}
