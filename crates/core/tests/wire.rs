//! Wire formats, byte by byte, and on random input.

use proptest::prelude::*;
use weir_core::wire::clcm::{Clcm, Hop, HopsFull, Phase, FRAME_LENGTH_MAX, HOPS_MAX};
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::{ControlFrame, WireError, CONTROL_FRAME_LENGTH_MAX};
use weir_core::{MacAddress, PortId, Priority, Quanta, Spuid};

const SOURCE: MacAddress = MacAddress([0x02, 0x57, 0, 0, 0, 0x99]);

fn bytes_of(frame: &ControlFrame) -> Vec<u8> {
    let mut buffer = [0xaa; CONTROL_FRAME_LENGTH_MAX];
    let length = frame.emit(SOURCE, &mut buffer).unwrap();
    buffer[..length].to_vec()
}

fn hop(number: u32) -> Hop {
    Hop {
        spuid: Spuid(0x0100_0000 + number),
        egress: PortId::new(number as u8),
    }
}

fn message(hops: u32) -> Clcm {
    let mut message = Clcm::begin(Priority::ALL[3], hop(0));
    for number in 1..hops {
        message.push(hop(number)).unwrap();
    }
    message
}

/// Returns the bytes of the hexadecimal code blocks after `heading` in a page of the book.
fn golden(page: &str, heading: &str) -> Vec<u8> {
    let block = page
        .split(heading)
        .nth(1)
        .and_then(|rest| rest.split("```").nth(1))
        .unwrap_or_else(|| panic!("no block after {heading}"));
    block
        .lines()
        .skip(1)
        .flat_map(str::split_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

#[test]
fn pause_is_laid_out_by_annex_31b() {
    let frame = bytes_of(&ControlFrame::Mac(MacControl::Pause {
        quanta: Quanta(0x1234),
    }));
    let mut expected = vec![0x01, 0x80, 0xc2, 0, 0, 0x01, 0x02, 0x57, 0, 0, 0, 0x99];
    expected.extend([0x88, 0x08, 0x00, 0x01, 0x12, 0x34]);
    expected.resize(60, 0);
    assert_eq!(frame, expected);
}

#[test]
fn pfc_is_laid_out_by_annex_31d() {
    let mut times = [None; 8];
    times[3] = Some(Quanta::MAX);
    times[5] = Some(Quanta::ZERO);
    let frame = bytes_of(&ControlFrame::Mac(MacControl::Pfc { times }));
    let mut expected = vec![0x01, 0x80, 0xc2, 0, 0, 0x01, 0x02, 0x57, 0, 0, 0, 0x99];
    expected.extend([0x88, 0x08, 0x01, 0x01, 0x00, 0b0010_1000]);
    expected.extend([0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    expected.resize(60, 0);
    assert_eq!(frame, expected);
    let page = include_str!("../../../docs/src/reference/mac-control.md");
    assert_eq!(golden(page, "## An example"), expected);
}

#[test]
fn pfc_ignores_reserved_fields() {
    let mut frame = bytes_of(&ControlFrame::Mac(MacControl::Pfc { times: [None; 8] }));
    frame[16] = 0xff;
    assert_eq!(
        MacControl::parse(&frame),
        Ok(MacControl::Pfc { times: [None; 8] })
    );
}

#[test]
fn bad_mac_control_is_refused_by_reason() {
    let good = bytes_of(&ControlFrame::Mac(MacControl::Pfc { times: [None; 8] }));
    for length in 0..34 {
        assert_eq!(
            MacControl::parse(&good[..length]),
            Err(WireError::TooShort),
            "{length}"
        );
    }
    assert!(
        MacControl::parse(&good[..34]).is_ok(),
        "padding is not asked for"
    );
    let mut other = good.clone();
    other[14..16].copy_from_slice(&[0x01, 0x02]);
    assert_eq!(
        MacControl::parse(&other),
        Err(WireError::UnknownOpcode(0x0102))
    );
    other[12] = 0x08;
    assert_eq!(MacControl::parse(&other), Err(WireError::WrongProtocol));
}

#[test]
fn clcm_is_laid_out_as_in_the_book() {
    let page = include_str!("../../../docs/src/reference/clcm.md");
    let mut message = Clcm::begin(
        Priority::ALL[3],
        Hop {
            spuid: Spuid(0x6aaa_2d90),
            egress: PortId::new(0),
        },
    );
    message
        .push(Hop {
            spuid: Spuid(0xd04e_c659),
            egress: PortId::new(2),
        })
        .unwrap();
    assert_eq!(
        bytes_of(&ControlFrame::Clcm(message)),
        golden(page, "A detection message")
    );
    let release = message.released_at(1).unwrap();
    assert_eq!(
        bytes_of(&ControlFrame::Clcm(release)),
        golden(page, "The same in the release phase")
    );
    let first = Hop {
        spuid: Spuid(0x6aaa_2d90),
        egress: PortId::new(0),
    };
    let election = Clcm::begin_election(Priority::ALL[3], first);
    let frame = bytes_of(&ControlFrame::Clcm(election));
    assert_eq!(frame, golden(page, "A Loop Breaker message"));
    assert_eq!(Clcm::parse(&frame), Ok(election));
}

#[test]
fn a_full_message_takes_no_more_hops_and_still_fits() {
    let mut message = message(HOPS_MAX as u32);
    assert_eq!(message.push(hop(99)), Err(HopsFull));
    let frame = bytes_of(&ControlFrame::Clcm(message));
    assert_eq!(frame.len(), FRAME_LENGTH_MAX);
    assert_eq!(Clcm::parse(&frame), Ok(message));
    assert_eq!(message.released_at(HOPS_MAX), None, "no such hop");
}

#[test]
fn every_illegal_field_is_refused() {
    let good = bytes_of(&ControlFrame::Clcm(message(2)));
    assert!(Clcm::parse(&good).is_ok());
    let with = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        Clcm::parse(&frame)
    };
    for (at, byte, error) in [
        (5, 0x01, WireError::WrongProtocol),
        (12, 0x08, WireError::WrongProtocol),
        (14, 0x00, WireError::UnknownVersion),
        (16, 0x02, WireError::UnknownVersion),
        (17, 0x09, WireError::UnknownVersion),
        (18, 0x08, WireError::BadField("priority")),
        (19, 0x00, WireError::BadField("CurPhase")),
        (19, 0x03, WireError::BadField("CurPhase")),
        (20, 0x01, WireError::BadField("CurIndex")),
        (20, 0x03, WireError::BadField("CurIndex")),
        (21, 65, WireError::BadField("number of hops")),
        (21, 0, WireError::BadField("CurIndex")),
        (22, 0x01, WireError::BadField("reserved")),
        (24, 0x55, WireError::BadField("SPUID")),
        (32, 0x01, WireError::BadField("EgressPorts")),
        (34, 0x01, WireError::BadField("reserved")),
    ] {
        assert_eq!(with(at, byte), Err(error), "byte {at} = {byte:#04x}");
    }
    let mut release = good.clone();
    release[19..21].copy_from_slice(&[2, 2]);
    assert_eq!(
        Clcm::parse(&release),
        Err(WireError::BadField("CurIndex")),
        "beyond the last hop"
    );
    let long = bytes_of(&ControlFrame::Clcm(message(10)));
    for length in 0..long.len() {
        assert!(
            Clcm::parse(&long[..length]).is_err(),
            "{length} of {}",
            long.len()
        );
    }
}

#[test]
fn a_buffer_that_is_too_small_gets_nothing() {
    let frame = ControlFrame::Clcm(message(10));
    let mut buffer = [0; 107];
    assert_eq!(frame.emit(SOURCE, &mut buffer), None);
    let pause = ControlFrame::Mac(MacControl::Pause { quanta: Quanta(1) });
    assert_eq!(pause.emit(SOURCE, &mut [0; 59]), None);
}

fn any_mac_control() -> impl Strategy<Value = MacControl> {
    prop_oneof![
        any::<u16>().prop_map(|quanta| MacControl::Pause {
            quanta: Quanta(quanta)
        }),
        any::<[Option<u16>; 8]>().prop_map(|times| MacControl::Pfc {
            times: times.map(|time| time.map(Quanta))
        }),
    ]
}

fn any_clcm() -> impl Strategy<Value = Clcm> {
    let hops = prop::collection::vec((any::<u32>(), any::<u8>()), 1..=HOPS_MAX);
    (0u8..8, hops, any::<Option<prop::sample::Index>>()).prop_map(|(priority, hops, current)| {
        let mut hops = hops.into_iter().map(|(spuid, egress)| Hop {
            spuid: Spuid(spuid),
            egress: PortId::new(egress),
        });
        let mut message = Clcm::begin(Priority::from_low_bits(priority), hops.next().unwrap());
        for hop in hops {
            message.push(hop).unwrap();
        }
        match current {
            None => message,
            Some(index) => message
                .released_at(index.index(message.hops().len()))
                .unwrap(),
        }
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
        let _ = MacControl::parse(&bytes);
        let _ = Clcm::parse(&bytes);
    }

    #[test]
    fn any_damage_is_read_or_refused(message in any_clcm(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
        let mut frame = bytes_of(&ControlFrame::Clcm(message));
        for (at, byte) in damage {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        if let Ok(read) = Clcm::parse(&frame) {
            prop_assert!(read.hops().len() <= HOPS_MAX);
            if let Phase::Release { current } = read.phase() {
                prop_assert!(usize::from(current) < read.hops().len());
            }
        }
    }

    #[test]
    fn mac_control_survives_the_wire(frame in any_mac_control()) {
        prop_assert_eq!(MacControl::parse(&bytes_of(&ControlFrame::Mac(frame))), Ok(frame));
    }

    #[test]
    fn clcm_survives_the_wire(message in any_clcm()) {
        prop_assert_eq!(Clcm::parse(&bytes_of(&ControlFrame::Clcm(message))), Ok(message));
    }
}
