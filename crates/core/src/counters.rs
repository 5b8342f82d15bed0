//! Counters of a port. They only grow; the caller reads them and takes differences.

use crate::metric::Definition;
use crate::units::{Duration, Priority, PRIORITY_COUNT};

crate::named! {
    /// Reason why a frame was not forwarded. Every drop has exactly one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub enum DropReason {
        /// The ingress buffer's headroom is used up: the neighbour did not obey our pause.
        HeadroomExceeded => "headroom_exceeded",
        /// A lossy class's ingress buffer is full.
        BufferFull => "buffer_full",
        /// No forwarding entry for the destination, and flooding is off.
        NoRoute => "no_route",
        /// The only egress is the port on which the frame arrived.
        Hairpin => "hairpin",
        /// The classifier left no record with the frame.
        Unclassified => "unclassified",
        /// Shorter than an Ethernet header or longer than the port's MTU allows.
        BadLength => "bad_length",
        /// The source address is a group address.
        BadSource => "bad_source",
        /// The destination is a reserved link-local address (01-80-C2-00-00-0X) that this switch does not implement.
        ReservedDestination => "reserved_destination",
        /// A malformed MAC control frame, or one with an unknown opcode.
        BadMacControl => "bad_mac_control",
        /// A malformed CLCM frame.
        BadClcm => "bad_clcm",
        /// A malformed echo message.
        BadEcho => "bad_echo",
        /// CLCM or an echo message received on an edge port.
        ClcmFromEdge => "clcm_from_edge",
        /// The tables of the switch core are full.
        TableFull => "table_full",
        /// The switch is shutting down and admits no more frames.
        Draining => "draining",
        /// The frame's ingress port is down, or its egress port cannot send. In that case the link has been down for
        /// longer than frames wait for it, the device is gone, or the transmitter does not complete frames.
        PortDown => "port_down",
        /// A host that is policed instead of paused has filled its ingress buffer.
        Policed => "policed",
        /// It has waited for longer than its class allows.
        Aged => "aged",
        /// The storm watchdog drops frames for an egress that a neighbour pauses without end.
        Storm => "storm",
        /// It was at the head of its queue for longer than the lifetime limit, or the queue is VLStalled.
        Lifetime => "lifetime",
        /// CLCM, an echo message or a greeting without the fabric's key, or sealed for another receiver.
        Unauthentic => "unauthentic",
        /// CLCM, an echo message or a greeting that was received before.
        Replayed => "replayed",
        /// More control frames than the port accepts.
        ControlRate => "control_rate",
        /// To a group address or an unknown one, from a port that is not on the flooding tree.
        OffTree => "off_tree",
        /// To a group address in a lossless class, when frames are flooded on a tree.
        LosslessGroup => "lossless_group",
        /// More frames to group addresses and unknown ones than the port may flood.
        FloodRate => "flood_rate",
        /// The ingress port sends mirrored frames only, or the destination was learned there.
        MirrorPort => "mirror_port",
        /// This switch's own probe for loops, which has returned.
        LoopProbe => "loop_probe",
        /// Dropped by an impairment that an operator requested.
        Impaired => "impaired",
        /// Its source address belongs to another port: one of its static route, or the one where the address was seen
        /// within the last second.
        ForeignSource => "foreign_source",
        /// Its source address exceeds the port's limit of learned addresses.
        AddressLimit => "address_limit",
        /// Frames from this port may not have its priority.
        Priority => "priority",
        /// A VLAN tag follows a first tag that changes nothing, or a host sent an S-tag. Without its first tag the
        /// frame would enter a VLAN chosen by its sender.
        NestedTag => "nested_tag",
        /// The ingress or egress port does not carry its VLAN.
        Vlan => "vlan",
    }
}

impl DropReason {
    /// Index into [`PortCounters::drops`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Counts by [`DropReason::index`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropCounts([u64; DropReason::COUNT]);

// The standard library implements it only for arrays of up to 32 elements.
impl Default for DropCounts {
    fn default() -> Self {
        Self([0; DropReason::COUNT])
    }
}

impl core::ops::Deref for DropCounts {
    type Target = [u64; DropReason::COUNT];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl core::ops::DerefMut for DropCounts {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// A counter of a `T`: its meaning and where it is shown. Declared once, by [`counters!`](crate::counters!); snapshot,
/// metric, API and the book's table follow from that.
#[derive(Clone, Copy, Debug)]
pub struct Counter<T: 'static> {
    /// Name, unique within `T`.
    pub name: &'static str,
    /// Its meaning.
    pub help: &'static str,
    /// Its metric.
    pub metric: &'static Definition,
    /// Values of the metric's labels that follow those of the port, priority or VLAN.
    pub labels: &'static [&'static str],
    /// Links on which the counter applies.
    pub shown: Shown,
    /// Reads the field.
    pub read: fn(&T) -> u64,
    /// Returns the field for writing.
    pub field: fn(&mut T) -> &mut u64,
}

impl<T> Counter<T> {
    /// Key in JSON.
    pub fn key(&self) -> String {
        format!("{}_total", self.name.trim_end_matches("_total"))
    }

