//! Frames missing between two places that both count them: the XDP program and the sockets, or the sockets and the device.
//!
//! Each place keeps counting while the other is read, and a frame may be between the two. A frame is therefore lost only
//! once the second place stays short of an *earlier* count of the first, in several checks in a row.

use std::collections::VecDeque;

use weir_doctor::link::Counts;

use crate::control::shared::Missing;

/// Consecutive checks, a second apart, in which a frame must be missing.
const LOOKS: usize = 3;
/// Checks of a new device that improve the totals from which its frames are counted.
const SETTLING: usize = 8;
/// Number of frames that the device must have counted before its count is trusted.
const TRUSTED_AFTER: u64 = 64;

/// Totals of one port at one check, in the order in which they are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Frames that the program redirected to sockets.
    pub redirected: u64,
    /// Frames that the program dropped or passed to the kernel.
    pub not_redirected: u64,
    /// Frames that sockets received, or refused and counted.
    pub received: u64,
    /// Refused frames among these.
    pub refused: u64,
    /// Frames that left the switch, without those known to be lost.
    pub sent: u64,
    /// The device's counts.
    pub device: Counts,
    /// Read while the device is new.
    pub around: Option<Around>,
}

/// Totals read before and after a check's others. If frames pass between two readings, the later total is too
/// high compared with the earlier one. With these, the opposite total of each pair is the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Around {
    /// Frames that the device had sent before the others were read.
    pub sent_before: u64,
    /// Frames that the program had redirected once the others were read.
    pub redirected_after: u64,
}

/// Counters at two consecutive places of a frame's path.
#[derive(Clone, Debug, Default)]
struct Pair {
    /// Counts at the first place, oldest first.
    before: VecDeque<u64>,
    short: VecDeque<u64>,
    lost: u64,
}

impl Pair {
    /// Records both totals and returns the frames certainly lost.
    fn look(&mut self, before: u64, behind: u64) -> u64 {
        if let Some(earlier) = self.before.front() {
            keep(&mut self.short, earlier.saturating_sub(behind));
        }
        keep(&mut self.before, before);
        if self.short.len() == LOOKS {
            let least = self.short.iter().min().copied().unwrap_or(0);
            self.lost = self.lost.max(least);
        }
        self.lost
    }
}

fn keep(list: &mut VecDeque<u64>, value: u64) {
    if list.len() == LOOKS {
        list.pop_front();
    }
    list.push_back(value);
}

/// The pairs of one port, through successive devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// The device, and its totals when it was first seen or its counts restarted.
    base: Option<(u32, Look)>,
    /// Checks of this device with [`Look::around`], up to [`SETTLING`].
    checks: usize,
    latest: Look,
    receive: Pair,
    transmit: Pair,
    dropped: Pair,
    is_trusted: bool,
    /// Lost before `base` was taken.
    lost_before: Missing,
}

impl Ledger {
    /// Checks the port with the device of this index; `counts_sent` is true if its driver is known
    /// to count frames sent by AF_XDP.
    pub(super) fn look(&mut self, ifindex: u32, counts_sent: bool, now: Look) -> Missing {
        let is_same = self.base.is_some_and(|(index, _)| index == ifindex);
        if !is_same || !self.is_after_latest(&now) {
            self.begin(ifindex, now);
        }
        self.latest = now;
        self.settle(&now);
        let Some((_, base)) = self.base else {
            return self.lost_before;
        };
        let since = |of: fn(&Look) -> u64| of(&now).saturating_sub(of(&base));
        let (sent, counted) = (since(|it| it.sent), since(|it| it.device.sent));
        self.is_trusted |= counts_sent || (sent >= TRUSTED_AFTER && counted >= sent);
        let receive = self
            .receive
            .look(since(|it| it.redirected), since(|it| it.received));
        let transmit = match self.is_trusted {
            true => self.transmit.look(sent, counted),
            false => 0,
        };
        let explained = since(|it| it.refused) + since(|it| it.not_redirected) + receive;
        let dropped = self
            .dropped
            .look(since(|it| it.device.receive_dropped), explained);
        Missing {
            receive: self.lost_before.receive + receive,
            transmit: self.lost_before.transmit + transmit,
            dropped: self.lost_before.dropped + dropped,
        }
    }

