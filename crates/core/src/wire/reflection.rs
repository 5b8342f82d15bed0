//! Reflection: tests a device against a neighbour that returns the frames sent to it.
//!
//! | offset | length | field |
//! |---|---|---|
//! | 0 | 6 | destination: the other end, or broadcast to find it |
//! | 6 | 6 | source |
//! | | 4 | some frames: a tag of 802.1Q, which moves the rest |
//! | 12 | 2 | EtherType 0x88B6 |
//! | 14 | 2 | subtype 0x5752 ("WR") |
//! | 16 | 1 | version 1 |
//! | 17 | 1 | kind: 1 hello, 2 welcome, 3 data, 4 echo, 5 query, 6 account, 7 request for pauses |
//! | 18 | 8 | run: a random number, the same in every frame of a test |
//! | 26 | 4 | number: of a frame; of a request for pauses |
//! | 30 | 2 | length in bytes from the subtype to the end, as sent |
//! | 32 | 2 | tag as sent, 0xFFFF for none |
//! | 34 | 2 | echo: tag of the received data frame, 0xFFFF for none |
//! | 36 | 2 | echo: length in bytes of the received data frame |
//! | 38 | 1 | echo: 1 if its bytes were unchanged; request for pauses: priority |
//! | 39 | 1 | request for pauses: number of frames |
//! | 40 | | data, echo: bytes derived from run, number and kind; welcome: longest frame (2), device (16); account: data frames (4), unreadable ones (4), and by priority PFC frames received (8 × 4) and sent (8 × 4) |

use super::ethernet::{EthernetView, FRAME_LENGTH_MIN, HEADER_LENGTH};
use super::WireError;
use crate::random::SplitMix64;
use crate::units::{MacAddress, Priority, PRIORITY_COUNT};

/// EtherType: local experimental EtherType 2 (IEEE 802), which switches treat as data.
pub const ETHERTYPE_REFLECTION: u16 = 0x88b6;
/// Length in bytes of the longest device name (`IFNAMSIZ`).
pub const DEVICE_LENGTH: usize = 16;
/// Length in bytes of the longest frame other than data or echo.
pub const MESSAGE_LENGTH_MAX: usize = HEADER_LENGTH + HEAD_LENGTH + ACCOUNT_LENGTH;
/// Length in bytes of a tag.
pub const TAG_LENGTH: usize = 4;

const SUBTYPE: u16 = 0x5752;
const VERSION: u8 = 1;
const HEAD_LENGTH: usize = 26;
const ACCOUNT_LENGTH: usize = 8 + 8 * PRIORITY_COUNT;
const ETHERTYPES_OF_TAGS: [u16; 2] = [0x8100, 0x88a8];
const UNTAGGED: u16 = 0xffff;

/// A tag of 802.1Q, without the drop eligible bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// PCP.
    pub priority: Priority,
    /// VLAN identifier, 0 to 4094.
    vlan: u16,
}

impl Tag {
    /// Creates a tag; `None` for a VLAN identifier above 4094.
    pub const fn new(priority: Priority, vlan: u16) -> Option<Self> {
        if vlan < 0xfff {
            Some(Self { priority, vlan })
        } else {
            None
        }
    }

    /// VLAN identifier.
    pub const fn vlan(self) -> u16 {
        self.vlan
    }

    fn to_bits(self) -> u16 {
        u16::from(self.priority.get()) << 13 | self.vlan
    }

    /// Ignores the drop eligible bit.
    fn from_bits(bits: u16) -> Option<Self> {
        Self::new(Priority::from_low_bits((bits >> 13) as u8), bits & 0xfff)
    }
}

/// State of a data frame on arrival at the neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its tag.
    pub tag: Option<Tag>,
    /// Bytes from the subtype to the end.
    pub length: u16,
    /// True if the bytes that arrived are those that were sent.
    pub is_unchanged: bool,
}

/// A device's name, truncated to [`DEVICE_LENGTH`] bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceName([u8; DEVICE_LENGTH]);

impl DeviceName {
    /// Creates a name from text.
    pub fn new(name: &str) -> Self {
        let mut bytes = [0; DEVICE_LENGTH];
        for (place, byte) in bytes.iter_mut().zip(name.bytes()) {
            *place = byte;
        }
        Self(bytes)
    }

