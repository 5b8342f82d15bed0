//! A loop over rings in plain memory, and frames to feed it.

use std::os::fd::AsFd;

use crate::exchange::messages::Answer;
use crossbeam::channel::bounded;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use weir_core::config::{DetectorConfig, FlowMonitorConfig, LevelRules, RouteConfig};
use weir_core::counters::PortCounters;
use weir_core::wire::clcm::{Clcm, Hop};
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, PfcThresholds, PortConfig, PortRole, Quanta,
    RedConfig, Spuid, SwitchConfig, VlanPort,
};
use weir_ebpf::{FrameClass, HardwareTime, Meta};

use weir_api::audit::Audit;

use crate::exchange::audit::audit;

use super::super::*;
use super::fake_io::{clock, set_clock, FakeIo, Sent};

pub(super) const LOSSLESS: u8 = 3;
pub(super) const LOSSY: u8 = 0;
/// The edge port; the ones before are fabric ports.
pub(super) const EDGE: usize = 2;
pub(super) const PORT_COUNT: usize = 3;
pub(super) const RING: usize = 256;
pub(super) const RESERVE: usize = 32;
pub(super) const SPIN: Duration = Duration::from_micros(50);
pub(super) const STEP: Duration = Duration::from_micros(10);
/// So fast that no test waits for the shaper.
pub(super) const FAST: BitRate = BitRate::from_mbit(100_000);
pub(super) const SLOW: BitRate = BitRate::from_mbit(10);

/// Settings that a test may change.
pub(super) struct Setup {
    pub(super) rate: BitRate,
    /// At every port.
    pub(super) finishes: bool,
    pub(super) learning_capacity: usize,
    pub(super) outstanding_max: usize,
    pub(super) outstanding_bytes: Bytes,
    pub(super) event_capacity: usize,
    /// The lossless class has Levels.
    pub(super) has_levels: bool,
    /// For every class.
    pub(super) age_limit: Option<Duration>,
    /// For every class.
    pub(super) ecn: Option<RedConfig>,
    /// Size for each lossy (port, priority); a lossless one has four times as much.
    pub(super) buffer: Bytes,
    pub(super) ring: usize,
    /// Chunks beyond those that back the buffers.
    pub(super) spare: usize,
    /// Chunks beyond those that the switch has a place for in its tables.
    pub(super) surplus: usize,
    pub(super) link_down_hold: Duration,
    /// By port; empty if the switch ignores tags.
    pub(super) vlans: Vec<VlanPort>,
    /// Further changes by a test.
    pub(super) adjust: fn(&mut SwitchConfig),
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            rate: FAST,
            finishes: false,
            learning_capacity: 0,
            outstanding_max: 64,
            outstanding_bytes: Bytes::new(1 << 30),
            event_capacity: 64,
            has_levels: false,
            age_limit: None,
            ecn: None,
            buffer: Bytes::new(8 * 1024),
            ring: RING,
            spare: PORT_COUNT * (RING + RESERVE),
            surplus: 0,
            link_down_hold: SwitchConfig::LINK_DOWN_HOLD,
            vlans: Vec::new(),
            adjust: |_| {},
        }
    }
}

/// The loop and the other ends of its queues.
pub(super) struct Bench {
    pub(super) worker: Worker<FakeIo>,
    pub(super) requests: Sender<Request>,
    pub(super) events: Receiver<Event>,
    pub(super) snapshots: Receiver<Box<Snapshot>>,
    pub(super) answers: Receiver<Answer>,
    pub(super) notify: Wake,
    pub(super) now: Instant,
}

