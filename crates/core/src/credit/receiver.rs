//! The receiving end: promises room, and counts the arrivals that use it.
//!
//! R_CF is a promise here. It is only raised to R_CC + window − limit, where the window is the amount that can
//! certainly be stored at that moment. In an epoch without losses that is the number of credits whose frames have left.

use super::{ahead, CreditState, CreditTerms, CreditTimes, CREDIT_LIMIT_MAX};
use crate::units::{Bytes, Instant, Priority, PRIORITY_COUNT};
use crate::wire::credit::{Consumed, CreditRecords, CreditUpdate, Freed};

/// Answers in an epoch after which everything older has been delivered.
const ANSWERS_NEEDED: u8 = 2;
/// Consecutive deficits under traffic after which credits are withheld, to distinguish losses from late frames.
const DEFICITS_AT_FIRST: u32 = 2;
/// Maximum of the above, after deficits that turned out to be late frames.
const DEFICITS_AT_MOST: u32 = 1024;

/// Gives credits for the room that is certainly available.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreditReceiver {
    epoch: u32,
    /// The sender's epoch; zero if unknown.
    peer: u32,
    /// CC_Updates of this epoch, up to [`ANSWERS_NEEDED`].
    answers: u8,
    /// Number of the last CC_Update.
    last_number: Option<u8>,
    channels: [Option<Channel>; PRIORITY_COUNT],
    /// Credits that the rings before the buffer can hold; `None` for unlimited.
    slots: Option<u32>,
    number: u8,
    /// The last CC_Update was implausible.
    doubts: bool,
    update_due: bool,
    sent_at: Option<Instant>,
    next_at: Instant,
    updates_sent: u64,
    updates_received: u64,
    updates_ignored: u64,
    updates_implausible: u64,
    /// Deliberate faults for the explorer.
    #[cfg(feature = "testing")]
    faults: crate::testing::CreditFaults,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Channel {
    terms: CreditTerms,
    /// R_CC.
    arrived: u32,
    /// R_CF as promised.
    freed: u32,
    /// R_CF in the last CF_Update.
    told: u32,
    /// R_CF as repeated by the sender.
    heard: u32,
    /// S_CC of the last plausible CC_Update.
    consumed: u32,
    /// R_CC when that message arrived.
    arrived_then: u32,
    /// Consecutive CC_Updates under traffic that showed a deficit.
    deficits: u32,
    deficits_needed: u32,
    /// Nothing is given until the sender has used up its credits.
    withholds: bool,
    /// The sender counts this class.
    is_counted: bool,
    returned: u64,
}

/// Counters of one class at its receiving end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivingGauges {
    /// State of the direction.
    pub state: CreditState,
    /// Credits of frames that have arrived (R_CC), modulo 2^32.
    pub arrived: u32,
    /// Credits freed (R_CF) as promised, modulo 2^32.
    pub freed: u32,
    /// Credits given whose frames have not arrived.
    pub outstanding: u32,
    /// Maximum number of credits.
    pub limit: u32,
    /// Credits returned for lost frames.
    pub returned: u64,
}

impl Channel {
    fn new(terms: CreditTerms) -> Self {
        let none = 0u32.wrapping_sub(terms.limit());
        Self {
            terms,
            arrived: 0,
            freed: none,
            told: none,
            heard: none,
            consumed: 0,
            arrived_then: 0,
            deficits: 0,
            deficits_needed: DEFICITS_AT_FIRST,
            withholds: false,
            is_counted: false,
            returned: 0,
        }
    }

    fn begin_epoch(&mut self, terms: CreditTerms) {
        *self = Self {
            returned: self.returned,
            ..Self::new(terms)
        };
    }

    /// Credits given since the epoch began.
    fn given(&self) -> u32 {
        self.freed.wrapping_add(self.terms.limit())
    }

    /// Credits given whose frames have not arrived.
    fn outstanding(&self) -> u32 {
        ahead(self.given(), self.arrived).max(0) as u32
    }

    /// Returns true if a sender can have consumed this many credits and know this R_CF. It consumes at most the given
    /// credits; it may have consumed fewer, since a message may be late.
    fn is_plausible(&self, record: &Consumed) -> bool {
        const MOST: i32 = 2 * CREDIT_LIMIT_MAX as i32;
        let unused = ahead(self.given(), record.consumed);
        (0..=MOST).contains(&unused) && ahead(record.heard, self.told) <= 0
    }

