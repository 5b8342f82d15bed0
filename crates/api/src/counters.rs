//! `GET /v1/counters`, with the core's counters and the daemon's: losses in the kernel, and counts of the
//! polling loop.

use std::collections::BTreeMap;
use std::iter::Sum;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_core::control::counters::{CONTROL_COUNTERS, LLDP_COUNTERS};
use weir_core::counters::{Counter, PORT_COUNTERS, PRIORITY_COUNTERS};

/// Every counter of the switch, of one port, or of one priority of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counters {
    /// The port; absent for counters of the whole switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The priority, 0 to 7; absent for counters of the whole port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Values by name, ending in `_total`. Only those that apply to the priority's class.
    pub counters: BTreeMap<String, u64>,
}

impl Counters {
    /// The meaning of `key`; `None` if this version does not know it.
    pub fn meaning(&self, key: &str) -> Option<&'static str> {
        match (&self.port, self.priority) {
            (None, _) => help(CONTROL_COUNTERS, key).or_else(|| help(DATAPLANE_COUNTERS, key)),
            (Some(_), Some(_)) => help(PRIORITY_COUNTERS, key),
            (Some(_), None) => help(PORT_COUNTERS, key)
                .or_else(|| help(KERNEL_LOSSES, key))
                .or_else(|| help(DEVICE_LOSSES, key))
                .or_else(|| help(LLDP_COUNTERS, key)),
        }
    }
}

fn help<T>(declared: &[Counter<T>], key: &str) -> Option<&'static str> {
    let counter = declared.iter().find(|counter| counter.key() == key)?;
    Some(counter.help)
}

