//! LLDP, byte by byte, under any bytes whatever, and before tshark.

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use weir_core::wire::lldp::application::{
    Application, ApplicationEntry, ApplicationTable, ENTRIES_MAX,
};
use weir_core::wire::lldp::basic::{
    ChassisId, PortIdentifier, SystemCapabilities, Text, TimeToLive,
};
use weir_core::wire::lldp::dcbx::{
    BandwidthTable, ClassCount, EtsConfiguration, PfcCapability, PfcConfiguration, PfcMismatch,
    PrioritySet, TrafficClass, TransmissionSelection,
};
use weir_core::wire::lldp::weir::{AnnouncedMode, Depth, Weir, WeirV1};
use weir_core::wire::lldp::{
    Announcement, BufferTooSmall, Content, Lldp, LldpError, Mandatory, Received, Skipped,
    FRAME_LENGTH_MAX,
};
use weir_core::{Duration, Level, MacAddress, Priority};

const SOURCE: MacAddress = MacAddress([0x02, 0x57, 0, 0, 0, 0x99]);
const CHASSIS: MacAddress = MacAddress([0x02, 0x57, 0, 0, 0, 0x01]);

/// The announcement of [`golden`], one TLV a line.
#[rustfmt::skip]
const GOLDEN: &[&[u8]] = &[
    &[0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0x57, 0x00, 0x00, 0x00, 0x99, 0x88, 0xcc],
    &[0x02, 0x07, 0x04, 0x02, 0x57, 0x00, 0x00, 0x00, 0x01],
    &[0x04, 0x08, 0x05, b's', b'1', b'-', b'e', b't', b'h', b'0'],
    &[0x06, 0x02, 0x00, 0x79],
    &[0x08, 0x05, b't', b'o', b' ', b's', b'2'],
    &[0x0a, 0x02, b's', b'1'],
    &[0x0c, 0x08, b'W', b'e', b'i', b'r', b' ', b'0', b'.', b'1'],
    &[0x0e, 0x04, 0x00, 0x04, 0x00, 0x04],
    // ETS: credit-based shaper, 8 classes; priority 0 in class 1, 1 in 0, others in their own; shares; TSAs.
    &[0xfe, 0x19, 0x00, 0x80, 0xc2, 0x09, 0x40, 0x10, 0x23, 0x45, 0x67,
      20, 20, 20, 40, 0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 1, 255],
    // PFC: willing, 8 classes; priorities 3 and 4.
    &[0xfe, 0x06, 0x00, 0x80, 0xc2, 0x0b, 0x88, 0x18],
    // RoCE v1 by EtherType in priority 3, RoCE v2 by UDP port 4791 in priority 4.
    &[0xfe, 0x0b, 0x00, 0x80, 0xc2, 0x0c, 0x00, 0x61, 0x89, 0x15, 0x83, 0x12, 0xb7],
    // Weir: version 1, CLCM; priority 3 level with D = 4, priority 4 pfc.
    &[0xfe, 0x10, 0x02, 0x57, 0x45, 0x01, 0x01, 0x01, 0, 0, 0, 0, 0, 0x44, 0x20, 0, 0, 0],
    &[0x00, 0x00],
];

fn depth(links: u8) -> Depth {
    Level::new(links).and_then(Depth::new).unwrap()
}

