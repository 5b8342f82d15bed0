//! Configuration of one endpoint: the JSON file written by the runner.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weir_core::credit::CreditTerms;
use weir_core::units::{BitRate, Duration, Instant, MacAddress, Priority};

/// Shortest frame that carries the lab's header, in bytes without FCS.
///
/// Ethernet 14, 802.1Q tag 4, IPv4 20, UDP 8, lab header 32, and at least 2 bytes of fill.
pub const FRAME_BYTES_MIN: u32 = 80;
/// Longest frame, in bytes without FCS: a full payload of 1500 bytes behind an 802.1Q tag.
pub const FRAME_BYTES_MAX: u32 = 1518;
/// Maximum number of flows that an endpoint sends, and of those that it expects.
pub const FLOWS_MAX: usize = 256;
/// Maximum number of intervals in a series; a longer run needs a longer interval.
pub const SAMPLES_MAX: u64 = 100_000;
/// Maximum number of frames that a flow may send back to back after a stall.
pub const CATCH_UP_FRAMES_MAX: u32 = 64;

pub use weir_config::scenario::ENDPOINT_SOURCE_PORTS as SOURCE_PORTS;

/// Configuration of one endpoint. Unknown keys are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfig {
    /// Network device in the endpoint's namespace.
    pub device: String,
    /// MAC address of the endpoint, as text: `02:00:00:00:00:01`. Data frames for others are counted as foreign.
    #[serde(with = "mac_text")]
    pub address: MacAddress,
    /// Line rate in bits per second. It limits the sum of all flows and determines the length of a quantum (IEEE 802.3 Annex
    /// 31B.2: 512 bit times).
    pub line_bits_per_second: u64,
    /// Priorities whose PFC pauses are obeyed; others are only counted.
    #[serde(default = "all_priorities")]
    pub pfc_priorities: Vec<u8>,
    /// True if PFC is obeyed; false models a neighbour that ignores PFC.
    #[serde(default = "yes")]
    pub obey_pfc: bool,
    /// True if 802.3x PAUSE is obeyed.
    #[serde(default = "yes")]
    pub obey_pause: bool,
    /// Classes in which it uses credits, if its switch does.
    #[serde(default)]
    pub credits: Vec<CreditClass>,
    /// Flows to send.
    #[serde(default)]
    pub send: Vec<SendFlow>,
    /// Flows to expect. Intact lab frames of other flows are counted as foreign.
    #[serde(default)]
    pub expect: Vec<ExpectFlow>,
    /// Path of the report. Written to a temporary file next to it and renamed.
    pub report: PathBuf,
    /// Start of traffic in nanoseconds of `CLOCK_MONOTONIC`, which all processes of a machine share. All other times count
    /// from it. If absent, traffic starts at the command `begin NANOS`.
    #[serde(default)]
    pub start_monotonic_nanos: Option<u64>,
    /// Length of the run in nanoseconds, which limits the series and defines the last third. Frames that arrive later, while
    /// the network drains, are counted outside the series.
    pub run_nanos: u64,
    /// Length of one interval of the series, in nanoseconds.
    #[serde(default = "ten_milliseconds")]
    pub sample_nanos: u64,
    /// Number of frames that a flow may send back to back after a stall of the endpoint or a pause.
    #[serde(default = "two")]
    pub catch_up_frames: u32,
}

/// Terms on which the endpoint gives credits in one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreditClass {
    /// 0 to 7.
    pub priority: u8,
    /// Bytes of a credit.
    pub size: u16,
    /// Bytes added to each frame.
    pub overhead: i8,
    /// Maximum number of credits.
    pub limit: u32,
}

/// One flow to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendFlow {
    /// Number in every frame; unique among all flows of a run.
    pub id: u32,
    /// Name in the report.
    pub name: String,
    /// Destination address.
    #[serde(with = "mac_text")]
    pub destination: MacAddress,
    /// 0 to 7: the PCP of the 802.1Q priority tag (VLAN 0) on every frame.
    pub priority: u8,
    /// UDP source port; derived from `id` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_port: Option<u16>,
    /// Length of every frame from the destination address to the last payload byte, without FCS.
    pub frame_bytes: u32,
    /// Rate in bits per second over `frame_bytes`, limited by the line rate.
    pub bits_per_second: u64,
    /// Earliest time of the first frame, nanoseconds since the start.
    #[serde(default)]
    pub start_nanos: u64,
    /// No frame is sent from this time on, nanoseconds since the start.
    pub stop_nanos: u64,
    /// True if frames carry ECT(0) and may be marked CE.
    #[serde(default)]
    pub ecn_capable: bool,
}

