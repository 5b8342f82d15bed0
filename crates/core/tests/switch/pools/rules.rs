//! Guarantees of a configuration with pools, and rejected configurations.

use weir_core::{
    Alpha, Bytes, Command, CommandError, ConfigError, Frame, FrameHandle, Instant, PortId,
    Priority, Switch, Threshold,
};

use super::{
    address, config, share, Setting, DYNAMIC, FRAME_MAX, HEADROOM, LOSSY, OUTSIDE, PORTS, STATIC,
};

const SETTING: Setting = Setting {
    exponent: 0,
    own_exponents: [None; 4],
    size: 8000,
    reserved: 128,
    xon_offset: 256,
    headroom: 100,
};

#[test]
fn a_pool_whose_headroom_is_too_small_is_refused_with_the_sums() {
    let mut config = config(&SETTING);
    let wanted = HEADROOM.get() * 2 * u64::from(PORTS);
    config.pools[0].headroom = Bytes::new(wanted - 1);
    let error = Switch::new(config.clone()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("pool 0: the lossless classes of the pool have headrooms of {} at 4 ports together, and the headroom of the pool is {}. Raise it, lower the headroom of a class, or permit oversubscription, with which frames can be lost", Bytes::new(wanted), Bytes::new(wanted - 1))
    );
    config.pools[0].oversubscription = 2;
    Switch::new(config).unwrap();
}

#[test]
fn memory_is_that_of_the_pool_and_not_the_sum_of_the_limits() {
    let mut config = config(&SETTING);
    // α = 1: each of eight lossless and four lossy buffers may take half of the pool.
    let reserved = 3 * 4 * 128;
    let lossless = 8000 + 2 * 8 * HEADROOM.get();
    let outside = 4 * 4 * 640;
    let others = (outside / 4) * 5;
    assert_eq!(config.buffer_bound().get(), lossless + reserved + others);
    config.frame_count -= 1;
    let error = Switch::new(config).unwrap_err();
    assert!(matches!(error, ConfigError::TooFewFrames { .. }), "{error}");
}

#[test]
fn impossible_shares_are_refused() {
    let broken = |change: &dyn Fn(&mut weir_core::SwitchConfig)| {
        let mut config = config(&SETTING);
        change(&mut config);
        Switch::new(config).unwrap_err()
    };
    let error = broken(&|config| config.classes[3].pool.as_mut().unwrap().pool = 1);
    assert!(matches!(error, ConfigError::NoPool { pool: 1, .. }));
    let error = broken(&|config| {
        let threshold = Threshold::Static(Bytes::new(8001));
        config.classes[3].pool.as_mut().unwrap().threshold = threshold;
    });
    assert!(matches!(error, ConfigError::ThresholdAbovePool { .. }));
    let error = broken(&|config| {
        let share = config.classes[3].pool.as_mut().unwrap();
        share.threshold = Threshold::Dynamic(Alpha::new(-8).unwrap());
    });
    assert!(matches!(error, ConfigError::ShareBelowFrame { .. }));
    let error = broken(&|config| config.pools = vec![config.pools[0]; 5]);
    assert_eq!(error, ConfigError::PoolCount(5));
}

fn frame(handle: u32, from: u8, to: u8) -> Frame {
    Frame {
        handle: FrameHandle(handle),
        length: Bytes::new(320),
        priority: DYNAMIC,
        destination: address(to),
        source: address(0x40 + from),
        flow_hash: 1,
    }
}

/// Fills the buffer of port `from` until it pauses; returns its occupancy then.
fn fill(switch: &mut Switch, from: u8, handle: &mut u32) -> u64 {
    let now = Instant::from_nanos(1);
    let port = PortId::new(from);
    while !switch.gauges(now, port, DYNAMIC).pausing {
        *handle += 1;
        let _ = switch.receive(now, port, frame(*handle, from, 3)).unwrap();
    }
    switch.gauges(now, port, DYNAMIC).ingress.get() - SETTING.reserved
}