impl Bench {
    pub(super) fn new(setup: &Setup) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        set_clock(now);
        let config = switch_config(setup);
        let chunk_count = config.frame_count + setup.surplus;
        let (requests, request_queue) = bounded(128);
        let (event_queue, events) = bounded(setup.event_capacity);
        let (snapshot_queue, snapshots) = bounded(2);
        let (answer_queue, answers) = bounded(128);
        let notify = Wake::new().unwrap();
        let limits = |port: &PortConfig| PortLimits {
            address: port.address,
            finishes: setup.finishes,
            outstanding_max: setup.outstanding_max,
            outstanding_bytes: setup.outstanding_bytes,
        };
        let limits = config.ports.iter().map(limits).collect();
        let mut worker = Worker::new(
            FakeIo::new(PORT_COUNT, setup.ring, chunk_count),
            Switch::new(config).unwrap(),
            Pool::new(chunk_count, RESERVE),
            limits,
            Queues {
                requests: request_queue,
                events: event_queue,
                snapshots: snapshot_queue,
                answers: answer_queue,
                wake: Wake::new().unwrap(),
                notify: notify.clone(),
            },
            clock,
            SPIN,
        );
        worker.fill_rings();
        Self {
            worker,
            requests,
            events,
            snapshots,
            answers,
            notify,
            now,
        }
    }

    pub(super) fn round(&mut self) -> bool {
        self.round_after(STEP)
    }

    pub(super) fn round_after(&mut self, step: Duration) -> bool {
        self.now = self.now + step;
        set_clock(self.now);
        self.worker.round(self.now)
    }

    /// Runs rounds until there is no work now.
    pub(super) fn settle(&mut self) {
        let busy = (0..1_000).take_while(|_| self.round()).count();
        assert!(busy < 1_000, "there is always something to do");
    }

    pub(super) fn arrive(&mut self, port: usize, meta: Option<Meta>, bytes: &[u8]) -> Chunk {
        let chunk = self.worker.io.arrive(port, meta, bytes);
        chunk.expect("there is something to receive into")
    }

    pub(super) fn arrive_data(&mut self, from: usize, to: usize, priority: u8, id: u32) -> Chunk {
        let meta = meta(FrameClass::Data, priority);
        self.arrive(from, Some(meta), &data(from, to, id, 500))
    }

    /// Sends from port 0 to port 1, whose transmitter takes no more, until port 0 is paused. Returns the number of frames.
    pub(super) fn send_until_paused(&mut self) -> u32 {
        let mut count = 0;
        while self.sent_by(0).is_empty() {
            self.arrive_data(0, 1, LOSSLESS, count);
            self.round();
            count += 1;
        }
        assert_eq!(pause_of(&self.sent_by(0)[0]), Some(Quanta::MAX));
        count
    }

    pub(super) fn arrive_pfc(&mut self, port: usize, priority: u8, quanta: Quanta) {
        let bytes = pfc(priority, quanta);
        self.arrive(port, Some(meta(FrameClass::MacControl, LOSSY)), &bytes);
    }

    pub(super) fn request(&self, request: Request) {
        self.requests.try_send(request).unwrap();
    }

    pub(super) fn command(&self, command: Command) {
        self.request(Request::Command(command));
    }

    pub(super) fn sent(&self) -> Vec<Sent> {
        self.worker.io.sent.borrow().clone()
    }

    pub(super) fn sent_by(&self, port: usize) -> Vec<Vec<u8>> {
        sent_by(&self.sent(), port)
    }

    pub(super) fn counters(&self, port: usize) -> &PortCounters {
        self.worker.switch.counters(id(port))
    }

    pub(super) fn snapshot(&mut self) -> Box<Snapshot> {
        self.request(Request::Snapshot(Box::default()));
        self.round();
        self.snapshots.try_recv().unwrap()
    }

    /// Returns a snapshot with the loop's accounts.
    pub(super) fn books(&mut self) -> Box<Snapshot> {
        let mut snapshot = Box::<Snapshot>::default();
        snapshot.tables.accounts = true;
        self.worker.fill_snapshot(self.now, snapshot);
        self.snapshots.try_recv().unwrap()
    }

    /// Returns the accounts in the form of `GET /v1/audit`.
    pub(super) fn audit(&mut self) -> Audit {
        let snapshot = self.books();
        audit(["a", "b", "c"].into_iter(), &snapshot)
    }

    /// Returns the number of chunks held by transmitters.
    pub(super) fn outstanding(&self) -> usize {
        let ports = self.worker.ports.iter();
        ports.map(|state| state.outstanding.len()).sum()
    }

    pub(super) fn is_notified(&self) -> bool {
        let mut descriptors = [PollFd::new(self.notify.as_fd(), PollFlags::POLLIN)];
        poll(&mut descriptors, PollTimeout::ZERO).unwrap() == 1
    }

    /// Asserts that every chunk is free, lent to a kernel, held by the switch, or holds a control frame.
    pub(super) fn assert_conserved(&self) {
        let worker = &self.worker;
        let control: Vec<_> = worker.accounts.control_chunks().collect();
        for chunk in &control {
            assert!(
                worker.io.is_with_transmitter(*chunk),
                "{chunk} is on its way"
            );
        }
        let (free, lent) = (worker.pool.free_count(), worker.io.lent());
        let (held, control) = (worker.switch.held_frames(), control.len());
        let further = worker.accounts.further_chunks().count();
        assert_eq!(
            free + lent + held + further + control,
            worker.pool.count(),
            "{free} free + {lent} lent + {held} held + {further} behind these + {control} of control frames"
        );
    }
}

