//! Admission of frames: their egress, room and charge.
//!
//! Owns the ingress buffers with their thresholds, and the charges of all frames in the switch. A refused frame changes
//! only learned addresses and counters. Code that changes an ingress buffer gets a `PauseChange` and passes it to
//! `note_pause_change`: the link notifies the neighbour.
//!
//! Design: docs/src/internals/design/core.md.

mod charges;
mod copies;
mod early_drops;
mod ingress;
mod learning;
mod marking;
mod mode;
mod outcome;
mod pools;
mod receive;
mod vlans;

pub(in crate::switch) use charges::Charges;
pub(in crate::switch) use ingress::IngressBuffer;
pub(in crate::switch) use marking::classes_that_mark;
pub(in crate::switch) use mode::BufferMode;
pub(in crate::switch) use outcome::PauseChange;
pub(in crate::switch) use pools::{Pooled, Pools};
