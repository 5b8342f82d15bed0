//! A bounded log of events with sequence numbers; readers can wait for the next event.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use weir_api::daemon::{Event, EventPage};
use weir_api::describe::Described;

use crate::model::clock;

/// Maximum number of events kept.
pub const EVENT_CAPACITY: usize = 8_192;

/// The log. Writers and readers hold its lock only to move pointers.
#[derive(Debug)]
pub struct EventLog {
    ring: Mutex<VecDeque<Arc<Event>>>,
    capacity: usize,
    last: watch::Sender<u64>,
}

impl EventLog {
    /// Creates an empty log that keeps `capacity` events.
    pub fn new(capacity: usize) -> Self {
        Self {
            ring: Mutex::new(VecDeque::with_capacity(capacity)),
            capacity,
            last: watch::Sender::new(0),
        }
    }

    /// Adds an event and returns it with its number; a full log loses its oldest event.
    pub fn push(&self, described: Described) -> Arc<Event> {
        let time = clock::wall_time(described.at);
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let sequence = *self.last.borrow() + 1;
        if ring.len() >= self.capacity {
            ring.pop_front();
        }
        let event = Arc::new(Event {
            sequence,
            monotonic_nanos: described.at.as_nanos(),
            time,
            kind: described.kind.into(),
            port: described.port,
            priority: described.priority,
            details: described.details,
        });
        ring.push_back(Arc::clone(&event));
        self.last.send_replace(sequence);
        event
    }

    /// Returns the events after number `after`. For a number that was never assigned, such as one from before a restart, the
    /// page is empty and its `next` is the last number.
    pub fn page(&self, after: u64) -> EventPage {
        let (last, events): (u64, Vec<Arc<Event>>) = {
            let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            let last = *self.last.borrow();
            let oldest = last + 1 - ring.len() as u64;
            let skip = after
                .saturating_add(1)
                .saturating_sub(oldest)
                .min(ring.len() as u64);
            (last, ring.iter().skip(skip as usize).cloned().collect())
        };
        let missed = match events.first() {
            Some(first) => first.sequence - after.saturating_add(1).min(first.sequence),
            None => 0,
        };
        EventPage {
            events: events.iter().map(|event| (**event).clone()).collect(),
            next: last,
            missed,
        }
    }

    /// Returns the newest `count` events that satisfy `wanted`, newest first, and the number of the last event of all.
    pub fn newest(&self, count: usize, wanted: impl Fn(&Event) -> bool) -> (Vec<Event>, u64) {
        let (found, last): (Vec<Arc<Event>>, u64) = {
            let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            let newest = ring.iter().rev().filter(|event| wanted(event));
            (newest.take(count).cloned().collect(), *self.last.borrow())
        };
        let events = found.iter().map(|event| (**event).clone()).collect();
        (events, last)
    }

    /// Waits until the page after `after` is not empty, or `after` was never assigned.
    pub async fn wait_beyond(&self, after: u64) {
        let mut last = self.last.subscribe();
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = last.wait_for(|last| *last != after).await;
    }
}

#[cfg(test)]
mod tests {
    use weir_api::words::EventName;

    use super::*;

    fn log_with(count: u64, capacity: usize) -> EventLog {
        let log = EventLog::new(capacity);
        for _ in 0..count {
            log.push(Described::new(clock::now(), EventName::Started));
        }
        log
    }

    fn numbers(page: &EventPage) -> Vec<u64> {
        page.events.iter().map(|event| event.sequence).collect()
    }

    #[test]
    fn pages_follow_one_another_and_tell_what_was_lost() {
        let log = log_with(5, 3);
        let page = log.page(0);
        assert_eq!(
            (numbers(&page), page.next, page.missed),
            (vec![3, 4, 5], 5, 2)
        );
        let page = log.page(4);
        assert_eq!((numbers(&page), page.next, page.missed), (vec![5], 5, 0));
        let page = log.page(5);
        assert_eq!((numbers(&page), page.next, page.missed), (vec![], 5, 0));
        let page = log.page(900);
        assert_eq!((numbers(&page), page.next, page.missed), (vec![], 5, 0));
        assert_eq!(log.page(u64::MAX - 1).next, 5);
    }

    #[test]
    fn the_newest_come_first() {
        let log = log_with(5, 4);
        let (events, last) = log.newest(2, |event| event.sequence != 4);
        let sequences: Vec<u64> = events.iter().map(|event| event.sequence).collect();
        assert_eq!((sequences, last), (vec![5, 3], 5));
        assert_eq!(log.newest(9, |_| true).0.len(), 4);
    }

    #[tokio::test]
    async fn waiting_ends_with_the_next_event() {
        let log = Arc::new(log_with(2, 8));
        let waiter = tokio::spawn({
            let log = Arc::clone(&log);
            async move {
                log.wait_beyond(2).await;
                log.page(2)
            }
        });
        log.push(Described::new(clock::now(), EventName::Draining));
        let page = waiter.await.unwrap();
        assert_eq!(numbers(&page), [3]);
    }
}
