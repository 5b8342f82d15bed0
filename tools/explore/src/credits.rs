//! Every order of events on one link with credits: data, messages both ways, losses, repeats, restarts and flaps.
//!
//! Both ends are the core's. Time is not modelled: every timer may fire at any moment. Data frames keep their order;
//! messages to the data's sender may arrive in any order. A CC_Update does not overtake data sent before the previous
//! CC_Update, and data overtake at most one CC_Update.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};

use weir_core::credit::{CreditReceiver, CreditSender, CreditTerms, CreditTimes};
use weir_core::testing::CreditFaults;
use weir_core::wire::credit::CreditUpdate;
use weir_core::{Bytes, Duration, Instant, Priority};

const CLASS: Priority = Priority::ALL[3];
const FRAME: Bytes = Bytes::new(64);
const NOW: Instant = Instant::ZERO;
/// Number of message rounds after which two ends that can agree have agreed.
const ROUNDS: usize = 12;

/// Limits on events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Data frames that are sent.
    pub frames: u8,
    /// Data frames that are lost.
    pub data_losses: u8,
    /// Messages that are lost.
    pub losses: u8,
    /// Messages that are repeated.
    pub repeats: u8,
    /// Restarts and flaps of either end.
    pub restarts: u8,
}

/// A possible event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A data frame is sent.
    Send,
    /// The first data frame in flight arrives.
    Arrive,
    /// The first data frame in flight is lost.
    LoseData,
    /// A stored frame leaves.
    Leave,
    /// The sender sends a CC_Update.
    Consumed,
    /// The receiver sends a CF_Update.
    Freed,
    /// A CC_Update arrives.
    HearConsumed(Fate),
    /// The CF_Update at this position arrives.
    HearFreed(usize, Fate),
    /// The sender restarts, with or without its memory.
    Sender(Restart),
    /// The receiver restarts.
    Receiver(Restart),
}

/// Fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Arrives,
    /// It arrives, and will arrive again.
    IsRepeated,
    /// It is lost.
    IsLost,
}

/// Kind of restart of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Its link was down.
    Flap,
    /// Its process was replaced.
    Process,
}

#[derive(Clone, Debug, Hash)]
enum Item {
    Data,
    /// `behind`: data frames in flight that must arrive first.
    Update {
        update: CreditUpdate,
        behind: u8,
    },
}

#[derive(Clone, Debug, Hash)]
struct Link {
    sender: CreditSender,
    receiver: CreditReceiver,
    /// In flight from the data's sender.
    line: VecDeque<Item>,
    /// Data in flight that were sent before the last CC_Update.
    before_last: u8,
    /// In flight to the data's sender.
    back: VecDeque<CreditUpdate>,
    stored: u8,
    budget: Budget,
    /// True if an end treated a message as corrupt.
    is_doubted: bool,
}

/// Result of an exploration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Number of states.
    pub states: usize,
    /// Events that lead to a frame without room, if any.
    pub drop: Option<Vec<Action>>,
    /// Events after which credits are missing although everything has arrived, if any.
    pub leak: Option<Vec<Action>>,
    /// Events that lead to a message that its receiver treats as corrupt, if any.
    pub doubt: Option<Vec<Action>>,
}

/// A link to be explored completely.
#[derive(Clone, Copy, Debug)]
pub struct Exploration {
    /// Capacity of the buffer in frames, one credit each.
    pub limit: u8,
    /// Maximum number of messages in flight in each direction.
    pub messages: usize,
    /// Limits on events.
    pub budget: Budget,
    /// Deliberate faults of the receiver.
    pub faults: CreditFaults,
    /// Maximum number of states.
    pub most: usize,
}

fn times(epoch: u32) -> CreditTimes {
    CreditTimes {
        epoch,
        refresh: Duration::ZERO,
        consumed: Duration::ZERO,
        idle: Duration::ZERO,
        // Longer than any exploration.
        patience: Duration::from_secs(1),
        patience_offered: Duration::from_secs(1),
        spacing: Some(FRAME),
    }
}

