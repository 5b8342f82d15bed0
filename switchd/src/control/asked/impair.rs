//! Impairments: deliberate faults of frames and links, limited in time, and reported prominently.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration as StdDuration;

use tokio::sync::Notify;
use tokio::time::timeout;
use weir_api::daemon::{ImpairRequest, Impairment as View};
use weir_api::describe::Described;
use weir_api::words::EventName;
use weir_core::{Command, Duration, Instant, PortId, Priority};
use weir_dataplane::impair::{ImpairFigures, ImpairPlan, Impairment, IMPAIRMENTS_MAX};

use crate::control::{Shared, Stage};
use crate::model::clock;

/// Attempts to remove an impairment from a dataplane whose queue is full. It ends by itself in any
/// case.
const REMOVALS: usize = 100;

/// Effect of an impairment.
#[derive(Clone, Debug)]
pub enum Doing {
    /// Impairs frames.
    Frames(ImpairPlan),
    /// Pauses the neighbour in this priority: for the first duration, once per second duration.
    Pause(Priority, StdDuration, StdDuration),
    /// Treats the link as down, with the same two durations.
    Flap(StdDuration, StdDuration),
}

/// An impairment in force.
#[derive(Debug)]
pub struct Entry {
    /// Number of the impairment.
    pub id: u64,
    port: PortId,
    request: ImpairRequest,
    until: Instant,
    frames: Option<Arc<Impairment>>,
    times: AtomicU64,
    stop: Notify,
}

/// All impairments in force.
#[derive(Debug, Default)]
pub struct Impairments {
    places: Mutex<[Option<Arc<Entry>>; IMPAIRMENTS_MAX]>,
    last_id: AtomicU64,
}

/// Reason for which no impairment was begun.
#[derive(Debug, thiserror::Error)]
pub enum ImpairError {
    /// The maximum number is in force.
    #[error("{IMPAIRMENTS_MAX} impairments are in force, the maximum; `switchctl impair list` shows them")]
    Full,
    /// The same link or neighbour would be impaired twice.
    #[error("impairment {0} already does this on the port; stop it first")]
    Twice(u64),
    /// The switch core refused it.
    #[error("{0}")]
    Refused(String),
    /// The dataplane did not answer.
    #[error("the dataplane does not answer; `switchctl status` shows its state")]
    Silence,
}

impl Impairments {
    /// Returns the impairments in force.
    pub fn list(&self) -> Vec<Arc<Entry>> {
        self.lock().iter().flatten().cloned().collect()
    }

    /// Stops an impairment; returns false when there is none of this number.
    pub fn stop(&self, id: u64) -> bool {
        let found = self.list().into_iter().find(|entry| entry.id == id);
        if let Some(entry) = &found {
            entry.stop.notify_one();
        }
        found.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, [Option<Arc<Entry>>; IMPAIRMENTS_MAX]> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(
        &self,
        request: ImpairRequest,
        port: PortId,
        doing: &Doing,
    ) -> Result<(usize, Arc<Entry>), ImpairError> {
        let mut places = self.lock();
        let is_of_link = !request.what.is_of_frames();
        let is_same = |entry: &&Arc<Entry>| {
            entry.port == port
                && entry.request.what == request.what
                && entry.request.priority == request.priority
        };
        if let Some(known) = places.iter().flatten().find(is_same).filter(|_| is_of_link) {
            return Err(ImpairError::Twice(known.id));
        }
        let place = places.iter().position(Option::is_none);
        let place = place.ok_or(ImpairError::Full)?;
        let span = Duration::from_nanos((request.seconds * 1e9) as u64);
        let entry = Arc::new(Entry {
            id: self.last_id.fetch_add(1, Ordering::Relaxed) + 1,
            port,
            until: clock::now() + span,
            request,
            frames: match doing {
                Doing::Frames(plan) => Some(Arc::new(Impairment::new(plan.clone()))),
                _ => None,
            },
            times: AtomicU64::new(0),
            stop: Notify::new(),
        });
        if let Some(known) = places.get_mut(place) {
            *known = Some(Arc::clone(&entry));
        }
        Ok((place, entry))
    }

    fn remove(&self, place: usize) {
        if let Some(known) = self.lock().get_mut(place) {
            *known = None;
        }
    }
}

impl Entry {
    /// Returns the impairment as the API shows it.
    pub fn view(&self) -> View {
        let figures = self.figures();
        View {
            id: self.id,
            request: self.request.clone(),
            seconds_left: self.left().as_secs_f64(),
            matched_total: figures.matched,
            impaired_total: figures.impaired,
            overflowed_total: figures.overflowed,
        }
    }

