//! `POST /v1/trace`: predicts the fate of a frame. The port's XDP program is not run: functions that are tested against it
//! parse the frame. The switch core answers on the dataplane thread and changes nothing.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::State;
use axum::Json;
use weir_api::daemon::trace::{
    Trace, TraceRequest, TracedAdmission, TracedClass, TracedFrame, TracedQueue, FRAME_LENGTH_MAX,
};
use weir_api::words::{FrameKind, PrioritySource, Way};
use weir_core::switch::{Explanation, How, Outlook};
use weir_core::{Bytes, Frame, FrameHandle, PortId, VlanId, VlanTag};
use weir_dataplane::messages::Snapshot;
use weir_dataplane::tables::{Question, Tables};
use weir_ebpf::FrameClass;

use super::routes::find_port;
use crate::api::ApiError;
use crate::control::info::SwitchInfo;
use crate::control::Shared;
use crate::model::classify::{Classification, PriorityBy};
use crate::model::headers::Headers;

const HEADER_LENGTH: usize = 14;

pub(in crate::api) async fn trace(
    State(shared): State<Arc<Shared>>,
    request: Result<Json<TraceRequest>, JsonRejection>,
) -> Result<Json<Trace>, ApiError> {
    let Json(request) = request?;
    let port = find_port(&shared.info, &request.port)?;
    let bytes = bytes_of(&request.frame).map_err(ApiError::bad_request)?;
    let length = length_of(&request, &bytes).map_err(ApiError::bad_request)?;
    let headers = Headers::of(&bytes);
    let trusted = shared.info.ports[port.index()].trusted.get();
    let read = Classification::of(&bytes, &headers, &trusted);
    let mut trace = unanswered(request.port, &headers, &read, length);
    if read.class != FrameClass::Data {
        return Ok(Json(trace));
    }
    let question = Question {
        port,
        frame: Frame {
            handle: FrameHandle(0),
            length: Bytes::new(length),
            priority: read.priority,
            destination: headers.destination,
            source: headers.source,
            flow_hash: read.flow_hash,
        },
        tag: c_tag(&bytes),
    };
    let wanted = Tables {
        question: Some(question),
        ..Tables::NONE
    };
    let snapshot = shared.dataplane.inspect(wanted).await;
    let snapshot = snapshot.ok_or_else(ApiError::silence)?;
    let explanation = snapshot.explanation.ok_or_else(ApiError::silence)?;
    answer(&mut trace, &shared.info, &snapshot, &question, &explanation);
    Ok(Json(trace))
}

fn c_tag(bytes: &[u8]) -> Option<VlanTag> {
    match bytes.get(12..18)? {
        [0x81, 0, high, low, ..] => Some(VlanTag::from_bits(u16::from_be_bytes([*high, *low]))),
        _ => None,
    }
}

fn bytes_of(text: &str) -> Result<Vec<u8>, String> {
    let is_even = text.len().is_multiple_of(2);
    if !is_even || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("`frame` must be an even number of hexadecimal digits".to_owned());
    }
    let count = text.len() / 2;
    if !(HEADER_LENGTH..=FRAME_LENGTH_MAX).contains(&count) {
        return Err(format!(
            "`frame` has {count} bytes; valid: {HEADER_LENGTH} to {FRAME_LENGTH_MAX}"
        ));
    }
    let digits = text.as_bytes().chunks_exact(2);
    let pair = |pair: &[u8]| pair.iter().fold(0, |sum, digit| sum << 4 | value(*digit));
    Ok(digits.map(pair).collect())
}

fn value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'A').wrapping_add(10),
    }
}

fn length_of(request: &TraceRequest, bytes: &[u8]) -> Result<u64, String> {
    let given = bytes.len() as u64;
    match request.length {
        None => Ok(given),
        Some(length) if length >= given => Ok(length),
        Some(length) => Err(format!(
            "`length` is {length}, and `frame` has {given} bytes already"
        )),
    }
}

