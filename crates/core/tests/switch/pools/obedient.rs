//! Neighbours that obey: frames in flight when they were paused have room.

use proptest::prelude::*;
use weir_core::random::SplitMix64;
use weir_core::{
    Bytes, Command, Duration, Frame, FrameHandle, Instant, PortId, Priority, Switch, Transmission,
};

use super::slow::settings;
use super::{address, config, DYNAMIC, FRAME_MAX, HEADROOM, LOSSY, PORTS, STATIC};

/// Frames of a priority that one neighbour may still send.
#[derive(Clone, Copy)]
enum Sends {
    Freely,
    /// Number of bytes in whole cells until it receives the pause sent to it.
    Rest(u64),
}

fn rest() -> u64 {
    // The frame that finds the pool full also takes headroom.
    HEADROOM.get() - FRAME_MAX
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_obedient_neighbour_loses_nothing_and_waits_for_no_other(setting in settings(), seed in any::<u64>()) {
        let mut setting = setting;
        setting.headroom = 100;
        let config = config(&setting);
        let mut random = SplitMix64::new(seed);
        let mut below = |bound: u64| random.next_u64() % bound;
        let mut free: Vec<_> = (0..config.frame_count as u32).map(FrameHandle).collect();
        let mut switch = Switch::new(config).unwrap();
        let mut now = Instant::from_nanos(1);
        let mut sends = [[Sends::Freely; 8]; PORTS as usize];
        let mut on_line = Vec::new();
                for step in 0..4000u64 {
            now = now + Duration::from_nanos(200);
            let from = below(PORTS.into()) as u8;
            let to = below(PORTS.into()) as u8;
            let priority = [DYNAMIC, STATIC, LOSSY][below(3) as usize];
            let length = 60 + below(FRAME_MAX - 59);
            let cells = Bytes::new(length).round_up_to(Bytes::new(64)).get();
            let allowed = match &mut sends[usize::from(from)][priority.index()] {
                Sends::Freely => true,
                Sends::Rest(left) if *left >= cells => {
                    *left -= cells;
                    true
                }
                Sends::Rest(_) => false,
            };
            if allowed && from != to && step < 3000 {
                let handle = free.pop().expect("admitted frames never lack memory");
                let frame = Frame {
                    handle,
                    length: Bytes::new(length),
                    priority,
                    destination: address(to),
                    source: address(0x40 + from),
                    flow_hash: 1,
                };
                let outcome = switch.receive(now, PortId::new(from), frame);
                prop_assert!(outcome.is_ok() || priority == LOSSY, "{outcome:?}");
                if outcome.is_err() {
                    free.push(handle);
                }
            }
            let lossless = if below(2) == 0 { DYNAMIC } else { STATIC };
            if below(60) == 0 && from != to {
                let command = Command::Release {
                    ingress: PortId::new(from),
                    egress: PortId::new(to),
                    priority: lossless,
                    period: Duration::from_micros(5),
                    preference: Duration::ZERO,
                    extra: Bytes::new(FRAME_MAX),
                };
                switch.apply(now, command).ok();
            }
            switch.handle_timeout(now);
            let port = PortId::new(below(PORTS.into()) as u8);
            // A port that sends slowly, so that its frames pile up.
            if port.get() != 0 || below(4) == 0 || step > 3000 {
                if let Some(Transmission::Data { handle, .. }) = switch.transmit(now, port) {
                    on_line.push(handle);
                }
            }
            if below(2) == 0 || step > 3000 {
                for handle in on_line.drain(..) {
                    free.extend(switch.complete(handle));
                }
            }
            for port in 0..PORTS {
                for priority in [DYNAMIC, STATIC] {
                    let pausing = switch.gauges(now, PortId::new(port), priority).pausing;
                    let at = &mut sends[usize::from(port)][priority.index()];
                    match (pausing, &at) {
                        (true, Sends::Freely) => *at = Sends::Rest(rest()),
                        (false, Sends::Rest(_)) => *at = Sends::Freely,
                        _ => {}
                    }
                }
            }
            while switch.poll_event().is_some() {}
        }
        for step in 0..20_000u64 {
            now = now + Duration::from_nanos(2000);
            let port = PortId::new((step % u64::from(PORTS)) as u8);
            if let Some(Transmission::Data { handle, .. }) = switch.transmit(now, port) {
                free.extend(switch.complete(handle));
            }
        }
        prop_assert_eq!(switch.held_frames(), 0);
        let pool = switch.pool_gauges(0).unwrap();
        prop_assert_eq!((pool.used, pool.headroom_used, pool.paused), (Bytes::ZERO, Bytes::ZERO, 0));
        for port in (0..PORTS).map(PortId::new) {
            for priority in Priority::ALL {
                prop_assert!(!switch.gauges(now, port, priority).pausing);
            }
        }
    }
}
