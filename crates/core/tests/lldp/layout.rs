//! Layout of written frames, and rejection of invalid ones.

use weir_core::wire::lldp::application::{
    Application, ApplicationEntry, ApplicationTable, ENTRIES_MAX,
};
use weir_core::wire::lldp::basic::{ChassisId, PortIdentifier, Text, TimeToLive};
use weir_core::wire::lldp::credits::{AnnouncedCredits, Credits, CreditsV1};
use weir_core::wire::lldp::{
    Announcement, BufferTooSmall, Content, Lldp, LldpError, Mandatory, Skipped, FRAME_LENGTH_MAX,
};
use weir_core::{CreditFallback, CreditTerms, Duration, MacAddress, Priority};

use crate::lldp::frames::*;

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
fn the_longest_frame_has_the_declared_length() {
    let long = Text::new(&[b'x'; 255]);
    let entry = ApplicationEntry {
        application: Application::Dscp(46),
        priority: Priority::ALL[7],
    };
    let class = AnnouncedCredits {
        terms: CreditTerms::new(u16::MAX, 127, 1 << 20).unwrap(),
        fallback: CreditFallback::Pfc,
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
            credits: Some(Credits::V1(CreditsV1 {
                gives: true,
                longest_bytes: u16::MAX,
                classes: [Some(class); 8],
            })),
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
fn a_truncated_frame_is_refused_or_read_as_one_that_ends_there() {
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
            // The mandatory TLVs are present, and some optional ones.
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
            "offset 14: the frame ends 119 B before its last TLV does",
        ),
        (
            frame(&[port.clone(), chassis.clone(), ttl.clone()]),
            "offset 14: found a TLV of type 2, expected the Chassis ID TLV",
        ),
        (
            frame(&[chassis.clone(), ttl.clone()]),
            "offset 23: found a TLV of type 3, expected the Port ID TLV",
        ),
        (
            frame(&[chassis.clone(), port.clone(), tlv(5, b"s1"), ttl.clone()]),
            "offset 33: found a TLV of type 5, expected the Time To Live TLV",
        ),
        (
            frame(&[chassis.clone(), port.clone(), tlv(0, b""), ttl.clone()]),
            "offset 33: the LLDPDU ends before the Time To Live TLV",
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
fn names_of_any_subtype_are_read() {
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

    // A network address of unknown kind, and a number missing from the table.
    let (chassis, port) = read(&[5, 1, 192, 0, 2], &[200, 0]);
    assert_eq!(chassis.to_string(), "\\u{1}\\xc0\\0\\u{2}");
    assert_eq!((port.subtype(), port.as_bytes()), (200, &[0][..]));
}

#[test]
fn identifiers_are_legal() {
    assert_eq!(ChassisId::new(4, &[0; 5]), None);
    assert_eq!(PortIdentifier::new(3, &[0; 7]), None);
    assert_eq!(PortIdentifier::new(7, &[]), None);
    assert_eq!(PortIdentifier::new(7, &[0; 256]), None);
    assert_eq!(ChassisId::new(4, &CHASSIS.0), Some(ChassisId::mac(CHASSIS)));
}

#[test]
fn text_from_a_neighbour_has_no_terminal_escapes() {
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
