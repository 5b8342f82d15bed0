//! The reflecting end.

use std::collections::VecDeque;
use std::str::FromStr;

use weir_core::units::{Quanta, PRIORITY_COUNT};
use weir_core::wire::ethernet::{EthernetView, ETHERTYPE_MAC_CONTROL, HEADER_LENGTH};
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::reflection::{
    self, Account, Arrival, DeviceName, Message, Reflection, ReflectionView, Tag, TAG_LENGTH,
};
use weir_core::{MacAddress, Priority};

use super::WINDOW;

/// Number of remembered requests for pauses.
const REQUESTS: usize = PRIORITY_COUNT;
/// Maximum number of waiting replies: a window of them, and the PFC frames of a request.
const REPLIES_MAX: usize = 4 * WINDOW;

/// A deliberate fault, for tests that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// One in this many data frames does not arrive.
    Lose(u32),
    /// One in this many reflections does not leave.
    LoseBack(u32),
    /// Data frames are truncated to this many bytes.
    Cut(usize),
    /// Reflections are truncated to this many bytes.
    CutBack(usize),
    /// Data frames lose their tags.
    Strip,
    /// Reflections lose their tags.
    StripBack,
    /// A byte of one in this many data frames is changed.
    Change(u32),
    /// One in this many reflections leaves after the next.
    SwapBack(u32),
    /// PFC frames do not arrive.
    Eat,
    /// PFC frames do not leave.
    EatBack,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once('=').unwrap_or((text, "2"));
        let number: u32 = number
            .parse()
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| format!("`{number}` is not a number above 0"))?;
        Ok(match name {
            "lose" => Self::Lose(number),
            "lose-back" => Self::LoseBack(number),
            "cut" => Self::Cut(number as usize),
            "cut-back" => Self::CutBack(number as usize),
            "strip" => Self::Strip,
            "strip-back" => Self::StripBack,
            "change" => Self::Change(number),
            "swap-back" => Self::SwapBack(number),
            "eat" => Self::Eat,
            "eat-back" => Self::EatBack,
            _ => return Err(format!("unknown fault `{name}`")),
        })
    }
}

#[derive(Clone, Copy, Debug)]
enum Reply {
    Message {
        to: MacAddress,
        reflection: Reflection,
        length: usize,
    },
    Pause(Priority),
}

/// The reflecting end: one run at a time, the latest.
#[derive(Debug)]
pub struct Reflector {
    address: MacAddress,
    device: DeviceName,
    longest: u16,
    fault: Option<Fault>,
    run: Option<u64>,
    account: Account,
    answered: [bool; REQUESTS],
    replies: VecDeque<Reply>,
    lost_replies: u64,
    came: u64,
    left: u64,
}

impl Reflector {
    /// Creates a reflector at a device with this address and name that carries frames of `longest` bytes without a tag.
    pub fn new(address: MacAddress, device: &str, longest: u16, fault: Option<Fault>) -> Self {
        Self {
            address,
            device: DeviceName::new(device),
            longest,
            fault,
            run: None,
            account: Account::default(),
            answered: [false; REQUESTS],
            replies: VecDeque::with_capacity(REPLIES_MAX),
            lost_replies: 0,
            came: 0,
            left: 0,
        }
    }

    /// Returns the counts of the latest run.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Number of replies lost for lack of room.
    pub fn lost_replies(&self) -> u64 {
        self.lost_replies
    }

    /// Processes a received frame. Only data frames, queries and requests are answered, so that two reflectors do not
    /// keep each other busy.
    pub fn receive(&mut self, frame: &[u8]) {
        let is_mac_control = EthernetView::new_checked(frame)
            .is_ok_and(|frame| frame.ethertype() == ETHERTYPE_MAC_CONTROL);
        if is_mac_control {
            if self.fault != Some(Fault::Eat) {
                self.receive_mac_control(frame);
            }
            return;
        }
        if !reflection::is_reflection(frame) {
            return;
        }
        self.came += 1;
        let is_due = |every: u32| self.came.is_multiple_of(every.into());
        let mut damaged;
        let frame = match self.fault {
            Some(Fault::Lose(every)) if is_due(every) => return,
            Some(Fault::Cut(length)) => &frame[..frame.len().min(length)],
            Some(Fault::Strip) => {
                damaged = without_tag(frame);
                &damaged
            }
            Some(Fault::Change(every)) if is_due(every) => {
                damaged = frame.to_vec();
                if let Some(last) = damaged.last_mut() {
                    *last ^= 1;
                }
                &damaged
            }
            _ => frame,
        };
        let view = ReflectionView::new_checked(frame);
        match view.and_then(|view| Ok((view, view.read()?))) {
            Ok((view, read)) => self.receive_message(&view, &read),
            Err(_) => self.account.unreadable += 1,
        }
    }

