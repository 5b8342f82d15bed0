//! Explores every order of events in small networks of `weir-core` switches.
//!
//! The switches and their control planes are the real ones. Every choice that a test leaves to chance is explored: the next
//! sender and arrival, lost and repeated control frames, the time of timers, the delay of a control plane. All reachable
//! states are visited, breadth first. Unlike any trial, their graph proves that no lossless frame is dropped, that
//! every deadlock is resolved, that no frame waits forever.
//!
//! * [`node`]: one switch, and the inputs that it can receive.
//! * [`nodes`]: the distinct states of switches, and the result of each input.
//! * [`world`]: the network's state, composed of those.
//! * [`rules`]: the possible events, and their results.
//! * [`search`]: breadth-first search through all states.
//! * [`progress`]: properties of the graph.
//! * [`story`]: the shortest path to a state, in words.
//! * [`credits`]: a single link with credits.
//!
//! Design: docs/src/internals/design/labs.md.
#![forbid(unsafe_code)]

pub mod cases;
pub mod credits;
pub mod explore;
mod hashing;
pub mod networks;
pub mod node;
pub mod nodes;
pub mod plan;
pub mod progress;
pub mod rules;
pub mod search;
pub mod story;
pub mod world;