fn golden() -> Lldp {
    let class = |number| TrafficClass::new(number).unwrap();
    let mut modes = [AnnouncedMode::Lossy; 8];
    modes[3] = AnnouncedMode::Level(depth(4));
    modes[4] = AnnouncedMode::Pfc;
    let entry = |application, priority| ApplicationEntry {
        application,
        priority: Priority::ALL[priority],
    };
    let announcement = Announcement {
        port_description: Some(Text::truncated("to s2")),
        system_name: Some(Text::truncated("s1")),
        system_description: Some(Text::truncated("Weir 0.1")),
        capabilities: Some(SystemCapabilities::bridge()),
        ets: Some(EtsConfiguration {
            willing: false,
            credit_based_shaper: true,
            classes_max: ClassCount::EIGHT,
            assignment: [1, 0, 2, 3, 4, 5, 6, 7].map(class),
            bandwidth: BandwidthTable::new([20, 20, 20, 40, 0, 0, 0, 0]).unwrap(),
            selection: [2, 2, 2, 2, 0, 0, 1, 255].map(TransmissionSelection),
        }),
        pfc: Some(PfcConfiguration {
            willing: true,
            ..PfcConfiguration::fixed(PrioritySet(0x18))
        }),
        applications: ApplicationTable::new(&[
            entry(Application::EtherType(0x8915), 3),
            entry(Application::DatagramPort(4791), 4),
        ]),
        weir: Some(Weir::V1(WeirV1 { clcm: true, modes })),
        ..Announcement::new(TimeToLive::STANDARD)
    };
    lldp(Content::Announcement(announcement))
}

fn lldp(content: Content) -> Lldp {
    Lldp {
        chassis: ChassisId::mac(CHASSIS),
        port: PortIdentifier::interface_name("s1-eth0").unwrap(),
        content,
    }
}

fn bytes_of(lldp: &Lldp) -> Vec<u8> {
    let mut buffer = [0xaa; FRAME_LENGTH_MAX];
    let length = lldp.emit(SOURCE, &mut buffer).unwrap();
    buffer[..length].to_vec()
}

fn tlv(kind: u16, value: &[u8]) -> Vec<u8> {
    let header = kind << 9 | u16::try_from(value.len()).unwrap();
    [&header.to_be_bytes(), value].concat()
}

fn organisation(oui_and_subtype: [u8; 4], value: &[u8]) -> Vec<u8> {
    tlv(127, &[&oui_and_subtype, value].concat())
}

/// A frame of these TLVs and nothing else.
fn frame(tlvs: &[Vec<u8>]) -> Vec<u8> {
    [GOLDEN[0].to_vec(), tlvs.concat()].concat()
}

/// A frame of the mandatory TLVs, these, and End.
fn announcing(optional: &[Vec<u8>]) -> Vec<u8> {
    [GOLDEN[..4].concat(), optional.concat(), vec![0, 0]].concat()
}

/// What a frame of these optional TLVs holds and lacks.
fn read(optional: &[Vec<u8>]) -> (Announcement, Skipped) {
    let received = Lldp::parse(&announcing(optional)).unwrap();
    match received.lldp.content {
        Content::Announcement(announcement) => (announcement, received.skipped),
        Content::Shutdown => panic!("not a shutdown"),
    }
}

fn assert_malformed(optional: Vec<u8>) {
    let (announcement, skipped) = read(std::slice::from_ref(&optional));
    let expected = Skipped {
        malformed: 1,
        ..Skipped::default()
    };
    assert_eq!(skipped, expected, "{optional:02x?}");
    assert_eq!(announcement, Announcement::new(TimeToLive::STANDARD));
}

#[test]
fn an_announcement_is_laid_out_as_the_standards_say() {
    let expected = GOLDEN.concat();
    assert_eq!(bytes_of(&golden()), expected);
    let received = Lldp::parse(&expected).unwrap();
    assert_eq!(received.lldp, golden());
    assert_eq!(received.skipped, Skipped::default());
}

#[test]
fn a_shutdown_has_a_ttl_of_zero_and_no_optional_tlvs() {
    let shutdown = lldp(Content::Shutdown);
    let mut expected = GOLDEN[..4].concat();
    *expected.last_mut().unwrap() = 0;
    let with_more = [expected.clone(), GOLDEN[5].to_vec()].concat();
    expected.resize(60, 0);
    assert_eq!(bytes_of(&shutdown), expected);
    assert_eq!(Lldp::parse(&expected).unwrap().lldp, shutdown);
    assert_eq!(Lldp::parse(&with_more).unwrap().lldp, shutdown);
}

