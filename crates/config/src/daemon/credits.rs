//! Slots of RX rings reserved for frames of classes with credits.

use weir_core::{Bytes, CreditTerms};

use super::{DaemonConfig, DataplaneConfig, Port, Workers};
use crate::drivers::chained_part;
use crate::reader::Table;
use crate::switch::ClassTable;

/// Minimum number of slots for all other frames.
const SHARED_MIN: u32 = 64;

impl DaemonConfig {
    /// Returns true if a class has credits.
    pub fn has_credits(&self) -> bool {
        self.classes.iter().any(|class| class.credits.is_some())
    }

    /// The configuration with PFC instead of credits, which need a running switch.
    #[must_use]
    pub fn without_credits(&self) -> Self {
        let mut without = self.clone();
        for class in &mut without.classes {
            class.credits = None;
        }
        without
    }

    /// Slots of `port`'s RX ring reserved for frames with a credit; `None` if no class has credits.
    pub fn kept_slots(&self, port: &Port) -> Option<u32> {
        let kept = port.credit_slots.unwrap_or(self.rx_ring() / 2);
        self.has_credits().then_some(kept)
    }

    /// Minimum bytes of a long frame in one slot; `None` if every frame takes one slot.
    pub fn slot_part(&self) -> Option<Bytes> {
        let long = self.dataplane.has_long_frames();
        long.then(|| chained_part(self.dataplane.chunk_size()))
    }

    /// Maximum number of slots that one credit of any class takes.
    pub fn slots_of_a_credit(&self) -> u32 {
        let Some(part) = self.slot_part().map(|part| part.get().max(1)) else {
            return 1;
        };
        let sizes = self.classes.iter().filter_map(|class| class.credits);
        let slots = sizes.map(|credits| credits.size.get().div_ceil(part));
        slots.max().unwrap_or(1).try_into().unwrap_or(u32::MAX)
    }

    /// Returns a class whose credits from `kept` slots do not cover two of the longest frames, and the slots that it
    /// would need. Classes share slots in proportion to their limits.
    fn short_of_slots(&self, kept: u32) -> Option<(&str, u64)> {
        let longest = self.frame_length_max();
        let classes: Vec<_> = self
            .classes
            .iter()
            .filter_map(|class| {
                let credits = class.credits?;
                let terms = CreditTerms::of(&credits, class.mode.thresholds()?.limit())?;
                let limit = u64::from(terms.limit()).max(1);
                Some((class, limit, 2 * u64::from(terms.cost(longest))))
            })
            .collect();
        let limits = classes.iter();
        let all: u64 = limits
            .map(|(class, limit, _)| limit * class.priorities.len() as u64)
            .sum();
        let per_credit = u64::from(self.slots_of_a_credit());
        let needed = classes.iter().map(|(class, limit, cost)| {
            (
                class.name.as_str(),
                (cost * all).div_ceil(*limit) * per_credit,
            )
        });
        let most = needed.max_by_key(|(_, needed)| *needed);
        most.filter(|(_, needed)| *needed > u64::from(kept))
    }
}

/// Slots can be promised only if one thread receives one queue's frames in order.
pub(super) fn check(root: &Table<'_>, config: &DaemonConfig) {
    let ports = root.tables(Port::TABLE, Port::KEYS);
    // Fewer entries mean that an invalid port was already reported.
    if ports.len() != config.ports.len() {
        return;
    }
    let Some(class) = config.classes.iter().find(|class| class.credits.is_some()) else {
        let unused = ports.iter().filter(|table| table.has("credit-slots"));
        for table in unused {
            table.complain(
                "credit-slots",
                "has no effect without a class of mode \"credit\": remove it",
            );
        }
        return;
    };
    let name = &class.name;
    let is_it = |table: &&Table<'_>| table.is_text("name", name) && table.is_text("express", "on");
    for table in root
        .tables(ClassTable::TABLE, ClassTable::KEYS)
        .iter()
        .filter(is_it)
    {
        table.complain(
            "express",
            format!("class `{name}` has credits, which exclude the express path: write `\"auto\"`"),
        );
    }
    if let Some(table) = root.table(DataplaneConfig::TABLE, DataplaneConfig::KEYS) {
        if table.has("workers") && config.dataplane.workers != Workers::default() {
            table.complain(
                "workers",
                format!("class `{name}` has credits, which only the thread of the switch core can give: write workers = 1"),
            );
        }
    }
    let most = config.rx_ring().saturating_sub(SHARED_MIN);
    for (table, port) in ports.iter().zip(&config.ports) {
        if port.queue_count.is_some_and(|count| count > 1) {
            table.complain(
                "queues",
                format!("class `{name}` has credits, which represent slots of a single ring: write queues = 1"),
            );
        }
        let Some(kept) = config.kept_slots(port) else {
            continue;
        };
        if kept > most {
            table.complain(
                "credit-slots",
                format!("{kept} of {} entries of `rx-ring` leave too few to other frames: write at most {most}, or raise rx-ring", config.rx_ring()),
            );
        }
        if let Some((name, needed)) = config.short_of_slots(kept) {
            table.complain(
                "credit-slots",
                format!("{kept} slots give class `{name}` credits for less than two of the longest frames: write at least {needed}"),
            );
        }
    }
}
