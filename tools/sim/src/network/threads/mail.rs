//! Transfers from one part to another: out of the pools of one and into those of the other.

use std::sync::Arc;

use weir_core::Instant;

use crate::network::node::Payload;
use crate::network::pool::FrameRecord;
use crate::network::{Event, Network};
use crate::schedule::Entry;
use crate::transport::telemetry::Hop;

/// An event at a place of another part.
#[derive(Debug)]
pub(super) struct Letter {
    place: u32,
    entry: Entry<Event>,
    cargo: Cargo,
}

/// Content of an arrival.
#[derive(Debug)]
enum Cargo {
    Frame(FrameRecord),
    /// A frame with telemetry.
    Traced(Box<(FrameRecord, Vec<Hop>)>),
    Control(Vec<u8>),
}

/// Letters of one window, by part. A line sends one frame after another, so there are no more letters than fit on the lines
/// to other parts in a window, or twice as many if a disturbance duplicates control frames.
#[derive(Debug)]
pub(in crate::network) struct Outbox {
    pub(super) letters: Vec<Vec<Letter>>,
    /// Part of each place.
    pub(super) owners: Arc<[u32]>,
    /// This part.
    pub(super) own: u32,
}

impl Outbox {
    /// Time of the first event in `letters`.
    pub(super) fn first(&self) -> u64 {
        let letters = self.letters.iter().flatten();
        let first = letters.map(|letter| letter.entry.at).min();
        first.unwrap_or(u64::MAX)
    }
}

impl Network {
    /// Sends `arrive` to the place `to` of this part or another.
    pub(in crate::network) fn send_to_part(
        &mut self,
        to: u32,
        arrives: Instant,
        arrive: Event,
        payload: Payload,
    ) {
        let owner = match &self.outbox {
            Some(outbox) if outbox.owners[to as usize] != outbox.own => {
                outbox.owners[to as usize] as usize
            }
            _ => {
                self.queue.push(to, arrives, arrive);
                return;
            }
        };
        let entry = self.queue.entry_elsewhere(arrives, arrive);
        let cargo = match payload {
            Payload::Frame(frame) => {
                let (record, hops) = self.frames.take(frame);
                if hops.is_empty() {
                    Cargo::Frame(record)
                } else {
                    Cargo::Traced(Box::new((record, hops)))
                }
            }
            Payload::Control(message) => Cargo::Control(self.messages.take(message)),
        };
        let letter = Letter {
            place: to,
            entry,
            cargo,
        };
        if let Some(outbox) = &mut self.outbox {
            outbox.letters[owner].push(letter);
        }
    }

    /// Takes the letters of another part.
    pub(super) fn take_in(&mut self, letters: &mut Vec<Letter>) {
        for letter in letters.drain(..) {
            let Letter {
                place,
                mut entry,
                cargo,
            } = letter;
            let here = match cargo {
                Cargo::Frame(record) => {
                    let hops = self.frames.no_hops();
                    Payload::Frame(self.frames.add(record, hops))
                }
                Cargo::Traced(traced) => {
                    let (record, hops) = *traced;
                    Payload::Frame(self.frames.add(record, hops))
                }
                Cargo::Control(bytes) => Payload::Control(self.messages.add(bytes)),
            };
            if let Event::Arrive { payload, .. } = &mut entry.event {
                *payload = here;
            }
            self.queue.take_in(place, entry);
        }
    }
}