#[test]
fn the_longest_frame_has_the_length_that_is_said() {
    let long = Text::new(&[b'x'; 255]);
    let entry = ApplicationEntry {
        application: Application::Dscp(46),
        priority: Priority::ALL[7],
    };
    let Content::Announcement(announcement) = golden().content else {
        unreachable!()
    };
    let longest = Lldp {
        chassis: ChassisId::new(7, &[0xff; 255]).unwrap(),
        port: PortIdentifier::interface_name(&"y".repeat(255)).unwrap(),
        content: Content::Announcement(Announcement {
            port_description: long,
            system_name: long,
            system_description: long,
            applications: ApplicationTable::new(&[entry; ENTRIES_MAX]),
            ..announcement
        }),
    };
    let bytes = bytes_of(&longest);
    assert_eq!(bytes.len(), FRAME_LENGTH_MAX);
    assert_eq!(Lldp::parse(&bytes).unwrap().lldp, longest);
}

#[test]
fn a_buffer_that_is_too_small_gets_nothing() {
    let (needed, available) = (GOLDEN.concat().len(), 100);
    let mut buffer = [0xaa; 100];
    let refused = Err(BufferTooSmall { needed, available });
    assert_eq!(golden().emit(SOURCE, &mut buffer), refused);
    assert_eq!(buffer, [0xaa; 100]);
    let refused = lldp(Content::Shutdown).emit(SOURCE, &mut buffer[..59]);
    let error = refused.unwrap_err();
    assert_eq!((error.needed, error.available), (60, 59));
    assert_eq!(
        error.to_string(),
        "the frame needs 60 B and the buffer has 59 B"
    );
}

#[test]
fn a_frame_that_is_cut_is_refused_or_reads_as_one_that_ends_there() {
    let whole = GOLDEN.concat();
    let mut boundaries = Vec::new();
    let mut end = 0;
    for part in GOLDEN {
        end += part.len();
        boundaries.push(end);
    }
    for length in 0..whole.len() {
        let result = Lldp::parse(&whole[..length]);
        match boundaries.iter().position(|&boundary| boundary == length) {
            // The mandatory TLVs are there, and a number of optional ones.
            Some(part) if part >= 3 => {
                let tlvs = &GOLDEN[4..=part];
                let tlvs: Vec<Vec<u8>> = tlvs.iter().map(|tlv| tlv.to_vec()).collect();
                assert_eq!(result, Lldp::parse(&announcing(&tlvs)));
                assert_eq!(result.unwrap().skipped, Skipped::default());
            }
            Some(part) => {
                let expected = [
                    Mandatory::ChassisId,
                    Mandatory::PortId,
                    Mandatory::TimeToLive,
                ];
                let (offset, expected) = (length, expected[part]);
                assert_eq!(result, Err(LldpError::Missing { offset, expected }));
            }
            None if length < 14 => assert_eq!(result, Err(LldpError::NoHeader { length })),
            None => {
                let next = boundaries.iter().position(|&end| end > length).unwrap();
                let offset = boundaries[next - 1];
                let needed = if length - offset < 2 {
                    offset + 2
                } else {
                    boundaries[next]
                };
                let missing = needed - length;
                assert_eq!(result, Err(LldpError::Truncated { offset, missing }));
            }
        }
    }
}

