//! Scenario files: switches, hosts, links, routes, flows, and what is expected. The lab runs them with
//! real frames, the simulator in virtual time.

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

/// A checked scenario. Switches, hosts, links and flows are named by their index in these lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its name in results.
    pub name: String,
    /// One sentence for people.
    pub description: String,
    /// For how long traffic is offered.
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
    /// By switch: whether it knows Levels. One that does not speaks plain PFC in classes of mode `level`,
    /// and its neighbours are not told.
    pub has_levels: Vec<bool>,
    /// What the hosts are.
    pub host_kind: HostKind,
    /// Those of `[topology]`, then `[[host]]`.
    pub hosts: Vec<Host>,
    /// Between switches: those of `[topology]`, then `[[link]]`.
    pub links: Vec<Link>,
    /// `[link-defaults]`.
    pub link_defaults: LinkProperties,
    /// `[multicast]`; `None` where frames to group addresses go nowhere.
    pub multicast: Option<Multicast>,
    /// Where switches send frames.
    pub next_hops: NextHops,
    /// Which of several next hops a frame takes.
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
    /// By fault: its line in the file; `None` where all of it was said on the command line.
    pub fault_lines: Vec<Option<usize>>,
    /// `[baseline]`.
    pub baseline: Baseline,
    /// `[expect]` with the tables for the policy in force on top.
    pub expect: Expect,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The switch that it hangs on.
    pub switch: usize,
    /// Whether it obeys PFC: an endpoint always can, a kernel with `weir-host`.
    pub obeys_pfc: bool,
    /// What its switch does when its frames fill the buffer.
    pub police: Police,
    /// When its switch obeys 802.3x PAUSE from it.
    pub pause: PauseRule,
    /// Its address.
    pub address: MacAddress,
    /// The line to its switch.
    pub line: LinkProperties,
}

/// Rate and delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkProperties {
    /// In each direction.
    pub rate: BitRate,
    /// Propagation delay. The lab's veth pairs have none; the simulator obeys it.
    pub delay: Duration,
    /// Its cable, where the file gives that in the place of the delay.
    pub cable: Option<Cable>,
    /// With a cable: what the two ends take from xoff to the last frame, beside the time on it.
    pub reaction: Option<Duration>,
    /// Round trip time of a link between switches, their reaction times included. For classes with Levels.
    pub round_trip: Duration,
    /// How Feedback is told on a link between switches. For classes with Levels.
    pub feedback: FeedbackCoding,
    /// Whether its two switches have learned, as by LLDP, what the other one is. Where they have not, they speak so that
    /// any switch understands; grants are refused there. The lab's switches learn it.
    pub known: bool,
}

impl LinkProperties {
    /// The line, where its cable is known.
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
    /// True for a link that is broken: neither switch has a port there.
    pub failed: bool,
    /// Rate and delay.
    pub properties: LinkProperties,
}

/// What a run must show. `None`: not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// Whether the network is deadlocked at the end.
    pub deadlock: Option<bool>,
    /// Whether the routes of the flows close a credit loop. Checked when the file is read.
    pub credit_loop: Option<bool>,
    /// Peak number of suspected (switch, egress, priority), exactly.
    pub suspected: Option<u64>,
    /// The same, at least.
    pub suspected_at_least: Option<u64>,
    /// Frames lost, at most.
    pub lost: Option<u64>,
    /// Frames reordered, at most.
    pub reordered: Option<u64>,
    /// Frames corrupted, at most.
    pub corrupted: Option<u64>,
    /// Frames dropped by switches, at most.
    pub dropped: Option<u64>,
    /// TCP segments that applications sent again, at most.
    pub retransmitted: Option<u64>,
    /// Whether every flow made progress in the last third.
    pub progress: Option<bool>,
    /// Time from detection to the first release, at most.
    pub first_release_within: Option<Duration>,
}

impl Scenario {
    /// Reads and checks a file, with keys of the command line put over it.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn load(path: &Path, overrides: &[Override]) -> Result<Self, FileError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| FileError::unreadable(path, &error))?;
        Self::parse(&text, path, overrides)
    }

    /// Reads and checks `text`, which stands in the file `path`: files that it names are looked for beside that.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn parse(text: &str, path: &Path, overrides: &[Override]) -> Result<Self, FileError> {
        let directory = path.parent().unwrap_or(Path::new(""));
        read::scenario(text, directory, overrides).map_err(|problems| {
            let mut error = FileError::of(path, problems);
            // The file is not to blame where it is valid as it stands.
            if !overrides.is_empty() && read::scenario(text, directory, &[]).is_ok() {
                error.set = overrides.iter().map(Override::to_string).collect();
            }
            error
        })
    }

    /// The files that `text`, which stands in the file `path`, names with these overrides, and what stands in them; nothing
    /// where that cannot be read.
    pub fn files(text: &str, path: &Path, overrides: &[Override]) -> Vec<(String, String)> {
        let directory = path.parent().unwrap_or(Path::new(""));
        read::files(text, directory, overrides)
    }
}
