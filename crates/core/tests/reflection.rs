//! Frames of the reflection test, byte by byte and there and back.

use weir_core::wire::reflection::{
    is_reflection, Account, Arrival, DeviceName, Message, Reflection, ReflectionView, Tag,
    MESSAGE_LENGTH_MAX, TAG_LENGTH,
};
use weir_core::wire::WireError;
use weir_core::{MacAddress, Priority};

const TO: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const FROM: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

fn emit(run: u64, tag: Option<Tag>, message: Message) -> Vec<u8> {
    let mut buffer = [0xaa; MESSAGE_LENGTH_MAX + TAG_LENGTH];
    let sent = Reflection { run, tag, message };
    let length = sent.emit(TO, FROM, 0, &mut buffer).unwrap();
    buffer[..length].to_vec()
}

#[test]
fn every_message_arrives_as_it_was_sent() {
    let tag = Tag::new(Priority::ALL[5], 7);
    let (number, length) = (0x0102_0304, 1480);
    let arrival = |tag, is_unchanged| Arrival {
        tag,
        length,
        is_unchanged,
    };
    let messages = [
        Message::Hello,
        Message::Welcome {
            longest: 1518,
            device: DeviceName::new("eth0"),
        },
        Message::Data { number },
        Message::Echo {
            number,
            arrival: arrival(tag, true),
        },
        Message::Echo {
            number,
            arrival: arrival(None, false),
        },
        Message::Query,
        Message::Account(Account {
            data: 1,
            unreadable: 2,
            pauses_came: [3, 4, 5, 6, 7, 8, 9, 10],
            pauses_sent: [11, 12, 13, 14, 15, 16, 17, 18],
        }),
        Message::PausesPlease {
            number,
            priority: Priority::ALL[3],
            count: 9,
        },
    ];
    for message in messages {
        for tag in [None, tag] {
            let run = 0x0123_4567_89ab_cdef;
            let frame = emit(run, tag, message);
            let view = ReflectionView::new_checked(&frame).unwrap();
            assert_eq!(view.read(), Ok(Reflection { run, tag, message }));
            assert_eq!(view.source(), FROM);
            assert_eq!(view.arrival().tag, tag);
        }
    }
}

#[test]
fn a_welcome_is_as_long_as_its_contents() {
    let message = Message::Welcome {
        longest: 1518,
        device: DeviceName::new("eth0"),
    };
    // With a tag it needs no padding: header, tag, head, the longest frame and the device.
    let frame = emit(1, Tag::new(Priority::ALL[0], 1), message);
    assert_eq!(frame.len(), 14 + 4 + 26 + 2 + 16);
}

/// The bytes of SplitMix64 with the seed `run ^ (kind << 32 | number).rotate_left(24)`, big-endian.
#[test]
fn data_is_filled_with_bytes_derived_from_run_kind_and_number() {
    let mut frame = emit(u64::MAX, None, Message::Data { number: 1 });
    let fill: [u8; 16] = 0xae52_7900_698a_a6d5_f01f_e16e_f5f6_eeeb_u128.to_be_bytes();
    assert_eq!(frame[40..56], fill);
    assert!(
        ReflectionView::new_checked(&frame)
            .unwrap()
            .arrival()
            .is_unchanged
    );
    frame[50] ^= 1;
    assert!(
        !ReflectionView::new_checked(&frame)
            .unwrap()
            .arrival()
            .is_unchanged
    );
}

#[test]
fn frames_of_another_protocol_are_no_reflections() {
    let mut frame = emit(1, None, Message::Query);
    assert!(is_reflection(&frame));
    frame[12] ^= 1;
    assert!(!is_reflection(&frame));
    let refused = ReflectionView::new_checked(&frame).map(|_| ());
    assert_eq!(refused, Err(WireError::WrongProtocol));
}
