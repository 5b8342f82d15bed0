//! Time lines shared by all viewers, so that their cost does not depend on the number of viewers.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::Mutex;
use tokio::time::Instant;

const TIMELINES_MAX: usize = 8;
const TIMELINE_INTERVAL: Duration = Duration::from_millis(400);
const TIMELINE_SPACING: Duration = Duration::from_millis(50);

/// The last requested time lines, by suspicion.
#[derive(Debug, Default)]
pub struct Recent(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<Line>,
    last_made: Option<Instant>,
}

#[derive(Debug)]
struct Line {
    id: u64,
    at: Instant,
    complete: bool,
    body: Bytes,
}

impl Recent {
    /// Returns the time line of suspicion `id`. `make` returns its body, and true if it is complete. Complete ones are kept
    /// until others replace them.
    pub async fn get(
        &self,
        id: u64,
        make: impl FnOnce() -> Option<(Vec<u8>, bool)>,
    ) -> Option<Bytes> {
        let mut lines = self.0.lock().await;
        if let Some(line) = lines.kept.iter().find(|line| line.id == id) {
            if line.complete || line.at.elapsed() < TIMELINE_INTERVAL {
                return Some(line.body.clone());
            }
        }
        // Tasks waiting for the lock also wait for this, which bounds the rate.
        if let Some(last) = lines.last_made {
            tokio::time::sleep_until(last + TIMELINE_SPACING).await;
        }
        let at = Instant::now();
        lines.last_made = Some(at);
        let (body, complete) = make()?;
        let body = Bytes::from(body);
        lines.kept.retain(|line| line.id != id);
        if lines.kept.len() >= TIMELINES_MAX {
            lines.kept.pop_front();
        }
        lines.kept.push_back(Line {
            id,
            at,
            complete,
            body: body.clone(),
        });
        Some(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn time_lines_are_made_one_after_the_other() {
        let recent = Recent::default();
        let began = Instant::now();
        for id in 0..12 {
            let body = recent.get(id, || Some((vec![id as u8], true))).await;
            assert_eq!(body.unwrap()[..], [id as u8]);
        }
        assert!(began.elapsed() >= TIMELINE_SPACING * 11);
        assert_eq!(recent.0.lock().await.kept.len(), TIMELINES_MAX);
        let kept = recent.get(11, || panic!("a complete one is kept")).await;
        assert_eq!(kept.unwrap()[..], [11]);
        assert_eq!(recent.get(30, || None).await, None);
    }

    #[tokio::test]
    async fn one_that_goes_on_is_made_anew() {
        let recent = Recent::default();
        let began = Instant::now();
        assert!(recent.get(1, || Some((vec![1], false))).await.is_some());
        // At first the old body, and the new one after the interval.
        while recent.get(1, || Some((vec![2], false))).await.unwrap()[..] != [2] {
            tokio::task::yield_now().await;
        }
        assert!(began.elapsed() >= TIMELINE_INTERVAL);
    }
}
