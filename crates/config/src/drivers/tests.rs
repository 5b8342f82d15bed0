use super::*;

const MTUS: std::ops::RangeInclusive<u64> = 60..=9216;

fn config(mtu: u64) -> DataplaneConfig {
    DataplaneConfig {
        mtu: Bytes::new(mtu),
        ..DataplaneConfig::default()
    }
}

#[test]
fn names_are_sorted_and_unique() {
    assert!(DRIVERS.windows(2).all(|pair| pair[0].name < pair[1].name));
    assert_eq!(driver("igb").granularity, Bytes::new(1024));
    assert_eq!(*driver("no such"), UNKNOWN);
}

/// In zero-copy, a chosen chunk holds every frame with every driver; otherwise the check refuses it.
#[test]
fn the_chosen_chunk_holds_a_whole_frame() {
    for driver in DRIVERS.iter().chain([&UNKNOWN]) {
        for mtu in MTUS {
            let config = config(mtu);
            let chosen = config.with_chunk(chunk_for(&config, &[driver]));
            let frame = chosen.frame_length_max();
            let room = chosen.chunk_size().get() - 256;
            match driver.holds_frames(&chosen) {
                Ok(()) if chosen.has_long_frames() => assert!(chosen.cell.get() <= room - 320),
                Ok(()) => {
                    let buffer = room / driver.granularity.get() * driver.granularity.get();
                    assert!(frame.get() <= buffer, "{} {mtu}", driver.name);
                    // A full buffer is known to be a part of a frame.
                    let cut = driver.cut_length(chosen.chunk_size());
                    assert!(cut.is_none_or(|cut| frame < cut), "{} {mtu}", driver.name);
                }
                Err(short) => assert!(short.has < short.needed),
            }
        }
    }
}

#[test]
fn the_smallest_sufficient_chunk_is_chosen() {
    let chosen = |mtu, names: &[&str]| {
        let drivers: Vec<_> = names.iter().map(|name| driver(name)).collect();
        chunk_for(&config(mtu), &drivers).get()
    };
    for (mtu, names, chunk) in [
        (1500, ["veth", "veth"], 2048),
        (9216, ["veth", "e1000e"], 2048),
        (1500, ["ice", "mlx5_core"], 2048),
        (1500, ["ice", "igb"], 4096),
        (900, ["igb", "igc"], 2048),
        (1500, ["virtio_net", "veth"], 4096),
        (1400, ["virtio_net", "veth"], 2048),
        (1500, ["ixgbe", "veth"], 4096),
        (1500, ["stmmac", "veth"], 4096),
        // No chunk holds it on igb: multi-buffer frames, for which the kernel allows copy mode.
        (3500, ["igb", "veth"], 2048),
        (3000, ["igb", "veth"], 4096),
        (9000, ["ice", "veth"], 2048),
    ] {
        assert_eq!(chosen(mtu, &names), chunk, "{mtu} {names:?}");
    }
}

#[test]
fn a_configured_chunk_is_kept() {
    let set = config(1500).with_chunk(Bytes::new(2048));
    assert_eq!(chunk_for(&set, &[driver("igb")]), Bytes::new(2048));
    let short = driver("igb").holds_frames(&set).unwrap_err();
    assert_eq!((short.needed.get(), short.has.get()), (1522, 1007));
    let off = DataplaneConfig {
        zero_copy: ZeroCopy::Off,
        ..config(1500)
    };
    assert_eq!(chunk_for(&off, &[driver("igb")]), Bytes::new(2048));
}
