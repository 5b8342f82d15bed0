//! Frame in; verdict, metadata and counters out, with BPF_PROG_TEST_RUN. Needs root.

use std::os::fd::{AsFd, OwnedFd};

use proptest::prelude::*;
use weir_ebpf::{
    udp_flow_hash, Fallback, FrameClass, Lldp, Meta, PortProgram, PortSettings, TestRun, Trust,
    Verdict, META_LENGTH,
};

pub(crate) const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;
pub(crate) const XDP_REDIRECT: u32 = 4;

const HOST: [u8; 6] = [2, 0, 0, 0, 0, 1];
const NEAREST_BRIDGE: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x0e];
pub(crate) const MAC_CONTROL: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x01];

fn load(settings: &PortSettings) -> PortProgram {
    PortProgram::load(settings).expect("these tests need root (CAP_BPF, CAP_NET_ADMIN)")
}

/// Opens an unbound AF_XDP socket, which suffices for an entry of the XSKMAP in a test run.
pub(crate) fn socket() -> OwnedFd {
    // The map accepts only sockets with an RX ring, so a real one is bound on loopback.
    unbound::socket_with_rx_ring()
}

mod unbound {
    use std::os::fd::{FromRawFd, OwnedFd};

    const AF_XDP: i32 = 44;
    const SOL_XDP: i32 = 283;
    const XDP_RX_RING: i32 = 2;

    extern "C" {
        fn socket(domain: i32, kind: i32, protocol: i32) -> i32;
        fn setsockopt(fd: i32, level: i32, name: i32, value: *const u8, length: u32) -> i32;
    }

    pub fn socket_with_rx_ring() -> OwnedFd {
        const SOCK_RAW: i32 = 3;
        // SAFETY: plain system calls with values that outlive them.
        unsafe {
            let fd = socket(AF_XDP, SOCK_RAW, 0);
            assert!(fd >= 0, "{}", std::io::Error::last_os_error());
            let entries = 8u32.to_ne_bytes();
            let result = setsockopt(fd, SOL_XDP, XDP_RX_RING, entries.as_ptr(), 4);
            assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
            OwnedFd::from_raw_fd(fd)
        }
    }
}

struct Port {
    program: PortProgram,
    _socket: OwnedFd,
}

impl Port {
    fn new(settings: &PortSettings) -> Self {
        let program = load(settings);
        let socket = socket();
        program.set_socket(0, socket.as_fd()).unwrap();
        Self {
            program,
            _socket: socket,
        }
    }

    /// Returns the metadata of a frame that must be redirected unchanged.
    fn meta(&self, frame: &[u8]) -> Meta {
        let TestRun { action, meta, data } = self.program.test_run(frame).unwrap();
        assert_eq!(action, XDP_REDIRECT);
        assert_eq!(data, frame, "the frame itself is not touched");
        Meta::read(meta[..].try_into().expect("one record")).expect("a valid record")
    }
}

pub(crate) fn ethernet(destination: [u8; 6], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = destination.to_vec();
    frame.extend([2, 0, 0, 0, 0, 2]);
    frame.extend(ethertype.to_be_bytes());
    frame.extend(payload);
    frame
}

pub(crate) fn tagged(tags: &[(u16, u16)], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for (index, (_, tci)) in tags.iter().enumerate() {
        body.extend(tci.to_be_bytes());
        let next = tags.get(index + 1).map_or(ethertype, |(tpid, _)| *tpid);
        body.extend(next.to_be_bytes());
    }
    body.extend(payload);
    ethernet(HOST, tags[0].0, &body)
}

fn ipv4(tos: u8, protocol: u8, fragment: u16, l4: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, tos, 0, 20 + l4.len() as u8, 0, 1];
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(l4);
    packet
}

