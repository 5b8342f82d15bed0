//! Properties of Weir's parsers and the whole switch for any input.
//!
//! Each property is a function of bytes that panics if it is violated. The libFuzzer targets in `tests/fuzz/` call one each;
//! the tests of this crate call the same ones on stable Rust, with proptest's input and with the committed corpora.
//!
//! Design: docs/src/internals/design/labs.md.
#![forbid(unsafe_code)]

pub mod api;
pub mod corpus;
pub mod files;
pub mod switch;
pub mod wire;

/// A property: panics with the reason if `bytes` violate it.
pub type Property = fn(bytes: &[u8]);

/// All properties by the name of their fuzz target, which is also that of the archive in `tests/fuzz/corpus`.
pub const PROPERTIES: [(&str, Property); 11] = [
    ("frame", wire::frame),
    ("mac_control", wire::mac_control),
    ("clcm", wire::clcm),
    ("echo", wire::echo),
    ("reflection", wire::reflection),
    ("seal", wire::seal),
    ("lldp", wire::lldp),
    ("config", files::config),
    ("scenario", files::scenario),
    ("api", api::bodies),
    ("switch", switch::any_operations),
];