#[test]
fn a_refusal_says_what_is_wrong_and_where() {
    let [chassis, port, ttl] = [1, 2, 3].map(|part| GOLDEN[part].to_vec());
    let good = GOLDEN.concat();
    let with = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        frame
    };
    for (frame, words) in [
        (
            vec![1, 2, 3],
            "offset 3: the frame ends inside its Ethernet header",
        ),
        (
            with(5, 0x03),
            "offset 0: destination 01:80:c2:00:00:03 is not the nearest bridge",
        ),
        (with(13, 0xb5), "offset 12: EtherType 0x88b5 is not LLDP's"),
        (
            with(15, 0xff),
            "offset 14: the frame ends 139 B before its last TLV does",
        ),
        (
            frame(&[port.clone(), chassis.clone(), ttl.clone()]),
            "offset 14: a TLV of type 2 stands where the Chassis ID TLV should",
        ),
        (
            frame(&[chassis.clone(), ttl.clone()]),
            "offset 23: a TLV of type 3 stands where the Port ID TLV should",
        ),
        (
            frame(&[chassis.clone(), port.clone(), tlv(5, b"s1"), ttl.clone()]),
            "offset 33: a TLV of type 5 stands where the Time To Live TLV should",
        ),
        (
            frame(&[chassis.clone(), port.clone(), tlv(0, b""), ttl.clone()]),
            "offset 33: the LLDPDU ends where the Time To Live TLV should stand",
        ),
        (
            frame(&[tlv(1, &[7]), port.clone(), ttl.clone()]),
            "offset 14: the Chassis ID TLV cannot have 1 B",
        ),
        (
            frame(&[tlv(1, &[4, 1, 2, 3, 4, 5]), port.clone(), ttl.clone()]),
            "offset 14: the Chassis ID TLV cannot have 6 B",
        ),
        (
            frame(&[chassis.clone(), tlv(2, &[7; 257]), ttl.clone()]),
            "offset 23: the Port ID TLV cannot have 257 B",
        ),
        (
            frame(&[chassis.clone(), tlv(2, &[]), ttl.clone()]),
            "offset 23: the Port ID TLV cannot have 0 B",
        ),
        (
            frame(&[chassis.clone(), port.clone(), tlv(3, &[1])]),
            "offset 33: the Time To Live TLV cannot have 1 B",
        ),
        (
            announcing(&[tlv(5, b"s1"), port.clone()]),
            "offset 41: a second Port ID TLV",
        ),
        (
            announcing(std::slice::from_ref(&ttl)),
            "offset 37: a second Time To Live TLV",
        ),
        (
            announcing(&[tlv(0, b"x")]),
            "offset 37: the End Of LLDPDU TLV cannot have 1 B",
        ),
    ] {
        assert_eq!(Lldp::parse(&frame).unwrap_err().to_string(), words);
    }
}

#[test]
fn names_come_from_any_name_space() {
    let read = |chassis: &[u8], port: &[u8]| {
        let ttl = GOLDEN[3].to_vec();
        let received = Lldp::parse(&frame(&[tlv(1, chassis), tlv(2, port), ttl])).unwrap();
        (received.lldp.chassis, received.lldp.port)
    };
    let (chassis, port) = read(&[4, 2, 0, 0, 0, 0, 1], &[3, 2, 0, 0, 0, 0, 2]);
    assert_eq!(chassis.as_mac(), Some(MacAddress([2, 0, 0, 0, 0, 1])));
    assert_eq!(port.as_mac(), Some(MacAddress([2, 0, 0, 0, 0, 2])));
    assert_eq!(port.to_string(), "02:00:00:00:00:02");
    assert_eq!(port.as_interface_name(), None);

    let (chassis, port) = read(&[5, 1, 192, 0, 2, 1], b"\x05eth0");
    assert_eq!(chassis.to_string(), "192.0.2.1");
    assert_eq!((chassis.subtype(), chassis.as_mac()), (5, None));
    assert_eq!(port.as_interface_name(), Some("eth0"));
    assert_eq!(port.to_string(), "eth0");

    let mut v6 = vec![4, 2];
    v6.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let (chassis, port) = read(b"\x06br0", &v6);
    assert_eq!(chassis.as_interface_name(), Some("br0"));
    assert_eq!(port.to_string(), "2001:db8::1");

    // A network address of no known kind, and a number that the table does not have.
    let (chassis, port) = read(&[5, 1, 192, 0, 2], &[200, 0]);
    assert_eq!(chassis.to_string(), "\\u{1}\\xc0\\0\\u{2}");
    assert_eq!((port.subtype(), port.as_bytes()), (200, &[0][..]));
}

#[test]
fn identifiers_hold_nothing_illegal() {
    assert_eq!(ChassisId::new(4, &[0; 5]), None);
    assert_eq!(PortIdentifier::new(3, &[0; 7]), None);
    assert_eq!(PortIdentifier::new(7, &[]), None);
    assert_eq!(PortIdentifier::new(7, &[0; 256]), None);
    assert_eq!(ChassisId::new(4, &CHASSIS.0), Some(ChassisId::mac(CHASSIS)));
}

