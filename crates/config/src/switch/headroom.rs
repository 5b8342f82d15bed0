//! Bytes that arrive after XOFF: the closed form of the headroom.

use weir_core::units::LINE_OVERHEAD;
use weir_core::{BitRate, Bytes, Duration};

/// A PFC frame on the line: 60 bytes and [`LINE_OVERHEAD`].
const PFC_FRAME_ON_LINE: Bytes = Bytes::new(60 + LINE_OVERHEAD.get());
/// The shortest frame, without its FCS.
const SHORTEST: u64 = 60;

/// Time that XOFF takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Computed from its parts.
    Parts {
        /// Propagation delay of the link, one way.
        delay: Duration,
        /// From the arrival of a pause until the neighbour starts its last frame.
        reaction: Duration,
    },
    /// T: from XOFF until the last frame sent without it has arrived.
    RoundTrip(Duration),
}

/// A link into an ingress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// In each direction.
    pub rate: BitRate,
    /// Time that XOFF takes.
    pub feedback: Feedback,
    /// Bytes that the neighbour was measured to send after that, in addition to its frame on the line: frames already
    /// queued in its driver.
    pub overshoot: Bytes,
}

/// Rounding of charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charging {
    /// Above zero.
    pub cell: Bytes,
    /// Longest frame that the switch accepts.
    pub frame_length_max: Bytes,
}

impl Charging {
    /// γ: the charge of a frame.
    pub fn charged(self, frame: Bytes) -> Bytes {
        frame.round_up_to(self.cell)
    }

    /// Charge for each byte on the line.
    pub fn factor(self, frame: Bytes) -> f64 {
        self.charged(frame).get() as f64 / (frame + LINE_OVERHEAD).get() as f64
    }

    /// Candidates for the most wasteful frame length: one byte more than whole cells, the shortest and the longest.
    pub fn worst_frames(self) -> Vec<Bytes> {
        let cell = self.cell.get().max(1);
        let longest = self.frame_length_max.get();
        (0..=longest / cell)
            .map(|cells| (cells * cell + 1).max(SHORTEST))
            .chain([longest])
            .filter(|length| *length <= longest)
            .map(Bytes::new)
            .collect()
    }
}

impl Link {
    /// Bytes on the line from the moment when a frame of length `frame` fills the buffer to xoff until the last frame
    /// sent without the pause has arrived. Computed from parts it is the content of the line in
    ///
    /// 2·delay + reaction, plus our own frame that the PFC frame waits for, the PFC frame, and the frame that the
    /// neighbour has just begun.
    pub fn on_line_after_xoff(self, charging: Charging, frame: Bytes) -> Bytes {
        let in_time = match self.feedback {
            Feedback::RoundTrip(span) => self.rate.bytes_in(span),
            Feedback::Parts { delay, reaction } => {
                self.rate.bytes_in(delay + delay + reaction)
                    + charging.frame_length_max
                    + LINE_OVERHEAD
                    + PFC_FRAME_ON_LINE
                    + frame
                    + LINE_OVERHEAD
            }
        };
        in_time + self.overshoot
    }

    /// The typical time from XOFF to its effect: none of our frames delays the PFC frame, and the neighbour finishes a
    /// frame.
    pub fn feedback_delay(self, frame: Bytes) -> Duration {
        match self.feedback {
            Feedback::RoundTrip(span) => span,
            Feedback::Parts { delay, reaction } => {
                delay
                    + delay
                    + reaction
                    + self
                        .rate
                        .time_for(PFC_FRAME_ON_LINE + frame + LINE_OVERHEAD)
            }
        }
    }

