//! IPFIX (RFC 7011): queue depth, pauses, credits and drops of one port and priority, by one template.
//!
//! Elements that IANA has no number for are enterprise-specific. Increases are since the previous record of the same
//! port and priority, so that the sum of a stream equals the switch's count.

use weir_core::units::NANOS_PER_SECOND;

use crate::writer::Writer;

const VERSION: u16 = 10;
const TEMPLATE_SET: u16 = 2;
/// The first number that a template may have.
const TEMPLATE: u16 = 256;
const HEADER_BYTES: usize = 16;
const SET_HEADER_BYTES: usize = 4;
const ENTERPRISE_BIT: u16 = 0x8000;
/// Length of a field that has its length in front of it.
const VARIABLE: u16 = 65_535;
/// Longest text with a length of one byte.
const TEXT_MAX: usize = 254;
const PAUSED: u8 = 1;
const PAUSING: u8 = 2;
/// Priority of frames that have none.
const NO_PRIORITY: u8 = 255;
/// Seconds from 1900, where NTP's time begins, to 1970.
const UNIX_EPOCH_IN_NTP: u64 = 2_208_988_800;

/// An information element of the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its name.
    pub name: &'static str,
    /// Its number: IANA's, or one of the enterprise.
    pub number: u16,
    /// True if the number is one of the enterprise.
    pub is_own: bool,
    /// Abstract data type (RFC 7012).
    pub kind: &'static str,
    /// Its length in bytes; `None` for a text with its length in front of it.
    pub length: Option<u16>,
    /// Semantics and unit.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

const fn standard(
    name: &'static str,
    number: u16,
    kind: &'static str,
    length: Option<u16>,
    unit: &'static str,
    meaning: &'static str,
) -> Element {
    Element {
        name,
        number,
        is_own: false,
        kind,
        length,
        unit,
        meaning,
    }
}

const fn own(
    name: &'static str,
    number: u16,
    (kind, length): (&'static str, u16),
    unit: &'static str,
    meaning: &'static str,
) -> Element {
    Element {
        name,
        number,
        is_own: true,
        kind,
        length: Some(length),
        unit,
        meaning,
    }
}

const U8: (&str, u16) = ("unsigned8", 1);
const U32: (&str, u16) = ("unsigned32", 4);
const U64: (&str, u16) = ("unsigned64", 8);

/// The template's elements, in the order of a record.
pub const ELEMENTS: [Element; 14] = [
    standard(
        "observationTimeNanoseconds",
        325,
        "dateTimeNanoseconds",
        Some(8),
        "",
        "Time of the reading",
    ),
    standard(
        "interfaceName",
        82,
        "string",
        None,
        "",
        "The port's name in the configuration",
    ),
    own(
        "weirPriority",
        1,
        U8,
        "identifier",
        "802.1Q priority, 0 to 7; 255 for frames without one: control frames, and frames that cannot be read",
    ),
    own(
        "weirIngressBytes",
        2,
        U64,
        "quantity, octets",
        "Charged to the ingress buffer, in whole cells",
    ),
    own(
        "weirEgressBytes",
        3,
        U64,
        "quantity, octets",
        "Queue depth: waiting to leave by the port",
    ),
    own(
        "weirReceivedPauseNanoseconds",
        4,
        U64,
        "deltaCounter, nanoseconds",
        "Time for which the neighbour paused the priority",
    ),
    own(
        "weirReceivedPauses",
        5,
        U32,
        "deltaCounter, pauses",
        "Pauses by the neighbour that began",
    ),
    own(
        "weirSentPauseNanoseconds",
        6,
        U64,
        "deltaCounter, nanoseconds",
        "Time for which the switch paused the neighbour",
    ),
    own(
        "weirSentPauses",
        7,
        U32,
        "deltaCounter, pauses",
        "Pauses by the switch that began",
    ),
    own(
        "weirPauseFlags",
        8,
        U8,
        "flags",
        "1: the neighbour pauses the priority; 2: the switch pauses the neighbour",
    ),
    own(
        "weirCreditsUsed",
        9,
        U32,
        "quantity, credits",
        "Credits of the neighbour that are consumed and not freed; 0 in a class without credits",
    ),
    own(
        "weirCreditLimit",
        10,
        U32,
        "quantity, credits",
        "Maximum number of the neighbour's credits; 0 until it reports it, and in a class without credits",
    ),
    own(
        "weirCreditsOutstanding",
        11,
        U32,
        "quantity, credits",
        "Credits given to the neighbour whose frames have not arrived",
    ),
    standard(
        "droppedPacketDeltaCount",
        133,
        "unsigned64",
        Some(8),
        "deltaCounter, packets",
        "Frames from the port that the switch core dropped, for any reason",
    ),
];

/// Bytes of a record without its text.
const RECORD_BYTES: usize = {
    let (mut bytes, mut index) = (0, 0);
    while index < ELEMENTS.len() {
        bytes += match ELEMENTS[index].length {
            Some(length) => length as usize,
            None => 1,
        };
        index += 1;
    }
    bytes
};

/// Pauses in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// Their time in nanoseconds since the previous record.
    pub nanos: u64,
    /// Pauses that have begun since.
    pub begun: u32,
    /// True while one lasts.
    pub active: bool,
}

/// Credits in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    /// Credits of the neighbour that are consumed and not freed.
    pub used: u32,
    /// The neighbour's credits at most.
    pub limit: u32,
    /// Credits given to the neighbour whose frames have not arrived.
    pub outstanding: u32,
}

