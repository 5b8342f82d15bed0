//! State of the sFlow agent: its taps, and counts of sent datagrams.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use weir_api::counters::SflowCounters;
use weir_config::daemon::SflowConfig;
use weir_core::{Duration, PortSet};
use weir_dataplane::tap::{Choice, Tap, TapFigures, TapPlan};

use super::exporting::{socket_for, Exporting};

/// Maximum number of sampled frames that wait for the agent: 400 ms at 10,000 samples per second.
const SAMPLES_WAITING: usize = 4_096;
/// Maximum number of waiting reports in multiples of the rate limit: a burst of one second, and another while the agent is
/// late.
const SECONDS_WAITING: usize = 2;
/// Minimum capacity for waiting reports.
const DROPS_WAITING_MIN: usize = 64;

/// Settings of the agent.
#[derive(Clone, Debug)]
pub struct SflowSettings {
    /// The collector.
    pub collector: SocketAddr,
    /// The switch's address in datagrams; `None` if it is not known.
    pub agent: Option<IpAddr>,
    /// Time between two counter samples of a port.
    pub interval: Duration,
    /// One in this many frames is sampled; `None` for none.
    pub sampling: Option<u32>,
    /// Maximum number of reports of dropped frames per second; `None` for no reports.
    pub drops_per_second: Option<u32>,
    /// Bytes of a frame in a sample or report.
    pub header_bytes: usize,
    /// Seed for the choice of frames.
    pub seed: u64,
}

impl SflowSettings {
    /// Returns the settings of `[sflow]`; `None` while it is off.
    pub fn new(config: &SflowConfig, seed: u64) -> Option<Self> {
        let collector = config.collector?;
        Some(Self {
            collector,
            agent: config.agent.or_else(|| own_address(collector)),
            interval: config.interval,
            sampling: config.sampling,
            drops_per_second: config.drops_per_second,
            header_bytes: config.header_bytes as usize,
            seed,
        })
    }
}

/// Returns the address from which this machine reaches `collector`, if there is a route. Sends nothing. A running switch may no
/// longer ask.
pub fn own_address(collector: SocketAddr) -> Option<IpAddr> {
    let socket = socket_for(collector).ok()?;
    socket.connect(collector).ok()?;
    socket.local_addr().ok().map(|own| own.ip())
}

/// The agent as its readers see it.
#[derive(Debug)]
pub struct SflowAgent {
    settings: SflowSettings,
    /// Copies of dropped frames, if they are reported.
    pub drops: Option<Arc<Tap>>,
    /// Copies of sampled frames, if there are samples.
    pub samples: Option<Arc<Tap>>,
    /// Counters of samples and datagrams, and errors.
    pub exporting: Exporting<SflowCounters>,
}

impl SflowAgent {
    /// Creates an agent that has sent nothing, with all the memory it will need.
    pub(super) fn new(settings: SflowSettings, port_count: usize) -> Self {
        let ports: PortSet = (0..port_count)
            .filter_map(weir_core::PortId::from_index)
            .collect();
        let tap = |choice, ring_frames| {
            let plan = TapPlan {
                ports,
                choice,
                count: u64::MAX,
                snap_bytes: settings.header_bytes,
                ring_frames,
            };
            Arc::new(Tap::new(plan, port_count))
        };
        let drops = settings.drops_per_second.map(|per_second| {
            let waiting = SECONDS_WAITING * per_second as usize;
            tap(
                Choice::Dropped { per_second },
                waiting.max(DROPS_WAITING_MIN),
            )
        });
        let seed = settings.seed;
        let samples = settings
            .sampling
            .map(|one_in| tap(Choice::Sampled { one_in, seed }, SAMPLES_WAITING));
        Self {
            settings,
            drops,
            samples,
            exporting: Exporting::default(),
        }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &SflowSettings {
        &self.settings
    }

    /// Returns all counters, with those of the taps.
    pub fn counters(&self) -> SflowCounters {
        let mut counters = self.exporting.counters();
        let (drops, samples) = (figures(&self.drops), figures(&self.samples));
        counters.drops_withheld += drops.withheld;
        counters.drops_lost += drops.lost;
        counters.packets_lost += samples.lost;
        counters
    }

    /// Returns the number of dropped frames, reported or not.
    pub fn drops_seen(&self) -> u64 {
        figures(&self.drops).seen
    }

    /// Returns the number of frames from which samples were chosen.
    pub fn packets_seen(&self) -> u64 {
        figures(&self.samples).seen
    }
}

fn figures(tap: &Option<Arc<Tap>>) -> TapFigures {
    tap.as_ref()
        .map_or_else(TapFigures::default, |tap| tap.total())
}
