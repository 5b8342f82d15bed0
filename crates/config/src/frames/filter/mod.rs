//! Filters of captures: an expression like those of pcap-filter(7), compiled to a bounded list of tests.
//!
//! Every test names the next one for each outcome, which comes later in the list. A frame is therefore tested at most
//! once by each, and evaluation can neither loop nor fail.

mod parse;

use std::net::IpAddr;

use weir_core::{DropReason, MacAddress, Priority, Quanta};

use super::headers::{Headers, Kind};
use crate::frames::sight::{Direction, Sight, Verdict};

pub use parse::{parse, FilterError};

/// Maximum number of tests of an expression.
pub const TESTS_MAX: usize = 64;

/// Error text for an impairment whose filter [asks about the switch's decision](Filter::asks_what_became).
pub const TOO_EARLY: &str = "frames are impaired before the switch has decided their fate; leave out admitted, sent, dropped, marked, held, pausing, read and out";

/// Either end, or one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Either,
    Source,
    Destination,
}

impl End {
    fn any<T>(self, source: T, destination: T, holds: impl Fn(T) -> bool) -> bool {
        match self {
            Self::Either => holds(source) || holds(destination),
            Self::Source => holds(source),
            Self::Destination => holds(destination),
        }
    }
}

/// One test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Direction(Direction),
    Data,
    Control,
    Pause,
    Pfc,
    Clcm,
    Echo,
    Lldp,
    Xoff,
    Xon,
    /// D of each priority with Levels, otherwise 0.
    Feedback([u8; 8]),
    Priority(Priority),
    Admitted,
    Sent,
    Dropped(Option<DropReason>),
    Marked,
    Held,
    Pausing,
    Vlan(Option<u16>),
    EtherType(u16),
    EtherHost(End, MacAddress),
    Broadcast,
    Multicast,
    Net(End, IpAddr, u8),
    Port(End, u16),
    Protocol(u8),
    Ecn(u8),
    Dscp(u8),
    LengthAtMost(usize),
    LengthAtLeast(usize),
}

/// Continuation after a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Test(u8),
    Accept,
    Reject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    question: Question,
    then: Next,
    otherwise: Next,
}

/// A compiled expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Empty: every frame matches.
    tests: Vec<Test>,
}

impl Filter {
    /// Returns true if the frame matches. O(tests).
    pub fn matches(&self, sight: &Sight<'_>, headers: &Headers) -> bool {
        let mut at = 0;
        while let Some(test) = self.tests.get(at) {
            let next = if test.question.holds(sight, headers) {
                test.then
            } else {
                test.otherwise
            };
            match next {
                Next::Accept => return true,
                Next::Reject => return false,
                Next::Test(later) => at = usize::from(later).max(at + 1),
            }
        }
        true
    }
}

impl Filter {
    /// Returns true if a test needs the fate of a frame, or its departure.
    pub fn asks_what_became(&self) -> bool {
        self.tests.iter().any(|test| {
            matches!(
                test.question,
                Question::Admitted
                    | Question::Sent
                    | Question::Dropped(_)
                    | Question::Marked
                    | Question::Held
                    | Question::Pausing
                    | Question::Direction(Direction::Out)
            )
        })
    }
}

impl Question {
    fn holds(&self, sight: &Sight<'_>, headers: &Headers) -> bool {
        let kind = &headers.kind;
        match *self {
            Self::Direction(direction) => sight.direction == direction,
            Self::Data => matches!(kind, Kind::Data),
            Self::Control => !matches!(kind, Kind::Data),
            Self::Pause => matches!(kind, Kind::Pause(_)),
            Self::Pfc => matches!(kind, Kind::Pfc(_)),
            Self::Clcm => matches!(kind, Kind::Clcm(_)),
            Self::Echo => matches!(kind, Kind::Echo(_)),
            Self::Lldp => matches!(kind, Kind::Lldp),
            Self::Xoff => headers.pause_times().any(|(_, time)| time != Quanta::ZERO),
            Self::Xon => headers.pause_times().any(|(_, time)| time == Quanta::ZERO),
            Self::Feedback(depths) => headers
                .pause_times()
                .any(|(priority, time)| feedback(&depths, priority, time).is_some()),
            Self::Priority(priority) => sight.priority == Some(priority) || headers.names(priority),
            Self::Admitted => matches!(sight.verdict, Verdict::Admitted { .. }),
            Self::Sent => matches!(sight.verdict, Verdict::Sent { .. }),
            Self::Dropped(wanted) => match sight.verdict {
                Verdict::Dropped(reason) => wanted.is_none_or(|wanted| wanted == reason),
                _ => false,
            },
            Self::Marked => matches!(
                sight.verdict,
                Verdict::Admitted { marked: true, .. } | Verdict::Sent { marked: true, .. }
            ),
            Self::Held => matches!(sight.verdict, Verdict::Admitted { held: true, .. }),
            Self::Pausing => matches!(sight.verdict, Verdict::Admitted { pausing: true, .. }),
            Self::Vlan(wanted) => headers
                .vlan
                .is_some_and(|vlan| wanted.is_none_or(|wanted| wanted == vlan)),
            Self::EtherType(wanted) => headers.ethertype == wanted,
            Self::EtherHost(end, wanted) => {
                end.any(headers.source, headers.destination, |address| {
                    address == wanted
                })
            }
            Self::Broadcast => headers.destination == MacAddress::BROADCAST,
            Self::Multicast => headers.destination.is_group(),
            Self::Net(end, network, prefix) => headers.ip.is_some_and(|ip| {
                end.any(ip.source, ip.destination, |address| {
                    is_within(address, network, prefix)
                })
            }),
            Self::Port(end, wanted) => {
                headers
                    .ip
                    .and_then(|ip| ip.ports)
                    .is_some_and(|(source, destination)| {
                        end.any(source, destination, |port| port == wanted)
                    })
            }
            Self::Protocol(wanted) => headers.ip.is_some_and(|ip| ip.protocol == wanted),
            Self::Ecn(wanted) => headers.ip.is_some_and(|ip| ip.ecn == wanted),
            Self::Dscp(wanted) => headers.ip.is_some_and(|ip| ip.dscp == wanted),
            Self::LengthAtMost(length) => sight.bytes.len() <= length,
            Self::LengthAtLeast(length) => sight.bytes.len() >= length,
        }
    }
}

/// The Transmit Feedback (protocol P) that a pause time encodes at a switch with these D, if any. A PAUSE applies to
/// all classes: the deepest counts.
pub fn feedback(depths: &[u8; 8], priority: Option<Priority>, time: Quanta) -> Option<u16> {
    let depth = match priority {
        Some(priority) => depths[priority.index()],
        None => depths.iter().copied().max().unwrap_or(0),
    };
    let feedback = time.0.checked_sub(1)?;
    (depth > 0 && feedback <= u16::from(depth)).then_some(feedback)
}

fn is_within(address: IpAddr, network: IpAddr, prefix: u8) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let shift = 32u32.saturating_sub(u32::from(prefix));
            let difference = address.to_bits() ^ network.to_bits();
            difference.checked_shr(shift).unwrap_or(0) == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let shift = 128u32.saturating_sub(u32::from(prefix));
            let difference = address.to_bits() ^ network.to_bits();
            difference.checked_shr(shift).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
