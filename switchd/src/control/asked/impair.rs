//! Impairments: deliberate faults of frames and links, for a bounded time, and reported
//! prominently.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration as StdDuration;

use tokio::sync::Notify;
use tokio::time::timeout;
use weir_api::daemon::{ImpairRequest, Impairment as View};
use weir_api::describe::Described;
use weir_api::words::EventName;
use weir_core::{Command, Duration, Instant, PortId, Priority};

use crate::control::{Shared, Stage};
use crate::dataplane::impair::{ImpairFigures, ImpairPlan, Impairment, IMPAIRMENTS_MAX};
use crate::model::clock;

/// Attempts to remove an impairment from a dataplane whose queue is full. It ends by itself in any
/// case.
const REMOVALS: usize = 100;

/// Effect of an impairment.
#[derive(Clone, Debug)]
pub enum Doing {
    /// To frames.
    Frames(ImpairPlan),
    /// The neighbour is paused in this priority: on for so long, from one beginning to the next.
    Pause(Priority, StdDuration, StdDuration),
    /// The link is taken for down: likewise.
    Flap(StdDuration, StdDuration),
}

/// One that is in force.
#[derive(Debug)]
pub struct Entry {
    /// Its number.
    pub id: u64,
    port: PortId,
    request: ImpairRequest,
    until: Instant,
    frames: Option<Arc<Impairment>>,
    times: AtomicU64,
    stop: Notify,
}

/// All that are in force.
#[derive(Debug, Default)]
pub struct Impairments {
    places: Mutex<[Option<Arc<Entry>>; IMPAIRMENTS_MAX]>,
    last_id: AtomicU64,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum ImpairError {
    /// There are enough.
    #[error("{IMPAIRMENTS_MAX} impairments are in force, the most allowed; `switchctl impair list` shows them")]
    Full,
    /// A link or neighbour is listed twice.
    #[error("impairment {0} does that to this port already; stop it first")]
    Twice(u64),
    /// The switch core refuses.
    #[error("{0}")]
    Refused(String),
    /// The dataplane does not answer.
    #[error("the dataplane does not answer")]
    Silence,
}

impl Impairments {
    /// Returns the impairments in force.
    pub fn list(&self) -> Vec<Arc<Entry>> {
        self.lock().iter().flatten().cloned().collect()
    }

    /// Has one end; false when there is none of this number.
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
    /// As the API shows it.
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

    /// Waits for this long; returns false when a request ends it or its time is over.
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
/// When there are as many as there may be, or the dataplane refuses.
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
                "cannot take an impairment back: it ends with its time"
            );
        }
        Doing::Pause(priority, on, period) => {
            loop {
                let _ = hold(shared, entry.port, *priority, true).await;
                entry.times.fetch_add(1, Ordering::Relaxed);
                let goes_on = entry.wait(*on).await;
                // In any case no neighbour stays paused.
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

/// Reports in the log and as an event.
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
            "impaired on purpose, until its time is over or `switchctl impair stop`"
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
