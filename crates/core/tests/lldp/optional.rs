//! Optional TLVs: unknown, malformed, repeated, of other versions.

use weir_core::wire::lldp::application::{Application, ApplicationEntry, ApplicationTable};
use weir_core::wire::lldp::basic::Text;
use weir_core::wire::lldp::dcbx::{
    BandwidthTable, PfcCapability, PfcConfiguration, PfcMismatch, PrioritySet,
};
use weir_core::wire::lldp::weir::{AnnouncedMode, Weir};
use weir_core::wire::lldp::{Announcement, Content, Skipped};
use weir_core::{FeedbackCoding, Priority};

use crate::lldp::frames::*;

#[test]
fn unknown_tlvs_are_skipped_and_counted() {
    let (announcement, skipped) = read(&[
        tlv(8, &[5, 1, 192, 0, 2, 1, 2, 0, 0, 0, 1, 0]),
        tlv(9, b""),
        tlv(126, &[0; 511]),
        organisation([0x00, 0x80, 0xc2, 10], &[0; 21]),
        organisation([0x00, 0x12, 0x0f, 11], &[0; 2]),
        organisation([0x02, 0x57, 0x45, 3], b""),
        tlv(5, b"s1"),
    ]);
    assert_eq!(announcement.system_name, Some(Text::truncated("s1")));
    let expected = Skipped {
        unknown: 6,
        ..Skipped::default()
    };
    assert_eq!(skipped, expected);
}

#[test]
fn the_first_of_two_counts() {
    let (announcement, skipped) = read(&[
        tlv(5, &[b'x'; 256]),
        tlv(5, b"s1"),
        tlv(5, b"s2"),
        organisation([0, 0x80, 0xc2, 12], &[0, 0x61, 0x89, 0x15]),
        organisation([0, 0x80, 0xc2, 12], &[0, 0x60, 0x89, 0x15]),
    ]);
    assert_eq!(announcement.system_name, Some(Text::truncated("s1")));
    assert_eq!(announcement.applications.unwrap().entries().len(), 1);
    let expected = Skipped {
        malformed: 1,
        repeated: 2,
        ..Skipped::default()
    };
    assert_eq!(skipped, expected);
}

#[test]
fn only_the_bad_optional_tlv_is_dropped() {
    assert_malformed(tlv(4, &[b'x'; 256]));
    assert_malformed(tlv(7, &[0, 4, 0]));
    // Enabled but not supported.
    assert_malformed(tlv(7, &[0, 4, 0, 0x14]));
    assert_malformed(tlv(127, &[0x00, 0x80, 0xc2]));
    for length in 0..21 {
        assert_malformed(organisation([0, 0x80, 0xc2, 9], &vec![0; length]));
    }
    // A traffic class above 7, and shares of 99 and of 356.
    let ets = |at: usize, byte: u8| {
        let mut value = GOLDEN[8][6..].to_vec();
        value[at] = byte;
        organisation([0, 0x80, 0xc2, 9], &value)
    };
    assert_malformed(ets(1, 0x80));
    assert_malformed(ets(2, 0x08));
    assert_malformed(ets(5, 19));
    assert_malformed(ets(5, 255));
    assert_malformed(organisation([0, 0x80, 0xc2, 11], &[0x08]));
    assert_malformed(organisation([0, 0x80, 0xc2, 12], &[]));
    assert_malformed(organisation([0, 0x80, 0xc2, 12], &[0, 0x61, 0x89]));
}

#[test]
fn reserved_and_trailing_bytes_are_ignored() {
    let mut longer: Vec<Vec<u8>> = GOLDEN[7..13]
        .iter()
        // Of fixed length: all but application priority.
        .filter(|tlv| tlv[..2] != [0xfe, 0x0b])
        .map(|part| {
            let (kind, value) = (u16::from(part[0] >> 1), &part[2..]);
            tlv(kind, &[value, &[0xff; 3]].concat())
        })
        .collect();
    let (expected, _) = read(
        &GOLDEN[7..13]
            .iter()
            .map(|tlv| tlv.to_vec())
            .collect::<Vec<_>>(),
    );
    longer.push(organisation(
        [0, 0x80, 0xc2, 12],
        &[0xff, 0x61 | 0x18, 0x89, 0x15, 0x83 | 0x18, 0x12, 0xb7],
    ));
    // Reserved bits of ETS, PFC, Weir and credits.
    longer[1][6] |= 0x38;
    longer[2][6] |= 0x30;
    longer[3][7] |= 0xf0;
    longer[3][8..10].fill(0xff);
    longer[4][7] |= 0xfe;
    longer[4][19] = 0xff;
    assert_eq!(read(&longer), (expected, Skipped::default()));
}

#[test]
fn applications_are_bounded_by_the_room() {
    let mut value = vec![0];
    for number in 0..20 {
        value.extend([0x41, 0, number]);
        // Selectors 0, 6 and 7 are reserved.
        value.extend([0x40 | [0, 6, 7][usize::from(number) % 3], 0, number]);
    }
    let (announcement, skipped) = read(&[organisation([0, 0x80, 0xc2, 12], &value)]);
    let entries: Vec<ApplicationEntry> = (0..16)
        .map(|number| ApplicationEntry {
            application: Application::EtherType(number),
            priority: Priority::ALL[2],
        })
        .collect();
    assert_eq!(announcement.applications, ApplicationTable::new(&entries));
    let expected = Skipped {
        applications: 24,
        ..Skipped::default()
    };
    assert_eq!(skipped, expected);
    assert_eq!(ApplicationTable::new(&[entries[0]; 17]), None);
}

