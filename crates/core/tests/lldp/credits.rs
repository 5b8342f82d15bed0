//! The TLV of credits: its layout is in [`GOLDEN`], random ones are in `any_bytes`.

use weir_core::wire::lldp::credits::{Credits, CreditsV1};
use weir_core::wire::lldp::{Announcement, Content, Skipped};
use weir_core::{CreditFallback, Priority};

use crate::lldp::frames::*;

const CREDITS: [u8; 4] = [0x02, 0x57, 0x45, 2];
/// Two records: priority 3, PFC without credits, and priority 5, closed without credits.
const VALUE: [u8; 22] = [
    1, 1, 0x28, 0x20, 0x24, 0x12, 0, 0x10, 0, 0, 0xff, 0xff, 127, 0, 0, 0, 0, 2, 0, 64, 0xf0, 0,
];

fn credits(value: &[u8]) -> CreditsV1 {
    let (announcement, skipped) = read(&[organisation(CREDITS, value)]);
    assert_eq!(skipped, Skipped::default());
    match announcement.credits {
        Some(Credits::V1(credits)) => credits,
        other => panic!("{other:?}"),
    }
}

#[test]
fn records_go_to_their_priorities() {
    let read = credits(&VALUE);
    assert!(read.gives);
    assert_eq!(read.longest_bytes, 9_234);
    let numbers: Vec<usize> = (0..8).filter(|at| read.classes[*at].is_some()).collect();
    assert_eq!(numbers, [3, 5]);
    for (priority, terms, fallback) in [
        (3, (u16::MAX, 127, 1 << 20), CreditFallback::Pfc),
        (5, (64, -16, 2), CreditFallback::Closed),
    ] {
        let class = read.classes[priority].unwrap();
        let found = (
            class.terms.size(),
            class.terms.overhead(),
            class.terms.limit(),
        );
        assert_eq!((found, class.fallback), (terms, fallback));
    }
    let given: Vec<Priority> = read.given().iter().collect();
    assert_eq!(given, [Priority::ALL[3], Priority::ALL[5]]);
    assert_eq!(
        read.terms(Priority::ALL[5]),
        read.classes[5].map(|class| class.terms)
    );
}

#[test]
fn a_port_without_slots_gives_none_of_its_credits() {
    let mut value = VALUE;
    value[1] = 0;
    let read = credits(&value);
    assert!(read.given().is_empty());
    assert_eq!(read.terms(Priority::ALL[3]), None);
    assert!(read.classes[3].is_some(), "they are shown");
    assert!(credits(&[1, 1, 0, 0, 0, 0]).given().is_empty());
}

#[test]
fn each_shorter_one_and_impossible_terms_are_malformed() {
    for length in 0..VALUE.len() {
        assert_malformed(organisation(CREDITS, &VALUE[..length]));
    }
    for (at, byte, what) in [
        (2, 0x08, "closed without a record"),
        (7, 0x11, "a limit above the largest"),
        (7, 0x00, "a limit of zero"),
        (20, 0xef, "an overhead below -16"),
        (19, 63, "a size below 64"),
    ] {
        let mut value = VALUE;
        value[at] = byte;
        eprintln!("{what}");
        assert_malformed(organisation(CREDITS, &value));
    }
}

#[test]
fn another_version_is_named_and_not_sent_on() {
    for version in [0, 2, 255] {
        let (announcement, skipped) = read(&[organisation(CREDITS, &[version])]);
        let Some(Credits::Unknown(unknown)) = announcement.credits else {
            panic!("{:?}", announcement.credits)
        };
        assert_eq!(unknown.get(), version);
        assert_eq!(skipped, Skipped::default());
        let bytes = bytes_of(&lldp(Content::Announcement(announcement)));
        let bare = lldp(Content::Announcement(Announcement::new(announcement.ttl)));
        assert_eq!(bytes, bytes_of(&bare));
    }
}
