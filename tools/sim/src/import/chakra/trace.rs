//! The nodes of one rank's trace.

use std::collections::BTreeMap;

use weir_core::{Bytes, Duration};

use super::wire::{self, AttributeValue};
use super::{Chakra, ChakraError, TraceFile};

/// Maximum size of a message: 1 TB.
const SIZE_MAX: u64 = 1_000_000_000_000;
/// Maximum computation of a node: one day.
const MICROS_MAX: u64 = 24 * 3600 * 1_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Takes time, without other ranks.
    Compute(Duration),
    /// To a rank, with a tag.
    Send { to: usize, tag: u64, size: Bytes },
    /// From a rank, with a tag.
    Receive { from: usize, tag: u64 },
    /// With all ranks of a group.
    Collective {
        kind: Kind,
        group: String,
        size: Bytes,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) id: u64,
    pub(super) work: Work,
    /// Places of nodes for which it waits.
    pub(super) after: Vec<usize>,
}

/// A rank's nodes, each after all for which it waits.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pub(super) file: String,
    pub(super) nodes: Vec<Node>,
}

impl Trace {
    pub(super) fn wrong(&self, node: usize, message: impl Into<String>) -> ChakraError {
        wrong(&self.file, self.nodes[node].id, message)
    }
}

fn wrong(file: &str, node: u64, message: impl Into<String>) -> ChakraError {
    ChakraError {
        file: file.to_owned(),
        node: Some(node),
        message: message.into(),
    }
}

pub(super) fn read(
    file: &TraceFile,
    rank: usize,
    input: &Chakra<'_>,
) -> Result<Trace, ChakraError> {
    let nodes = wire::nodes(&file.name, &file.bytes)?;
    let mut places = BTreeMap::new();
    for (place, node) in nodes.iter().enumerate() {
        if places.insert(node.id, place).is_some() {
            let message = "two nodes have this id; give each its own";
            return Err(wrong(&file.name, node.id, message));
        }
    }
    let mut after = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let waits = node.ctrl_deps.iter().chain(&node.data_deps);
        let waits = waits.map(|id| {
            places.get(id).copied().ok_or_else(|| {
                let message =
                    format!("waits for node {id}, which is not in the file; take it out of its dependencies");
                wrong(&file.name, node.id, message)
            })
        });
        let mut waits = waits.collect::<Result<Vec<usize>, _>>()?;
        waits.sort_unstable();
        waits.dedup();
        after.push(waits);
    }
    let order = order(&after).map_err(|place| {
        let message = "waits for itself by way of others; take out a dependency of the circle";
        wrong(&file.name, nodes[place].id, message)
    })?;
    let mut new_place = vec![0; nodes.len()];
    for (place, old) in order.iter().enumerate() {
        new_place[*old] = place;
    }
    let in_order = order.iter().map(|old| {
        Ok(Node {
            id: nodes[*old].id,
            work: Reader::new(&file.name, &nodes[*old], input).work(rank)?,
            after: after[*old].iter().map(|wait| new_place[*wait]).collect(),
        })
    });
    Ok(Trace {
        file: file.name.clone(),
        nodes: in_order.collect::<Result<_, ChakraError>>()?,
    })
}

/// Sorts places so that each follows all for which it waits, otherwise in the order of the file (Kahn, 1962). The error is a
/// node on a cycle or after one.
fn order(after: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
    let mut left: Vec<usize> = after.iter().map(Vec::len).collect();
    let mut next = vec![Vec::new(); after.len()];
    for (place, waits) in after.iter().enumerate() {
        for wait in waits {
            next[*wait].push(place);
        }
    }
    let free = (0..after.len()).filter(|place| left[*place] == 0);
    let mut free: std::collections::BTreeSet<usize> = free.collect();
    let mut order = Vec::with_capacity(after.len());
    while let Some(place) = free.pop_first() {
        order.push(place);
        for next in &next[place] {
            left[*next] -= 1;
            if left[*next] == 0 {
                free.insert(*next);
            }
        }
    }
    match (0..after.len()).find(|place| left[*place] > 0) {
        Some(place) => Err(place),
        None => Ok(order),
    }
}

struct Reader<'a> {
    file: &'a str,
    node: &'a wire::Node,
    ranks: usize,
    operations_per_second: Option<u64>,
}

impl<'a> Reader<'a> {
    const fn new(file: &'a str, node: &'a wire::Node, input: &Chakra<'_>) -> Self {
        Self {
            file,
            node,
            ranks: input.traces.len(),
            operations_per_second: input.operations_per_second,
        }
    }

    fn wrong(&self, message: impl Into<String>) -> ChakraError {
        wrong(self.file, self.node.id, message)
    }

