//! State of the IPFIX stream: its readings, and counts of sent messages.

use std::net::SocketAddr;
use std::sync::Arc;

use weir_api::counters::IpfixCounters;
use weir_config::daemon::IpfixConfig;
use weir_core::Duration;
use weir_dataplane::series::Series;

use super::exporting::Exporting;

/// Settings of the stream.
#[derive(Clone, Copy, Debug)]
pub struct IpfixSettings {
    /// The collector.
    pub collector: SocketAddr,
    /// Time between two readings.
    pub interval: Duration,
    /// The switch's number in messages.
    pub observation_domain: u32,
    /// Number of the organisation whose elements the stream has.
    pub enterprise: u32,
}

impl IpfixSettings {
    /// The settings of `[ipfix]`; `None` while it is off.
    pub fn new(config: &IpfixConfig) -> Option<Self> {
        Some(Self {
            collector: config.collector?,
            interval: config.interval,
            observation_domain: config.observation_domain,
            enterprise: config.enterprise,
        })
    }
}

/// The stream as its readers see it.
#[derive(Debug)]
pub struct IpfixStream {
    settings: IpfixSettings,
    /// Readings by the dataplane thread.
    pub series: Arc<Series>,
    /// Counters of records and messages, and errors.
    pub exporting: Exporting<IpfixCounters>,
}

impl IpfixStream {
    /// A stream that has sent nothing, with the memory for its readings.
    pub(super) fn new(settings: IpfixSettings, port_count: usize) -> Self {
        Self {
            settings,
            series: Arc::new(Series::new(settings.interval, port_count)),
            exporting: Exporting::default(),
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &IpfixSettings {
        &self.settings
    }

    /// Returns all counters, with those of the series.
    pub fn counters(&self) -> IpfixCounters {
        let mut counters = self.exporting.counters();
        counters.readings_late = self.series.late();
        counters.readings_no_memory = self.series.crowded();
        counters
    }
}
