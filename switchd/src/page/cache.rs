//! Bodies that many viewers share, so that what they cost does not grow with their number.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Time lines kept at most.
const TIMELINES_MAX: usize = 8;
/// A time line that is not complete is made anew after this.
const TIMELINE_INTERVAL: Duration = Duration::from_millis(400);
/// Time between the making of any two time lines.
const TIMELINE_SPACING: Duration = Duration::from_millis(50);

/// One body, made anew at most once in an interval.
#[derive(Debug)]
pub struct Cached {
    interval: Duration,
    made: Mutex<Option<(Instant, Bytes)>>,
}

impl Cached {
    /// An empty one.
    pub fn new(interval: Duration) -> Self {
        Self {
            interval,
            made: Mutex::default(),
        }
    }

    /// The body; who comes first when it is too old makes it, and all others wait for that one.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub async fn get<E>(&self, make: impl AsyncFnOnce() -> Result<Vec<u8>, E>) -> Result<Bytes, E> {
        let mut made = self.made.lock().await;
        if let Some((at, body)) = &*made {
            if at.elapsed() < self.interval {
                return Ok(body.clone());
            }
        }
        let at = Instant::now();
        let body = Bytes::from(make().await?);
        *made = Some((at, body.clone()));
        Ok(body)
    }
}

/// Time lines by their suspicion, the newest ones that were asked for.
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
    /// The time line of suspicion `id`. `make` gives its body and whether it is complete. Complete ones are
    /// kept until others take their place.
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
        // Whoever waits for the lock waits for this, too: that is the bound.
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
    use std::cell::Cell;
    use std::convert::Infallible;

    #[tokio::test]
    async fn many_readers_cost_what_one_does() {
        let made = Cell::new(0_u8);
        let make = async || {
            made.set(made.get() + 1);
            Ok::<_, Infallible>(vec![made.get()])
        };
        let for_long = Cached::new(Duration::from_secs(3_600));
        for _ in 0..100 {
            assert_eq!(for_long.get(&make).await.unwrap()[..], [1]);
        }
        let for_no_time = Cached::new(Duration::ZERO);
        assert_eq!(for_no_time.get(&make).await.unwrap()[..], [2]);
        assert_eq!(for_no_time.get(&make).await.unwrap()[..], [3]);
    }

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
        // Old at first, new once the interval is over.
        while recent.get(1, || Some((vec![2], false))).await.unwrap()[..] != [2] {
            tokio::task::yield_now().await;
        }
        assert!(began.elapsed() >= TIMELINE_INTERVAL);
    }
}
