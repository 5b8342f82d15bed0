//! Connections to switches: discovery, access and polling.

mod client;
mod local;
mod place;
mod poll;
mod roster;
mod tls;

pub use client::{monotonic, Access};
pub use local::{found, Served, SOCKET_NAME};
pub use place::{Place, PlaceError};
pub use poll::{watch, Asked, Limits, News, Turns};
pub use roster::{Listed, Roster, RosterError};
pub use tls::{read_token, Trust};
