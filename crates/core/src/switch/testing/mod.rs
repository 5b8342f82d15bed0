//! Support for explorers of every state of a switch: a digest of it, and deliberate faults.
//!
//! Each part's digest is in that part's module, since it must name all fields of the part.

mod digest;
mod faults;
