//! Health verdict of a switch, with the reasons in words. [`judge`] is the only place that makes it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_core::PortRole;

use crate::words::{HealthKind, HealthVerdict, Trouble, Verdict};

/// Losses count for this long; then their cause is considered over.
pub const LOSS_WINDOW_SECONDS: u64 = 10;
/// Suspicions, storms and stalls count for this long, so that those that recur every few seconds are recognised.
pub const RECURRENCE_WINDOW_SECONDS: u64 = 60;
/// A suspicion that lasts longer than this counts as one that no release has ended.
pub const STANDS_AFTER_SECONDS: f64 = 5.0;
/// A dataplane with figures older than this is considered silent.
pub const SILENT_AFTER_SECONDS: f64 = 3.0;
/// Maximum number of reported reasons.
pub const REASONS_MAX: usize = 16;

/// Health of a switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// The worst of the reasons' verdicts; `ok` without any.
    pub verdict: HealthVerdict,
    /// The reasons, worst first; at most 16.
    pub reasons: Vec<HealthReason>,
    /// Number of further reasons.
    #[serde(default)]
    pub left_out: u64,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HealthReason {
    /// The problem.
    pub kind: HealthKind,
    /// The verdict for this reason alone.
    pub verdict: HealthVerdict,
    /// The port, if it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The priority, if it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Number of lost frames, or of occurrences, within the window; 0 for a state that lasts.
    pub count: u64,
    /// Description, with the remedy.
    pub text: String,
}

/// Observations of a switch within the windows.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Window for losses, in seconds.
    pub loss_seconds: f64,
    /// Window for suspicions and storms, in seconds.
    pub recurrence_seconds: f64,
    /// Age of the dataplane's figures.
    pub age_seconds: f64,
    /// Events that the control plane has missed.
    pub events_lost: u64,
    /// Stalls of the dataplane, within the window for recurrences.
    pub stalls: u64,
    /// Total duration of these, in seconds.
    pub stall_seconds: f64,
    /// False if the policy does not react to deadlocks.
    pub releases: bool,
    /// Problems of the daemon itself, with the remedies.
    pub own: Vec<(Trouble, String)>,
    /// Ports with observations.
    pub ports: Vec<ObservedPort>,
}

/// Observations of a port.
#[derive(Clone, Debug)]
pub struct ObservedPort {
    /// Its name.
    pub name: String,
    /// Kind of device that it faces.
    pub role: PortRole,
    /// Frames that the kernel lost on reception.
    pub kernel_losses: u64,
    /// Frames that the device did not send.
    pub transmit_drops: u64,
    /// Frames redirected to a socket that no socket received.
    pub receive_missing: u64,
    /// Frames sent that the device did not count.
    pub transmit_missing: u64,
    /// Frames that the XDP program dropped, except those too short to be frames.
    pub xdp_drops: u64,
    /// Frames for which the device had no room or no buffer.
    pub device_overruns: u64,
    /// Frames that arrived damaged, by the device's counters.
    pub device_errors: u64,
    /// It neither floods nor learns, in a VLAN or in all, because of a loop.
    pub loop_blocked: bool,
    /// The MTU of its device and that of the switch in bytes, if the former is smaller.
    pub small_mtu: Option<(u64, u64)>,
    /// The reason why its device cannot be used, or not in its present state.
    pub unfit: Option<String>,
    /// Its device completes no transmissions.
    pub stuck: bool,
    /// Source addresses that found no room in the table.
    pub addresses_crowded: u64,
    /// Priorities with observations.
    pub queues: Vec<ObservedQueue>,
}

impl ObservedPort {
    /// A port without observations.
    pub fn new(name: impl Into<String>, role: PortRole) -> Self {
        Self {
            name: name.into(),
            role,
            kernel_losses: 0,
            transmit_drops: 0,
            receive_missing: 0,
            transmit_missing: 0,
            xdp_drops: 0,
            device_overruns: 0,
            device_errors: 0,
            loop_blocked: false,
            small_mtu: None,
            unfit: None,
            stuck: false,
            addresses_crowded: 0,
            queues: Vec::new(),
        }
    }
}

