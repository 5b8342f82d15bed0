//! Buffers that share a pool: random traffic compared with a slow model, and no losses with neighbours that obey.

mod charges;
mod model;
mod obedient;
mod rules;
mod slow;

use weir_core::config::{PoolConfig, PoolShare, RouteConfig};
use weir_core::{
    Alpha, BitRate, Bytes, ClassConfig, ClassMode, MacAddress, PortConfig, PortId, PortRole,
    Priority, SwitchConfig, Threshold,
};

pub const PORTS: u8 = 4;
/// With a dynamic threshold, a static one, and a lossy class with a dynamic one.
pub const DYNAMIC: Priority = Priority::ALL[3];
pub const STATIC: Priority = Priority::ALL[4];
pub const LOSSY: Priority = Priority::ALL[1];
/// Has a separate buffer.
pub const OUTSIDE: Priority = Priority::ALL[0];
/// In cells of 64 B.
pub const FRAME_MAX: u64 = 320;
pub const HEADROOM: Bytes = Bytes::new(5 * FRAME_MAX);

pub fn address(port: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, port])
}

#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub exponent: i8,
    /// Exponents of the buffers with a dynamic threshold at a port, if other than `exponent`.
    pub own_exponents: [Option<i8>; PORTS as usize],
    pub size: u64,
    pub reserved: u64,
    pub xon_offset: u64,
    /// Percentage of the headroom that all buffers want; below 100 it is oversubscribed.
    pub headroom: u64,
}

pub fn share(setting: &Setting, threshold: Threshold) -> PoolShare {
    PoolShare {
        pool: 0,
        reserved: Bytes::new(setting.reserved),
        threshold,
        xon_offset: Bytes::new(setting.xon_offset),
    }
}

pub fn config(setting: &Setting) -> SwitchConfig {
    let wanted = 2 * u64::from(PORTS) * HEADROOM.get();
    let pool = PoolConfig {
        size: Bytes::new(setting.size),
        headroom: Bytes::new(wanted * setting.headroom / 100),
        oversubscription: if setting.headroom < 100 { 1000 } else { 1 },
    };
    let of = |threshold, is_lossless: bool| {
        let share = share(setting, threshold);
        let mode = match is_lossless {
            true => ClassMode::Pfc(pool.thresholds_alone(&share, HEADROOM)),
            false => ClassMode::Lossy {
                buffer: pool.alone(&share),
            },
        };
        ClassConfig {
            pool: Some(share),
            ..ClassConfig::new(mode)
        }
    };
    let dynamic = Threshold::Dynamic(Alpha::new(setting.exponent).unwrap());
    let mut classes = [ClassConfig::new(ClassMode::Lossy {
        buffer: Bytes::new(2 * FRAME_MAX),
    }); 8];
    classes[DYNAMIC.index()] = of(dynamic, true);
    classes[STATIC.index()] = of(Threshold::Static(Bytes::new(setting.size / 3)), true);
    classes[LOSSY.index()] = of(dynamic, false);
    let rate = BitRate::from_mbit(1000);
    let port = |(port, own): (u8, Option<i8>)| {
        let own = own.and_then(Alpha::new).map(Threshold::Dynamic);
        let mut config = PortConfig::new(PortRole::Fabric, rate, address(0x80 + port));
        for priority in [DYNAMIC, LOSSY] {
            config.pool_thresholds[priority.index()] = own;
        }
        config
    };
    let ports = (0..PORTS).zip(setting.own_exponents).map(port);
    let routes = (0..PORTS).map(|port| RouteConfig::new(address(port), vec![PortId::new(port)]));
    let mut config = SwitchConfig {
        cell: Bytes::new(64),
        frame_length_max: Bytes::new(FRAME_MAX),
        pools: vec![pool],
        ..SwitchConfig::new(ports.collect(), classes, routes.collect())
    };
    config.frame_count = config.frames_needed();
    config
}