    /// Raises the promise as far as there is room.
    fn promise(&mut self, window: u32) {
        if self.withholds {
            return;
        }
        let freed = self
            .arrived
            .wrapping_add(window)
            .wrapping_sub(self.terms.limit());
        if ahead(freed, self.freed) > 0 {
            self.freed = freed;
        }
    }

    /// Processes S_CC of a CC_Update that follows another one of the epoch.
    fn compare(&mut self, consumed: u32, hurries: bool) {
        let missing = ahead(consumed, self.arrived);
        let is_still = consumed == self.consumed;
        self.consumed = consumed;
        if missing == 0 {
            if self.withholds {
                // They were late, not lost.
                self.deficits_needed = (self.deficits_needed * 2).min(DEFICITS_AT_MOST);
            }
            (self.deficits, self.withholds) = (0, false);
        } else if missing < 0 {
            // Frames sent after the message may have overtaken it. If nothing has arrived since the previous message,
            // the deficit was never sent: the message is another station's, or a copy.
            if is_still && self.arrived == self.arrived_then {
                self.arrived = consumed;
            }
        } else if is_still || hurries {
            // Nothing was sent between the two, and everything sent before has been delivered or never will be.
            self.arrived = consumed;
            self.returned += u64::from(missing.unsigned_abs());
            (self.deficits, self.withholds) = (0, false);
            self.deficits_needed = DEFICITS_AT_FIRST;
        } else {
            self.deficits = self.deficits.saturating_add(1);
            self.withholds |= self.deficits >= self.deficits_needed;
        }
        self.arrived_then = self.arrived;
    }
}

impl CreditReceiver {
    /// Creates a receiver that gives credits on these terms.
    pub fn new(terms: [Option<CreditTerms>; PRIORITY_COUNT], times: &CreditTimes) -> Self {
        Self {
            epoch: times.epoch.max(1),
            peer: 0,
            answers: 0,
            last_number: None,
            channels: terms.map(|terms| terms.map(Channel::new)),
            slots: None,
            number: 0,
            doubts: false,
            update_due: true,
            sent_at: None,
            next_at: Instant::ZERO,
            updates_sent: 0,
            updates_received: 0,
            updates_ignored: 0,
            updates_implausible: 0,
            #[cfg(feature = "testing")]
            faults: crate::testing::CreditFaults::default(),
        }
    }

    /// Begins an epoch after the link has come up. Nothing of the previous one counts.
    pub fn begin_anew(&mut self, now: Instant) {
        self.peer = 0;
        self.begin_epoch(self.epoch);
        self.next_at = now;
    }

    fn begin_epoch(&mut self, after: u32) {
        self.epoch = after.wrapping_add(1).max(1);
        self.answers = 0;
        self.last_number = None;
        self.doubts = false;
        for channel in self.channels.iter_mut().flatten() {
            channel.begin_epoch(channel.terms);
        }
        self.update_due = true;
    }

    /// Sets the number of credits that the rings before the buffer can hold. A lower number takes effect as credits
    /// return: [`outstanding`](ReceivingGauges::outstanding) reports how many are given.
    pub fn set_slots(&mut self, slots: Option<u32>) {
        self.slots = slots;
    }

    /// Injects these faults.
    #[cfg(feature = "testing")]
    pub fn set_faults(&mut self, faults: crate::testing::CreditFaults) {
        self.faults = faults;
    }

    /// Clears state that decides nothing: statistics, and the message number, which no sender reads.
    #[cfg(feature = "testing")]
    pub fn fold(&mut self) {
        self.number = 0;
        (
            self.updates_sent,
            self.updates_received,
            self.updates_ignored,
            self.updates_implausible,
        ) = (0, 0, 0, 0);
        for channel in self.channels.iter_mut().flatten() {
            channel.returned = 0;
        }
    }

    /// Returns true if both ends count credits.
    pub fn is_open(&self) -> bool {
        self.answers >= ANSWERS_NEEDED
    }

