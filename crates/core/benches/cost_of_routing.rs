//! Cost per frame added by a group of ports, flow pins and the recent-flow monitor: receive, transmit and complete on a
//! switch core, all cases in turn in one process. Run by `cargo bench -p weir-core --bench cost_of_routing`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // a benchmark reads the clock

use std::time;

use weir_core::config::{EcmpConfig, FlowMonitorConfig, RouteConfig};
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Command, Duration, Frame, FrameHandle, Instant,
    MacAddress, PortConfig, PortId, PortRole, Switch, SwitchConfig, Transmission,
};

const ROUNDS: usize = 201;
const BURSTS: usize = 200;
const BURST: usize = 64;
const PORTS: u8 = 9;
const INGRESS: PortId = PortId::new(PORTS - 1);
const DESTINATIONS: usize = 16;
const FLOWS: u32 = 1024;

#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    members: u8,
    pins: u32,
    flows: usize,
}

const CASES: [Case; 5] = [
    case("one port each", 1, 0, 0),
    case("groups of 8", 8, 0, 0),
    case("groups of 8, 1024 pins", 8, 1024, 0),
    case("one port each, 1024 flows monitored", 1, 0, 4096),
    case("groups of 8, pins, monitored", 8, 1024, 4096),
];

const fn case(name: &'static str, members: u8, pins: u32, flows: usize) -> Case {
    Case {
        name,
        members,
        pins,
        flows,
    }
}

fn main() {
    let mut benches = CASES.map(|case| (case, Bench::new(case), Vec::new()));
    for _ in 0..ROUNDS {
        for (_, bench, times) in &mut benches {
            times.push(bench.round());
        }
    }
    println!(
        "ns for each frame, {ROUNDS} rounds of {} frames for each case, alternating",
        BURSTS * BURST
    );
    println!("{:<38} {:>8} {:>8}", "", "least", "median");
    for (case, _, times) in &mut benches {
        times.sort_by(f64::total_cmp);
        println!(
            "{:<38} {:>8.1} {:>8.1}",
            case.name,
            times[0],
            times[ROUNDS / 2]
        );
    }
}

struct Bench {
    switch: Switch,
    free: Vec<FrameHandle>,
    now: Instant,
    random: u64,
}

fn destination(number: usize) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number as u8])
}

impl Bench {
    fn new(case: Case) -> Self {
        let config = config(case);
        let free = (0..config.frame_count as u32).map(FrameHandle).collect();
        let mut switch = Switch::new(config).expect("a sound configuration");
        for flow in 0..case.pins {
            let pin = Command::PinFlow {
                destination: destination(flow as usize % DESTINATIONS),
                flow_hash: flow.wrapping_mul(0x9e37_79b9),
                port: PortId::new((flow % 8) as u8),
            };
            switch.apply(Instant::ZERO, pin).expect("room for it");
        }
        Self {
            switch,
            free,
            now: Instant::ZERO + Duration::from_millis(1),
            random: 1,
        }
    }

    fn round(&mut self) -> f64 {
        let begun = time::Instant::now();
        for _ in 0..BURSTS {
            self.now = self.now + Duration::from_micros(10);
            for _ in 0..BURST {
                self.receive();
            }
            for port in (0..PORTS).map(PortId::new) {
                while let Some(transmission) = self.switch.transmit(self.now, port) {
                    if let Transmission::Data { handle, .. } = transmission {
                        self.free.extend(self.switch.complete(handle));
                    }
                }
            }
        }
        begun.elapsed().as_nanos() as f64 / (BURSTS * BURST) as f64
    }

    fn receive(&mut self) {
        // xorshift64 (Marsaglia)
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let flow = (self.random >> 20) as u32 % FLOWS;
        let frame = Frame {
            handle: self.free.pop().expect("a free frame"),
            length: Bytes::new(1500),
            priority: weir_core::Priority::ALL[0],
            destination: destination(flow as usize % DESTINATIONS),
            source: destination(200),
            flow_hash: flow.wrapping_mul(0x9e37_79b9),
        };
        let _ = self
            .switch
            .receive(self.now, INGRESS, frame)
            .expect("room for it");
    }
}

fn config(case: Case) -> SwitchConfig {
    let lossy = ClassMode::Lossy {
        buffer: Bytes::new(1 << 20),
    };
    let port = |number| {
        // So fast that no shaper ever waits.
        let rate = BitRate::from_mbit(10_000_000);
        PortConfig::new(
            PortRole::Fabric,
            rate,
            destination(100 + usize::from(number)),
        )
    };
    let route = |number: usize| {
        let ports = (0..case.members).map(|member| PortId::new((number as u8 + member) % 8));
        RouteConfig::new(destination(number), ports.collect())
    };
    let routes = (0..DESTINATIONS).map(route).collect();
    SwitchConfig {
        ecmp: EcmpConfig {
            pin_capacity: case.pins as usize,
            ..EcmpConfig::default()
        },
        flows: FlowMonitorConfig {
            capacity: case.flows,
            ..FlowMonitorConfig::default()
        },
        ..SwitchConfig::new(
            (0..PORTS).map(port).collect(),
            [ClassConfig::new(lossy); 8],
            routes,
        )
    }
}
