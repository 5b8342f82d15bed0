//! One switch of a class with Levels, driven by hand.
#![allow(dead_code)] // each test file uses some of it

use weir_core::config::{LevelRules, RouteConfig};
use weir_core::switch::LevelGauges;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, DropReason, Frame, FrameHandle, Instant,
    MacAddress, PfcThresholds, PortConfig, PortId, PortRole, Priority, Quanta, Switch,
    SwitchConfig, Transmission,
};

pub const P3: Priority = Priority::ALL[3];
pub const GAMMA: Bytes = Bytes::new(1536);
pub const NOW: Instant = Instant::from_nanos(1_000_000_000);
/// Ports 0 to 3 are fabric, 4 and 5 edge.
pub const EDGE: u8 = 4;
pub const LENGTH: Bytes = Bytes::new(1522);

pub const X: u8 = 1;
pub const Y: u8 = 2;
pub const Z: u8 = 3;

pub fn port(number: u8) -> PortId {
    PortId::new(number)
}

pub fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, number])
}

/// Destinations up to 9 are beyond port 3, those from 10 on are hosts at port 4.
pub fn config(budgets: &[Bytes]) -> SwitchConfig {
    let lossy = ClassConfig {
        headroom_by_cable: false,
        mode: ClassMode::Lossy { buffer: GAMMA },
        weight: 1,
        scheduler: Default::default(),
        age_limit: None,
        ecn: None,
        pool: None,
        credits: None,
    };
    let mut classes = [lossy; 8];
    classes[P3.index()].mode = ClassMode::Level {
        rules: LevelRules::default(),
        budgets: Budgets::new(budgets).unwrap(),
        edge: PfcThresholds::new(
            Bytes::new(8 * 1024),
            Bytes::new(4 * 1024),
            Bytes::new(8 * 1024),
        )
        .unwrap(),
    };
    let role = |number| match number {
        0..EDGE => PortRole::Fabric,
        _ => PortRole::Edge,
    };
    let ports = (0..6)
        .map(|n| PortConfig::new(role(n), BitRate::from_mbit(1000), address(0x80 + n)))
        .collect();
    let routes = (0..20)
        .map(|n| RouteConfig::new(address(n), vec![port(if n < 10 { 3 } else { EDGE })]))
        .collect();
    SwitchConfig {
        frame_length_max: LENGTH,
        ..SwitchConfig::new(ports, classes, routes)
    }
}

pub struct Node {
    pub switch: Switch,
    next_handle: u32,
}

impl Node {
    pub fn new(config: SwitchConfig) -> Self {
        Self {
            switch: Switch::new(config).unwrap(),
            next_handle: 0,
        }
    }

    /// A switch with five budgets of one frame each, so that every frame behind a link raises a Level.
    pub fn tight() -> Self {
        Self::new(config(&[GAMMA; 5]))
    }

    pub fn receive(&mut self, ingress: u8, destination: u8) -> Result<u32, DropReason> {
        let handle = self.next_handle;
        let frame = Frame {
            handle: FrameHandle(handle),
            length: LENGTH,
            priority: P3,
            destination: address(destination),
            source: address(0x40),
            flow_hash: 0,
        };
        let _ = self.switch.receive(NOW, port(ingress), frame)?;
        self.next_handle += 1;
        Ok(handle)
    }

    pub fn level_of(&self, destination: u8) -> Option<u8> {
        self.switch
            .level_table()
            .find(|entry| entry.destination == address(destination))
            .map(|entry| entry.level.get())
    }

    pub fn link(&self, number: u8) -> LevelGauges {
        let gauges = self.switch.gauges(NOW, port(number), P3);
        gauges.levels.expect("a fabric port of a class with Levels")
    }

    /// m_1 … m_D in frames.
    pub fn m(&self, number: u8) -> Vec<u64> {
        let link = self.link(number);
        let m = &link.m[..link.depth.index()];
        m.iter().map(|m| m.get() / GAMMA.get()).collect()
    }

    /// Pause times of the class in all control frames that `number` sends now.
    pub fn told(&mut self, number: u8) -> Vec<u16> {
        let mut told = Vec::new();
        while let Some(Transmission::Control(frame)) = self.switch.transmit(NOW, port(number)) {
            match frame {
                ControlFrame::Mac(MacControl::Pfc { times }) => {
                    told.extend(times[P3.index()].map(|quanta| quanta.0));
                }
                ControlFrame::Echo(_) => {}
                other => panic!("{other:?}"),
            }
        }
        told
    }

    pub fn tell(&mut self, number: u8, quanta: u16) {
        let mut times = [None; 8];
        times[P3.index()] = Some(Quanta(quanta));
        let frame = ControlFrame::Mac(MacControl::Pfc { times });
        let mut buffer = [0; 128];
        let length = frame.emit(address(0x50), &mut buffer).unwrap();
        self.switch
            .receive_mac_control(NOW, port(number), &buffer[..length])
            .unwrap();
    }

    /// The next data frame of `number`, without control frames.
    pub fn data(&mut self, number: u8) -> Option<u32> {
        loop {
            match self.switch.transmit(NOW, port(number))? {
                Transmission::Data { handle, .. } => return Some(handle.0),
                Transmission::Control(_) => {}
            }
        }
    }

    pub fn complete(&mut self, handle: u32) {
        let back = self.switch.complete(FrameHandle(handle));
        assert_eq!(back, Some(FrameHandle(handle)));
    }
}