/// Observations of a (port, priority).
#[derive(Clone, Copy, Debug, Default)]
pub struct ObservedQueue {
    /// The priority.
    pub priority: u8,
    /// Lossless frames from the port for which the headroom had no room.
    pub headroom_drops: u64,
    /// Lossless frames for the port dropped by a storm or the lifetime limit.
    pub storm_drops: u64,
    /// Those dropped by the lifetime limit.
    pub lifetime_drops: u64,
    /// Suspicions of a deadlock.
    pub suspicions: u64,
    /// Releases.
    pub releases: u64,
    /// Storms that began.
    pub storms: u64,
    /// Duration of the present suspicion of the egress.
    pub suspected_seconds: Option<f64>,
    /// True during a storm.
    pub stormed: bool,
}

/// Makes the verdict. Degraded: frames are lost or were stalled, and the switch reacts. Failing: the switch does not
/// fulfil its purpose, and nothing reacts.
pub fn judge(seen: &Observed) -> Health {
    let mut reasons = Vec::new();
    if seen.age_seconds > SILENT_AFTER_SECONDS {
        let text = format!(
            "the dataplane has not answered for {}; frames may be stuck",
            seconds(seen.age_seconds)
        );
        reasons.push(reason(Trouble::DataplaneSilent, Verdict::Failing, 0, text));
    }
    if seen.events_lost > 0 {
        let text = format!(
            "{} events were lost: the control plane gets too little CPU",
            grouped(seen.events_lost)
        );
        let lost = reason(
            Trouble::EventsLost,
            Verdict::Degraded,
            seen.events_lost,
            text,
        );
        reasons.push(lost);
    }
    if seen.stalls > 0 {
        let text = format!(
            "the dataplane did nothing for {}{}: it was stopped, or had no CPU; frames waited, and those that found no room in the RX rings are lost",
            seconds(seen.stall_seconds),
            often(seen.stalls, seen.recurrence_seconds)
        );
        reasons.push(reason(
            Trouble::DataplaneStalled,
            Verdict::Degraded,
            seen.stalls,
            text,
        ));
    }
    for (trouble, text) in &seen.own {
        reasons.push(reason(*trouble, Verdict::Degraded, 0, text.clone()));
    }
    for port in &seen.ports {
        for queue in &port.queues {
            judge_queue(seen, port, queue, &mut reasons);
        }
        judge_port(port, &mut reasons);
    }
    // Keeps the order of the ports within one verdict.
    reasons.sort_by_key(|reason| std::cmp::Reverse(severity(reason)));
    let verdict = reasons
        .first()
        .map_or(Verdict::Ok.into(), |worst| worst.verdict.clone());
    let left_out = reasons.len().saturating_sub(REASONS_MAX) as u64;
    reasons.truncate(REASONS_MAX);
    Health {
        verdict,
        reasons,
        left_out,
    }
}

impl Health {
    /// All reasons in one line; empty if there are none.
    pub fn why(&self) -> String {
        let mut texts: Vec<&str> = self.reasons.iter().map(|reason| &*reason.text).collect();
        let more = format!("and {} more", self.left_out);
        if self.left_out > 0 {
            texts.push(&more);
        }
        texts.join("; ")
    }
}

fn severity(reason: &HealthReason) -> u8 {
    reason
        .verdict
        .known()
        .map_or(u8::MAX, |verdict| verdict as u8)
}

fn reason(kind: Trouble, verdict: Verdict, count: u64, text: String) -> HealthReason {
    HealthReason {
        kind: kind.into(),
        verdict: verdict.into(),
        port: None,
        priority: None,
        count,
        text,
    }
}

