//! Frames longer than a chunk: links from each chunk to its continuation.

use super::pool::Chunk;

/// Links between the chunks of one UMEM. The last chunk of a frame links to its first.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    /// By chunk; empty if every frame fits into one.
    next: Vec<Chunk>,
}

/// Frame of which the RX ring has delivered some chunks but not the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    first: Chunk,
    last: Chunk,
}

impl Chains {
    /// Creates links for `count` chunks; with zero, every frame has a single chunk.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            next: (0..count as Chunk).collect(),
        }
    }

    /// Takes the next chunk of an RX ring; `goes_on` is true if its frame continues. Returns the frame's first chunk once it
    /// is complete.
    pub(crate) fn append(
        &mut self,
        begun: &mut Option<Begun>,
        chunk: Chunk,
        goes_on: bool,
    ) -> Option<Chunk> {
        let first = begun.map_or(chunk, |begun| begun.first);
        if let Some(begun) = begun {
            self.link(begun.last, chunk);
        }
        if goes_on {
            *begun = Some(Begun { first, last: chunk });
            None
        } else {
            *begun = None;
            self.link(chunk, first);
            Some(first)
        }
    }

    /// Marks `chunk` as a frame of a single chunk.
    pub(crate) fn set_alone(&mut self, chunk: Chunk) {
        self.link(chunk, chunk);
    }

    /// Returns the next chunk of the frame; after the last, the first.
    pub(crate) fn after(&self, chunk: Chunk) -> Chunk {
        self.next.get(chunk as usize).copied().unwrap_or(chunk)
    }

    fn link(&mut self, chunk: Chunk, next: Chunk) {
        if let Some(place) = self.next.get_mut(chunk as usize) {
            *place = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunks_of(chains: &Chains, first: Chunk) -> Vec<Chunk> {
        let mut chunks = vec![first];
        while chains.after(chunks[chunks.len() - 1]) != first {
            chunks.push(chains.after(chunks[chunks.len() - 1]));
        }
        chunks
    }

    #[test]
    fn without_links_every_chunk_is_alone() {
        let mut chains = Chains::default();
        let mut begun = None;
        assert_eq!(chains.append(&mut begun, 7, false), Some(7));
        assert_eq!(chains.after(7), 7);
    }

    proptest! {
        /// Frames of any length, over chunks in any order and with earlier links, are reassembled correctly.
        #[test]
        fn frames_are_put_together(
            rounds in prop::collection::vec(
                (
                    Just((0..64).collect::<Vec<Chunk>>()).prop_shuffle(),
                    prop::collection::vec(1usize..7, 1..20),
                ),
                1..4,
            ),
        ) {
            let mut chains = Chains::new(64);
            for (order, lengths) in rounds {
                let mut begun = None;
                let mut rest = &order[..];
                let mut frames = Vec::new();
                for length in lengths {
                    let Some((frame, others)) = rest.split_at_checked(length) else { break };
                    rest = others;
                    for (at, chunk) in frame.iter().enumerate() {
                        let goes_on = at + 1 < length;
                        let whole = chains.append(&mut begun, *chunk, goes_on);
                        prop_assert_eq!(whole, (!goes_on).then_some(frame[0]));
                    }
                    frames.push(frame);
                }
                for frame in frames {
                    prop_assert_eq!(chunks_of(&chains, frame[0]), frame);
                }
                if let Some(chunk) = rest.first() {
                    chains.set_alone(*chunk);
                    prop_assert_eq!(chains.after(*chunk), *chunk);
                }
            }
        }
    }
}
