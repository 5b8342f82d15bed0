//! The requesting end: frames to send next, and evaluation of received ones.

use std::collections::BTreeMap;

use weir_core::units::{Quanta, PRIORITY_COUNT};
use weir_core::wire::ethernet::{EthernetView, ETHERTYPE_MAC_CONTROL};
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::reflection::{
    self, Account, Arrival, Message, Reflection, ReflectionView, Tag,
};
use weir_core::{Duration, Instant, MacAddress, Priority};

use super::plan::{self, Shape};
use super::tally::{Ended, Neighbour, Trial, Way};

/// Maximum number of data frames in flight: few enough for any ring.
pub const WINDOW: usize = 32;
/// PFC frames of each priority, in each direction.
const PAUSES: u8 = 4;
/// Interval at which a request is repeated.
const REPEAT: Duration = Duration::from_millis(200);
/// Time limit of the first request: attaching a program may have reset the link.
const HELLO_LIMIT: Duration = Duration::from_millis(10_000);
const ANSWER_LIMIT: Duration = Duration::from_millis(3_000);
/// Minimum time after which a frame counts as lost until its reflection arrives.
const WAIT_MIN: Duration = Duration::from_millis(100);
/// Wait as a multiple of the longest round trip so far.
const WAIT_ROUND_TRIPS: u64 = 8;
const WAIT_MAX: Duration = Duration::from_millis(2_000);
/// Windows without any reflection after which the neighbour counts as gone.
const EMPTY_WINDOWS_MAX: u32 = 20;
/// Short enough for any NIC that obeys it: 512 bit times.
const PAUSE_TIME: Quanta = Quanta(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Searching for the neighbour since `since`.
    Hello { since: Instant },
    /// Sending data frames.
    Frames,
    /// Waiting for the last reflections until `until`.
    Drain { until: Instant },
    /// Sending PFC frames and requests for them; `next` is the next one.
    Pauses { next: u32 },
    /// Waiting for the neighbour's PFC frames until `until`.
    PausesBack { until: Instant },
    /// Requesting its counts since `since`.
    Query { since: Instant },
    /// Over.
    Done,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Unsent,
    Sent,
    Returned,
}

/// The requesting end.
#[derive(Debug)]
pub struct Tester {
    run: u64,
    address: MacAddress,
    neighbour: Option<MacAddress>,
    /// Longest frame of this end in bytes, without a tag.
    longest: usize,
    limit: Instant,
    began: Instant,
    phase: Phase,
    /// Time of the last request.
    asked: Option<Instant>,
    shapes: Vec<Shape>,
    fates: Vec<Fate>,
    next: usize,
    under_way: BTreeMap<u32, Instant>,
    longest_round_trip: Duration,
    empty_windows: u32,
    /// Latest returned frame by priority, followed by that of untagged frames.
    latest: [Option<u32>; PRIORITY_COUNT + 1],
    trial: Trial,
}

impl Tester {
    /// Starts a trial now, with `longest` bytes without a tag as its longest frame, that ends after `limit`. `run` is a
    /// random number.
    pub fn new(
        now: Instant,
        run: u64,
        address: MacAddress,
        longest: usize,
        limit: Duration,
    ) -> Self {
        Self {
            run,
            address,
            neighbour: None,
            longest,
            limit: now + limit,
            began: now,
            phase: Phase::Hello { since: now },
            asked: None,
            shapes: Vec::new(),
            fates: Vec::new(),
            next: 0,
            under_way: BTreeMap::new(),
            longest_round_trip: Duration::ZERO,
            empty_windows: 0,
            latest: [None; PRIORITY_COUNT + 1],
            trial: Trial::default(),
        }
    }

    /// Returns true when the trial is over.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Returns the number of data frames sent, and their total.
    pub fn progress(&self) -> (usize, usize) {
        (self.next, self.shapes.len())
    }

    /// Ends the trial on a user's request.
    pub fn interrupt(&mut self) {
        self.end(Ended::Interrupted);
    }

    /// Returns the results. `now` is the trial's end.
    pub fn finish(mut self, now: Instant) -> Trial {
        let frames = &mut self.trial.frames;
        for (shape, fate) in self.shapes.iter().zip(&self.fates) {
            if *fate == Fate::Sent {
                frames.lost.add(shape.length);
                let vlan = shape.tag.map_or(0, Tag::vlan);
                frames.lost_of_vlan += u64::from(vlan > 0);
            }
        }
        self.trial.took_milliseconds = now.saturating_since(self.began).as_nanos() / 1_000_000;
        self.trial
    }

