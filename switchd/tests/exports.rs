//! sFlow and IPFIX to a collector that is there, and to some that are not.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

use crate::support::running::Running;
use crate::support::{get, port, settings, until, FakeDataplane};
use sflow_parser::models::{CounterData, FlowData, SampleData};
use sflow_parser::SFlowDatagram;
use weir_api::daemon::{Exports, Ipfix, Sflow};
use weir_core::{Bytes, DropReason, Duration};
use weir_dataplane::series::{Series, IPFIX_PLACE};
use weir_dataplane::tap::Taps;
use weir_switchd::control::ipfix::IpfixSettings;
use weir_switchd::control::sflow::{own_address, SflowSettings};
use weir_switchd::model::clock;
use weir_switchd::model::sight::{Direction, Sight, Verdict};

const ADMITTED: Verdict = Verdict::Admitted {
    marked: false,
    pausing: false,
    held: false,
};

fn sflow(collector: SocketAddr) -> SflowSettings {
    SflowSettings {
        collector,
        agent: own_address(collector),
        interval: Duration::from_secs(3_600),
        sampling: Some(1),
        drops_per_second: Some(100),
        header_bytes: 64,
        seed: 7,
    }
}

fn collector() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

/// A daemon that exports to `collector`, and the taps of its dataplane once both are there.
async fn start(collector: SocketAddr) -> (Running, Arc<Mutex<Taps>>) {
    let fake = FakeDataplane::start();
    let taps = Arc::clone(&fake.taps);
    let mut settings = settings();
    settings.sflow = Some(sflow(collector));
    let daemon = Running::start(fake, settings).await;
    let has_both = |taps: &Taps| {
        let dropped = taps.wanting(port(0), Verdict::Dropped(DropReason::NoRoute).into());
        taps.sees_passing() && !dropped.is_empty()
    };
    until(async || has_both(&taps.lock().unwrap()).then_some(())).await;
    (daemon, taps)
}

/// Offers frames of 100 bytes at port 1 to the taps.
fn show(taps: &Mutex<Taps>, verdict: Verdict, count: usize) {
    let taps = taps.lock().unwrap();
    let at = clock::now();
    for number in 0..count {
        let sight = Sight {
            at,
            port: port(1),
            direction: Direction::In,
            verdict,
            priority: None,
            hardware_nanos: None,
            bytes: &[number as u8; 100],
        };
        taps.offer(taps.wanting(port(1), verdict.into()), &sight);
    }
}

async fn state(daemon: &Running) -> Sflow {
    let exports: Exports = get(&daemon.socket, "/v1/exports").await.json();
    exports.sflow.unwrap()
}

fn received(collector: &UdpSocket) -> Vec<SFlowDatagram> {
    let mut buffer = [0; 2_048];
    let mut datagrams = Vec::new();
    while let Ok(length) = collector.recv(&mut buffer) {
        datagrams.push(sflow_parser::parse_datagram(&buffer[..length]).unwrap());
    }
    datagrams
}

