//! Credit updates: the receiver's CF_Update and the sender's CC_Update. Names and meaning of the counters follow Ultra
//! Ethernet's credit-based flow control; the frame format is specific to this project.
//!
//! | offset | length | field |
//! |---|---|---|
//! | 0 | 6 | destination 01-80-C2-00-00-0E |
//! | 6 | 6 | source |
//! | 12 | 2 | EtherType 0x88B5 |
//! | 14 | 2 | subtype 0x5755 ("WU") |
//! | 16 | 1 | version 1 |
//! | 17 | 1 | kind: 1 CF_Update, 2 CC_Update |
//! | 18 | 1 | virtual channels with a record: bit p is priority p |
//! | 19 | 1 | number of the message, modulo 256 |
//! | 20 | 4 | epoch of the data's sender, zero if unknown |
//! | 24 | 4 | epoch of the data's receiver, zero if unknown |
//! | 28 | 12 or 8 each | records, lowest priority first |
//!
//! A record of a CF_Update: R_CF (4), credit limit in credits (4), credit size in bytes (2), packet overhead in bytes
//! (1, signed), reserved, zero (1). A record of a CC_Update: S_CC (4), R_CF as last received (4).

use super::ethernet::{FRAME_LENGTH_MIN, HEADER_LENGTH};
use super::message::Protocol;
use super::WireError;
use crate::credit::CreditTerms;
use crate::units::{MacAddress, PRIORITY_COUNT};

const PROTOCOL: Protocol = Protocol {
    subtype: 0x5755,
    version: 1,
};
const KIND_FREED: u8 = 1;
const KIND_CONSUMED: u8 = 2;
const FIXED_LENGTH: usize = 14;
const FREED_LENGTH: usize = 12;
const CONSUMED_LENGTH: usize = 8;

/// Record of a CF_Update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Freed {
    /// R_CF.
    pub freed: u32,
    /// Terms on which credits are given.
    pub terms: CreditTerms,
}

/// Record of a CC_Update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Consumed {
    /// S_CC.
    pub consumed: u32,
    /// R_CF as last received.
    pub heard: u32,
}

/// Records by priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CreditRecords {
    /// CF_Update, from the receiver of data to the sender.
    Freed([Option<Freed>; PRIORITY_COUNT]),
    /// CC_Update, from the sender of data to the receiver.
    Consumed([Option<Consumed>; PRIORITY_COUNT]),
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CreditUpdate {
    /// Differs from that of the previous message, so that a repetition is recognised.
    pub number: u8,
    /// Epoch of the data's sender, zero if unknown.
    pub sender_epoch: u32,
    /// Epoch of the data's receiver, zero if unknown.
    pub receiver_epoch: u32,
    /// Contents.
    pub records: CreditRecords,
}

impl CreditUpdate {
    /// Returns true for a frame of this protocol of any version.
    pub fn is_update(frame: &[u8]) -> bool {
        PROTOCOL.is_of(frame)
    }

    /// Parses a whole frame.
    ///
    /// # Errors
    ///
    /// See [`WireError`].
    pub fn parse(frame: &[u8]) -> Result<Self, WireError> {
        let (fixed, rest) = PROTOCOL.split::<FIXED_LENGTH>(frame)?;
        let named = fixed[4];
        let records = match fixed[3] {
            KIND_FREED => {
                let mut records = [None; PRIORITY_COUNT];
                let bytes = rest.chunks_exact(FREED_LENGTH);
                read(named, &mut records, bytes, |bytes| {
                    if bytes[11] != 0 {
                        return Err(WireError::BadField("reserved"));
                    }
                    let size = u16::from_be_bytes([bytes[8], bytes[9]]);
                    let terms = CreditTerms::new(size, bytes[10] as i8, number(&bytes[4..8]))
                        .ok_or(WireError::BadField("credit terms"))?;
                    let freed = number(&bytes[..4]);
                    Ok(Freed { freed, terms })
                })?;
                CreditRecords::Freed(records)
            }
            KIND_CONSUMED => {
                let mut records = [None; PRIORITY_COUNT];
                let bytes = rest.chunks_exact(CONSUMED_LENGTH);
                read(named, &mut records, bytes, |bytes| {
                    Ok(Consumed {
                        consumed: number(&bytes[..4]),
                        heard: number(&bytes[4..]),
                    })
                })?;
                CreditRecords::Consumed(records)
            }
            _ => return Err(WireError::UnknownVersion),
        };
        Ok(Self {
            number: fixed[5],
            sender_epoch: number(&fixed[6..10]),
            receiver_epoch: number(&fixed[10..14]),
            records,
        })
    }

