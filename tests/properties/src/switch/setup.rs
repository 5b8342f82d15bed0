//! The switch that is compared with the model: three fabric ports, two lossless classes and six lossy ones, with buffers so
//! small that a few frames fill them.

use weir_core::config::{EcmpConfig, RouteConfig};
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Duration, MacAddress, PfcThresholds, PortConfig,
    PortId, PortRole, SwitchConfig,
};

/// Number of ports, each of which leads to the destination with its number.
pub const PORTS: usize = 3;
/// Destinations of frames; at first there is no route to the last one.
pub const DESTINATIONS: u8 = PORTS as u8 + 1;
/// Granularity of a frame's charge, in bytes.
pub const CELL: u64 = 256;
/// xoff in bytes of each lossless class.
pub const XOFF: u64 = 4096;
/// xon in bytes of each lossless class.
pub const XON: u64 = 2048;
/// Headroom in bytes of each lossless class.
pub const HEADROOM: u64 = 2048;
/// Buffer of each lossy class in bytes.
pub const LOSSY: u64 = 4096;
/// Time for which frames wait for a downed link: a few of the waits between operations.
pub const HOLD: Duration = Duration::from_micros(1_000);
/// Rate of each port.
pub const RATE: BitRate = BitRate::from_mbit(1000);
/// Priorities of the lossless classes.
pub const LOSSLESS: [u8; 2] = [3, 4];
/// Priorities of frames.
pub const PRIORITIES: [u8; 3] = [0, 3, 4];
/// Maximum frame length in bytes; the minimum is 60.
pub const FRAME_LENGTH_MAX: u64 = 1522;

/// Address of destination `number`, or from 0x80 on a port's own.
pub fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

/// Configuration of the switch.
pub fn config() -> SwitchConfig {
    let class = |mode, weight| ClassConfig {
        headroom_by_cable: false,
        mode,
        weight,
        scheduler: Default::default(),
        age_limit: None,
        ecn: None,
        pool: None,
        credits: None,
    };
    let lossy = ClassMode::Lossy {
        buffer: Bytes::new(LOSSY),
    };
    let lossless = ClassMode::Pfc(
        PfcThresholds::new(Bytes::new(XOFF), Bytes::new(XON), Bytes::new(HEADROOM)).unwrap(),
    );
    let mut classes = [class(lossy, 1); 8];
    for priority in LOSSLESS {
        classes[usize::from(priority)] = class(lossless, 2);
    }
    let ports = (0..PORTS as u8)
        .map(|port| PortConfig::new(PortRole::Fabric, RATE, address(0x80 + port)))
        .collect();
    let routes = (0..PORTS as u8)
        .map(|port| RouteConfig::new(address(port), vec![PortId::new(port)]))
        .collect();
    let mut config = SwitchConfig {
        cell: Bytes::new(CELL),
        shaper_burst: Bytes::new(100_000),
        link_down_hold: HOLD,
        ecmp: EcmpConfig {
            spare_routes: 0,
            ..EcmpConfig::default()
        },
        ..SwitchConfig::new(ports, classes, routes)
    };
    config.frame_count = config.frames_needed();
    config
}