    fn attribute(&self, name: &str) -> Option<&'a AttributeValue> {
        let mut attributes = self.node.attributes.iter();
        attributes
            .find(|attribute| attribute.name == name)?
            .value
            .as_ref()
    }

    fn number(&self, name: &str, most: u64) -> Result<Option<u64>, ChakraError> {
        let Some(value) = self.attribute(name) else {
            return Ok(None);
        };
        match value.number() {
            Some(number) if number <= most => Ok(Some(number)),
            Some(number) => Err(self.wrong(format!("{name} is {number}, {most} at most"))),
            None => Err(self.wrong(format!("{name} must be a whole number"))),
        }
    }

    fn needed(&self, name: &str, most: u64) -> Result<u64, ChakraError> {
        let number = self.number(name, most)?;
        number.ok_or_else(|| self.wrong(format!("has no attribute {name}; add it")))
    }

    fn rank(&self, name: &str) -> Result<usize, ChakraError> {
        let rank = self.needed(name, u64::MAX)?;
        let ranks = self.ranks;
        let known = usize::try_from(rank).ok().filter(|rank| *rank < ranks);
        known.ok_or_else(|| {
            self.wrong(format!(
                "{name} is {rank}, and there are {ranks} ranks, from 0; give the files of all"
            ))
        })
    }

    fn size(&self) -> Result<Bytes, ChakraError> {
        match self.needed("comm_size", SIZE_MAX)? {
            0 => Err(self.wrong("comm_size is 0; take out a node that moves nothing")),
            size => Ok(Bytes::new(size)),
        }
    }

    /// `NodeType`.
    fn work(&self, rank: usize) -> Result<Work, ChakraError> {
        match self.node.kind {
            // INVALID_NODE, METADATA_NODE; MEM_LOAD_NODE, MEM_STORE_NODE, COMP_NODE; STORAGE_NODE, BATCH_NODE, CHECKPOINT_NODE.
            0 | 1 => Ok(Work::Compute(Duration::ZERO)),
            2..=4 | 8..=10 => self.compute(),
            5 => {
                let to = self.rank("comm_dst")?;
                self.is_own("comm_src", rank)?;
                if to == rank {
                    return Err(self.wrong("sends to its own rank; take it out"));
                }
                let (tag, size) = (self.tag()?, self.size()?);
                Ok(Work::Send { to, tag, size })
            }
            6 => {
                let from = self.rank("comm_src")?;
                self.is_own("comm_dst", rank)?;
                if from == rank {
                    return Err(self.wrong("receives from its own rank; take it out"));
                }
                Ok(Work::Receive {
                    from,
                    tag: self.tag()?,
                })
            }
            7 => self.collective(),
            other => Err(self.wrong(format!(
                "is of the unknown kind {other}; known are 0 to 10 of NodeType"
            ))),
        }
    }

    fn compute(&self) -> Result<Work, ChakraError> {
        let micros = self.node.duration_micros;
        if micros > MICROS_MAX {
            return Err(self.wrong(format!(
                "takes {micros} µs, {MICROS_MAX} µs at most; correct duration_micros"
            )));
        }
        if micros > 0 {
            return Ok(Work::Compute(Duration::from_micros(micros)));
        }
        let is_memory = matches!(self.node.kind, 2 | 3);
        if is_memory
            && self
                .number("tensor_size", u64::MAX)?
                .is_some_and(|size| size > 0)
        {
            return Err(self.wrong(
                "has tensor_size and no duration_micros: memory has no rate here; write duration_micros",
            ));
        }
        let operations = self.number("num_ops", u64::MAX)?.unwrap_or(0);
        self.operations(operations).map(Work::Compute)
    }

    /// Returns the time of operations for which the trace has none, rounded up to nanoseconds.
    fn operations(&self, count: u64) -> Result<Duration, ChakraError> {
        const SECOND: u128 = 1_000_000_000;
        if count == 0 {
            return Ok(Duration::ZERO);
        }
        let Some(rate) = self.operations_per_second else {
            return Err(self.wrong(
                "has num_ops and no duration_micros; give --ops-per-second, or write duration_micros",
            ));
        };
        let nanos = (u128::from(count) * SECOND).div_ceil(u128::from(rate.max(1)));
        let most = u128::from(MICROS_MAX) * 1000;
        let known = u64::try_from(nanos).ok().filter(|_| nanos <= most);
        known.map(Duration::from_nanos).ok_or_else(|| {
            self.wrong(format!(
                "num_ops of {count} take longer than {MICROS_MAX} µs; raise --ops-per-second"
            ))
        })
    }

    fn tag(&self) -> Result<u64, ChakraError> {
        Ok(self.number("comm_tag", u64::MAX)?.unwrap_or(0))
    }

    /// Checks that the attribute, if present, names this rank.
    fn is_own(&self, name: &str, rank: usize) -> Result<(), ChakraError> {
        match self.number(name, u64::MAX)? {
            Some(other) if other != rank as u64 => Err(self.wrong(format!(
                "{name} is {other} in the file of rank {rank}; put the files in the order of ranks"
            ))),
            _ => Ok(()),
        }
    }

    /// `CollectiveCommType`.
    fn collective(&self) -> Result<Work, ChakraError> {
        let kind = match self.needed("comm_type", u64::MAX)? {
            0 => Kind::AllReduce,
            2 => Kind::AllGather,
            6 => Kind::AllToAll,
            7 | 8 => Kind::ReduceScatter,
            other => {
                return Err(self.wrong(format!(
                    "comm_type is {other}; imported are 0 (all-reduce), 2 (all-gather), 6 (all-to-all), 7 and 8 (reduce-scatter): write it as sends and receives"
                )))
            }
        };
        if let Some(AttributeValue::Bools(dimensions)) = self.attribute("involved_dim") {
            if dimensions.values.contains(&false) {
                return Err(self.wrong(
                    "involved_dim leaves out a dimension, which only ASTRA-sim's topology defines; name a group of ranks (pg_name)",
                ));
            }
        }
        let group = match self.attribute("pg_name") {
            None => String::new(),
            Some(AttributeValue::Text(name)) => name.clone(),
            Some(value) => match value.number() {
                Some(number) => number.to_string(),
                None => return Err(self.wrong("pg_name must be a word or a number")),
            },
        };
        // As in ASTRA-sim, group 0 has all ranks.
        let group = if group == "0" { String::new() } else { group };
        Ok(Work::Collective {
            kind,
            group,
            size: self.size()?,
        })
    }
}