weir_core::counters! {
    /// XDP socket statistics that mean loss (`XDP_STATISTICS`), summed over the sockets of a port.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(default)]
    KernelLosses, KERNEL_LOSSES "kernel_" {} {
        KERNEL_LOSSES "weir_kernel_losses_total" ["port", "kind"] Always
            "Frames lost by the kernel or the device before or after the switch: XDP_STATISTICS of the port's socket, refused transmissions, and frames that are missing between program, socket and device."
            {
                rx_dropped_total ["rx_dropped"] "Frames dropped for other reasons than a full ring.";
                rx_ring_full_total ["rx_ring_full"] "Frames dropped because the RX ring was full.";
                rx_fill_ring_empty_total ["rx_fill_ring_empty"] "Times that the kernel failed to take a frame from the fill ring.";
                rx_invalid_descs_total ["rx_invalid_descs"] "RX descriptors that were not valid.";
                tx_invalid_descs_total ["tx_invalid_descs"] "TX descriptors that were not valid.";
                tx_device_drops_total ["tx_device_drops"] "Frames that the device accepted and dropped.";
                tx_redirect_total ["tx_redirect"] "Frames of the express path that the device did not accept.";
                rx_missing_total ["rx_missing"] "Frames that the XDP program redirected to a socket and that no socket received.";
                tx_missing_total ["tx_missing"] "Frames that were sent and that the device did not count as sent.";
            }
    }

    /// Losses in a device, by its own counters (`ip -s -s link`): since the device exists, not since the switch
    /// started. Zero if the driver does not count them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(default)]
    DeviceLosses, DEVICE_LOSSES "device_" {} {
        DEVICE_LOSSES "weir_device_losses_total" ["port", "kind"] Always
            "Frames that the port's device lost, by its own counters (ip -s -s link), since the device exists."
            {
                rx_missed_total ["rx_missed"] "Frames for which the device had no room.";
                rx_fifo_total ["rx_fifo"] "Frames for which a queue of the device had no buffer.";
                rx_over_total ["rx_over"] "Frames that overran a buffer of the device.";
                rx_length_total ["rx_length"] "Frames of a bad length, or longer than the device takes.";
                rx_crc_total ["rx_crc"] "Frames with a bad checksum: cable, transceiver or the other end.";
                rx_frame_total ["rx_frame"] "Frames that were misaligned.";
                rx_dropped_total ["rx_dropped"] "Frames that driver or kernel dropped behind the device, beyond those that the XDP program and the sockets account for.";
                rx_other_total ["rx_other"] "Frames with errors of no other kind: `ethtool -S` may have details.";
            }
    }

    /// Copies made by a mirror.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    MirrorCounters, MIRROR_COUNTERS "mirror_" {} {
        MIRRORED "weir_mirrored_frames_total" ["mirror", "outcome"] Always
            "Frames that a mirror selected: a copy was given to its output port (sent), or there was no room for one (lost)."
            {
                sent ["sent"] "Copies that were given to the output port.";
                lost ["lost"] "Copies for which there was no room.";
            }
    }

    /// Requests to gNMI, and its answers.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    GnmiCounters, GNMI_COUNTERS "gnmi_" {} {
        GNMI_CALLS "weir_gnmi_calls_total" ["method"] Always
            "Calls of gNMI, including refused ones."
            {
                capabilities ["Capabilities"] "Calls of Capabilities.";
                gets ["Get"] "Calls of Get.";
                subscribes ["Subscribe"] "Calls of Subscribe.";
                sets ["Set"] "Calls of Set, all of which are refused.";
            }
        GNMI_REFUSED "weir_gnmi_refused_total" ["reason"] Always
            "Calls of gNMI that were refused or ended by the switch."
            {
                unauthenticated ["unauthenticated"] "Without the token.";
                bad_requests ["bad_request"] "What was asked makes no sense, or is more than is taken.";
                not_found ["not_found"] "No entry has the path of a Get.";
                unimplemented ["unimplemented"] "Changes, and encodings and modules that the switch does not support.";
                streams ["streams"] "The maximum number of subscribers was reached.";
                too_large ["too_large"] "The answer to a Get would have been longer than clients take.";
                slow_readers ["slow_reader"] "The subscriber did not read its updates.";
                silent ["silent"] "The client sent no subscription.";
            }
        GNMI_UPDATES "weir_gnmi_updates_total" [] Always
            "Values and deletions sent to subscribers of gNMI."
            { updates []; }
    }

    /// Datagrams and samples of the sFlow agent.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    SflowCounters, SFLOW_COUNTERS "sflow_" {} {
        SFLOW_DATAGRAMS "weir_sflow_datagrams_total" ["outcome"] Always
            "Datagrams for the sFlow collector: handed to the kernel (sent), refused by the collector's host, among those sent (refused), or not accepted by the kernel (lost)."
            {
                datagrams_sent ["sent"] "Datagrams that the kernel accepted.";
                datagrams_refused ["refused"] "Errors returned for earlier datagrams.";
                datagrams_lost ["lost"] "Datagrams that the kernel did not accept.";
            }
        SFLOW_SAMPLES "weir_sflow_samples_total" ["kind", "outcome"] Always
            "sFlow samples by kind (counters of a port, packets, dropped frames): in datagrams that were sent, withheld by the rate limit, or lost for lack of memory or with their datagram."
            {
                counters_sent ["counters", "sent"] "Counter samples sent.";
                counters_lost ["counters", "lost"] "Counter samples lost with their datagram.";
                packets_sent ["packets", "sent"] "Packet samples sent.";
                packets_lost ["packets", "lost"] "Packet samples lost.";
                drops_sent ["drops", "sent"] "Reports of dropped frames sent.";
                drops_withheld ["drops", "withheld"] "Dropped frames beyond the rate limit.";
                drops_lost ["drops", "lost"] "Reports of dropped frames lost.";
            }
    }

    /// Messages, records and readings of the IPFIX stream.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    IpfixCounters, IPFIX_COUNTERS "ipfix_" {} {
        IPFIX_MESSAGES "weir_ipfix_messages_total" ["outcome"] Always
            "Messages for the IPFIX collector: handed to the kernel (sent), refused by the collector's host, among those sent (refused), or not accepted by the kernel (lost)."
            {
                messages_sent ["sent"] "Messages that the kernel accepted.";
                messages_refused ["refused"] "Errors returned for earlier messages.";
                messages_lost ["lost"] "Messages that the kernel did not accept.";
            }
        IPFIX_RECORDS "weir_ipfix_records_total" ["outcome"] Always
            "IPFIX records: in messages that were sent, withheld because nothing had changed (unchanged), or lost with their message. The next record of the same port and priority has the increases of a lost one."
            {
                records_sent ["sent"] "Records sent.";
                records_unchanged ["unchanged"] "Records withheld because nothing had changed.";
                records_lost ["lost"] "Records lost with their message; their increases are in later ones.";
            }
        IPFIX_READINGS "weir_ipfix_readings_total" ["outcome"] Always
            "Readings for the IPFIX stream: exported, missed by a late dataplane thread (late), or without memory because the exporter was late (no_memory)."
            {
                readings_exported ["exported"] "Readings that were exported.";
                readings_late ["late"] "Readings whose time the dataplane thread missed.";
                readings_no_memory ["no_memory"] "Readings for which the exporter had left no memory.";
            }
    }

    /// Counts of the dataplane's polling loop since the start.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    DataplaneCounters, DATAPLANE_COUNTERS "dataplane_" {} {
        ROUNDS "weir_dataplane_rounds_total" [] Always
            "Rounds of the dataplane's polling loop."
            { rounds []; }
        BUSY_ROUNDS "weir_dataplane_busy_rounds_total" [] Always
            "Rounds with work."
            { busy_rounds []; }
        SLEEPS "weir_dataplane_sleeps_total" [] Always
            "Times that the dataplane thread slept in poll(2)."
            { sleeps []; }
        SLEEP_SECONDS "weir_dataplane_sleep_seconds_total" [] Always
            "Time that the dataplane thread slept in poll(2)."
            { sleep_nanos []; }
        IDLE_SECONDS "weir_dataplane_idle_seconds_total" [] Always
            "Time in rounds without work: spinning before sleep."
            { idle_nanos []; }
        STALLS "weir_dataplane_stalls_total" [] Always
            "Times that the dataplane thread did nothing for half a second or longer, because it was stopped or had no CPU."
            { stalls []; }
        STALL_SECONDS "weir_dataplane_stall_seconds_total" [] Always
            "Time in these stalls."
            { stall_nanos []; }
        DATAPLANE_FRAMES "weir_dataplane_frames_total" ["direction"] Always
            "Frames received from and handed to all sockets, control frames included."
            {
                rx_frames ["rx"] "Frames received from all ports, control frames included.";
                tx_frames ["tx"] "Frames handed to all transmitters, control frames included.";
            }
        CHECKSUMS_FINISHED "weir_dataplane_checksums_finished_total" [] Always
            "Checksums of TCP and UDP that hosts left to a virtual device, and that the switch finished."
            { checksums_finished []; }
        ADDRESS_REQUESTS "weir_dataplane_address_requests_total" ["outcome"] Always
            "ARP requests and IPv6 neighbor solicitations from hosts that look for another host, with multicast.suppress: sent only to that station, or flooded."
            {
                address_requests_directed ["directed"] "Requests for the MAC address of a station that were sent only to it.";
                address_requests_unknown ["unknown"] "Requests that were flooded because no station has the address.";
                address_requests_without_way ["no_way"] "Requests for a station that were flooded because the switch has no path to it, or only back to the sender's port.";
            }
        EVENTS_LOST "weir_events_lost_total" [] Always
            "Events of the dataplane lost because the queue to the control plane was full."
            { events_lost []; }
        COMMANDS_REFUSED "weir_commands_refused_total" [] Always
            "Commands that the dataplane refused: the egress is released for another loop, a control queue is full, or a change of routes is impossible."
            { commands_refused []; }
    }
}

