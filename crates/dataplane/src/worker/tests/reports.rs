//! Reports of dropped frames: for every reason of the core, a dropped frame and its decoded report.

use std::net::{IpAddr, Ipv4Addr};

use sflow_parser::models::{FlowData, SampleData};
use weir_core::config::{
    AuthenticationConfig, FabricKey, FloodConfig, LifetimeConfig, LoopConfig, Police, StormAction,
    WatchdogConfig,
};
use weir_core::wire::echo::Echo;
use weir_core::{ClassConfig, ClassMode, PortConfig, PortRole, SwitchConfig, VlanId, VlanPort};
use weir_export::sflow::{Code, Datagram, DiscardedPacket, Header};

use super::impair::impair;
use super::taps::tap_at;
use super::*;
use crate::exchange::impair::Action;
use crate::exchange::tap::{Choice, Tap, DROPS_PLACE};
use weir_config::frames::sight::Verdict;

/// More drops than any test causes in a second.
const PER_SECOND: u32 = 10_000;

fn watch(bench: &mut Bench) -> Arc<Tap> {
    let dropped = Choice::Dropped {
        per_second: PER_SECOND,
    };
    tap_at(bench, DROPS_PLACE, dropped, 128, PER_SECOND as usize)
}

/// Takes the copies, checks that there is one for each counted drop, and returns the reasons in the decoded reports.
fn reported(bench: &Bench, tap: &Tap) -> Vec<String> {
    let mut counted = [DropCounts::default(); PORT_COUNT];
    let mut names = Vec::new();
    let mut datagram = Datagram::new(IpAddr::V4(Ipv4Addr::LOCALHOST));
    while let Some(record) = tap.take() {
        let Verdict::Dropped(reason) = record.verdict else {
            panic!("{record:?}");
        };
        counted[record.port.index()][reason.index()] += 1;
        datagram.begin(0);
        let report = DiscardedPacket {
            sequence: 1,
            interface: 1,
            unreported: 0,
            reason,
            header: Header {
                bytes: record.bytes(),
                length: record.length,
            },
        };
        assert!(datagram.add_discarded(&report));
        let read = sflow_parser::parse_datagram(datagram.bytes()).unwrap();
        let SampleData::DiscardedPacket(read) = &read.samples[0].sample_data else {
            panic!("{read:?}");
        };
        let FlowData::ExtendedFunction(function) = &read.flow_records[1].flow_data else {
            panic!("{read:?}");
        };
        names.push(function.symbol.clone());
    }
    for (port, counted) in counted.iter().enumerate() {
        assert_eq!(&bench.counters(port).drops, counted, "at port {port}");
        let figures = tap.figures(id(port));
        assert_eq!((figures.withheld, figures.lost), (0, 0));
    }
    names
}

fn data_at(bench: &mut Bench, port: usize, priority: u8, bytes: &[u8]) {
    bench.arrive(port, Some(meta(FrameClass::Data, priority)), bytes);
    bench.round();
}

/// Sends `frames` frames of 500 bytes from `from` to port 1, which sends nothing.
fn crowd(bench: &mut Bench, from: usize, priority: u8, frames: u32) {
    bench.worker.io.set_budget(1, 0);
    for number in 0..frames {
        bench.arrive_data(from, 1, priority, number);
        bench.round();
    }
}

fn wait(bench: &mut Bench, time: Duration) {
    bench.round_after(time);
    bench.round();
}

/// Makes a frame wait for port 1, whose neighbour pauses it.
fn held(bench: &mut Bench) {
    bench.arrive_pfc(1, LOSSLESS, Quanta::MAX);
    bench.round();
    bench.arrive_data(0, 1, LOSSLESS, 1);
    bench.round();
}

fn to_all(from: usize) -> Vec<u8> {
    let mut bytes = frame_between(host(from), MacAddress::BROADCAST);
    bytes.resize(60, 7);
    bytes
}

/// Returns a frame with tags behind the addresses.
fn tagged(tags: &[u16]) -> Vec<u8> {
    let mut bytes = frame_between(host(0), host(1));
    for (place, tag) in tags.iter().enumerate() {
        let [high, low] = tag.to_be_bytes();
        bytes.splice(12 + 4 * place..12 + 4 * place, [0x81, 0, high, low]);
    }
    bytes.resize(64, 7);
    bytes
}

fn with_vlans() -> Setup {
    let port = VlanPort::access(VlanId::new(7).unwrap());
    Setup {
        vlans: vec![port; PORT_COUNT],
        ..Setup::default()
    }
}

fn with(adjust: fn(&mut SwitchConfig)) -> Setup {
    Setup {
        adjust,
        ..Setup::default()
    }
}

fn learning(adjust: fn(&mut SwitchConfig)) -> Setup {
    Setup {
        learning_capacity: 16,
        adjust,
        ..Setup::default()
    }
}

const KEY: FabricKey = FabricKey::new([7; 32]);

fn with_key(config: &mut SwitchConfig) {
    config.authentication = Some(AuthenticationConfig {
        key: KEY,
        seed: 11,
        sequence: 1_000_000,
    });
}

