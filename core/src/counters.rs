//! What a port counts. Plain numbers that only grow; the caller reads them and takes differences.

use crate::units::PRIORITY_COUNT;

/// Declares the reasons once: the enum, [`DropReason::ALL`] and the names come of one list, so that no reason can be
/// counted beyond the end of an array that is as long as another list.
macro_rules! drop_reasons {
    ($($(#[$attribute:meta])* $reason:ident => $name:literal,)*) => {
        /// Why a frame was not forwarded. Every drop has exactly one reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DropReason {
            $($(#[$attribute])* $reason,)*
        }

        impl DropReason {
            /// All reasons in declaration order.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$reason,)*];

            /// How many reasons there are.
            pub const COUNT: usize = [$($name,)*].len();

            /// As an index into [`PortCounters::drops`].
            pub const fn index(self) -> usize {
                self as usize
            }

            /// The reason's name in metrics, JSON and messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)*
                }
            }
        }
    };
}

drop_reasons! {
    /// The ingress buffer's headroom is used up: the neighbour did not obey our pause.
    HeadroomExceeded => "headroom_exceeded",
    /// A lossy class's ingress buffer is full.
    BufferFull => "buffer_full",
    /// No forwarding entry for the destination, and flooding is off.
    NoRoute => "no_route",
    /// The only way out is the port that the frame came in by.
    Hairpin => "hairpin",
    /// The classifier left no record with the frame.
    Unclassified => "unclassified",
    /// Shorter than an Ethernet header or longer than the port's MTU allows.
    BadLength => "bad_length",
    /// The source address is a group address.
    BadSource => "bad_source",
    /// The destination is a reserved link-local address (01-80-C2-00-00-0X) that no one here speaks.
    ReservedDestination => "reserved_destination",
    /// A MAC control frame that cannot be read, or with an opcode that is not known.
    BadMacControl => "bad_mac_control",
    /// A CLCM frame that cannot be read.
    BadClcm => "bad_clcm",
    /// An echo message that cannot be read.
    BadEcho => "bad_echo",
    /// CLCM or an echo message that came in by an edge port.
    ClcmFromEdge => "clcm_from_edge",
    /// The tables of the switch core are full.
    TableFull => "table_full",
    /// The switch is shutting down and admits nothing more.
    Draining => "draining",
    /// The port that it came in by is down, or the device of the port that it was to leave by is gone.
    PortDown => "port_down",
    /// A host that is policed instead of paused has filled its ingress buffer.
    Policed => "policed",
    /// It had waited for longer than its class allows.
    Aged => "aged",
    /// The storm watchdog drops what is for an egress that a neighbour holds for ever.
    Storm => "storm",
    /// It stood at the head of its queue for longer than the lifetime limit, or the queue is VLStalled.
    Lifetime => "lifetime",
    /// CLCM, an echo message or a greeting without the fabric's key, or sealed for somebody else.
    Unauthentic => "unauthentic",
    /// One that has been heard before.
    Replayed => "replayed",
    /// More control frames than are taken from one port.
    ControlRate => "control_rate",
}

/// Counters of one (port, priority). Those that every frame changes come first and share a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct PriorityCounters {
    /// Frames admitted from this port.
    pub rx_frames: u64,
    /// Bytes admitted from this port.
    pub rx_bytes: u64,
    /// Frames handed to this port's transmitter.
    pub tx_frames: u64,
    /// Bytes handed to this port's transmitter.
    pub tx_bytes: u64,
    /// XOFF that we sent to the neighbour, refreshes included.
    pub xoff_sent: u64,
    /// XON that we sent to the neighbour.
    pub xon_sent: u64,
    /// Pauses (time above zero) that the neighbour sent for this priority.
    pub pause_received: u64,
    /// Resumes (time zero) that the neighbour sent for this priority.
    pub resume_received: u64,
    /// Times this egress became deadlock-suspected.
    pub suspicions: u64,
    /// Releases that started with this port as the loop's egress.
    pub releases: u64,
    /// Frames that a traffic release of the Loop Breaker sent although the neighbour paused them; `tx_frames`
    /// counts them too.
    pub forced_frames: u64,
    /// Their bytes.
    pub forced_bytes: u64,
    /// Flows that were moved from this port to another member of their group.
    pub flows_moved: u64,
    /// Frames marked Congestion Experienced: when they were admitted from this port, or when they left by it, as
    /// [`MarkAt`](crate::MarkAt) of the class says.
    pub marks: u64,
    /// Transmit Feedback that we sent to the neighbour, refreshes included.
    pub feedback_sent: u64,
    /// Transmit Feedback that the neighbour sent.
    pub feedback_received: u64,
    /// Feedback of the neighbour that stopped to count because it was not refreshed.
    pub feedback_expired: u64,
    /// Destinations that a frame from this port lifted to a higher Level.
    pub lifts: u64,
    /// Frames from this port whose Level reached D away from their destination: their route is longer.
    pub routes_too_long: u64,
    /// PFC storms that were called at this egress.
    pub storms_detected: u64,
    /// PFC storms at this egress that are over.
    pub storms_restored: u64,
    /// Copies of frames that were dropped at or before this egress because of a storm.
    pub storm_dropped: u64,
    /// Frames that left by this egress while a storm's pause was ignored. Follows the samples of the
    /// watchdog.
    pub storm_forwarded: u64,
    /// Copies of frames that were dropped at or before this egress by the head-of-queue lifetime limit.
    pub lifetime_dropped: u64,
    /// Times this egress became VLStalled.
    pub lifetime_stalls: u64,
}

/// Counters of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// By priority.
    pub priority: [PriorityCounters; PRIORITY_COUNT],
    /// Frames from this port that were dropped, by [`DropReason::index`].
    pub drops: [u64; DropReason::COUNT],
    /// PFC frames sent.
    pub pfc_sent: u64,
    /// PFC frames received.
    pub pfc_received: u64,
    /// 802.3x PAUSE frames received.
    pub pause_received: u64,
    /// CLCM frames sent.
    pub clcm_sent: u64,
    /// CLCM frames received on a fabric port and understood.
    pub clcm_received: u64,
    /// Echo replies received: round trips measured.
    pub echo_replies: u64,
    /// Round trips that were longer than what the buffers of classes with Levels are made for.
    pub round_trips_exceeded: u64,
    /// Control frames that found the port's control queue full.
    pub control_overflow: u64,
}

impl PortCounters {
    /// Counts one drop.
    pub fn drop_frame(&mut self, reason: DropReason) {
        self.drops[reason.index()] += 1;
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
    fn reasons_index_their_own_place() {
        for (index, reason) in DropReason::ALL.iter().enumerate() {
            assert_eq!(reason.index(), index);
        }
    }
}
