//! Parsers of input from a wire.
//!
//! Each one does not panic; what it reads is unchanged after writing and reading; a truncated frame is refused or reads the
//! same; and bytes after the parsed part change nothing.

use core::fmt::Debug;

use weir_core::config::{FabricKey, FABRIC_KEY_LENGTH};
use weir_core::wire::clcm::{self, Clcm, Phase};
use weir_core::wire::echo::Echo;
use weir_core::wire::ecn::{mark_congestion, marking_of, Marking};
use weir_core::wire::ethernet::{EthernetView, HEADER_LENGTH};
use weir_core::wire::lldp::credits::Credits;
use weir_core::wire::lldp::weir::Weir;
use weir_core::wire::lldp::{self, Content, Lldp, Received, Skipped};
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::reflection::{
    is_reflection, Message, ReflectionView, MESSAGE_LENGTH_MAX, TAG_LENGTH,
};
use weir_core::wire::resolution::{redirect, requested_address};
use weir_core::wire::seal::{sequence_of, Greeting, Sealable, Sealed};
use weir_core::wire::{ControlFrame, CONTROL_FRAME_LENGTH_MAX};
use weir_core::MacAddress;

const SOURCE: MacAddress = MacAddress([0x02, 0x57, 0, 0, 0, 0x99]);
/// Longer than any padding that a parser could mistake for its own.
const PADDING: [u8; 70] = [0xa5; 70];

/// The Ethernet header, the ECN mark, and the target of a request.
pub fn frame(bytes: &[u8]) {
    let Ok(view) = EthernetView::new_checked(bytes) else {
        assert!(bytes.len() < HEADER_LENGTH, "a whole header was refused");
        assert_eq!(marking_of(bytes), Marking::NotCapable);
        return;
    };
    assert_eq!(view.destination().0, bytes[..6]);
    assert_eq!(view.source().0, bytes[6..12]);
    assert_eq!(view.ethertype().to_be_bytes(), bytes[12..14]);
    assert_eq!(view.payload(), &bytes[HEADER_LENGTH..]);

    request(bytes);

    let mut marked = bytes.to_vec();
    let marking = mark_congestion(&mut marked);
    assert_eq!(marking, marking_of(bytes), "the mark is foretold");
    if marking != Marking::Marked {
        assert_eq!(marked, bytes, "a frame that is not marked is not changed");
        return;
    }
    let changed: Vec<usize> = (0..bytes.len())
        .filter(|at| marked[*at] != bytes[*at])
        .collect();
    assert!(
        (1..=3).contains(&changed.len()) && changed[0] > HEADER_LENGTH,
        "a mark changes one byte, and a checksum of two: {changed:?}"
    );
    assert_eq!(
        checksum_difference(bytes, changed[0]),
        checksum_difference(&marked, changed[0]),
        "the checksum follows the mark"
    );
    let once = marked.clone();
    assert_eq!(mark_congestion(&mut marked), Marking::MarkedBefore);
    assert_eq!(marked, once, "a second mark changes nothing");
}

/// Only a frame for a group is a request; one sent to a station is not.
fn request(bytes: &[u8]) {
    let asked = requested_address(bytes);
    let mut redirected = bytes.to_vec();
    redirect(&mut redirected, SOURCE);
    assert_eq!(redirected[6..], bytes[6..]);
    assert_eq!(redirected[..6], SOURCE.0);
    assert_eq!(requested_address(&redirected), None);
    if asked.is_some() {
        assert_eq!(bytes[0] & 1, 1, "it is for a group");
        let longer = [bytes, &PADDING].concat();
        assert_eq!(requested_address(&longer), asked, "padding is ignored");
    }
}

/// Returns the one's complement sum over the first 20 B of an IPv4 header whose second byte is at `tos`: it is constant,
/// right or wrong, as long as the checksum is updated with each change. Zero for IPv6, which has none.
fn checksum_difference(frame: &[u8], tos: usize) -> u16 {
    let header = &frame[tos - 1..];
    if header[0] >> 4 != 4 {
        return 0;
    }
    let mut sum: u32 = header[..20]
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // Both are zero in one's complement.
    if sum == 0xffff {
        0
    } else {
        sum as u16
    }
}

