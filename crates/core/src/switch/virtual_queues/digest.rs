//! Digest of waiting frames and turns.

use super::owed::NEVER;
use super::turns::Turner;
use super::{level_turn_index, VirtualQueues};
use crate::level::{Level, LEVEL_MAX};
use crate::testing::Digest;
use crate::units::{PortId, Priority};

impl VirtualQueues {
    /// Digests the skipped pairs of an egress, in order.
    pub(in crate::switch) fn digest_owed(
        &self,
        digest: &mut Digest,
        egress: PortId,
        priorities: impl Iterator<Item = Priority>,
    ) {
        let mut owed = Vec::new();
        for priority in priorities {
            let turn = &self.levels[level_turn_index(egress, priority)];
            let first = self.group_index(egress, priority, Level::ZERO);
            let levels = (0..=LEVEL_MAX).filter(|level| turn.owed & (1 << level) != 0);
            owed.extend(levels.map(|level| (self.owed_since[first + level], priority, level)));
            if turn.named_since != NEVER {
                owed.push((turn.named_since, priority, usize::MAX));
            }
        }
        owed.sort_unstable();
        for (_, priority, level) in owed {
            digest.word(priority.get());
            digest.word(level as u64);
        }
    }

    /// Frames count by length, ingress and destination: their handles are arbitrary.
    pub(in crate::switch) fn digest(
        &self,
        digest: &mut Digest,
        egress: PortId,
        priority: Priority,
    ) {
        let turn = &self.levels[level_turn_index(egress, priority)];
        turn.digest(digest);
        if turn.lone.is_some() {
            return;
        }
        for level in (0..=LEVEL_MAX as u8).filter_map(Level::new) {
            if turn.waiting & (1 << level.get()) == 0 {
                continue;
            }
            let group_index = self.group_index(egress, priority, level);
            let group = &self.groups[group_index];
            digest.word(u32::from(group.lane_count));
            for lane_index in group.lanes.iter(&self.lanes) {
                let lane = &self.lanes[lane_index as usize];
                digest.word(lane_index - group.first_lane);
                digest.word(lane.turn.deficit());
                digest.word(lane.frame_count);
                for index in lane.queues.iter(&self.queues.all) {
                    let queue = &self.queues.all[index as usize];
                    digest.word(queue.destination());
                    digest.word(queue.turn().deficit());
                    for length in self.nodes.lengths(&queue.frames) {
                        digest.word(length);
                    }
                }
            }
        }
    }
}
