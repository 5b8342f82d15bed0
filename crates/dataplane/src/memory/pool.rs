//! Free UMEM chunks: those in no ring and not in the switch.

/// Number of a chunk: its position in the UMEM and, for the switch core, the frame's handle.
pub(crate) type Chunk = u32;

/// A stack of free chunks: the last used one is warm in the cache.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Vec<Chunk>,
    /// True while the chunk is free; detects a chunk that is returned twice.
    is_free: Vec<bool>,
    reserve: usize,
}

impl Pool {
    /// Creates a pool of `count` free chunks; the last `reserve` of them are for control frames only.
    pub(crate) fn new(count: usize, reserve: usize) -> Self {
        Self {
            free: (0..count as Chunk).rev().collect(),
            is_free: vec![true; count],
            reserve,
        }
    }

    pub(crate) fn free_count(&self) -> usize {
        self.free.len()
    }

    pub(crate) fn is_free(&self, chunk: Chunk) -> bool {
        self.is_free.get(chunk as usize) == Some(&true)
    }

    pub(crate) fn count(&self) -> usize {
        self.is_free.len()
    }

    /// Takes a chunk to receive into, but never from the reserve.
    pub(crate) fn take_for_receive(&mut self) -> Option<Chunk> {
        (self.free.len() > self.reserve)
            .then(|| self.take())
            .flatten()
    }

    pub(crate) fn take(&mut self) -> Option<Chunk> {
        let chunk = self.free.pop()?;
        if let Some(flag) = self.is_free.get_mut(chunk as usize) {
            *flag = false;
        }
        Some(chunk)
    }

    pub(crate) fn give_back(&mut self, chunk: Chunk) {
        match self.is_free.get_mut(chunk as usize) {
            Some(flag) if !*flag => {
                *flag = true;
                self.free.push(chunk);
            }
            _ => debug_assert!(false, "chunk {chunk} comes back twice or is not ours"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_for_control_frames() {
        let mut pool = Pool::new(4, 2);
        assert!(pool.take_for_receive().is_some());
        assert!(pool.take_for_receive().is_some());
        assert_eq!(pool.take_for_receive(), None);
        let control = pool.take().unwrap();
        pool.give_back(control);
        assert_eq!((pool.free_count(), pool.count()), (2, 4));
    }

    #[test]
    #[should_panic(expected = "comes back twice")]
    fn a_chunk_comes_back_once() {
        let mut pool = Pool::new(2, 0);
        let chunk = pool.take().unwrap();
        pool.give_back(chunk);
        pool.give_back(chunk);
    }
}