/// Receives the same message twice from a neighbour that has the key, whose port 0 is connected to the bench's port 0.
fn replay(bench: &mut Bench) {
    let port = PortConfig::new(PortRole::Fabric, FAST, host(9));
    let lossy = ClassConfig::new(ClassMode::Lossy {
        buffer: Bytes::new(65_536),
    });
    let mut config = SwitchConfig::new(vec![port, port], [lossy; 8], Vec::new());
    with_key(&mut config);
    let mut neighbour = Switch::new(config).unwrap();
    let said = Command::SendClcm {
        port: id(0),
        message: clcm(),
    };
    neighbour.apply(bench.now, said).unwrap();
    let (mut heard, mut last) = (0, Vec::new());
    for _ in 0..3_000 {
        bench.round_after(Duration::from_millis(1));
        let sent = bench.sent_by(0);
        for frame in &sent[heard..] {
            let _ = neighbour.receive_clcm(bench.now, id(0), frame);
        }
        heard = sent.len();
        neighbour.handle_timeout(bench.now);
        while let Some(weir_core::Transmission::Control(frame)) =
            neighbour.transmit(bench.now, id(0))
        {
            last = emit(&frame);
            bench.arrive(0, Some(meta(FrameClass::Clcm, LOSSY)), &last);
            bench.round();
        }
    }
    assert!(!last.is_empty());
    bench.arrive(0, Some(meta(FrameClass::Clcm, LOSSY)), &last);
    bench.round();
}

type Cause = (Setup, fn(&mut Bench));

/// Returns how to cause a drop for this reason; `None` for reasons in [`frames_to_refuse`].
fn cause(reason: DropReason) -> Option<Cause> {
    cause_as_usual(reason)
        .or_else(|| cause_by_setting(reason))
        .or_else(|| cause_by_time(reason))
        .or_else(|| cause_by_fault(reason))
}

/// A pause lasts for 3.4 s at this rate.
fn slow(adjust: fn(&mut SwitchConfig)) -> Setup {
    Setup {
        rate: SLOW,
        adjust,
        ..Setup::default()
    }
}

fn cause_by_time(reason: DropReason) -> Option<Cause> {
    let cause: Cause = match reason {
        DropReason::Storm => (
            slow(|config| {
                config.ports[1].watchdog = Some(WatchdogConfig {
                    detection: Duration::from_millis(100),
                    restoration: Duration::from_millis(100),
                    action: StormAction::Drop,
                });
            }),
            |bench| {
                held(bench);
                for _ in 0..30 {
                    wait(bench, Duration::from_millis(10));
                }
                bench.command(Command::CallStorm {
                    egress: id(1),
                    priority: Priority::from_low_bits(LOSSLESS),
                });
                bench.round();
                bench.round();
            },
        ),
        DropReason::Lifetime => (
            slow(|config| {
                config.lifetime = Some(LifetimeConfig {
                    limit: Duration::from_millis(10),
                    stall_count: 0,
                });
            }),
            |bench| {
                held(bench);
                for _ in 0..30 {
                    wait(bench, Duration::from_millis(1));
                }
            },
        ),
        _ => return None,
    };
    Some(cause)
}

/// More chunks than the tables have places: the error of a caller.
fn cause_by_fault(reason: DropReason) -> Option<Cause> {
    let setup = Setup {
        surplus: 2 * RESERVE,
        ..Setup::default()
    };
    let act: fn(&mut Bench) = |bench| {
        let mut taken = Vec::new();
        // Each chunk is behind those that are in the ring already.
        for number in 0..2 * RING as u32 {
            if bench.counters(0).drops_total() > 0 {
                break;
            }
            // The pool gives first what came back last; the chunks with the highest numbers are at its end.
            while bench.worker.pool.free_count() > 2 * RESERVE {
                taken.extend(bench.worker.pool.take());
            }
            bench.arrive_data(0, 1, LOSSY, number);
            bench.round();
        }
        for chunk in taken {
            bench.worker.pool.give_back(chunk);
        }
    };
    (reason == DropReason::TableFull).then_some((setup, act))
}

fn flood(bench: &mut Bench) {
    for _ in 0..100 {
        data_at(bench, EDGE, LOSSY, &to_all(EDGE));
    }
}