    /// Value in `counters`.
    pub fn get(&self, counters: &T) -> u64 {
        (self.read)(counters)
    }

    /// Returns the value in the metric's unit: time is counted in nanoseconds and shown in seconds.
    pub fn sample(&self, counters: &T) -> f64 {
        let count = self.get(counters);
        match self.metric.name.ends_with("_seconds_total") {
            true => Duration::from_nanos(count).as_secs_f64(),
            false => count as f64,
        }
    }
}

/// Links on which a counter applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Everywhere.
    Always,
    /// In lossless classes.
    Lossless,
    /// Links with Levels.
    Levels,
}

/// Declares structs of counters, each with a list and the prefix of its names. A counter is one line: `NAME "metric"
/// [labels] Shown "help" { field []; }`. A metric with its own labels has a line for each of its counters, with the
/// labels' values and a meaning. Fields have the order of the lines; those that every frame changes come first.
#[macro_export]
macro_rules! counters {
    ($(
        $(#[$attribute:meta])*
        $counters:ident, $list:ident $prefix:literal {
            $($(#[$own:meta])* $own_field:ident: $own_type:ty,)*
        } {
            $($constant:ident $metric:literal [$($label:literal),*] $shown:ident $help:literal
                { $($field:ident [$($value:literal),*] $($meaning:literal)?;)* })*
        }
    )*) => {
        /// The metrics of these counters.
        pub mod metrics {
            use $crate::metric::{Definition, Kind};
            $($(
                #[doc = $help]
                pub const $constant: Definition = Definition {
                    name: $metric,
                    kind: Kind::Counter,
                    labels: &[$($label),*],
                    help: $help,
                };
            )*)*
        }

        /// All of [`metrics`].
        pub const METRICS: &[$crate::metric::Definition] = &[$($(metrics::$constant,)*)*];

        $(
            $(#[$attribute])*
            pub struct $counters {
                $($(
                    #[doc = $help]
                    $(#[doc = ""] #[doc = $meaning])?
                    pub $field: u64,
                )*)*
                $($(#[$own])* pub $own_field: $own_type,)*
            }

            /// The meaning of each counter.
            pub const $list: &[$crate::counters::Counter<$counters>] = &[$($(
                $crate::counters::Counter {
                    name: concat!($prefix, stringify!($field)),
                    help: [$($meaning,)? $help][0],
                    metric: &metrics::$constant,
                    labels: &[$($value),*],
                    shown: $crate::counters::Shown::$shown,
                    read: |counters| counters.$field,
                    field: |counters| &mut counters.$field,
                },
            )*)*];
        )*
    };
}

counters! {
    /// Counters of one (port, priority). Those that every frame changes come first and share a cache line.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[repr(C, align(64))]
    PriorityCounters, PRIORITY_COUNTERS "" {} {
        PORT_FRAMES "weir_port_frames_total" ["port", "priority", "direction"] Always
            "Data frames admitted from (rx) and handed to the transmitter of (tx) the port."
            {
                rx_frames ["rx"] "Frames admitted from this port.";
                tx_frames ["tx"] "Frames handed to this port's transmitter.";
            }
        PORT_BYTES "weir_port_bytes_total" ["port", "priority", "direction"] Always
            "Bytes of data frames admitted from (rx) and handed to the transmitter of (tx) the port."
            {
                rx_bytes ["rx"] "Bytes admitted from this port.";
                tx_bytes ["tx"] "Bytes handed to this port's transmitter.";
            }
        PFC_FRAMES "weir_pfc_frames_total" ["port", "priority", "direction", "kind"] Always
            "Pauses (xoff) and resumes (xon) of the priority sent (tx) and received (rx), including refreshes and 802.3x pauses that are obeyed."
            {
                xoff_sent ["tx", "xoff"] "XOFF that we sent to the neighbour, refreshes included.";
                xon_sent ["tx", "xon"] "XON that we sent to the neighbour.";
                pause_received ["rx", "xoff"] "Pauses (time above zero) that the neighbour sent for this priority.";
                resume_received ["rx", "xon"] "Resumes (time zero) that the neighbour sent for this priority.";
            }
        AHEAD_OF_STRICT "weir_ahead_of_strict_frames_total" ["port", "priority"] Always
            "Frames that left before one of a strict priority or a guaranteed rate that waited, because those had used up their share of the line (`strict-share`)."
            { ahead_of_strict []; }
        SUSPICIONS "weir_suspicions_total" ["port", "priority"] Lossless
            "Times that the egress became suspected of a deadlock."
            { suspicions []; }
        RELEASES "weir_releases_total" ["port", "priority"] Lossless
            "Deadlock releases that started with the port as the loop's egress."
            { releases []; }
        FORCED_FRAMES "weir_forced_frames_total" ["port", "priority"] Lossless
            "Frames sent by a traffic release of the Loop Breaker despite the neighbour's pause."
            { forced_frames []; }
        FORCED_BYTES "weir_forced_bytes_total" ["port", "priority"] Lossless
            "Bytes sent by a traffic release of the Loop Breaker despite the neighbour's pause."
            { forced_bytes []; }
        FLOWS_MOVED "weir_flows_moved_total" ["port", "priority"] Lossless
            "Flows that were moved from the port to another member of their destination's group."
            { flows_moved []; }
        MARKED_FRAMES "weir_ecn_marked_frames_total" ["port", "priority"] Always
            "Frames from the port that were marked Congestion Experienced."
            { marks []; }
        FEEDBACK_FRAMES "weir_level_feedback_frames_total" ["port", "priority", "direction"] Levels
            "Transmit Feedback sent (tx, refreshes included) and received (rx)."
            {
                feedback_sent ["tx"] "Transmit Feedback that we sent to the neighbour, refreshes included.";
                feedback_received ["rx"] "Transmit Feedback that the neighbour sent.";
            }
        FEEDBACK_EXPIRED "weir_level_feedback_expired_total" ["port", "priority"] Levels
            "Times that the neighbour's Feedback expired because it was not refreshed."
            { feedback_expired []; }
        LIFTS "weir_level_lifts_total" ["port", "priority"] Levels
            "Destinations that a frame from the port lifted to a higher Level."
            { lifts []; }
        ROUTES_TOO_LONG "weir_level_routes_too_long_total" ["port", "priority"] Levels
            "Destinations that reached Level D away from their own switch: their routes are longer than D links."
            { routes_too_long []; }
        STORMS_DETECTED "weir_storms_detected_total" ["port", "priority"] Lossless
            "PFC storms detected at the egress."
            { storms_detected []; }
        STORMS_RESTORED "weir_storms_restored_total" ["port", "priority"] Lossless
            "PFC storms at the egress that have ended."
            { storms_restored []; }
        STORM_DROPPED_FRAMES "weir_storm_dropped_frames_total" ["port", "priority"] Lossless
            "Copies of frames for the egress dropped because of a storm."
            { storm_dropped []; }
        STORM_FORWARDED_FRAMES "weir_storm_forwarded_frames_total" ["port", "priority"] Lossless
            "Frames sent by the egress while a storm's pause was ignored."
            { storm_forwarded []; }
        PFC_IGNORED "weir_pfc_ignored_total" ["port", "priority"] Always
            "Pauses of the priority in PFC frames that were not obeyed, since the priority is not lossless here."
            { pauses_ignored []; }
        HEADROOM_DROPPED_FRAMES "weir_headroom_dropped_frames_total" ["port", "priority"] Lossless
            "Frames from the port that were dropped because the headroom was used up: the neighbour did not obey our pauses."
            { headroom_dropped []; }
        LIFETIME_DROPPED_FRAMES "weir_lifetime_dropped_frames_total" ["port", "priority"] Lossless
            "Copies of frames for the egress dropped by the head-of-queue lifetime limit."
            { lifetime_dropped []; }
        LIFETIME_STALLS "weir_lifetime_stalls_total" ["port", "priority"] Lossless
            "Times that the egress started to drop everything (VLStalled)."
            { lifetime_stalls []; }
        EXPRESS_FRAMES "weir_express_frames_total" ["port", "priority", "direction"] Always
            "Data frames on the express path, bypassing the switch core: received from (rx) and sent by (tx) the port. They are included in the port's frames and bytes."
            {
                express_rx_frames ["rx"] "Frames from this port that took the express path.";
                express_tx_frames ["tx"] "Frames that left by this port on the express path.";
            }
    }

    /// Counters of one port.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    PortCounters, PORT_COUNTERS "" {
        /// By priority.
        priority: [PriorityCounters; PRIORITY_COUNT],
        /// Frames from this port that were dropped.
        drops: DropCounts,
        /// Data frames among them, by priority. Control frames and frames that cannot be read have none.
        data_drops: [u64; PRIORITY_COUNT],
    } {
        FORWARDING_LOOPS "weir_forwarding_loops_total" ["port"] Always
            "Times that the port was blocked for flooded frames, in a VLAN or in all, because of a loop."
            { loops_found []; }
        LOOP_PROBES "weir_loop_probes_returned_total" ["port", "outcome"] Always
            "This switch's own probes for loops received on the port, by their meaning."
            {
                probes_looped ["loop"] "Probes of another port: there is a loop.";
                probes_reflected ["own_port"] "Probes of the port itself: a loop behind it, or a host that sends probes back.";
                probes_old ["old"] "Probes of an earlier round: a host repeats them.";
                probes_forged ["forged"] "Probes that this switch has not sent: a host makes them up.";
            }
        ADDRESS_MOVES "weir_address_moves_total" ["port"] Always
            "Learned addresses that moved to the port from another one. A station that moves counts once; many per second are a sign of a loop, or of a station that uses another's address."
            { address_moves []; }
        ADDRESSES_CROWDED "weir_learning_table_full_total" ["port"] Always
            "Source addresses of the port's frames that found no room among the learned ones, or replaced one still in use. Frames to forgotten addresses are flooded."
            { addresses_crowded []; }
        PAUSE_FRAMES "weir_pause_frames_total" ["port", "protocol", "direction"] Always
            "MAC control frames by protocol: pfc (802.1Qbb) or pause (802.3x)."
            {
                pfc_sent ["pfc", "tx"] "PFC frames sent.";
                pfc_received ["pfc", "rx"] "PFC frames received.";
                pause_received ["pause", "rx"] "802.3x PAUSE frames received.";
            }
        PAUSE_IGNORED "weir_pause_ignored_total" ["port"] Always
            "802.3x PAUSE frames that were not obeyed because of the port's setting `pause`."
            { pause_ignored []; }
        CLCM_FRAMES "weir_clcm_frames_total" ["port", "direction"] Always
            "CLCM frames sent (tx), and received and understood (rx)."
            {
                clcm_sent ["tx"] "CLCM frames sent.";
                clcm_received ["rx"] "CLCM frames received on a fabric port and understood.";
            }
        ROUND_TRIPS "weir_level_round_trips_total" ["port"] Always
            "Measured round trips of the link: echo messages that the neighbour answered."
            { echo_replies []; }
        ROUND_TRIPS_EXCEEDED "weir_level_round_trips_exceeded_total" ["port"] Always
            "Round trips longer than the buffers of classes with Levels are sized for."
            { round_trips_exceeded []; }
        CABLE_EXCEEDED "weir_cable_round_trips_exceeded_total" ["port"] Always
            "Measured round trips for which the headroom derived from the port's `cable` is too small."
            { cable_exceeded []; }
        EXPRESS_NO_ROOM "weir_express_no_room_frames_total" ["port"] Always
            "Frames for the port that went through the switch core because the port's device had no room for them on the express path. Only where a class with PFC may use the path."
            { express_no_room []; }
        CONTROL_OVERFLOWS "weir_control_overflows_total" ["port"] Always
            "Control frames dropped because the port's control queue was full."
            { control_overflow []; }
    }

    /// Counters of one VLAN, or of several.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    VlanCounters, VLAN_COUNTERS "vlan_" {} {
        VLAN_FRAMES "weir_vlan_frames_total" ["vlan", "direction"] Always
            "Data frames of the VLAN that were admitted (rx) and handed to a transmitter (tx); a flooded frame counts for each port through which it leaves. `other` has the VLANs without separate counters."
            {
                rx_frames ["rx"] "Frames of the VLAN that were admitted.";
                tx_frames ["tx"] "Frames of the VLAN that were handed to a transmitter.";
            }
        VLAN_BYTES "weir_vlan_bytes_total" ["vlan", "direction"] Always
            "Bytes of these frames: as they arrived, tags included (rx), and as they left (tx)."
            {
                rx_bytes ["rx"] "Bytes of the VLAN that were admitted.";
                tx_bytes ["tx"] "Bytes of the VLAN that were handed to a transmitter.";
            }
        VLAN_COPIES_DROPPED "weir_vlan_copies_dropped_total" ["vlan"] Always
            "Copies of flooded frames that did not leave: other copies needed another form (with or without a tag) and there was no memory for both, or the class has Levels, or the tag would have made them too long."
            { copies_dropped []; }
    }
}

impl PortCounters {
    /// Counts the drop of a frame without a priority.
    pub fn drop_frame(&mut self, reason: DropReason) {
        self.drops[reason.index()] += 1;
    }

    /// Counts the drop of a data frame.
    pub fn drop_data(&mut self, priority: Priority, reason: DropReason) {
        self.drop_frame(reason);
        self.data_drops[priority.index()] += 1;
    }

    /// Frames dropped for any reason.
    pub fn drops_total(&self) -> u64 {
        self.drops.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_their_own_index() {
        for (index, reason) in DropReason::ALL.iter().enumerate() {
            assert_eq!(reason.index(), index);
        }
    }
}
