//! Support for explorers of every state of a switch: a digest of it, and deliberate faults.
//!
//! The digest of a part is in that part's module, since it must name all that the part owns.

mod digest;
mod faults;