/// One port and priority at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record<'a> {
    /// When, in nanoseconds since 1970.
    pub unix_nanos: u64,
    /// The port's name; more than 254 bytes are cut off.
    pub port: &'a str,
    /// The priority; `None` for frames without one.
    pub priority: Option<u8>,
    /// Charged to the ingress buffer.
    pub ingress_bytes: u64,
    /// Waiting to leave by the port.
    pub egress_bytes: u64,
    /// Pauses by the neighbour.
    pub received: Pauses,
    /// Pauses by the switch.
    pub sent: Pauses,
    /// Credits; zero in a class without.
    pub credits: Credits,
    /// Frames dropped since the record before.
    pub drops: u64,
}

/// A message to a collector; every message is written into the same memory.
#[derive(Clone, Debug)]
pub struct Message {
    writer: Writer,
    domain: u32,
    enterprise: u32,
    /// Records in all messages sent so far, modulo 2^32.
    sequence: u32,
    records: u32,
    /// Beginning of the data set that is being written.
    set: Option<usize>,
}

impl Message {
    /// Returns an empty message of an observation domain, whose own elements are those of `enterprise`.
    pub fn new(domain: u32, enterprise: u32) -> Self {
        let mut message = Self {
            writer: Writer::new(),
            domain,
            enterprise,
            sequence: 0,
            records: 0,
            set: None,
        };
        message.begin();
        message
    }

    fn begin(&mut self) {
        self.writer.clear();
        self.writer.put(&[0; HEADER_BYTES]);
        self.records = 0;
        self.set = None;
    }

    /// Returns true if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.writer.len() == HEADER_BYTES
    }

    /// Number of records.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Adds the template to an empty message.
    pub fn add_template(&mut self) {
        let start = self.open_set(TEMPLATE_SET);
        self.writer.put_u16(TEMPLATE);
        self.writer.put_u16(ELEMENTS.len() as u16);
        for element in ELEMENTS {
            let bit = if element.is_own { ENTERPRISE_BIT } else { 0 };
            self.writer.put_u16(element.number | bit);
            self.writer.put_u16(element.length.unwrap_or(VARIABLE));
            if element.is_own {
                self.writer.put_u32(self.enterprise);
            }
        }
        self.close_set(start);
    }

    /// Adds a record. Returns false, without any change, if there is no room for it.
    pub fn add(&mut self, record: &Record<'_>) -> bool {
        let name = cut(record.port);
        let header = match self.set {
            Some(_) => 0,
            None => SET_HEADER_BYTES,
        };
        if self.writer.room() < header + RECORD_BYTES + name.len() {
            return false;
        }
        if self.set.is_none() {
            self.set = Some(self.open_set(TEMPLATE));
        }
        let writer = &mut self.writer;
        writer.put_u64(ntp(record.unix_nanos));
        writer.put(&[name.len() as u8]);
        writer.put(name);
        writer.put(&[record.priority.unwrap_or(NO_PRIORITY)]);
        writer.put_u64(record.ingress_bytes);
        writer.put_u64(record.egress_bytes);
        for pauses in [record.received, record.sent] {
            writer.put_u64(pauses.nanos);
            writer.put_u32(pauses.begun);
        }
        let flag = |active, flag| if active { flag } else { 0 };
        writer.put(&[flag(record.received.active, PAUSED) | flag(record.sent.active, PAUSING)]);
        let credits = record.credits;
        writer.put_u32(credits.used);
        writer.put_u32(credits.limit);
        writer.put_u32(credits.outstanding);
        writer.put_u64(record.drops);
        self.records += 1;
        true
    }

    /// Returns the message as it is sent at `unix_seconds`.
    pub fn finish(&mut self, unix_seconds: u32) -> &[u8] {
        if let Some(start) = self.set.take() {
            self.close_set(start);
        }
        let length = self.writer.len() as u16;
        self.writer.set_u16(0, VERSION);
        self.writer.set_u16(2, length);
        self.writer.set_u32(4, unix_seconds);
        self.writer.set_u32(8, self.sequence);
        self.writer.set_u32(12, self.domain);
        self.writer.bytes()
    }

    /// Begins the next message. The records of this one count in the sequence if it was sent.
    pub fn begin_next(&mut self, is_sent: bool) {
        if is_sent {
            self.sequence = self.sequence.wrapping_add(self.records);
        }
        self.begin();
    }

    fn open_set(&mut self, id: u16) -> usize {
        let start = self.writer.len();
        self.writer.put_u16(id);
        self.writer.put_u16(0);
        start
    }

    fn close_set(&mut self, start: usize) {
        let length = self.writer.len().saturating_sub(start) as u16;
        self.writer.set_u16(start + 2, length);
    }
}

/// The bytes of `text` that fit, in whole characters.
fn cut(text: &str) -> &[u8] {
    let mut end = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.as_bytes().get(..end).unwrap_or_default()
}

/// NTP's 64-bit format (RFC 5905). Fractions are rounded up, so that a reader that rounds down gets the same
/// nanosecond.
const fn ntp(unix_nanos: u64) -> u64 {
    let seconds = unix_nanos / NANOS_PER_SECOND + UNIX_EPOCH_IN_NTP;
    let fraction = ((unix_nanos % NANOS_PER_SECOND) << 32).div_ceil(NANOS_PER_SECOND);
    (seconds << 32) | fraction
}
