//! Nothing allocates after `Switch::touch_memory`: counted by a separate allocator.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use weir_core::config::{
    FlowMonitorConfig, LevelRules, LifetimeConfig, MarkAt, PartsPerMillion, RedConfig, RouteConfig,
    StormAction, WatchdogConfig,
};
use weir_core::counters::{DropReason, PortCounters};
use weir_core::event::EventKind;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Command, Duration, Frame, FrameHandle,
    Instant, MacAddress, Neighbour, PfcThresholds, PortConfig, PortId, PortRole, PortSet, Priority,
    Quanta, RerouteBy, RerouteSelection, Switch, SwitchConfig, Transmission, VlanId, VlanPort,
    VlanSet, VlanTag,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PORTS: u8 = 4;

fn address(port: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, port])
}

fn route_commands(round: u32, ingress: PortId) -> [Command; 6] {
    let destination = address((round / 100 % 6) as u8);
    let egress = PortId::new((ingress.get() + 1) % PORTS);
    let by = [RerouteBy::Flow, RerouteBy::Bucket][round as usize / 100 % 2];
    let members = (0..=(round / 100 % 4) as u8).map(PortId::new);
    let buckets = 64 << (round / 100 % 5);
    let set = Command::SetRoute {
        destination,
        members: PortSet::from_iter(members),
        buckets,
    };
    [
        if round.is_multiple_of(1900) {
            Command::RemoveRoute { destination }
        } else {
            set
        },
        Command::MoveBucket {
            destination,
            bucket: 3,
            to: PortId::new(0),
        },
        Command::PinFlow {
            destination,
            flow_hash: round,
            port: PortId::new(0),
        },
        Command::PinFlow {
            destination,
            flow_hash: round + 1,
            port: PortId::new(1),
        },
        Command::UnpinFlow {
            destination,
            flow_hash: round,
        },
        Command::Reroute {
            selection: RerouteSelection::NotFrom(ingress),
            egress,
            priority: support::PRIORITY,
            by,
        },
    ]
}

fn switch_of(
    ports: Vec<PortConfig>,
    lifetime: Option<LifetimeConfig>,
) -> (Switch, Vec<FrameHandle>) {
    let routes = (0..PORTS)
        .map(|port| RouteConfig::new(address(port), vec![PortId::new(port)]))
        .collect();
    let mut config = support::switch_config(ports, routes, Duration::from_millis(1));
    config.flows = FlowMonitorConfig {
        capacity: 256,
        age: Duration::from_millis(1),
    };
    config.lifetime = lifetime;
    let free = (0..config.frame_count as u32).map(FrameHandle).collect();
    let mut switch = Switch::new(config).unwrap();
    switch.touch_memory();
    (switch, free)
}

fn port_config(port: u8) -> PortConfig {
    PortConfig::new(
        PortRole::Fabric,
        BitRate::from_mbit(1000),
        address(0x80 + port),
    )
}

/// Neighbours pause every port in turn, and stalls are declared storms.
#[test]
fn storms_and_old_frames_allocate_nothing() {
    let ports = (0..PORTS)
        .zip(StormAction::ALL.into_iter().cycle())
        .map(|(port, action)| PortConfig {
            watchdog: Some(WatchdogConfig {
                detection: Duration::from_micros(100),
                restoration: Duration::from_micros(100),
                action,
            }),
            ..port_config(port)
        });
    let lifetime = LifetimeConfig {
        limit: Duration::from_micros(300),
        stall_count: 3,
    };
    let (mut switch, mut free) = switch_of(ports.collect(), Some(lifetime));
    let mut times = [None; 8];
    times[support::PRIORITY.index()] = Some(Quanta(600));
    let mut buffer = [0u8; 1024];
    let pause = MacControl::Pfc { times };
    let length = pause.emit(address(0x50), &mut buffer).unwrap();
    let mut now = Instant::ZERO;
    let (mut forwarded, mut storms, mut stalls) = (0u64, 0, 0);

    let before = ALLOCATIONS.with(Cell::get);
    for round in 0..40_000u32 {
        now = now + Duration::from_micros(2);
        let ingress = PortId::new((round % u32::from(PORTS)) as u8);
        if let Some(handle) = free.pop() {
            let frame = Frame {
                handle,
                length: Bytes::new(u64::from(60 + round % 1400)),
                priority: support::PRIORITY,
                destination: address((round / 7 % u32::from(PORTS)) as u8),
                source: address(0x40),
                flow_hash: round,
            };
            if switch.receive(now, ingress, frame).is_err() {
                free.push(handle);
            }
        }
        if round % 50 == 0 {
            let held = PortId::new((round / 2_000 % u32::from(PORTS)) as u8);
            switch
                .receive_mac_control(now, held, &buffer[..length])
                .unwrap();
        }
        switch.handle_timeout(now);
        while let Some(event) = switch.poll_event() {
            match event.kind {
                EventKind::PauseStalled {
                    egress, priority, ..
                } => {
                    storms += 1;
                    let call = Command::CallStorm { egress, priority };
                    switch.apply(now, call).unwrap();
                }
                EventKind::LifetimeStalled { .. } => stalls += 1,
                _ => {}
            }
        }
        while let Some(discarded) = switch.poll_discarded() {
            free.push(discarded.handle);
        }
        for port in (0..PORTS).map(PortId::new) {
            while let Some(transmission) = switch.transmit(now, port) {
                if let Transmission::Data { handle, .. } = transmission {
                    forwarded += 1;
                    free.extend(switch.complete(handle));
                }
            }
        }
    }
    let allocated = ALLOCATIONS.with(Cell::get) - before;
    assert!(forwarded > 1000, "{forwarded} frames went through");
    assert!(storms > 10, "{storms} storms");
    assert!(stalls > 0, "no queue was VLStalled");
    assert_eq!(allocated, 0);
}