    /// Processes a received frame.
    pub fn receive(&mut self, now: Instant, frame: &[u8]) {
        let is_mac_control = EthernetView::new_checked(frame)
            .is_ok_and(|frame| frame.ethertype() == ETHERTYPE_MAC_CONTROL);
        if is_mac_control {
            return self.receive_mac_control(frame);
        }
        if !reflection::is_reflection(frame) {
            return;
        }
        let view = ReflectionView::new_checked(frame);
        match view.and_then(|view| Ok((view, view.read()?))) {
            Ok((view, read)) if read.run == self.run => self.receive_message(now, &view, &read),
            // Of another trial.
            Ok(_) => {}
            Err(_) => self.trial.frames.unreadable_here += 1,
        }
    }

    /// Writes the frame that is due, and returns its length in bytes; `None` if none is.
    pub fn next_frame(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        if now >= self.limit && !self.is_done() {
            self.end(Ended::TimedOut);
        }
        match self.phase {
            Phase::Hello { since } => {
                if now.saturating_since(since) >= HELLO_LIMIT {
                    self.end(Ended::NoNeighbour);
                }
                self.ask(now, Message::Hello, buffer)
            }
            Phase::Frames => self.next_data(now, buffer),
            Phase::Drain { until } => {
                if self.under_way.is_empty() || now >= until {
                    self.phase = Phase::Pauses { next: 0 };
                }
                None
            }
            Phase::Pauses { next } => self.next_pause(now, next, buffer),
            Phase::PausesBack { until } => {
                let has_all = self.trial.pauses.came_here.iter().sum::<u32>()
                    >= u32::from(PAUSES) * PRIORITY_COUNT as u32;
                if has_all || now >= until {
                    self.asked = None;
                    self.phase = Phase::Query { since: now };
                }
                None
            }
            Phase::Query { since } => {
                if now.saturating_since(since) >= ANSWER_LIMIT {
                    self.end(Ended::Silent);
                }
                self.ask(now, Message::Query, buffer)
            }
            Phase::Done => None,
        }
    }

    /// The latest time for the next call of [`next_frame`](Self::next_frame) if nothing is received.
    pub fn next_moment(&self, now: Instant) -> Instant {
        let soonest = match self.phase {
            Phase::Hello { .. } | Phase::Query { .. } => self.asked.map(|asked| asked + REPEAT),
            Phase::Frames if self.under_way.len() < WINDOW => None,
            Phase::Frames => self.oldest().map(|sent| sent + self.wait()),
            Phase::Drain { until } | Phase::PausesBack { until } => Some(until),
            Phase::Pauses { .. } | Phase::Done => None,
        };
        soonest.unwrap_or(now).min(self.limit)
    }

    fn end(&mut self, ended: Ended) {
        self.trial.ended = ended;
        self.phase = Phase::Done;
    }

    fn oldest(&self) -> Option<Instant> {
        self.under_way.values().min().copied()
    }

    fn wait(&self) -> Duration {
        let nanos = self.longest_round_trip.as_nanos() * WAIT_ROUND_TRIPS;
        Duration::from_nanos(nanos).max(WAIT_MIN).min(WAIT_MAX)
    }

    fn emit(
        &self,
        message: Message,
        tag: Option<Tag>,
        length: usize,
        buffer: &mut [u8],
    ) -> Option<usize> {
        let reflection = Reflection {
            run: self.run,
            tag,
            message,
        };
        let to = self.neighbour.unwrap_or(MacAddress([0xff; 6]));
        reflection.emit(to, self.address, length, buffer)
    }

    /// Sends the request, unless it was just sent.
    fn ask(&mut self, now: Instant, message: Message, buffer: &mut [u8]) -> Option<usize> {
        let is_due = self.asked.is_none_or(|asked| now >= asked + REPEAT);
        if !is_due || self.is_done() {
            return None;
        }
        self.asked = Some(now);
        self.emit(message, None, 0, buffer)
    }

    fn next_data(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        if self.under_way.len() >= WINDOW {
            if now < self.oldest()? + self.wait() {
                return None;
            }
            self.give_up();
            if self.empty_windows >= EMPTY_WINDOWS_MAX {
                // The counts so far are still requested.
                self.phase = Phase::Drain { until: now };
                return None;
            }
        }
        let Some(shape) = self.shapes.get(self.next).copied() else {
            let until = now + self.wait();
            self.phase = Phase::Drain { until };
            return None;
        };
        let number = self.next as u32;
        let data = Message::Data { number };
        let length = self.emit(data, shape.tag, shape.length.into(), buffer)?;
        self.fates[self.next] = Fate::Sent;
        self.under_way.insert(number, now);
        self.trial.frames.sent.add(shape.length);
        self.next += 1;
        Some(length)
    }

    /// Stops waiting for frames in flight; a later reflection still counts.
    fn give_up(&mut self) {
        let is_empty = self.under_way.len() == WINDOW;
        self.empty_windows = match is_empty && self.is_silent() {
            true => self.empty_windows + 1,
            false => 0,
        };
        self.under_way.clear();
    }

