//! Running captures: a bounded number at a time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use weir_api::capture::CaptureRequest;
use weir_core::Instant;
use weir_dataplane::tap::{Tap, TAPS_MAX};

use crate::model::headers::Headers;
use crate::model::sight::Sight;

/// A running capture.
#[derive(Debug)]
pub struct Capture {
    /// Number of the capture.
    pub id: u64,
    /// Its slot in the dataplane.
    pub place: usize,
    /// Settings from the request.
    pub request: CaptureRequest,
    /// Start of the capture.
    pub began: Instant,
    /// Source of its frames.
    pub tap: Arc<Tap>,
    /// Notified when a request ends the capture.
    pub stop: Notify,
}

/// All running captures.
#[derive(Debug, Default)]
pub struct Hub {
    captures: Mutex<[Option<Arc<Capture>>; TAPS_MAX]>,
    any: AtomicBool,
    last_id: AtomicU64,
}

impl Hub {
    /// Adds a capture; `None` when the maximum number runs.
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

    /// Removes a capture and frees its slot.
    pub fn remove(&self, capture: &Capture) {
        let mut captures = self.lock();
        if let Some(place) = captures.get_mut(capture.place) {
            *place = None;
        }
        let any = captures.iter().any(Option::is_some);
        self.any.store(any, Ordering::Release);
    }

    /// Stops a capture; returns false when there is none of this number.
    pub fn stop(&self, id: u64) -> bool {
        let found = self.list().into_iter().find(|capture| capture.id == id);
        if let Some(capture) = &found {
            capture.stop.notify_one();
        }
        found.is_some()
    }

    /// Returns the running captures.
    pub fn list(&self) -> Vec<Arc<Capture>> {
        self.lock().iter().flatten().cloned().collect()
    }

    /// Offers a frame that bypasses the dataplane to every capture.
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
