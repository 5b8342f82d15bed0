//! The network's state.

use crate::plan::Plan;

/// Maximum number of items in flight in one direction of a link; a sender waits without room.
pub const ITEMS_MAX: usize = 12;

/// Item in flight in one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A data frame for this destination.
    Data(u8),
    /// A control frame, with the number of data frames that left the other side since it was due.
    Control {
        /// Number of the frame.
        frame: u16,
        /// Number of data frames.
        since: u8,
    },
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Items in flight; the first `count` are valid.
    items: [Item; ITEMS_MAX],
    count: u8,
    /// Data frames that left the other side since a PFC frame became due on this one.
    pub(crate) since_due: u8,
}

impl Link {
    pub(crate) const EMPTY: Self = Self {
        items: [Item::Data(0); ITEMS_MAX],
        count: 0,
        since_due: 0,
    };

    /// Returns the frames in flight, in order of delivery.
    pub fn items(&self) -> &[Item] {
        &self.items[..usize::from(self.count)]
    }

    pub(crate) fn items_mut(&mut self) -> &mut [Item] {
        &mut self.items[..usize::from(self.count)]
    }

    pub(crate) fn is_full(&self) -> bool {
        usize::from(self.count) == ITEMS_MAX
    }

    pub(crate) fn push(&mut self, item: Item) {
        if let Some(place) = self.items.get_mut(usize::from(self.count)) {
            *place = item;
            self.count += 1;
        }
    }

    /// Removes the first item; clears its place, so that equal contents are equal links.
    pub(crate) fn take_first(&mut self) {
        self.items.copy_within(1.., 0);
        self.count = self.count.saturating_sub(1);
        self.items[usize::from(self.count)] = Item::Data(0);
    }
}

/// A state of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// By switch: the number of its state.
    pub nodes: Vec<u32>,
    /// By the plan's links.
    pub links: Vec<Link>,
    /// By flow: frames that its host may still send; 255 for any number.
    pub left: Vec<u8>,
    /// Control frames that may still be lost or repeated.
    pub disturbances: u8,
    /// Remaining ticks, if they are limited.
    pub ticks: u8,
}

impl World {
    /// Creates a world of these switches and links, with all remaining actions of hosts,
    /// disturbances and time in the plan.
    pub(crate) fn begin(plan: &Plan, nodes: Vec<u32>, links: Vec<Link>) -> Self {
        let flows = plan.flows.iter();
        Self {
            nodes,
            links,
            left: flows.map(|flow| flow.limit.unwrap_or(255)).collect(),
            disturbances: plan.disturbance.times,
            ticks: plan.horizon.unwrap_or(u8::MAX),
        }
    }

    /// Encodes the state as bytes, which are equal for equal states of one plan only.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        for node in &self.nodes {
            bytes.extend_from_slice(&node.to_le_bytes());
        }
        bytes.extend_from_slice(&self.left);
        bytes.push(self.disturbances);
        bytes.push(self.ticks);
        for link in &self.links {
            bytes.push(link.since_due);
            bytes.push(link.count);
            for item in link.items() {
                match item {
                    Item::Data(destination) => bytes.push(*destination),
                    Item::Control { frame, since } => {
                        bytes.push(0xff);
                        bytes.extend_from_slice(&frame.to_le_bytes());
                        bytes.push(*since);
                    }
                }
            }
        }
    }

    /// Decodes the output of [`encode`](Self::encode) for this plan. Returns `None` for other bytes.
    pub fn decode(plan: &Plan, bytes: &[u8]) -> Option<Self> {
        let mut bytes = bytes.iter().copied();
        let mut nodes = Vec::with_capacity(plan.nodes.len());
        for _ in 0..plan.nodes.len() {
            let word = [bytes.next()?, bytes.next()?, bytes.next()?, bytes.next()?];
            nodes.push(u32::from_le_bytes(word));
        }
        let left = bytes.by_ref().take(plan.flows.len()).collect();
        let disturbances = bytes.next()?;
        let ticks = bytes.next()?;
        let mut links = Vec::with_capacity(plan.links.len());
        for _ in 0..plan.links.len() {
            let mut link = Link {
                since_due: bytes.next()?,
                ..Link::EMPTY
            };
            for _ in 0..bytes.next()? {
                link.push(match bytes.next()? {
                    0xff => Item::Control {
                        frame: u16::from_le_bytes([bytes.next()?, bytes.next()?]),
                        since: bytes.next()?,
                    },
                    destination => Item::Data(destination),
                });
            }
            links.push(link);
        }
        Some(Self {
            nodes,
            links,
            left,
            disturbances,
            ticks,
        })
    }
}
