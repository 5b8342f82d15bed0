//! Resolves the dependencies of a transfer: transfers to its sender, each with the computation in between, and the
//! sender's own computation since the beginning.

use std::collections::BTreeMap;

use weir_core::Duration;

use super::collective::Exchanges;
use super::trace::{Trace, Work};
use super::{Chakra, ChakraError, Flow};

/// Maximum number of waits of all flows.
const WAITS_MAX: usize = 20_000_000;

/// When a node begins or ends: the latest of all these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Moment {
    /// Since the beginning.
    start: Duration,
    /// Since the arrival of a transfer, by its number.
    after: BTreeMap<usize, Duration>,
}

impl Moment {
    fn and(&mut self, other: &Self) {
        self.start = self.start.max(other.start);
        for (transfer, delay) in &other.after {
            let known = self.after.entry(*transfer).or_default();
            *known = (*known).max(*delay);
        }
    }

    fn postpone(&mut self, by: Duration) {
        self.start += by;
        for delay in self.after.values_mut() {
            *delay += by;
        }
    }
}

/// Returns a flow for each transfer.
pub(super) fn flows(
    input: &Chakra<'_>,
    traces: &[Trace],
    exchanges: Exchanges,
) -> Result<Vec<Flow>, ChakraError> {
    let mut begins = Vec::with_capacity(traces.len());
    let mut waits = 0;
    for (rank, trace) in traces.iter().enumerate() {
        begins.push(beginnings(rank, trace, &exchanges, &mut waits)?);
    }
    let header = input.header.get();
    let payload = input.payload.get().max(1);
    let flows = exchanges.transfers.into_iter().map(|transfer| {
        let (from, place) = transfer.sent_by;
        let Moment { start, mut after } = begins[from][place].clone();
        for before in transfer.after {
            after.entry(before).or_default();
        }
        waits += after.len();
        if waits > WAITS_MAX {
            return Err(too_many(&traces[from], place));
        }
        Ok(Flow {
            name: transfer.name,
            from,
            to: transfer.to,
            bytes: transfer.bytes + transfer.bytes.div_ceil(payload) * header,
            start,
            after,
        })
    });
    flows.collect()
}

fn too_many(trace: &Trace, place: usize) -> ChakraError {
    trace.wrong(
        place,
        format!("the trace has more than {WAITS_MAX} waits of messages for others; cut it to fewer iterations or ranks"),
    )
}

/// Returns when each node of a rank begins, by place.
fn beginnings(
    rank: usize,
    trace: &Trace,
    exchanges: &Exchanges,
    waits: &mut usize,
) -> Result<Vec<Moment>, ChakraError> {
    let mut begins: Vec<Moment> = Vec::with_capacity(trace.nodes.len());
    let mut ends: Vec<Moment> = Vec::with_capacity(trace.nodes.len());
    for (place, node) in trace.nodes.iter().enumerate() {
        let mut begin = Moment::default();
        for wait in &node.after {
            begin.and(&ends[*wait]);
        }
        let mut end = begin.clone();
        match &node.work {
            Work::Compute(time) => end.postpone(*time),
            // Sends do not block: the rank continues.
            Work::Send { .. } => {}
            Work::Receive { .. } | Work::Collective { .. } => {
                if let Some(arrivals) = exchanges.arrivals.get(&(rank, place)) {
                    if arrivals.imply_beginning {
                        end = Moment::default();
                    }
                    let arrived = arrivals.transfers.iter();
                    end.and(&Moment {
                        start: Duration::ZERO,
                        after: arrived.map(|one| (*one, Duration::ZERO)).collect(),
                    });
                }
            }
        }
        *waits += begin.after.len() + end.after.len();
        if *waits > WAITS_MAX {
            return Err(too_many(trace, place));
        }
        begins.push(begin);
        ends.push(end);
    }
    Ok(begins)
}
