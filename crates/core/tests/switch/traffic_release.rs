//! The Loop Breaker's traffic release at one switch: frames that leave although the neighbour pauses.

use crate::support::{switch_config, FRAME, PRIORITY, RATE};
use weir_core::config::RouteConfig;
use weir_core::event::EventKind;
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    Bytes, Command, CommandError, Duration, Frame, FrameHandle, Instant, MacAddress, PortConfig,
    PortId, PortRole, Priority, Quanta, Switch, Transmission,
};

const DETECT: Duration = Duration::from_millis(20);
const OUT: PortId = PortId::new(0);
const LOOP: PortId = PortId::new(1);
const OTHER: PortId = PortId::new(2);
const DESTINATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

struct Bench {
    switch: Switch,
    now: Instant,
    handles: u32,
    events: Vec<EventKind>,
}

impl Bench {
    /// Ten frames from each of two ports wait for an egress that is paused and suspected.
    fn locked() -> Self {
        let ports = [OUT, LOOP, OTHER].map(|port| {
            PortConfig::new(
                PortRole::Fabric,
                RATE,
                MacAddress([2, 0, 0, 0, 1, port.get()]),
            )
        });
        let routes = vec![RouteConfig::new(DESTINATION, vec![OUT])];
        let mut bench = Self {
            switch: Switch::new(switch_config(ports.to_vec(), routes, DETECT)).unwrap(),
            now: Instant::ZERO + Duration::from_millis(1),
            handles: 0,
            events: Vec::new(),
        };
        bench.pause(Quanta::MAX);
        for _ in 0..10 {
            bench.arrive(LOOP);
            bench.arrive(OTHER);
        }
        bench.wait(DETECT.saturating_mul(2));
        assert_eq!(bench.switch.suspected_count(), 1);
        bench
    }

    fn pause(&mut self, quanta: Quanta) {
        let mut times = [None; 8];
        times[PRIORITY.index()] = Some(quanta);
        let mut bytes = [0; 64];
        let length = MacControl::Pfc { times }.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut bytes);
        let frame = &bytes[..length.unwrap()];
        self.switch
            .receive_mac_control(self.now, OUT, frame)
            .unwrap();
    }

    fn arrive(&mut self, port: PortId) {
        let frame = Frame {
            handle: FrameHandle(self.handles),
            length: FRAME,
            priority: PRIORITY,
            destination: DESTINATION,
            source: MacAddress([2, 0, 0, 0, 0, port.get()]),
            flow_hash: 0,
        };
        self.handles += 1;
        let _ = self.switch.receive(self.now, port, frame).unwrap();
    }

    /// Returns frames that leave in `span`, during which the pause is refreshed.
    fn wait(&mut self, span: Duration) -> Vec<FrameHandle> {
        let mut left = Vec::new();
        let end = self.now + span;
        while self.now < end {
            self.now = self.now + Duration::from_micros(50);
            if self.switch.next_timeout().is_some_and(|at| at <= self.now) {
                self.switch.handle_timeout(self.now);
            }
            while let Some(out) = self.switch.transmit(self.now, OUT) {
                if let Transmission::Data { handle, .. } = out {
                    self.switch.complete(handle).unwrap();
                    left.push(handle);
                }
            }
            while let Some(event) = self.switch.poll_event() {
                self.events.push(event.kind);
            }
        }
        left
    }

    fn release(&mut self, amount: u64, period: Duration) -> Result<(), CommandError> {
        self.switch.apply(
            self.now,
            Command::TrafficRelease {
                ingress: LOOP,
                egress: OUT,
                priority: PRIORITY,
                amount: Bytes::new(amount),
                period,
            },
        )
    }

    fn ended(&self) -> Vec<u64> {
        let ended = |kind: &EventKind| match kind {
            EventKind::TrafficReleaseEnded { released, .. } => Some(released.get()),
            _ => None,
        };
        self.events.iter().filter_map(ended).collect()
    }
}

#[test]
fn the_stated_amount_leaves_from_the_loops_ingress_and_is_not_counted_as_throughput() {
    let mut bench = Bench::locked();
    bench.release(4000, Duration::from_millis(100)).unwrap();
    let left = bench.wait(Duration::from_millis(10));
    assert_eq!(
        left,
        [0, 2, 4].map(FrameHandle),
        "three frames are the first to reach 4000 B"
    );
    assert_eq!(bench.ended(), [4500]);
    assert_eq!(
        bench.switch.suspected_count(),
        1,
        "the port is as stuck as before"
    );
    let counters = bench.switch.counters(OUT).priority[PRIORITY.index()];
    assert_eq!((counters.forced_frames, counters.forced_bytes), (3, 4500));
    assert_eq!(counters.tx_frames, 3);
    bench.release(1, Duration::from_millis(100)).unwrap();
    assert_eq!(
        bench.wait(Duration::from_millis(10)),
        [FrameHandle(6)],
        "the next step"
    );
}

#[test]
fn returning_throughput_ends_it() {
    let mut bench = Bench::locked();
    bench.release(1 << 20, Duration::from_secs(1)).unwrap();
    let forced = bench.wait(Duration::from_micros(400)).len() as u64;
    assert!((1..10).contains(&forced));
    bench.pause(Quanta::ZERO);
    let left = bench.wait(Duration::from_millis(10));
    assert_eq!(left.len() as u64, 20 - forced, "everything leaves");
    assert!(left.contains(&FrameHandle(1)), "from the other port too");
    assert_eq!(bench.ended(), [forced * FRAME.get()]);
    assert_eq!(bench.switch.suspected_count(), 0);
}

#[test]
fn its_time_is_bounded() {
    let mut bench = Bench::locked();
    for _ in 0..10 {
        bench.release(1, Duration::from_millis(1)).unwrap();
        bench.wait(Duration::from_millis(2));
    }
    bench.release(1 << 20, Duration::from_millis(1)).unwrap();
    let left = bench.wait(Duration::from_millis(5));
    assert!(
        left.is_empty(),
        "nothing waits from there any more: {left:?}"
    );
    assert_eq!(bench.ended().len(), 11);
    assert_eq!(bench.ended()[10], 0);
    assert_eq!(bench.switch.suspected_count(), 1);
}

#[test]
fn only_lossless_classes_and_ports_that_exist_have_one() {
    let mut bench = Bench::locked();
    let command = |egress, priority| Command::TrafficRelease {
        ingress: LOOP,
        egress,
        priority,
        amount: FRAME,
        period: DETECT,
    };
    let lossy = Priority::ALL[0];
    let refused = bench.switch.apply(bench.now, command(OUT, lossy));
    assert_eq!(refused, Err(CommandError::NotLossless(lossy)));
    let missing = PortId::new(7);
    let refused = bench.switch.apply(bench.now, command(missing, PRIORITY));
    assert_eq!(refused, Err(CommandError::NoSuchPort(missing)));
    assert!(bench.wait(Duration::from_millis(5)).is_empty());
}

#[test]
fn it_ends_with_its_amount_before_any_timer() {
    let mut bench = Bench::locked();
    bench.release(1, Duration::from_secs(1)).unwrap();
    let mut left = 0;
    for _ in 0..3 {
        // Longer than a frame takes on the line.
        bench.now = bench.now + Duration::from_millis(1);
        left += usize::from(bench.switch.transmit(bench.now, OUT).is_some());
    }
    assert_eq!(left, 1);
}
