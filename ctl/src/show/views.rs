//! Tables of the daemon's answers.

use weir_api::counters::Counters;
use weir_api::daemon::{Deadlock, Deadlocks, Health, Pfc, Port, Queue, Status};
use weir_api::words::Express;

use weir_output::{bytes, count, facts, rate, reasons, seconds, table, NONE};

pub fn status(status: &Status) -> String {
    let plane = &status.dataplane;
    let busy = if plane.rounds_total == 0 {
        0.0
    } else {
        100.0 * plane.busy_rounds_total as f64 / plane.rounds_total as f64
    };
    let mut lines = vec![("switch", status.name.clone())];
    if let Some(health) = &status.health {
        lines.push(("health", verdict(health)));
    }
    lines.extend([
        (
            "state",
            format!(
                "{}, version {}, pid {}, up {}",
                status.state,
                status.version,
                status.pid,
                seconds(status.uptime_seconds)
            ),
        ),
        ("ports", port_count(status)),
        (
            "frames",
            format!(
                "{} admitted, {} sent, {} inside",
                status.admitted_frames_total, status.transmitted_frames_total, status.held_frames
            ),
        ),
        ("dropped", reasons(&status.drops_total)),
        (
            "lost by the kernel",
            count(status.kernel_losses_total, "frame"),
        ),
        (
            "deadlocks",
            format!(
                "policy {}; suspected queues: {}",
                status.deadlock_policy, status.suspected_count
            ),
        ),
        (
            "CLCM",
            format!(
                "{} sent, {} received, {} found, {}",
                status.clcm.sent_total,
                status.clcm.received_total,
                count(status.clcm.loops_found_total, "loop"),
                count(status.clcm.releases_total, "release")
            ),
        ),
        (
            "packet memory",
            format!(
                "{} of {} frames free",
                status.umem_frames_free, status.umem_frames
            ),
        ),
        (
            "dataplane",
            format!(
                "{}, {busy:.1} % with work, {}, longest round {}, {} lost",
                count(plane.rounds_total, "round"),
                count(plane.sleeps_total, "sleep"),
                seconds(plane.round_seconds_max),
                count(plane.events_lost_total, "event")
            ),
        ),
    ]);
    if status.impairment_count > 0 {
        let told = format!(
            "{} on purpose: `switchctl impair list`",
            status.impairment_count
        );
        lines.push(("impairments", told));
    }
    facts(&lines)
}

/// Formats the health verdict with its reasons.
pub fn verdict(health: &Health) -> String {
    match health.why() {
        why if why.is_empty() => health.verdict.to_string(),
        why => format!("{}: {why}", health.verdict),
    }
}

fn port_count(status: &Status) -> String {
    match status.ports_without_device.as_slice() {
        [] => status.port_count.to_string(),
        gone => format!(
            "{}; without a device: {}",
            status.port_count,
            gone.join(", ")
        ),
    }
}

/// Formats the state of a link: up, down, suppressed by flap damping, or without a device.
pub fn link_state(port: &Port) -> String {
    match (port.device_gone, port.link_up, port.link_suppressed) {
        (true, _, _) => "GONE",
        (false, true, _) => "up",
        (false, false, true) => "SUPPRESSED",
        (false, false, false) => "DOWN",
    }
    .to_owned()
}

pub fn ports(ports: &[Port]) -> String {
    let is_wanted = ports.iter().any(|port| port.express != Express::Off);
    let has_cables = ports.iter().any(|port| port.cable.is_some());
    let is_blocked = ports.iter().any(|port| port.loop_blocked.is_some());
    let column = |text| is_wanted.then_some(text);
    let headings = [Some("port"), Some("device"), Some("role"), Some("link")]
        .into_iter()
        .chain([is_blocked.then_some("loop")])
        .chain([Some(">rate"), has_cables.then_some("cable")])
        .chain([Some("XDP"), column("express")])
        .chain([Some("priorities in"), Some(">frames in")])
        .chain([Some(">frames out"), Some(">bytes in"), Some(">bytes out")])
        .chain([
            Some("dropped"),
            Some("XDP dropped"),
            Some(">kernel lost"),
            Some(">NIC lost"),
        ]);
    let headings: Vec<&str> = headings.flatten().collect();
    let rows = ports.iter().map(|port| {
        let mode = if port.zero_copy { "zero-copy" } else { "copy" };
        let cells = vec![
            Some(port.name.clone()),
            Some(port.device.clone()),
            Some(port.role.to_string()),
            Some(link_state(port)),
            is_blocked.then(|| loop_blocked(port)),
            Some(rate(port.rate_bits_per_second)),
            has_cables.then(|| cable(port)),
            Some(format!("{}, {mode}", port.xdp_mode)),
            is_wanted.then(|| express(port)),
            Some(priorities(&port.rx_priorities)),
            Some(port.rx_frames_total.to_string()),
            Some(port.tx_frames_total.to_string()),
            Some(bytes(port.rx_bytes_total)),
            Some(bytes(port.tx_bytes_total)),
            Some(reasons(&port.drops_total)),
            Some(reasons(&port.xdp_drops())),
            Some(port.kernel_losses.total().to_string()),
            Some(port.device_losses.total().to_string()),
        ];
        cells.into_iter().flatten().collect()
    });
    table(&headings, rows)
}

/// Formats the priorities of the frames that a port has received.
fn priorities(all: &[u8]) -> String {
    let all: Vec<String> = all.iter().map(u8::to_string).collect();
    match all.is_empty() {
        true => NONE.to_owned(),
        false => all.join(","),
    }
}