    fn figures(&self) -> ImpairFigures {
        match &self.frames {
            Some(frames) => frames.figures(),
            None => ImpairFigures {
                impaired: self.times.load(Ordering::Relaxed),
                ..ImpairFigures::default()
            },
        }
    }

    fn left(&self) -> StdDuration {
        let left = self.until.saturating_since(clock::now());
        StdDuration::from_nanos(left.as_nanos())
    }

    /// Waits for this long; returns false once a request ends the impairment or its time is over.
    async fn wait(&self, span: StdDuration) -> bool {
        let left = self.left();
        if left.is_zero() || timeout(span.min(left), self.stop.notified()).await.is_ok() {
            return false;
        }
        span < left
    }
}

/// Begins an impairment of `port`, and ends it when its time is over.
///
/// # Errors
///
/// When the maximum number is in force, or the dataplane refuses.
pub async fn begin(
    shared: &Arc<Shared>,
    request: ImpairRequest,
    port: PortId,
    doing: Doing,
) -> Result<View, ImpairError> {
    let (place, entry) = shared.impairments.add(request, port, &doing)?;
    if let Err(error) = first(shared, place, &entry, &doing).await {
        shared.impairments.remove(place);
        return Err(error);
    }
    tell(shared, &entry, EventName::ImpairmentBegan);
    let (shared, began) = (Arc::clone(shared), Arc::clone(&entry));
    tokio::spawn(async move {
        last(&shared, place, &began, &doing).await;
        shared.impairments.remove(place);
        tell(&shared, &began, EventName::ImpairmentEnded);
    });
    Ok(entry.view())
}

async fn first(
    shared: &Shared,
    place: usize,
    entry: &Entry,
    doing: &Doing,
) -> Result<(), ImpairError> {
    match doing {
        Doing::Frames(_) => match shared.dataplane.impair(place, entry.frames.clone()).await {
            true => Ok(()),
            false => Err(ImpairError::Silence),
        },
        Doing::Pause(priority, ..) => hold(shared, entry.port, *priority, false).await,
        Doing::Flap(..) => Ok(()),
    }
}

/// Waits for the end, and reverts the impairment.
async fn last(shared: &Shared, place: usize, entry: &Entry, doing: &Doing) {
    match doing {
        Doing::Frames(_) => {
            entry.wait(StdDuration::MAX).await;
            for _ in 0..REMOVALS {
                if shared.dataplane.impair(place, None).await {
                    return;
                }
            }
            tracing::error!(
                id = entry.id,
                "cannot end an impairment early: it continues to its time limit"
            );
        }
        Doing::Pause(priority, on, period) => {
            loop {
                let _ = hold(shared, entry.port, *priority, true).await;
                entry.times.fetch_add(1, Ordering::Relaxed);
                let goes_on = entry.wait(*on).await;
                // Leave no neighbour paused.
                while matches!(
                    hold(shared, entry.port, *priority, false).await,
                    Err(ImpairError::Silence)
                ) && !is_ending(shared)
                {}
                if !goes_on || !entry.wait(period.saturating_sub(*on)).await {
                    return;
                }
            }
        }
        Doing::Flap(on, period) => loop {
            shared.set_flapped(entry.port, true).await;
            entry.times.fetch_add(1, Ordering::Relaxed);
            let goes_on = entry.wait(*on).await;
            shared.set_flapped(entry.port, false).await;
            if !goes_on || !entry.wait(period.saturating_sub(*on)).await {
                return;
            }
        },
    }
}

fn is_ending(shared: &Shared) -> bool {
    shared.life.stage() != Stage::Running
}

async fn hold(
    shared: &Shared,
    port: PortId,
    priority: Priority,
    held: bool,
) -> Result<(), ImpairError> {
    let command = Command::HoldNeighbour {
        port,
        priority,
        held,
    };
    match shared.dataplane.ask(command).await {
        Some(outcome) => outcome.map_err(|error| ImpairError::Refused(error.to_string())),
        None => Err(ImpairError::Silence),
    }
}

fn tell(shared: &Shared, entry: &Entry, name: EventName) {
    let port = shared.info.port_name(entry.port);
    let what = entry.request.what.name();
    let figures = entry.figures();
    if name == EventName::ImpairmentBegan {
        tracing::warn!(
            id = entry.id,
            port,
            what,
            seconds = entry.request.seconds,
            "impaired on request, until its time limit or `switchctl impair stop`"
        );
    } else {
        tracing::warn!(
            id = entry.id,
            port,
            what,
            impaired = figures.impaired,
            "no longer impaired"
        );
    }
    let described = Described {
        port: Some(port),
        ..Described::new(clock::now(), name)
    };
    let described = described.detail("what", what).detail("id", entry.id);
    shared.records.record(described);
}