    /// Takes the closest of several readings: frames that passed between two of them would be missing for ever.
    fn settle(&mut self, now: &Look) {
        if !self.is_settling() {
            return;
        }
        let (Some((_, base)), Some(around)) = (&mut self.base, now.around) else {
            return;
        };
        self.checks += 1;
        let sent = now.sent.saturating_sub(base.sent);
        let counted = around.sent_before.saturating_sub(sent);
        let received = now.received.saturating_sub(base.received);
        let redirected = around.redirected_after.saturating_sub(received);
        if self.checks == 1 {
            (base.device.sent, base.redirected) = (counted, redirected);
        }
        // A frame lost meanwhile moves neither.
        base.device.sent = base.device.sent.max(counted);
        base.redirected = base.redirected.min(redirected);
    }

    /// True if a check should have [`Look::around`].
    pub(super) fn is_settling(&self) -> bool {
        self.checks < SETTLING
    }

    /// Notes that frames are delayed on purpose: frames missing now are not lost.
    pub(super) fn pass_over(&mut self) {
        for pair in [&mut self.receive, &mut self.transmit, &mut self.dropped] {
            pair.short.clear();
            pair.before.clear();
        }
    }

    /// True if the device is known to count frames sent by AF_XDP, and has been checked often enough to compare them.
    pub(super) fn is_trusted(&self) -> bool {
        self.is_trusted && self.checks > LOOKS
    }

    /// Notes that the port has no device.
    pub(super) fn pause(&mut self) -> Missing {
        self.begin(0, Look::default());
        self.base = None;
        self.lost_before
    }

    fn begin(&mut self, ifindex: u32, now: Look) {
        self.lost_before = Missing {
            receive: self.lost_before.receive + self.receive.lost,
            transmit: self.lost_before.transmit + self.transmit.lost,
            dropped: self.lost_before.dropped + self.dropped.lost,
        };
        self.base = Some((ifindex, now));
        self.checks = 0;
        (self.receive, self.transmit, self.dropped) = Default::default();
        self.is_trusted = false;
    }

