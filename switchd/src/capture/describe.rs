//! Description of a frame's fate: the comment of a packet in a capture.

use std::fmt::Write;

use weir_core::wire::clcm::Phase;
use weir_core::wire::echo::Echo;
use weir_core::wire::lldp::credits::Credits;
use weir_core::wire::lldp::{Content, Lldp};
use weir_core::Quanta;
use weir_dataplane::tap::Record;
use weir_ebpf::HardwareTime;

use crate::control::info::SwitchInfo;
use crate::model::filter::feedback;
use crate::model::headers::{Headers, Kind};
use crate::model::sight::Verdict;

/// Returns D of each priority whose class has Levels, and 0 for others.
pub fn depths(info: &SwitchInfo) -> [u8; 8] {
    std::array::from_fn(|priority| info.classes[priority].mode.get().depth().get())
}

/// Returns one line about a frame. `depths` comes from [`depths`]; `at` is the frame's time on the wall clock, in
/// nanoseconds since 1970.
pub fn comment(record: &Record, depths: &[u8; 8], at: u64) -> String {
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
    if let Some(low) = record.hardware_nanos {
        let nanos = nearest(low, at);
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        add(&format!("hardware time {seconds}.{rest:09}"));
    }
    text
}

/// Returns the time nearest to `at` with these lowest bits. Correct for device clocks less than 39 hours from the wall
/// clock.
fn nearest(low: u64, at: u64) -> u64 {
    const SPAN: u64 = 1 << HardwareTime::BITS;
    let ahead = low.wrapping_sub(at) % SPAN;
    if ahead < SPAN / 2 {
        return at.saturating_add(ahead);
    }
    // No time is before 1970: take the next one.
    at.checked_sub(SPAN - ahead)
        .unwrap_or(at.saturating_add(ahead))
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
        Kind::Lldp => lldp(record.bytes()),
        // A control frame may exceed the snap length.
        Kind::BadControl | Kind::Data => format!("EtherType {:#06x}", headers.ethertype),
    }
}

/// Returns what a Weir switch announces about credits, if anything.
fn lldp(bytes: &[u8]) -> String {
    let announcement = match Lldp::parse(bytes).map(|received| received.lldp.content) {
        Ok(Content::Announcement(announcement)) => announcement,
        Ok(Content::Shutdown) => return "LLDP shutdown".to_owned(),
        // The frame may exceed the snap length.
        Err(_) => return "LLDP".to_owned(),
    };
    match announcement.credits {
        None => "LLDP".to_owned(),
        Some(Credits::Unknown(version)) => format!("LLDP, credits of version {}", version.get()),
        Some(Credits::V1(credits)) => format!("LLDP, credits in priorities {}", credits.given()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A device's timestamp is restored whether its clock is ahead of the wall clock or behind.
        #[test]
        fn a_time_near_the_wall_clock_is_whole(at in 1u64 << 50..1 << 62, offset in -(1i64 << 46)..1 << 46) {
            let said = at.checked_add_signed(offset).unwrap();
            let low = said % (1 << HardwareTime::BITS);
            prop_assert_eq!(nearest(low, at), said);
        }

        #[test]
        fn any_time_keeps_its_lowest_bits(low in 0u64..1 << 48, at: u64) {
            prop_assume!(at < 1 << 63);
            prop_assert_eq!(nearest(low, at) % (1 << HardwareTime::BITS), low);
        }
    }
}
