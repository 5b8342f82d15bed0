//! A task per switch polls it repeatedly. Switches that answer do not wait for those that do not: both have separate limits,
//! and unresponsive ones are asked less often.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, Semaphore};
use tokio::time::Instant;

use super::client::{Access, Client};
use super::local::{self, Served};
use super::place::Place;
use super::tls::Trust;
use crate::model::switch::{Answer, Trouble};

/// Maximum number of concurrent requests to switches that answered last time. Each answer may use eight megabytes of memory.
const ASKED_MAX: usize = 16;
/// The same for switches that did not answer.
const LOST_MAX: usize = 8;
/// First retry interval for a switch without an answer; it doubles each time up to the longest.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(8);

/// Interval and timeout of requests.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Interval between requests.
    pub interval: Duration,
    /// Timeout of a whole answer.
    pub answer: Duration,
}

/// News about a switch.
#[derive(Debug)]
pub enum News {
    /// It answered.
    Answer(Box<Answer>),
    /// It did not answer.
    Trouble(Trouble),
    /// Its listeners.
    Served(Served),
}

/// Limits on concurrent requests.
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

/// A switch, and access to it.
pub struct Asked {
    /// Its name on the page.
    pub name: String,
    /// Access to it.
    pub access: Access,
}

impl Asked {
    /// Describes a switch of this machine.
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

    /// Describes a listed switch.
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

/// Polls one switch until the receiver of news is gone.
pub async fn watch(asked: Asked, limits: Limits, turns: Turns, news: mpsc::Sender<(String, News)>) {
    let Asked { name, access } = asked;
    let is_here = matches!(access.place, Place::Socket(_));
    let mut client = Client::new(access);
    let mut retry = Duration::ZERO;
    // Process of the daemon that reported its listeners.
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
