//! For those who explore every state of a switch: a digest of it, and faults on purpose.
//!
//! The digest of a part stands in that part's room, since it must name all that the part owns.

mod digest;
mod faults;
