//! A body shared by many viewers, so that its cost does not grow with their number.

use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// A body that is renewed at most once in an interval.
#[derive(Debug)]
pub struct Cached {
    interval: Duration,
    made: Mutex<Option<(Instant, Bytes)>>,
}

impl Cached {
    /// Creates an empty one.
    pub fn new(interval: Duration) -> Self {
        Self {
            interval,
            made: Mutex::default(),
        }
    }

    /// Returns the body; if it is too old, the first caller renews it, and all others wait for that.
    ///
    /// # Errors
    ///
    /// The body cannot be made.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::convert::Infallible;

    #[tokio::test]
    async fn many_readers_cost_as_much_as_one() {
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
}