fn ipv6(traffic_class: u8, next: u8, l4: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60 | traffic_class >> 4, traffic_class << 4, 0, 0];
    packet.extend((l4.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    packet.extend([0xfd; 16]);
    packet.extend([0xfe; 16]);
    packet.extend(l4);
    packet
}

fn ports(source: u16, destination: u16) -> Vec<u8> {
    let mut l4 = source.to_be_bytes().to_vec();
    l4.extend(destination.to_be_bytes());
    l4.extend([0; 16]);
    l4
}

const UDP: u8 = 17;
const TCP: u8 = 6;
const FRAGMENT: u8 = 44;

#[test]
#[ignore = "needs root"]
fn classes_by_ethertype_and_address() {
    let port = Port::new(&PortSettings::default());
    let table = [
        (
            ethernet(MAC_CONTROL, 0x8808, &[1, 1]),
            FrameClass::MacControl,
        ),
        (ethernet(NEAREST_BRIDGE, 0x88b5, &[0; 46]), FrameClass::Clcm),
        (ethernet(HOST, 0x88b5, &[0; 46]), FrameClass::Data),
        (
            ethernet(HOST, 0x0800, &ipv4(0, UDP, 0, &ports(1, 2))),
            FrameClass::Data,
        ),
        (ethernet(HOST, 0x0806, &[0; 28]), FrameClass::Data),
        // control protocols are never tagged: such a frame is a station's data
        (tagged(&[(0x8100, 0)], 0x88cc, &[0; 46]), FrameClass::Data),
        // but for pauses, which the daemon drops: no switch may remove the tag and pass them on
        (
            tagged(&[(0x8100, 0)], 0x8808, &[1, 1]),
            FrameClass::MacControl,
        ),
        (
            tagged(&[(0x88a8, 7), (0x8100, 0)], 0x8808, &[1, 1]),
            FrameClass::MacControl,
        ),
    ];
    for (frame, class) in table {
        assert_eq!(port.meta(&frame).class, class, "{frame:02x?}");
    }
}

#[test]
#[ignore = "needs root"]
fn priority_is_the_pcp_then_the_dscp_then_the_default() {
    let mut settings = PortSettings {
        default_priority: 1,
        trust: Trust {
            pcp: true,
            dscp: true,
        },
        ..PortSettings::default()
    };
    settings.dscp_to_priority[46] = 6;
    let port = Port::new(&settings);
    let expedited = ipv4(46 << 2, UDP, 0, &ports(1, 2));
    for pcp in 0..8u16 {
        let frame = tagged(&[(0x8100, pcp << 13 | 100)], 0x0800, &expedited);
        let meta = port.meta(&frame);
        assert_eq!(u16::from(meta.priority), pcp);
        assert_eq!(meta.vlan_tci, Some(pcp << 13 | 100));
        assert_eq!(meta.l3_offset, 18);
    }
    assert_eq!(port.meta(&ethernet(HOST, 0x0800, &expedited)).priority, 6);
    let six = ipv6(46 << 2, UDP, &ports(1, 2));
    assert_eq!(port.meta(&ethernet(HOST, 0x86dd, &six)).priority, 6);
    assert_eq!(port.meta(&ethernet(HOST, 0x0806, &[0; 28])).priority, 1);

    port.program
        .update_settings(&PortSettings {
            trust: Trust {
                pcp: false,
                dscp: true,
            },
            ..settings
        })
        .unwrap();
    let frame = tagged(&[(0x8100, 5 << 13)], 0x0800, &expedited);
    assert_eq!(port.meta(&frame).priority, 6, "PCP is not trusted");
    port.program
        .update_settings(&PortSettings {
            trust: Trust {
                pcp: false,
                dscp: false,
            },
            ..settings
        })
        .unwrap();
    assert_eq!(port.meta(&frame).priority, 1, "nothing is trusted");
}

#[test]
#[ignore = "needs root"]
fn maps_translate_pcp() {
    let settings = PortSettings {
        pcp_to_priority: [7, 6, 5, 4, 3, 2, 1, 0],
        ..PortSettings::default()
    };
    let port = Port::new(&settings);
    let meta = port.meta(&tagged(&[(0x8100, 5 << 13)], 0x0800, &[0; 46]));
    assert_eq!(meta.priority, 2);
}

#[test]
#[ignore = "needs root"]
fn two_tags_are_looked_through_and_the_outer_one_counts() {
    let port = Port::new(&PortSettings::default());
    let inner = ipv4(0, UDP, 0, &ports(1, 2));
    let frame = tagged(
        &[(0x88a8, 4 << 13 | 7), (0x8100, 2 << 13 | 9)],
        0x0800,
        &inner,
    );
    let meta = port.meta(&frame);
    assert_eq!((meta.priority, meta.vlan_tci), (4, Some(4 << 13 | 7)));
    assert!(meta.is_ipv4);
    assert_eq!(meta.l3_offset, 22);
    let three = tagged(&[(0x88a8, 0), (0x8100, 0), (0x8100, 0)], 0x0800, &inner);
    assert!(!port.meta(&three).is_ipv4, "a third tag is payload");
}

#[test]
#[ignore = "needs root"]
fn the_flow_hash_follows_the_five_tuple() {
    let port = Port::new(&PortSettings::default());
    let hash = |payload: &[u8]| port.meta(&ethernet(HOST, 0x0800, payload)).flow_hash;
    let base = hash(&ipv4(0, UDP, 0, &ports(1000, 2000)));
    assert_eq!(
        base,
        hash(&ipv4(0xfc, UDP, 0, &ports(1000, 2000))),
        "DSCP is no part of it"
    );
    assert_ne!(base, hash(&ipv4(0, UDP, 0, &ports(1001, 2000))));
    assert_ne!(base, hash(&ipv4(0, UDP, 0, &ports(1000, 2001))));
    assert_ne!(base, hash(&ipv4(0, TCP, 0, &ports(1000, 2000))));
    let packet = ipv4(0, UDP, 0, &ports(1000, 2000));
    let address = |at: usize| <[u8; 4]>::try_from(&packet[at..at + 4]).unwrap().into();
    assert_eq!(base, udp_flow_hash(address(12), address(16), 1000, 2000));
    // all fragments of a packet have the same hash, though only the first has the ports
    let first = hash(&ipv4(0, UDP, 0x2000, &ports(1000, 2000)));
    let second = hash(&ipv4(0, UDP, 0x00b9, &ports(7, 8)));
    assert_eq!(first, second);

    let hash6 = |payload: &[u8]| port.meta(&ethernet(HOST, 0x86dd, payload)).flow_hash;
    let six = hash6(&ipv6(0, UDP, &ports(1000, 2000)));
    assert_ne!(six, hash6(&ipv6(0, UDP, &ports(1000, 2001))));
    assert_eq!(six, hash6(&ipv6(0xb8, UDP, &ports(1000, 2000))));
    assert_eq!(
        hash6(&ipv6(0, FRAGMENT, &ports(1, 2))),
        hash6(&ipv6(0, FRAGMENT, &ports(3, 4)))
    );

    let arp = port.meta(&ethernet(HOST, 0x0806, &[1; 28])).flow_hash;
    assert_eq!(arp, port.meta(&ethernet(HOST, 0x0806, &[2; 28])).flow_hash);
    assert_ne!(
        arp,
        port.meta(&ethernet(MAC_CONTROL, 0x0806, &[1; 28]))
            .flow_hash
    );
}

#[test]
#[ignore = "needs root"]
fn truncated_headers_are_forwarded_as_far_as_they_go() {
    let port = Port::new(&PortSettings::default());
    let whole = tagged(&[(0x8100, 3 << 13)], 0x0800, &ipv4(0, UDP, 0, &ports(1, 2)));
    for length in 14..whole.len() {
        let meta = port.meta(&whole[..length]);
        let has_tag = length >= 18;
        assert_eq!(meta.vlan_tci.is_some(), has_tag, "{length}");
        assert_eq!(meta.priority, if has_tag { 3 } else { 0 }, "{length}");
        assert_eq!(meta.is_ipv4, length >= 38, "{length}");
    }
    // a header length below the minimum, and another version under the IPv4 EtherType
    for first in [0x44, 0x65] {
        let mut packet = ipv4(0, UDP, 0, &ports(1, 2));
        packet[0] = first;
        assert!(!port.meta(&ethernet(HOST, 0x0800, &packet)).is_ipv4);
    }
    // IPv4 options move the ports
    let mut packet = ipv4(0, UDP, 0, &[]);
    packet[0] = 0x46;
    packet.extend([1, 1, 1, 1]);
    packet.extend(ports(1000, 2000));
    let with_options = port.meta(&ethernet(HOST, 0x0800, &packet)).flow_hash;
    let without = ipv4(0, UDP, 0, &ports(1000, 2000));
    assert_eq!(
        with_options,
        port.meta(&ethernet(HOST, 0x0800, &without)).flow_hash
    );
}

#[test]
#[ignore = "needs root"]
fn without_a_socket_the_fallback_decides() {
    let frame = ethernet(HOST, 0x0806, &[0; 46]);
    for (fallback, action, verdict) in [
        (Fallback::Pass, XDP_PASS, Verdict::Passed),
        (Fallback::Drop, XDP_DROP, Verdict::Dropped),
    ] {
        let program = load(&PortSettings {
            fallback,
            ..PortSettings::default()
        });
        let run = program.test_run(&frame).unwrap();
        assert_eq!(run.action, action);
        assert!(run.meta.is_empty(), "nobody would read it");
        assert_eq!(run.data, frame);
        assert_eq!(program.verdict_counters().unwrap().get(verdict), 1);
    }
}

/// A full buffer and the following one are parts of a frame that a driver has cut, whatever headers they seem to have.
#[test]
#[ignore = "needs root"]
fn parts_of_a_cut_frame_are_dropped() {
    const FULL: usize = 1024;
    let port = Port::new(&PortSettings {
        cut_length: FULL as u16,
        ..PortSettings::default()
    });
    let pause = ethernet([1, 0x80, 0xc2, 0, 0, 1], 0x8808, &[1, 1, 0, 8]);
    let lldp = ethernet([1, 0x80, 0xc2, 0, 0, 0xe], 0x88cc, &[0; 1010]);
    let full = ethernet(HOST, 0x0800, &[0; 1010]);
    let below = ethernet(HOST, 0x0800, &[0; 1009]);
    for (parts, whole) in [
        (vec![&full, &pause], &pause),
        (vec![&lldp, &pause], &pause),
        (vec![&full, &full, &full, &below], &below),
    ] {
        let before = port.program.verdict_counters().unwrap().get(Verdict::Cut);
        for part in &parts {
            assert_eq!(port.program.test_run(part).unwrap().action, XDP_DROP);
        }
        let after = port.program.verdict_counters().unwrap().get(Verdict::Cut);
        assert_eq!(after - before, parts.len() as u64);
        port.meta(whole);
    }
}

#[test]
#[ignore = "needs root"]
fn lldp_goes_to_the_kernel_whatever_the_fallback() {
    let frame = ethernet(NEAREST_BRIDGE, 0x88cc, &[0; 46]);
    for fallback in [Fallback::Pass, Fallback::Drop] {
        let settings = PortSettings {
            fallback,
            ..PortSettings::default()
        };
        let without_socket = load(&settings);
        let port = Port::new(&settings);
        for program in [&without_socket, &port.program] {
            let run = program.test_run(&frame).unwrap();
            assert_eq!(run.action, XDP_PASS);
            assert!(run.meta.is_empty(), "the kernel must not see a record");
            assert_eq!(run.data, frame);
            let verdicts = program.verdict_counters().unwrap();
            assert_eq!(verdicts.get(Verdict::Passed), 1);
            let counted = program.class_counters().unwrap();
            assert_eq!(counted.of_class(FrameClass::Lldp).frames, 1);
        }
    }
}

#[test]
#[ignore = "needs root"]
fn lldp_goes_to_the_socket_where_that_is_wanted() {
    let port = Port::new(&PortSettings {
        lldp: Lldp::Socket,
        ..PortSettings::default()
    });
    let frame = ethernet(NEAREST_BRIDGE, 0x88cc, &[0; 46]);
    assert_eq!(port.meta(&frame).class, FrameClass::Lldp);
}

#[test]
#[ignore = "needs root"]
fn a_closed_socket_means_the_fallback() {
    let program = load(&PortSettings::default());
    let frame = ethernet(HOST, 0x0806, &[0; 46]);
    let socket = socket();
    program.set_socket(0, socket.as_fd()).unwrap();
    assert_eq!(program.test_run(&frame).unwrap().action, XDP_REDIRECT);
    drop(socket);
    assert_eq!(program.test_run(&frame).unwrap().action, XDP_PASS);
}

#[test]
#[ignore = "needs root"]
fn frames_and_bytes_are_counted_by_class_and_priority() {
    let port = Port::new(&PortSettings::default());
    for pcp in [3u16, 3, 5] {
        port.meta(&tagged(&[(0x8100, pcp << 13)], 0x0800, &[0; 82]));
    }
    port.meta(&ethernet(MAC_CONTROL, 0x8808, &[0; 46]));
    let counters = port.program.class_counters().unwrap();
    let three = counters.get(FrameClass::Data, 3);
    assert_eq!((three.frames, three.bytes), (2, 200));
    assert_eq!(counters.get(FrameClass::Data, 5).frames, 1);
    assert_eq!(counters.of_class(FrameClass::Data).bytes, 300);
    assert_eq!(counters.of_class(FrameClass::MacControl).bytes, 60);
    let verdicts = port.program.verdict_counters().unwrap();
    assert_eq!(verdicts.get(Verdict::Redirected), 4);
}

#[test]
#[ignore = "needs root"]
fn the_record_contains_time_and_place() {
    let port = Port::new(&PortSettings::default());
    let frame = ethernet(HOST, 0x0806, &[0; 46]);
    let (one, two) = (port.meta(&frame), port.meta(&frame));
    assert!(one.arrival_nanos > 0 && two.arrival_nanos >= one.arrival_nanos);
    assert_eq!(META_LENGTH % 4, 0, "the kernel wants whole words");
}

#[test]
#[ignore = "needs root"]
fn a_queue_without_a_place_in_the_map_is_refused() {
    let program = load(&PortSettings::default());
    let socket = socket();
    assert!(program
        .set_socket(weir_ebpf::QUEUES_MAX, socket.as_fd())
        .is_err());
}

#[test]
#[ignore = "needs root"]
fn arbitrary_frames_never_abort() {
    let port = Port::new(&PortSettings::default());
    let mut runner = proptest::test_runner::TestRunner::default();
    let types = prop::sample::select(vec![
        0x0800u16, 0x86dd, 0x8100, 0x88a8, 0x8808, 0x88b5, 0x1234,
    ]);
    runner
        .run(
            &(types, prop::collection::vec(any::<u8>(), 0..400)),
            |(ethertype, payload)| {
                let frame = ethernet(HOST, ethertype, &payload);
                let meta = port.meta(&frame);
                prop_assert!(meta.priority < 8);
                prop_assert!(usize::from(meta.l3_offset) <= frame.len());
                Ok(())
            },
        )
        .unwrap();
}
