//! Converts readings into rows of a table.

use std::collections::BTreeMap;

use weir_api::record::{RecordCredits, RecordDrops, RecordLine, RecordPauses, RecordQueue};
use weir_api::words::Reason;
use weir_recording::table::{Cell, CellKind, Column};

/// Columns that every row has, then those of queues, then those of drops.
const COLUMNS: [(&str, CellKind, bool); 14] = [
    ("monotonic_nanos", CellKind::Count, false),
    ("port", CellKind::Text, false),
    ("priority", CellKind::Count, true),
    ("egress_bytes", CellKind::Count, true),
    ("ingress_bytes", CellKind::Count, true),
    ("received_pauses", CellKind::Count, true),
    ("received_pause_nanos", CellKind::Count, true),
    ("sent_pauses", CellKind::Count, true),
    ("sent_pause_nanos", CellKind::Count, true),
    ("credits_used", CellKind::Count, true),
    ("credit_limit", CellKind::Count, true),
    ("credits_outstanding", CellKind::Count, true),
    ("reason", CellKind::Text, true),
    ("dropped_frames", CellKind::Count, true),
];

/// Place of the first column of drops.
const REASON: usize = COLUMNS.len() - 2;

/// The table's columns.
pub fn columns() -> Vec<Column> {
    let columns = COLUMNS.into_iter();
    columns
        .map(|(name, kind, is_optional)| Column::of(name, kind, is_optional))
        .collect()
}

/// Rows, and the totals from which the next ones are computed.
#[derive(Debug, Default)]
pub struct Rows {
    pub rows: Vec<Vec<Cell>>,
    /// By port and priority: received and sent.
    pauses: BTreeMap<(String, u8), [RecordPauses; 2]>,
    drops: BTreeMap<String, BTreeMap<Reason, u64>>,
}

impl Rows {
    /// Adds the rows of a reading. The first reading only sets the totals.
    pub fn add(&mut self, line: &RecordLine) {
        for queue in &line.queues {
            self.add_queue(line.monotonic_nanos, queue);
        }
        for drops in &line.drops {
            self.add_drops(line.monotonic_nanos, drops);
        }
    }

    fn add_queue(&mut self, nanos: u64, queue: &RecordQueue) {
        let key = (queue.port.clone(), queue.priority);
        let before = self.pauses.get(&key).copied();
        let told = [queue.received, queue.sent];
        let last = before.unwrap_or_default();
        let [received, sent] = [0, 1].map(|way| told[way].unwrap_or(last[way]));
        self.pauses.insert(key, [received, sent]);
        let [last_received, last_sent] = before.unwrap_or([received, sent]);
        let since = |now: u64, before: u64| Cell::count(now.saturating_sub(before));
        let both = |now: RecordPauses, before: RecordPauses| {
            let begun = since(now.transitions_total, before.transitions_total);
            let time = since(now.paused_nanos_total, before.paused_nanos_total);
            [begun, time]
        };
        let [received_pauses, received_nanos] = both(received, last_received);
        let [sent_pauses, sent_nanos] = both(sent, last_sent);
        let credits = |value: fn(&RecordCredits) -> u32| {
            let value = queue.credits.as_ref().map(value);
            value.map_or(Cell::Null, |value| Cell::count(value.into()))
        };
        self.rows.push(vec![
            Cell::count(nanos),
            Cell::text(&queue.port),
            Cell::count(queue.priority.into()),
            Cell::count(queue.egress_bytes),
            Cell::count(queue.ingress_bytes),
            received_pauses,
            received_nanos,
            sent_pauses,
            sent_nanos,
            credits(|credits| credits.used),
            credits(|credits| credits.limit),
            credits(|credits| credits.outstanding),
            Cell::Null,
            Cell::Null,
        ]);
    }

    fn add_drops(&mut self, nanos: u64, drops: &RecordDrops) {
        let counts = &drops.frames_total;
        let before = self.drops.insert(drops.port.clone(), counts.clone());
        let Some(before) = before else { return };
        for (reason, count) in counts {
            let more = count.saturating_sub(before.get(reason).copied().unwrap_or(0));
            if more == 0 {
                continue;
            }
            let mut row = vec![Cell::Null; COLUMNS.len()];
            row[0] = Cell::count(nanos);
            row[1] = Cell::text(&drops.port);
            row[REASON] = Cell::text(reason.as_str());
            row[REASON + 1] = Cell::count(more);
            self.rows.push(row);
        }
    }
}
