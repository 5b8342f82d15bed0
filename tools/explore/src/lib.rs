//! Explores every order of events in small networks of `weir-core` switches.
//!
//! The switches and their control planes are the real ones. Every choice that a test leaves to chance is explored: who sends
//! next, what arrives next, which control frame is lost or repeated, when a timer is served, how late a control plane is. All
//! reachable states are visited, breadth first. Their graph answers questions that no trial can: whether a lossless frame is
//! ever dropped, whether every deadlock can be left, whether a frame can wait for ever.
//!
//! * [`node`]: one switch, and the inputs that it can receive.
//! * [`nodes`]: each state of a switch once, and the result of each input.
//! * [`world`]: the network's state, put together from those.
//! * [`rules`]: the events that can happen in it, and their results.
//! * [`search`]: breadth first through all states.
//! * [`progress`]: questions to the graph.
//! * [`story`]: the shortest path to a state, in words.
//! * [`credits`]: one link with credits, by itself.
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