fn unanswered(port: String, headers: &Headers, read: &Classification, length: u64) -> Trace {
    let (priority_from, code_point) = match read.by {
        PriorityBy::Pcp(pcp) => (PrioritySource::Pcp, Some(pcp)),
        PriorityBy::Dscp(dscp) => (PrioritySource::Dscp, Some(dscp)),
        PriorityBy::Port => (PrioritySource::Port, None),
    };
    let kind = match read.class {
        FrameClass::Data => FrameKind::Data,
        FrameClass::MacControl => FrameKind::Pause,
        FrameClass::Clcm => FrameKind::Message,
        FrameClass::Lldp => FrameKind::Lldp,
    };
    Trace {
        port,
        frame: TracedFrame {
            kind: kind.into(),
            destination: headers.destination.to_string(),
            source: headers.source.to_string(),
            vlan: headers.vlan,
            length_bytes: length,
            flow_hash: format!("{:08x}", read.flow_hash),
            priority: read.priority.get(),
            priority_from: priority_from.into(),
            code_point,
        },
        class: None,
        way: None,
        bucket: None,
        admission: None,
        queues: Vec::new(),
        vlan: None,
        dropped: None,
    }
}

fn answer(
    trace: &mut Trace,
    info: &SwitchInfo,
    snapshot: &Snapshot,
    question: &Question,
    explanation: &Explanation,
) {
    let priority = question.frame.priority;
    let class = &info.classes[priority.index()];
    trace.class = Some(TracedClass {
        name: class.name.clone(),
        mode: class.mode.get().kind().into(),
    });
    trace.vlan = explanation.vlan.map(VlanId::get);
    trace.way = explanation.how.map(|how| way(how).into());
    trace.bucket = match explanation.how {
        Some(How::Bucket(bucket)) => Some(bucket),
        _ => None,
    };
    let gauges = |port: PortId| {
        let port = snapshot.ports.get(port.index());
        port.map(|port| port.gauges[priority.index()])
    };
    let level = explanation.outcome.ok().and_then(|outlook| outlook.level);
    match explanation.outcome {
        Err(reason) => trace.dropped = Some(reason.into()),
        Ok(Outlook {
            charged,
            occupancy,
            pauses,
            level,
        }) => {
            trace.admission = Some(TracedAdmission {
                charged_bytes: charged.get(),
                ingress_bytes: occupancy.get(),
                xoff_bytes: gauges(question.port).map_or(0, |gauges| gauges.xoff.get()),
                pauses,
                level: level.map(|level| level.get()),
            });
        }
    }
    let queue = |port: PortId| {
        let gauges = gauges(port)?;
        let feedback = gauges.levels.map(|levels| levels.feedback_received);
        let held = feedback.is_some_and(|feedback| level.unwrap_or_default() < feedback);
        Some(TracedQueue {
            port: info.port_name(port),
            waiting_frames: gauges.egress_frames,
            waiting_bytes: gauges.egress.get(),
            paused: gauges.paused,
            feedback: feedback.map(|feedback| feedback.get()),
            suspected: gauges.suspected,
            tagged: explanation.vlan.map(|_| explanation.tagged.contains(port)),
            may_leave: !gauges.paused && !held,
        })
    };
    trace.queues = explanation.egresses.iter().filter_map(queue).collect();
}

fn way(how: How) -> Way {
    match how {
        How::Route => Way::Route,
        How::Bucket(_) => Way::Bucket,
        How::Pin => Way::Pin,
        How::Learnt => Way::Learnt,
        How::Flood => Way::Flood,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_become_bytes_or_are_refused() {
        let frame = "0180C2000001".to_owned() + &"0a".repeat(8);
        let bytes = bytes_of(&frame).unwrap();
        assert_eq!(bytes[..6], [1, 0x80, 0xc2, 0, 0, 1]);
        assert_eq!(bytes[6..], [10; 8]);
        for bad in [
            "",
            "0",
            "0g",
            &"0".repeat(27),
            &"0".repeat(26),
            "é0".repeat(20).as_str(),
        ] {
            assert!(bytes_of(bad).is_err(), "{bad}");
        }
        let long = "00".repeat(FRAME_LENGTH_MAX + 1);
        assert!(bytes_of(&long).unwrap_err().contains("16384"));
    }
}
