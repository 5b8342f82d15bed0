//! The sending end: counts the credits that its frames consume.

use super::{ahead, CreditHints, CreditState, CreditTerms, CreditTimes};
use crate::sets::PrioritySet;
use crate::units::{Bytes, Duration, Instant, Priority, PRIORITY_COUNT};
use crate::wire::credit::{Consumed, CreditRecords, CreditUpdate, Freed};

/// Interval between messages until the neighbour has answered, as a multiple of the refresh time.
const HELLO_REFRESHES: u64 = 10;

/// Sends only frames for which the neighbour has given credits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreditSender {
    epoch: u32,
    /// The receiver's epoch; zero if unknown.
    peer: u32,
    channels: [Option<Channel>; PRIORITY_COUNT],
    number: u8,
    /// The last CF_Update was implausible.
    doubts: bool,
    update_due: bool,
    sent_at: Option<Instant>,
    next_at: Instant,
    /// Start of the wait for the neighbour's answer; `None` before the first refresh.
    waits_since: Option<Instant>,
    /// A neighbour that is silent for longer is assumed not to use credits.
    patience: Duration,
    gave_up: bool,
    hints: CreditHints,
    updates_sent: u64,
    updates_received: u64,
    updates_ignored: u64,
    updates_implausible: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Channel {
    /// As sent by the receiver in this epoch.
    terms: Option<CreditTerms>,
    /// CC.
    consumed: u32,
    /// R_CF as last received.
    freed: u32,
    used_max: u32,
}

/// Counters of one class at its sending end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendingGauges {
    /// State of the direction.
    pub state: CreditState,
    /// Credits consumed (CC), modulo 2^32.
    pub consumed: u32,
    /// Credits freed (R_CF) as last received, modulo 2^32.
    pub freed: u32,
    /// Credits used (CU): consumed and not yet freed.
    pub used: u32,
    /// Highest number of credits used.
    pub watermark: u32,
    /// Maximum number of credits; zero until the neighbour has sent it.
    pub limit: u32,
}

impl Channel {
    fn limit(&self) -> u32 {
        self.terms.map_or(0, |terms| terms.limit())
    }

    /// CU. Zero if the receiver has freed more than was sent, which is impossible.
    fn used(&self) -> u32 {
        ahead(self.consumed, self.freed).max(0) as u32
    }

    fn available(&self) -> u32 {
        self.limit().saturating_sub(self.used())
    }
}

impl CreditSender {
    /// Creates a sender for `classes`. `is_regular`: the neighbour is known not to use credits.
    pub fn new(classes: impl Iterator<Item = Priority>, times: &CreditTimes) -> Self {
        let mut channels = [const { None }; PRIORITY_COUNT];
        classes.for_each(|priority| channels[priority.index()] = Some(Channel::default()));
        Self {
            epoch: times.epoch.max(1),
            peer: 0,
            channels,
            number: 0,
            doubts: false,
            update_due: true,
            sent_at: None,
            next_at: Instant::ZERO,
            waits_since: None,
            patience: times.patience,
            gave_up: false,
            hints: CreditHints::default(),
            updates_sent: 0,
            updates_received: 0,
            updates_ignored: 0,
            updates_implausible: 0,
        }
    }

    /// Begins an epoch after the link has come up. Nothing of the previous one counts. Another neighbour may be there,
    /// so that announcements count only once they are set again.
    pub fn begin_anew(&mut self, now: Instant, times: &CreditTimes) {
        self.begin_epoch(self.epoch);
        self.waits_since = Some(now);
        self.gave_up = false;
        self.set_hints(
            times,
            CreditHints {
                denied: self.hints.denied,
                ..CreditHints::default()
            },
        );
        self.next_at = now;
    }

    /// Sets the neighbour's announcements. Credits in use stay as they are.
    pub fn set_hints(&mut self, times: &CreditTimes, hints: CreditHints) {
        self.hints = hints;
        self.patience = match hints.offered.is_empty() {
            true => times.patience,
            false => times.patience_offered,
        };
    }

    /// The neighbour's announcements, as last set.
    pub const fn hints(&self) -> CreditHints {
        self.hints
    }

    fn begin_epoch(&mut self, after: u32) {
        self.epoch = after.wrapping_add(1).max(1);
        self.peer = 0;
        self.doubts = false;
        for channel in self.channels.iter_mut().flatten() {
            *channel = Channel {
                used_max: channel.used_max,
                ..Channel::default()
            };
        }
        self.update_due = true;
    }

