//! What became of a frame, in words: the comment of a packet in a capture.

use std::fmt::Write;

use weir_core::wire::clcm::Phase;
use weir_core::wire::echo::Echo;
use weir_core::Quanta;

use crate::control::info::SwitchInfo;
use crate::dataplane::tap::Record;
use crate::model::filter::feedback;
use crate::model::headers::{Headers, Kind};
use crate::model::sight::Verdict;

/// D of each priority whose class has Levels, and 0 for others.
pub fn depths(info: &SwitchInfo) -> [u8; 8] {
    std::array::from_fn(|priority| info.classes[priority].mode.get().depth().get())
}

/// One line about a frame. `depths` as [`depths`] has it.
pub fn comment(record: &Record, depths: &[u8; 8]) -> String {
    let mut text = match record.verdict {
        Verdict::Admitted { .. } => "admitted".to_owned(),
        Verdict::Dropped(reason) => format!("dropped: {}", reason.name()),
        Verdict::Read => format!("read: {}", control(record, depths)),
        Verdict::Sent { .. } if record.priority.is_none() => {
            format!("sent: {}", control(record, depths))
        }
        Verdict::Sent { .. } => "sent".to_owned(),
    };
    let mut add = |part: &str| {
        text.push_str(", ");
        text.push_str(part);
    };
    if let Some(priority) = record.priority {
        add(&format!("priority {priority}"));
    }
    match record.verdict {
        Verdict::Admitted {
            marked,
            pausing,
            held,
        } => {
            for (holds, words) in [
                (marked, "marked CE"),
                (pausing, "past xoff"),
                (held, "egress paused"),
            ] {
                if holds {
                    add(words);
                }
            }
        }
        Verdict::Sent { marked, inside } => {
            if let Some(inside) = inside {
                add(&format!("{:.3} ms inside", inside.as_nanos() as f64 / 1e6));
            }
            if marked {
                add("marked CE");
            }
        }
        Verdict::Dropped(_) | Verdict::Read => {}
    }
    text
}

fn control(record: &Record, depths: &[u8; 8]) -> String {
    let headers = Headers::of(record.bytes());
    match headers.kind {
        Kind::Pause(_) => format!("PAUSE{}", times(&headers, depths)),
        Kind::Pfc(_) => format!("PFC{}", times(&headers, depths)),
        Kind::Clcm(message) => format!(
            "CLCM {}, priority {}, {} hops, SPUID {:08x}",
            match message.phase() {
                Phase::Election => "election",
                Phase::Detection => "detection",
                Phase::Release { .. } => "release",
            },
            message.priority(),
            message.hops().len(),
            message.origin().0
        ),
        Kind::Echo(Echo::Request { id, .. }) => format!("echo request {id}"),
        Kind::Echo(Echo::Reply { id }) => format!("echo reply {id}"),
        Kind::Lldp => "LLDP".to_owned(),
        // A long one is more than the snap length holds.
        Kind::BadControl | Kind::Data => format!("EtherType {:#06x}", headers.ethertype),
    }
}

fn times(headers: &Headers, depths: &[u8; 8]) -> String {
    let mut text = String::new();
    for (priority, time) in headers.pause_times() {
        if let Some(priority) = priority {
            let separator = if text.is_empty() { "" } else { "," };
            // Writing to a string does not fail.
            let _ = write!(text, "{separator} priority {priority}");
        }
        let _ = match feedback(depths, priority, time) {
            Some(feedback) => write!(text, " Feedback {feedback}"),
            None if time == Quanta::ZERO => write!(text, " XON"),
            None => write!(text, " XOFF {} quanta", time.0),
        };
    }
    text
}
