//! Subscribe: values of nodes as they change.
//!
//! Values wait for their subscriber in a queue of a few messages. While it is full, samples are skipped, so that the
//! next values are up to date; a subscriber that reads nothing for long loses the call.

mod plan;
#[cfg(test)]
mod tests;
mod told;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{sleep_until, timeout, Instant};
use tokio_stream::{Stream, StreamExt};
use tonic::Status;

use super::looks::{Looks, Source};
use crate::figures::Figures;
use crate::limits::{FIRST_MESSAGE_WAIT, INTERVAL_MIN, LOOK_AGE_MAX, READER_WAIT};
use crate::refusal::Refusal;
use crate::wire::{ListMode, Notification, SubscribeAsk, SubscribeRequest};
use crate::wire::{SubscribeResponse, SubscribeTell};
use plan::{Part, Plan};
use told::{news, Due, Told};

/// Message to a subscriber.
pub type Sent = Result<SubscribeResponse, Status>;

/// Reason for which a call ends early.
enum Over {
    Gone,
    /// The reason is sent to the subscriber.
    Refused(Refusal),
}

impl From<Refusal> for Over {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// One call.
pub struct Call<S> {
    /// Snapshots of the switch.
    pub looks: Arc<Looks<S>>,
    /// Counters.
    pub figures: Arc<Figures>,
    /// The queue to the subscriber.
    pub sender: mpsc::Sender<Sent>,
}

impl<S: Source> Call<S> {
    /// Answers until the subscriber, the switch or an error ends it.
    pub async fn run(self, requests: impl Stream<Item = Result<SubscribeRequest, Status>> + Unpin) {
        self.figures.begin_stream();
        let over = tokio::select! {
            over = self.converse(requests) => over,
            () = self.looks.ending() => Err(Over::Gone),
        };
        if let Err(Over::Refused(refusal)) = over {
            let status = self.figures.refuse(&refusal);
            // A reader that is too slow for values may also be too slow for this; then the call simply ends.
            let _ = self.sender.try_send(Err(status));
        }
        self.figures.end_stream();
    }

    async fn converse(
        &self,
        mut requests: impl Stream<Item = Result<SubscribeRequest, Status>> + Unpin,
    ) -> Result<(), Over> {
        let plan = match timeout(FIRST_MESSAGE_WAIT, requests.next()).await {
            Ok(Some(request)) => match asked(request)? {
                SubscribeAsk::Subscribe(list) => Plan::new(&list)?,
                SubscribeAsk::Poll(_) => return Err(first_message().into()),
            },
            Ok(None) => return Err(first_message().into()),
            Err(_) => {
                return Err(Refusal::silent(format!(
                    "no SubscriptionList within {FIRST_MESSAGE_WAIT:?}"
                ))
                .into())
            }
        };
        let mut told = Told::default();
        self.tell_all(&plan, &mut told).await?;
        match plan.mode {
            ListMode::Once => Ok(()),
            ListMode::Poll => self.answer_polls(&plan, &mut told, requests).await,
            ListMode::Stream => self.stream(&plan, &mut told, requests).await,
        }
    }

    /// Sends all subscribed values, and the end marker.
    async fn tell_all(&self, plan: &Plan, told: &mut Told) -> Result<(), Over> {
        let tree = self.looks.within(Duration::ZERO).await;
        let due = |part| Due {
            part,
            all: true,
            missed: 0,
        };
        let due: Vec<_> = plan.parts.iter().map(due).collect();
        let news = news(plan, told, &tree, &due);
        if !plan.updates_only {
            self.tell(news).await?;
        }
        self.send(SubscribeTell::Sync(true)).await
    }

    async fn answer_polls(
        &self,
        plan: &Plan,
        told: &mut Told,
        mut requests: impl Stream<Item = Result<SubscribeRequest, Status>> + Unpin,
    ) -> Result<(), Over> {
        let mut answered = Instant::now();
        let later = Plan {
            updates_only: false,
            ..plan.clone()
        };
        loop {
            let request = tokio::select! {
                request = requests.next() => request,
                () = self.sender.closed() => return Err(Over::Gone),
            };
            let Some(request) = request else {
                return Ok(());
            };
            match asked(request)? {
                SubscribeAsk::Poll(_) => {}
                SubscribeAsk::Subscribe(_) => return Err(second_list().into()),
            }
            sleep_until(answered + INTERVAL_MIN).await;
            answered = Instant::now();
            self.tell_all(&later, told).await?;
        }
    }

