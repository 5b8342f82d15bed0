//! rT of section V: room that a Receiving Queue keeps free for frames in flight.

use crate::units::{BitRate, Bytes, Duration, LINE_OVERHEAD};

/// Number of consecutive restricting Feedback messages that may get lost before frames can be.
const REPEATS: u64 = 8;

/// Space that a Receiving Queue keeps free for frames in flight when a Feedback is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// Maximum charge of arrivals in the round-trip time, in frames of the length that wastes most of their cells.
    pub round_trip: Bytes,
    /// A restricting Feedback is repeated whenever this much has arrived since: several in a row may be lost, and
    /// there is room for frames that arrive meanwhile.
    pub repeat_after: Bytes,
}

impl Reserve {
    /// For a link of `rate` with round trip time `round_trip`; zero if that is zero.
    pub fn new(rate: BitRate, round_trip: Duration, cell: Bytes, frame_length_max: Bytes) -> Self {
        const SHORTEST: u64 = 60;
        let on_line = rate.bytes_in(round_trip).get();
        let cell = cell.get().max(1);
        // A frame one byte longer than whole cells wastes most.
        let charged = (0..=frame_length_max.get() / cell)
            .map(|cells| (cells * cell + 1).max(SHORTEST))
            .map(|length| {
                let charged = length.div_ceil(cell) * cell;
                (on_line * charged).div_ceil(length + LINE_OVERHEAD.get())
            })
            .max()
            .unwrap_or_default();
        if charged == 0 {
            return Self {
                round_trip: Bytes::ZERO,
                repeat_after: frame_length_max,
            };
        }
        Self {
            round_trip: Bytes::new(charged),
            repeat_after: Bytes::new(charged / (2 * REPEATS))
                .max(frame_length_max.round_up_to(Bytes::new(cell))),
        }
    }

    /// The sum; zero without a round trip time.
    pub fn total(self) -> Bytes {
        if self.round_trip == Bytes::ZERO {
            return Bytes::ZERO;
        }
        self.round_trip + Bytes::new(REPEATS * self.repeat_after.get())
    }
}
