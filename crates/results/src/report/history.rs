//! Pauses during a run, for a picture of the network over time.

use serde::Serialize;

/// Observations at equal distances, from the beginning of traffic on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct History {
    /// Times in seconds, ascending.
    pub seconds: Vec<f64>,
    /// Observations, by end of a link and priority.
    pub ends: Vec<End>,
}

/// The ingress buffer of one port and priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct End {
    /// The switch of the buffer.
    pub switch: String,
    /// Other end of the port's link, which is paused.
    pub peer: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Bytes charged to the buffer at each time.
    pub bytes: Vec<u64>,
    /// Total time for which the peer had been paused at each time, in nanoseconds.
    pub paused_nanos: Vec<u64>,
}

impl End {
    fn has_paused(&self) -> bool {
        self.paused_nanos.last().is_some_and(|total| *total > 0)
    }

    /// Returns for each time the percentage of the interval since the previous one during which the peer was paused.
    fn paused_percent(&self, seconds: &[f64]) -> Vec<u8> {
        let before = |index: usize| index.checked_sub(1);
        let values = self.paused_nanos.iter().zip(seconds).enumerate();
        values
            .map(|(index, (total, at))| {
                let since = total - before(index).map_or(0, |before| self.paused_nanos[before]);
                let span = at - before(index).map_or(0.0, |before| seconds[before]);
                (since as f64 / 1e7 / span.max(f64::MIN_POSITIVE)).clamp(0.0, 100.0) as u8
            })
            .collect()
    }
}

/// An [`End`] in the page's form.
#[derive(Debug, Serialize)]
pub(super) struct Drawn {
    switch: String,
    peer: String,
    priority: u8,
    bytes: Vec<u64>,
    paused: Vec<u8>,
}

impl History {
    /// Returns up to `most` ends that have paused, longest first, and the number of the others.
    pub(super) fn drawn(&self, most: usize) -> (Vec<Drawn>, usize) {
        let mut ends: Vec<&End> = self.ends.iter().filter(|end| end.has_paused()).collect();
        ends.sort_by_key(|end| std::cmp::Reverse(end.paused_nanos.last().copied()));
        let left_out = ends.len().saturating_sub(most);
        ends.truncate(most);
        let drawn = ends.into_iter().map(|end| Drawn {
            switch: end.switch.clone(),
            peer: end.peer.clone(),
            priority: end.priority,
            bytes: end.bytes.clone(),
            paused: end.paused_percent(&self.seconds),
        });
        (drawn.collect(), left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_time_are_between_two_moments() {
        let end = End {
            paused_nanos: vec![0, 5_000_000, 15_000_000, 15_000_000],
            ..End::default()
        };
        let seconds = [0.0, 0.01, 0.02, 0.03];
        assert_eq!(end.paused_percent(&seconds), [0, 50, 100, 0]);
    }

    #[test]
    fn those_that_paused_longest_are_kept() {
        let end = |switch: &str, total| End {
            switch: switch.into(),
            bytes: vec![1],
            paused_nanos: vec![total],
            ..End::default()
        };
        let history = History {
            seconds: vec![1.0],
            ends: vec![end("a", 1), end("b", 0), end("c", 3), end("d", 2)],
        };
        let (drawn, left_out) = history.drawn(2);
        let kept: Vec<&str> = drawn.iter().map(|end| &*end.switch).collect();
        assert_eq!((kept, left_out), (vec!["c", "d"], 1));
    }
}
