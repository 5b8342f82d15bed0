//! What a frame costs in the switch core alone, by the number of destinations and of ports: receive, transmit
//! and complete in a class of mode `pfc`, bursts of 32 frames from random ports to random destinations.
//!
//! `cargo bench -p weir-core --bench frame_cost` prints a table; with two numbers behind `--`, ports and
//! destinations, one line of it, for a profiler.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // a benchmark reads the clock

use std::hint::black_box;
use std::time;

use weir_core::config::{EcmpConfig, FlowMonitorConfig, RouteConfig};
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Duration, Frame, FrameHandle, Instant, MacAddress,
    PortConfig, PortId, PortRole, Priority, Quanta, Switch, SwitchConfig, Transmission,
};

const PRIORITY: Priority = Priority::ALL[3];
const LENGTH: Bytes = Bytes::new(1500);
const BURST: usize = 32;
/// The best of so many parts counts: in most of them nothing else ran.
const PARTS: usize = 40;
const BURSTS_IN_PART: usize = 1000;

fn main() {
    let numbers: Vec<usize> = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    println!("ports  destinations  ns for each frame");
    if let [ports, destinations] = numbers[..] {
        line(ports, destinations);
        return;
    }
    for destinations in [16, 256, 4096, 65_536] {
        line(16, destinations);
    }
    for ports in [4, 16, 64, 256] {
        line(ports, 256);
    }
}

fn line(ports: usize, destinations: usize) {
    let config = config(ports, destinations);
    let mut free: Vec<FrameHandle> = (0..config.frame_count as u32)
        .rev()
        .map(FrameHandle)
        .collect();
    let mut switch = Switch::new(config).expect("a sound configuration");
    let mut now = Instant::ZERO;
    let mut random = 1u64;
    let mut best = f64::INFINITY;
    for _ in 0..PARTS {
        let begun = time::Instant::now();
        for _ in 0..BURSTS_IN_PART {
            now = now + Duration::from_micros(10);
            burst(&mut switch, &mut free, now, &mut random, destinations);
        }
        let nanos = begun.elapsed().as_nanos() as f64;
        best = best.min(nanos / (BURSTS_IN_PART * BURST) as f64);
    }
    println!("{ports:>5}  {destinations:>12}  {best:>8.1}");
}

fn burst(
    switch: &mut Switch,
    free: &mut Vec<FrameHandle>,
    now: Instant,
    random: &mut u64,
    destinations: usize,
) {
    let ports = switch.config().ports.len();
    for _ in 0..BURST {
        // xorshift64
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let destination = *random as usize % destinations;
        // Any port but the one that the frame leaves by.
        let step = 1 + (*random >> 32) as usize % (ports - 1);
        let ingress = (destination + step) % ports;
        let frame = Frame {
            handle: free.pop().expect("a free frame"),
            length: LENGTH,
            priority: PRIORITY,
            destination: address(0, destination),
            source: address(1, ingress),
            flow_hash: *random as u32,
        };
        let admitted = switch.receive(now, port(ingress), black_box(frame));
        let _ = admitted.expect("room for every frame");
    }
    while let Some(port) = switch.poll_ready() {
        while let Some(transmission) = switch.transmit(now, port) {
            if let Transmission::Data { handle, .. } = transmission {
                free.extend(switch.complete(now, port, black_box(handle)));
            }
        }
    }
}

fn address(kind: u8, number: usize) -> MacAddress {
    let [high, middle, low] = [number >> 16, number >> 8, number].map(|part| part as u8);
    MacAddress([2, 0, kind, high, middle, low])
}

fn port(index: usize) -> PortId {
    PortId::new(index as u8)
}

/// Buffers that no burst fills, and lines so fast that no shaper waits.
fn config(ports: usize, destinations: usize) -> SwitchConfig {
    let lossy = ClassMode::Lossy {
        buffer: Bytes::new(2 * 1024),
    };
    let mut classes = [ClassConfig::new(lossy); 8];
    classes[PRIORITY.index()].mode = ClassMode::Pfc {
        xoff: Bytes::new(128 * 1024),
        xon: Bytes::new(64 * 1024),
        headroom: Bytes::new(16 * 1024),
    };
    let rate = BitRate::from_mbit(10_000_000);
    let mut config = SwitchConfig {
        ports: (0..ports)
            .map(|index| PortConfig::new(PortRole::Fabric, rate, address(2, index)))
            .collect(),
        classes,
        cell: Bytes::new(256),
        frame_count: 0,
        frame_length_max: Bytes::new(1522),
        routes: (0..destinations)
            .map(|destination| {
                RouteConfig::new(address(0, destination), vec![port(destination % ports)])
            })
            .collect(),
        ecmp: EcmpConfig::default(),
        flows: FlowMonitorConfig::default(),
        learning_capacity: 0,
        learning_age: Duration::from_secs(300),
        detector: None,
        lifetime: None,
        pause_time: Quanta::MAX,
        feedback_refresh: Duration::from_millis(10),
        shaper_burst: Bytes::new(1 << 20),
        seed: 1,
    };
    config.frame_count = config.frames_needed();
    config
}
