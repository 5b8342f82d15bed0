//! The loop's own accounts: where every chunk is, and the fate of every frame.
//!
//! They are kept independently of the switch core's counters and the pool's list, so that an audit that compares the two
//! sides can fail. The cost per frame is one two-byte note and a few additions.

use weir_core::{DropCounts, DropReason, Instant, PortId};

use crate::memory::pool::{Chunk, Pool};

/// Contents of a chunk while it is with the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cargo {
    /// Nothing; the chunk is free.
    Nothing,
    /// Nothing; the chunk is in this port's fill ring, or was and is free again.
    Lent(PortId),
    /// A control frame of this switch, held by a transmitter.
    Control,
    /// A data frame received on this port.
    Data(PortId),
    /// A continuation of a data frame that begins in another chunk.
    Further,
    /// Copies of a data frame that are sent in another form: with a VLAN tag, or without one. They appear in no account.
    Copy,
}

/// Accounts of one port. Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortAccount {
    /// Frames taken from the RX ring.
    pub received: u64,
    /// Additional chunks that these frames took, besides one for each.
    pub further: u64,
    /// Control frames among them that were for this switch.
    pub read: u64,
    /// Frames among them that were dropped on arrival, by [`DropReason::index`].
    pub refused: DropCounts,
    /// Frames among them that the switch admitted.
    pub admitted: u64,
    /// Copies of frames that the switch admitted for sending on this port.
    pub copied: u64,
    /// Admitted frames from this port whose last copy a transmitter has sent.
    pub delivered: u64,
    /// Admitted frames from this port that were dropped where they waited, by [`DropReason::index`].
    pub given_up: DropCounts,
    /// Data frames handed to this port's transmitter; a flooded frame counts for each port.
    pub sent_data: u64,
    /// Control frames handed to this port's transmitter.
    pub sent_control: u64,
    /// Frames that this port's transmitter has completed.
    pub completed: u64,
    /// Frames for which this port's TX ring had no room because the device was gone.
    pub not_sent: u64,
    /// Chunks put into the fill ring, without those returned by a removed device.
    pub lent: u64,
}

/// Accounts of all ports and the place of every chunk.
#[derive(Debug)]
pub(crate) struct Accounts {
    ports: Vec<PortAccount>,
    cargo: Vec<Cargo>,
}

impl Accounts {
    pub(crate) fn new(port_count: usize, chunk_count: usize) -> Self {
        Self {
            ports: vec![PortAccount::default(); port_count],
            cargo: vec![Cargo::Nothing; chunk_count],
        }
    }

    pub(crate) fn of(&self, port: usize) -> PortAccount {
        self.ports.get(port).copied().unwrap_or_default()
    }

    fn port(&mut self, port: usize, note: impl FnOnce(&mut PortAccount)) {
        if let Some(account) = self.ports.get_mut(port) {
            note(account);
        }
    }

    fn load(&mut self, chunk: Chunk, cargo: Cargo) {
        if let Some(place) = self.cargo.get_mut(chunk as usize) {
            *place = cargo;
        }
    }

    /// Returns the ingress port of the data frame in `chunk`, and marks the chunk as empty.
    fn unload_data(&mut self, chunk: Chunk) -> Option<PortId> {
        let place = self.cargo.get_mut(chunk as usize)?;
        let Cargo::Data(ingress) = *place else {
            return None;
        };
        *place = Cargo::Nothing;
        Some(ingress)
    }

    fn unload(&mut self, chunk: Chunk) -> Cargo {
        let place = self.cargo.get_mut(chunk as usize);
        place.map_or(Cargo::Nothing, |cargo| {
            std::mem::replace(cargo, Cargo::Nothing)
        })
    }

    pub(crate) fn note_lent(&mut self, port: usize, count: usize) {
        self.port(port, |account| account.lent += count as u64);
    }

    pub(crate) fn lend(&mut self, port: usize, chunks: &[Chunk]) {
        self.note_lent(port, chunks.len());
        if let Some(id) = PortId::from_index(port) {
            chunks
                .iter()
                .for_each(|chunk| self.load(*chunk, Cargo::Lent(id)));
        }
    }