/// One flow to receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectFlow {
    /// The sender's [`SendFlow::id`].
    pub id: u32,
    /// Name in the report.
    pub name: String,
    /// The sender's [`SendFlow::start_nanos`]; stalls count from the first arrival, or from this time.
    #[serde(default)]
    pub start_nanos: u64,
    /// The sender's [`SendFlow::stop_nanos`]; stalls count up to this time. If absent, up to the run's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_nanos: Option<u64>,
}

/// Error in a configuration.
#[derive(Debug, Error)]
pub enum EndpointConfigError {
    /// A value is invalid.
    #[error("{key}: {value} is not allowed; {legal}")]
    Value {
        /// The key, with its index in a list.
        key: String,
        /// Invalid value.
        value: String,
        /// Valid values.
        legal: String,
    },
}

impl EndpointConfig {
    /// Checks all values.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self) -> Result<(), EndpointConfigError> {
        require(
            !self.device.is_empty(),
            "device",
            &self.device,
            "must be a network device",
        )?;
        require(
            !self.address.is_group(),
            "address",
            self.address,
            "must be a unicast address: the first byte is even",
        )?;
        require(
            self.line_bits_per_second > 0,
            "line_bits_per_second",
            self.line_bits_per_second,
            "at least 1",
        )?;
        for (index, priority) in self.pfc_priorities.iter().enumerate() {
            check_priority(&format!("pfc_priorities[{index}]"), *priority)?;
        }
        require(
            self.run_nanos > 0,
            "run_nanos",
            self.run_nanos,
            "at least 1",
        )?;
        require(
            self.sample_nanos > 0,
            "sample_nanos",
            self.sample_nanos,
            "at least 1",
        )?;
        let samples = self.run_nanos.div_ceil(self.sample_nanos);
        require(
            samples <= SAMPLES_MAX,
            "sample_nanos",
            self.sample_nanos,
            &format!("a run has at most {SAMPLES_MAX} intervals"),
        )?;
        require(
            (1..=CATCH_UP_FRAMES_MAX).contains(&self.catch_up_frames),
            "catch_up_frames",
            self.catch_up_frames,
            &format!("1 to {CATCH_UP_FRAMES_MAX}"),
        )?;
        let legal = format!("at most {FLOWS_MAX} flows");
        require(
            self.send.len() <= FLOWS_MAX,
            "send",
            self.send.len(),
            &legal,
        )?;
        require(
            self.expect.len() <= FLOWS_MAX,
            "expect",
            self.expect.len(),
            &legal,
        )?;
        for (index, class) in self.credits.iter().enumerate() {
            check_priority(&format!("credits[{index}].priority"), class.priority)?;
            require(
                class.terms().is_some(),
                &format!("credits[{index}]"),
                format!("{class:?}"),
                "see `CreditTerms::new`",
            )?;
        }
        for (index, flow) in self.send.iter().enumerate() {
            flow.check(index)?;
        }
        check_unique("send", self.send.iter().map(|flow| flow.id))?;
        check_unique("expect", self.expect.iter().map(|flow| flow.id))
    }

    /// Returns the time `nanos` nanoseconds after the start of traffic, or the far future while the start is unknown.
    pub fn moment(&self, nanos: u64) -> Instant {
        let start = self.start_monotonic_nanos.map(Instant::from_nanos);
        start.unwrap_or(Instant::FAR_FUTURE) + Duration::from_nanos(nanos)
    }

    /// Returns the line rate; 1 bit/s for zero, which [`check`](Self::check) refuses.
    pub fn line_rate(&self) -> BitRate {
        BitRate::new(self.line_bits_per_second.max(1)).unwrap_or(BitRate::from_mbit(1))
    }
}

impl CreditClass {
    /// Returns the terms; `None` for invalid values.
    pub fn terms(&self) -> Option<CreditTerms> {
        CreditTerms::new(self.size, self.overhead, self.limit)
    }
}

impl SendFlow {
    fn check(&self, index: usize) -> Result<(), EndpointConfigError> {
        let key = |name: &str| format!("send[{index}].{name}");
        check_priority(&key("priority"), self.priority)?;
        require(
            (FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&self.frame_bytes),
            &key("frame_bytes"),
            self.frame_bytes,
            &format!("{FRAME_BYTES_MIN} to {FRAME_BYTES_MAX} B"),
        )?;
        require(
            self.bits_per_second > 0,
            &key("bits_per_second"),
            self.bits_per_second,
            "at least 1",
        )?;
        require(
            self.start_nanos <= self.stop_nanos,
            &key("stop_nanos"),
            self.stop_nanos,
            "not before start_nanos",
        )
    }