    /// Processes a CF_Update. Returns true if the sendable frames may have changed.
    pub fn receive(&mut self, update: &CreditUpdate) -> bool {
        let CreditRecords::Freed(records) = &update.records else {
            return false;
        };
        self.updates_received += 1;
        if update.sender_epoch != self.epoch || update.receiver_epoch == 0 {
            // A receiver that does not know this epoch learns it from the answer. One that knows a later epoch met this
            // sender before a restart that set the clock back.
            if update.sender_epoch != 0 && ahead(update.sender_epoch, self.epoch) > 0 {
                self.begin_epoch(update.sender_epoch);
            }
            self.updates_ignored += 1;
            self.update_due = true;
            return true;
        }
        let progress = ahead(update.receiver_epoch, self.peer);
        if self.peer != 0 && progress < 0 {
            // Late, or from a receiver whose clock was set back: the answer corrects it.
            self.updates_ignored += 1;
            self.update_due = true;
            return false;
        }
        let is_new = self.peer == 0 || progress > 0;
        self.peer = update.receiver_epoch;
        let pairs = self.channels.iter_mut().zip(records);
        let pairs = pairs.filter_map(|(channel, record)| Some((channel.as_mut()?, record)));
        let (mut has_news, mut is_plausible) = (is_new, true);
        for (channel, record) in pairs {
            match channel.receive(*record, is_new) {
                Some(is_news) => has_news |= is_news,
                None => is_plausible = false,
            }
        }
        if !is_plausible {
            self.updates_implausible += 1;
        }
        if core::mem::replace(&mut self.doubts, !is_plausible) && !is_plausible {
            self.begin_epoch(self.epoch);
            return true;
        }
        // Answers a repetition, so that the receiver can stop repeating.
        self.update_due |= is_new || !has_news;
        has_news
    }

    /// State of one class.
    pub fn state(&self, priority: Priority) -> CreditState {
        match &self.channels[priority.index()] {
            Some(channel) if channel.terms.is_some() => CreditState::Credits,
            None => CreditState::Fallback,
            Some(_) if self.peer != 0 || self.gave_up => CreditState::Fallback,
            Some(_) if self.hints.absent.contains(priority) => CreditState::Fallback,
            Some(_) => CreditState::Waiting,
        }
    }

    /// Returns true if the credits cover a frame of `longest`. A sender always waits for enough credits for the longest
    /// frame, so that short frames do not use up those that a long one waits for.
    pub fn may_send(&self, priority: Priority, longest: Bytes) -> bool {
        self.channels[priority.index()]
            .as_ref()
            .is_some_and(|channel| {
                let cost = channel.terms.map(|terms| terms.cost(longest));
                cost.is_some_and(|cost| cost <= channel.available())
            })
    }

    /// Accounts for a frame that is sent. Returns true if the next timer becomes earlier.
    pub fn consume(
        &mut self,
        now: Instant,
        times: &CreditTimes,
        priority: Priority,
        length: Bytes,
    ) -> bool {
        let Some(channel) = &mut self.channels[priority.index()] else {
            return false;
        };
        if let Some(terms) = channel.terms {
            channel.consumed = channel.consumed.wrapping_add(terms.cost(length));
            channel.used_max = channel.used_max.max(channel.used());
        }
        let next_at = self.next_at.min(now + times.consumed);
        next_at != core::mem::replace(&mut self.next_at, next_at)
    }

    /// Reserves up to `most` credits for frames sent on another path, and returns their number. Enough for
    /// `longest` remain available.
    pub fn set_aside(&mut self, priority: Priority, most: u32) -> u32 {
        let Some(channel) = &mut self.channels[priority.index()] else {
            return 0;
        };
        let credits = most.min(channel.available());
        channel.consumed = channel.consumed.wrapping_add(credits);
        channel.used_max = channel.used_max.max(channel.used());
        credits
    }

    /// Returns credits that were reserved in this epoch and not used.
    pub fn take_back(&mut self, priority: Priority, credits: u32) {
        if let Some(channel) = &mut self.channels[priority.index()] {
            let credits = credits.min(channel.used());
            channel.consumed = channel.consumed.wrapping_sub(credits);
        }
    }

    /// Notes which messages are due at `now`. Returns true if the state of a class has changed.
    pub fn refresh(&mut self, now: Instant, times: &CreditTimes) -> bool {
        let waits_since = *self.waits_since.get_or_insert(now);
        let gives_up = !self.gave_up && self.peer == 0 && waits_since + self.patience <= now;
        self.gave_up |= gives_up;
        if self.next_at <= now {
            self.update_due |= self.peer == 0 || self.is_used();
            self.next_at = if self.peer == 0 && self.gave_up {
                now + times.idle
            } else if self.peer == 0 {
                now + times.refresh.saturating_mul(HELLO_REFRESHES)
            } else if self.is_used() {
                now + times.consumed
            } else {
                Instant::FAR_FUTURE
            };
        }
        gives_up
    }

