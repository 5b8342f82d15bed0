//! Each switch is asked again and again by a task of its own. Those that answer do not wait for those that do not: both have
//! turns of their own, and who does not answer is asked less often.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, Semaphore};
use tokio::time::Instant;

use super::client::{Access, Client};
use super::local::{self, Served};
use super::place::Place;
use super::tls::Trust;
use crate::model::switch::{Answer, Trouble};

/// Requests to switches that answered last time, at a time. Answers of eight megabytes are possible: this many are in memory.
const ASKED_MAX: usize = 16;
/// The same for those that did not answer.
const LOST_MAX: usize = 8;
/// Who does not answer is asked again after this at least, and after twice as long each time, up to the longest.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(8);

/// How often, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From one request to the next.
    pub interval: Duration,
    /// For a whole answer.
    pub answer: Duration,
}

/// What there is to know of a switch.
#[derive(Debug)]
pub enum News {
    /// It answered.
    Answer(Box<Answer>),
    /// It did not.
    Trouble(Trouble),
    /// Where it serves its page and metrics.
    Served(Served),
}

/// Turns of all switches.
#[derive(Clone)]
pub struct Turns {
    asked: Arc<Semaphore>,
    lost: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            asked: Arc::new(Semaphore::new(ASKED_MAX)),
            lost: Arc::new(Semaphore::new(LOST_MAX)),
        }
    }
}

/// A switch, and how to ask it.
pub struct Asked {
    /// Its name on the page.
    pub name: String,
    /// How.
    pub access: Access,
}

impl Asked {
    /// One of this machine.
    pub fn here(name: String, socket: std::path::PathBuf) -> Self {
        Self {
            name,
            access: Access {
                place: Place::Socket(socket),
                trust: None,
                token: None,
            },
        }
    }

    /// One that was listed.
    pub fn listed(
        listed: &super::Listed,
        trust: Option<Trust>,
        token: Option<hyper::header::HeaderValue>,
    ) -> Self {
        Self {
            name: listed.name.clone(),
            access: Access {
                place: listed.place.clone(),
                trust,
                token,
            },
        }
    }
}

/// Asks one switch until nobody wants to know any more.
pub async fn watch(asked: Asked, limits: Limits, turns: Turns, news: mpsc::Sender<(String, News)>) {
    let Asked { name, access } = asked;
    let is_here = matches!(access.place, Place::Socket(_));
    let mut client = Client::new(access);
    let mut retry = Duration::ZERO;
    // By which daemon it was said where it serves.
    let mut known_pid = None;
    loop {
        let began = Instant::now();
        let turns = if retry.is_zero() {
            &turns.asked
        } else {
            &turns.lost
        };
        let Ok(turn) = turns.acquire().await else {
            return;
        };
        let outcome = client.overview(limits.answer).await;
        let mut all = Vec::new();
        match outcome {
            Ok(answer) => {
                retry = Duration::ZERO;
                let pid = Some(answer.overview.status.pid);
                if is_here && known_pid != pid {
                    known_pid = pid;
                    all.push(News::Served(
                        local::served(&mut client, limits.answer).await,
                    ));
                }
                all.push(News::Answer(Box::new(answer)));
            }
            Err(trouble) => {
                retry = (2 * retry).clamp(RETRY, RETRY_MAX);
                all.push(News::Trouble(trouble));
            }
        }
        drop(turn);
        for one in all {
            if news.send((name.clone(), one)).await.is_err() {
                return;
            }
        }
        tokio::time::sleep_until(began + limits.interval.max(retry)).await;
    }
}
