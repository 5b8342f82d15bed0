//! Parameters at data-centre speeds, as overrides of a scenario file.

use weir_config::Override;
use weir_core::units::LINE_OVERHEAD;
use weir_core::{BitRate, Bytes, Duration};

/// Longest frame of all flows.
pub const FRAME: Bytes = Bytes::new(1500);

/// Settings left open by the paper's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Rate of every link.
    pub rate: BitRate,
    /// Propagation delay of every link.
    pub delay: Duration,
    /// X_off of every ingress buffer; X_on is seven eighths of it.
    pub xoff: Bytes,
    /// Time without throughput after which an egress is suspected.
    pub detect: Duration,
    /// Interval of the CLCM of one suspected port.
    pub clcm_interval: Duration,
    /// Amount that a Loop Breaker first forces out; each step doubles it, up to twice X_off.
    pub traffic_release: Bytes,
    /// Duration of a release of the Deadlock Breaker.
    pub release: Duration,
    /// Latency from the dataplane to the control CPU, and also back.
    pub control_latency: Duration,
    /// Duration of traffic.
    pub duration: Duration,
}

impl Setting {
    /// 40 Gbit/s, 100 m of cable, thresholds and detection for times close to those of the paper's Figure 5.
    pub const DATA_CENTRE: Self = Self {
        rate: BitRate::from_mbit(40_000),
        delay: Duration::from_nanos(500),
        xoff: Bytes::new(28 * 1024),
        detect: Duration::from_micros(25),
        clcm_interval: Duration::from_micros(5),
        traffic_release: Bytes::new(14 * 1024),
        release: Duration::from_micros(10),
        control_latency: Duration::from_micros(1),
        duration: Duration::from_micros(250),
    };

    /// X_off as time on a line.
    pub fn xoff_time(&self) -> Duration {
        self.rate.time_for(self.xoff)
    }

    /// Returns the time that a frame occupies a line.
    pub fn frame_time(&self) -> Duration {
        self.rate.time_for(FRAME + LINE_OVERHEAD)
    }

    /// Maximum time from sending a pause until the last frame sent before it has arrived: the line may be busy with a
    /// frame at either end.
    pub fn round_trip(&self) -> Duration {
        self.delay.saturating_mul(2) + self.frame_time().saturating_mul(2)
    }

    /// Room for a round trip, and for the frames forced out by a Loop Breaker.
    pub fn headroom(&self) -> Bytes {
        const FORCED: u64 = 32 * 1024;
        const KIB: u64 = 1024;
        let under_way = self.rate.bytes_in(self.round_trip()).get();
        // Frames are charged in whole cells.
        let charged = under_way + under_way / 8;
        Bytes::new((charged + FORCED).div_ceil(KIB) * KIB)
    }

    /// Returns all of it as overrides for a scenario with one class called `lossless`.
    pub fn overrides(&self) -> Vec<Override> {
        let time = |time: Duration| format!("{}ns", time.as_nanos());
        let size = |size: Bytes| format!("{}B", size.get());
        let xon = Bytes::new(self.xoff.get() / 8 * 7);
        let values = [
            ("duration", time(self.duration)),
            ("link-defaults.rate", format!("{}bit", self.rate.get())),
            ("link-defaults.delay", time(self.delay)),
            // Feedback of a Level may also wait for the frame on its own line.
            (
                "link-defaults.round-trip",
                time(self.round_trip() + self.frame_time()),
            ),
            ("class.lossless.xoff", size(self.xoff)),
            ("class.lossless.xon", size(xon)),
            ("class.lossless.headroom", size(self.headroom())),
            ("deadlock.detect", time(self.detect)),
            ("deadlock.clcm-interval", time(self.clcm_interval)),
            ("deadlock.release", time(self.release)),
            ("deadlock.traffic-release", size(self.traffic_release)),
            ("deadlock.traffic-release-max", size(self.xoff + self.xoff)),
            ("control.latency", time(self.control_latency)),
        ];
        set(values.iter().map(|(path, value)| (*path, value.as_str())))
    }
}

/// Creates overrides from paths and values.
///
/// # Panics
///
/// If a path has an empty key: paths are constants of the program.
pub fn set<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Override> {
    values
        .into_iter()
        .map(|(path, value)| match format!("{path}={value}").parse() {
            Ok(change) => change,
            Err(error) => panic!("{error}"),
        })
        .collect()
}