/// Formats the VLANs in which a port does not flood because of a loop.
pub fn loop_blocked(port: &Port) -> String {
    let blocked = port.loop_blocked.as_ref();
    blocked.map_or_else(|| NONE.to_owned(), |it| format!("BLOCKED ({it})"))
}

/// Formats the cable's length and its headroom, and the needed headroom if that is not enough.
pub fn cable(port: &Port) -> String {
    let Some(cable) = &port.cable else {
        return NONE.to_owned();
    };
    let gives = format!("{}: {}", cable.length, bytes(cable.headroom_bytes));
    match cable.headroom_needed_bytes.filter(|_| cable.exceeded) {
        Some(needed) => format!("{gives}, NEEDS {}", bytes(needed)),
        None => gives,
    }
}

/// Formats the share of sent frames that took the express path, or the reason for which none does now.
pub fn express(port: &Port) -> String {
    let (express, sent) = (port.express_tx_frames_total, port.tx_frames_total);
    match port.express.known() {
        Some(Express::Open) if sent > 0 => {
            format!("open, {:.0} %", 100.0 * express as f64 / sent as f64)
        }
        _ => port.express.to_string(),
    }
}

pub fn queues(queues: &[Queue]) -> String {
    if queues.is_empty() {
        return "no queue has had a frame yet; --all shows all queues\n".to_owned();
    }
    table(
        &[
            "port",
            ">priority",
            "class",
            "mode",
            ">ingress",
            ">peak",
            ">egress",
            ">peak",
            ">frames waiting",
            ">frames in",
            ">frames out",
        ],
        queues.iter().map(|queue| {
            vec![
                queue.port.clone(),
                queue.priority.to_string(),
                queue.class.clone(),
                queue.mode.to_string(),
                bytes(queue.ingress_bytes),
                bytes(queue.ingress_bytes_max),
                bytes(queue.egress_bytes),
                bytes(queue.egress_bytes_max),
                queue.egress_frames.to_string(),
                queue.rx_frames_total.to_string(),
                queue.tx_frames_total.to_string(),
            ]
        }),
    )
}

/// Formats counters by place, with their meaning.
pub fn counters(all: &[Counters]) -> String {
    if all.is_empty() {
        return "all counters are zero\n".to_owned();
    }
    let rows = all.iter().flat_map(|place| {
        place.counters.iter().map(|(name, count)| {
            vec![
                place.port.clone().unwrap_or(NONE.to_owned()),
                place
                    .priority
                    .map_or(NONE.to_owned(), |priority| priority.to_string()),
                name.clone(),
                count.to_string(),
                place.meaning(name).unwrap_or(NONE).to_owned(),
            ]
        })
    });
    table(&["port", ">priority", "counter", ">count", "meaning"], rows)
}

pub fn pfc(queues: &[Pfc]) -> String {
    if queues.is_empty() {
        return "no class is lossless\n".to_owned();
    }
    table(
        &[
            "port",
            ">priority",
            ">ingress",
            ">xoff",
            ">xon",
            ">headroom used",
            "we pause",
            "paused by it",
            ">for",
            ">XOFF sent",
            ">XON sent",
            ">pauses in",
            ">resumes in",
            "suspected",
            "release",
        ],
        queues.iter().map(|queue| {
            vec![
                queue.port.clone(),
                queue.priority.to_string(),
                bytes(queue.ingress_bytes),
                bytes(queue.xoff_bytes),
                bytes(queue.xon_bytes),
                format!(
                    "{} of {}",
                    bytes(queue.headroom_used_bytes_max),
                    bytes(queue.headroom_bytes)
                ),
                yes(queue.pausing),
                yes(queue.paused),
                seconds(queue.paused_seconds_total),
                queue.xoff_sent_total.to_string(),
                queue.xon_sent_total.to_string(),
                queue.pause_received_total.to_string(),
                queue.resume_received_total.to_string(),
                yes(queue.suspected),
                queue
                    .release_ingress
                    .as_ref()
                    .map_or_else(|| NONE.to_owned(), |port| format!("only from {port}")),
            ]
        }),
    )
}

pub fn deadlocks(deadlocks: &Deadlocks) -> String {
    if deadlocks.current.is_empty() && deadlocks.past.is_empty() {
        return "no deadlock has been suspected\n".to_owned();
    }
    let rows = deadlocks
        .current
        .iter()
        .chain(&deadlocks.past)
        .map(deadlock_row);
    table(
        &[
            ">id",
            "port",
            ">priority",
            "state",
            "reason",
            ">queued",
            "SPUID",
            ">loops found",
            ">releases",
            ">to first release",
        ],
        rows,
    )
}

fn deadlock_row(deadlock: &Deadlock) -> Vec<String> {
    let state = match deadlock.lasted_seconds {
        Some(lasted) => format!("lasted {}", seconds(lasted)),
        None => "SUSPECTED NOW".to_owned(),
    };
    vec![
        deadlock.id.to_string(),
        deadlock.port.clone(),
        deadlock.priority.to_string(),
        state,
        deadlock.reason.to_string(),
        bytes(deadlock.queued_bytes),
        deadlock.spuid.clone().unwrap_or_else(|| NONE.to_owned()),
        deadlock.loops_found.to_string(),
        deadlock.releases.to_string(),
        deadlock
            .first_release_seconds
            .map_or_else(|| NONE.to_owned(), seconds),
    ]
}

pub(super) fn yes(flag: bool) -> String {
    if flag { "yes" } else { NONE }.to_owned()
}