fn cause_as_usual(reason: DropReason) -> Option<Cause> {
    let usual = Setup::default;
    let cause: Cause = match reason {
        DropReason::HeadroomExceeded => (usual(), |bench| crowd(bench, 0, LOSSLESS, 65)),
        DropReason::BufferFull => (usual(), |bench| crowd(bench, 0, LOSSY, 17)),
        DropReason::BadEcho => (usual(), |bench| {
            let mut buffer = [0; 128];
            let echo = Echo::Reply { id: 1 };
            echo.emit(host(9), &mut buffer).unwrap();
            bench.arrive(0, Some(meta(FrameClass::Clcm, LOSSY)), &buffer[..20]);
            bench.round();
        }),
        DropReason::Draining => (usual(), |bench| {
            bench.command(Command::Drain);
            bench.round();
            data_at(bench, 0, LOSSY, &data(0, 1, 1, 100));
        }),
        DropReason::PortDown => (usual(), |bench| {
            bench.command(Command::SetLink {
                port: id(0),
                up: false,
            });
            bench.round();
            data_at(bench, 0, LOSSY, &data(0, 1, 1, 100));
        }),
        DropReason::MirrorPort => (usual(), |bench| {
            bench.command(Command::RemoveRoute {
                destination: host(EDGE),
            });
            bench.command(Command::Reserve {
                port: id(EDGE),
                reserved: true,
            });
            bench.round();
            data_at(bench, EDGE, LOSSY, &data(EDGE, 1, 1, 100));
        }),
        DropReason::Impaired => (usual(), |bench| {
            impair(bench, "", 1, Action::Drop);
            data_at(bench, 0, LOSSY, &data(0, 1, 1, 100));
        }),
        _ => return None,
    };
    Some(cause)
}

fn cause_by_setting(reason: DropReason) -> Option<Cause> {
    let cause: Cause = match reason {
        DropReason::Policed => (
            with(|config| config.ports[EDGE].police = Police::Drop),
            |bench| crowd(bench, EDGE, LOSSLESS, 65),
        ),
        DropReason::Aged => (
            Setup {
                age_limit: Some(Duration::from_millis(1)),
                ..Setup::default()
            },
            |bench| {
                held(bench);
                wait(bench, Duration::from_millis(2));
            },
        ),
        DropReason::Unauthentic => (with(with_key), |bench| {
            let bytes = emit(&ControlFrame::Clcm(clcm()));
            bench.arrive(0, Some(meta(FrameClass::Clcm, LOSSY)), &bytes);
            bench.round();
        }),
        DropReason::Replayed => (with(with_key), replay),
        DropReason::ControlRate => (
            with(|config| config.control_limits.pause_rate = Some(100)),
            |bench| {
                for _ in 0..200 {
                    bench.arrive_pfc(0, LOSSLESS, Quanta::ZERO);
                    bench.round();
                }
            },
        ),
        DropReason::OffTree => (with(|config| config.flood = on_tree([1, EDGE])), |bench| {
            data_at(bench, 0, LOSSY, &to_all(0))
        }),
        DropReason::LosslessGroup => (with(|config| config.flood = on_tree([0, EDGE])), |bench| {
            data_at(bench, 0, LOSSLESS, &to_all(0))
        }),
        DropReason::FloodRate => (learning(|config| config.flood.edge_rate = Some(10)), flood),
        DropReason::LoopProbe => (
            learning(|config| {
                config.loops = Some(LoopConfig {
                    interval: Duration::from_millis(100),
                    hold: Duration::from_secs(1),
                    moves: None,
                });
            }),
            |bench| {
                for _ in 0..3 {
                    wait(bench, Duration::from_millis(100));
                }
                let probe = bench.sent_by(0).pop().unwrap();
                data_at(bench, 1, LOSSY, &probe);
            },
        ),
        DropReason::ForeignSource => (learning(|_| {}), |bench| {
            data_at(bench, EDGE, LOSSY, &data(1, 0, 1, 100));
        }),
        DropReason::AddressLimit => (
            learning(|config| config.ports[0].address_limit = Some(1)),
            |bench| {
                for source in [7, 8] {
                    data_at(bench, 0, LOSSY, &data(source, 1, 1, 100));
                }
            },
        ),
        DropReason::Priority => (
            with(|config| config.ports[0].priorities[usize::from(LOSSY)] = false),
            |bench| data_at(bench, 0, LOSSY, &data(0, 1, 1, 100)),
        ),
        DropReason::NestedTag => (with_vlans(), |bench| {
            data_at(bench, 0, LOSSY, &tagged(&[0, 7]));
        }),
        DropReason::Vlan => (with_vlans(), |bench| {
            data_at(bench, 0, LOSSY, &tagged(&[9]));
        }),
        _ => return None,
    };
    Some(cause)
}

fn on_tree(ports: [usize; 2]) -> FloodConfig {
    FloodConfig {
        tree: Some(ports.into_iter().map(id).collect()),
        ..FloodConfig::default()
    }
}

#[test]
fn a_drop_has_one_report_that_names_its_reason() {
    let mut wrong = Vec::new();
    for reason in DropReason::ALL {
        let (mut bench, tap);
        match cause(reason) {
            Some((setup, act)) => {
                bench = Bench::new(&setup);
                tap = watch(&mut bench);
                act(&mut bench);
            }
            None => {
                bench = Bench::new(&Setup::default());
                tap = watch(&mut bench);
                let refused = frames_to_refuse().into_iter();
                let wanted = refused.filter(|(.., found)| *found == Some(reason));
                for (port, meta, bytes, _) in wanted {
                    bench.arrive(port, meta, &bytes);
                    bench.round();
                }
            }
        }
        let names = reported(&bench, &tap);
        if names.is_empty() || names.iter().any(|name| name != reason.name()) {
            wrong.push((reason, Code::of(reason), names));
        }
        bench.assert_conserved();
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
