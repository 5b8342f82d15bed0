//! DCTCP's estimate of the marked share of a window (RFC 8257, section 3.3).

use weir_config::scenario::DctcpConfig;

#[derive(Clone, Debug)]
pub(super) struct Dctcp {
    config: DctcpConfig,
    /// DCTCP.Alpha.
    alpha: f64,
    /// DCTCP.WindowEnd: α is updated when this frame is acknowledged.
    window_end: u32,
    /// DCTCP.BytesAcked and DCTCP.BytesMarked, in frames.
    acknowledged: u32,
    marked: u32,
    /// Frames sent before the last cut of the window: only marks of later frames cut it again.
    cut_before: u32,
}

impl Dctcp {
    pub(super) fn new(config: DctcpConfig) -> Self {
        Self {
            config,
            alpha: config.initial_alpha.as_f64(),
            window_end: 0,
            acknowledged: 0,
            marked: 0,
            cut_before: 0,
        }
    }

    pub(super) const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Handles an acknowledgement: every frame before `before` has arrived, and `next` is sent
    /// next. Returns the factor of the window, if it is to be cut.
    pub(super) fn acknowledge(&mut self, is_marked: bool, before: u32, next: u32) -> Option<f64> {
        self.acknowledged += 1;
        self.marked += u32::from(is_marked);
        if before > self.window_end {
            let share = f64::from(self.marked) / f64::from(self.acknowledged);
            let g = self.config.g.as_f64();
            self.alpha = self.alpha * (1.0 - g) + g * share;
            self.window_end = next;
            self.acknowledged = 0;
            self.marked = 0;
        }
        if !is_marked || before <= self.cut_before {
            return None;
        }
        self.cut_before = next;
        Some(1.0 - self.alpha / 2.0)
    }

    /// Records losses that have cut the window: marks of frames sent before `next` no longer count.
    pub(super) fn lost(&mut self, next: u32) {
        self.cut_before = next;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_config::Fraction;

    use super::*;

    /// α after windows of ten frames, of which some are marked: section 3.3 by hand.
    #[test]
    fn alpha_follows_the_share_of_marks() {
        let config = DctcpConfig {
            g: Fraction::from_parts(62_500_000).unwrap(),
            initial_alpha: Fraction::ONE,
        };
        let mut dctcp = Dctcp::new(config);
        let mut expected = 1.0;
        // The first acknowledgement ends the window before the flow. Ten frames are in flight; the last acknowledgement of a
        // window is the first one beyond its end.
        assert_eq!(dctcp.acknowledge(false, 1, 10), None);
        expected *= 15.0 / 16.0;
        let mut end = 10;
        for marked in [0, 10, 5, 1, 0] {
            let mut cuts = 0;
            for frame in 0..10 {
                let before = end - 8 + frame;
                let left = dctcp.acknowledge(frame < marked, before, before + 9);
                cuts += u32::from(left.is_some());
            }
            end += 10;
            expected = expected * 15.0 / 16.0 + f64::from(marked) / 10.0 / 16.0;
            assert!((dctcp.alpha() - expected).abs() < 1e-12, "{marked}");
            assert_eq!(cuts, u32::from(marked > 0), "once in each window");
        }
    }

    proptest! {
        #[test]
        fn alpha_and_what_is_left_stay_in_their_bounds(marks in prop::collection::vec(any::<bool>(), 1..500)) {
            let mut dctcp = Dctcp::new(DctcpConfig::default());
            for (index, is_marked) in marks.into_iter().enumerate() {
                let before = index as u32 + 1;
                if let Some(left) = dctcp.acknowledge(is_marked, before, before + 8) {
                    prop_assert!((0.5..=1.0).contains(&left));
                }
                prop_assert!((0.0..=1.0).contains(&dctcp.alpha()));
            }
        }
    }
}
