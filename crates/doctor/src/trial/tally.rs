//! Results.

use serde::{Deserialize, Serialize};
use weir_core::units::PRIORITY_COUNT;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Frames between the device and this program.
    pub link: Link,
    /// Why it is over.
    pub ended: Ended,
    /// The reflecting neighbour.
    pub neighbour: Option<Neighbour>,
    /// Duration in milliseconds.
    pub took_milliseconds: u64,
    /// Data frames there and back.
    pub frames: Frames,
    /// PFC frames.
    pub pauses: Pauses,
}

/// Why it is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// All frames were sent, and the neighbour has reported its counts.
    Complete,
    /// The first frame was not answered.
    #[default]
    NoNeighbour,
    /// The neighbour answered no more.
    Silent,
    /// It took longer than it may.
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
    /// The driver shares memory with the sockets.
    pub zero_copy: bool,
    /// Sockets, one for each queue.
    pub queues: usize,
    /// Bytes of a chunk of packet memory.
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

/// Number of frames, and their lengths in bytes as they were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Frames.
    pub frames: u64,
    /// The shortest of them.
    pub shortest_bytes: u16,
    /// The longest of them.
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

/// Fate of the frames that arrived in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Their end was missing.
    pub cut: Tally,
    /// There was more than had been sent.
    pub grown: Tally,
    /// Other bytes than had been sent.
    pub changed: Tally,
    /// Sent with a tag, they came without.
    pub untagged: Tally,
    /// They came with another tag than they were sent with, or with one though sent without.
    pub retagged: Tally,
}

/// Data frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// All that were sent.
    pub sent: Tally,
    /// Those that the neighbour had; `None` where it did not say.
    pub arrived: Option<u64>,
    /// Those whose reflection came.
    pub returned: u64,
    /// The others.
    pub lost: Tally,
    /// Those of them with a VLAN's tag.
    pub lost_of_vlan: u64,
    /// Reflections that came after one of the same priority that was sent later.
    pub reordered: u64,
    /// Reflections that had come before.
    pub repeated: u64,
    /// Frames at the neighbour that bore the trial's EtherType and could not be read.
    pub unreadable_there: u64,
    /// Unreadable frames here.
    pub unreadable_here: u64,
    /// Arrival at the neighbour.
    pub there: Way,
    /// Return of the reflections.
    pub back: Way,
}

/// PFC frames by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// Sent here.
    pub sent_here: [u32; PRIORITY_COUNT],
    /// Come to the neighbour.
    pub came_there: [u32; PRIORITY_COUNT],
    /// Sent by the neighbour.
    pub sent_there: [u32; PRIORITY_COUNT],
    /// Come here.
    pub came_here: [u32; PRIORITY_COUNT],
}
