//! Waiting frames, as intrusive lists over one slab: no allocation per frame.

use crate::frame::FrameHandle;
use crate::switch::records::Records;

const NIL: u32 = Records::<Node>::NONE;

#[derive(Clone, Copy, Debug)]
struct Node {
    handle: FrameHandle,
    length_bytes: u32,
    next: u32,
}

/// A slab of list nodes, allocated once. A flooded frame has one node for each port.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct NodeSlab {
    nodes: Records<Node>,
    free: u32,
    free_count: usize,
}

/// A first-in-first-out list of frames in a [`NodeSlab`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
}

impl Fifo {
    pub(super) const EMPTY: Self = Self {
        head: NIL,
        tail: NIL,
    };

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

impl NodeSlab {
    pub(super) fn new(capacity: usize) -> Self {
        let capacity = capacity.min(NIL as usize - 1);
        let empty = Node {
            handle: FrameHandle(0),
            length_bytes: 0,
            next: NIL,
        };
        Self {
            nodes: Records::new(capacity, empty),
            free: NIL,
            free_count: capacity,
        }
    }

    pub(super) fn free_count(&self) -> usize {
        self.free_count
    }

    /// Keeps a node for a frame that may follow; returns false if the slab is exhausted.
    #[inline]
    pub(super) fn reserve(&mut self) -> bool {
        if self.free_count == 0 {
            return false;
        }
        self.free_count -= 1;
        true
    }

    /// Returns a node kept by [`reserve`](Self::reserve).
    #[inline]
    pub(super) fn unreserve(&mut self) {
        self.free_count += 1;
    }

    pub(super) fn push(&mut self, fifo: &mut Fifo, handle: FrameHandle, length_bytes: u32) -> bool {
        if self.free_count == 0 {
            return false;
        }
        let Some(index) = self.nodes.free_or_new(self.free) else {
            return false;
        };
        let Some(node) = self.nodes.get_mut(index as usize) else {
            return false;
        };
        self.free = node.next;
        self.free_count -= 1;
        *node = Node {
            handle,
            length_bytes,
            next: NIL,
        };
        match self.nodes.get_mut(fifo.tail as usize) {
            Some(tail) => tail.next = index,
            None => fifo.head = index,
        }
        fifo.tail = index;
        true
    }

    pub(super) fn touch(&mut self) {
        self.nodes.touch();
    }

    pub(super) fn front(&self, fifo: &Fifo) -> Option<FrameHandle> {
        Some(self.nodes.get(fifo.head as usize)?.handle)
    }

    /// Iterates over the lengths in bytes of all frames, the first one first.
    #[cfg(feature = "testing")]
    pub(super) fn lengths<'a>(&'a self, fifo: &Fifo) -> impl Iterator<Item = u32> + 'a {
        let mut at = fifo.head;
        core::iter::from_fn(move || {
            let node = self.nodes.get(at as usize)?;
            at = node.next;
            Some(node.length_bytes)
        })
    }

    /// Returns the length in bytes of the first frame.
    pub(super) fn front_length(&self, fifo: &Fifo) -> Option<u32> {
        self.nodes
            .get(fifo.head as usize)
            .map(|node| node.length_bytes)
    }

    pub(super) fn pop(&mut self, fifo: &mut Fifo) -> Option<(FrameHandle, u32)> {
        let index = fifo.head;
        let node = self.nodes.get_mut(index as usize)?;
        let out = (node.handle, node.length_bytes);
        fifo.head = node.next;
        if fifo.head == NIL {
            fifo.tail = NIL;
        }
        node.next = self.free;
        self.free = index;
        self.free_count += 1;
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_returns_every_node() {
        let mut slab = NodeSlab::new(3);
        let (mut a, mut b) = (Fifo::EMPTY, Fifo::EMPTY);
        assert!(slab.push(&mut a, FrameHandle(7), 60));
        assert!(slab.push(&mut b, FrameHandle(8), 61));
        assert!(slab.push(&mut a, FrameHandle(9), 62));
        assert!(!slab.push(&mut a, FrameHandle(10), 63), "slab is used up");
        assert_eq!(slab.front_length(&a), Some(60));
        assert_eq!(slab.pop(&mut a), Some((FrameHandle(7), 60)));
        assert_eq!(slab.pop(&mut a), Some((FrameHandle(9), 62)));
        assert_eq!(slab.pop(&mut a), None);
        assert!(a.is_empty());
        assert_eq!(slab.pop(&mut b), Some((FrameHandle(8), 61)));
        assert_eq!(slab.free_count(), 3);
    }
}