    /// The time at which [`refresh`](Self::refresh) is next due.
    pub fn next_at(&self) -> Instant {
        match self.waits_since {
            Some(since) if !self.gave_up && self.peer == 0 => {
                self.next_at.min(since + self.patience)
            }
            _ => self.next_at,
        }
    }

    /// Returns true if a message is due at `now`. Answers keep a minimum interval.
    pub fn is_due(&self, now: Instant, times: &CreditTimes) -> bool {
        let distance = times.refresh.divided_by(2);
        self.update_due && self.sent_at.is_none_or(|sent| sent + distance <= now)
    }

    /// Returns when a message that keeps the minimum interval is due.
    pub fn due_at(&self, times: &CreditTimes) -> Instant {
        let distance = times.refresh.divided_by(2);
        match (self.update_due, self.sent_at) {
            (true, Some(sent)) => sent + distance,
            (true, None) => Instant::ZERO,
            (false, _) => Instant::FAR_FUTURE,
        }
    }

    /// Returns the CC_Update that is due.
    pub fn take(&mut self, now: Instant, times: &CreditTimes) -> Option<CreditUpdate> {
        if !self.is_due(now, times) {
            return None;
        }
        self.update_due = false;
        self.sent_at = Some(now);
        self.number = self.number.wrapping_add(1);
        self.updates_sent += 1;
        let record = |channel: &Option<Channel>| {
            let channel = channel.as_ref()?;
            channel.terms?;
            Some(Consumed {
                consumed: channel.consumed,
                heard: channel.freed,
            })
        };
        Some(CreditUpdate {
            number: self.number,
            sender_epoch: self.epoch,
            receiver_epoch: self.peer,
            records: CreditRecords::Consumed(core::array::from_fn(|index| {
                record(&self.channels[index])
            })),
        })
    }

    fn is_used(&self) -> bool {
        let mut channels = self.channels.iter().flatten();
        channels.any(|channel| channel.used() > 0)
    }

    /// Counters of one class; `None` for one without credits.
    pub fn gauges(&self, priority: Priority) -> Option<SendingGauges> {
        let channel = self.channels[priority.index()].as_ref()?;
        Some(SendingGauges {
            state: self.state(priority),
            consumed: channel.consumed,
            freed: channel.freed,
            used: channel.used().min(channel.limit()),
            watermark: channel.used_max,
            limit: channel.limit(),
        })
    }

    /// CC_Updates sent, CF_Updates received, and how many of those were ignored: of another epoch or late, and
    /// implausible.
    pub const fn updates(&self) -> [u64; 4] {
        [
            self.updates_sent,
            self.updates_received,
            self.updates_ignored,
            self.updates_implausible,
        ]
    }

    /// Clears state that decides nothing: statistics, and all but two bits of the message number.
    #[cfg(feature = "testing")]
    pub fn fold(&mut self) {
        self.number %= 4;
        (
            self.updates_sent,
            self.updates_received,
            self.updates_ignored,
            self.updates_implausible,
        ) = (0, 0, 0, 0);
        for channel in self.channels.iter_mut().flatten() {
            channel.used_max = 0;
        }
    }

    pub(crate) fn classes(&self) -> PrioritySet {
        let mut classes = PrioritySet::default();
        for priority in Priority::ALL {
            if self.channels[priority.index()].is_some() {
                classes.insert(priority);
            }
        }
        classes
    }
}

impl Channel {
    /// Processes a record of the epoch in force, and returns true if it has news. `None` if a receiver cannot be in
    /// this state: the message was corrupted, or the two ends disagree about their counters.
    fn receive(&mut self, record: Option<Freed>, begins: bool) -> Option<bool> {
        let terms = record.map(|record| record.terms);
        if begins {
            self.terms = terms;
            // All credits are used until the receiver frees them.
            let limit = self.limit();
            (self.consumed, self.freed) = (0, 0u32.wrapping_sub(limit));
        }
        // Terms do not change within an epoch.
        if self.terms != terms {
            return None;
        }
        let freed = record.map_or(self.freed, |record| record.freed);
        // Cannot free more than was sent.
        if ahead(freed, self.consumed) > 0 {
            return None;
        }
        // A counter never goes back.
        let has_news = ahead(freed, self.freed) > 0;
        if has_news {
            self.freed = freed;
        }
        Some(has_news)
    }
}

#[cfg(test)]
impl CreditSender {
    pub(super) fn set_counters(&mut self, priority: Priority, to: u32) {
        if let Some(channel) = &mut self.channels[priority.index()] {
            (channel.consumed, channel.freed) = (to, to);
        }
    }
}
