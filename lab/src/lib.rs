//! The lab: experiments with real frames in network namespaces.

pub mod containerlab;
pub mod endpoint;
pub mod lab;
pub mod reflect;
pub mod soak;
