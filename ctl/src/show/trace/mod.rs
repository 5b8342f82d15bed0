//! `switchctl trace`: predicts the fate of a frame.

mod frame;

use anyhow::Result;
use weir_api::client::Method;
use weir_api::daemon::trace::{Trace, TraceRequest, TracedQueue};
use weir_api::words::{FrameKind, PrioritySource, Way};
use weir_output::Output;

use crate::target::Target;

pub use frame::FrameArgument;

/// Asks the daemon and prints the steps.
pub fn trace(target: &Target, output: &Output, port: &str, frame: &FrameArgument) -> Result<()> {
    let digits: Vec<String> = frame
        .bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let request = TraceRequest {
        port: port.to_owned(),
        frame: digits.concat(),
        length: None,
    };
    let trace: Trace = target.send(Method::POST, "/v1/trace", Some(&request))?;
    output.print(&trace, |trace| lines(trace).join("\n"))
}

/// Returns one line for each step, and the verdict.
fn lines(trace: &Trace) -> Vec<String> {
    let frame = &trace.frame;
    let vlan = frame
        .vlan
        .map_or(String::new(), |vlan| format!(", VLAN {vlan}"));
    let mut lines = vec![format!(
        "arrival         at {}: {} to {}{vlan}, {} B, flow {}",
        trace.port, frame.source, frame.destination, frame.length_bytes, frame.flow_hash
    )];
    if frame.kind.known() != Some(FrameKind::Data) {
        lines.push(format!(
            "verdict         for the switch itself: {}",
            itself(trace)
        ));
        return lines;
    }
    let from = match frame.priority_from.known() {
        Some(PrioritySource::Pcp) => format!("PCP {}", frame.code_point.unwrap_or(0)),
        Some(PrioritySource::Dscp) => format!("DSCP {}", frame.code_point.unwrap_or(0)),
        _ => "the port's default".to_owned(),
    };
    let class = trace.class.as_ref().map_or(String::new(), |class| {
        format!(", class {} ({})", class.name, class.mode)
    });
    lines.push(format!(
        "classification  priority {}, by {from}{class}",
        frame.priority
    ));
    match trace.vlan {
        None => {}
        Some(0) => {
            lines.push("VLAN            0: none, as frames without a tag at a trunk".to_owned())
        }
        Some(vlan) => lines.push(format!("VLAN            {vlan}")),
    }
    if let Some(way) = &trace.way {
        let found = match way.known() {
            Some(Way::Route) => "a static route".to_owned(),
            Some(Way::Bucket) => format!(
                "a static route with several ports, bucket {}",
                trace.bucket.unwrap_or(0)
            ),
            Some(Way::Pin) => "a pin of the flow".to_owned(),
            Some(Way::Learnt) => "the address was learnt there".to_owned(),
            Some(Way::Flood) => "flooded: the address is unknown".to_owned(),
            None => way.to_string(),
        };
        lines.push(format!("route           {found}"));
    }
    if let Some(admission) = &trace.admission {
        let xoff = match (admission.xoff_bytes, admission.pauses) {
            (0, _) => String::new(),
            (xoff, false) => format!(", xoff at {xoff} B"),
            (xoff, true) => format!(", which reaches xoff ({xoff} B): {} is paused", trace.port),
        };
        let level = admission
            .level
            .map_or(String::new(), |level| format!("; Level {level}"));
        lines.push(format!(
            "admission       charged {} B; the ingress buffer then has {} B{xoff}{level}",
            admission.charged_bytes, admission.ingress_bytes
        ));
    }
    lines.extend(trace.queues.iter().map(queue));
    let ports: Vec<&str> = trace
        .queues
        .iter()
        .map(|queue| queue.port.as_str())
        .collect();
    lines.push(match &trace.dropped {
        Some(reason) => format!("verdict         dropped: {reason}"),
        None if trace.queues.iter().all(|queue| queue.may_leave) => {
            format!("verdict         forwarded by {}", ports.join(", "))
        }
        None => format!(
            "verdict         forwarded by {}, once it may leave",
            ports.join(", ")
        ),
    });
    lines
}

fn itself(trace: &Trace) -> &'static str {
    match trace.frame.kind.known() {
        Some(FrameKind::Pause) => "a pause",
        Some(FrameKind::Message) => "a message of a neighbor",
        Some(FrameKind::Lldp) => "LLDP",
        Some(FrameKind::Data) | None => "a control frame",
    }
}

fn queue(queue: &TracedQueue) -> String {
    let waiting = match queue.waiting_frames {
        0 => "nothing waits".to_owned(),
        frames => format!(
            "behind {frames} frames ({} B) of its priority",
            queue.waiting_bytes
        ),
    };
    let mut held = Vec::new();
    if queue.paused {
        held.push("paused by the neighbor".to_owned());
    }
    if let Some(feedback) = queue.feedback.filter(|feedback| *feedback > 0) {
        held.push(format!(
            "Feedback {feedback}: Levels from there on may leave"
        ));
    }
    if queue.suspected {
        held.push("suspected of a deadlock".to_owned());
    }
    let held = match held.is_empty() {
        true => String::new(),
        false => format!("; {}", held.join("; ")),
    };
    let form = match queue.tagged {
        None => "",
        Some(true) => " with a tag",
        Some(false) => " without a tag",
    };
    format!("queue           {}{form}: {waiting}{held}", queue.port)
}