#[test]
fn buffers_that_want_more_get_alpha_over_one_and_alpha_times_their_number() {
    for exponent in [-3, -1, 0, 1, 3] {
        let setting = Setting {
            exponent,
            size: 400_000,
            ..SETTING
        };
        let size = setting.size;
        let config = config(&setting);
        let alpha = f64::from(exponent).exp2();
        let mut switch = Switch::new(config).unwrap();
        let mut handle = 0;
        // One alone, to within a frame and the simultaneous fall of the threshold.
        let hot = fill(&mut switch, 0, &mut handle) as f64;
        let published = alpha / (1.0 + alpha) * size as f64;
        assert!(
            (hot - published).abs() < 330.0,
            "{alpha}: {hot} {published}"
        );
        // The next one gets its share of the rest.
        let next = fill(&mut switch, 1, &mut handle) as f64;
        let left = alpha / (1.0 + alpha) * (size as f64 - hot);
        assert!((next - left).abs() < 330.0, "{alpha}: {next} {left}");
    }
}

#[test]
fn a_threshold_can_change_while_frames_wait_but_a_reservation_cannot() {
    let config = config(&SETTING);
    let mut switch = Switch::new(config.clone()).unwrap();
    let now = Instant::from_nanos(1);
    let mut handle = 0;
    fill(&mut switch, 0, &mut handle);
    let mut class = config.classes[DYNAMIC.index()];
    let with = |class: &mut weir_core::ClassConfig, exponent| {
        let threshold = Threshold::Dynamic(Alpha::new(exponent).unwrap());
        let share = share(&SETTING, threshold);
        class.pool = Some(share);
        class.mode = weir_core::ClassMode::Pfc(config.pools[0].thresholds_alone(&share, HEADROOM));
    };
    let set = |switch: &mut Switch, class| {
        let priority = DYNAMIC;
        switch.apply(now, Command::SetClass { priority, class })
    };
    with(&mut class, 3);
    set(&mut switch, class).unwrap();
    assert!(!switch.gauges(now, PortId::new(0), DYNAMIC).pausing);
    with(&mut class, -1);
    set(&mut switch, class).unwrap();
    let more = frame(handle + 1, 0, 3);
    let _ = switch.receive(now, PortId::new(0), more).unwrap();
    assert!(switch.gauges(now, PortId::new(0), DYNAMIC).pausing);
    class.pool.as_mut().unwrap().reserved = Bytes::new(256);
    assert_eq!(
        set(&mut switch, class),
        Err(CommandError::ClassFixed(DYNAMIC))
    );
    class.pool = None;
    assert_eq!(
        set(&mut switch, class),
        Err(CommandError::ClassFixed(DYNAMIC))
    );
    let _ = (STATIC, OUTSIDE);
}

#[test]
fn peaks_of_a_pool_can_be_reset() {
    let mut switch = Switch::new(config(&SETTING)).unwrap();
    let now = Instant::from_nanos(1);
    let mut handle = 0;
    let used = fill(&mut switch, 0, &mut handle);
    let sent = switch.transmit(now, PortId::new(3));
    let Some(weir_core::Transmission::Data { handle, .. }) = sent else {
        panic!("{sent:?}");
    };
    let _ = switch.complete(handle);
    let pool = switch.pool_gauges(0).unwrap();
    assert_eq!((pool.used_max.get(), pool.used.get()), (used, used - 320));
    switch.restart_peaks();
    assert_eq!(switch.pool_gauges(0).unwrap().used_max, pool.used);
    assert_eq!(switch.pool_gauges(1), None);
}

/// Reorders frames, each with its handle and its port.
type Order = fn(&mut Vec<(u32, u8)>);