impl Exploration {
    /// Explores breadth first. Returns `None` if there are too many states.
    pub fn run(&self) -> Option<Outcome> {
        let first = self.link();
        let mut parents = HashMap::new();
        parents.insert(digest(&first), None);
        let mut queue = VecDeque::from([first]);
        let mut outcome = Outcome {
            states: 0,
            drop: None,
            leak: None,
            doubt: None,
        };
        while let Some(link) = queue.pop_front() {
            outcome.states += 1;
            if outcome.states > self.most {
                return None;
            }
            let here = digest(&link);
            if outcome.leak.is_none() && !self.heals(&link) {
                outcome.leak = Some(story(&parents, here));
            }
            for action in link.actions(self.messages) {
                let mut next = link.clone();
                if !self.act(&mut next, action) {
                    let mut events = story(&parents, here);
                    events.push(action);
                    outcome.drop = Some(events);
                    return Some(outcome);
                }
                if outcome.doubt.is_none() && next.is_doubted {
                    let mut events = story(&parents, here);
                    events.push(action);
                    outcome.doubt = Some(events);
                }
                let there = digest(&next);
                parents.entry(there).or_insert_with(|| {
                    queue.push_back(next);
                    Some((here, action))
                });
            }
        }
        Some(outcome)
    }

    fn link(&self) -> Link {
        Link {
            sender: CreditSender::new([CLASS].into_iter(), &times(1)),
            receiver: self.receiver(1),
            line: VecDeque::new(),
            before_last: 0,
            back: VecDeque::new(),
            stored: 0,
            budget: self.budget,
            is_doubted: false,
        }
    }

    fn receiver(&self, epoch: u32) -> CreditReceiver {
        let mut terms = [None; 8];
        terms[CLASS.index()] = CreditTerms::new(64, 0, self.limit.into());
        let mut receiver = CreditReceiver::new(terms, &times(epoch));
        receiver.set_faults(self.faults);
        receiver
    }

    /// Executes an event. Returns false if a frame found no room.
    fn act(&self, link: &mut Link, action: Action) -> bool {
        let budget = &mut link.budget;
        match action {
            Action::Send => {
                budget.frames -= 1;
                link.sender.consume(NOW, &times(1), CLASS, FRAME);
                link.line.push_back(Item::Data);
            }
            Action::Arrive => {
                link.take_data();
                link.receiver.note_arrival(CLASS, FRAME);
                if link.stored == self.limit {
                    return false;
                }
                link.stored += 1;
                self.promise(link);
            }
            Action::LoseData => {
                budget.data_losses -= 1;
                link.take_data();
            }
            Action::Leave => {
                link.stored -= 1;
                self.promise(link);
            }
            Action::Consumed => link.send_consumed(),
            Action::Freed => {
                link.receiver.refresh(NOW, &times(1));
                if let Some(mut update) = link.receiver.take(NOW, &times(1)) {
                    update.number = 0;
                    link.back.push_back(update);
                }
            }
            Action::HearConsumed(fate) => {
                budget.spend(fate);
                let place = link.line.iter().position(|item| !item.is_data());
                let Some(Item::Update { update, .. }) = place.map(|place| link.line[place].clone())
                else {
                    return true;
                };
                if fate != Fate::IsRepeated {
                    link.line.remove(place.unwrap_or_default());
                }
                if fate != Fate::IsLost {
                    link.receiver.receive(&times(1), &update);
                    self.promise(link);
                }
            }
            Action::HearFreed(place, fate) => {
                budget.spend(fate);
                let update = link.back[place];
                if fate != Fate::IsRepeated {
                    link.back.remove(place);
                }
                if fate != Fate::IsLost {
                    link.sender.receive(&update);
                }
            }
            Action::Sender(restart) => {
                budget.restarts -= 1;
                let epoch = 100 * (1 + u32::from(budget.restarts));
                match restart {
                    Restart::Flap => link.sender.begin_anew(NOW, &times(1)),
                    Restart::Process => {
                        let times = times(1000 - epoch);
                        link.sender = CreditSender::new([CLASS].into_iter(), &times);
                    }
                }
            }
            Action::Receiver(restart) => {
                budget.restarts -= 1;
                let epoch = 100 * (1 + u32::from(budget.restarts));
                match restart {
                    Restart::Flap => link.receiver.begin_anew(NOW),
                    Restart::Process => {
                        link.receiver = self.receiver(1000 - epoch);
                        link.stored = 0;
                    }
                }
            }
        }
        let doubts = [link.sender.updates(), link.receiver.updates()];
        link.is_doubted |= doubts.iter().any(|[.., implausible]| *implausible > 0);
        link.sender.fold();
        link.receiver.fold();
        true
    }

    fn promise(&self, link: &mut Link) {
        let free = u64::from(self.limit - link.stored);
        let room = Bytes::new(free * FRAME.get());
        link.receiver.promise(&times(1), CLASS, room);
    }

