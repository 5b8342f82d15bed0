//! Subscribers in simulated time: no wait takes real time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};

use super::{Call, Sent};
use crate::figures::Figures;
use crate::limits::{FIRST_MESSAGE_WAIT, INTERVAL_MIN, QUEUE_MAX, READER_WAIT};
use crate::path::written;
use crate::samples::{path, state, with_link};
use crate::service::looks::{Looks, Source};
use crate::tree::State;
use crate::wire::{
    ListMode, Notification, Poll, SubscribeAsk, SubscribeRequest, SubscribeTell, Subscription,
    SubscriptionList, SubscriptionMode,
};

const SECOND: u64 = 1_000_000_000;
const OPER: &str = "/interfaces/interface[name=*]/state/oper-status";

struct Fake(Arc<Mutex<(State, usize)>>);

impl Source for Fake {
    async fn state(&self) -> State {
        let mut state = self.0.lock().unwrap();
        state.1 += 1;
        state.0.clone()
    }

    async fn ending(&self) {
        std::future::pending().await
    }
}

struct Subscriber {
    switch: Arc<Mutex<(State, usize)>>,
    requests: Option<mpsc::Sender<Result<SubscribeRequest, Status>>>,
    answers: mpsc::Receiver<Sent>,
    figures: Arc<Figures>,
}

impl Subscriber {
    /// A call without any request yet.
    fn silent() -> Self {
        let switch = Arc::new(Mutex::new((state(), 0)));
        let (requests, asked) = mpsc::channel(4);
        let (sender, answers) = mpsc::channel(QUEUE_MAX);
        let figures = Arc::<Figures>::default();
        let call = Call {
            looks: Arc::new(Looks::new(Fake(Arc::clone(&switch)))),
            figures: Arc::clone(&figures),
            sender,
        };
        tokio::spawn(call.run(ReceiverStream::new(asked)));
        Self {
            switch,
            requests: Some(requests),
            answers,
            figures,
        }
    }

    async fn new(list: SubscriptionList) -> Self {
        let subscriber = Self::silent();
        subscriber.ask(SubscribeAsk::Subscribe(list)).await;
        subscriber
    }

    async fn ask(&self, ask: SubscribeAsk) {
        let request = SubscribeRequest { request: Some(ask) };
        self.requests
            .as_ref()
            .unwrap()
            .send(Ok(request))
            .await
            .unwrap();
    }

    /// Returns the next message: values, or `None` for the sync.
    async fn next(&mut self) -> Result<Option<Notification>, Status> {
        let answer = self.answers.recv().await.expect("the call lasts")?;
        Ok(match answer.response.unwrap() {
            SubscribeTell::Update(notification) => Some(notification),
            SubscribeTell::Sync(_) => None,
        })
    }

    /// Returns the paths of the values in the next message, which must not be a sync.
    async fn paths(&mut self) -> Vec<String> {
        let told = self.next().await.unwrap().expect("no sync");
        let paths = told
            .update
            .iter()
            .map(|update| update.path.as_ref().unwrap());
        paths.map(|path| written(path).to_string()).collect()
    }

    fn change(&self, change: impl FnOnce(State) -> State) {
        let mut state = self.switch.lock().unwrap();
        state.0 = change(state.0.clone());
    }
}

fn list(mode: ListMode, subscriptions: Vec<Subscription>) -> SubscriptionList {
    SubscriptionList {
        subscription: subscriptions,
        mode: mode.into(),
        encoding: 2,
        ..SubscriptionList::default()
    }
}

fn to(text: &str, mode: SubscriptionMode) -> Subscription {
    Subscription {
        path: Some(path(text)),
        mode: mode.into(),
        ..Subscription::default()
    }
}

#[tokio::test(start_paused = true)]
async fn once_sends_everything_then_a_sync_and_ends() {
    let mut it = Subscriber::new(list(
        ListMode::Once,
        vec![to(OPER, SubscriptionMode::TargetDefined)],
    ))
    .await;
    assert_eq!(it.paths().await.len(), 2);
    assert_eq!(it.next().await.unwrap(), None);
    assert!(it.answers.recv().await.is_none());
    assert_eq!(it.figures.counters().updates, 2);
    assert_eq!(it.figures.streams(), 0);
}