fn judge_port(port: &ObservedPort, reasons: &mut Vec<HealthReason>) {
    let name = &port.name;
    if port.loop_blocked {
        let text = format!(
            "{name}: floods nothing because of a loop: take out the cable that closes it; `switchctl ports` has the VLANs, `switchctl events` the loop's other port"
        );
        reasons.push(HealthReason {
            port: Some(name.clone()),
            ..reason(Trouble::ForwardingLoop, Verdict::Degraded, 0, text)
        });
    }
    if let Some((has, wanted)) = port.small_mtu {
        let text = format!(
            "{name}: its device has an MTU of {has} B and the switch of {wanted} B: longer frames are lost both ways (`ip link set dev DEVICE mtu {wanted}`)"
        );
        reasons.push(HealthReason {
            port: Some(name.clone()),
            ..reason(Trouble::MtuTooSmall, Verdict::Degraded, 0, text)
        });
    }
    if let Some(why) = &port.unfit {
        let text = format!("{name}: {why}");
        reasons.push(HealthReason {
            port: Some(name.clone()),
            ..reason(Trouble::DeviceUnfit, Verdict::Degraded, 0, text)
        });
    }
    if port.stuck {
        let text = format!(
            "{name}: its device completes no transmissions, and frames for it are dropped: set the link down and up, or reset the device"
        );
        reasons.push(HealthReason {
            port: Some(name.clone()),
            ..reason(Trouble::TransmitterStalled, Verdict::Failing, 0, text)
        });
    }
    if port.addresses_crowded > 0 {
        let count = grouped(port.addresses_crowded);
        let text = format!(
            "{name}: {count} source addresses found no room among the learned ones, so frames to some addresses are flooded: a host forges addresses, or `forwarding.capacity` is too small (`switchctl fdb count`)"
        );
        reasons.push(HealthReason {
            port: Some(name.clone()),
            ..reason(
                Trouble::LearningTableFull,
                Verdict::Degraded,
                port.addresses_crowded,
                text,
            )
        });
    }
    for (kind, count, what) in [
        (
            Trouble::KernelLosses,
            port.kernel_losses,
            "were lost by the kernel, including lossless ones: the switch gets too little CPU, `dataplane.rx-ring` is too small, or frames are too long (`switchctl drops`)",
        ),
        (
            Trouble::KernelLosses,
            port.transmit_drops,
            "were not sent by the device, including lossless ones: its MTU, its queue, or the other end (`ip -s -s link`)",
        ),
        (
            Trouble::KernelLosses,
            port.receive_missing,
            "were redirected to the switch and never arrived, including lossless ones: the driver does not deliver to AF_XDP (`switchctl doctor`; try xdp-mode = \"generic\")",
        ),
        (
            Trouble::KernelLosses,
            port.transmit_missing,
            "were sent and not counted by the device, including lossless ones: the driver loses frames of AF_XDP (`switchctl doctor`; try xdp-mode = \"generic\")",
        ),
        (
            Trouble::XdpLosses,
            port.xdp_drops,
            "were dropped by the XDP program, including lossless ones: `switchctl ports` and `switchctl doctor` show the reason",
        ),
        (
            Trouble::DeviceLosses,
            port.device_overruns,
            "found no room in the device, including lossless ones: the switch gets too little CPU, or the device's ring is too small (ethtool -G)",
        ),
        (
            Trouble::DeviceLosses,
            port.device_errors,
            "arrived damaged, including lossless ones: cable, transceiver, or the other end's MTU (`ip -s -s link` shows the kind of damage)",
        ),
    ] {
        if count > 0 {
            let what = match what.strip_prefix("were ") {
                Some(rest) if count == 1 => format!("was {rest}"),
                _ => what.to_owned(),
            };
            let text = format!("{name}: {} {what}", frames(count));
            reasons.push(HealthReason {
                port: Some(name.clone()),
                ..reason(kind, Verdict::Degraded, count, text)
            });
        }
    }
}

