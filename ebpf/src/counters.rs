//! Counters of the program, summed over CPUs.

use weir_abi::{self as abi, FrameClass, Verdict};

/// Frames and bytes of one (class, priority).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of frames.
    pub frames: u64,
    /// Length in bytes, without FCS.
    pub bytes: u64,
}

/// Frames and bytes by class and priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    by_class: [[Traffic; abi::WEIR_PRIORITIES as usize]; abi::WEIR_CLASSES as usize],
}

impl ClassCounters {
    /// Returns counts of one class and priority (0 to 7; the low three bits are used).
    pub fn get(&self, class: FrameClass, priority: u8) -> Traffic {
        self.by_class[class as usize][usize::from(priority & 7)]
    }

    /// Returns the counts of one class over all priorities.
    pub fn of_class(&self, class: FrameClass) -> Traffic {
        self.by_class[class as usize]
            .iter()
            .fold(Traffic::default(), |sum, traffic| Traffic {
                frames: sum.frames + traffic.frames,
                bytes: sum.bytes + traffic.bytes,
            })
    }

    pub(crate) fn add(&mut self, index: usize, traffic: Traffic) {
        let priorities = abi::WEIR_PRIORITIES as usize;
        if let Some(entry) = self.by_class.as_flattened_mut().get_mut(index) {
            entry.frames += traffic.frames;
            entry.bytes += traffic.bytes;
        }
        debug_assert!(index < self.by_class.len() * priorities);
    }

    /// Returns the increase over an earlier count.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        let earlier = before.by_class.as_flattened();
        for (count, before) in self.by_class.as_flattened_mut().iter_mut().zip(earlier) {
            count.frames = count.frames.saturating_sub(before.frames);
            count.bytes = count.bytes.saturating_sub(before.bytes);
        }
        self
    }
}

/// Frames by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounters {
    pub(crate) frames: [u64; abi::WEIR_VERDICTS as usize],
}

impl VerdictCounters {
    /// Returns the number of frames with this verdict.
    pub fn get(&self, verdict: Verdict) -> u64 {
        self.frames[verdict as usize]
    }

    /// Returns the increase over an earlier count.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        for (count, before) in self.frames.iter_mut().zip(before.frames) {
            *count = count.saturating_sub(before);
        }
        self
    }
}