#[tokio::test]
async fn reports_are_complete_below_the_limit_and_counted_above_it() {
    let collector = collector();
    let (daemon, taps) = start(collector.local_addr().unwrap()).await;
    show(&taps, Verdict::Dropped(DropReason::NoRoute), 40);
    show(&taps, Verdict::Dropped(DropReason::Aged), 60);
    show(&taps, Verdict::Dropped(DropReason::Storm), 5);
    show(&taps, ADMITTED, 30);
    let sent = until(async || {
        let state = state(&daemon).await;
        let is_all = state.drops_sent_total == 100 && state.packets_sent_total == 30;
        (is_all && state.counters_sent_total == 3).then_some(state)
    })
    .await;
    assert_eq!((sent.drops_seen_total, sent.drops_withheld_total), (105, 5));
    assert_eq!((sent.packets_seen_total, sent.packets_lost_total), (30, 0));
    assert_eq!(sent.drops_lost_total + sent.counters_lost_total, 0);
    assert_eq!(
        (sent.agent.as_deref(), sent.error),
        (Some("127.0.0.1"), None)
    );
    assert_eq!(
        (sent.datagrams_refused_total, sent.datagrams_lost_total),
        (0, 0)
    );

    let datagrams = received(&collector);
    assert_eq!(datagrams.len() as u64, sent.datagrams_sent_total);
    let numbers: Vec<u32> = datagrams.iter().map(|it| it.sequence_number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
    let (mut reasons, mut sequences, mut samples, mut speeds) = (vec![], vec![], vec![], vec![]);
    for sample in datagrams.into_iter().flat_map(|datagram| datagram.samples) {
        match sample.sample_data {
            SampleData::DiscardedPacket(report) => {
                let FlowData::ExtendedFunction(function) = &report.flow_records[1].flow_data else {
                    panic!("{report:?}");
                };
                reasons.push(function.symbol.clone());
                sequences.push(report.sequence_number);
                assert_eq!(report.input_ifindex, 1_000_001);
            }
            SampleData::FlowSampleExpanded(sample) => {
                let FlowData::SampledHeader(header) = &sample.flow_records[0].flow_data else {
                    panic!("{sample:?}");
                };
                assert_eq!((header.frame_length, header.header.len()), (104, 64));
                samples.push(sample.sequence_number);
            }
            SampleData::CountersSampleExpanded(sample) => {
                let CounterData::GenericInterface(counters) = &sample.counters[0].counter_data
                else {
                    panic!("{sample:?}");
                };
                speeds.push((counters.if_index, counters.if_speed));
            }
            other => panic!("{other:?}"),
        }
    }
    let count = |name: &str| reasons.iter().filter(|reason| *reason == name).count();
    assert_eq!(
        [count("no_route"), count("aged"), count("storm")],
        [40, 60, 0]
    );
    assert_eq!(sequences, (1..=100).collect::<Vec<_>>());
    assert_eq!(samples, (1..=30).collect::<Vec<_>>());
    let ports = [0, 1, 2].map(|index| (1_000_000 + index, 100_000_000));
    assert_eq!(speeds, ports);
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn a_collector_that_is_gone_is_reported_and_harms_nothing() {
    let gone = collector().local_addr().unwrap();
    let (daemon, taps) = start(gone).await;
    let refused = until(async || {
        show(&taps, Verdict::Dropped(DropReason::NoRoute), 1);
        let state = state(&daemon).await;
        (state.datagrams_refused_total > 2).then_some(state)
    })
    .await;
    // The kernel took every datagram.
    assert_eq!(refused.datagrams_lost_total, 0);
    assert!(refused.error.unwrap().contains("refused"));
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn a_collector_that_cannot_be_reached_leaves_memory_free() {
    // Only a broadcast socket may send there.
    let (daemon, taps) = start("255.255.255.255:6343".parse().unwrap()).await;
    let unsent = until(async || {
        // More than the maximum number of waiting frames.
        show(&taps, ADMITTED, 1_000);
        let state = state(&daemon).await;
        (state.packets_lost_total > 10_000).then_some(state)
    })
    .await;
    assert_eq!(
        (unsent.packets_sent_total, unsent.datagrams_sent_total),
        (0, 0)
    );
    assert_eq!(unsent.agent, None);
    assert!(unsent.error.unwrap().contains("denied"));
    // The memory holds more than wait, so that the rest is accounted for.
    assert!(unsent.packets_seen_total - unsent.packets_lost_total <= 4_096 + 1_000);
    daemon.end().await.unwrap();
}

/// A daemon with an IPFIX stream to `collector`, and the series of its dataplane.
async fn stream(collector: SocketAddr) -> (Running, Arc<Series>) {
    let fake = FakeDataplane::start();
    let places = Arc::clone(&fake.series);
    let mut settings = settings();
    settings.ipfix = Some(IpfixSettings {
        collector,
        interval: Duration::from_millis(1),
        observation_domain: 7,
        enterprise: 32_473,
    });
    let daemon = Running::start(fake, settings).await;
    let series = until(async || places.lock().unwrap()[IPFIX_PLACE].clone()).await;
    (daemon, series)
}

async fn stream_state(daemon: &Running) -> Ipfix {
    let exports: Exports = get(&daemon.socket, "/v1/exports").await.json();
    exports.ipfix.unwrap()
}

/// Takes readings in which the queue of priority 3 at port 1 has this depth.
fn read(series: &Series, depths: impl IntoIterator<Item = u64>) {
    for depth in depths {
        series.add(1, |reading| {
            reading.at = clock::now();
            reading.ports.fill(Default::default());
            reading.ports[1].priorities[3].egress = Bytes::new(depth);
            true
        });
    }
}

#[tokio::test]
async fn a_stream_has_what_has_changed_and_all_once_a_second() {
    let collector = collector();
    let (daemon, series) = stream(collector.local_addr().unwrap()).await;
    assert_eq!(series.interval(), Duration::from_millis(1));
    read(&series, [0, 5, 5, 6]);
    let sent = until(async || {
        let state = stream_state(&daemon).await;
        (state.readings_exported_total == 4).then_some(state)
    })
    .await;
    // The first reading has all 8 priorities of 3 ports, and the others what is new.
    assert_eq!(sent.records_sent_total, 24 + 2);
    let subjects = 3 * 9;
    assert_eq!(sent.records_unchanged_total, 3 + 3 * subjects - 2);
    assert_eq!((sent.records_lost_total, sent.messages_lost_total), (0, 0));
    assert_eq!((sent.observation_domain, sent.enterprise), (7, 32_473));
    let mut buffer = [0; 2_048];
    let messages = std::iter::from_fn(|| {
        let length = collector.recv(&mut buffer).ok()?;
        let version = u16::from_be_bytes([buffer[0], buffer[1]]);
        let told = usize::from(u16::from_be_bytes([buffer[2], buffer[3]]));
        Some((version, told, length))
    });
    let messages: Vec<_> = messages.collect();
    assert_eq!(messages.len() as u64, sent.messages_sent_total);
    for (version, told, length) in messages {
        assert_eq!((version, told), (10, length));
    }
    // A second later everything is sent again.
    until(async || {
        read(&series, [6]);
        let state = stream_state(&daemon).await;
        (state.records_sent_total == 2 * 24 + 2).then_some(())
    })
    .await;
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn a_stream_to_a_collector_that_is_gone_goes_on() {
    let gone = collector().local_addr().unwrap();
    let (daemon, series) = stream(gone).await;
    let mut depth = 0;
    let refused = until(async || {
        depth += 1;
        read(&series, [depth]);
        let state = stream_state(&daemon).await;
        (state.messages_refused_total > 2).then_some(state)
    })
    .await;
    // The kernel took every message.
    assert_eq!(
        (refused.messages_lost_total, refused.records_lost_total),
        (0, 0)
    );
    assert!(refused.error.unwrap().contains("refused"));
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn readings_without_a_way_to_the_collector_leave_memory_free() {
    // A socket for broadcasts alone may send there.
    let (daemon, series) = stream("255.255.255.255:4739".parse().unwrap()).await;
    let mut taken = 0;
    // More than may wait.
    read(&series, 0..2_000);
    taken += 2_000;
    assert!(series.crowded() > 0);
    let state = until(async || {
        read(&series, [taken]);
        taken += 1;
        let state = stream_state(&daemon).await;
        let told = state.readings_no_memory_total + state.readings_exported_total;
        (told == taken && state.records_lost_total > 1_000).then_some(state)
    })
    .await;
    assert_eq!(
        (state.records_sent_total, state.messages_sent_total),
        (0, 0)
    );
    assert!(state.error.unwrap().contains("denied"));
    daemon.end().await.unwrap();
}