    /// Its printable ASCII characters up to the first NUL: it comes from the network, and is written to a terminal.
    pub fn chars(&self) -> impl Iterator<Item = char> + '_ {
        let named = self.0.iter().take_while(|byte| **byte != 0);
        named
            .filter(|byte| byte.is_ascii_graphic())
            .map(|byte| char::from(*byte))
    }
}

/// Counts of the neighbour in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Data frames.
    pub data: u32,
    /// Frames of this EtherType that could not be parsed.
    pub unreadable: u32,
    /// PFC frames received, by priority.
    pub pauses_came: [u32; PRIORITY_COUNT],
    /// PFC frames sent, by priority.
    pub pauses_sent: [u32; PRIORITY_COUNT],
}

/// Contents of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Searches for reflectors, and begins a run.
    Hello,
    /// The answer to a hello.
    Welcome {
        /// Length in bytes of the longest reflected frame, without a tag.
        longest: u16,
        /// The receiving device.
        device: DeviceName,
    },
    /// To be reflected.
    Data {
        /// Counts up from 0.
        number: u32,
    },
    /// A data frame's reflection, with the same length and tag.
    Echo {
        /// Number of the data frame.
        number: u32,
        /// Arrival of the data frame.
        arrival: Arrival,
    },
    /// Requests the counts.
    Query,
    /// The answer to a query.
    Account(Account),
    /// Requests PFC frames.
    PausesPlease {
        /// A repeated request is answered once.
        number: u32,
        /// Priority to pause.
        priority: Priority,
        /// Number of frames.
        count: u8,
    },
}

impl Message {
    fn kind(&self) -> u8 {
        match self {
            Self::Hello => 1,
            Self::Welcome { .. } => 2,
            Self::Data { .. } => 3,
            Self::Echo { .. } => 4,
            Self::Query => 5,
            Self::Account(_) => 6,
            Self::PausesPlease { .. } => 7,
        }
    }
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reflection {
    /// The number of its test run.
    pub run: u64,
    /// The tag that it is sent with.
    pub tag: Option<Tag>,
    /// Contents.
    pub message: Message,
}

/// The bytes of a frame with a complete head.
#[derive(Clone, Copy, Debug)]
pub struct ReflectionView<'a> {
    source: MacAddress,
    tag: Option<Tag>,
    /// Bytes from the subtype on.
    body: &'a [u8],
    head: &'a [u8; HEAD_LENGTH],
}

/// Returns true for a frame of this EtherType, tagged or not, with any contents.
pub fn is_reflection(frame: &[u8]) -> bool {
    split(frame).is_ok()
}

/// Returns the tag, if any, and the bytes after the EtherType.
fn split(frame: &[u8]) -> Result<(Option<Tag>, &[u8]), WireError> {
    let ethernet = EthernetView::new_checked(frame)?;
    let (mut ethertype, mut body) = (ethernet.ethertype(), ethernet.payload());
    let mut tag = None;
    if ETHERTYPES_OF_TAGS.contains(&ethertype) {
        let (bytes, rest) = body
            .split_first_chunk::<TAG_LENGTH>()
            .ok_or(WireError::TooShort)?;
        tag = Tag::from_bits(u16::from_be_bytes([bytes[0], bytes[1]]));
        (ethertype, body) = (u16::from_be_bytes([bytes[2], bytes[3]]), rest);
    }
    match ethertype {
        ETHERTYPE_REFLECTION => Ok((tag, body)),
        _ => Err(WireError::WrongProtocol),
    }
}

impl<'a> ReflectionView<'a> {
    /// Checks EtherType, subtype and version, and that the fixed part is complete.
    ///
    /// # Errors
    ///
    /// See [`WireError`].
    pub fn new_checked(frame: &'a [u8]) -> Result<Self, WireError> {
        let (tag, body) = split(frame)?;
        let head: &[u8; HEAD_LENGTH] = body.first_chunk().ok_or(WireError::TooShort)?;
        let [high, low] = SUBTYPE.to_be_bytes();
        if head[..3] != [high, low, VERSION] {
            return Err(WireError::UnknownVersion);
        }
        let source = EthernetView::new_checked(frame)?.source();
        Ok(Self {
            source,
            tag,
            body,
            head,
        })
    }