    /// Returns true if no frame of the last window has returned.
    fn is_silent(&self) -> bool {
        let first = self.next.saturating_sub(WINDOW);
        let window = self.fates.get(first..self.next).unwrap_or(&[]);
        !window.contains(&Fate::Returned)
    }

    /// Half of them are PFC frames, the others requests for PFC frames of the neighbour.
    fn next_pause(&mut self, now: Instant, next: u32, buffer: &mut [u8]) -> Option<usize> {
        const OUT: u32 = PAUSES as u32 * PRIORITY_COUNT as u32;
        self.phase = Phase::Pauses { next: next + 1 };
        let priority = Priority::from_low_bits((next % PRIORITY_COUNT as u32) as u8);
        if next < OUT {
            let mut times = [None; PRIORITY_COUNT];
            times[priority.index()] = Some(PAUSE_TIME);
            let length = MacControl::Pfc { times }.emit(self.address, buffer)?;
            self.trial.pauses.sent_here[priority.index()] += 1;
            return Some(length);
        }
        // Twice, since one may be lost; it is answered once.
        if next < OUT + 2 * PRIORITY_COUNT as u32 {
            let please = Message::PausesPlease {
                number: u32::from(priority.get()),
                priority,
                count: PAUSES,
            };
            return self.emit(please, None, 0, buffer);
        }
        let until = now + self.wait();
        self.phase = Phase::PausesBack { until };
        None
    }

    fn receive_mac_control(&mut self, frame: &[u8]) {
        // Others may be the NIC's own.
        let asked_for = matches!(
            self.phase,
            Phase::Pauses { .. } | Phase::PausesBack { .. } | Phase::Query { .. }
        );
        let Ok(MacControl::Pfc { times }) = MacControl::parse(frame) else {
            return;
        };
        if asked_for {
            let came = self.trial.pauses.came_here.iter_mut().zip(times);
            came.filter(|(_, time)| time.is_some())
                .for_each(|(count, _)| *count += 1);
        }
    }

    fn receive_message(&mut self, now: Instant, view: &ReflectionView<'_>, read: &Reflection) {
        match (self.phase, read.message) {
            (Phase::Hello { .. }, Message::Welcome { longest, device }) => {
                self.neighbour = Some(view.source());
                self.trial.neighbour = Some(Neighbour {
                    address: view.source().to_string(),
                    device: device.chars().collect(),
                    longest_bytes: longest,
                });
                self.shapes = plan::shapes(self.longest.min(longest.into()));
                self.fates = vec![Fate::Unsent; self.shapes.len()];
                self.phase = Phase::Frames;
            }
            (_, Message::Echo { number, arrival }) => self.receive_echo(now, view, number, arrival),
            (Phase::Query { .. }, Message::Account(account)) => {
                self.note_account(&account);
                self.end(Ended::Complete);
            }
            _ => {}
        }
    }

    fn receive_echo(
        &mut self,
        now: Instant,
        view: &ReflectionView<'_>,
        number: u32,
        there: Arrival,
    ) {
        let at = number as usize;
        let known = self.shapes.get(at).zip(self.fates.get_mut(at));
        let Some((shape, fate)) = known else {
            self.trial.frames.unreadable_here += 1;
            return;
        };
        match fate {
            Fate::Unsent => return self.trial.frames.unreadable_here += 1,
            Fate::Returned => return self.trial.frames.repeated += 1,
            Fate::Sent => *fate = Fate::Returned,
        }
        if let Some(sent) = self.under_way.remove(&number) {
            let took = now.saturating_since(sent);
            self.longest_round_trip = self.longest_round_trip.max(took);
        }
        let frames = &mut self.trial.frames;
        frames.returned += 1;
        let tag = shape.tag.map_or(PRIORITY_COUNT, |tag| tag.priority.index());
        match &mut self.latest[tag] {
            Some(latest) if *latest > number => frames.reordered += 1,
            latest => *latest = Some(number),
        }
        let sent_length = view.sent_length();
        note(&mut frames.there, *shape, sent_length, there);
        note(&mut frames.back, *shape, sent_length, view.arrival());
    }

    fn note_account(&mut self, account: &Account) {
        let frames = &mut self.trial.frames;
        frames.arrived = Some(account.data.into());
        frames.unreadable_there = account.unreadable.into();
        self.trial.pauses.came_there = account.pauses_came;
        self.trial.pauses.sent_there = account.pauses_sent;
    }
}

/// A data frame and its reflection have the same length after the subtype.
fn note(way: &mut Way, shape: Shape, sent: u16, arrival: Arrival) {
    if arrival.length < sent {
        way.cut.add(shape.length);
    }
    if arrival.length > sent {
        way.grown.add(shape.length);
    }
    if !arrival.is_unchanged {
        way.changed.add(shape.length);
    }
    match (shape.tag, arrival.tag) {
        (Some(_), None) => way.untagged.add(shape.length),
        (sent, came) if sent != came => way.retagged.add(shape.length),
        _ => {}
    }
}