fn judge_queue(
    seen: &Observed,
    port: &ObservedPort,
    queue: &ObservedQueue,
    reasons: &mut Vec<HealthReason>,
) {
    let place = format!("{} priority {}", port.name, queue.priority);
    let mut tell = |kind, verdict, count, what: String| {
        reasons.push(HealthReason {
            port: Some(port.name.clone()),
            priority: Some(queue.priority),
            ..reason(kind, verdict, count, format!("{place}: {what}"))
        });
    };
    let lost = queue.headroom_drops;
    if lost > 0 {
        // Only a switch is expected to stop in time.
        let (verdict, cause) = match port.role {
            PortRole::Edge => (
                Verdict::Degraded,
                "the host ignores our pauses (weir-host, `police`, or more headroom)",
            ),
            PortRole::Fabric => (
                Verdict::Failing,
                "the neighbour does not stop in time (its PFC, or more headroom)",
            ),
        };
        tell(
            Trouble::LosslessLoss,
            verdict,
            lost,
            format!("{} dropped; {cause}", frames(lost)),
        );
    }
    for (kind, count, cause) in [
        (Trouble::Storm, queue.storm_drops, "a PFC storm"),
        (
            Trouble::LosslessLoss,
            queue.lifetime_drops,
            "the lifetime limit",
        ),
    ] {
        if count > 0 {
            let what = format!("{} for it dropped because of {cause}", frames(count));
            tell(kind, Verdict::Degraded, count, what);
        }
    }
    if queue.stormed || queue.storms > 0 {
        let now = if queue.stormed {
            "pauses without end now"
        } else {
            "paused without end"
        };
        let times = often(queue.storms, seen.recurrence_seconds);
        tell(
            Trouble::Storm,
            Verdict::Degraded,
            queue.storms,
            format!("the neighbour {now}{times}"),
        );
    }
    judge_suspicion(seen, queue, &mut tell);
}

/// Remedy while something is suspected and the policy is off.
const NOBODY_RELEASES: &str = "; nothing will release this: set deadlock.policy = \"breaker\" or \"auto\" in the configuration file, then `switchctl reload`";
/// The same after the suspicion has ended by itself.
const NEXT_STAYS: &str =
    "; nothing would release a deadlock: set deadlock.policy = \"breaker\" or \"auto\"";

fn judge_suspicion(
    seen: &Observed,
    queue: &ObservedQueue,
    tell: &mut impl FnMut(Trouble, Verdict, u64, String),
) {
    let (count, times) = (
        queue.suspicions,
        often(queue.suspicions, seen.recurrence_seconds),
    );
    let released = match queue.releases {
        0 => String::new(),
        releases => format!("; {} released", grouped(releases)),
    };
    match queue.suspected_seconds {
        Some(lasting) => {
            let stands = lasting > STANDS_AFTER_SECONDS;
            let verdict = if stands {
                Verdict::Failing
            } else {
                Verdict::Degraded
            };
            let why = match (stands, seen.releases) {
                (_, false) => NOBODY_RELEASES,
                (false, true) => "",
                (true, true) => "; no release has helped",
            };
            let lasting = seconds(lasting);
            tell(
                Trouble::Suspected,
                verdict,
                count,
                format!("suspected of a deadlock for {lasting}{times}{released}{why}"),
            );
        }
        None if count > 0 => {
            let why = if seen.releases { "" } else { NEXT_STAYS };
            tell(
                Trouble::Suspected,
                Verdict::Degraded,
                count,
                format!("was suspected of a deadlock{times}{released}{why}"),
            );
        }
        None => {}
    }
}

/// Number of occurrences, if it has recurred.
fn often(count: u64, within: f64) -> String {
    match count {
        0 => String::new(),
        1 => ", once".to_owned(),
        _ => format!(
            ", {} times in {}, every {:.1} s",
            grouped(count),
            seconds(within),
            within / count as f64
        ),
    }
}

fn seconds(seconds: f64) -> String {
    if seconds < 10.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{seconds:.0} s")
    }
}

fn frames(count: u64) -> String {
    match count {
        1 => "1 frame".to_owned(),
        _ => format!("{} frames", grouped(count)),
    }
}

/// 6120 as 6,120.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