    /// Returns false for a driver that was reloaded and counts from zero, such as a veth whose peer was replaced.
    fn is_after_latest(&self, now: &Look) -> bool {
        let device = |look: &Look| [look.device.sent, look.device.receive_dropped];
        let pairs = device(now).into_iter().zip(device(&self.latest));
        pairs.into_iter().all(|(now, latest)| now >= latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(frames: u64) -> Look {
        Look {
            redirected: frames,
            received: frames,
            sent: frames,
            device: Counts {
                sent: frames,
                receive_dropped: 0,
            },
            ..Look::default()
        }
    }

    fn looks(ledger: &mut Ledger, count: u64, look: impl Fn(u64) -> Look) -> Missing {
        let all = (0..count).map(|number| ledger.look(7, false, look(number)));
        all.last().unwrap_or_default()
    }

    #[test]
    fn frames_on_their_way_are_not_missing() {
        let mut ledger = Ledger::default();
        let missing = looks(&mut ledger, 100, |second| Look {
            // The frames of one second are redirected but not yet received, completed but not yet counted.
            redirected: 1_000 * (second + 1),
            sent: 1_000 * (second + 1),
            ..whole(1_000 * second)
        });
        assert_eq!(missing, Missing::default());
    }

    /// A check while `rate` frames pass between any two readings.
    fn busy(frames: u64, rate: u64) -> Look {
        Look {
            redirected: frames,
            received: frames + rate,
            sent: frames + rate,
            device: Counts {
                sent: frames + 2 * rate,
                receive_dropped: 0,
            },
            around: Some(Around {
                sent_before: frames,
                redirected_after: frames + 2 * rate,
            }),
            ..Look::default()
        }
    }

    #[test]
    fn frames_on_their_way_at_the_first_check_are_not_missing_later() {
        let mut ledger = Ledger::default();
        let missing = looks(&mut ledger, 20, |second| match second {
            0..3 => busy(10_000 + 1_000 * second, 40),
            _ => busy(20_000, 0),
        });
        assert_eq!(missing, Missing::default());
        // The checks without traffic have shown the exact difference.
        let missing = looks(&mut ledger, 10, |_| Look {
            redirected: 20_007,
            sent: 20_005,
            ..busy(20_000, 0)
        });
        assert_eq!((missing.receive, missing.transmit), (7, 5));
    }

    #[test]
    fn what_stays_away_is_lost_once_it_has_for_some_seconds() {
        let mut ledger = Ledger::default();
        ledger.look(7, true, whole(0));
        let lost = |second| Look {
            redirected: 150,
            sent: 170,
            ..whole(if second == 0 { 0 } else { 100 })
        };
        let early = (0..LOOKS as u64 + 1).map(|second| ledger.look(7, true, lost(second)));
        assert!(early.into_iter().all(|it| it == Missing::default()));
        let missing = looks(&mut ledger, 3, |_| lost(1));
        assert_eq!((missing.receive, missing.transmit), (50, 70));
        // It is counted once, and the total only grows.
        let missing = looks(&mut ledger, 20, |_| lost(1));
        assert_eq!((missing.receive, missing.transmit), (50, 70));
    }

    #[test]
    fn a_device_that_never_counted_sent_frames_is_ignored() {
        let mut ledger = Ledger::default();
        let missing = looks(&mut ledger, 30, |second| Look {
            sent: 100 * second,
            ..whole(0)
        });
        assert_eq!(missing.transmit, 0);
        // A device that has counted enough frames is trusted.
        let mut ledger = Ledger::default();
        looks(&mut ledger, 5, |second| whole(100 * second));
        let missing = looks(&mut ledger, 10, |_| Look {
            sent: 1_000,
            ..whole(400)
        });
        assert_eq!(missing.transmit, 600);
    }

    #[test]
    fn drops_that_program_or_sockets_account_for_are_theirs() {
        let mut ledger = Ledger::default();
        ledger.look(7, false, Look::default());
        let missing = looks(&mut ledger, 10, |_| Look {
            redirected: 10,
            received: 10,
            refused: 10,
            not_redirected: 5,
            device: Counts {
                sent: 0,
                receive_dropped: 22,
            },
            ..Look::default()
        });
        assert_eq!((missing.receive, missing.dropped), (0, 7));
    }

    #[test]
    fn another_device_begins_again_and_what_was_lost_stays_lost() {
        let mut ledger = Ledger::default();
        let lost = |redirected| Look {
            redirected,
            ..Look::default()
        };
        ledger.look(7, false, lost(0));
        let of_first = looks(&mut ledger, 8, |_| lost(9));
        assert_eq!(of_first.receive, 9);
        assert_eq!(ledger.pause().receive, 9);
        ledger.look(8, false, lost(500));
        let second = (0..8).map(|_| ledger.look(8, false, lost(502))).last();
        assert_eq!(second.map(|it| it.receive), Some(11));
    }

    #[test]
    fn counts_that_fall_begin_again() {
        let mut ledger = Ledger::default();
        looks(&mut ledger, 5, |second| whole(1_000 * second));
        let missing = looks(&mut ledger, 10, |_| Look {
            device: Counts::default(),
            ..whole(4_000)
        });
        assert_eq!(missing, Missing::default());
    }

    #[test]
    fn what_is_held_back_on_purpose_is_not_missing() {
        let mut ledger = Ledger::default();
        ledger.look(7, false, Look::default());
        let held = Look {
            redirected: 40,
            ..Look::default()
        };
        for _ in 0..20 {
            ledger.pass_over();
            assert_eq!(ledger.look(7, false, held), Missing::default());
        }
        assert_eq!(looks(&mut ledger, 10, |_| whole(40)), Missing::default());
    }
}
