//! Transfers between ranks: sends with their receives, and collectives in steps.

use std::collections::BTreeMap;

use weir_config::scenario::FLOW_COUNT_MAX;
use weir_core::Bytes;

use super::trace::{Kind, Trace, Work};
use super::{AllReduce, Chakra, ChakraError};

/// A rank and the index of its node in the trace.
pub(super) type Place = (usize, usize);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) name: String,
    pub(super) to: usize,
    pub(super) bytes: u64,
    /// The sender's node: the transfer waits for the same as this node.
    pub(super) sent_by: Place,
    /// Transfers of the same collective to the sender for which it waits.
    pub(super) after: Vec<usize>,
}

/// Arrivals that end a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrivals {
    pub(super) transfers: Vec<usize>,
    /// They depend on the rank's own transfers when the node began: waiting for them includes waiting for those.
    pub(super) imply_beginning: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Exchanges {
    pub(super) transfers: Vec<Transfer>,
    pub(super) arrivals: BTreeMap<Place, Arrivals>,
}

/// Finds all transfers of all ranks.
pub(super) fn exchanges(input: &Chakra<'_>, traces: &[Trace]) -> Result<Exchanges, ChakraError> {
    let mut exchanges = Exchanges::default();
    pairs(traces, &mut exchanges)?;
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (rank, trace) in traces.iter().enumerate() {
        for (place, node) in trace.nodes.iter().enumerate() {
            let Work::Collective { group, .. } = &node.work else {
                continue;
            };
            let members = members(input, trace, (rank, place), group)?;
            groups.entry(group).or_insert(members);
        }
    }
    for (group, members) in groups {
        collectives(input, traces, (group, &members), &mut exchanges)?;
    }
    Ok(exchanges)
}

/// Returns the ranks of a group; this rank must be a member.
fn members(
    input: &Chakra<'_>,
    trace: &Trace,
    (rank, place): Place,
    group: &str,
) -> Result<Vec<usize>, ChakraError> {
    let ranks = input.traces.len();
    if group.is_empty() {
        return Ok((0..ranks).collect());
    }
    let Some(members) = input.groups.get(group) else {
        let message =
            format!("the group `{group}` (pg_name) is not known; give its ranks with --groups");
        return Err(trace.wrong(place, message));
    };
    if let Some(other) = members.iter().find(|member| **member >= ranks) {
        let message = format!("the group `{group}` has rank {other}, and there are {ranks} ranks, from 0; correct the groups or give all files");
        return Err(trace.wrong(place, message));
    }
    let mut sorted = members.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = format!("the group `{group}` has a rank twice; correct the groups");
        return Err(trace.wrong(place, message));
    }
    if !members.contains(&rank) {
        let message = format!("rank {rank} is not in the group `{group}`; correct the groups");
        return Err(trace.wrong(place, message));
    }
    Ok(members.clone())
}

/// Pairs sends with receives: the first with the first of the same ranks and tag, and so on.
fn pairs(traces: &[Trace], exchanges: &mut Exchanges) -> Result<(), ChakraError> {
    let mut sends: BTreeMap<(usize, usize, u64), Vec<usize>> = BTreeMap::new();
    let mut receives = sends.clone();
    for (rank, trace) in traces.iter().enumerate() {
        for (place, node) in trace.nodes.iter().enumerate() {
            match node.work {
                Work::Send { to, tag, .. } => {
                    sends.entry((rank, to, tag)).or_default().push(place);
                }
                Work::Receive { from, tag } => {
                    receives.entry((from, rank, tag)).or_default().push(place);
                }
                _ => {}
            }
        }
    }
    for ((from, to, tag), sent) in &sends {
        let received = receives.remove(&(*from, *to, *tag)).unwrap_or_default();
        if let Some(place) = sent.get(received.len()) {
            let message = format!(
                "no receive at rank {to} for its send with tag {tag}; add a COMM_RECV_NODE there"
            );
            return Err(traces[*from].wrong(*place, message));
        }
        if let Some(place) = received.get(sent.len()) {
            return Err(not_sent(&traces[*to], *place, *from, *tag));
        }
        for (sent, received) in sent.iter().zip(received) {
            let node = &traces[*from].nodes[*sent];
            let Work::Send { size, .. } = node.work else {
                continue;
            };
            let transfer = Transfer {
                name: format!("r{from}-n{}", node.id),
                to: *to,
                bytes: size.get(),
                sent_by: (*from, *sent),
                after: Vec::new(),
            };
            let transfer = exchanges.add(traces, transfer)?;
            let arrivals = exchanges.arrivals.entry((*to, received)).or_default();
            arrivals.transfers.push(transfer);
        }
    }
    match receives.into_iter().next() {
        Some(((from, to, tag), received)) => {
            let place = received.first().copied().unwrap_or(0);
            Err(not_sent(&traces[to], place, from, tag))
        }
        None => Ok(()),
    }
}