pub(super) fn sent_by(sent: &[Sent], port: usize) -> Vec<Vec<u8>> {
    let by_port = sent.iter().filter(|frame| frame.port == port);
    by_port.map(|frame| frame.bytes.clone()).collect()
}

pub(super) fn switch_config(setup: &Setup) -> SwitchConfig {
    let lossy = ClassConfig {
        headroom_by_cable: false,
        mode: ClassMode::Lossy {
            buffer: setup.buffer,
        },
        weight: 1,
        scheduler: Default::default(),
        age_limit: setup.age_limit,
        ecn: setup.ecn,
        pool: None,
        credits: None,
    };
    let mut classes = [lossy; 8];
    let (xoff, xon) = (setup.buffer, setup.buffer.saturating_sub(Bytes::new(1024)));
    let headroom = Bytes::new(3 * setup.buffer.get());
    classes[usize::from(LOSSLESS)].mode = if setup.has_levels {
        ClassMode::Level {
            rules: LevelRules::default(),
            budgets: Budgets::new(&[setup.buffer; 3]).unwrap(),
            edge: PfcThresholds::new(xoff, xon, headroom).unwrap(),
        }
    } else {
        ClassMode::Pfc(PfcThresholds::new(xoff, xon, headroom).unwrap())
    };
    let port = |index| {
        PortConfig::new(
            if index == EDGE {
                PortRole::Edge
            } else {
                PortRole::Fabric
            },
            setup.rate,
            port_address(index),
        )
    };
    let route = |index| RouteConfig::new(host(index), vec![id(index)]);
    let ports = (0..PORT_COUNT).map(port).collect();
    let routes = (0..PORT_COUNT).map(route).collect();
    let mut config = SwitchConfig {
        flows: FlowMonitorConfig {
            capacity: 64,
            ..FlowMonitorConfig::default()
        },
        learning_capacity: setup.learning_capacity,
        link_down_hold: setup.link_down_hold,
        detector: Some(DetectorConfig {
            detect: Duration::from_millis(20),
        }),
        shaper_burst: if setup.rate == SLOW {
            Bytes::ZERO
        } else {
            Bytes::new(1 << 20)
        },
        ..SwitchConfig::new(ports, classes, routes)
    };
    config.vlans.clone_from(&setup.vlans);
    (setup.adjust)(&mut config);
    config.frame_count = config.frames_needed() + setup.spare;
    config
}

pub(super) fn id(port: usize) -> PortId {
    PortId::from_index(port).unwrap()
}

/// Returns the address of the host behind a port.
pub(super) fn host(port: usize) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, port as u8])
}

pub(super) fn port_address(port: usize) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, port as u8])
}

pub(super) fn meta(class: FrameClass, priority: u8) -> Meta {
    Meta {
        class,
        priority,
        vlan_tci: None,
        flow_hash: 0,
        ifindex: 1,
        arrival_nanos: 0,
        l3_offset: 14,
        is_ipv4: false,
        is_ipv6: false,
        has_credit: false,
        hardware: HardwareTime::default(),
    }
}