    /// Returns the sender's address.
    pub fn source(&self) -> MacAddress {
        self.source
    }

    /// The length in bytes from the subtype to the end, as sent.
    pub fn sent_length(&self) -> u16 {
        self.word(16)
    }

    /// Returns the state on arrival, without the padding of short frames.
    pub fn arrival(&self) -> Arrival {
        let sent = usize::from(self.sent_length());
        let tag = if self.tag.is_some() { TAG_LENGTH } else { 0 };
        let is_padded = HEADER_LENGTH + tag + self.body.len() <= FRAME_LENGTH_MIN;
        let length = match is_padded {
            true => self.body.len().min(sent.max(HEAD_LENGTH)),
            false => self.body.len(),
        };
        let filled = self.body.get(HEAD_LENGTH..length.min(sent)).unwrap_or(&[]);
        let mut fill = Fill::new(self.run(), self.number(), self.head[3]);
        Arrival {
            tag: self.tag,
            length: u16::try_from(length).unwrap_or(u16::MAX),
            is_unchanged: filled.iter().all(|byte| *byte == fill.next()),
        }
    }

    /// Parses the contents.
    ///
    /// # Errors
    ///
    /// See [`WireError`].
    pub fn read(&self) -> Result<Reflection, WireError> {
        let number = self.number();
        let rest = &self.body[HEAD_LENGTH..];
        let message = match self.head[3] {
            1 => Message::Hello,
            2 => {
                let fixed: &[u8; 2 + DEVICE_LENGTH] =
                    rest.first_chunk().ok_or(WireError::TooShort)?;
                let mut device = [0; DEVICE_LENGTH];
                device.copy_from_slice(&fixed[2..]);
                let longest = u16::from_be_bytes([fixed[0], fixed[1]]);
                if usize::from(longest) < FRAME_LENGTH_MIN {
                    return Err(WireError::BadField("longest frame"));
                }
                Message::Welcome {
                    longest,
                    device: DeviceName(device),
                }
            }
            3 => Message::Data { number },
            4 => Message::Echo {
                number,
                arrival: Arrival {
                    tag: tag_of(self.word(20))?,
                    length: self.word(22),
                    is_unchanged: self.head[24] == 1,
                },
            },
            5 => Message::Query,
            6 => Message::Account(account(rest)?),
            7 => Message::PausesPlease {
                number,
                priority: Priority::new(self.head[24]).ok_or(WireError::BadField("priority"))?,
                count: self.head[25],
            },
            _ => return Err(WireError::UnknownVersion),
        };
        Ok(Reflection {
            run: self.run(),
            tag: tag_of(self.word(18))?,
            message,
        })
    }

    fn run(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.head[4..12]);
        u64::from_be_bytes(bytes)
    }

    fn number(&self) -> u32 {
        u32::from(self.word(12)) << 16 | u32::from(self.word(14))
    }

    /// Reads two bytes of the head; `at` is a constant below its length.
    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.head[at], self.head[at + 1]])
    }
}

fn tag_of(bits: u16) -> Result<Option<Tag>, WireError> {
    match bits {
        UNTAGGED => Ok(None),
        bits => Tag::from_bits(bits)
            .map(Some)
            .ok_or(WireError::BadField("tag")),
    }
}

fn account(bytes: &[u8]) -> Result<Account, WireError> {
    let fixed: &[u8; ACCOUNT_LENGTH] = bytes.first_chunk().ok_or(WireError::TooShort)?;
    let mut words = fixed
        .chunks_exact(4)
        .map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let mut next = || words.next().unwrap_or(0);
    Ok(Account {
        data: next(),
        unreadable: next(),
        pauses_came: core::array::from_fn(|_| next()),
        pauses_sent: core::array::from_fn(|_| next()),
    })
}