/// PAUSE and PFC.
pub fn mac_control(bytes: &[u8]) {
    let emit = |frame: &MacControl| emitted(&ControlFrame::Mac(*frame));
    parser(bytes, MacControl::parse, emit);
}

/// Credit Loop Control Messages.
pub fn clcm(bytes: &[u8]) {
    parser(bytes, Clcm::parse, |message| {
        emitted(&ControlFrame::Clcm(*message))
    });
    let Ok(message) = Clcm::parse(bytes) else {
        return;
    };
    let count = message.hops().len();
    assert!((1..=clcm::HOPS_MAX).contains(&count));
    assert_eq!(message.origin(), message.hops()[0].spuid);
    if let Phase::Release { current } = message.phase() {
        assert!(usize::from(current) < count, "the next hop is one of them");
    }
    assert_eq!(message.released_at(count), None);
    let mut longer = message;
    assert_eq!(
        longer.push(message.hops()[0]).is_err(),
        count == clcm::HOPS_MAX
    );
    assert!(!Echo::is_echo(bytes), "a frame is of one protocol");
}

/// Echo messages.
pub fn echo(bytes: &[u8]) {
    parser(bytes, Echo::parse, |message| {
        emitted(&ControlFrame::Echo(*message))
    });
    if Echo::parse(bytes).is_ok() {
        assert!(Echo::is_echo(bytes));
        assert!(Clcm::parse(bytes).is_err(), "a frame is of one protocol");
    }
}

/// Frames of a device's trial. A truncated or changed frame is still read, since the trial is to report it.
pub fn reflection(bytes: &[u8]) {
    let Ok(view) = ReflectionView::new_checked(bytes) else {
        return;
    };
    assert!(is_reflection(bytes));
    let arrival = view.arrival();
    assert!(usize::from(arrival.length) <= bytes.len());
    let Ok(read) = view.read() else {
        return;
    };
    let mut buffer = [0xa5; MESSAGE_LENGTH_MAX + TAG_LENGTH];
    let length = read
        .emit(MacAddress([0xff; 6]), SOURCE, 0, &mut buffer)
        .expect("it fits");
    let view = ReflectionView::new_checked(&buffer[..length]).expect("it was written here");
    assert_eq!(view.read(), Ok(read), "written and read again");
    assert_eq!(view.source(), SOURCE);
    let arrival = view.arrival();
    assert_eq!(
        (arrival.tag, arrival.length),
        (read.tag, view.sent_length())
    );
    if matches!(read.message, Message::Data { .. } | Message::Echo { .. }) {
        assert!(arrival.is_unchanged);
        buffer[length - 1] ^= 1;
        let changed = ReflectionView::new_checked(&buffer[..length]);
        assert!(
            !changed
                .expect("the head is as it was")
                .arrival()
                .is_unchanged
        );
    }
    if let Message::Welcome { device, .. } = read.message {
        assert!(
            !device.chars().any(char::is_control),
            "it goes to a terminal"
        );
    }
}

/// Key of the sealed frames in the corpus.
const KEY: FabricKey = FabricKey::new([7; FABRIC_KEY_LENGTH]);
const NONCE: u64 = 0x0102_0304_0506_0708;

/// Greetings, and the trailer of sealed frames.
pub fn seal(bytes: &[u8]) {
    parser(bytes, Greeting::parse, |greeting| {
        let mut buffer = [0xa5; CONTROL_FRAME_LENGTH_MAX];
        let length = greeting.emit(SOURCE, &mut buffer).expect("it fits");
        buffer[..length].to_vec()
    });
    for nonce in [None, Some(NONCE)] {
        let Some(sequence) = sequence_of(bytes, &KEY, nonce) else {
            continue;
        };
        let other = nonce.map_or(Some(NONCE), |_| None);
        assert_eq!(sequence_of(bytes, &KEY, other), None, "for one receiver");
        let mut changed = bytes.to_vec();
        let at = sequence as usize % changed.len();
        changed[at] ^= 1;
        assert_eq!(sequence_of(&changed, &KEY, nonce), None, "a bit is changed");
        assert_eq!(sequence_of(&bytes[1..], &KEY, nonce), None, "it is cut");
    }
    let Ok(greeting) = Greeting::parse(bytes) else {
        return;
    };
    assert!(Greeting::is_greeting(bytes));
    assert!(Clcm::parse(bytes).is_err() && !Echo::is_echo(bytes));
    let sequence = greeting.heard;
    let sealed = emitted(&ControlFrame::Sealed(Sealed {
        message: Sealable::Greeting(greeting),
        key: KEY,
        nonce: NONCE,
        sequence,
    }));
    assert_eq!(sequence_of(&sealed, &KEY, None), Some(sequence));
    assert_eq!(Greeting::parse(&sealed), Ok(greeting), "without the key");
}

