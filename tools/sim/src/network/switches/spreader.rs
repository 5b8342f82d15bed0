//! Spreading by switches as in LetFlow (Vanini, Pan, Alizadeh, Taheri, Edsall: Let It Flow, NSDI 2017, section 3). It sits
//! at the edge of the core, which picks a path by the given hash.

use weir_config::scenario::SwitchSpread;
use weir_core::Instant;

use crate::network::plan::mixed_hash;
use crate::random::Random;

/// Distinguishes the random numbers of spreading switches from others with the same seed.
const SPREADING: u64 = 5;

/// Draws hashes for frames that have several paths. Each switch has its own spreader and random numbers: its draws depend
/// only on the frames that reach this switch, and their order.
#[derive(Debug)]
pub(in crate::network) struct Spreader {
    spread: SwitchSpread,
    random: Random,
    /// Flowlets. Empty before the first frame with a choice: most switches of a large network may never have one.
    entries: Vec<Entry>,
}

/// Last activity of a flow, or of several: one more than the time of the last frame in nanoseconds, 0 before the first one,
/// and the hash of the flowlet. Plain numbers, so that a new table is untouched zeroed memory.
type Entry = [u64; 2];

impl Spreader {
    /// Creates that of switch number `switch`.
    pub(in crate::network) fn new(spread: SwitchSpread, seed: u64, switch: usize) -> Self {
        Self {
            spread,
            random: Random::for_purpose(seed, SPREADING + ((switch as u64) << 32)),
            entries: Vec::new(),
        }
    }

    /// Returns the hash for a frame to host `to` that reaches the switch at `now`, which never decreases between calls;
    /// `flow_hash` is the switch's hash of its flow.
    ///
    /// The first frame of a flowlet takes a random path, the others the same one. A flowlet ends when its entry has not been
    /// used for longer than the gap. LetFlow's chip scans for such entries periodically, and so ends some of them
    /// later, by up to one more gap. This table reads the simulated clock, and ends them at once.
    pub(in crate::network) fn hash(&mut self, now: Instant, flow_hash: u32, to: u32) -> u32 {
        let (gap, entries) = match self.spread {
            SwitchSpread::Frame => return self.random.next_u64() as u32,
            SwitchSpread::Flowlet { gap, entries } => (gap, entries),
        };
        if self.entries.is_empty() {
            self.entries = vec![[0; 2]; entries as usize];
        }
        // Answers have the hash of their flow, but are a different flow.
        let place = (u64::from(mixed_hash(flow_hash, to)) * u64::from(entries)) >> 32;
        let [seen, hash] = &mut self.entries[place as usize];
        let now = now.as_nanos().saturating_add(1);
        if *seen == 0 || now.saturating_sub(*seen) > gap.as_nanos() {
            *hash = self.random.next_u64() >> 32;
        }
        *seen = now;
        *hash as u32
    }

    /// The switch restarts: its state is lost, and draws continue.
    pub(in crate::network) fn forget(&mut self) {
        self.entries = Vec::new();
    }
}

#[cfg(test)]
mod tests;
