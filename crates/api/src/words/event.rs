//! The kinds of events.

use weir_core::named;

named! {
    /// What happened: the kind of an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EventName {
        /// The daemon began to forward.
        Started => "started",
        /// The daemon stops: it sends what it holds.
        Draining => "draining",
        /// The configuration file was read again and is in force.
        Reloaded => "reloaded",
        /// What `reload --confirm` had put in force was confirmed.
        ReloadConfirmed => "reload_confirmed",
        /// Nobody confirmed in time: what was in force before is in force again.
        ReloadReverted => "reload_reverted",
        /// Frames or a link are impaired on purpose.
        ImpairmentBegan => "impairment_began",
        /// That is over.
        ImpairmentEnded => "impairment_ended",
        /// The next switch failed to start, and what ran before it runs again.
        RestartFailed => "restart_failed",
        /// The keeper has ended: the switch goes on and cannot be restarted in place.
        KeeperGone => "keeper_gone",
        /// An address to listen at is taken. It is tried again.
        ListenerTaken => "listener_taken",
        /// The switch listens at that address now.
        ListenerFree => "listener_free",
        /// A client showed many wrong tokens, and is not heard for a minute. Reported once a minute for each listener.
        TokensRefused => "tokens_refused",
        /// A request changed a route, a bucket or a pin.
        RouteChanged => "route_changed",
        /// A request changed how the classes of a profile mark frames.
        EcnChanged => "ecn_changed",
        /// Events of the dataplane were lost because the queue to the control plane was full.
        EventsLost => "events_lost",
        /// A port's link came up.
        LinkUp => "link_up",
        /// A port's link went down.
        LinkDown => "link_down",
        /// A port's device was deleted or went to another network namespace.
        DeviceGone => "device_gone",
        /// A port has a device of its name again, or for the first time, and forwards by it.
        DeviceBack => "device_back",
        /// A device of a port's name is there and cannot be used. It is tried again.
        DeviceRefused => "device_refused",
        /// A port's device has another name now. The port goes on with it until the switch is restarted.
        DeviceRenamed => "device_renamed",
        /// The MTU of a port's device is smaller than the switch's: longer frames are lost both ways.
        MtuTooSmall => "mtu_too_small",
        /// The MTU of a port's device is large enough again.
        MtuFits => "mtu_fits",
        /// A port's device was put into another device, such as a bridge, so that frames of both mix.
        DeviceUnfit => "device_unfit",
        /// A port's device is alone again.
        DeviceFits => "device_fits",
        /// Frames were lost below the switch that program, sockets and device do not account for.
        FramesMissing => "frames_missing",
        /// A request had a port take its device again.
        PortAdded => "port_added",
        /// A request had a port give up its device.
        PortRemoved => "port_removed",
        /// An egress with frames to send sends none.
        Suspected => "suspected",
        /// It sends again, or has nothing to send any more.
        SuspicionEnded => "suspicion_ended",
        /// Of late nothing has answered the CLCM sent for a suspicion.
        Unanswered => "unanswered",
        /// A switch identifier was drawn for a suspicion.
        SpuidAssigned => "spuid_assigned",
        /// A CLCM message was sent.
        ClcmSent => "clcm_sent",
        /// A CLCM message was received.
        ClcmReceived => "clcm_received",
        /// A CLCM message was passed on.
        ClcmForwarded => "clcm_forwarded",
        /// A CLCM message was not passed on.
        ClcmIgnored => "clcm_ignored",
        /// This switch found a credit loop.
        LoopFound => "loop_found",
        /// This switch was elected to break a loop.
        MasterElected => "master_elected",
        /// No flow could be moved off the egress.
        NoAlternative => "no_alternative",
        /// The dataplane was told to release a loop.
        ReleaseOrdered => "release_ordered",
        /// A release began: only one ingress port may send through the egress.
        ReleaseStarted => "release_started",
        /// A release ended.
        ReleaseEnded => "release_ended",
        /// The dataplane was told to send frames in spite of the pause.
        TrafficReleaseOrdered => "traffic_release_ordered",
        /// It has sent them.
        TrafficReleaseEnded => "traffic_release_ended",
        /// A reroute moved a flow to another port.
        FlowMoved => "flow_moved",
        /// A reroute is done.
        Rerouted => "rerouted",
        /// Ports that flows could move to appeared or went.
        WaysChanged => "ways_changed",
        /// A lossless class dropped a frame because its headroom was used up.
        HeadroomExceeded => "headroom_exceeded",
        /// A pause has lasted long at an egress with frames to send.
        PauseStalled => "pause_stalled",
        /// That is over.
        PauseStallEnded => "pause_stall_ended",
        /// A pause that lasted was not called a PFC storm.
        NoStorm => "no_storm",
        /// A PFC storm began.
        StormDetected => "storm_detected",
        /// A PFC storm ended.
        StormRestored => "storm_restored",
        /// An egress reached its limit of frames dropped in a row by the lifetime limit.
        LifetimeStalled => "lifetime_stalled",
        /// A frame's route has more links than D: its class needs more Levels.
        RouteTooLong => "route_too_long",
        /// Flooded frames went round a loop: the port floods and learns nothing from now on.
        ForwardingLoop => "forwarding_loop",
        /// The port floods again.
        ForwardingLoopEnded => "forwarding_loop_ended",
        /// Probes come back by the port that they left by: there is a loop behind it, or a host there sends them back.
        LoopBehind => "loop_behind",
        /// A learned address moves between two ports as no station does: a loop that no probe comes round, or a station that uses another one's address.
        AddressMoves => "address_moves",
        /// A source address found no room among the learned ones, or took that of one that was known still. Reported once in a minute.
        LearningTableFull => "learning_table_full",
        /// A request had learned addresses forgotten.
        AddressesForgotten => "addresses_forgotten",
        /// The device of a port has completed no transmission for a second: frames for the port are dropped.
        TransmitterStalled => "transmitter_stalled",
        /// The device completes transmissions again, and frames leave by the port.
        TransmitterResumed => "transmitter_resumed",
        /// The thread that forwards frames did nothing for half a second or longer, because it was stopped or had no CPU.
        DataplaneStalled => "dataplane_stalled",
        /// The measured round trip is longer than the configured one.
        RoundTripExceeded => "round_trip_exceeded",
        /// A measured round trip needs more headroom than follows from the port's cable.
        CableExceeded => "cable_exceeded",
        /// The headroom that follows from the cable has been enough for the last ten round trips.
        CableFits => "cable_fits",
        /// LLDP found a neighbour.
        NeighbourFound => "neighbour_found",
        /// A neighbour is gone.
        NeighbourLost => "neighbour_lost",
        /// The port speaks to its neighbour in another way from now on.
        NeighbourKind => "neighbour_kind",
        /// The neighbour's PFC configuration differs.
        PfcMismatch => "pfc_mismatch",
        /// It no longer differs.
        PfcMismatchEnded => "pfc_mismatch_ended",
        /// The neighbour's Levels differ.
        LevelMismatch => "level_mismatch",
        /// They no longer differ.
        LevelMismatchEnded => "level_mismatch_ended",
    }
}

impl EventName {
    /// True for what happens to single CLCM messages, of which there may be very many.
    pub const fn is_of_a_message(self) -> bool {
        matches!(
            self,
            Self::ClcmSent | Self::ClcmReceived | Self::ClcmForwarded | Self::ClcmIgnored
        )
    }
}