    /// Returns the priority; ignores bits above the low three.
    pub fn priority(&self) -> Priority {
        Priority::from_low_bits(self.priority)
    }

    /// Returns the UDP source port, which makes flows differ in the fields that switches hash.
    pub fn source_port(&self) -> u16 {
        let by_id = || SOURCE_PORTS.start() + (self.id % SOURCE_PORTS.len() as u32) as u16;
        self.source_port.unwrap_or_else(by_id)
    }
}

fn require(
    held: bool,
    key: &str,
    value: impl ToString,
    legal: &str,
) -> Result<(), EndpointConfigError> {
    if held {
        return Ok(());
    }
    Err(EndpointConfigError::Value {
        key: key.to_owned(),
        value: value.to_string(),
        legal: legal.to_owned(),
    })
}

fn check_priority(key: &str, priority: u8) -> Result<(), EndpointConfigError> {
    require(Priority::new(priority).is_some(), key, priority, "0 to 7")
}

fn check_unique(key: &str, ids: impl Iterator<Item = u32>) -> Result<(), EndpointConfigError> {
    let mut seen = std::collections::BTreeSet::new();
    for (index, id) in ids.enumerate() {
        require(
            seen.insert(id),
            &format!("{key}[{index}].id"),
            id,
            "flow numbers must be unique",
        )?;
    }
    Ok(())
}

fn all_priorities() -> Vec<u8> {
    Priority::ALL
        .iter()
        .map(|priority| priority.get())
        .collect()
}

fn yes() -> bool {
    true
}

fn two() -> u32 {
    2
}

fn ten_milliseconds() -> u64 {
    10_000_000
}

/// Serialises MAC addresses as `02:00:00:00:00:01`.
mod mac_text {
    use serde::{de::Error, Deserialize, Deserializer, Serializer};
    use weir_core::units::MacAddress;

    pub fn serialize<S: Serializer>(mac: &MacAddress, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(mac)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<MacAddress, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALLEST: &str = r#"{"device": "eth0", "address": "02:00:00:00:00:01",
        "line_bits_per_second": 100000000, "report": "/run/x.json",
        "start_monotonic_nanos": 5, "run_nanos": 1000000000}"#;

    #[test]
    fn what_is_left_out_has_its_documented_value() {
        let config: EndpointConfig = serde_json::from_str(SMALLEST).unwrap();
        config.check().unwrap();
        assert!(config.obey_pfc && config.obey_pause);
        assert_eq!(config.pfc_priorities, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(config.sample_nanos, 10_000_000);
        assert_eq!(config.catch_up_frames, 2);
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(
            serde_json::from_str::<EndpointConfig>(&text).unwrap(),
            config
        );
    }

    #[test]
    fn unknown_keys_and_values_out_of_bounds_are_refused() {
        let unknown = SMALLEST.replace("\"device\"", "\"devices\": 1, \"device\"");
        let error = serde_json::from_str::<EndpointConfig>(&unknown).unwrap_err();
        assert!(error.to_string().contains("devices"), "{error}");

        let flow = SendFlow {
            id: 1,
            name: "a".into(),
            destination: MacAddress([2, 0, 0, 0, 0, 2]),
            priority: 3,
            source_port: None,
            frame_bytes: 1500,
            bits_per_second: 1,
            start_nanos: 0,
            stop_nanos: 1,
            ecn_capable: false,
        };
        let good: EndpointConfig = serde_json::from_str(SMALLEST).unwrap();
        type Spoil = fn(&mut SendFlow);
        let spoils: [(&str, Spoil); 5] = [
            ("send[0].priority", |flow| flow.priority = 8),
            ("send[0].frame_bytes", |flow| flow.frame_bytes = 79),
            ("send[0].frame_bytes", |flow| flow.frame_bytes = 1519),
            ("send[0].bits_per_second", |flow| flow.bits_per_second = 0),
            ("send[0].stop_nanos", |flow| flow.start_nanos = 2),
        ];
        for (key, spoil) in spoils {
            let mut bad = flow.clone();
            spoil(&mut bad);
            let mut config = good.clone();
            config.send.push(bad);
            let error = config.check().unwrap_err().to_string();
            assert!(error.starts_with(key), "{error}");
        }
        let mut twice = good;
        twice.send = vec![flow.clone(), flow];
        assert!(twice
            .check()
            .unwrap_err()
            .to_string()
            .starts_with("send[1].id"));
    }
}
