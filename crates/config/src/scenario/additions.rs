//! Additions of a caller to a scenario that no file can have: the caller's transports and flows.

use weir_core::{Bytes, Duration};

use super::Transport;

/// Additions to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Names of the caller's transports, which flows may use like [the others](Transport::NAMED).
    pub transports: Vec<String>,
    /// Transport of every flow, instead of that in the file.
    pub every_flow: Option<Transport>,
    /// Flows after those of the file.
    pub flows: Vec<AddedFlow>,
}

/// A flow with a size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedFlow {
    /// Its name; `None`: `added-` and its number from 1.
    pub name: Option<String>,
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// Bytes of frames to send. Above zero.
    pub size: Bytes,
    /// Time of the first frame, from the beginning of traffic.
    pub start: Duration,
    /// Its class; `None`: the first one.
    pub class: Option<String>,
    /// Its transport; `None`: `open`.
    pub transport: Option<String>,
    /// Length of its frames; `None`: 1500 B.
    pub frame: Option<Bytes>,
}

impl Additions {
    /// The caller's transports, with their names.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&str, Transport)> {
        let names = self.transports.iter().zip(0u16..);
        names.map(|(name, number)| (name.as_str(), Transport::Custom(number)))
    }

    /// The longest frame of the added flows that say so; zero without one.
    pub(crate) fn longest_frame(&self) -> Bytes {
        let frames = self.flows.iter().filter_map(|flow| flow.frame);
        frames.max().unwrap_or(Bytes::ZERO)
    }
}
