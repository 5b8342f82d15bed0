//! Two independent decoders read every structure: the crate `sflow-parser`, and tshark.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use sflow_parser::models::{self, Address, CounterData, FlowData, SampleData};
use sflow_parser::{parse_datagram, SFlowDatagram};
use weir_core::DropReason;
use weir_export::sflow::{
    Code, Datagram, DiscardedPacket, Header, PacketSample, PortCounters, HEADER_MAX,
};
use weir_export::PAYLOAD_MAX;

use crate::capture::{tshark, udp, write_capture};

const AGENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
/// Too large for the compact form of an interface.
const INTERFACE: u32 = 0x0123_4567;

/// An untagged IPv4 frame without content, of 60 bytes.
fn frame() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 253, 0, 0]);
    frame.extend([192, 0, 2, 1, 192, 0, 2, 2]);
    frame.resize(60, 0);
    frame
}

fn header(bytes: &[u8], length: usize) -> Header<'_> {
    Header { bytes, length }
}

fn discarded(reason: DropReason, bytes: &[u8]) -> DiscardedPacket<'_> {
    DiscardedPacket {
        sequence: reason.index() as u32 + 1,
        interface: INTERFACE,
        unreported: 9,
        reason,
        header: header(bytes, 1514),
    }
}

fn packet(bytes: &[u8]) -> PacketSample<'_> {
    PacketSample {
        sequence: 3,
        interface: INTERFACE,
        rate: 1_000,
        pool: 2_900,
        lost: 1,
        header: header(bytes, 9_000),
    }
}

const COUNTERS: PortCounters = PortCounters {
    sequence: 5,
    interface: INTERFACE,
    speed: 100_000_000_000,
    up: true,
    in_octets: (1 << 40) + 1,
    in_frames: (1 << 32) + 2,
    in_discards: 3,
    in_errors: Some(4),
    out_octets: (1 << 41) + 5,
    out_frames: 6,
    out_discards: 7,
    checksum_errors: Some(8),
    alignment_errors: None,
    length_errors: Some(9),
};

fn parsed(datagram: &Datagram) -> SFlowDatagram {
    parse_datagram(datagram.bytes()).unwrap()
}

/// Datagrams with every drop reason, beside a packet and counters in the first.
fn all() -> Vec<Vec<u8>> {
    let frame = frame();
    let mut datagram = Datagram::new(AGENT);
    let mut datagrams = Vec::new();
    datagram.begin(1_234);
    assert!(datagram.add_counters(&COUNTERS));
    assert!(datagram.add_packet(&packet(&frame)));
    for reason in DropReason::ALL {
        let report = discarded(reason, &frame);
        if !datagram.add_discarded(&report) {
            datagrams.push(datagram.bytes().to_vec());
            datagram.begin(1_235);
            assert!(datagram.add_discarded(&report));
        }
    }
    datagrams.push(datagram.bytes().to_vec());
    datagrams
}

#[test]
fn a_parser_reads_every_field_of_counters_and_a_packet() {
    let frame = frame();
    let mut datagram = Datagram::new(AGENT);
    datagram.begin(1);
    datagram.begin(1_234);
    assert!(datagram.add_counters(&COUNTERS) && datagram.add_packet(&packet(&frame)));
    let read = parsed(&datagram);
    assert_eq!(
        read.agent_address,
        Address::IPv4(Ipv4Addr::new(192, 0, 2, 7))
    );
    assert_eq!((read.sequence_number, read.uptime), (2, 1_234));
    let [counters, packet] = &read.samples[..] else {
        panic!("{read:?}");
    };
    let SampleData::CountersSampleExpanded(sample) = &counters.sample_data else {
        panic!("{counters:?}");
    };
    assert_eq!(
        (sample.sequence_number, sample.source_id.source_id_index),
        (5, INTERFACE)
    );
    let [generic, ethernet] = &sample.counters[..] else {
        panic!("{sample:?}");
    };
    let CounterData::GenericInterface(generic) = &generic.counter_data else {
        panic!("{generic:?}");
    };
    assert_eq!(
        (generic.if_index, generic.if_type, generic.if_speed),
        (INTERFACE, 6, 100_000_000_000)
    );
    assert_eq!((generic.if_direction, generic.if_status), (1, 3));
    // Octets have 64 bits, and the others wrap around.
    assert_eq!(
        (generic.if_in_octets, generic.if_in_ucast_pkts),
        ((1 << 40) + 1, 2)
    );
    assert_eq!((generic.if_in_discards, generic.if_in_errors), (3, 4));
    assert_eq!(
        (generic.if_out_octets, generic.if_out_ucast_pkts),
        ((1 << 41) + 5, 6)
    );
    assert_eq!(generic.if_out_discards, 7);
    for unknown in [
        generic.if_in_multicast_pkts,
        generic.if_in_broadcast_pkts,
        generic.if_in_unknown_protos,
        generic.if_out_multicast_pkts,
        generic.if_out_broadcast_pkts,
        generic.if_out_errors,
    ] {
        assert_eq!(unknown, u32::MAX);
    }
    let CounterData::EthernetInterface(ethernet) = &ethernet.counter_data else {
        panic!("{ethernet:?}");
    };
    assert_eq!(ethernet.dot3_stats_alignment_errors, u32::MAX);
    assert_eq!(ethernet.dot3_stats_fcs_errors, 8);
    assert_eq!(ethernet.dot3_stats_frame_too_longs, 9);

    let SampleData::FlowSampleExpanded(sample) = &packet.sample_data else {
        panic!("{packet:?}");
    };
    assert_eq!((sample.sequence_number, sample.sampling_rate), (3, 1_000));
    assert_eq!((sample.sample_pool, sample.drops), (2_900, 1));
    assert_eq!((sample.input.format, sample.input.value), (0, INTERFACE));
    assert_eq!((sample.output.format, sample.output.value), (0, 0));
    let [record] = &sample.flow_records[..] else {
        panic!("{sample:?}");
    };
    let FlowData::SampledHeader(header) = &record.flow_data else {
        panic!("{record:?}");
    };
    // Length on the line, with the checksum that was stripped.
    assert_eq!((header.frame_length, header.stripped), (9_004, 4));
    assert_eq!(header.header, frame);
}