    /// Writes the frame that is due, and returns its length in bytes; `None` if none is.
    pub fn next_frame(&mut self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            self.left += 1;
            let left = self.left;
            let is_due = |every: u32| left.is_multiple_of(every.into());
            if matches!(self.fault, Some(Fault::SwapBack(every)) if is_due(every))
                && self.replies.len() > 1
            {
                self.replies.swap(0, 1);
            }
            let reply = self.replies.pop_front()?;
            let (to, reflection, length) = match reply {
                Reply::Pause(priority) => {
                    let mut times = [None; PRIORITY_COUNT];
                    times[priority.index()] = Some(Quanta(1));
                    self.account.pauses_sent[priority.index()] += 1;
                    if self.fault == Some(Fault::EatBack) {
                        continue;
                    }
                    return MacControl::Pfc { times }.emit(self.address, buffer);
                }
                Reply::Message {
                    to,
                    reflection,
                    length,
                } => (to, reflection, length),
            };
            let length = reflection.emit(to, self.address, length, buffer)?;
            let is_echo = matches!(reflection.message, Message::Echo { .. });
            return Some(match self.fault {
                Some(Fault::LoseBack(every)) if is_echo && is_due(every) => continue,
                Some(Fault::CutBack(most)) if is_echo => length.min(most),
                Some(Fault::StripBack) if is_echo => {
                    let stripped = without_tag(&buffer[..length]);
                    buffer[..stripped.len()].copy_from_slice(&stripped);
                    stripped.len()
                }
                _ => length,
            });
        }
    }

    fn receive_mac_control(&mut self, frame: &[u8]) {
        let Ok(MacControl::Pfc { times }) = MacControl::parse(frame) else {
            return;
        };
        let came = self.account.pauses_came.iter_mut().zip(times);
        came.filter(|(_, time)| time.is_some())
            .for_each(|(count, _)| *count = count.saturating_add(1));
    }

    fn receive_message(&mut self, view: &ReflectionView<'_>, read: &Reflection) {
        let (to, run) = (view.source(), read.run);
        if read.message == Message::Hello {
            if self.run != Some(run) {
                (self.run, self.account) = (Some(run), Account::default());
                self.answered = [false; REQUESTS];
                self.replies.clear();
            }
            let welcome = Message::Welcome {
                longest: self.longest,
                device: self.device,
            };
            return self.reply(to, run, None, welcome, 0);
        }
        if self.run != Some(run) {
            return;
        }
        match read.message {
            Message::Data { number } => {
                self.account.data = self.account.data.saturating_add(1);
                let length = usize::from(view.sent_length());
                self.echo(to, read, number, view.arrival(), length);
            }
            Message::Query => self.reply(to, run, None, Message::Account(self.account), 0),
            Message::PausesPlease {
                number,
                priority,
                count,
            } => self.pause(number, priority, count),
            _ => {}
        }
    }

    /// Builds a reflection with the length and the tag with which the data frame was sent.
    fn echo(
        &mut self,
        to: MacAddress,
        data: &Reflection,
        number: u32,
        arrival: Arrival,
        length: usize,
    ) {
        let tag = data.tag.map_or(0, |_| TAG_LENGTH);
        if HEADER_LENGTH + length > self.longest.into() {
            self.lost_replies += 1;
            return;
        }
        let echo = Message::Echo { number, arrival };
        self.reply(to, data.run, data.tag, echo, HEADER_LENGTH + tag + length);
    }

    fn pause(&mut self, number: u32, priority: Priority, count: u8) {
        let answered = self.answered.get_mut(number as usize);
        if answered.is_some_and(|answered| !std::mem::replace(answered, true)) {
            for _ in 0..count {
                self.queue(Reply::Pause(priority));
            }
        }
    }

    fn reply(
        &mut self,
        to: MacAddress,
        run: u64,
        tag: Option<Tag>,
        message: Message,
        length: usize,
    ) {
        let reflection = Reflection { run, tag, message };
        self.queue(Reply::Message {
            to,
            reflection,
            length,
        });
    }

    fn queue(&mut self, reply: Reply) {
        if self.replies.len() < REPLIES_MAX {
            self.replies.push_back(reply);
        } else {
            self.lost_replies += 1;
        }
    }
}

fn without_tag(frame: &[u8]) -> Vec<u8> {
    let is_tagged = EthernetView::new_checked(frame).is_ok_and(|it| it.ethertype() == 0x8100);
    if !is_tagged {
        return frame.to_vec();
    }
    let rest = frame.get(12 + TAG_LENGTH..).unwrap_or(&[]);
    [&frame[..12], rest].concat()
}
