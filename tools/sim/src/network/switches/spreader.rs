//! How a switch spreads frames over equal ways by itself, as LetFlow does (Vanini, Pan, Alizadeh, Taheri, Edsall: Let It Flow,
//! NSDI 2017, section 3): at the edge of the core, which picks a way by the hash that it is given.

use weir_config::scenario::SwitchSpread;
use weir_core::Instant;

use crate::network::plan::mixed_hash;
use crate::random::Random;

/// Tells the streams of randomness of spreading switches from others of the same seed.
const SPREADING: u64 = 5;

/// Draws hashes for frames that have several ways. Each switch has one of its own, with a stream of its own: what it draws
/// depends on the frames that reach this switch, and their order, alone.
#[derive(Debug)]
pub(in crate::network) struct Spreader {
    spread: SwitchSpread,
    random: Random,
    /// Of flowlets. Empty before the first frame that has a choice: most switches of a large network may have none.
    entries: Vec<Entry>,
}

/// What a flow, or several, did last: one more than the moment of the last frame in nanoseconds, 0 before the first one, and
/// the hash of the flowlet. Numbers alone, so that a table that is new is memory that nobody has touched.
type Entry = [u64; 2];

impl Spreader {
    /// For switch number `switch`.
    pub(in crate::network) fn new(spread: SwitchSpread, seed: u64, switch: usize) -> Self {
        Self {
            spread,
            random: Random::for_purpose(seed, SPREADING + ((switch as u64) << 32)),
            entries: Vec::new(),
        }
    }

    /// What stands for the hash of a frame to host `to` that reaches the switch at `now`, which is never before the frame before
    /// it; `flow_hash` is what the switch makes of that of its flow.
    ///
    /// The first frame of a flowlet takes a way at random, the others the same one. A flowlet ends when its entry has not been used
    /// for longer than the gap. LetFlow's chip looks for such entries once in a while, and so ends some of them later, by
    /// up to one more gap; this table reads the clock of the simulation, and ends them at once.
    pub(in crate::network) fn hash(&mut self, now: Instant, flow_hash: u32, to: u32) -> u32 {
        let (gap, entries) = match self.spread {
            SwitchSpread::Frame => return self.random.next_u64() as u32,
            SwitchSpread::Flowlet { gap, entries } => (gap, entries),
        };
        if self.entries.is_empty() {
            self.entries = vec![[0; 2]; entries as usize];
        }
        // Answers have the hash of their flow, and are another flow all the same.
        let place = (u64::from(mixed_hash(flow_hash, to)) * u64::from(entries)) >> 32;
        let [seen, hash] = &mut self.entries[place as usize];
        let now = now.as_nanos().saturating_add(1);
        if *seen == 0 || now.saturating_sub(*seen) > gap.as_nanos() {
            *hash = self.random.next_u64() >> 32;
        }
        *seen = now;
        *hash as u32
    }

    /// The switch is started anew: all that it knew is gone, and draws go on.
    pub(in crate::network) fn forget(&mut self) {
        self.entries = Vec::new();
    }
}

#[cfg(test)]
mod tests;
