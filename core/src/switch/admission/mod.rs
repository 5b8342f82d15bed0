//! The way of a frame in: is there a place to send it, is there room, what does it charge.

mod charges;
mod ingress;
mod marking;
mod receive;

pub(in crate::switch) use charges::Charges;
pub(in crate::switch) use ingress::{BufferMode, IngressBuffer, PauseChange};
pub(in crate::switch) use marking::classes_that_mark;
pub(in crate::switch) use receive::Egresses;