fn not_sent(trace: &Trace, place: usize, from: usize, tag: u64) -> ChakraError {
    let message =
        format!("rank {from} sends nothing for it with tag {tag}; add a COMM_SEND_NODE there");
    trace.wrong(place, message)
}

/// Adds all collectives of one group: the first of each rank belong together, and so on.
fn collectives(
    input: &Chakra<'_>,
    traces: &[Trace],
    (group, members): (&str, &[usize]),
    exchanges: &mut Exchanges,
) -> Result<(), ChakraError> {
    let of_group = |rank: &usize| -> Vec<usize> {
        let nodes = traces[*rank].nodes.iter().enumerate();
        let of_group = nodes.filter(|(_, node)| {
            matches!(&node.work, Work::Collective { group: other, .. } if other == group)
        });
        of_group.map(|(place, _)| place).collect()
    };
    let places: Vec<Vec<usize>> = members.iter().map(of_group).collect();
    let name = match group {
        "" => "of all ranks".to_owned(),
        group => format!("of the group `{group}`"),
    };
    let most = places.iter().map(Vec::len).max().unwrap_or(0);
    for turn in 0..most {
        let here = |member: usize| Some((members[member], *places[member].get(turn)?));
        let nodes: Vec<Place> = (0..members.len()).filter_map(here).collect();
        let missing = (0..members.len()).find(|member| here(*member).is_none());
        if let (Some(missing), Some((rank, place))) = (missing, nodes.first()) {
            let message = format!(
                "is collective number {} {name}, and rank {} has fewer; add it there",
                turn + 1,
                members[missing]
            );
            return Err(traces[*rank].wrong(*place, message));
        }
        collective(input, traces, &nodes, exchanges)?;
    }
    Ok(())
}

/// Adds one collective; `nodes` has each member's node, in the order of the group.
fn collective(
    input: &Chakra<'_>,
    traces: &[Trace],
    nodes: &[Place],
    exchanges: &mut Exchanges,
) -> Result<(), ChakraError> {
    let work = |(rank, place): Place| &traces[rank].nodes[place].work;
    let Some(first) = nodes.first().copied() else {
        return Ok(());
    };
    let Work::Collective { kind, size, .. } = work(first) else {
        return Ok(());
    };
    for (rank, place) in nodes.iter().copied() {
        let Work::Collective {
            kind: other,
            size: other_size,
            ..
        } = work((rank, place))
        else {
            continue;
        };
        if (other, other_size) != (kind, size) {
            let message = format!(
                "is {} of {} B, and at rank {} the same collective (node {}) is {} of {} B; make them equal",
                other.name(),
                other_size.get(),
                first.0,
                traces[first.0].nodes[first.1].id,
                kind.name(),
                size.get(),
            );
            return Err(traces[rank].wrong(place, message));
        }
    }
    if nodes.len() < 2 {
        return Ok(());
    }
    let mut steps = Steps {
        traces,
        nodes,
        exchanges,
    };
    // As in ASTRA-sim: in an all-gather `comm_size` is a rank's contribution, in other collectives its whole input.
    let part = Bytes::new(size.get().div_ceil(nodes.len() as u64));
    let others = nodes.len() - 1;
    match (kind, input.all_reduce) {
        (Kind::AllReduce, AllReduce::Ring) => steps.ring(2 * others, part, true),
        (Kind::AllReduce, AllReduce::Tree) => steps.tree(*size),
        (Kind::ReduceScatter, _) => steps.ring(others, part, false),
        (Kind::AllGather, _) => steps.ring(others, *size, false),
        (Kind::AllToAll, _) => steps.all_to_all(part),
    }
}

