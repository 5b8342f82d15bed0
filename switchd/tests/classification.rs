//! The XDP program and the userspace parsers read a frame in the same way. Uses BPF_PROG_TEST_RUN; needs root.

use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use weir_core::wire::ethernet::EthernetView;
use weir_core::Priority;
use weir_ebpf::{FrameClass, Lldp, Meta, PortProgram, PortSettings, Trust};
use weir_properties::corpus::inputs;
use weir_switchd::model::classify::{Classification, Trusted};
use weir_switchd::model::headers::Headers;

const XDP_REDIRECT: u32 = 4;
const CASES: u32 = 20_000;
const HEADER_LENGTH: usize = 14;
const ETHERTYPE_CLCM: u16 = 0x88b5;
const FRAGMENT_HEADER: u8 = 44;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    class: FrameClass,
    priority: u8,
    vlan: Option<u16>,
    is_ipv4: bool,
    is_ipv6: bool,
    l3_offset: usize,
    flow_hash: u32,
}

impl Reading {
    fn by_program(meta: &Meta) -> Self {
        Self {
            class: meta.class,
            priority: meta.priority,
            vlan: meta.vlan_tci.map(|tci| tci & 0x0fff),
            is_ipv4: meta.is_ipv4,
            is_ipv6: meta.is_ipv6,
            l3_offset: meta.l3_offset.into(),
            flow_hash: meta.flow_hash,
        }
    }

    fn by_userspace(frame: &[u8], settings: &PortSettings) -> Self {
        let headers = Headers::of(frame);
        let priority = Priority::from_low_bits;
        let trust = settings.trust;
        let trusted = Trusted {
            default: priority(settings.default_priority),
            pcp: trust.pcp.then(|| settings.pcp_to_priority.map(priority)),
            dscp: trust.dscp.then(|| settings.dscp_to_priority.map(priority)),
        };
        let read = Classification::of(frame, &headers, &trusted);
        Self {
            class: read.class,
            priority: read.priority.get(),
            vlan: headers.vlan,
            is_ipv4: headers.ip.is_some_and(|ip| ip.source.is_ipv4()),
            is_ipv6: headers.ip.is_some_and(|ip| ip.source.is_ipv6()),
            l3_offset: read.l3_offset,
            flow_hash: read.flow_hash,
        }
    }
}

/// Opens an unbound AF_XDP socket with an RX ring, since the map accepts nothing else.
fn socket() -> OwnedFd {
    let entries = 8u32;
    // SAFETY: plain system calls with values that outlive them.
    unsafe {
        let fd = libc::socket(libc::AF_XDP, libc::SOCK_RAW, 0);
        assert!(fd >= 0, "needs root: {}", std::io::Error::last_os_error());
        let result = libc::setsockopt(
            fd,
            libc::SOL_XDP,
            libc::XDP_RX_RING,
            std::ptr::from_ref(&entries).cast(),
            4,
        );
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    }
}

/// Maps all priorities by tables of distinct values.
fn settings(pcp: bool, dscp: bool) -> PortSettings {
    PortSettings {
        default_priority: 1,
        trust: Trust { pcp, dscp },
        lldp: Lldp::Socket,
        pcp_to_priority: [7, 6, 5, 4, 3, 2, 1, 0],
        dscp_to_priority: std::array::from_fn(|dscp| (dscp * 5 % 8) as u8),
        ..PortSettings::default()
    }
}

fn ports() -> Vec<(PortProgram, PortSettings)> {
    let trusts = [(true, true), (true, false), (false, true), (false, false)];
    trusts
        .into_iter()
        .map(|(pcp, dscp)| {
            let settings = settings(pcp, dscp);
            let program = PortProgram::load(&settings)
                .expect("these tests need root (CAP_BPF, CAP_NET_ADMIN)");
            (program, settings)
        })
        .collect()
}

fn check(program: &PortProgram, settings: &PortSettings, frame: &[u8]) {
    let run = program.test_run(frame).unwrap();
    assert_eq!(run.action, XDP_REDIRECT, "{frame:02x?}");
    let meta = Meta::read(run.meta[..].try_into().expect("one record")).expect("a valid record");
    assert_eq!(
        Reading::by_program(&meta),
        Reading::by_userspace(frame, settings),
        "{frame:02x?}"
    );
}