    /// Processes a CC_Update. Returns true if the available promises may have changed; then [`promise`](Self::promise)
    /// must be called for each class.
    pub fn receive(&mut self, times: &CreditTimes, update: &CreditUpdate) -> bool {
        let CreditRecords::Consumed(records) = &update.records else {
            return false;
        };
        self.updates_received += 1;
        let was_open = self.is_open();
        if update.sender_epoch == 0 || !self.agrees(update) {
            self.updates_ignored += 1;
            return was_open != self.is_open();
        }
        if self.last_number == Some(update.number) {
            // A repetition.
            return false;
        }
        let follows = self.last_number.replace(update.number).is_some();
        if !self.is_plausible(records) {
            self.updates_implausible += 1;
            if core::mem::replace(&mut self.doubts, true) {
                self.begin_epoch(self.epoch);
            }
            return was_open != self.is_open();
        }
        self.doubts = false;
        if !was_open {
            self.answers += 1;
        }
        for (channel, record) in self.channels.iter_mut().zip(records) {
            let Some(channel) = channel else { continue };
            channel.is_counted = record.is_some();
            let Some(record) = record else {
                // No later message will repeat it.
                channel.heard = channel.told;
                continue;
            };
            #[cfg(feature = "testing")]
            let hurries = self.faults.deficit_at_once;
            #[cfg(not(feature = "testing"))]
            let hurries = false;
            if ahead(record.heard, channel.heard) > 0 {
                channel.heard = record.heard;
            }
            if !was_open {
                // Frames sent before this epoch do not count.
                (channel.arrived, channel.consumed) = (record.consumed, record.consumed);
            } else if follows {
                channel.compare(record.consumed, hurries);
            }
            if channel.withholds {
                let due_at = self.sent_at.unwrap_or(Instant::ZERO) + times.refresh;
                self.next_at = self.next_at.min(due_at);
            }
        }
        true
    }

    /// Returns true if a sender can be in this state. If not, the message was corrupted, or the two ends disagree about
    /// their counters.
    fn is_plausible(&self, records: &[Option<Consumed>; PRIORITY_COUNT]) -> bool {
        #[cfg(feature = "testing")]
        if self.faults.epoch_ignored {
            return true;
        }
        let mut pairs = self.channels.iter().zip(records);
        pairs.all(|pair| match pair {
            (Some(channel), Some(record)) => channel.is_plausible(record),
            _ => true,
        })
    }

    /// Returns true if a CC_Update belongs to the epochs in force; otherwise adopts a later epoch.
    fn agrees(&mut self, update: &CreditUpdate) -> bool {
        #[cfg(feature = "testing")]
        if self.faults.epoch_ignored && self.peer != 0 {
            return true;
        }
        let is_later = ahead(update.receiver_epoch, self.epoch) > 0;
        if update.receiver_epoch != 0 && is_later {
            // The sender met this receiver before a restart that set the clock back.
            self.peer = update.sender_epoch;
            self.begin_epoch(update.receiver_epoch);
            return false;
        }
        if self.peer == 0 {
            self.peer = update.sender_epoch;
            self.update_due = true;
        } else if ahead(update.sender_epoch, self.peer) > 0 {
            self.peer = update.sender_epoch;
            self.begin_epoch(self.epoch);
        }
        let agrees = (update.sender_epoch, update.receiver_epoch) == (self.peer, self.epoch);
        // The sender learns the epochs in force, or that it is behind.
        self.update_due |= !agrees;
        agrees
    }

    /// State of one class.
    pub fn state(&self, priority: Priority) -> CreditState {
        match &self.channels[priority.index()] {
            Some(channel) if self.is_open() && channel.is_counted => CreditState::Credits,
            Some(_) if self.is_open() => CreditState::Fallback,
            Some(_) => CreditState::Waiting,
            None => CreditState::Fallback,
        }
    }

    /// Accounts for a frame that has arrived, whether stored or dropped.
    pub fn note_arrival(&mut self, priority: Priority, length: Bytes) {
        if let Some(channel) = &mut self.channels[priority.index()] {
            let cost = channel.terms.cost(length);
            channel.arrived = channel.arrived.wrapping_add(cost);
        }
    }

    /// Accounts for frames worth `credits` that arrived and left on another path.
    pub fn note_passed(&mut self, priority: Priority, credits: u32) {
        if let Some(channel) = &mut self.channels[priority.index()] {
            channel.arrived = channel.arrived.wrapping_add(credits);
        }
    }

