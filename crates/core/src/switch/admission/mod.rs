//! Admission of frames: their egress, room and charge.
//!
//! Owns the ingress buffers with their thresholds, and the charges and ages of all frames in the switch, until they have
//! left or were dropped. A refused frame changes only learned addresses and counters. Code that changes an ingress buffer
//! gets a `PauseChange` and passes it to `note_pause_change`: the link sends the message.
//!
//! Design: docs/src/internals/design/core.md.

mod age_lists;
mod charges;
mod copies;
mod discard;
mod early_drops;
mod ingress;
mod learning;
mod marking;
mod mode;
mod outcome;
mod pools;
mod receive;
mod vlans;

pub(in crate::switch) use age_lists::{Ages, Expired};
pub(in crate::switch) use charges::Charges;
pub(in crate::switch) use ingress::IngressBuffer;
pub(in crate::switch) use marking::classes_that_mark;
pub(in crate::switch) use mode::BufferMode;
pub(in crate::switch) use outcome::PauseChange;
pub(in crate::switch) use pools::{Pooled, Pools};
