//! The alerts. The book has their meanings and remedies: docs/src/operations/alerts.md.

use super::{Alert, Severity};

macro_rules! alerts {
    ($($name:ident $severity:ident if $signal:literal $condition:literal for $holds:literal $summary:literal $description:literal;)*) => {
        /// All alerts, the most urgent first in each group.
        pub fn alerts() -> Vec<Alert> {
            vec![$(Alert {
                name: stringify!($name),
                signal: $signal,
                condition: $condition,
                holds: $holds,
                severity: Severity::$severity,
                summary: $summary,
                description: $description,
            }),*]
        }
    };
}

alerts! {
    WeirSwitchDown Critical if "weir:up:min" "< 1" for "1m"
        "{{ $labels.instance }} does not answer"
        "Prometheus has not reached the daemon for a minute. If it has stopped, the switch forwards nothing.";
    WeirDataplaneSilent Critical if "weir:snapshot_age_seconds:max" "> 5" for "1m"
        "The dataplane of {{ $labels.instance }} does not answer"
        "Its figures are {{ $value | humanizeDuration }} old. The thread hangs or gets no CPU: forwarding may have stopped.";
    WeirRestarted Warning if "weir:restarts:resets15m" "> 0" for "0m"
        "{{ $labels.instance }} has been restarted"
        "The daemon restarted within the last 15 minutes. Its buffered frames are lost unless it was restarted with `switchctl restart` or drained.";
    WeirLinkDown Warning if "weir:link_up:min" "< 1" for "1m"
        "Port {{ $labels.port }} of {{ $labels.instance }} is down"
        "The port's device has been down or without carrier for a minute. Frames for it are dropped.";
    WeirTransmitterStuck Critical if "weir:transmitter_stuck:max" "> 0" for "0m"
        "The device of port {{ $labels.port }} of {{ $labels.instance }} completes no transmissions"
        "Frames for the port are dropped until it does.";
    WeirDataplaneStalled Warning if "weir:dataplane_stalls:increase5m" "> 0" for "0m"
        "The dataplane thread of {{ $labels.instance }} was stopped or had no CPU"
        "It did nothing for half a second or longer: frames waited in the RX rings, and those that found no room there are lost.";
    WeirLearningTableFull Warning if "weir:learning_table_full:increase5m" "> 0" for "0m"
        "Learned addresses of port {{ $labels.port }} of {{ $labels.instance }} find no room"
        "Frames to addresses that are forgotten are flooded to all ports.";
    WeirLosslessDrops Critical if "weir:drops_headroom:increase5m" "> 0" for "0m"
        "Lossless frames from port {{ $labels.port }} of {{ $labels.instance }} are lost"
        "The headroom was used up: the neighbour does not obey pauses in time, or the headroom is too small for the link.";
    WeirHeadroomNearlyUsed Warning if "weir:headroom_use:ratio" "> 0.8" for "0m"
        "{{ $labels.instance }} port {{ $labels.port }} priority {{ $labels.priority }} has used {{ $value | humanizePercentage }} of its headroom"
        "In the last whole interval of its peaks. No frame is lost yet, but the next burst may be.";
    WeirKernelLosses Warning if "weir:kernel_losses:increase5m" "> 0" for "0m"
        "The kernel loses frames at port {{ $labels.port }} of {{ $labels.instance }} ({{ $labels.kind }})"
        "Frames are lost before or after the switch, lossless ones too. The dataplane gets too little CPU, or rings are too small.";
    WeirDeviceLosses Warning if "weir:device_losses:increase5m" "> 0" for "0m"
        "The device of port {{ $labels.port }} of {{ $labels.instance }} loses frames ({{ $labels.kind }})"
        "Frames do not reach the switch, including lossless ones: the device had no room or buffer for them (rx_missed, rx_fifo, rx_over), the line damaged them (rx_crc, rx_frame, rx_length), or the driver does not say why (rx_other).";
    WeirXdpLosses Warning if "weir:xdp_losses:increase5m" "> 0" for "0m"
        "The XDP program drops frames at port {{ $labels.port }} of {{ $labels.instance }} ({{ $labels.verdict }})"
        "Frames do not reach the switch: a receive queue has no socket, the driver has no room for metadata, or it cuts frames that are too long.";
    WeirStackLosses Warning if "weir:stack_losses:increase5m" "> 0" for "0m"
        "The kernel drops frames in front of port {{ $labels.port }} of {{ $labels.instance }} ({{ $labels.reason }})"
        "Frames may not reach the switch, including lossless ones: a processor's backlog is full, which a port in generic mode depends on.";
    WeirPacketMemoryLow Warning if "weir:umem_free:ratio" "< 0.05" for "1m"
        "{{ $labels.instance }} has {{ $value | humanizePercentage }} of its packet memory left"
        "With none left, nothing can be received, not even the neighbours' pauses.";
    WeirDeadlockSuspected Critical if "weir:suspected:max" "> 0" for "30s"
        "{{ $labels.instance }} port {{ $labels.port }} priority {{ $labels.priority }} is stalled"
        "The egress has been suspected of a deadlock for 30 s, and no release has resolved it.";
    WeirDeadlocksRecur Warning if "weir:suspicions:increase10m" "> 10" for "0m"
        "Deadlocks recur at {{ $labels.instance }} port {{ $labels.port }} priority {{ $labels.priority }}"
        "{{ $value | humanize }} suspicions in ten minutes: each is resolved, but the routes form a loop and its load is too high.";
    WeirClcmUnanswered Warning if "weir:clcm_unanswered:increase10m" "> 0" for "0m"
        "CLCM of {{ $labels.instance }} is not answered"
        "There is no loop, or a switch on it does not support or forward CLCM.";
    WeirPfcStorm Critical if "weir:storm:max" "> 0" for "0m"
        "PFC storm at {{ $labels.instance }} port {{ $labels.port }} priority {{ $labels.priority }}"
        "The neighbour pauses without end. The PFC storm watchdog takes its action (drop, forward or alert).";
    WeirLifetimeStalled Critical if "weir:lifetime_stalled:max" "> 0" for "0m"
        "{{ $labels.instance }} port {{ $labels.port }} priority {{ $labels.priority }} drops everything (VLStalled)"
        "Too many frames in a row exceeded the lifetime limit at the head of their queue.";
    WeirPausedForLong Warning if "weir:paused:ratio_rate5m" "> 0.9" for "5m"
        "{{ $labels.instance }} port {{ $labels.port }} priority {{ $labels.priority }} is paused {{ $value | humanizePercentage }} of the time"
        "The neighbour accepts hardly any traffic. Congestion spreads from it towards the senders.";
    WeirDataplaneBusy Warning if "weir:dataplane_busy:ratio_rate5m" "> 0.9" for "5m"
        "The dataplane thread of {{ $labels.instance }} is busy {{ $value | humanizePercentage }} of the time"
        "There is no reserve: it may react to pauses later than the headroom allows.";
    WeirDataplaneSlow Warning if "weir:dataplane_round_seconds:p99_rate5m" "> 0.01" for "5m"
        "One in a hundred rounds of the dataplane of {{ $labels.instance }} takes {{ $value | humanizeDuration }}"
        "A pause is obeyed only after a round. The thread shares its CPU, or the machine is overloaded.";
    WeirNeighbourMismatch Warning if "weir:lldp_mismatch:max" "> 0" for "2m"
        "Port {{ $labels.port }} of {{ $labels.instance }} and its neighbour differ ({{ $labels.what }})"
        "PFC, Levels or credits are configured differently at the other end: frames may be lost, a class may not send, or loops may deadlock.";
    WeirControlLosses Warning if "weir:control_losses:increase5m" "> 0" for "0m"
        "{{ $labels.instance }} loses events or commands between its dataplane and its control plane"
        "Suspicions may be noticed late, and releases may come late.";
    WeirLevelFeedbackExpired Warning if "weir:level_feedback_expired:increase10m" "> 0" for "0m"
        "Feedback expired at {{ $labels.instance }} port {{ $labels.port }} priority {{ $labels.priority }}"
        "The neighbour has stopped, the link loses frames, or the neighbour gets too little CPU.";
    WeirLevelRoundTripExceeded Warning if "weir:level_round_trips_exceeded:increase10m" "> 0" for "0m"
        "Round trips of port {{ $labels.port }} of {{ $labels.instance }} are longer than its buffers are sized for"
        "The budgets have too little room for frames in flight: frames may be lost.";
    WeirCableExceeded Warning if "weir:cable_exceeded:max" "> 0" for "0m"
        "Round trips of port {{ $labels.port }} of {{ $labels.instance }} need more headroom than its cable gives"
        "The other end or the switch itself reacts later than `reaction` states: lossless frames may be lost (switchctl doctor).";
    WeirLevelRouteTooLong Warning if "weir:level_routes_too_long:increase10m" "> 0" for "0m"
        "A route through {{ $labels.instance }} port {{ $labels.port }} is longer than D links"
        "Beyond Level D, freedom from deadlock is not guaranteed.";
}
