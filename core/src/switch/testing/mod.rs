//! For those who explore every state of a switch: a digest of it, and faults on purpose.

mod digest;
mod faults;
