//! Compares counts of a run's switches with the plan: peaks and pauses.

use anyhow::Result;
use serde::Serialize;
use weir_api::run::BufferResult;

use crate::network::{Network, Switch};
use crate::predict;
use crate::result::{EgressPlan, IngressPlan};
use weir_output::{bytes, table, NONE};

/// One ingress buffer. Errors are predicted − counted, relative to the count.
#[derive(Debug, PartialEq, Serialize)]
pub struct CountedBuffer {
    /// `switch:ingress-port:priority`.
    pub buffer: String,
    /// Maximum charge in the switch.
    pub peak_bytes: u64,
    /// Predicted maximum.
    pub predicted_peak_bytes: u64,
    /// Error of the peak; absent if the buffer held nothing.
    pub peak_error: Option<f64>,
    /// Number of pauses of the neighbour by the switch.
    pub pauses: u64,
    /// Predicted number; absent if the plan does not cover the whole run, or the neighbour is not controlled by pauses.
    pub predicted_pauses: Option<u64>,
    /// Error of the number of pauses; absent if there were none.
    pub pauses_error: Option<f64>,
}

/// One queue. Errors are predicted − counted, relative to the count.
#[derive(Debug, PartialEq, Serialize)]
pub struct CountedQueue {
    /// `switch:egress-port:priority`.
    pub queue: String,
    /// Maximum backlog in frame bytes.
    pub peak_bytes: u64,
    /// Predicted maximum in frame bytes.
    pub predicted_peak_bytes: u64,
    /// Error of the peak; absent if nothing waited.
    pub peak_error: Option<f64>,
}

/// Counts of all planned buffers and queues.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Counted {
    /// Buffers.
    pub buffers: Vec<CountedBuffer>,
    /// Queues.
    pub queues: Vec<CountedQueue>,
}

impl Counted {
    /// Compares the plan of every switch with a run's counts. Omits buffers and queues that are neither used in the run nor
    /// planned.
    ///
    /// # Errors
    ///
    /// Those of the plan.
    pub fn new(network: &Network, counted: &[BufferResult]) -> Result<Self> {
        let mut all = Self::default();
        for switch in &network.switches {
            let (ingress, egress) = predict::switch(network, switch, false)?;
            for plan in &ingress {
                let found = find(counted, switch, &plan.port, &plan.class);
                all.buffers
                    .extend(found.map(|row| of_buffer(plan, row, network.end)));
            }
            for plan in &egress {
                let found = find(counted, switch, &plan.port, &plan.class);
                all.queues.extend(found.map(|row| of_queue(plan, row)));
            }
        }
        Ok(all)
    }

    /// Formats two tables.
    pub fn text(&self) -> String {
        let buffers = self.buffers.iter().map(|row| {
            vec![
                row.buffer.clone(),
                bytes(row.peak_bytes),
                bytes(row.predicted_peak_bytes),
                percent(row.peak_error),
                row.pauses.to_string(),
                row.predicted_pauses
                    .map_or_else(|| NONE.to_owned(), |count| count.to_string()),
                percent(row.pauses_error),
            ]
        });
        let mut out = table(
            &[
                "buffer",
                ">most held",
                ">predicted",
                ">error",
                ">pauses",
                ">predicted",
                ">error",
            ],
            buffers,
        );
        let queues = self.queues.iter().map(|row| {
            vec![
                row.queue.clone(),
                bytes(row.peak_bytes),
                bytes(row.predicted_peak_bytes),
                percent(row.peak_error),
            ]
        });
        out += "\n";
        out += &table(&["queue", ">most waiting", ">predicted", ">error"], queues);
        out
    }
}

/// Formats a fraction as a percentage.
pub fn percent(part: Option<f64>) -> String {
    part.map_or_else(|| NONE.to_owned(), |part| format!("{:.1} %", part * 100.0))
}

/// Flows use the first priority of their class.
fn find<'a>(
    counted: &'a [BufferResult],
    switch: &Switch,
    port: &str,
    class: &str,
) -> Option<&'a BufferResult> {
    let class = switch.classes.iter().find(|one| one.name == class)?;
    let priority = class.priorities.first()?.get();
    let place = (switch.name.as_str(), port, priority);
    counted
        .iter()
        .find(|row| (row.switch.as_str(), row.port.as_str(), row.priority) == place)
}

fn key(row: &BufferResult) -> String {
    format!("{}:{}:{}", row.switch, row.port, row.priority)
}

/// Returns (predicted − counted) / counted.
fn error(predicted: u64, counted: u64) -> Option<f64> {
    (counted > 0).then(|| (predicted as f64 - counted as f64) / counted as f64)
}

fn of_buffer(plan: &IngressPlan, row: &BufferResult, end: Option<f64>) -> CountedBuffer {
    let paused = plan.mode != "lossy" && plan.budgets.is_none();
    let predicted = match &plan.pauses {
        None if paused => Some(0),
        Some(pauses) if end.is_some_and(|end| pauses.until_us >= end) => Some(pauses.count as u64),
        _ => None,
    };
    CountedBuffer {
        buffer: key(row),
        peak_bytes: row.ingress_bytes_max,
        predicted_peak_bytes: plan.peak_bytes,
        peak_error: error(plan.peak_bytes, row.ingress_bytes_max),
        pauses: row.pauses,
        predicted_pauses: predicted,
        pauses_error: predicted.and_then(|predicted| error(predicted, row.pauses)),
    }
}

fn of_queue(plan: &EgressPlan, row: &BufferResult) -> CountedQueue {
    CountedQueue {
        queue: key(row),
        peak_bytes: row.egress_bytes_max,
        predicted_peak_bytes: plan.peak_frame_bytes,
        peak_error: error(plan.peak_frame_bytes, row.egress_bytes_max),
    }
}
