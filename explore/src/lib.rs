//! Every order of events in small networks of `weir-core` switches.
//!
//! The switches and their control planes are the real ones. Choices that a test leaves to chance
//! are left open here: who sends next, what arrives next, which control frame is lost or repeated,
//! when a timer is served and how late a control plane is. All states that can come of it are
//! visited, breadth first, and the graph of them answers what no trial can: that a lossless frame
//! is never dropped, that there is always a way out, that no frame waits for ever.
//!
//! * [`node`]: one switch, and its possible inputs.
//! * [`nodes`]: each state of a switch once, and its successors by input.
//! * [`world`]: the network's state, put together from those.
//! * [`rules`]: its possible steps, and their results.
//! * [`search`]: breadth first through all of them.
//! * [`progress`]: conclusions from the graph.
//! * [`story`]: the shortest path to a state, as a story.
//! * [`cases`]: explored networks, and the expected results.
//! * [`explore`](mod@explore): a case from its beginning to its verdict.
//!
//! The search is the crate's own. A model checker such as stateright stores each state whole and
//! asks for the successors of one alone; a switch takes some ten kilobytes, and the same switch
//! state is part of thousands of network states. Here it is stored once, and its successor by an
//! input is computed once.
#![forbid(unsafe_code)]

pub mod cases;
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