    /// Returns true if `port`'s kernel side was the last to get the chunk and the chunk was not used otherwise since.
    pub(crate) fn is_lent(&self, port: PortId, chunk: Chunk) -> bool {
        self.cargo.get(chunk as usize) == Some(&Cargo::Lent(port))
    }

    /// Notes that a chunk came back from `port`'s kernel side without a frame.
    pub(crate) fn note_returned(&mut self, port: PortId, chunk: Chunk) {
        self.unload(chunk);
        self.port(port.index(), |account| {
            account.lent = account.lent.saturating_sub(1);
        });
    }

    /// Counts a frame from `port`'s RX ring that was for this switch.
    pub(crate) fn note_read(&mut self, port: usize) {
        self.port(port, |account| {
            account.received += 1;
            account.read += 1;
        });
    }

    /// Counts a dropped frame from `port`'s RX ring.
    pub(crate) fn note_refused(&mut self, port: usize, reason: DropReason) {
        self.port(port, |account| {
            account.received += 1;
            account.refused[reason.index()] += 1;
        });
    }

    /// Counts an admitted frame from `port`'s RX ring.
    pub(crate) fn note_admitted(&mut self, port: usize, chunk: Chunk) {
        self.port(port, |account| {
            account.received += 1;
            account.admitted += 1;
        });
        if let Some(id) = PortId::from_index(port) {
            self.load(chunk, Cargo::Data(id));
        }
    }

    /// Counts a copy of a frame for `port`, which begins in `chunk`.
    pub(crate) fn note_copied(&mut self, port: usize, chunk: Chunk) {
        self.port(port, |account| account.copied += 1);
        if let Some(id) = PortId::from_index(port) {
            self.load(chunk, Cargo::Data(id));
        }
    }

    /// Marks `chunk` as the continuation of a copy.
    pub(crate) fn load_further(&mut self, chunk: Chunk) {
        self.load(chunk, Cargo::Further);
    }

    /// Marks `chunk` as the continuation of a frame from `port`'s RX ring.
    pub(crate) fn note_further(&mut self, port: usize, chunk: Chunk) {
        self.port(port, |account| account.further += 1);
        self.load(chunk, Cargo::Further);
    }

    /// Marks `chunk` as holding the copies of a frame that leave in another form.
    pub(crate) fn note_copy(&mut self, chunk: Chunk) {
        self.load(chunk, Cargo::Copy);
    }

    /// Marks `chunk` as the continuation of such copies.
    pub(crate) fn note_copy_goes_on(&mut self, chunk: Chunk) {
        self.load(chunk, Cargo::Further);
    }

    /// Returns true if `chunk` holds such copies.
    pub(crate) fn is_copy(&self, chunk: Chunk) -> bool {
        self.cargo.get(chunk as usize) == Some(&Cargo::Copy)
    }

    /// Frees a chunk that held a part of a frame.
    pub(crate) fn unload_further(&mut self, chunk: Chunk) {
        self.load(chunk, Cargo::Nothing);
    }

    pub(crate) fn note_given_up(&mut self, chunk: Chunk, reason: DropReason) {
        if let Some(ingress) = self.unload_data(chunk) {
            self.port(ingress.index(), |account| {
                account.given_up[reason.index()] += 1;
            });
        }
    }

    /// Counts a data frame passed to `port`'s transmitter.
    pub(crate) fn note_sent_data(&mut self, port: usize) {
        self.port(port, |account| account.sent_data += 1);
    }

    /// Counts a control frame passed to `port`'s transmitter.
    pub(crate) fn note_sent_control(&mut self, port: usize) {
        self.port(port, |account| account.sent_control += 1);
    }

    pub(crate) fn load_control(&mut self, chunk: Chunk) {
        self.load(chunk, Cargo::Control);
    }

    /// Counts a frame for which `port`'s TX ring had no room.
    pub(crate) fn note_not_sent(&mut self, port: usize) {
        self.port(port, |account| account.not_sent += 1);
    }

    /// Counts frames completed by `port`'s transmitter.
    pub(crate) fn note_completed(&mut self, port: usize, count: usize) {
        self.port(port, |account| account.completed += count as u64);
    }

