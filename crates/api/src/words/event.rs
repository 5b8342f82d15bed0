//! The kinds of events.

use weir_core::named;

named! {
    /// Kind of an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EventName {
        /// The daemon began to forward.
        Started => "started",
        /// The daemon is stopping, and sends the remaining frames.
        Draining => "draining",
        /// The configuration file was read again and is in force.
        Reloaded => "reloaded",
        /// The configuration applied by `reload --confirm` was confirmed.
        ReloadConfirmed => "reload_confirmed",
        /// The configuration was not confirmed in time: the previous one is in force again.
        ReloadReverted => "reload_reverted",
        /// A deliberate impairment of frames or a link began.
        ImpairmentBegan => "impairment_began",
        /// The impairment ended.
        ImpairmentEnded => "impairment_ended",
        /// The next switch failed to start, and the previous one runs again.
        RestartFailed => "restart_failed",
        /// The keeper has ended: the switch continues but cannot be restarted in place.
        KeeperGone => "keeper_gone",
        /// The address of a listener is in use. The switch will try again.
        ListenerTaken => "listener_taken",
        /// The switch now listens at that address.
        ListenerFree => "listener_free",
        /// A client showed many wrong tokens, and is ignored for a minute. Reported once a minute for each listener.
        TokensRefused => "tokens_refused",
        /// A request changed a route, a bucket or a pin.
        RouteChanged => "route_changed",
        /// A request changed the marking of the classes of a profile.
        EcnChanged => "ecn_changed",
        /// Events of the dataplane were lost because the queue to the control plane was full.
        EventsLost => "events_lost",
        /// A port's link came up.
        LinkUp => "link_up",
        /// A port's link went down.
        LinkDown => "link_down",
        /// The link went down so often that it counts as down until it has been quiet for a while.
        LinkSuppressed => "link_suppressed",
        /// The link has been quiet for long enough and is used again.
        LinkReused => "link_reused",
        /// A port's device was deleted or moved to another network namespace.
        DeviceGone => "device_gone",
        /// A device with a port's device name exists again, or for the first time, and is in use.
        DeviceBack => "device_back",
        /// A port's device exists but cannot be used. The switch will try again.
        DeviceRefused => "device_refused",
        /// A port's device was renamed. The port keeps using it until the switch is restarted.
        DeviceRenamed => "device_renamed",
        /// The MTU of a port's device is smaller than the switch's: longer frames are lost in both directions.
        MtuTooSmall => "mtu_too_small",
        /// The MTU of a port's device is large enough again.
        MtuFits => "mtu_fits",
        /// A port's device was added to another device, such as a bridge, so that frames of both mix.
        DeviceUnfit => "device_unfit",
        /// A port's device no longer belongs to another one.
        DeviceFits => "device_fits",
        /// Frames were lost below the switch that neither program, sockets nor device account for.
        FramesMissing => "frames_missing",
        /// A request made a port take its device again.
        PortAdded => "port_added",
        /// A request made a port release its device.
        PortRemoved => "port_removed",
        /// An egress with waiting frames sends none.
        Suspected => "suspected",
        /// The egress sends again, or has no more frames.
        SuspicionEnded => "suspicion_ended",
        /// The CLCM sent for a suspicion have recently had no answer.
        Unanswered => "unanswered",
        /// A switch identifier was drawn for a suspicion.
        SpuidAssigned => "spuid_assigned",
        /// A CLCM message was sent.
        ClcmSent => "clcm_sent",
        /// A CLCM message was received.
        ClcmReceived => "clcm_received",
        /// A CLCM message was forwarded.
        ClcmForwarded => "clcm_forwarded",
        /// A CLCM message was not forwarded.
        ClcmIgnored => "clcm_ignored",
        /// This switch found a credit loop.
        LoopFound => "loop_found",
        /// This switch was elected to break a loop.
        MasterElected => "master_elected",
        /// No flow could be moved off the egress.
        NoAlternative => "no_alternative",
        /// The dataplane was ordered to release a loop.
        ReleaseOrdered => "release_ordered",
        /// A release began: only one ingress port may send through the egress.
        ReleaseStarted => "release_started",
        /// A release ended.
        ReleaseEnded => "release_ended",
        /// The dataplane was ordered to send frames in spite of the pause.
        TrafficReleaseOrdered => "traffic_release_ordered",
        /// The ordered frames were sent.
        TrafficReleaseEnded => "traffic_release_ended",
        /// A reroute moved a flow to another port.
        FlowMoved => "flow_moved",
        /// A reroute has finished.
        Rerouted => "rerouted",
        /// Ports to which flows could move appeared or disappeared.
        WaysChanged => "ways_changed",
        /// A lossless class dropped a frame because its headroom was used up.
        HeadroomExceeded => "headroom_exceeded",
        /// A pause has lasted long at an egress with frames to send.
        PauseStalled => "pause_stalled",
        /// The stall ended.
        PauseStallEnded => "pause_stall_ended",
        /// A long pause was not declared a PFC storm.
        NoStorm => "no_storm",
        /// A PFC storm began.
        StormDetected => "storm_detected",
        /// A PFC storm ended.
        StormRestored => "storm_restored",
        /// An egress reached its limit of consecutive frames dropped by the lifetime limit.
        LifetimeStalled => "lifetime_stalled",
        /// A frame's route has more links than D: its class needs more Levels.
        RouteTooLong => "route_too_long",
        /// Flooded frames went round a loop: the port stops flooding and learning.
        ForwardingLoop => "forwarding_loop",
        /// The port floods again.
        ForwardingLoopEnded => "forwarding_loop_ended",
        /// Probes return on the port by which they left: there is a loop behind it, or a host returns them.
        LoopBehind => "loop_behind",
        /// A learned address moves between two ports more often than a station would: a loop that no probe passes, or a
        /// station that uses another's address.
        AddressMoves => "address_moves",
        /// A source address found no room in the table, or replaced one still in use. Reported once a minute.
        LearningTableFull => "learning_table_full",
        /// A request cleared learned addresses.
        AddressesForgotten => "addresses_forgotten",
        /// The device of a port has completed no transmission for a second: frames for the port are dropped.
        TransmitterStalled => "transmitter_stalled",
        /// The device completes transmissions again, and frames leave by the port.
        TransmitterResumed => "transmitter_resumed",
        /// The thread that forwards frames was stopped, or had no CPU, for at least half a second.
        DataplaneStalled => "dataplane_stalled",
        /// The measured round trip is longer than the configured one.
        RoundTripExceeded => "round_trip_exceeded",
        /// A measured round trip needs more headroom than was derived from the port's cable.
        CableExceeded => "cable_exceeded",
        /// The headroom derived from the cable has sufficed for the last ten round trips.
        CableFits => "cable_fits",
        /// LLDP found a neighbour.
        NeighbourFound => "neighbour_found",
        /// A neighbour is no longer heard.
        NeighbourLost => "neighbour_lost",
        /// The port treats its neighbour as another kind from now on.
        NeighbourKind => "neighbour_kind",
        /// The neighbour's PFC configuration differs.
        PfcMismatch => "pfc_mismatch",
        /// It no longer differs.
        PfcMismatchEnded => "pfc_mismatch_ended",
        /// The neighbour's Levels differ.
        LevelMismatch => "level_mismatch",
        /// They no longer differ.
        LevelMismatchEnded => "level_mismatch_ended",
        /// The neighbour's credits differ: it announces others, or none.
        CreditMismatch => "credit_mismatch",
        /// They no longer differ.
        CreditMismatchEnded => "credit_mismatch_ended",
    }
}

impl EventName {
    /// Returns true for events of single CLCM messages, which may be very many.
    pub const fn is_of_a_message(self) -> bool {
        matches!(
            self,
            Self::ClcmSent | Self::ClcmReceived | Self::ClcmForwarded | Self::ClcmIgnored
        )
    }
}
