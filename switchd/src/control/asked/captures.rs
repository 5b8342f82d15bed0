//! Running captures: a bounded number at a time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use weir_api::capture::CaptureRequest;
use weir_core::Instant;

use crate::dataplane::tap::{Tap, TAPS_MAX};
use crate::model::headers::Headers;
use crate::model::sight::Sight;

/// One capture that runs.
#[derive(Debug)]
pub struct Capture {
    /// Its number.
    pub id: u64,
    /// Its place in the dataplane.
    pub place: usize,
    /// Settings from the request.
    pub request: CaptureRequest,
    /// When it began.
    pub began: Instant,
    /// Source of its frames.
    pub tap: Arc<Tap>,
    /// Notified when a request ends it.
    pub stop: Notify,
}

/// All captures that run.
#[derive(Debug, Default)]
pub struct Hub {
    captures: Mutex<[Option<Arc<Capture>>; TAPS_MAX]>,
    any: AtomicBool,
    last_id: AtomicU64,
}

impl Hub {
    /// Takes in a capture; `None` when there are as many as there may be.
    pub fn begin(
        &self,
        request: CaptureRequest,
        tap: Arc<Tap>,
        now: Instant,
    ) -> Option<Arc<Capture>> {
        let mut captures = self.lock();
        let place = captures.iter().position(Option::is_none)?;
        let capture = Arc::new(Capture {
            id: self.last_id.fetch_add(1, Ordering::Relaxed) + 1,
            place,
            request,
            began: now,
            tap,
            stop: Notify::new(),
        });
        captures[place] = Some(Arc::clone(&capture));
        self.any.store(true, Ordering::Release);
        Some(capture)
    }

    /// Its place is free again.
    pub fn remove(&self, capture: &Capture) {
        let mut captures = self.lock();
        if let Some(place) = captures.get_mut(capture.place) {
            *place = None;
        }
        let any = captures.iter().any(Option::is_some);
        self.any.store(any, Ordering::Release);
    }

    /// Has a capture end; false when there is none of this number.
    pub fn stop(&self, id: u64) -> bool {
        let found = self.list().into_iter().find(|capture| capture.id == id);
        if let Some(capture) = &found {
            capture.stop.notify_one();
        }
        found.is_some()
    }

    /// Those that run.
    pub fn list(&self) -> Vec<Arc<Capture>> {
        self.lock().iter().flatten().cloned().collect()
    }

    /// Shows a frame that does not go through the dataplane to every capture.
    pub fn offer(&self, sight: &Sight<'_>) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let headers = Headers::of(sight.bytes);
        for capture in self.lock().iter().flatten() {
            capture.tap.offer(sight, &headers);
        }
    }

    fn lock(&self) -> MutexGuard<'_, [Option<Arc<Capture>>; TAPS_MAX]> {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