impl KernelLosses {
    /// Frames lost, each counted once: depending on the driver, an empty fill ring is also counted as `rx_dropped` or
    /// not at all, so the larger of the two counts.
    pub fn total(&self) -> u64 {
        let all: u64 = KERNEL_LOSSES.iter().map(|counter| counter.get(self)).sum();
        all - self.rx_dropped_total.min(self.rx_fill_ring_empty_total)
    }
}

impl DeviceLosses {
    /// Frames for which there was no room. Some drivers count a frame under two names.
    pub fn overruns(&self) -> u64 {
        let without_room = [
            self.rx_missed_total,
            self.rx_fifo_total,
            self.rx_over_total,
            self.rx_dropped_total,
        ];
        without_room.into_iter().fold(0, u64::saturating_add)
    }

    /// Frames that arrived damaged. Some drivers count a frame under two names.
    pub fn errors(&self) -> u64 {
        self.total().saturating_sub(self.overruns())
    }

    /// The sum. Some drivers count a frame under two names.
    pub fn total(&self) -> u64 {
        DEVICE_LOSSES.iter().map(|counter| counter.get(self)).sum()
    }
}

impl Sum for KernelLosses {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |mut all, part| {
            for counter in KERNEL_LOSSES {
                *(counter.field)(&mut all) += counter.get(&part);
            }
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_shown_in_seconds_are_counted_in_nanoseconds() {
        for counter in DATAPLANE_COUNTERS {
            let in_seconds = counter.metric.name.ends_with("_seconds_total");
            assert_eq!(
                counter.name.ends_with("_nanos"),
                in_seconds,
                "{}",
                counter.name
            );
        }
        let counters = DataplaneCounters {
            sleep_nanos: 1_500_000_000,
            ..DataplaneCounters::default()
        };
        let slept = DATAPLANE_COUNTERS
            .iter()
            .find(|counter| counter.key() == "dataplane_sleep_nanos_total");
        assert_eq!(slept.map(|slept| slept.sample(&counters)), Some(1.5));
    }

    #[test]
    fn a_lost_frame_counts_once() {
        let losses = KernelLosses {
            rx_dropped_total: 5,
            rx_fill_ring_empty_total: 3,
            rx_ring_full_total: 10,
            ..KernelLosses::default()
        };
        assert_eq!(losses.total(), 15);
        let sum: KernelLosses = [losses, losses].into_iter().sum();
        assert_eq!((sum.rx_fill_ring_empty_total, sum.total()), (6, 30));
    }
}