#[test]
fn forwarding_pausing_and_releasing_allocate_nothing() {
    let (mut switch, mut free) = switch_of((0..PORTS).map(port_config).collect(), None);
    let mut buffer = [0u8; 1024];
    let mut now = Instant::ZERO;
    let mut forwarded = 0u64;

    let before = ALLOCATIONS.with(Cell::get);
    for round in 0..20_000u32 {
        now = now + Duration::from_micros(2);
        let ingress = PortId::new((round % u32::from(PORTS)) as u8);
        if let Some(handle) = free.pop() {
            let frame = Frame {
                handle,
                length: Bytes::new(u64::from(60 + round % 1400)),
                priority: support::PRIORITY,
                destination: address((round / 7 % u32::from(PORTS)) as u8),
                source: address(0x40 + (round % 16) as u8),
                flow_hash: round,
            };
            if switch.receive(now, ingress, frame).is_err() {
                free.push(handle);
            }
        }
        if round % 500 == 0 {
            let release = Command::Release {
                ingress,
                egress: PortId::new((ingress.get() + 1) % PORTS),
                priority: support::PRIORITY,
                period: Duration::from_micros(100),
                preference: Duration::ZERO,
                extra: Bytes::new(3000),
            };
            let _ = switch.apply(now, release);
        }
        if round % 100 == 0 {
            for command in route_commands(round, ingress) {
                let _ = switch.apply(now, command);
            }
            assert!(switch.flows(now).count() + switch.pins().count() < 1024);
        }
        switch.handle_timeout(now);
        for port in (0..PORTS).map(PortId::new) {
            while let Some(transmission) = switch.transmit(now, port) {
                match transmission {
                    Transmission::Data { handle, .. } => {
                        forwarded += 1;
                        free.extend(switch.complete(handle));
                    }
                    Transmission::Control(ControlFrame::Mac(frame)) => {
                        let length = frame.emit(address(0x50), &mut buffer).unwrap();
                        let peer = PortId::new((port.get() + 1) % PORTS);
                        switch
                            .receive_mac_control(now, peer, &buffer[..length])
                            .unwrap();
                    }
                    Transmission::Control(_) => {}
                }
            }
        }
        while switch.poll_event().is_some() {}
    }
    let allocated = ALLOCATIONS.with(Cell::get) - before;

    assert!(forwarded > 1000, "{forwarded} frames went through");
    assert_eq!(
        allocated, 0,
        "allocations while {forwarded} frames went through"
    );
}

