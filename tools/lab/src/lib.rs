//! The lab: experiments with real frames in network namespaces.
//!
//! Design: docs/src/internals/design/labs.md.

pub mod containerlab;
pub mod endpoint;
pub mod lab;
pub mod reflect;
pub mod soak;