    /// Counts an admitted data frame whose last copy is sent.
    pub(crate) fn note_delivered(&mut self, chunk: Chunk) {
        if let Some(ingress) = self.unload_data(chunk) {
            self.port(ingress.index(), |account| account.delivered += 1);
        }
    }

    /// Returns true if `chunk` carries a control frame.
    pub(crate) fn is_control(&self, chunk: Chunk) -> bool {
        self.cargo.get(chunk as usize) == Some(&Cargo::Control)
    }

    /// Frees `chunk` from a control frame; returns true when it carried one.
    pub(crate) fn unload_control(&mut self, chunk: Chunk) -> bool {
        let is_control = self.is_control(chunk);
        if is_control {
            self.load(chunk, Cargo::Nothing);
        }
        is_control
    }

    #[cfg(test)]
    pub(crate) fn control_chunks(&self) -> impl Iterator<Item = usize> + '_ {
        self.chunks_with(Cargo::Control)
    }

    /// Returns the chunks that hold continuations of frames.
    #[cfg(test)]
    pub(crate) fn further_chunks(&self) -> impl Iterator<Item = usize> + '_ {
        self.chunks_with(Cargo::Further)
    }

    #[cfg(test)]
    fn chunks_with(&self, wanted: Cargo) -> impl Iterator<Item = usize> + '_ {
        let chunks = self.cargo.iter().enumerate();
        chunks.filter_map(move |(chunk, cargo)| (*cargo == wanted).then_some(chunk))
    }
}

/// The accounts in a [`Snapshot`](super::messages::Snapshot), on request, with a new count of all chunks by place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountTable {
    /// By port.
    pub ports: Vec<PortAccount>,
    /// By port: chunks that hold a data frame received on it.
    pub held: Vec<u64>,
    /// By port: frames that its transmitter has not completed, as limited by the loop.
    pub outstanding: Vec<u64>,
    /// By port: time at which the oldest of them was sent.
    pub oldest_sent_at: Vec<Option<Instant>>,
    /// Chunks that hold continuations of data frames, or copies of frames in another form.
    pub further: u64,
    /// Copies of frames in another form.
    pub copies: u64,
    /// Chunks that hold control frames.
    pub control: u64,
    /// Chunks marked as free.
    pub free: u64,
    /// All other chunks: the kernel has them to receive into.
    pub receiving: u64,
}

impl AccountTable {
    /// Reserves room for `port_count` ports.
    pub fn make_room(&mut self, port_count: usize) {
        self.ports.reserve(port_count);
        self.held.reserve(port_count);
        self.outstanding.reserve(port_count);
        self.oldest_sent_at.reserve(port_count);
    }

    /// Copies the accounts and counts the chunks. O(ports + chunks), without allocation if there is room.
    pub(crate) fn fill(
        &mut self,
        accounts: &Accounts,
        pool: &Pool,
        outstanding: impl Iterator<Item = (usize, Option<Instant>)>,
    ) {
        self.ports.clear();
        self.ports.extend_from_slice(&accounts.ports);
        self.outstanding.clear();
        self.oldest_sent_at.clear();
        for (count, oldest) in outstanding {
            self.outstanding.push(count as u64);
            self.oldest_sent_at.push(oldest);
        }
        self.held.clear();
        self.held.resize(accounts.ports.len(), 0);
        (self.further, self.control, self.free, self.receiving) = (0, 0, 0, 0);
        self.copies = 0;
        for (chunk, cargo) in accounts.cargo.iter().enumerate() {
            match cargo {
                Cargo::Control => self.control += 1,
                Cargo::Further => self.further += 1,
                Cargo::Copy => {
                    self.further += 1;
                    self.copies += 1;
                }
                Cargo::Data(ingress) => {
                    if let Some(held) = self.held.get_mut(ingress.index()) {
                        *held += 1;
                    }
                }
                Cargo::Nothing | Cargo::Lent(_) if pool.is_free(chunk as Chunk) => self.free += 1,
                Cargo::Nothing | Cargo::Lent(_) => self.receiving += 1,
            }
        }
    }
}