#[tokio::test(start_paused = true)]
async fn polls_are_answered_at_most_once_per_shortest_interval() {
    let mut it = Subscriber::new(list(
        ListMode::Poll,
        vec![to(OPER, SubscriptionMode::TargetDefined)],
    ))
    .await;
    assert_eq!(it.paths().await.len(), 2);
    assert_eq!(it.next().await.unwrap(), None);
    let began = Instant::now();
    for _ in 0..4 {
        it.ask(SubscribeAsk::Poll(Poll {})).await;
        assert_eq!(it.paths().await.len(), 2);
        assert_eq!(it.next().await.unwrap(), None);
    }
    assert!(began.elapsed() >= INTERVAL_MIN * 4);
    it.requests = None;
    assert!(it.answers.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn on_change_sends_only_changes_and_deletions() {
    let deadlocks = "/weir/deadlocks/deadlock[id=*]/state/queued-bytes";
    let mut it = Subscriber::new(list(
        ListMode::Stream,
        vec![
            to(OPER, SubscriptionMode::OnChange),
            to(deadlocks, SubscriptionMode::OnChange),
        ],
    ))
    .await;
    assert_eq!(it.paths().await.len(), 3);
    assert_eq!(it.next().await.unwrap(), None);
    // Long after the last snapshot something changes, and nothing was sent until then.
    tokio::time::sleep(Duration::from_secs(60)).await;
    it.change(|state| with_link(state, 1, false));
    let began = Instant::now();
    let changed = "/interfaces/interface[name=p2]/state/oper-status";
    assert_eq!(it.paths().await, [changed]);
    assert!(began.elapsed() <= INTERVAL_MIN * 2);
    it.change(|mut state| {
        state.deadlocks.current.clear();
        state
    });
    let told = it.next().await.unwrap().unwrap();
    let gone: Vec<_> = told
        .delete
        .iter()
        .map(|path| written(path).to_string())
        .collect();
    assert_eq!(gone, ["/weir/deadlocks/deadlock[id=1]/state"]);
    assert!(told.update.is_empty());
}

#[tokio::test(start_paused = true)]
async fn samples_come_in_their_interval_and_redundant_ones_with_the_heartbeat() {
    let mut often = to("/weir/state/name", SubscriptionMode::Sample);
    often.sample_interval = 2 * SECOND;
    let mut rare = to(OPER, SubscriptionMode::Sample);
    rare.sample_interval = SECOND;
    rare.suppress_redundant = true;
    rare.heartbeat_interval = 7 * SECOND;
    let mut it = Subscriber::new(list(ListMode::Stream, vec![often, rare])).await;
    assert_eq!(it.paths().await.len(), 3);
    assert_eq!(it.next().await.unwrap(), None);
    let began = Instant::now();
    let mut seen = Vec::new();
    while began.elapsed() < Duration::from_secs(14) {
        let paths = it.paths().await;
        seen.push((began.elapsed().as_secs(), paths.len()));
    }
    // One every two seconds, and both of the other path after seven.
    assert_eq!(
        seen,
        [
            (2, 1),
            (4, 1),
            (6, 1),
            (7, 2),
            (8, 1),
            (10, 1),
            (12, 1),
            (14, 3)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn target_defined_samples_counters_and_sends_the_rest_on_change() {
    let all = "/interfaces/interface[name=p1]/state";
    let mut it = Subscriber::new(list(
        ListMode::Stream,
        vec![to(all, SubscriptionMode::TargetDefined)],
    ))
    .await;
    let first = it.paths().await;
    assert!(first.contains(&format!("{all}/mtu")), "{first:?}");
    assert_eq!(it.next().await.unwrap(), None);
    it.change(|state| with_link(state, 0, false));
    assert_eq!(it.paths().await, [format!("{all}/oper-status")]);
    let sample = it.paths().await;
    assert_eq!(sample.len(), 8, "{sample:?}");
    assert!(sample.iter().all(|path| path.contains("/counters/")));
}

#[tokio::test(start_paused = true)]
async fn updates_only_begins_with_the_sync() {
    let mut asked = list(ListMode::Stream, vec![to(OPER, SubscriptionMode::OnChange)]);
    asked.updates_only = true;
    let mut it = Subscriber::new(asked).await;
    assert_eq!(it.next().await.unwrap(), None);
    it.change(|state| with_link(state, 0, false));
    assert_eq!(it.paths().await.len(), 1);
}

/// The queue is bounded, samples are skipped while it is full and counted as duplicates, and a subscriber that reads
/// nothing at all loses the call.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_misses_samples_and_a_stalled_one_is_ended() {
    let mut sample = to(OPER, SubscriptionMode::Sample);
    sample.sample_interval = SECOND;
    let mut it = Subscriber::new(list(ListMode::Stream, vec![sample.clone()])).await;
    // Read nothing for a while: the queue fills, and one message waits beside it.
    tokio::time::sleep(READER_WAIT).await;
    assert_eq!(it.answers.len(), QUEUE_MAX);
    let looks = it.switch.lock().unwrap().1;
    assert!(looks <= QUEUE_MAX + 2, "{looks} looks for nobody");
    let mut missed = 0;
    for _ in 0..QUEUE_MAX + 4 {
        if let Some(told) = it.next().await.unwrap() {
            missed += told.update[0].duplicates;
        }
    }
    assert!(missed >= 10, "{missed}");

    let mut it = Subscriber::new(list(ListMode::Stream, vec![sample])).await;
    tokio::time::sleep(READER_WAIT * 3).await;
    assert_eq!(it.figures.streams(), 0);
    assert_eq!(it.figures.counters().slow_readers, 1);
    for _ in 0..QUEUE_MAX {
        it.next().await.unwrap();
    }
    assert!(it.answers.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn unusable_subscriptions_are_refused() {
    let ten_thousand = list(
        ListMode::Stream,
        vec![to(OPER, SubscriptionMode::Sample); 10_000],
    );
    let mut fast = to(OPER, SubscriptionMode::Sample);
    fast.sample_interval = 1_000;
    let mut slow = to(OPER, SubscriptionMode::OnChange);
    slow.heartbeat_interval = u64::MAX;
    let strange = Subscription {
        mode: 9,
        ..to(OPER, SubscriptionMode::Sample)
    };
    let mut ascii = list(ListMode::Once, vec![to(OPER, SubscriptionMode::Sample)]);
    ascii.encoding = 3;
    for (asked, code, word) in [
        (ten_thousand, Code::InvalidArgument, "at most 64"),
        (
            list(ListMode::Stream, vec![]),
            Code::InvalidArgument,
            "no subscription",
        ),
        (
            list(ListMode::Stream, vec![fast]),
            Code::InvalidArgument,
            "250ms",
        ),
        (
            list(ListMode::Stream, vec![slow]),
            Code::InvalidArgument,
            "heartbeat",
        ),
        (
            list(ListMode::Stream, vec![strange]),
            Code::InvalidArgument,
            "SAMPLE",
        ),
        (
            list(ListMode::Once, vec![to("/nix", SubscriptionMode::Sample)]),
            Code::Unimplemented,
            "/nix",
        ),
        (ascii, Code::Unimplemented, "PROTO"),
    ] {
        let mut it = Subscriber::new(asked).await;
        let status = it.next().await.unwrap_err();
        assert_eq!(status.code(), code, "{status}");
        assert!(status.message().contains(word), "{status}");
        assert!(it.answers.recv().await.is_none());
    }
}

/// Leaves of the modules that the switch does not serve (gNMI specification, 3.5.1.3 and 3.5.2.4).
#[tokio::test(start_paused = true)]
async fn a_leaf_that_is_not_served_does_not_end_the_others() {
    const ABSENT: [&str; 3] = [
        "/interfaces/interface/state/last-change",
        "openconfig:/interfaces/interface[name=p1]/ethernet/state/port-speed",
        "/qos/queues/queue[name=3]/state",
    ];
    let absent = |mode| ABSENT.map(|path| to(path, mode)).to_vec();
    for mode in [SubscriptionMode::Sample, SubscriptionMode::OnChange] {
        let mut asked = absent(mode);
        asked.push(to(OPER, mode));
        let mut it = Subscriber::new(list(ListMode::Stream, asked)).await;
        assert_eq!(it.paths().await.len(), 2, "{mode:?}: of p1 and p2");
    }
    let asked = absent(SubscriptionMode::Sample);
    let mut it = Subscriber::new(list(ListMode::Once, asked)).await;
    assert_eq!(it.next().await.unwrap(), None, "no value, and no error");
}

#[tokio::test(start_paused = true)]
async fn the_order_of_messages_is_kept() {
    let asked = || list(ListMode::Stream, vec![to(OPER, SubscriptionMode::OnChange)]);
    let mut it = Subscriber::new(asked()).await;
    it.next().await.unwrap();
    it.next().await.unwrap();
    it.ask(SubscribeAsk::Subscribe(asked())).await;
    assert_eq!(it.next().await.unwrap_err().code(), Code::InvalidArgument);

    let mut it = Subscriber::silent();
    it.ask(SubscribeAsk::Poll(Poll {})).await;
    assert_eq!(it.next().await.unwrap_err().code(), Code::InvalidArgument);

    let mut it = Subscriber::silent();
    let began = Instant::now();
    assert_eq!(it.next().await.unwrap_err().code(), Code::DeadlineExceeded);
    assert!(began.elapsed() >= FIRST_MESSAGE_WAIT);
    assert_eq!(it.figures.counters().silent, 1);
}

/// A client that has closed its side still gets updates; one that has disconnected does not.
#[tokio::test(start_paused = true)]
async fn a_half_closed_stream_goes_on_and_a_lost_client_ends_it() {
    let asked = list(ListMode::Stream, vec![to(OPER, SubscriptionMode::OnChange)]);
    let mut it = Subscriber::new(asked).await;
    it.requests = None;
    it.next().await.unwrap();
    it.next().await.unwrap();
    it.change(|state| with_link(state, 0, false));
    assert_eq!(it.paths().await.len(), 1);
    assert_eq!(it.figures.streams(), 1);
    it.answers.close();
    while it.figures.streams() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