    /// Returns true if all credits are restored once everything has arrived and left.
    fn heals(&self, link: &Link) -> bool {
        let mut link = link.clone();
        for _ in 0..ROUNDS {
            while link.line.iter().any(Item::is_data) {
                let heard = link.may_hear();
                let action = match heard && !link.may_arrive() {
                    true => Action::HearConsumed(Fate::Arrives),
                    false => Action::Arrive,
                };
                if !self.act(&mut link, action) {
                    // The search finds it.
                    return true;
                }
            }
            while link.stored > 0 {
                self.act(&mut link, Action::Leave);
            }
            while !link.line.is_empty() {
                self.act(&mut link, Action::HearConsumed(Fate::Arrives));
            }
            self.act(&mut link, Action::Freed);
            while !link.back.is_empty() {
                self.act(&mut link, Action::HearFreed(0, Fate::Arrives));
            }
            self.act(&mut link, Action::Consumed);
        }
        let sending = link.sender.gauges(CLASS).unwrap_or_default();
        let receiving = link.receiver.gauges(CLASS).unwrap_or_default();
        let limit = u32::from(self.limit);
        (sending.used, sending.limit, receiving.outstanding) == (0, limit, limit)
    }
}

impl Item {
    fn is_data(&self) -> bool {
        matches!(self, Self::Data)
    }
}

impl Budget {
    fn spend(&mut self, fate: Fate) {
        match fate {
            Fate::Arrives => {}
            Fate::IsRepeated => self.repeats -= 1,
            Fate::IsLost => self.losses -= 1,
        }
    }

    fn fates(&self) -> impl Iterator<Item = Fate> {
        let repeated = (self.repeats > 0).then_some(Fate::IsRepeated);
        let lost = (self.losses > 0).then_some(Fate::IsLost);
        [Some(Fate::Arrives), repeated, lost].into_iter().flatten()
    }
}

impl Link {
    fn actions(&self, messages: usize) -> Vec<Action> {
        let mut actions = Vec::new();
        let updates = self.line.iter().filter(|item| !item.is_data()).count();
        if self.budget.frames > 0 && self.sender.may_send(CLASS, FRAME) {
            actions.push(Action::Send);
        }
        if self.may_arrive() {
            actions.push(Action::Arrive);
            if self.budget.data_losses > 0 {
                actions.push(Action::LoseData);
            }
        }
        if self.stored > 0 {
            actions.push(Action::Leave);
        }
        if updates < messages {
            actions.push(Action::Consumed);
        }
        if self.back.len() < messages {
            actions.push(Action::Freed);
        }
        if self.may_hear() {
            actions.extend(self.budget.fates().map(Action::HearConsumed));
        }
        for place in 0..self.back.len() {
            let fates = self.budget.fates();
            actions.extend(fates.map(|fate| Action::HearFreed(place, fate)));
        }
        if self.budget.restarts > 0 {
            for restart in [Restart::Flap, Restart::Process] {
                actions.push(Action::Sender(restart));
                actions.push(Action::Receiver(restart));
            }
        }
        actions
    }

    /// Returns true if the first data frame would overtake at most one CC_Update.
    fn may_arrive(&self) -> bool {
        let place = self.line.iter().position(Item::is_data);
        place.is_some_and(|place| place <= 1)
    }

    /// Returns true if the first CC_Update would not overtake data that it must not.
    fn may_hear(&self) -> bool {
        let mut updates = self.line.iter().filter(|item| !item.is_data());
        matches!(updates.next(), Some(Item::Update { behind: 0, .. }))
    }

    fn take_data(&mut self) {
        if let Some(place) = self.line.iter().position(Item::is_data) {
            self.line.remove(place);
        }
        self.before_last = self.before_last.saturating_sub(1);
        for item in &mut self.line {
            if let Item::Update { behind, .. } = item {
                *behind = behind.saturating_sub(1);
            }
        }
    }

    fn send_consumed(&mut self) {
        self.sender.refresh(NOW, &times(1));
        if let Some(mut update) = self.sender.take(NOW, &times(1)) {
            update.number %= 4;
            let behind = self.before_last;
            self.line.push_back(Item::Update { update, behind });
            self.before_last = self.line.iter().filter(|item| item.is_data()).count() as u8;
        }
    }
}

/// Returns two hashes of a state, which no two of this many states share by accident.
fn digest(link: &Link) -> [u64; 2] {
    [0u8, 1].map(|salt| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        link.hash(&mut hasher);
        hasher.finish()
    })
}

type Parents = HashMap<[u64; 2], Option<([u64; 2], Action)>>;

/// Returns the events that lead to a state.
fn story(parents: &Parents, mut state: [u64; 2]) -> Vec<Action> {
    let mut events = Vec::new();
    while let Some(Some((before, action))) = parents.get(&state) {
        events.push(*action);
        state = *before;
    }
    events.reverse();
    events
}
