//! A decoder that is not ours reads the template and every field: tshark.

use proptest::prelude::*;
use weir_export::ipfix::{Credits, Message, Pauses, Record, ELEMENTS};
use weir_export::PAYLOAD_MAX;

use crate::capture::{tshark, udp, write_capture};

/// The number for documentation (RFC 5612).
const ENTERPRISE: u32 = 32_473;
const PORT: u16 = 4_739;
const OWN: usize = 11;

/// 2026-11-28 12:00:00 UTC and some.
const UNIX_NANOS: u64 = 1_795_867_200_123_456_789;

const RECORD: Record<'_> = Record {
    unix_nanos: UNIX_NANOS,
    port: "swp1",
    priority: Some(3),
    ingress_bytes: (1 << 40) + 1,
    egress_bytes: (1 << 41) + 2,
    received: Pauses {
        nanos: (1 << 42) + 3,
        begun: 0x0102_0304,
        active: true,
    },
    sent: Pauses {
        nanos: (1 << 43) + 4,
        begun: 5,
        active: false,
    },
    credits: Credits {
        used: 6,
        limit: 7,
        outstanding: 8,
    },
    drops: (1 << 44) + 9,
};

fn numbers(columns: &str) -> Vec<u64> {
    columns
        .split(';')
        .map(|hex| u64::from_str_radix(hex, 16).unwrap())
        .collect()
}

#[test]
fn tshark_reads_every_field_and_objects_to_no_message() {
    let mut message = Message::new(77, ENTERPRISE);
    assert!(message.is_empty());
    message.add_template();
    assert!(!message.is_empty() && message.add(&RECORD));
    let without = Record {
        priority: None,
        port: "",
        sent: Pauses {
            active: true,
            ..Pauses::default()
        },
        ..Record::default()
    };
    assert!(message.add(&without));
    let mut payloads = vec![message.finish(1_795_867_201).to_vec()];
    message.begin_next(true);
    assert!(message.add(&RECORD));
    // This one is not sent: its record does not count in the sequence.
    message.finish(1_795_867_202);
    message.begin_next(false);
    assert!(message.add(&RECORD));
    payloads.push(message.finish(1_795_867_203).to_vec());
    // That objections are seen is shown by a message that deserves one.
    let mut cut = payloads[0].clone();
    cut.truncate(cut.len() / 2);
    payloads.push(cut);

    let directory = tempfile::tempdir().unwrap();
    let capture = directory.path().join("ipfix.pcap");
    write_capture(&capture, &udp(PORT, &payloads));
    let objections = tshark(
        &capture,
        "_ws.malformed || _ws.expert.severity",
        &["frame.number"],
    );
    assert_eq!(objections, "3\n");

    let fields = [
        "cflow.version",
        "cflow.exporttime",
        "cflow.sequence",
        "cflow.od_id",
        "cflow.observation_time_nanoseconds",
        "cflow.if_name",
        "cflow.enterprise_private_entry",
        "cflow.drop_packets",
    ];
    let rows = tshark(&capture, "frame.number <= 2", &fields);
    let rows: Vec<Vec<&str>> = rows
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(rows[0][..4], ["10", "1795867201", "0", "77"]);
    assert_eq!(rows[1][..4], ["10", "1795867203", "2", "77"]);
    let times: Vec<&str> = rows[0][4].split(';').collect();
    assert_eq!(times[0], "Nov 28, 2026 12:00:00.123456789 UTC");
    assert_eq!(rows[0][5], "swp1");
    let own = numbers(rows[0][6]);
    let expected = [
        3,
        RECORD.ingress_bytes,
        RECORD.egress_bytes,
        RECORD.received.nanos,
        0x0102_0304,
        RECORD.sent.nanos,
        5,
        1,
        6,
        7,
        8,
    ];
    assert_eq!(own[..OWN], expected);
    assert_eq!(own[OWN..], [255, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
    let drops: Vec<&str> = rows[0][7].split(';').collect();
    assert_eq!(drops, [RECORD.drops.to_string().as_str(), "0"]);
    assert_eq!(numbers(rows[1][6]), expected);
}

#[test]
fn tshark_reads_the_template() {
    let mut message = Message::new(1, ENTERPRISE);
    message.add_template();
    let directory = tempfile::tempdir().unwrap();
    let capture = directory.path().join("template.pcap");
    write_capture(&capture, &udp(PORT, &[message.finish(0).to_vec()]));
    let fields = [
        "cflow.template_id",
        "cflow.template_field_count",
        "cflow.template_ipfix_field_type",
        "cflow.template_ipfix_field_type_enterprise",
        "cflow.template_ipfix_field_pen",
        "cflow.template_field_length",
    ];
    let row = tshark(&capture, "cflow", &fields);
    let cells: Vec<&str> = row.trim_end().split('\t').collect();
    let joined = |is_own| {
        let elements = ELEMENTS.iter().filter(|element| element.is_own == is_own);
        let numbers: Vec<String> = elements.map(|element| element.number.to_string()).collect();
        numbers.join(";")
    };
    let lengths = ELEMENTS.map(|element| element.length.unwrap_or(65_535).to_string());
    assert_eq!(cells[0], "256");
    assert_eq!(cells[1], ELEMENTS.len().to_string());
    assert_eq!(cells[2], joined(false));
    assert_eq!(cells[3], joined(true));
    assert_eq!(cells[4], [ENTERPRISE.to_string().as_str(); OWN].join(";"));
    assert_eq!(cells[5], lengths.join(";"));
}

proptest! {
    /// Records of ports with any name fit the payload, or are refused and change nothing; an empty message takes each.
    #[test]
    fn every_message_has_its_bound_and_its_length(
        names in prop::collection::vec("[a-zß]{0,300}", 1..60),
        has_template: bool,
    ) {
        let mut message = Message::new(1, ENTERPRISE);
        if has_template {
            message.add_template();
        }
        let mut sequence = 0_u32;
        for name in &names {
            let record = Record { port: name, ..RECORD };
            if !message.add(&record) {
                let count = message.records();
                prop_assert!(count > 0 || has_template);
                let bytes = message.finish(9).to_vec();
                prop_assert!(bytes.len() <= PAYLOAD_MAX && bytes.len() + 330 > PAYLOAD_MAX);
                prop_assert_eq!(&bytes[2..4], &(bytes.len() as u16).to_be_bytes());
                prop_assert_eq!(&bytes[8..12], &sequence.to_be_bytes());
                message.begin_next(true);
                sequence += count;
                prop_assert!(message.add(&record));
            }
        }
    }
}