/// Returns the modes of a class, with buffers small enough to fill.
fn modes() -> [(&'static str, ClassMode); 3] {
    let (xoff, xon) = (Bytes::new(24 * 1024), Bytes::new(16 * 1024));
    let headroom = Bytes::new(32 * 1024);
    let level = ClassMode::Level {
        rules: LevelRules::default(),
        // Room for rT beside the longest frame.
        budgets: Budgets::derived(4, Bytes::new(96 * 1024), Bytes::new(24 * 1024)).unwrap(),
        edge: PfcThresholds::new(xoff, xon, headroom).unwrap(),
    };
    let pfc = ClassMode::Pfc(PfcThresholds::new(xoff, xon, headroom).unwrap());
    [
        ("lossy", ClassMode::Lossy { buffer: xoff }),
        ("pfc", pfc),
        ("level", level),
    ]
}

/// Frames from one port to another in turn; neighbours pause and resume, and with Levels also restrict.
#[test]
fn every_mode_with_marks_and_pauses_allocates_nothing() {
    for (name, mode) in modes() {
        for at in [MarkAt::Arrival, MarkAt::Departure] {
            let allocated = allocations_under_load(name, mode, at);
            assert_eq!(allocated, 0, "{name}, marks at {at:?}");
        }
    }
}

fn allocations_under_load(name: &str, mode: ClassMode, at: MarkAt) -> u64 {
    let lossy = ClassMode::Lossy {
        buffer: Bytes::new(4096),
    };
    let mut classes = [ClassConfig::new(lossy); 8];
    classes[support::PRIORITY.index()] = ClassConfig {
        ecn: Some(RedConfig {
            kmin: Bytes::new(1500),
            kmax: Bytes::new(20_000),
            pmax: PartsPerMillion::new(500_000).unwrap(),
            at,
        }),
        age_limit: Some(Duration::from_millis(2)),
        ..ClassConfig::new(mode)
    };
    let ports = (0..PORTS).map(|port| PortConfig {
        neighbour: Neighbour::Enhanced,
        round_trip: Duration::from_micros(20),
        ..port_config(port)
    });
    let routes = (0..PORTS)
        .map(|port| RouteConfig::new(address(port), vec![PortId::new(port)]))
        .collect();
    let config = SwitchConfig::new(ports.collect(), classes, routes);
    let mut free: Vec<_> = (0..config.frame_count as u32).map(FrameHandle).collect();
    let mut switch = Switch::new(config).unwrap();
    switch.touch_memory();
    let controls = [600, 1, 0].map(|quanta| {
        let mut times = [None; 8];
        times[support::PRIORITY.index()] = Some(Quanta(quanta));
        let mut frame = [0u8; 60];
        MacControl::Pfc { times }.emit(address(0x50), &mut frame);
        frame
    });
    let mut now = Instant::ZERO;
    let (mut marks, mut forwarded) = (0, 0u64);

    let before = ALLOCATIONS.with(Cell::get);
    for round in 0..60_000u32 {
        // Twice the rate of a line arrives for each egress, for some time.
        let step = if round / 4_000 % 2 == 0 { 1 } else { 6 };
        now = now + Duration::from_micros(step);
        let ingress = PortId::new((round % u32::from(PORTS)) as u8);
        if let Some(handle) = free.pop() {
            let frame = Frame {
                handle,
                length: Bytes::new(u64::from(60 + round % 1400)),
                priority: support::PRIORITY,
                destination: address((round / 7 % u32::from(PORTS)) as u8),
                source: address(0x40),
                flow_hash: round,
            };
            match switch.receive(now, ingress, frame) {
                Ok(admitted) => marks += u64::from(admitted.mark),
                Err(_) => free.push(handle),
            }
        }
        if round % 50 == 0 {
            let held = PortId::new((round / 2_000 % u32::from(PORTS)) as u8);
            let control = &controls[round as usize / 50 % 3];
            switch.receive_mac_control(now, held, control).unwrap();
        }
        switch.handle_timeout(now);
        while let Some(discarded) = switch.poll_discarded() {
            free.push(discarded.handle);
        }
        for port in (0..PORTS).map(PortId::new) {
            while let Some(transmission) = switch.transmit(now, port) {
                if let Transmission::Data { handle, mark, .. } = transmission {
                    marks += u64::from(mark);
                    forwarded += 1;
                    free.extend(switch.complete(handle));
                }
            }
        }
        while switch.poll_event().is_some() {}
    }
    let allocated = ALLOCATIONS.with(Cell::get) - before;

    let sum = |count: fn(&PortCounters) -> u64| -> u64 {
        let ports = (0..PORTS).map(PortId::new);
        ports.map(|port| count(switch.counters(port))).sum()
    };
    assert!(forwarded > 1000, "{name}: {forwarded} frames went through");
    assert!(marks > 100, "{name}: {marks} frames were to be marked");
    match mode {
        ClassMode::Lossy { .. } => {
            let full = sum(|port| port.drops[DropReason::BufferFull.index()]);
            assert!(full > 20, "{full} frames found no room");
        }
        ClassMode::Pfc(_) => {
            let xoff = sum(|port| port.priority[support::PRIORITY.index()].xoff_sent);
            assert!(xoff > 10, "{xoff} pauses were sent");
        }
        ClassMode::Level { .. } => {
            let lifts = sum(|port| port.priority[support::PRIORITY.index()].lifts);
            let told = sum(|port| port.priority[support::PRIORITY.index()].feedback_sent);
            assert!(lifts > 100 && told > 10, "{lifts} lifts, {told} Feedbacks");
        }
    }
    allocated
}

/// More VLANs than have separate counters.
#[test]
fn frames_of_many_vlans_allocate_nothing() {
    let lossy = ClassMode::Lossy {
        buffer: Bytes::new(1 << 20),
    };
    let routes = vec![RouteConfig::new(address(1), vec![PortId::new(1)])];
    let ports = (0..2).map(port_config).collect();
    let mut config = SwitchConfig::new(ports, [ClassConfig::new(lossy); 8], routes);
    config.vlans = vec![VlanPort::trunk(VlanSet::all()); 2];
    config.frame_count = config.frames_needed();
    let mut switch = Switch::new(config).unwrap();
    switch.touch_memory();
    let capacity = switch.vlan_capacity();
    let before = ALLOCATIONS.with(Cell::get);
    for number in 1..500 {
        let frame = Frame {
            handle: FrameHandle(number),
            length: Bytes::new(100),
            priority: Priority::ALL[0],
            destination: address(1),
            source: address(0),
            flow_hash: 0,
        };
        let tag = VlanId::new(number as u16).map(|vlan| VlanTag::new(frame.priority, vlan));
        let now = Instant::from_nanos(1);
        let _ = switch
            .receive_tagged(now, PortId::new(0), frame, tag)
            .unwrap();
    }
    assert_eq!(ALLOCATIONS.with(Cell::get), before);
    assert_eq!(switch.vlan_traffic().len(), capacity);
}
