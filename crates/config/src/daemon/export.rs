//! `[sflow]` and `[ipfix]`: reports to collectors.

use std::net::{IpAddr, SocketAddr};

use weir_core::Duration;

use super::access::Listen;
use crate::reader::{within, Table};
use crate::settings::{quoted, settings, valid, Form};

/// A datagram of 1400 bytes must have room for a frame's header and the fields before it.
const HEADER_BYTES: (u64, u64) = (64, 512);
/// The longest interval is that of sFlow's MIB for a collector that reads counters once an hour.
const COUNTER_INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3600));

settings! {
    /// `[sflow]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    SflowConfig in "sflow" {
        "collector" collector: Option<SocketAddr> as Listen = None, "", Restart, valid::anything;
            "Address and UDP port of an [sFlow](../operations/sflow.md) collector, such as `\"192.0.2.9:6343\"`, or `\"off\"`."
        "agent" agent: Option<IpAddr> as Address = None => "the daemon's own address towards the collector at the start", "", Restart, valid::anything;
            "Address that identifies the switch to the collector. Set it where there may be no route to the collector at the start: datagrams then have 0.0.0.0."
        "interval" interval: Duration = Duration::from_secs(20), "", Restart, valid::between(COUNTER_INTERVALS);
            "Time between two counter samples of a port, 1 s to 3600 s."
        "sampling" sampling: Option<u32> as Count<1, 0x00ff_ffff> = None, "", Restart, valid::anything;
            "One in this many received frames is sampled, 1 to 16777215, or `\"off\"`. While frames are sampled, they do not take the [express path](../guide/express.md)."
        "drops-per-second" drops_per_second: Option<u32> as Count<1, 10_000> = Some(100), "", Restart, valid::anything;
            "Reports of dropped frames a second, 1 to 10000, or `\"off\"` for none. Drops beyond that are counted as withheld."
        "header-bytes" header_bytes: u64 = 128, "", Restart, valid::within(HEADER_BYTES.0, HEADER_BYTES.1);
            "Bytes of a frame in a sample or report, 64 to 512. They show user data: send them over a trusted network."
    }
}

/// The shortest interval is that of a series; with a longer one the stream shows no more than metrics do.
const READING_INTERVALS: (Duration, Duration) =
    (Duration::from_millis(1), Duration::from_millis(100));
/// The private enterprise number for documentation (RFC 5612).
const DOCUMENTATION_ENTERPRISE: u32 = 32_473;

settings! {
    /// `[ipfix]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    IpfixConfig in "ipfix" {
        "collector" collector: Option<SocketAddr> as Listen = None, "", Restart, valid::anything;
            "Address and UDP port of an [IPFIX](../operations/ipfix.md) collector, such as `\"192.0.2.9:4739\"`, or `\"off\"`."
        "interval" interval: Duration = Duration::from_millis(10), "", Restart, valid::between(READING_INTERVALS);
            "Time between two readings, 1 ms to 100 ms."
        "observation-domain" observation_domain: u32 = 1, "", Restart, valid::within(1, u32::MAX.into());
            "The switch's number among those that send to the collector, 1 to 4294967295."
        "enterprise" enterprise: u32 = DOCUMENTATION_ENTERPRISE, "", Restart, valid::within(1, u32::MAX.into());
            "Private enterprise number of the elements without an IANA number, 1 to 4294967295. The default is the number for documentation: set the number of your organisation, if it has one."
    }
}

/// A number between two others, or `off` for none.
pub(super) struct Count<const LEAST: u64, const MOST: u64>;

impl<const LEAST: u64, const MOST: u64> Form<Option<u32>> for Count<LEAST, MOST> {
    fn read(table: &Table<'_>, key: &str) -> Option<Option<u32>> {
        if table.is_text(key, "off") {
            return Some(None);
        }
        within(table, key, LEAST, MOST).map(|count| u32::try_from(count).ok())
    }

    fn written(count: &Option<u32>) -> Option<String> {
        Some(count.map_or_else(|| quoted("off"), |count| count.to_string()))
    }
}

struct Address;

impl Form<Option<IpAddr>> for Address {
    fn read(table: &Table<'_>, key: &str) -> Option<Option<IpAddr>> {
        let text: String = table.get(key)?;
        let address = text.parse().ok();
        if address.is_none() {
            table.complain(key, format!("`{text}` is not an IP address"));
        }
        Some(address)
    }

    fn written(address: &Option<IpAddr>) -> Option<String> {
        address.map(|address| quoted(&address.to_string()))
    }
}

/// A collector must have an address and a port to which datagrams can be sent.
pub(super) fn check_collector(table: &Table<'_>, collector: Option<SocketAddr>) {
    let cannot = |address: SocketAddr| address.port() == 0 || address.ip().is_unspecified();
    if collector.is_some_and(cannot) {
        table.complain(
            "collector",
            "nothing can be sent there; write the collector's address and its port, such as \"192.0.2.9:6343\"",
        );
    }
}

/// Checks settings that depend on each other.
pub(super) fn check_ipfix(table: &Table<'_>, config: &IpfixConfig) {
    check_collector(table, config.collector);
}

/// Checks settings that depend on each other.
pub(super) fn check_sflow(table: &Table<'_>, config: &SflowConfig) {
    check_collector(table, config.collector);
}
