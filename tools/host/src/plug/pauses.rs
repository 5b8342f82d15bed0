//! Paused priorities and the end of each pause. Reads no clock and does no I/O.

use weir_core::wire::mac_control::MacControl;
use weir_core::{BitRate, Quanta};

use crate::settings::PRIORITIES;
use crate::state::Counts;

/// Changes of the queues: one bit for each priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Priorities to stop.
    pub stop: u8,
    /// Priorities to resume.
    pub go: u8,
}

/// A pause in force.
#[derive(Clone, Copy, Debug)]
struct Pause {
    began_ns: u64,
    until_ns: u64,
}

/// The pauses of one device.
#[derive(Debug)]
pub struct Pauses {
    rate: BitRate,
    obeyed: [bool; PRIORITIES],
    obeys_global: bool,
    now: [Option<Pause>; PRIORITIES],
    /// Counts so far.
    pub counts: [Counts; PRIORITIES],
}

impl Pauses {
    /// Creates a state without pauses.
    pub fn new(rate: BitRate, obeyed: [bool; PRIORITIES], obeys_global: bool) -> Self {
        Self {
            rate,
            obeyed,
            obeys_global,
            now: [None; PRIORITIES],
            counts: [Counts::default(); PRIORITIES],
        }
    }

    /// Obeys a frame received at `now_ns`.
    pub fn see(&mut self, frame: &MacControl, now_ns: u64) -> Change {
        // Expired pauses end first, regardless of the frame.
        let mut change = self.expire(now_ns);
        let (times, permitted) = match frame {
            MacControl::Pfc { times } => (*times, true),
            MacControl::Pause { quanta } => ([Some(*quanta); PRIORITIES], self.obeys_global),
        };
        for (priority, time) in times.iter().enumerate() {
            let Some(time) = *time else { continue };
            if !permitted || !self.obeyed[priority] {
                self.counts[priority].ignored += u64::from(time.0 > 0);
                continue;
            }
            let one = self.set(priority, time, now_ns);
            change.stop |= one.stop;
            change.go |= one.go;
        }
        // A priority that expired and was stopped by the same frame stays stopped.
        change.go &= !change.stop;
        change
    }

    fn set(&mut self, priority: usize, time: Quanta, now_ns: u64) -> Change {
        let bit = 1 << priority;
        if time.0 == 0 {
            return match self.end(priority, now_ns) {
                true => {
                    self.counts[priority].resumes += 1;
                    Change { stop: 0, go: bit }
                }
                false => Change::default(),
            };
        }
        let until_ns = now_ns.saturating_add(time.at(self.rate).as_nanos());
        match &mut self.now[priority] {
            Some(pause) => {
                // The last pause counts, even if it ends earlier.
                pause.until_ns = until_ns;
                self.counts[priority].refreshes += 1;
                Change::default()
            }
            none => {
                *none = Some(Pause {
                    began_ns: now_ns,
                    until_ns,
                });
                self.counts[priority].pauses += 1;
                Change { stop: bit, go: 0 }
            }
        }
    }

    fn end(&mut self, priority: usize, now_ns: u64) -> bool {
        let Some(pause) = self.now[priority].take() else {
            return false;
        };
        self.counts[priority].paused_ns += now_ns.saturating_sub(pause.began_ns);
        true
    }

    /// Ends the pauses that have expired at `now_ns`.
    pub fn expire(&mut self, now_ns: u64) -> Change {
        let mut change = Change::default();
        for priority in 0..PRIORITIES {
            if self.now[priority].is_some_and(|pause| pause.until_ns <= now_ns) {
                self.end(priority, now_ns);
                self.counts[priority].expiries += 1;
                change.go |= 1 << priority;
            }
        }
        change
    }

    /// Returns the remaining time of a priority's pause at `now_ns`.
    pub fn left_ns(&self, priority: usize, now_ns: u64) -> Option<u64> {
        let until_ns = self.now.get(priority)?.as_ref()?.until_ns;
        until_ns.checked_sub(now_ns).filter(|left| *left > 0)
    }

    /// Returns the time at which the next pause expires; `None` without a pause.
    pub fn next_ns(&self) -> Option<u64> {
        self.now.iter().flatten().map(|pause| pause.until_ns).min()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// At this rate a quantum is 512 ns.
    const RATE: u64 = 1_000_000_000;

    fn pfc(priority: usize, quanta: u16) -> MacControl {
        let mut times = [None; PRIORITIES];
        times[priority] = Some(Quanta(quanta));
        MacControl::Pfc { times }
    }

    proptest! {
        /// Compares with a model that stores only the list of frames and recomputes the answer for every nanosecond.
        #[test]
        fn paused_is_what_the_last_frame_says(
            steps in prop::collection::vec((0u64..3000, 0usize..9, prop_oneof![Just(0u16), 1u16..6]), 1..60),
            obeyed in prop::array::uniform8(any::<bool>()),
            global in any::<bool>(),
        ) {
            let mut pauses = Pauses::new(BitRate::new(RATE).unwrap(), obeyed, global);
            let (mut stopped, mut now, mut seen) = (0u8, 0, Vec::new());
            let apply = |stopped: &mut u8, change: Change| {
                // Nothing is stopped twice, and nothing is resumed that was not stopped.
                assert_eq!(change.stop & *stopped, 0);
                assert_eq!(change.go & !*stopped, 0);
                *stopped = *stopped & !change.go | change.stop;
            };
            for (later, priority, quanta) in steps {
                // The daemon wakes at each expiry in between.
                while let Some(next) = pauses.next_ns().filter(|next| *next <= now + later) {
                    let change = pauses.expire(next);
                    prop_assert!(change.go != 0);
                    apply(&mut stopped, change);
                }
                now += later;
                let frame = match priority {
                    8 => MacControl::Pause { quanta: Quanta(quanta) },
                    priority => pfc(priority, quanta),
                };
                let change = pauses.see(&frame, now);
                apply(&mut stopped, change);
                seen.push((now, priority, quanta));
                for (one, is_obeyed) in obeyed.iter().enumerate() {
                    let last = seen.iter().rev().find(|(_, to, _)| *to == one || *to == 8 && global);
                    let until = last.map_or(0, |(at, _, quanta)| at + u64::from(*quanta) * 512);
                    let paused = *is_obeyed && until > now;
                    prop_assert_eq!(stopped >> one & 1 == 1, paused, "priority {} at {}", one, now);
                }
            }
            for count in pauses.counts {
                prop_assert!(count.pauses - count.resumes - count.expiries <= 1);
            }
        }
    }

    #[test]
    fn a_refresh_extends_and_an_xon_ends() {
        let mut pauses = Pauses::new(BitRate::new(RATE).unwrap(), [true; 8], true);
        assert_eq!(pauses.see(&pfc(3, 2), 0), Change { stop: 8, go: 0 });
        assert_eq!(pauses.see(&pfc(3, 2), 1000), Change::default());
        assert_eq!(pauses.next_ns(), Some(2024));
        assert_eq!(pauses.expire(2023), Change::default());
        assert_eq!(pauses.see(&pfc(3, 0), 2023), Change { stop: 0, go: 8 });
        assert_eq!((pauses.counts[3].paused_ns, pauses.next_ns()), (2023, None));
    }
}