    async fn stream(
        &self,
        plan: &Plan,
        told: &mut Told,
        mut requests: impl Stream<Item = Result<SubscribeRequest, Status>> + Unpin,
    ) -> Result<(), Over> {
        let began = Instant::now();
        let mut times: Vec<_> = plan
            .parts
            .iter()
            .map(|part| Times::new(part, began))
            .collect();
        // Clients without further messages may close their side.
        let mut listens = true;
        loop {
            let Some(next) = times.iter().map(|times| times.next).min() else {
                return Ok(());
            };
            tokio::select! {
                () = sleep_until(next) => {}
                () = self.sender.closed() => return Err(Over::Gone),
                request = requests.next(), if listens => match request {
                    Some(request) => {
                        asked(request)?;
                        return Err(second_list().into());
                    }
                    None => {
                        listens = false;
                        continue;
                    }
                },
            }
            let now = Instant::now();
            let due: Vec<_> = plan
                .parts
                .iter()
                .zip(&mut times)
                .filter_map(|(part, times)| times.take(part, now))
                .collect();
            let tree = self.looks.within(LOOK_AGE_MAX).await;
            self.tell(news(plan, told, &tree, &due)).await?;
        }
    }

    async fn tell(&self, news: Vec<Notification>) -> Result<(), Over> {
        for notification in news {
            let count = notification.update.len() + notification.delete.len();
            self.send(SubscribeTell::Update(notification)).await?;
            self.figures
                .count(|counters| &mut counters.updates, count as u64);
        }
        Ok(())
    }

    async fn send(&self, tell: SubscribeTell) -> Result<(), Over> {
        let response = SubscribeResponse {
            response: Some(tell),
        };
        match timeout(READER_WAIT, self.sender.send(Ok(response))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Over::Gone),
            Err(_) => Err(Refusal::slow_reader(format!(
                "nothing was read for {READER_WAIT:?}: subscribe to less, or with longer intervals"
            ))
            .into()),
        }
    }
}

struct Times {
    next: Instant,
    heartbeat: Option<Instant>,
}

impl Times {
    fn new(part: &Part, began: Instant) -> Self {
        Self {
            next: began + part.interval,
            heartbeat: part.heartbeat.map(|heartbeat| began + heartbeat),
        }
    }

    fn take<'a>(&mut self, part: &'a Part, now: Instant) -> Option<Due<'a>> {
        let late = now.checked_duration_since(self.next)?;
        let missed = late.as_nanos() / part.interval.as_nanos().max(1);
        let missed = u32::try_from(missed).unwrap_or(u32::MAX);
        self.next += part.interval.saturating_mul(missed.saturating_add(1));
        let beats = self.heartbeat.is_some_and(|heartbeat| heartbeat <= now);
        if beats {
            self.heartbeat = part.heartbeat.map(|heartbeat| now + heartbeat);
        }
        Some(Due {
            part,
            all: beats || !part.changes_only,
            // The number of changes between two updates is unknown.
            missed: if part.changes_only { 0 } else { missed },
        })
    }
}

fn asked(request: Result<SubscribeRequest, Status>) -> Result<SubscribeAsk, Over> {
    match request {
        Ok(request) => request.request.ok_or_else(|| first_message().into()),
        Err(status) if status.code() == tonic::Code::Cancelled => Err(Over::Gone),
        Err(status) => Err(Refusal::bad_request(format!(
            "a message that cannot be read: {}",
            status.message()
        ))
        .into()),
    }
}

fn first_message() -> Refusal {
    Refusal::bad_request(
        "the first message must be a SubscriptionList, and later ones of mode POLL Poll",
    )
}

fn second_list() -> Refusal {
    Refusal::bad_request(
        "one SubscriptionList a call: end this call and begin another to subscribe to something else",
    )
}
