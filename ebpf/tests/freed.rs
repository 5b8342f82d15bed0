//! Drops of the kernel's network stack. Needs root.

use std::time::{Duration, Instant};

use nix::net::if_::if_nametoindex;
use nix::sched::{unshare, CloneFlags};
use weir_ebpf::FreedFrames;

use crate::express::bench::{add_pair, Wire};

const PATIENCE: Duration = Duration::from_secs(10);

/// A frame of a protocol for experiments, which nobody receives.
fn frame() -> Vec<u8> {
    let mut bytes = [0xff; 12].to_vec();
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    bytes.extend([0x88, 0xb5]);
    bytes.resize(60, 0);
    bytes
}

#[test]
#[ignore = "needs root"]
fn drops_are_counted_by_the_kernel_s_reason_at_watched_devices_alone() {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    add_pair(["a0", "a1"]);
    add_pair(["b0", "b1"]);
    let freed = FreedFrames::new().unwrap();
    let watch = |device| {
        freed.watch(if_nametoindex(device).unwrap(), 7).unwrap();
    };
    let wires = ["a0", "b0"].map(Wire::new);
    let send = || wires.iter().for_each(|wire| wire.send(&frame()));
    let wait_for = |frames| {
        let began = Instant::now();
        loop {
            let mut counts = freed.counts().unwrap();
            counts.retain(|(_, _, frames)| *frames > 0);
            if counts == [(7, "unhandled_proto".to_owned(), frames)] {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "{counts:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    send();
    assert_eq!(freed.counts().unwrap(), [], "no device is watched");
    watch("a1");
    (0..5).for_each(|_| send());
    wait_for(5);
    // The port gets another device.
    watch("b1");
    watch("b1");
    send();
    wait_for(6);
}