#[test]
fn another_version_of_weir_is_recognised() {
    for version in [0, 2, 255] {
        let (announcement, skipped) = read(&[organisation([2, 0x57, 0x45, 1], &[version])]);
        let Some(Weir::Unknown(unknown)) = announcement.weir else {
            panic!("{:?}", announcement.weir)
        };
        assert_eq!(unknown.get(), version);
        assert_eq!(skipped, Skipped::default());
        let bytes = bytes_of(&lldp(Content::Announcement(announcement)));
        let bare = lldp(Content::Announcement(Announcement::new(announcement.ttl)));
        assert_eq!(bytes, bytes_of(&bare), "it is not sent on");
    }
}

/// Uses bits that were reserved: an older switch sends zero there, and reads the rest as before.
#[test]
fn the_tlv_names_heard_neighbours_and_the_form_of_feedback() {
    for (flags, hears, coding) in [
        (0b0001, false, None),
        (0b0110, true, Some(FeedbackCoding::Pfc)),
        (0b1010, true, Some(FeedbackCoding::Pause)),
        (0b1101, false, Some(FeedbackCoding::Grants)),
    ] {
        let value = [1, flags | 0xf0, 0, 0, 0, 0, 0, 0x44, 0x20, 0, 0, 0];
        let (announcement, _) = read(&[organisation([2, 0x57, 0x45, 1], &value)]);
        let Some(Weir::V1(weir)) = announcement.weir else {
            panic!("{:?}", announcement.weir)
        };
        assert_eq!((weir.hears, weir.coding), (hears, coding), "{flags:#06b}");
        assert_eq!(weir.clcm, flags & 1 != 0);
        let bytes = bytes_of(&lldp(Content::Announcement(announcement)));
        let at = bytes.windows(4).position(|at| at == [2, 0x57, 0x45, 1]);
        assert_eq!(bytes[at.unwrap() + 5], flags, "reserved bits are zero");
    }
}

#[test]
fn a_self_contradictory_tlv_is_malformed() {
    let good = [1, 1, 0, 0, 0, 0, 0, 0x44, 0x20, 0, 0, 0];
    let (announcement, _) = read(&[organisation([2, 0x57, 0x45, 1], &good)]);
    let Some(Weir::V1(weir)) = announcement.weir else {
        panic!("{:?}", announcement.weir)
    };
    assert!(weir.clcm);
    assert_eq!(
        weir.modes[2..5],
        [
            AnnouncedMode::Lossy,
            AnnouncedMode::Level(depth(4)),
            AnnouncedMode::Pfc
        ]
    );
    // Level without a D; a D without Level; an unknown mode.
    for (at, byte) in [(7, 0x40), (8, 0x21), (4, 0x01), (4, 0x60), (11, 0xff)] {
        let mut value = good;
        value[at] = byte;
        assert_malformed(organisation([2, 0x57, 0x45, 1], &value));
    }
    for length in 0..good.len() {
        assert_malformed(organisation([2, 0x57, 0x45, 1], &good[..length]));
    }
}

#[test]
fn a_pfc_mismatch_is_named() {
    let ours = PfcConfiguration::fixed(PrioritySet::EMPTY.with(Priority::ALL[3]));
    let same = PfcConfiguration {
        willing: true,
        mbc: true,
        capability: PfcCapability::new(2).unwrap(),
        ..ours
    };
    assert_eq!(ours.mismatch(Some(&same)), None);
    let nowhere = PfcConfiguration::fixed(PrioritySet::EMPTY);
    assert_eq!(nowhere.mismatch(None), None);

    let silent = ours.mismatch(None).unwrap();
    let enabled = ours.enabled;
    assert_eq!(silent, PfcMismatch::NotAnnounced { ours: enabled });
    assert_eq!(
        silent.to_string(),
        "PFC is on for priorities 3 here, the neighbour announces none"
    );
    let theirs = PfcConfiguration::fixed(PrioritySet(0b1000_1010));
    assert_eq!(
        ours.mismatch(Some(&theirs)).unwrap().to_string(),
        "PFC is on for priorities 3 here and 1,3,7 at the neighbour"
    );
    assert_eq!(
        theirs.enabled.without(enabled).iter().collect::<Vec<_>>(),
        [Priority::ALL[1], Priority::ALL[7]]
    );
    let willing = PfcConfiguration {
        willing: true,
        ..nowhere
    };
    assert_eq!(
        ours.mismatch(Some(&willing)).unwrap().to_string(),
        "PFC is on for priorities 3 here and none at the neighbour, which is willing to change"
    );
    assert!(nowhere.mismatch(Some(&ours)).is_some());
}

#[test]
fn shares_are_a_hundred_in_all() {
    let percent = |weights| BandwidthTable::from_weights(weights).percent();
    assert_eq!(percent([1; 8]), [13, 12, 13, 12, 13, 12, 13, 12]);
    assert_eq!(
        percent([3, 0, 0, 1, 0, 0, 0, 0]),
        [75, 0, 0, 25, 0, 0, 0, 0]
    );
    assert_eq!(percent([0; 8]), [0; 8]);
    assert_eq!(BandwidthTable::new([13; 8]), None);
    assert_eq!(BandwidthTable::new([100, 0, 0, 0, 0, 0, 0, 156]), None);
}