/// Returns a frame of `length` bytes, at least 18, that is unique for its `id`.
pub(super) fn data(from: usize, to: usize, id: u32, length: usize) -> Vec<u8> {
    let mut bytes = frame_between(host(from), host(to));
    bytes.extend_from_slice(&id.to_be_bytes());
    bytes.extend((bytes.len()..length).map(|at| at as u8 ^ id as u8));
    bytes
}

pub(super) fn frame_between(source: MacAddress, destination: MacAddress) -> Vec<u8> {
    let mut bytes = destination.0.to_vec();
    bytes.extend_from_slice(&source.0);
    bytes.extend_from_slice(&[0x08, 0x00]);
    bytes
}

pub(super) fn emit(frame: &ControlFrame) -> Vec<u8> {
    let mut buffer = [0; 1024];
    let length = frame.emit(host(9), &mut buffer).unwrap();
    buffer[..length].to_vec()
}

pub(super) fn pfc(priority: u8, quanta: Quanta) -> Vec<u8> {
    let mut times = [None; 8];
    times[usize::from(priority)] = Some(quanta);
    emit(&ControlFrame::Mac(MacControl::Pfc { times }))
}

pub(super) fn clcm() -> Clcm {
    let hop = Hop {
        spuid: Spuid(7),
        egress: id(1),
    };
    Clcm::begin(Priority::new(LOSSLESS).unwrap(), hop)
}

/// Returns the pause time of the lossless priority if the frame is PFC that includes it.
pub(super) fn pause_of(bytes: &[u8]) -> Option<Quanta> {
    match MacControl::parse(bytes) {
        Ok(MacControl::Pfc { times }) => times[usize::from(LOSSLESS)],
        _ => None,
    }
}

/// A port, a frame that arrives there, and the reason for which it is dropped.
type Refused = (usize, Option<Meta>, Vec<u8>, Option<DropReason>);

/// Returns one frame for each reason for which the loop refuses frames.
pub(super) fn frames_to_refuse() -> Vec<Refused> {
    let class = |class| Some(meta(class, LOSSY));
    let whole = data(0, 1, 1, 100);
    let reserved = MacAddress([0x01, 0x80, 0xc2, 0, 0, 0x0f]);
    let group = MacAddress([3, 0, 0, 0, 1, 0]);
    vec![
        (0, None, whole.clone(), Some(DropReason::Unclassified)),
        (
            0,
            class(FrameClass::Data),
            whole[..13].to_vec(),
            Some(DropReason::Unclassified),
        ),
        (
            0,
            class(FrameClass::Data),
            vec![],
            Some(DropReason::Unclassified),
        ),
        (
            0,
            class(FrameClass::Data),
            data(0, 1, 1, 1523),
            Some(DropReason::BadLength),
        ),
        (
            0,
            class(FrameClass::Data),
            frame_between(group, host(1)),
            Some(DropReason::BadSource),
        ),
        (
            0,
            class(FrameClass::Data),
            frame_between(host(0), reserved),
            Some(DropReason::ReservedDestination),
        ),
        (
            0,
            class(FrameClass::Data),
            data(0, 9, 1, 60),
            Some(DropReason::NoRoute),
        ),
        (
            0,
            class(FrameClass::Data),
            data(0, 0, 1, 60),
            Some(DropReason::Hairpin),
        ),
        (
            0,
            class(FrameClass::MacControl),
            whole.clone(),
            Some(DropReason::BadMacControl),
        ),
        (
            0,
            class(FrameClass::Clcm),
            whole.clone(),
            Some(DropReason::BadClcm),
        ),
        (
            EDGE,
            class(FrameClass::Clcm),
            emit(&ControlFrame::Clcm(clcm())),
            Some(DropReason::ClcmFromEdge),
        ),
        (0, class(FrameClass::Lldp), whole, None),
    ]
}