    /// Writes the whole frame, padded to 60 B, and returns its length in bytes; `None` if `buffer` is too small.
    pub fn emit(&self, source: MacAddress, buffer: &mut [u8]) -> Option<usize> {
        let (kind, named, record_length) = match &self.records {
            CreditRecords::Freed(records) => (KIND_FREED, named(records), FREED_LENGTH),
            CreditRecords::Consumed(records) => (KIND_CONSUMED, named(records), CONSUMED_LENGTH),
        };
        let records_length = named.count_ones() as usize * record_length;
        let length = HEADER_LENGTH + FIXED_LENGTH + records_length;
        let frame = PROTOCOL.start(buffer, length.max(FRAME_LENGTH_MIN), source)?;
        let (fixed, rest) = frame[HEADER_LENGTH..].split_at_mut(FIXED_LENGTH);
        fixed[3] = kind;
        fixed[4] = named;
        fixed[5] = self.number;
        fixed[6..10].copy_from_slice(&self.sender_epoch.to_be_bytes());
        fixed[10..14].copy_from_slice(&self.receiver_epoch.to_be_bytes());
        match &self.records {
            CreditRecords::Freed(records) => {
                let places = rest.chunks_exact_mut(FREED_LENGTH);
                for (record, bytes) in records.iter().flatten().zip(places) {
                    bytes[..4].copy_from_slice(&record.freed.to_be_bytes());
                    bytes[4..8].copy_from_slice(&record.terms.limit().to_be_bytes());
                    bytes[8..10].copy_from_slice(&record.terms.size().to_be_bytes());
                    bytes[10] = record.terms.overhead() as u8;
                }
            }
            CreditRecords::Consumed(records) => {
                let places = rest.chunks_exact_mut(CONSUMED_LENGTH);
                for (record, bytes) in records.iter().flatten().zip(places) {
                    bytes[..4].copy_from_slice(&record.consumed.to_be_bytes());
                    bytes[4..].copy_from_slice(&record.heard.to_be_bytes());
                }
            }
        }
        Some(frame.len())
    }
}

fn named<T>(records: &[Option<T>; PRIORITY_COUNT]) -> u8 {
    let bits = records.iter().enumerate();
    bits.fold(0, |bits, (index, record)| {
        bits | u8::from(record.is_some()) << index
    })
}

fn read<'a, T>(
    named: u8,
    records: &mut [Option<T>; PRIORITY_COUNT],
    mut bytes: impl Iterator<Item = &'a [u8]>,
    record_of: impl Fn(&[u8]) -> Result<T, WireError>,
) -> Result<(), WireError> {
    for (index, record) in records.iter_mut().enumerate() {
        if named & 1 << index != 0 {
            *record = Some(record_of(bytes.next().ok_or(WireError::TooShort)?)?);
        }
    }
    Ok(())
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn freed() -> impl Strategy<Value = Option<Freed>> {
        let terms = (64u16.., -16i8..=127, 1u32..=1 << 20);
        let terms = terms.prop_map(|(size, overhead, limit)| {
            CreditTerms::new(size, overhead, limit).expect("valid terms")
        });
        prop::option::of((any::<u32>(), terms).prop_map(|(freed, terms)| Freed { freed, terms }))
    }

    fn consumed() -> impl Strategy<Value = Option<Consumed>> {
        let fields = any::<(u32, u32)>();
        prop::option::of(fields.prop_map(|(consumed, heard)| Consumed { consumed, heard }))
    }

    proptest! {
        #[test]
        fn written_messages_are_read_back(
            heads in any::<(u8, u32, u32)>(),
            freed in prop::array::uniform8(freed()),
            consumed in prop::array::uniform8(consumed()),
            is_freed: bool,
        ) {
            let update = CreditUpdate {
                number: heads.0,
                sender_epoch: heads.1,
                receiver_epoch: heads.2,
                records: match is_freed {
                    true => CreditRecords::Freed(freed),
                    false => CreditRecords::Consumed(consumed),
                },
            };
            let mut buffer = [0; 128];
            let length = update.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut buffer).unwrap();
            prop_assert!(length >= FRAME_LENGTH_MIN);
            prop_assert_eq!(CreditUpdate::parse(&buffer[..length]), Ok(update));
            // Cut before the padding, it is refused or has fewer records, and nothing panics.
            for cut in 0..length {
                let _ = CreditUpdate::parse(&buffer[..cut]);
            }
        }
    }

    #[test]
    fn fields_are_where_the_table_says() {
        let mut records = [None; PRIORITY_COUNT];
        let terms = CreditTerms::new(2048, -4, 300).unwrap();
        records[3] = Some(Freed {
            freed: 0x0102_0304,
            terms,
        });
        let update = CreditUpdate {
            number: 9,
            sender_epoch: 0xA1A2_A3A4,
            receiver_epoch: 0xB1B2_B3B4,
            records: CreditRecords::Freed(records),
        };
        let mut buffer = [0; 64];
        let length = update.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut buffer);
        assert_eq!(length, Some(60));
        let expected = [
            0x88, 0xB5, 0x57, 0x55, 1, 1, 0b1000, 9, 0xA1, 0xA2, 0xA3, 0xA4, 0xB1, 0xB2, 0xB3,
            0xB4, 1, 2, 3, 4, 0, 0, 1, 44, 8, 0, 0xFC, 0,
        ];
        assert_eq!(buffer[12..40], expected);
    }
}