    /// The headroom that frames of `lengths` need above `xoff`: for the worst length, the whole frames among
    /// [`on_line_after_xoff`](Self::on_line_after_xoff), charged in cells, and the part of the frame that reached xoff
    /// above it. Zero without lengths.
    pub fn headroom_needed(self, charging: Charging, xoff: Bytes, lengths: &[Bytes]) -> Bytes {
        let cell = charging.cell.get().max(1);
        // Maximum occupancy without XOFF, in whole cells.
        let below = xoff.get().saturating_sub(1) / cell * cell;
        let of_length = |length: &Bytes| {
            let charged = charging.charged(*length).get();
            let on_line = self.on_line_after_xoff(charging, *length).get();
            let frames = on_line / (*length + LINE_OVERHEAD).get();
            Bytes::new((below + charged).saturating_sub(xoff.get()) + frames * charged)
        };
        lengths.iter().map(of_length).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHARGING: Charging = Charging {
        cell: Bytes::new(256),
        frame_length_max: Bytes::new(1522),
    };

    fn link(delay: u64, reaction: u64) -> Link {
        Link {
            rate: BitRate::from_mbit(100_000),
            feedback: Feedback::Parts {
                delay: Duration::from_nanos(delay),
                reaction: Duration::from_nanos(reaction),
            },
            overshoot: Bytes::ZERO,
        }
    }

    #[test]
    fn without_delay_it_is_the_frames_already_on_the_way() {
        // 1546 + 84 + 1524 bytes on the line are two whole frames of 1500, after one that reached xoff exactly.
        let xoff = Bytes::new(10 * 256);
        let needed = link(0, 0).headroom_needed(CHARGING, xoff, &[Bytes::new(1500)]);
        assert_eq!(needed, Bytes::new((1536 - 256) + 2 * 1536));
    }

    #[test]
    fn it_grows_with_two_delays_and_the_reaction_times_the_rate() {
        // With cells of one byte, a frame's charge is its length; the line carries 12.5 bytes per nanosecond.
        let charging = Charging {
            cell: Bytes::new(1),
            ..CHARGING
        };
        let frame = Bytes::new(1000);
        let of = |delay, reaction| {
            link(delay, reaction)
                .on_line_after_xoff(charging, frame)
                .get()
        };
        assert_eq!(of(1_000, 0) - of(0, 0), 25_000);
        assert_eq!(of(1_000, 800) - of(1_000, 0), 10_000);
        assert_eq!(of(0, 0), 1546 + 84 + 1024);
    }

    #[test]
    fn a_round_trip_time_replaces_the_cable() {
        let link = Link {
            rate: BitRate::from_mbit(1_000),
            feedback: Feedback::RoundTrip(Duration::from_micros(100)),
            overshoot: Bytes::ZERO,
        };
        // 12,500 bytes: 8 frames of 1524, and one cell short of a frame above xoff.
        let needed = link.headroom_needed(CHARGING, Bytes::new(2560), &[Bytes::new(1500)]);
        assert_eq!(needed, Bytes::new(8 * 1536 + 1280));
        assert_eq!(
            link.feedback_delay(Bytes::new(60)),
            Duration::from_micros(100)
        );
    }

    #[test]
    fn measured_overshoot_is_added() {
        let frame = [Bytes::new(1500)];
        let xoff = Bytes::new(2560);
        let mut link = link(1_000, 0);
        let without = link.headroom_needed(CHARGING, xoff, &frame);
        // A hundred frames already queued in the neighbour's driver.
        link.overshoot = Bytes::new(100 * 1524);
        let with = link.headroom_needed(CHARGING, xoff, &frame);
        assert_eq!(with - without, Bytes::new(100 * 1536));
    }

    #[test]
    fn the_worst_frames_need_at_least_what_any_length_needs() {
        let link = link(1_000, 0);
        let xoff = Bytes::new(10_000);
        let worst = link.headroom_needed(CHARGING, xoff, &CHARGING.worst_frames());
        for length in 60..=1522 {
            let needed = link.headroom_needed(CHARGING, xoff, &[Bytes::new(length)]);
            assert!(needed <= worst, "{length}: {needed} above {worst}");
        }
        assert_eq!(link.headroom_needed(CHARGING, xoff, &[]), Bytes::ZERO);
    }
}
