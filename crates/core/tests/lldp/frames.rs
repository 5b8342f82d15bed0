//! An announcement and its bytes, and frames of chosen TLVs.

use weir_core::wire::lldp::application::{Application, ApplicationEntry, ApplicationTable};
use weir_core::wire::lldp::basic::{
    ChassisId, PortIdentifier, SystemCapabilities, Text, TimeToLive,
};
use weir_core::wire::lldp::credits::{AnnouncedCredits, Credits, CreditsV1};
use weir_core::wire::lldp::dcbx::{
    BandwidthTable, ClassCount, EtsConfiguration, PfcConfiguration, PrioritySet, TrafficClass,
    TransmissionSelection,
};
use weir_core::wire::lldp::weir::{AnnouncedMode, Depth, Weir, WeirV1};
use weir_core::wire::lldp::{Announcement, Content, Lldp, Skipped, FRAME_LENGTH_MAX};
use weir_core::{CreditFallback, CreditTerms, Level, MacAddress, Priority};

pub const SOURCE: MacAddress = MacAddress([0x02, 0x57, 0, 0, 0, 0x99]);
pub const CHASSIS: MacAddress = MacAddress([0x02, 0x57, 0, 0, 0, 0x01]);

/// The announcement of [`golden`], one TLV per line.
#[rustfmt::skip]
pub const GOLDEN: &[&[u8]] = &[
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
    // Credits: version 1, given; priority 4, closed without them; frames up to 1,518 B; 300 credits of 2,048 B, overhead -4.
    &[0xfe, 0x12, 0x02, 0x57, 0x45, 0x02, 0x01, 0x01, 0x10, 0x10, 0x05, 0xee,
      0, 0, 1, 44, 8, 0, 0xfc, 0],
    &[0x00, 0x00],
];

pub fn depth(links: u8) -> Depth {
    Level::new(links).and_then(Depth::new).unwrap()
}

pub fn golden() -> Lldp {
    let class = |number| TrafficClass::new(number).unwrap();
    let mut modes = [AnnouncedMode::Lossy; 8];
    modes[3] = AnnouncedMode::Level(depth(4));
    modes[4] = AnnouncedMode::Pfc;
    let entry = |application, priority| ApplicationEntry {
        application,
        priority: Priority::ALL[priority],
    };
    let mut credits = CreditsV1 {
        gives: true,
        longest_bytes: 1_518,
        ..CreditsV1::default()
    };
    credits.classes[4] = Some(AnnouncedCredits {
        terms: CreditTerms::new(2_048, -4, 300).unwrap(),
        fallback: CreditFallback::Closed,
    });
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
        weir: Some(Weir::V1(WeirV1 {
            clcm: true,
            modes,
            ..WeirV1::default()
        })),
        credits: Some(Credits::V1(credits)),
        ..Announcement::new(TimeToLive::STANDARD)
    };
    lldp(Content::Announcement(announcement))
}

pub fn lldp(content: Content) -> Lldp {
    Lldp {
        chassis: ChassisId::mac(CHASSIS),
        port: PortIdentifier::interface_name("s1-eth0").unwrap(),
        content,
    }
}

pub fn bytes_of(lldp: &Lldp) -> Vec<u8> {
    let mut buffer = [0xaa; FRAME_LENGTH_MAX];
    let length = lldp.emit(SOURCE, &mut buffer).unwrap();
    buffer[..length].to_vec()
}

pub fn tlv(kind: u16, value: &[u8]) -> Vec<u8> {
    let header = kind << 9 | u16::try_from(value.len()).unwrap();
    [&header.to_be_bytes(), value].concat()
}

pub fn organisation(oui_and_subtype: [u8; 4], value: &[u8]) -> Vec<u8> {
    tlv(127, &[&oui_and_subtype, value].concat())
}

/// A frame with only these TLVs.
pub fn frame(tlvs: &[Vec<u8>]) -> Vec<u8> {
    [GOLDEN[0].to_vec(), tlvs.concat()].concat()
}

/// A frame with the mandatory TLVs, these, and End.
pub fn announcing(optional: &[Vec<u8>]) -> Vec<u8> {
    [GOLDEN[..4].concat(), optional.concat(), vec![0, 0]].concat()
}

pub fn read(optional: &[Vec<u8>]) -> (Announcement, Skipped) {
    let received = Lldp::parse(&announcing(optional)).unwrap();
    match received.lldp.content {
        Content::Announcement(announcement) => (announcement, received.skipped),
        Content::Shutdown => panic!("not a shutdown"),
    }
}

pub fn assert_malformed(optional: Vec<u8>) {
    let (announcement, skipped) = read(std::slice::from_ref(&optional));
    let expected = Skipped {
        malformed: 1,
        ..Skipped::default()
    };
    assert_eq!(skipped, expected, "{optional:02x?}");
    assert_eq!(announcement, Announcement::new(TimeToLive::STANDARD));
}
