//! Random announcements and random bytes.

use proptest::prelude::*;
use weir_core::wire::lldp::application::{
    Application, ApplicationEntry, ApplicationTable, ENTRIES_MAX,
};
use weir_core::wire::lldp::basic::{SystemCapabilities, Text, TimeToLive};
use weir_core::wire::lldp::credits::{AnnouncedCredits, Credits, CreditsV1};
use weir_core::wire::lldp::dcbx::{
    BandwidthTable, ClassCount, EtsConfiguration, PfcCapability, PfcConfiguration, PrioritySet,
    TrafficClass, TransmissionSelection,
};
use weir_core::wire::lldp::weir::{AnnouncedMode, Weir, WeirV1};
use weir_core::wire::lldp::{Announcement, Content, Lldp, Received, Skipped};
use weir_core::{CreditFallback, CreditTerms, FeedbackCoding, MacAddress, Priority};

use crate::lldp::frames::*;

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
    let coding = prop::sample::select(vec![
        None,
        Some(FeedbackCoding::Pfc),
        Some(FeedbackCoding::Pause),
        Some(FeedbackCoding::Grants),
    ]);
    (any::<(bool, bool)>(), coding, prop::array::uniform8(mode)).prop_map(
        |((clcm, hears), coding, modes)| {
            Weir::V1(WeirV1 {
                clcm,
                hears,
                coding,
                modes,
            })
        },
    )
}

fn any_credits() -> impl Strategy<Value = Credits> {
    let terms = (64u16.., -16i8..=127, 1u32..=1 << 20);
    let class = (terms, any::<bool>()).prop_map(|((size, overhead, limit), closes)| {
        let fallback = match closes {
            true => CreditFallback::Closed,
            false => CreditFallback::Pfc,
        };
        AnnouncedCredits {
            terms: CreditTerms::new(size, overhead, limit).unwrap(),
            fallback,
        }
    });
    let classes = prop::array::uniform8(prop::option::of(class));
    (any::<bool>(), any::<u16>(), classes).prop_map(|(gives, longest_bytes, classes)| {
        Credits::V1(CreditsV1 {
            gives,
            longest_bytes,
            classes,
        })
    })
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
        prop::option::of(any_credits()),
    )
        .prop_map(
            |(ttl, texts, capabilities, ets, pfc, applications, weir, credits)| Announcement {
                ttl: TimeToLive::new(ttl).unwrap(),
                port_description: texts.0,
                system_name: texts.1,
                system_description: texts.2,
                capabilities,
                ets,
                pfc,
                applications,
                weir,
                credits,
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

fn any_tlv() -> impl Strategy<Value = Vec<u8>> {
    let value = || prop::collection::vec(any::<u8>(), 0..40);
    let oui = prop_oneof![
        (8u8..14).prop_map(|subtype| [0, 0x80, 0xc2, subtype]),
        (0u8..4).prop_map(|subtype| [2, 0x57, 0x45, subtype]),
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
        (any::<[u8; 5]>(), prop::collection::vec(any::<u8>(), 0..70)).prop_map(
            |(fixed, records)| {
                // Version 1 of credits, with terms that are mostly legal.
                let mut bytes = [&[1][..], &fixed, &records].concat();
                bytes[3] &= bytes[2];
                for record in bytes[6..].chunks_exact_mut(8) {
                    (record[0], record[1]) = (0, record[1] & 0x0f);
                    record[6] &= 0x7f;
                }
                organisation([2, 0x57, 0x45, 2], &bytes)
            }
        ),
    ]
}

/// Checks that an accepted frame can be written, and parses to the same value.
fn check_accepted(received: &Received) -> Result<(), TestCaseError> {
    let mut sent = received.lldp;
    if let Content::Announcement(announcement) = &mut sent.content {
        if let Some(Weir::Unknown(_)) = announcement.weir {
            announcement.weir = None;
        }
        if let Some(Credits::Unknown(_)) = announcement.credits {
            announcement.credits = None;
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
    fn weights_are_converted_to_shares(weights in any::<[u16; 8]>()) {
        let table = BandwidthTable::from_weights(weights);
        prop_assert_eq!(BandwidthTable::new(table.percent()), Some(table));
        let total: f64 = weights.iter().copied().map(f64::from).sum();
        for (weight, percent) in weights.into_iter().zip(table.percent()) {
            let exact = if total == 0.0 { 0.0 } else { 100.0 * f64::from(weight) / total };
            prop_assert!((exact - f64::from(percent)).abs() <= 1.0, "{} {}", exact, percent);
        }
    }
}
