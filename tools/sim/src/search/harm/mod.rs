//! Random networks with an incident at one host, one port or one link, during the traffic of all others. No other host may
//! lose a lossless frame, or wait for one longer than a bound derived from the settings.
//!
//! | drawn | from |
//! |---|---|
//! | switches | 1 to 5, a random tree, so pauses cannot lock it |
//! | hosts | 1 to 3 at each switch, at least 3, and one that is silent at first |
//! | lines | 1 to 100 Gbit/s, all equal or each different; delays to 4 µs |
//! | way | routes, or learned addresses in a table of 16 to 1,024 entries |
//! | buffers | dedicated to each port, xoff from 2 to 64 frames, or a pool; headroom by the closed form |
//! | load of the busiest line | 10 to 80 %, with learning as if every frame were flooded |
//! | flows | 1 to 3 from each host; two lossless classes and a lossy one; frames of 60 B to 1,518 B |
//! | times | `link-down-hold` 0 or 10 µs to 10 ms; the storm watchdog's detection 100 µs to 10 ms; a stuck transmitter found after 100 µs to 10 ms |
//! | incident | [`Kind`], from a tenth to a half of the run on, for a while or for good |
//!
//! Not drawn: storms with the action `alert` or without a watchdog, which hold senders forever by design; regular neighbours
//! of a switch, which mistake its pauses for storms; loops; impatient hosts.

mod draw;
mod judge;
mod tree;

pub use draw::{Case, Kind};
pub use judge::{judge, Answer};
