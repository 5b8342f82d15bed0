//! Approximates a cumulative function of many small steps by few straight lines.

use anyhow::{bail, Result};

/// Maximum number of straight lines of one function.
const POINTS_MAX: usize = 200_000;

/// Accepts points in order of time and keeps enough that straight lines between them deviate from omitted points by at most
/// a tolerance. Memory is proportional to the kept points; O(1) per point.
#[derive(Debug)]
pub struct Thinned {
    tolerance: f64,
    kept: Vec<(f64, f64)>,
    /// Present end of the straight line from the last kept point.
    last: (f64, f64),
    /// The last point; more may follow at the same time.
    pending: (f64, f64),
    /// Range of slopes close enough to all points between.
    slopes: (f64, f64),
}

impl Thinned {
    /// Starts at (0, 0).
    pub fn new(tolerance: f64) -> Self {
        Self {
            tolerance,
            kept: vec![(0.0, 0.0)],
            last: (0.0, 0.0),
            pending: (0.0, 0.0),
            slopes: (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// Adds the total at a time that is not before the last one.
    ///
    /// # Errors
    ///
    /// When too many straight lines are needed.
    pub fn push(&mut self, time: f64, value: f64) -> Result<()> {
        if time > self.pending.0 {
            self.draw()?;
            self.pending.0 = time;
        }
        self.pending.1 = value;
        Ok(())
    }

    /// Returns the kept points in order of time, beginning with (0, 0).
    pub fn finish(mut self) -> Result<Vec<(f64, f64)>> {
        self.draw()?;
        if self.last.0 > self.anchor().0 {
            self.keep()?;
        }
        Ok(self.kept)
    }

    fn anchor(&self) -> (f64, f64) {
        self.kept[self.kept.len() - 1]
    }

    /// Continues the line to the pending point, or begins another one.
    fn draw(&mut self) -> Result<()> {
        let (time, value) = self.pending;
        if time <= self.last.0 {
            return Ok(());
        }
        let anchor = self.anchor();
        if self.last.0 > anchor.0 {
            self.narrow(anchor);
        }
        let slope = (value - anchor.1) / (time - anchor.0);
        if slope < self.slopes.0 || slope > self.slopes.1 {
            self.keep()?;
        }
        self.last = self.pending;
        Ok(())
    }

    fn narrow(&mut self, anchor: (f64, f64)) {
        let (span, rise) = (self.last.0 - anchor.0, self.last.1 - anchor.1);
        let least = (rise - self.tolerance) / span;
        let most = (rise + self.tolerance) / span;
        self.slopes = (self.slopes.0.max(least), self.slopes.1.min(most));
    }

    fn keep(&mut self) -> Result<()> {
        if self.kept.len() == POINTS_MAX {
            bail!("arrivals are too irregular: more than {POINTS_MAX} straight lines. Take a shorter recording");
        }
        self.kept.push(self.last);
        self.slopes = (f64::NEG_INFINITY, f64::INFINITY);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(points: &[(f64, f64)], time: f64) -> f64 {
        let next = points.partition_point(|point| point.0 < time).max(1);
        let (from, to) = (points[next - 1], points[next.min(points.len() - 1)]);
        if to.0 <= from.0 {
            return to.1;
        }
        from.1 + (to.1 - from.1) * (time - from.0) / (to.0 - from.0)
    }

    #[test]
    fn a_steady_stream_is_one_line_and_a_silence_another() {
        let mut thinned = Thinned::new(0.5);
        let frames = (1..=1000).chain(5001..=6000).map(f64::from);
        for (index, time) in frames.enumerate() {
            thinned.push(time, (index + 1) as f64).unwrap();
        }
        let points = thinned.finish().unwrap();
        assert!(points.len() <= 6, "{points:?}");
        assert_eq!(points.last(), Some(&(6000.0, 2000.0)));
    }

    #[test]
    fn no_point_is_further_than_the_tolerance() {
        let mut state = 1u64;
        let (mut time, mut value) = (0.0, 0.0);
        let mut all = Vec::new();
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let step = (state >> 33) % 40;
            time += if step < 2 {
                300.0
            } else {
                1.0 + step as f64 / 40.0
            };
            value += 1.0 + (state >> 60) as f64 / 16.0;
            all.push((time, value));
        }
        let mut thinned = Thinned::new(6.0);
        for (time, value) in &all {
            thinned.push(*time, *value).unwrap();
        }
        let points = thinned.finish().unwrap();
        assert!(points.len() < all.len() / 4, "{}", points.len());
        for (time, value) in &all {
            let drawn = at(&points, *time);
            assert!(
                (drawn - value).abs() <= 6.0 + 1e-6,
                "{time}: {drawn} for {value}"
            );
        }
        assert!(points.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }

    #[test]
    fn frames_of_one_moment_count_together() {
        let mut thinned = Thinned::new(0.0);
        for (time, value) in [(1.0, 1.0), (1.0, 2.0), (1.0, 3.0), (2.0, 4.0)] {
            thinned.push(time, value).unwrap();
        }
        assert_eq!(
            thinned.finish().unwrap(),
            [(0.0, 0.0), (1.0, 3.0), (2.0, 4.0)]
        );
    }
}