/// A collective that is being split into transfers.
struct Steps<'a> {
    traces: &'a [Trace],
    nodes: &'a [Place],
    exchanges: &'a mut Exchanges,
}

impl Steps<'_> {
    /// Adds a transfer between members that follows `after`.
    fn transfer(
        &mut self,
        [from, to]: [usize; 2],
        bytes: Bytes,
        name: String,
        after: Vec<usize>,
    ) -> Result<usize, ChakraError> {
        let (rank, place) = self.nodes[from];
        let id = self.traces[rank].nodes[place].id;
        let transfer = Transfer {
            name: format!("r{rank}-n{id}-{name}"),
            to: self.nodes[to].0,
            bytes: bytes.get(),
            sent_by: (rank, place),
            after,
        };
        self.exchanges.add(self.traces, transfer)
    }

    fn arrives(&mut self, member: usize, transfer: usize, imply_beginning: bool) {
        let arrivals = self
            .exchanges
            .arrivals
            .entry(self.nodes[member])
            .or_default();
        arrivals.transfers.push(transfer);
        arrivals.imply_beginning = imply_beginning;
    }

    /// Each member sends to the next; from the second step on, it forwards the part received last. Members that receive
    /// in the last step are finished.
    fn ring(&mut self, steps: usize, part: Bytes, imply: bool) -> Result<(), ChakraError> {
        let count = self.nodes.len();
        // By member: the last transfer received.
        let mut received: Vec<Option<usize>> = vec![None; count];
        for step in 0..steps {
            let mut now = vec![None; count];
            for (from, before) in received.iter().enumerate() {
                let to = (from + 1) % count;
                let after = before.iter().copied().collect();
                now[to] = Some(self.transfer([from, to], part, format!("s{step}"), after)?);
            }
            received = now;
        }
        for (member, last) in received.into_iter().enumerate() {
            if let Some(last) = last {
                self.arrives(member, last, imply);
            }
        }
        Ok(())
    }

    /// Up to the first member, from both children of each, and down again.
    fn tree(&mut self, size: Bytes) -> Result<(), ChakraError> {
        let count = self.nodes.len();
        let parent = |member: usize| (member - 1) / 2;
        let mut risen: Vec<Vec<usize>> = vec![Vec::new(); count];
        for member in (1..count).rev() {
            let after = risen[member].clone();
            let ends = [member, parent(member)];
            let up = self.transfer(ends, size, "up".into(), after)?;
            risen[parent(member)].push(up);
        }
        // That a child has sent to the root does not mean that the root has begun.
        for up in risen[0].clone() {
            self.arrives(0, up, false);
        }
        let mut fallen: Vec<Vec<usize>> = vec![Vec::new(); count];
        fallen[0] = risen[0].clone();
        for member in 1..count {
            let after = fallen[parent(member)].clone();
            let ends = [parent(member), member];
            let down = self.transfer(ends, size, format!("down{member}"), after)?;
            fallen[member] = vec![down];
            self.arrives(member, down, true);
        }
        Ok(())
    }

    /// Each to each, at once.
    fn all_to_all(&mut self, part: Bytes) -> Result<(), ChakraError> {
        let count = self.nodes.len();
        for distance in 1..count {
            for from in 0..count {
                let to = (from + distance) % count;
                let name = format!("to{}", self.nodes[to].0);
                let transfer = self.transfer([from, to], part, name, Vec::new())?;
                self.arrives(to, transfer, false);
            }
        }
        Ok(())
    }
}

impl Exchanges {
    fn add(&mut self, traces: &[Trace], transfer: Transfer) -> Result<usize, ChakraError> {
        if self.transfers.len() == FLOW_COUNT_MAX {
            let (rank, place) = transfer.sent_by;
            let message = format!("makes more than {FLOW_COUNT_MAX} flows of the trace; cut it to fewer iterations or ranks");
            return Err(traces[rank].wrong(place, message));
        }
        self.transfers.push(transfer);
        Ok(self.transfers.len() - 1)
    }
}