/// LLDP.
pub fn lldp(bytes: &[u8]) {
    let Ok(received) = Lldp::parse(bytes) else {
        return;
    };
    let again = Lldp::parse(&emitted_lldp(&received.lldp)).expect("what was read can be written");
    assert_eq!(
        again,
        Received {
            lldp: without_unknown(received.lldp),
            skipped: Skipped::default()
        }
    );
    let shown = format!("{} {}", received.lldp.chassis, received.lldp.port);
    assert!(
        !shown.chars().any(char::is_control),
        "{shown:?} goes to terminals and logs"
    );
    // A frame that ends with a TLV is complete, with less content, of the same sender.
    for length in [
        bytes.len() / 4,
        bytes.len() / 2,
        bytes.len() * 3 / 4,
        bytes.len() - 1,
    ] {
        if let Ok(cut) = Lldp::parse(&bytes[..length]) {
            assert_eq!(
                (cut.lldp.chassis, cut.lldp.port),
                (received.lldp.chassis, received.lldp.port)
            );
        }
    }
}

/// A TLV of an unknown version is not sent.
fn without_unknown(mut lldp: Lldp) -> Lldp {
    if let Content::Announcement(announcement) = &mut lldp.content {
        if let Some(Weir::Unknown(_)) = announcement.weir {
            announcement.weir = None;
        }
        if let Some(Credits::Unknown(_)) = announcement.credits {
            announcement.credits = None;
        }
    }
    lldp
}

fn emitted_lldp(lldp: &Lldp) -> Vec<u8> {
    let mut buffer = [0xa5; lldp::FRAME_LENGTH_MAX];
    let length = lldp
        .emit(SOURCE, &mut buffer)
        .expect("the longest frame fits");
    let needed = lldp
        .emit(SOURCE, &mut buffer[..length - 1])
        .expect_err("one byte less does not do")
        .needed;
    assert_eq!(needed, length);
    buffer[..length].to_vec()
}

fn emitted(frame: &ControlFrame) -> Vec<u8> {
    let mut buffer = [0xa5; CONTROL_FRAME_LENGTH_MAX];
    let length = frame
        .emit(SOURCE, &mut buffer)
        .expect("the longest frame fits");
    let mut small = [0; CONTROL_FRAME_LENGTH_MAX];
    assert_eq!(
        frame.emit(SOURCE, &mut small[..length - 1]),
        None,
        "one byte less does not do"
    );
    buffer[..length].to_vec()
}

/// Properties of a parser whose frames have a fixed part, lists of a length that they state, and padding.
fn parser<T: PartialEq + Debug, E: PartialEq + Debug>(
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<T, E>,
    emit: impl Fn(&T) -> Vec<u8>,
) {
    let whole = parse(bytes);
    let Ok(read) = &whole else { return };
    assert_eq!(
        parse(&emit(read)),
        whole,
        "what was written is read as the same"
    );
    assert_eq!(
        parse(&[bytes, &PADDING].concat()),
        whole,
        "padding is ignored"
    );
    let (mut refused, mut accepted) = (0, bytes.len());
    while refused + 1 < accepted {
        let middle = refused + (accepted - refused) / 2;
        match parse(&bytes[..middle]) {
            Ok(cut) => {
                assert_eq!(
                    &cut, read,
                    "a frame that is cut short is refused or the same"
                );
                accepted = middle;
            }
            Err(_) => refused = middle,
        }
    }
    assert!(
        accepted <= emit(read).len(),
        "{accepted} B are needed to read what takes less to write"
    );
}
