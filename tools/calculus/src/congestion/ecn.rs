//! Explicit Congestion Notification (III-B d): RED's marking probability, and notifications with a minimum gap.

use crate::algebra::{Curve, CurveError, Scalar};

/// RED's thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct Red<S> {
    /// K_min in kbit: at or below it nothing is marked.
    pub kmin: S,
    /// K_max in kbit: from it on everything is marked.
    pub kmax: S,
    /// P_max: the probability just below K_max.
    pub pmax: S,
}

impl<S: Scalar> Red<S> {
    /// p(x) for a backlog x. The paper prints x ≤ K_max in the third case; K_min is meant.
    pub fn probability(&self, backlog: &S) -> S {
        if *backlog >= self.kmax {
            S::one()
        } else if *backlog > self.kmin {
            self.slope() * &(backlog.clone() - &self.kmin)
        } else {
            S::zero()
        }
    }

    /// Probability per kbit of backlog between the thresholds.
    pub(crate) fn slope(&self) -> S {
        self.pmax.clone() / &(self.kmax.clone() - &self.kmin)
    }
}

/// Sends congestion notifications at least a gap apart; the paper's three cases.
#[derive(Clone, Debug, PartialEq)]
pub struct NotificationGap<S> {
    gap: S,
    /// The last notification sent, or the next one scheduled (the paper's underlined t). `None` is −∞.
    last: Option<S>,
}

impl<S: Scalar> NotificationGap<S> {
    /// Creates a state without notifications, so that the first mark triggers one.
    pub fn new(gap: S) -> Self {
        Self { gap, last: None }
    }

    /// Records a packet marked at `time`. Returns the time of the notification for it, if it triggers one.
    pub fn marked(&mut self, time: &S) -> Option<S> {
        let sent = match &self.last {
            None => time.clone(),
            // A notification is already scheduled.
            Some(last) if time < last => return None,
            Some(last) if time.clone() - last >= self.gap => time.clone(),
            Some(last) => last.clone() + &self.gap,
        };
        self.last = Some(sent.clone());
        Some(sent)
    }

    /// Returns the time of the next packet that needs a notification, while packets keep being marked.
    pub fn due(&self) -> Option<&S> {
        self.last.as_ref()
    }
}

/// Returns the times of notifications in (0, horizon], if packets are marked whenever the backlog is at least K_max.
pub fn notifications<S: Scalar>(
    backlog: &Curve<S>,
    kmax: &S,
    gap: &S,
    horizon: &S,
) -> Result<Vec<S>, CurveError> {
    let mut limiter = NotificationGap::new(gap.clone());
    let mut sent = Vec::new();
    for (begin, end) in stretches_at_least(backlog, kmax, horizon)? {
        let mut time = begin;
        loop {
            sent.extend(limiter.marked(&time));
            // The next mark that counts: just after a notification was sent, or at the scheduled one.
            match limiter.due() {
                Some(due) if *due <= end && time < end => time = time.greater(due.clone()),
                _ => break,
            }
        }
    }
    sent.retain(|time| time <= horizon);
    Ok(sent)
}

/// Returns the closed intervals of [0, horizon] in which the function is at least `level` (it may jump over it between
/// them).
fn stretches_at_least<S: Scalar>(
    function: &Curve<S>,
    level: &S,
    horizon: &S,
) -> Result<Vec<(S, S)>, CurveError> {
    let mut stretches: Vec<(S, S)> = Vec::new();
    for element in function.graph(horizon)? {
        let (from, start) = (element.from(), element.start());
        let (Some(to), Some(end)) = (element.to(), element.end()) else {
            return Err(CurveError::Infinite);
        };
        let crossing = || {
            let part = (level.clone() - start) / &(end.clone() - start);
            from.clone() + part * &(to.clone() - from)
        };
        let stretch = match (*start >= *level, end >= *level) {
            (true, true) => (from.clone(), to.clone()),
            (true, false) => (from.clone(), crossing()),
            (false, true) => (crossing(), to.clone()),
            (false, false) => continue,
        };
        match stretches.last_mut() {
            Some(last) if stretch.0 <= last.1 => last.1 = stretch.1,
            _ => stretches.push(stretch),
        }
    }
    Ok(stretches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Exact;

    fn int(value: i64) -> Exact {
        Exact::from(value)
    }

    #[test]
    fn marking_probability_is_red() {
        let red = Red {
            kmin: int(40),
            kmax: int(1600),
            pmax: Exact::new(1, 100),
        };
        assert_eq!(red.probability(&int(40)), int(0));
        assert_eq!(red.probability(&int(820)), Exact::new(1, 200));
        assert!(red.probability(&int(1599)) < Exact::new(1, 100));
        assert_eq!(red.probability(&int(1600)), int(1));
    }

    #[test]
    fn the_three_cases_of_the_minimum_gap() {
        let mut gap = NotificationGap::new(int(50));
        assert_eq!(gap.marked(&int(7)), Some(int(7)), "the first mark at once");
        assert_eq!(
            gap.marked(&int(20)),
            Some(int(57)),
            "within the gap: after it"
        );
        assert_eq!(gap.marked(&int(30)), None, "one is scheduled");
        assert_eq!(gap.marked(&int(57)), Some(int(107)));
        assert_eq!(gap.marked(&int(200)), Some(int(200)), "long after: at once");
        assert_eq!(
            gap.marked(&int(250)),
            Some(int(250)),
            "exactly the gap: at once"
        );
    }

    #[test]
    fn a_backlog_over_the_threshold_notifies_once_in_a_gap() {
        // Up to 100 at t = 100, down to 0 at 200, up again from 300 on.
        let corners = [(100, 100), (200, 0), (300, 0), (340, 80), (380, 0)];
        let corners: Vec<_> = corners.iter().map(|(t, b)| (int(*t), int(*b))).collect();
        let backlog = Curve::through(&corners, int(0)).unwrap();
        let sent = notifications(&backlog, &int(40), &int(50), &int(1000)).unwrap();
        // Marked in [40, 160] and [320, 360]; the mark just before 160 still sends the one at 190.
        let expected: Vec<_> = [40, 90, 140, 190, 320, 370].map(int).to_vec();
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_short_dip_is_not_overlooked() {
        // Below the threshold in (100, 104) only; the notification after the dip is 50 after the last one before it.
        let corners = [
            (40, 40),
            (90, 60),
            (100, 40),
            (102, 36),
            (104, 40),
            (200, 232),
            (208, 0),
        ];
        let corners: Vec<_> = corners.iter().map(|(t, b)| (int(*t), int(*b))).collect();
        let backlog = Curve::through(&corners, int(0)).unwrap();
        let sent = notifications(&backlog, &int(40), &int(50), &int(1000)).unwrap();
        assert_eq!(sent, [40, 90, 140, 190, 240].map(int));
        let touched = Curve::through(&[(int(9), int(40)), (int(18), int(0))], int(0)).unwrap();
        let sent = notifications(&touched, &int(40), &int(50), &int(1000)).unwrap();
        assert_eq!(sent, [9].map(int), "B = K_max for an instant");
    }
}