fn ethertype() -> impl Strategy<Value = u16> {
    prop_oneof![
        6 => prop::sample::select(vec![0x0800, 0x86dd]),
        2 => prop::sample::select(vec![0x8100, 0x88a8, 0x8808, 0x88cc, ETHERTYPE_CLCM]),
        1 => any::<u16>(),
    ]
}

fn address() -> impl Strategy<Value = [u8; 6]> {
    prop_oneof![
        Just([0x01, 0x80, 0xc2, 0, 0, 0x0e]),
        Just([0x01, 0x80, 0xc2, 0, 0, 0x01]),
        any::<[u8; 6]>(),
    ]
}

/// Returns the first bytes of a network header, mostly of IP.
fn network() -> impl Strategy<Value = Vec<u8>> {
    let first =
        prop_oneof![4 => Just(0x45), 1 => 0x40..0x50u8, 4 => 0x60..0x70u8, 1 => any::<u8>()];
    let protocol = prop_oneof![
        3 => prop::sample::select(vec![6u8, 17, 132, FRAGMENT_HEADER, 1]),
        1 => any::<u8>(),
    ];
    let fragment = prop_oneof![3 => Just([0u8, 0]), 1 => Just([0x40, 0]), 1 => any::<[u8; 2]>()];
    let rest = prop::collection::vec(any::<u8>(), 0..90);
    (first, protocol, fragment, rest).prop_map(|(first, protocol, fragment, mut rest)| {
        rest.insert(0, first);
        // Offsets of the protocol in IPv4 and IPv6.
        for (version, at) in [(4, 9), (6, 6)] {
            if first >> 4 == version && rest.len() > at {
                rest[at] = protocol;
            }
        }
        if first >> 4 == 4 && rest.len() > 7 {
            rest[6..8].copy_from_slice(&fragment);
        }
        rest
    })
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let tag = (prop::sample::select(vec![0x8100u16, 0x88a8]), any::<u16>());
    let tags = prop::collection::vec(tag, 0..4);
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let cut = prop::option::weighted(0.3, any::<prop::sample::Index>());
    (
        address(),
        any::<[u8; 6]>(),
        tags,
        ethertype(),
        network(),
        damage,
        cut,
    )
        .prop_map(
            |(destination, source, tags, ethertype, network, damage, cut)| {
                let mut frame = [destination, source].concat();
                for (protocol, tci) in tags {
                    frame.extend(protocol.to_be_bytes());
                    frame.extend(tci.to_be_bytes());
                }
                frame.extend(ethertype.to_be_bytes());
                frame.extend(network);
                for (at, byte) in damage {
                    let at = at.index(frame.len());
                    frame[at] = byte;
                }
                if let Some(cut) = cut {
                    frame.truncate(cut.index(frame.len() + 1).max(HEADER_LENGTH));
                }
                frame
            },
        )
}

#[test]
#[ignore = "needs root"]
fn the_program_and_userspace_see_the_same_in_any_frame() {
    let ports = ports();
    let sockets: Vec<OwnedFd> = ports.iter().map(|_| socket()).collect();
    for ((program, _), socket) in ports.iter().zip(&sockets) {
        program.set_socket(0, socket.as_fd()).unwrap();
    }
    let any_bytes = prop::collection::vec(any::<u8>(), HEADER_LENGTH..200);
    let input = (prop_oneof![9 => frame(), 1 => any_bytes], 0..ports.len());
    let config = ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
        .run(&input, |(frame, port)| {
            let (program, settings) = &ports[port];
            check(program, settings, &frame);
            Ok(())
        })
        .unwrap();
    for target in ["frame", "mac_control", "clcm", "echo", "lldp"] {
        let mut checked = 0;
        for frame in inputs(target, Path::new(env!("CARGO_TARGET_TMPDIR"))) {
            if EthernetView::new_checked(&frame).is_ok() {
                ports
                    .iter()
                    .for_each(|(program, settings)| check(program, settings, &frame));
                checked += 1;
            }
        }
        assert!(checked > 0, "the corpus of {target} has no whole frame");
    }
}
