//! Cost of a frame in a class of mode `level`, compared with mode `pfc`: receive, transmit and complete on a switch
//! core, both in turn in one process. Run by `cargo xtask bench`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // a benchmark reads the clock

use std::hint::black_box;
use std::time;

use weir_core::config::{LevelRules, RouteConfig};
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Duration, Frame, FrameHandle, Instant,
    MacAddress, Neighbour, PfcThresholds, PortConfig, PortId, PortRole, Priority, Quanta, Switch,
    SwitchConfig, Transmission,
};

const ROUNDS: usize = 201;
/// The figure of a round is the median of its parts; most are too short for anything else to run meanwhile.
const PARTS_OF_ROUND: usize = 10;
const FRAMES_IN_ROUND: usize = 20_000;
const BURST: usize = 64;
const FABRIC_PORTS: u8 = 8;
const EDGE_PORT: PortId = PortId::new(FABRIC_PORTS);
const PRIORITY: Priority = Priority::ALL[3];
const LENGTH: Bytes = Bytes::new(1500);
const HELD: usize = 32;
const DEPTH: u8 = 4;

#[derive(Clone, Copy)]
struct Case {
    destinations: usize,
    /// Every burst comes with a PFC frame from each neighbour: with Levels, Feedback 1, under which frames from hosts
    /// always wait; without, a resume.
    feedback: bool,
}

fn main() {
    println!("ns for each frame: receive, transmit, complete; {ROUNDS} rounds of {FRAMES_IN_ROUND} frames for each mode in turns");
    println!("destinations  Feedback      pfc    level   level/pfc: median (quartiles, range)");
    for feedback in [false, true] {
        for destinations in [1, 16, 1000] {
            let case = Case {
                destinations,
                feedback,
            };
            println!("{}", compare(case));
        }
    }
}