#[test]
fn text_from_a_neighbour_does_not_drive_a_terminal() {
    let text = Text::new(b"a\x1b[31m\"\xc3\xa9\xff\xe2\x80\xae").unwrap();
    assert_eq!(text.to_string(), "a\\u{1b}[31m\"\u{e9}\\xff\\u{202e}");
    assert_eq!(text.as_str(), None);
    assert_eq!(Text::new(&[0; 256]), None);
    let long = Text::truncated(&"\u{e9}".repeat(200));
    assert_eq!(long.as_str(), Some("\u{e9}".repeat(127).as_str()));
}

#[test]
fn a_time_to_live_is_never_zero() {
    assert_eq!(TimeToLive::new(0), None);
    assert_eq!(TimeToLive::STANDARD.seconds(), 121);
    assert_eq!(TimeToLive::STANDARD.as_duration(), Duration::from_secs(121));
}

#[test]
fn what_is_unknown_is_skipped_and_counted() {
    let (announcement, skipped) = read(&[
        tlv(8, &[5, 1, 192, 0, 2, 1, 2, 0, 0, 0, 1, 0]),
        tlv(9, b""),
        tlv(126, &[0; 511]),
        organisation([0x00, 0x80, 0xc2, 10], &[0; 21]),
        organisation([0x00, 0x12, 0x0f, 11], &[0; 2]),
        organisation([0x02, 0x57, 0x45, 2], b""),
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
fn a_bad_optional_tlv_costs_itself_alone() {
    assert_malformed(tlv(4, &[b'x'; 256]));
    assert_malformed(tlv(7, &[0, 4, 0]));
    // Enabled and not supported.
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
fn what_is_reserved_or_behind_is_ignored() {
    let mut longer: Vec<Vec<u8>> = GOLDEN[7..12]
        .iter()
        // Of fixed length: all but application priority.
        .filter(|tlv| tlv[..2] != [0xfe, 0x0b])
        .map(|part| {
            let (kind, value) = (u16::from(part[0] >> 1), &part[2..]);
            tlv(kind, &[value, &[0xff; 3]].concat())
        })
        .collect();
    let (expected, _) = read(
        &GOLDEN[7..12]
            .iter()
            .map(|tlv| tlv.to_vec())
            .collect::<Vec<_>>(),
    );
    longer.push(organisation(
        [0, 0x80, 0xc2, 12],
        &[0xff, 0x61 | 0x18, 0x89, 0x15, 0x83 | 0x18, 0x12, 0xb7],
    ));
    // Reserved bits of ETS, PFC and Weir.
    longer[1][6] |= 0x38;
    longer[2][6] |= 0x30;
    longer[3][7] |= 0xfe;
    longer[3][8..10].fill(0xff);
    assert_eq!(read(&longer), (expected, Skipped::default()));
}

#[test]
fn no_more_applications_than_there_is_room_for() {
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
fn another_version_of_weir_is_known_to_be_there() {
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

#[test]
fn every_contradiction_of_weir_is_malformed() {
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
    // Level without a D; a D without Level; a mode without a meaning.
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

/// Runs tshark on a capture and gives its output.
fn tshark(capture: &Path, arguments: &[&str]) -> String {
    let output = Command::new("tshark")
        .args(["-n", "-r"])
        .arg(capture)
        .args(arguments)
        .output()
        .expect("tshark is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Writes frames in the format of pcap(5).
fn write_capture(path: &Path, frames: &[Vec<u8>]) {
    let mut bytes = Vec::new();
    bytes.extend(0xa1b2_c3d4_u32.to_le_bytes());
    bytes.extend([2, 0, 4, 0]);
    for value in [0, 0, 65_535, 1_u32] {
        bytes.extend(value.to_le_bytes());
    }
    for frame in frames {
        let length = u32::try_from(frame.len()).unwrap();
        for value in [0, 0, length, length] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(frame);
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn tshark_reads_every_value_that_we_write() {
    let capture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lldp.pcap");
    let shutdown = bytes_of(&lldp(Content::Shutdown));
    // That the objections below are seen is shown by a frame that deserves one.
    let pfc_too_short = announcing(&[organisation([0, 0x80, 0xc2, 11], &[])]);
    write_capture(&capture, &[bytes_of(&golden()), shutdown, pfc_too_short]);
    let objections = tshark(
        &capture,
        &[
            "-Y",
            "_ws.malformed || _ws.expert",
            "-T",
            "fields",
            "-e",
            "frame.number",
        ],
    );
    assert_eq!(objections, "3\n");

    let numbered = |name: &str, values: [&str; 8]| -> Vec<(String, String)> {
        (0..8)
            .map(|index| (format!("{name}{index}"), values[index].to_owned()))
            .collect()
    };
    let mut expected: Vec<(String, String)> = [
        ("eth.dst", "01:80:c2:00:00:0e"),
        ("eth.src", "02:57:00:00:00:99"),
        ("eth.type", "0x88cc"),
        ("lldp.tlv.type", "1,2,3,4,5,6,7,127,127,127,127,0"),
        ("lldp.chassis.subtype", "4"),
        ("lldp.chassis.id.mac", "02:57:00:00:00:01"),
        ("lldp.port.subtype", "5"),
        ("lldp.port.id", "s1-eth0"),
        ("lldp.time_to_live", "121"),
        ("lldp.port.desc", "to s2"),
        ("lldp.tlv.system.name", "s1"),
        ("lldp.tlv.system.desc", "Weir 0.1"),
        ("lldp.tlv.system_cap", "0x0004"),
        ("lldp.tlv.system_cap.bridge", "1"),
        ("lldp.tlv.enable_system_cap", "0x0004"),
        ("lldp.ieee.802_1.subtype", "0x09,0x0b,0x0c"),
        // OUIs in decimal: three of IEEE 802.1 and ours.
        ("lldp.orgtlv.oui", "32962,32962,32962,153413"),
        // ETS is not willing, PFC is.
        ("lldp.dcbx.ieee.willing", "0,1"),
        ("lldp.dcbx.ieee.ets.cbs", "1"),
        ("lldp.dcbx.ieee.ets.maxtcs", "0"),
        ("lldp.dcbx.ieee.pfc.mbc", "0"),
        ("lldp.dcbx.ieee.pfc.numtcs", "8"),
        ("lldp.dcbx.ieee.app.reserved", "0x00"),
        ("lldp.dcbx.ieee.app.prio", "3,4"),
        // Wireshark spells it so.
        ("lldp.dcbx.iee.app.sf", "1,3"),
        ("lldp.dcbx.feature.app.proto", "0x8915,0x12b7"),
        ("lldp.unknown_subtype", "1"),
        ("lldp.unknown_subtype.content", "010100000000004420000000"),
    ]
    .map(|(field, value)| (field.to_owned(), value.to_owned()))
    .to_vec();
    let own = ["1", "0", "2", "3", "4", "5", "6", "7"];
    expected.extend(numbered("lldp.dcbx.feature.pg.pgid_prio", own));
    let shares = ["20", "20", "20", "40", "0", "0", "0", "0"];
    expected.extend(numbered("lldp.dcbx.feature.pg.per", shares));
    let selection = ["2", "2", "2", "2", "0", "0", "1", "255"];
    expected.extend(numbered("lldp.dcbx.ieee.ets.tsa", selection));
    let enabled = ["0", "0", "0", "1", "1", "0", "0", "0"];
    expected.extend(numbered("lldp.dcbx.feature.pfc.prio", enabled));

    let mut arguments = vec!["-Y", "frame.number == 1", "-T", "fields"];
    for (field, _) in &expected {
        arguments.extend(["-e", field]);
    }
    let line = tshark(&capture, &arguments);
    let values: Vec<&str> = line.trim_end_matches('\n').split('\t').collect();
    assert_eq!(values.len(), expected.len());
    for ((field, expected), value) in expected.iter().zip(values) {
        assert_eq!(value, expected, "{field}");
    }

    let fields = [
        "-T",
        "fields",
        "-e",
        "lldp.tlv.type",
        "-e",
        "lldp.time_to_live",
    ];
    let arguments = [&["-Y", "frame.number == 2"][..], &fields].concat();
    assert_eq!(tshark(&capture, &arguments), "1,2,3,0\t0\n");
}

fn any_text() -> impl Strategy<Value = Text> {
    prop::collection::vec(any::<u8>(), 0..=255).prop_map(|bytes| Text::new(&bytes).unwrap())
}

fn any_identifier<const MAC: u8>(
) -> impl Strategy<Value = weir_core::wire::lldp::basic::Identifier<MAC>> {
    use weir_core::wire::lldp::basic::Identifier;
    let other = (any::<u8>(), prop::collection::vec(any::<u8>(), 1..=255));
    prop_oneof![
        any::<[u8; 6]>().prop_map(|bytes| Identifier::mac(MacAddress(bytes))),
        other.prop_filter_map(
            "a MAC address of other than six bytes",
            |(subtype, bytes)| { Identifier::new(subtype, &bytes) }
        ),
    ]
}

fn any_ets() -> impl Strategy<Value = EtsConfiguration> {
    (
        any::<(bool, bool)>(),
        1u8..=8,
        prop::array::uniform8(0u8..8),
        any::<[u16; 8]>(),
        any::<[u8; 8]>(),
    )
        .prop_map(
            |(flags, classes, assignment, weights, selection)| EtsConfiguration {
                willing: flags.0,
                credit_based_shaper: flags.1,
                classes_max: ClassCount::new(classes).unwrap(),
                assignment: assignment.map(|class| TrafficClass::new(class).unwrap()),
                bandwidth: BandwidthTable::from_weights(weights),
                selection: selection.map(TransmissionSelection),
            },
        )
}

fn any_pfc() -> impl Strategy<Value = PfcConfiguration> {
    (any::<(bool, bool, u8)>(), 0u8..16).prop_map(|((willing, mbc, enabled), capability)| {
        PfcConfiguration {
            willing,
            mbc,
            capability: PfcCapability::new(capability).unwrap(),
            enabled: PrioritySet(enabled),
        }
    })
}

fn any_applications() -> impl Strategy<Value = ApplicationTable> {
    let kinds = [
        Application::EtherType,
        Application::StreamPort,
        Application::DatagramPort,
        Application::Port,
        Application::Dscp,
    ];
    let entry = (0..kinds.len(), any::<u16>(), 0..8usize).prop_map(move |(kind, id, priority)| {
        ApplicationEntry {
            application: kinds[kind](id),
            priority: Priority::ALL[priority],
        }
    });
    prop::collection::vec(entry, 0..=ENTRIES_MAX)
        .prop_map(|entries| ApplicationTable::new(&entries).unwrap())
}

fn any_weir() -> impl Strategy<Value = Weir> {
    let mode = (0usize..3, 1u8..32).prop_map(|(kind, links)| {
        [
            AnnouncedMode::Lossy,
            AnnouncedMode::Pfc,
            AnnouncedMode::Level(depth(links)),
        ][kind]
    });
    (any::<bool>(), prop::array::uniform8(mode))
        .prop_map(|(clcm, modes)| Weir::V1(WeirV1 { clcm, modes }))
}

fn any_announcement() -> impl Strategy<Value = Announcement> {
    let maybe = || prop::option::of(any_text());
    let capabilities = any::<(u16, u16)>().prop_map(|(supported, mask)| {
        SystemCapabilities::new(supported, supported & mask).unwrap()
    });
    (
        1u16..,
        (maybe(), maybe(), maybe()),
        prop::option::of(capabilities),
        prop::option::of(any_ets()),
        prop::option::of(any_pfc()),
        prop::option::of(any_applications()),
        prop::option::of(any_weir()),
    )
        .prop_map(
            |(ttl, texts, capabilities, ets, pfc, applications, weir)| Announcement {
                ttl: TimeToLive::new(ttl).unwrap(),
                port_description: texts.0,
                system_name: texts.1,
                system_description: texts.2,
                capabilities,
                ets,
                pfc,
                applications,
                weir,
            },
        )
}

fn any_lldp() -> impl Strategy<Value = Lldp> {
    let content = prop_oneof![
        1 => Just(Content::Shutdown),
        9 => any_announcement().prop_map(Content::Announcement),
    ];
    (any_identifier(), any_identifier(), content).prop_map(|(chassis, port, content)| Lldp {
        chassis,
        port,
        content,
    })
}

/// TLVs of types and organisations that are known, with any content.
fn any_tlv() -> impl Strategy<Value = Vec<u8>> {
    let value = || prop::collection::vec(any::<u8>(), 0..40);
    let oui = prop_oneof![
        (8u8..14).prop_map(|subtype| [0, 0x80, 0xc2, subtype]),
        (0u8..3).prop_map(|subtype| [2, 0x57, 0x45, subtype]),
    ];
    prop_oneof![
        (0u16..10, value()).prop_map(|(kind, value)| tlv(kind, &value)),
        (oui, value()).prop_map(|(oui, value)| organisation(oui, &value)),
        any::<[u8; 11]>().prop_map(|mut bytes| {
            // Version 1 of Weir with modes that are mostly legal.
            for byte in &mut bytes[3..] {
                *byte = [0, 0x20, 0x43, *byte][usize::from(*byte & 3)];
            }
            organisation([2, 0x57, 0x45, 1], &[&[1][..], &bytes].concat())
        }),
    ]
}

/// What was read can be written, and reads the same.
fn check_accepted(received: &Received) -> Result<(), TestCaseError> {
    let mut sent = received.lldp;
    if let Content::Announcement(announcement) = &mut sent.content {
        if let Some(Weir::Unknown(_)) = announcement.weir {
            announcement.weir = None;
        }
    }
    let again = Lldp::parse(&bytes_of(&received.lldp));
    let skipped = Skipped::default();
    prop_assert_eq!(
        again,
        Ok(Received {
            lldp: sent,
            skipped
        })
    );
    let _ = format!("{received:?} {} {}", sent.chassis, sent.port);
    Ok(())
}

proptest! {
    #[test]
    fn an_announcement_survives_the_wire(lldp in any_lldp()) {
        let received = Lldp::parse(&bytes_of(&lldp));
        prop_assert_eq!(received, Ok(Received { lldp, skipped: Skipped::default() }));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..1600)) {
        let _ = Lldp::parse(&bytes);
        let frame = [GOLDEN[0], &bytes].concat();
        let _ = Lldp::parse(&frame);
        let frame = [GOLDEN[..4].concat(), bytes].concat();
        if let Ok(received) = Lldp::parse(&frame) {
            check_accepted(&received)?;
        }
    }

    #[test]
    fn any_tlvs_are_read_or_refused(tlvs in prop::collection::vec(any_tlv(), 0..12)) {
        if let Ok(received) = Lldp::parse(&announcing(&tlvs)) {
            check_accepted(&received)?;
        }
    }

    #[test]
    fn any_damage_is_read_or_refused(
        lldp in any_lldp(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        length in any::<prop::sample::Index>(),
    ) {
        let mut frame = bytes_of(&lldp);
        for (at, byte) in damage {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        let cut = &frame[..length.index(frame.len() + 1)];
        for bytes in [&frame[..], cut] {
            if let Ok(received) = Lldp::parse(bytes) {
                check_accepted(&received)?;
            }
        }
    }

    #[test]
    fn weights_become_shares(weights in any::<[u16; 8]>()) {
        let table = BandwidthTable::from_weights(weights);
        prop_assert_eq!(BandwidthTable::new(table.percent()), Some(table));
        let total: f64 = weights.iter().copied().map(f64::from).sum();
        for (weight, percent) in weights.into_iter().zip(table.percent()) {
            let exact = if total == 0.0 { 0.0 } else { 100.0 * f64::from(weight) / total };
            prop_assert!((exact - f64::from(percent)).abs() <= 1.0, "{} {}", exact, percent);
        }
    }
}
