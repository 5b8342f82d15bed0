//! Results of a trial.

use serde::{Deserialize, Serialize};
use weir_core::units::PRIORITY_COUNT;

/// Results of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Frames between the device and this program.
    pub link: Link,
    /// Reason for its end.
    pub ended: Ended,
    /// The reflecting neighbour.
    pub neighbour: Option<Neighbour>,
    /// Duration in milliseconds.
    pub took_milliseconds: u64,
    /// Data frames in both directions.
    pub frames: Frames,
    /// PFC frames.
    pub pauses: Pauses,
}

/// Reason for the end of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// All frames were sent, and the neighbour has reported its counts.
    Complete,
    /// The first frame was not answered.
    #[default]
    NoNeighbour,
    /// The neighbour stopped answering.
    Silent,
    /// It exceeded its time limit.
    TimedOut,
    /// It was interrupted.
    Interrupted,
}

/// Frames between the device and the program, as in the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The device.
    pub device: String,
    /// Mode in which the program is attached: `native` or `generic`.
    pub mode: String,
    /// True if the driver shares memory with the sockets.
    pub zero_copy: bool,
    /// Number of sockets, one for each queue.
    pub queues: usize,
    /// Size of a chunk of packet memory in bytes.
    pub chunk_bytes: u64,
    /// Frames that the program dropped because their queue has no socket.
    pub without_socket: u64,
    /// Frames that the program dropped because there was no room for metadata.
    pub without_metadata: u64,
    /// Frames that the kernel dropped at the sockets.
    pub lost_at_socket: u64,
}

/// The reflecting neighbour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Its address.
    pub address: String,
    /// Its device.
    pub device: String,
    /// Bytes of the longest frame that it reflects, without a tag.
    pub longest_bytes: u16,
}

/// Number of frames, and their lengths in bytes as sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Frames.
    pub frames: u64,
    /// Shortest length.
    pub shortest_bytes: u16,
    /// Longest length.
    pub longest_bytes: u16,
}

impl Tally {
    pub(super) fn add(&mut self, length: u16) {
        if self.frames == 0 {
            self.shortest_bytes = length;
        }
        self.frames += 1;
        self.shortest_bytes = self.shortest_bytes.min(length);
        self.longest_bytes = self.longest_bytes.max(length);
    }
}

/// State of the frames that arrived in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Truncated.
    pub cut: Tally,
    /// Longer than sent.
    pub grown: Tally,
    /// With changed bytes.
    pub changed: Tally,
    /// Without their tag.
    pub untagged: Tally,
    /// With another tag, or tagged although sent untagged.
    pub retagged: Tally,
}

/// Data frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// All frames sent.
    pub sent: Tally,
    /// Frames that the neighbour received; `None` if it did not report.
    pub arrived: Option<u64>,
    /// Frames whose reflection arrived.
    pub returned: u64,
    /// Frames without a reflection.
    pub lost: Tally,
    /// Those of them with a VLAN tag.
    pub lost_of_vlan: u64,
    /// Reflections that arrived after one of the same priority that was sent later.
    pub reordered: u64,
    /// Repeated reflections.
    pub repeated: u64,
    /// Frames at the neighbour with the trial's EtherType that could not be parsed.
    pub unreadable_there: u64,
    /// The same, here.
    pub unreadable_here: u64,
    /// On arrival at the neighbour.
    pub there: Way,
    /// On return.
    pub back: Way,
}

/// PFC frames by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// Sent here.
    pub sent_here: [u32; PRIORITY_COUNT],
    /// Received by the neighbour.
    pub came_there: [u32; PRIORITY_COUNT],
    /// Sent by the neighbour.
    pub sent_there: [u32; PRIORITY_COUNT],
    /// Received here.
    pub came_here: [u32; PRIORITY_COUNT],
}
