//! Random networks with buffers that share a pool.

use weir_config::switch::headroom::{Charging, Feedback, Link};
use weir_core::units::LINE_OVERHEAD;
use weir_core::{
    Alpha, BitRate, Bytes, ClassConfig, ClassMode, Duration, PoolConfig, PoolShare, SwitchConfig,
    Threshold,
};

use super::network::{CELL, CLASSES, FRAME_MAX};
use crate::random::Random;

const POOLS: u64 = 40;

/// Returns the headroom of a buffer for such a line, if the neighbour obeys at once. The pool may be full when a frame
/// arrives, so none of it is below a threshold, and a pause of another class may be on the line.
pub(super) fn headroom(rate: BitRate, delay: Duration, cell: Bytes, longest: Bytes) -> Bytes {
    let charging = Charging {
        cell,
        frame_length_max: longest,
    };
    let link = Link {
        rate,
        feedback: Feedback::Parts {
            delay,
            reaction: Duration::ZERO,
        },
        overshoot: Bytes::new(64) + LINE_OVERHEAD,
    };
    link.headroom_needed(charging, Bytes::ZERO, &charging.worst_frames())
}

pub(super) fn share(seed: u64, classes: &mut [ClassConfig; 8], headroom: Bytes) -> PoolConfig {
    let mut random = Random::for_purpose(seed, POOLS);
    let frame = FRAME_MAX.round_up_to(CELL).get();
    let mut frames = |from: u64, to: u64| Bytes::new(frame * random.between(4 * from, 4 * to) / 4);
    let pool = PoolConfig::new(frames(3, 60), Bytes::ZERO);
    let (reserved, xon_offset) = (frames(0, 2), frames(0, 3));
    for priority in CLASSES {
        let threshold = match random.below(3) {
            0 => Threshold::Static(Bytes::new(
                (pool.size.get() / random.between(1, 4)).max(frame),
            )),
            _ => {
                let alpha = Alpha::new(random.between(0, 8) as i8 - 4);
                Threshold::Dynamic(alpha.unwrap_or(least_alpha(&pool)))
            }
        };
        let mut share = PoolShare {
            pool: 0,
            reserved,
            threshold,
            xon_offset,
        };
        if pool.alone(&share).get() < frame {
            share.threshold = Threshold::Dynamic(least_alpha(&pool));
        }
        let class = &mut classes[priority.index()];
        class.pool = Some(share);
        class.mode = ClassMode::Pfc(pool.thresholds_alone(&share, headroom));
    }
    pool
}

/// Returns the lowest α, from 1 on, that admits a frame to a buffer that is alone.
fn least_alpha(pool: &PoolConfig) -> Alpha {
    let frame = FRAME_MAX.round_up_to(CELL);
    let alphas = (0..=Alpha::EXPONENT_MAX).filter_map(Alpha::new);
    let fits = |alpha: &Alpha| Threshold::Dynamic(*alpha).with_buffers(pool.size, 1) >= frame;
    alphas.fold(Alpha::ONE, |least, alpha| {
        match fits(&alpha) && !fits(&least) {
            true => alpha,
            false => least,
        }
    })
}

pub(super) fn fit_headroom(config: &mut SwitchConfig) {
    for pool in 0..config.pools.len() {
        config.pools[pool].headroom = config.headroom_wanted(pool);
    }
}