impl Reflection {
    /// Writes the whole frame, `length` bytes with a tag or the minimum length if longer, and returns its length;
    /// `None` if `buffer` is too small.
    pub fn emit(
        &self,
        destination: MacAddress,
        source: MacAddress,
        length: usize,
        buffer: &mut [u8],
    ) -> Option<usize> {
        let tag = if self.tag.is_some() { TAG_LENGTH } else { 0 };
        let rest = match self.message {
            Message::Welcome { .. } => 2 + DEVICE_LENGTH,
            Message::Account(_) => ACCOUNT_LENGTH,
            _ => 0,
        };
        let least = (HEADER_LENGTH + tag + HEAD_LENGTH + rest).max(FRAME_LENGTH_MIN);
        let frame = buffer.get_mut(..length.max(least))?;
        frame[..6].copy_from_slice(&destination.0);
        frame[6..12].copy_from_slice(&source.0);
        if let Some(tag) = self.tag {
            frame[12..14].copy_from_slice(&ETHERTYPES_OF_TAGS[0].to_be_bytes());
            frame[14..16].copy_from_slice(&tag.to_bits().to_be_bytes());
        }
        frame[12 + tag..14 + tag].copy_from_slice(&ETHERTYPE_REFLECTION.to_be_bytes());
        let body = &mut frame[HEADER_LENGTH + tag..];
        let body_length = u16::try_from(body.len()).ok()?;
        let (head, rest) = body.split_first_chunk_mut::<HEAD_LENGTH>()?;
        self.write_head(head, body_length);
        self.write_rest(rest);
        Some(frame.len())
    }

    fn number(&self) -> u32 {
        match self.message {
            Message::Data { number }
            | Message::Echo { number, .. }
            | Message::PausesPlease { number, .. } => number,
            _ => 0,
        }
    }

    fn write_head(&self, head: &mut [u8; HEAD_LENGTH], length: u16) {
        let bits = |tag: Option<Tag>| tag.map_or(UNTAGGED, Tag::to_bits).to_be_bytes();
        head[..2].copy_from_slice(&SUBTYPE.to_be_bytes());
        head[2] = VERSION;
        head[3] = self.message.kind();
        head[4..12].copy_from_slice(&self.run.to_be_bytes());
        head[12..16].copy_from_slice(&self.number().to_be_bytes());
        head[16..18].copy_from_slice(&length.to_be_bytes());
        head[18..20].copy_from_slice(&bits(self.tag));
        head[20..].fill(0);
        match self.message {
            Message::Echo { arrival, .. } => {
                head[20..22].copy_from_slice(&bits(arrival.tag));
                head[22..24].copy_from_slice(&arrival.length.to_be_bytes());
                head[24] = u8::from(arrival.is_unchanged);
            }
            Message::PausesPlease {
                priority, count, ..
            } => (head[24], head[25]) = (priority.get(), count),
            _ => {}
        }
    }

    fn write_rest(&self, rest: &mut [u8]) {
        match &self.message {
            Message::Data { .. } | Message::Echo { .. } => {
                let mut fill = Fill::new(self.run, self.number(), self.message.kind());
                rest.fill_with(|| fill.next());
            }
            Message::Welcome { longest, device } => {
                rest.fill(0);
                rest[..2].copy_from_slice(&longest.to_be_bytes());
                rest[2..2 + DEVICE_LENGTH].copy_from_slice(&device.0);
            }
            Message::Account(account) => {
                rest.fill(0);
                let by_priority = account.pauses_came.iter().chain(&account.pauses_sent);
                let words = [account.data, account.unreadable];
                let words = words.iter().chain(by_priority);
                for (place, word) in rest.chunks_exact_mut(4).zip(words) {
                    place.copy_from_slice(&word.to_be_bytes());
                }
            }
            _ => rest.fill(0),
        }
    }
}

/// The bytes that fill a frame.
struct Fill {
    random: SplitMix64,
    bytes: [u8; 8],
    at: usize,
}

impl Fill {
    fn new(run: u64, number: u32, kind: u8) -> Self {
        let frame = u64::from(kind) << 32 | u64::from(number);
        Self {
            random: SplitMix64::new(run ^ frame.rotate_left(24)),
            bytes: [0; 8],
            at: 8,
        }
    }

    fn next(&mut self) -> u8 {
        if self.at == self.bytes.len() {
            (self.bytes, self.at) = (self.random.next_u64().to_be_bytes(), 0);
        }
        self.at += 1;
        self.bytes[self.at - 1]
    }
}