#[test]
fn a_parser_reads_the_code_and_the_name_of_every_drop_reason() {
    let mut reported = Vec::new();
    for bytes in all() {
        for sample in parse_datagram(&bytes).unwrap().samples {
            let SampleData::DiscardedPacket(report) = sample.sample_data else {
                continue;
            };
            assert_eq!(report.source_id.source_id_type, 0);
            assert_eq!(report.source_id.source_id_index, INTERFACE);
            assert_eq!(
                (report.input_ifindex, report.output_ifindex),
                (INTERFACE, 0)
            );
            assert_eq!(report.drops, 9);
            let [header, function] = &report.flow_records[..] else {
                panic!("{report:?}");
            };
            let FlowData::SampledHeader(header) = &header.flow_data else {
                panic!("{header:?}");
            };
            assert_eq!((header.frame_length, &header.header), (1_518, &frame()));
            let FlowData::ExtendedFunction(function) = &function.flow_data else {
                panic!("{function:?}");
            };
            let symbol = function.symbol.clone();
            reported.push((report.sequence_number, report.reason, symbol));
        }
    }
    let expected = DropReason::ALL.map(|reason| {
        // The parser knows the codes up to 303, and treats others as `unknown`.
        let code = models::DropReason::from_u32(Code::of(reason).number());
        let code = code.unwrap_or(models::DropReason::Unknown);
        (reason.index() as u32 + 1, code, reason.name().to_owned())
    });
    assert_eq!(reported, expected);
}

#[test]
fn tshark_reads_all_datagrams_without_complaint() {
    let directory = tempfile::tempdir().unwrap();
    let capture = directory.path().join("sflow.pcap");
    let mut payloads = all();
    let count = payloads.len();
    // A datagram that deserves objections shows that they would be seen.
    let mut cut = payloads[0].clone();
    cut.truncate(cut.len() / 2);
    payloads.push(cut);
    write_capture(&capture, &udp(6_343, &payloads));
    let objections = tshark(&capture, "_ws.malformed", &["frame.number"]);
    assert_eq!(objections, format!("{}\n", count + 1));
    let first = tshark(
        &capture,
        "frame.number == 1",
        &[
            "sflow_245.version",
            "sflow_245.agent",
            "sflow_245.sysuptime",
            "sflow_245.ifindex",
            "sflow_245.ifspeed",
            "sflow_245.ifinoct",
            "sflow_245.ifindisc",
            "sflow.flow_sample.sampling_rate",
        ],
    );
    let cells: Vec<&str> = first.trim_end().split('\t').collect();
    assert_eq!(cells[0], "5");
    assert_eq!((cells[1], cells[2]), ("192.0.2.7", "1234"));
    assert_eq!(cells[3], INTERFACE.to_string());
    assert_eq!(cells[4], "100000000000");
    assert_eq!(cells[5], ((1u64 << 40) + 1).to_string());
    assert_eq!(cells[6], "3");
}

#[test]
fn an_agent_may_have_an_ipv6_address() {
    let address = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7);
    let mut datagram = Datagram::new(address.into());
    datagram.begin(0);
    assert!(datagram.add_counters(&COUNTERS));
    assert_eq!(parsed(&datagram).agent_address, Address::IPv6(address));
}

proptest! {
    /// Samples of any frames fit the payload, or are refused without effect; an empty datagram accepts each.
    #[test]
    fn every_datagram_can_be_read_and_has_its_bound(
        lengths in prop::collection::vec((0..2 * HEADER_MAX, any::<bool>(), 0..DropReason::COUNT), 1..40),
        is_ipv6: bool,
    ) {
        let agent = match is_ipv6 {
            true => Ipv6Addr::LOCALHOST.into(),
            false => AGENT,
        };
        let mut datagram = Datagram::new(agent);
        datagram.begin(0);
        let mut count = 0;
        for (length, is_dropped, reason) in lengths {
            let bytes = vec![7; length];
            let add = |datagram: &mut Datagram| match is_dropped {
                true => datagram.add_discarded(&discarded(DropReason::ALL[reason], &bytes)),
                false => datagram.add_packet(&packet(&bytes)),
            };
            if !add(&mut datagram) {
                prop_assert!(datagram.bytes().len() + HEADER_MAX + 200 > PAYLOAD_MAX);
                prop_assert_eq!(parsed(&datagram).samples.len(), count);
                count = 0;
                datagram.begin(0);
                prop_assert!(add(&mut datagram));
            }
            count += 1;
            prop_assert!(datagram.bytes().len() <= PAYLOAD_MAX);
            prop_assert_eq!(datagram.samples() as usize, count);
        }
        prop_assert_eq!(parsed(&datagram).samples.len(), count);
    }
}