/// A switch that replaces another one takes its frames in the order in which they would have left.
#[test]
fn inherited_frames_fit_in_any_order() {
    let setting = Setting {
        exponent: 0,
        size: 100_000,
        ..SETTING
    };
    let now = Instant::from_nanos(1);
    let mut old = Switch::new(config(&setting)).unwrap();
    let mut handle = 0;
    let mut inside = Vec::new();
    for from in [0, 1, 2] {
        let first = handle + 1;
        fill(&mut old, from, &mut handle);
        // It also fills all of its headroom.
        for _ in 0..5 {
            handle += 1;
            let _ = old
                .receive(now, PortId::new(from), frame(handle, from, 3))
                .unwrap();
        }
        inside.extend((first..=handle).map(|handle| (handle, from)));
    }
    let other_orders: [Order; 3] = [
        |frames| frames.reverse(),
        |frames| frames.sort_by_key(|(handle, from)| (handle % 7, *from)),
        |frames| frames.sort_by_key(|(_, from)| (*from + 2) % 3),
    ];
    for order in other_orders {
        let mut frames = inside.clone();
        order(&mut frames);
        let mut new = Switch::new(config(&setting)).unwrap();
        for (handle, from) in frames {
            let left = frame(handle, from, 3);
            let _ = new.receive_left(now, PortId::new(from), left).unwrap();
        }
        let pool = new.pool_gauges(0).unwrap();
        assert!(pool.used <= pool.size && pool.headroom_used <= pool.headroom);
        // All of it leaves.
        let mut later = now;
        while let Some(sent) = new.transmit(later, PortId::new(3)) {
            let weir_core::Transmission::Data { handle, .. } = sent else {
                continue;
            };
            let _ = new.complete(handle);
            // Far enough beyond the shaper's next time.
            later = later + weir_core::Duration::from_millis(1);
        }
        let pool = new.pool_gauges(0).unwrap();
        let left = (pool.used, pool.headroom_used, new.held_frames());
        assert_eq!(left, (Bytes::ZERO, Bytes::ZERO, 0));
    }
}

/// Returns the number of copies admitted in this priority until there is no room, and then, by port, the frames
/// admitted of a lossless class until their sender is paused. Further frames are admitted into its headroom.
fn behind_copies(priority: Option<Priority>) -> (u64, Vec<u64>) {
    const MONITOR: u8 = PORTS - 1;
    let mut switch = Switch::new(config(&SETTING)).unwrap();
    let monitor = PortId::new(MONITOR);
    let destination = address(MONITOR);
    let now = Instant::ZERO;
    switch
        .apply(now, Command::RemoveRoute { destination })
        .unwrap();
    let reserve = Command::Reserve {
        port: monitor,
        reserved: true,
    };
    switch.apply(now, reserve).unwrap();
    let mut handle = 0;
    let mut next = |from: u8, priority: Priority| {
        handle += 1;
        Frame {
            priority,
            ..frame(handle - 1, from, (from + 1) % MONITOR)
        }
    };
    let mut copied = 0;
    if let Some(priority) = priority {
        while switch.send_copy(now, monitor, next(0, priority)).is_ok() {
            copied += 1;
        }
    }
    let taken = (0..MONITOR).map(|from| {
        let port = PortId::new(from);
        let mut taken = 0;
        while !switch.gauges(now, port, DYNAMIC).pausing {
            let _ = switch.receive(now, port, next(from, DYNAMIC)).unwrap();
            taken += 1;
        }
        for _ in 0..HEADROOM.get() / FRAME_MAX {
            let _ = switch.receive(now, port, next(from, DYNAMIC)).unwrap();
        }
        taken
    });
    let taken = taken.collect();
    (copied, taken)
}

#[test]
fn copies_in_a_pool_bring_pauses_forward_and_cost_no_lossless_frame() {
    let (_, without) = behind_copies(None);
    // In a separate class they disturb no other traffic.
    let (copied, outside) = behind_copies(Some(OUTSIDE));
    assert_eq!((copied, &outside), (2, &without));
    // In the pool they are one of its lossy buffers: with α = 1 half of it, its reserve, and less than a frame more.
    let (copied, inside) = behind_copies(Some(LOSSY));
    let bytes = copied * FRAME_MAX;
    assert!(
        bytes > 0 && bytes < SETTING.size / 2 + SETTING.reserved + FRAME_MAX,
        "{bytes}"
    );
    assert!(
        inside.iter().sum::<u64>() < without.iter().sum(),
        "{inside:?} {without:?}"
    );
    assert!(inside.iter().all(|taken| *taken > 0), "{inside:?}");
}