fn compare(case: Case) -> String {
    let mut pfc = Bench::new(case, false);
    let mut level = Bench::new(case, true);
    let (mut pfc_times, mut level_times, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    pfc.round();
    level.round();
    for _ in 0..ROUNDS {
        let (with_pfc, with_levels) = (pfc.round(), level.round());
        pfc_times.push(with_pfc);
        level_times.push(with_levels);
        ratios.push(with_levels / with_pfc);
    }
    for list in [&mut pfc_times, &mut level_times, &mut ratios] {
        list.sort_by(f64::total_cmp);
    }
    let at = |list: &[f64], part: usize| list[(list.len() - 1) * part / 4];
    format!(
        "{:>12}  {:<8}  {:>7.1}  {:>7.1}   {:.3} ({:.3}–{:.3}, {:.3}–{:.3})",
        case.destinations,
        if case.feedback { "in force" } else { "none" },
        at(&pfc_times, 2),
        at(&level_times, 2),
        at(&ratios, 2),
        at(&ratios, 1),
        at(&ratios, 3),
        at(&ratios, 0),
        at(&ratios, 4),
    )
}

struct Bench {
    switch: Switch,
    case: Case,
    control: Vec<u8>,
    free: Vec<FrameHandle>,
    now: Instant,
    random: u64,
}

impl Bench {
    fn new(case: Case, levels: bool) -> Self {
        let config = config(case.destinations, levels);
        let mut times = [None; 8];
        times[PRIORITY.index()] = Some(Quanta(if levels { 2 } else { 0 }));
        let mut control = vec![0; 60];
        MacControl::Pfc { times }.emit(address(0xfd, 0), &mut control);
        let mut bench = Self {
            free: (0..config.frame_count as u32)
                .rev()
                .map(FrameHandle)
                .collect(),
            switch: Switch::new(config).expect("a sound configuration"),
            case,
            control,
            now: Instant::ZERO + Duration::from_millis(1),
            random: 1,
        };
        if case.feedback && levels {
            bench.hear_neighbours();
            for index in 0..HELD * case.destinations.min(FABRIC_PORTS.into()) {
                bench.receive(EDGE_PORT, case.destinations - 1 - index % case.destinations);
            }
        }
        bench
    }

    fn round(&mut self) -> f64 {
        let mut parts = [0.0; PARTS_OF_ROUND];
        for part in &mut parts {
            *part = self.part();
        }
        parts.sort_by(f64::total_cmp);
        parts[PARTS_OF_ROUND / 2]
    }

    fn part(&mut self) -> f64 {
        const BURSTS: usize = FRAMES_IN_ROUND / PARTS_OF_ROUND / BURST;
        let begun = time::Instant::now();
        for _ in 0..BURSTS {
            self.burst();
        }
        begun.elapsed().as_nanos() as f64 / (BURSTS * BURST) as f64
    }

    fn burst(&mut self) {
        self.now = self.now + Duration::from_micros(10);
        if self.case.feedback {
            self.hear_neighbours();
        }
        for _ in 0..BURST {
            let random = self.random();
            let destination = random as usize % self.case.destinations;
            let egress = egress(destination).get();
            // Any port but the frame's egress.
            let step = 1 + (random >> 32) as u8 % (FABRIC_PORTS - 1);
            let ingress = PortId::new((egress + step) % FABRIC_PORTS);
            self.receive(ingress, destination);
        }
        self.transmit();
        self.switch.handle_timeout(self.now);
        while self.switch.poll_event().is_some() {}
    }

    fn receive(&mut self, ingress: PortId, destination: usize) {
        let handle = self.free.pop().expect("a free frame");
        let frame = Frame {
            handle,
            length: LENGTH,
            priority: PRIORITY,
            destination: address(0, destination),
            source: address(1, usize::from(ingress.get())),
            flow_hash: 0,
        };
        let admitted = self.switch.receive(self.now, ingress, black_box(frame));
        let _ = admitted.expect("room for every frame");
    }

    fn transmit(&mut self) {
        for port in (0..FABRIC_PORTS).map(PortId::new) {
            while let Some(transmission) = self.switch.transmit(self.now, port) {
                if let Transmission::Data { handle, .. } = black_box(transmission) {
                    let back = self.switch.complete(handle);
                    self.free.extend(back);
                }
            }
        }
    }

    fn hear_neighbours(&mut self) {
        for port in (0..FABRIC_PORTS).map(PortId::new) {
            let heard = self
                .switch
                .receive_mac_control(self.now, port, &self.control);
            heard.expect("a sound frame");
        }
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

fn address(kind: u8, number: usize) -> MacAddress {
    let [high, low] = (number as u16).to_be_bytes();
    MacAddress([2, 0, 0, kind, high, low])
}

fn egress(destination: usize) -> PortId {
    PortId::new((destination % usize::from(FABRIC_PORTS)) as u8)
}

/// Buffers that no burst fills: the bench measures the rules' cost, not that of pausing.
fn config(destinations: usize, levels: bool) -> SwitchConfig {
    let lossy = ClassConfig {
        headroom_by_cable: false,
        mode: ClassMode::Lossy {
            buffer: Bytes::new(64 * 1024),
        },
        weight: 1,
        scheduler: Default::default(),
        age_limit: None,
        ecn: None,
        pool: None,
        credits: None,
    };
    let ports = (0..=FABRIC_PORTS)
        .map(|port| {
            let role = if PortId::new(port) == EDGE_PORT {
                PortRole::Edge
            } else {
                PortRole::Fabric
            };
            // So fast that no shaper ever waits.
            let rate = BitRate::from_mbit(10_000_000);
            PortConfig {
                neighbour: Neighbour::Enhanced,
                ..PortConfig::new(role, rate, address(2, usize::from(port)))
            }
        })
        .collect();
    let routes = (0..destinations)
        .map(|destination| RouteConfig::new(address(0, destination), vec![egress(destination)]))
        .collect();
    let mut config = SwitchConfig::new(ports, [lossy; 8], routes);
    let (xoff, xon) = (Bytes::new(1 << 20), Bytes::new(1 << 19));
    let headroom = Bytes::new(1 << 20);
    config.classes[PRIORITY.index()].mode = if levels {
        ClassMode::Level {
            rules: LevelRules::default(),
            budgets: Budgets::derived(DEPTH, xoff, config.gamma_max()).expect("sound budgets"),
            edge: PfcThresholds::new(xoff, xon, headroom).unwrap(),
        }
    } else {
        ClassMode::Pfc(PfcThresholds::new(xoff, xon, headroom).unwrap())
    };
    config.frame_count = config.frames_needed();
    config
}