    /// Promises the sender the available room: `room` bytes that are free now. Returns true if the next timer becomes
    /// earlier.
    pub fn promise(&mut self, times: &CreditTimes, priority: Priority, room: Bytes) -> bool {
        if !self.is_open() {
            return false;
        }
        let limits = self.channels.iter().flatten();
        let limits: u64 = limits.map(|channel| u64::from(channel.terms.limit())).sum();
        let Some(channel) = &mut self.channels[priority.index()] else {
            return false;
        };
        let size = u64::from(channel.terms.size());
        // A sender cannot use more than the limit, and treats an R_CF beyond its consumption as corrupted.
        let mut window = (room.get() / size).min(u64::from(channel.terms.limit()));
        if let Some(slots) = self.slots {
            let share = u64::from(slots) * u64::from(channel.terms.limit()) / limits.max(1);
            window = window.min(share);
        }
        #[cfg(feature = "testing")]
        if self.faults.early_return {
            window = u64::from(channel.terms.limit());
        }
        channel.promise(window as u32);
        let gap = ahead(channel.freed, channel.told).max(0) as u32;
        if gap >= channel.terms.spacing(times.spacing) {
            self.update_due = true;
            return false;
        }
        let due_at = self.sent_at.unwrap_or(Instant::ZERO) + times.refresh;
        let is_earlier = gap > 0 && due_at < self.next_at;
        if is_earlier {
            self.next_at = due_at;
        }
        is_earlier
    }

    /// Makes the next promise go out without delay.
    pub fn tell_at_once(&mut self) {
        self.update_due = true;
    }

    /// Notes which messages are due at `now`.
    pub fn refresh(&mut self, now: Instant, times: &CreditTimes) {
        if self.next_at <= now {
            self.update_due = true;
            self.next_at = now + times.refresh;
        }
    }

    /// The time at which [`refresh`](Self::refresh) is next due.
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Returns true if a message is due.
    pub fn is_due(&self) -> bool {
        self.update_due
    }

    /// Returns the CF_Update that is due.
    pub fn take(&mut self, now: Instant, times: &CreditTimes) -> Option<CreditUpdate> {
        if !core::mem::take(&mut self.update_due) {
            return None;
        }
        self.sent_at = Some(now);
        self.number = self.number.wrapping_add(1);
        self.updates_sent += 1;
        let mut is_settled = self.is_open();
        for channel in self.channels.iter_mut().flatten() {
            channel.told = channel.freed;
            is_settled &= channel.heard == channel.told && !channel.withholds;
        }
        self.next_at = now
            + match is_settled || self.peer == 0 {
                true => times.idle,
                false => times.refresh,
            };
        let record = |channel: &Option<Channel>| {
            channel.as_ref().map(|channel| Freed {
                freed: channel.freed,
                terms: channel.terms,
            })
        };
        Some(CreditUpdate {
            number: self.number,
            sender_epoch: self.peer,
            receiver_epoch: self.epoch,
            records: CreditRecords::Freed(core::array::from_fn(|index| {
                record(&self.channels[index])
            })),
        })
    }

    /// Counters of one class; `None` for one without credits.
    pub fn gauges(&self, priority: Priority) -> Option<ReceivingGauges> {
        let channel = self.channels[priority.index()].as_ref()?;
        Some(ReceivingGauges {
            state: self.state(priority),
            arrived: channel.arrived,
            freed: channel.freed,
            outstanding: channel.outstanding(),
            limit: channel.terms.limit(),
            returned: channel.returned,
        })
    }

    /// CF_Updates sent, CC_Updates received, and how many of those were ignored: of another epoch, and implausible.
    pub const fn updates(&self) -> [u64; 4] {
        [
            self.updates_sent,
            self.updates_received,
            self.updates_ignored,
            self.updates_implausible,
        ]
    }
}

#[cfg(test)]
impl CreditReceiver {
    pub(super) fn set_counters(&mut self, priority: Priority, to: u32) {
        if let Some(channel) = &mut self.channels[priority.index()] {
            (channel.arrived, channel.freed, channel.told) = (to, to, to);
            (channel.heard, channel.consumed) = (to, to);
        }
    }
}
